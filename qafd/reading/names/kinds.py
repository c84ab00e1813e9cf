"""What kind of thing a name is, by its own words and by those around it: a person, place, ..."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

PERSON, GROUP, PLACE, LAND, BUILDING = "PERSON", "ORG", "GPE", "LOC", "FAC"
WORK, PRODUCT, EVENT, UNKNOWN = "WORK_OF_ART", "PRODUCT", "EVENT", "PROPN"
PLACES = frozenset((PLACE, LAND, BUILDING))

TOLD = 3.0  # what a word beside a name that says its kind counts for, in mentions of the tagger
LIKELY = 1.5  # what a word of the name, a verb of persons or "in" counts for
SHARE = 0.34  # of the mentions of a name that must have a type, for the name to have one

# Nouns for what a name names: "X, a river", "the river X", "X is a river"; the last word of X.
_NOUNS = {
    PERSON: """
        accountant activist actor actress admiral analyst architect artist astronaut astronomer
        athlete aunt author banker baron biologist bishop boss botanist boxer boy brother
        businessman businesswoman captain cardinal ceo chairman chairwoman chancellor chef chemist
        clerk coach colleague colonel commander comedian composer conductor councillor countess
        cousin critic dancer daughter designer detective diplomat director doctor dramatist
        economist editor emperor empress engineer explorer farmer father filmmaker footballer
        friend gardener general geologist girl governor grandfather grandmother guide guitarist
        historian husband illustrator inventor journalist judge king lawyer lieutenant linguist
        logician mathematician mayor minister missionary model mother musician naturalist
        nephew neuroscientist niece novelist nurse officer painter pastor
        philanthropist philosopher photographer physician physicist pianist pilot playwright poet
        politician pope president priest prince princess producer professor programmer
        psychologist queen rapper researcher sailor saint salesman scholar scientist screenwriter
        sculptor secretary senator sergeant singer sister soldier son songwriter spokesman
        spokeswoman statesman student sultan surgeon swimmer teacher theologian translator uncle
        violinist widow wife writer zoologist""",
    GROUP: """
        agency airline alliance army association bakery band bank brand brewery broadcaster bureau
        carmaker charity choir clinic club college commission committee company congregation
        consultancy consortium contractor cooperative corporation council court dealer
        department distributor employer faculty federation firm foundation group guild hospital
        insurer institute institution laboratory league magazine maker manufacturer ministry
        museum newspaper ngo operator orchestra organisation organization parliament
        party police regiment retailer school senate society startup
        subsidiary supplier supermarket syndicate team trust union university vendor
        winery""",
    PLACE: """
        borough capital city colony commune country county district hamlet kingdom municipality
        nation neighborhood neighbourhood parish port prefecture province region republic
        settlement state suburb territory town township village""",
    LAND: """
        alps archipelago bay canyon cape cave coast continent creek desert falls forest fjord
        glacier gorge gulf hill island islands isle lagoon lake mountain mountains ocean pass peak
        peninsula plain plateau range reef reservoir river sea strait valley volcano waterfall""",
    BUILDING: """
        abbey airport arena avenue boulevard bridge café cafe castle cathedral cemetery church dam
        fort fortress
        hall harbor harbour highway hotel house inn lane lighthouse mansion market mill monastery
        monument mosque motorway observatory palace park plaza prison restaurant road square stadium
        street temple theater theatre tower tunnel viaduct wharf zoo""",
    WORK: """
        album anime ballet comic film manga movie musical novel novella opera painting
        poem podcast sitcom song soundtrack symphony trilogy""",
    PRODUCT: """
        aircraft app browser camera car chip computer console device drug engine framework
        game laptop library locomotive medicine microphone motorcycle phone plugin printer
        router ship smartphone software telescope tool truck vaccine
        vessel yacht""",
    EVENT: """
        battle ceremony championship conference cup election exhibition fair festival hurricane
        olympics referendum siege summit tournament uprising war""",
}
_NOUN = {word: kind for kind, words in _NOUNS.items() for word in words.split()}
_NO_END = frozenset(re.findall(r"\w+", """
    house range plain maker party state team model band war battle hill park lane group fair
    police cup conference market country capital bank union forest church guild brand"""))
# Nouns for places and groups also end names, but not "Soviet Union" and "Nottingham Forest".
_LAST = {word: kind for word, kind in _NOUN.items()
         if kind not in (PERSON, WORK, PRODUCT) and word not in _NO_END} | {
             "station": BUILDING, "gallery": BUILDING}
_FIRST = {"lake": LAND, "mount": LAND, "cape": LAND, "river": LAND, "isle": LAND, "gulf": LAND,
          "bay": LAND, "hotel": BUILDING, "café": BUILDING, "cafe": BUILDING, "castle": BUILDING,
          "société": GROUP, "universität": GROUP, "université": GROUP, "universidad": GROUP,
          "university": GROUP, "ministry": GROUP, "bank": GROUP, "museum": GROUP,
          "institute": GROUP, "department": GROUP, "college": GROUP, "council": GROUP,
          "academy": GROUP, "port": PLACE, "battle": EVENT, "treaty": "LAW",
          "state": PLACE, "republic": PLACE, "kingdom": PLACE, "province": PLACE, "county": PLACE}
_OF = frozenset(("state", "republic", "kingdom", "province", "county",
                 "university", "ministry", "bank", "museum", "institute", "department", "college",
                 "council", "academy", "battle", "treaty", "gulf", "bay", "isle", "castle"))
_OWNED_KIND = {word.capitalize(): kind for word, kind in _NOUN.items()
               if kind in (LAND, BUILDING) or word in ("college", "school", "hospital")}
_OWNED = re.compile(
    r"(?<![\w.'\u2019-])(?:(?:in|at|on|the|near|from|to|of|by|and|for|behind|beside|along|through|"
    r"under|over|past|outside|inside|when|after|before|our|my|his|her|its|their) )*"
    r"((?-i:(?:[^\W\d_a-z][^\W\d_]*\.? ){0,2}[^\W\d_a-z][^\W\d_]+['\u2019]s "
    rf"({'|'.join(_OWNED_KIND)})(?![\w-])(?! [^\W\d_a-z])))", re.IGNORECASE)
_COMPANY = re.compile(
    r"(?:inc|incorporated|corp|corporation|co|ltd|limited|llc|llp|plc|gmbh|ag|kg|ohg|se|"
    r"s\.?a\.?r\.?l|s\.?p\.?a|oyj|bv|nv|ab)\.?$", re.IGNORECASE)
_GROUP_END = frozenset(re.findall(r"\S+", """
    academy analytics associates authority bundesamt center centre consulting
    engineering enterprises facility freight foods hochschule holdings
    industries insurance labs logistics media motors partners pharmaceuticals
    records robotics shipping solutions steel studios stadtwerke systems technologies textiles
    ventures verlag verein umzüge universität"""))
TITLES = frozenset(re.findall(r"\S+", """
    mr mrs ms dr prof sir capt col sgt lt rev herr herrn frau monsieur madame mme señor señora
    signor signora"""))
_CAMEL = re.compile(r"(?<!\bMc)(?<!\bMac)(?<!\bDe)(?<!\bLa)(?<!\bLe)(?<!\bDi)(?<=[a-z])[A-Z]")
_RANKS = TITLES | frozenset(re.findall(r"\S+", """
    miss professor dame lord lady captain colonel general gen sergeant lieutenant major president
    senator reverend father sister brother judge king queen prince princess pope"""))
_TITLE = re.compile(r"(?:mr|mrs|ms|dr|prof)\.?\s+", re.IGNORECASE)
_SAYS = frozenset(re.findall(r"\S+", """
    said says told tells asks asked thinks thought wrote writes suggests suggested replied married
    graduated studied learned taught promised complained"""))
# What is in something that is no place.
_ABSTRACT = frozenset(re.findall(r"\S+", """
    invest invested investing investment investments stake share shares interest interested believe
    believed believes trust trusted trusts confidence faith role part appeared appears starred stars
    starring featured published written writes wrote write play played plays character song track
    version listed member specialized computed implemented result resulted succeed succeeded"""))
# What follows the noun in "a river in western Slovenia".
_AFTER = frozenset((
    "of", "that", "who", "which", "in", "from", "for", "by", "and", "with", "on", "at", "based",
    "known", "to", "located", "near", "born", "founded", "whose", "where", "off", "along"))
_KIN = frozenset(re.findall(r"\S+", """
    aunt brother cousin daughter grandfather grandmother husband nephew niece sister son uncle
    widow wife"""))
_MOVES = frozenset(("travelled", "traveled", "flew", "sailed", "emigrated", "immigrated", "drove",
                    "walked", "fled"))
_GIVEN = frozenset(re.findall(r"\S+", """
    aaron abdul abigail ada adam adrian agnes ahmed aisha alan albert alejandro alex alexander
    alexandra alfred ali alice alicia alison amanda amina amy ana andre andrea andreas andrew angela
    anita ann anna anne annette anthony antoine antonio arjun arthur astrid barbara beatrice beatrix
    ben benjamin bernard beth bill birgit bjorn bob boris brenda brian bruno camille carl carla
    carlos carmen carol carolina caroline catherine cecilia cesar charles chen chloe chris
    christian christina christine christopher claire clara claudia colin craig cristina daniel
    daniela david deborah denise dennis diana diego dieter dimitri dmitri dolores dominic donald
    dorothy douglas edith eduardo edward eleanor elena elias elisabeth elizabeth ella ellen emilia
    emily emma eric erik erika ernest ernst esther ethan eugene eva evelyn fatima felix
    fernando fiona frances francesca francis francisco francois frank franz fred frederick
    friedrich fritz gabriel gabriela gareth gary geoffrey george gerald gerard gerhard giovanni
    giulia giuseppe gloria gordon graham greg gregory greta guido guillermo gustav hana
    hannah hans harold harry hassan heather heidi heinrich heinz helen helena helga henri henry
    herbert hermann hiroshi howard hugh hugo ian ibrahim ines ingrid irene isaac isabel isabella
    ivan jack jacob jacques jakob james jan jane janet jason javier jean jeff jeffrey jennifer jenny
    jeremy jessica jill jim joan joanna joe joel johann johannes john jon jonas jonathan jorge jose
    josef joseph juan judith julia julian julie jun jürgen karen karin karl kate katharina
    katherine kathleen kathryn keith kelly ken kenneth kevin kim kjell klaus kofi kristina kurt
    larry lars laura lauren laurent lena leo leon leonard leonardo leslie linda lisa liz
    lorenzo louis louisa louise luca lucas lucia lucy ludwig luigi luis lukas luke maja manfred
    manuel marc marcel marcello marco marcus marek margaret margit maria marie marina mario
    marion marjorie mark markus martha martin martina mary mateo matthew matthias max maya mei
    melissa michael michel michelle miguel mike mikhail miriam mohamed mohammed monica monika
    muhammad nadia nancy naomi natalia natalie nathan neil nicholas nick nicola nicolas nicole niels
    nikolai nils nina noah nora norman olga oliver olivia omar oscar otto pablo pamela patricia
    patrick paul paula pavel pedro peter petra philip philippe pierre pietro priya rachel
    rafael rainer raj ralph ravi raymond rebecca renate ricardo richard rita robert roberto
    robin roger roland ronald rosa rose roy rudolf russell ruth ryan sabine sally sam
    samantha samuel sandra sanjay sara sarah scott sean sebastian sergei sergio sharon sheila
    silvia simon simone sofia sonia sophia sophie stefan stefanie stella stephanie stephen
    steve steven stuart sue susan susanne sven svetlana sylvia takashi tanja tanya ted teresa
    terry theo theodor theodore theresa thomas tim timothy tobias tom tomas tony tracy
    ulrich ulrike ursula uwe valentina valeria vera veronica veronika victor victoria vincent viktor
    vladimir walter wanda wei wendy werner wilhelm william wolfgang xavier yang yasmin yuki yusuf
    yvonne zoe"""))
# Names of columns, and what their cells name.
_COLUMNS = {
    PERSON: """
        author chair chairman chef ceo coach contact director doctor driver editor employee guide
        head host instructor lead leader manager owner painter patient person presenter professor
        salesperson singer speaker student supervisor teacher writer""",
    GROUP: """
        agency airline bank brewery carrier client club company contractor customer department
        distributor employer firm institution insurer manufacturer operator organisation
        organization organizer partner publisher retailer school sponsor supplier team university
        vendor""",
    PLACE: """
        birthplace capital city country county destination district hometown
        location nation office place plant port province region site state station town village""",
    PRODUCT: "brand device machine model product ship software tool vehicle vessel",
    WORK: "album book film movie novel song",
}
_COLUMN = {word: kind for kind, words in _COLUMNS.items() for word in words.split()}


def kind_of(name: str) -> str:
    """The kind that the words of a name tell, "" for none: "Acme Inc.", "Lake Bled", "Mr Bean"."""
    words = [word.strip(".,'\u2019()\u201c\u201d\"") for word in name.casefold().split()]
    if len(words) > 1 and words[0] == "the":
        words = words[1:]
    if len(words) < 2:
        return ""
    if _COMPANY.fullmatch(name.rsplit(maxsplit=1)[-1]) and words[-1] != "se":
        return GROUP
    if words[0] in _FIRST and ((words[1] == "of") == (words[0] in _OF)):
        return _FIRST[words[0]]
    before = words[:words.index("of", 1)] if "of" in words[1:] else words
    if len(before) > 1 or before is not words:
        told = GROUP if before[-1] in _GROUP_END else _LAST.get(before[-1], "")
        if told and (before is words or told == GROUP):
            return told
    if words[-1].endswith(("labs", "werke", "soft")):
        return GROUP
    return PERSON if words[0] in TITLES and name[0].isupper() and len(words) < 5 else ""


def owned(text: str) -> Iterator[tuple[int, int, str]]:
    """Where "Weaver's Lane" and its like stand, and what kind they are."""
    for found in _OWNED.finditer(text):
        yield *found.span(1), _OWNED_KIND[found[2]]


def is_given(name: str) -> bool:
    """Whether a name of two to four words begins with a first name."""
    words = name.replace(".", "").split()
    return (1 < len(words) < 5 and words[0].casefold() in _GIVEN
            and all(word[0].isupper() and word[-1:].islower() or len(word) == 1
                    or word in ("de", "van", "von", "der", "di", "da") for word in words))


def column_kind(column: str) -> str:
    """The kind of what stands in a column of that name, "" where that is unknown."""
    words = re.findall(r"[^\W\d_]+", column.casefold())
    if words[-1:] == ["in"]:  # "Made in"
        return PLACE
    return _COLUMN.get(words[-1], "") if words and len(words) < 4 else ""


def without_title(name: str) -> int:
    """How many characters of "Dr Lindqvist" come before the name itself."""
    found = _TITLE.match(name)
    return found.end() if found and found.end() < len(name) else 0


def told_by(before: Sequence[str], after: Sequence[str], name: str, kind: str
            ) -> tuple[str, float]:
    """The kind that the words beside a mention tell, and what that counts for.

    Parameters
    ----------
    before, after : sequence of str
        Some words and marks of its sentence, in order.
    kind : str
        What the tagger says.
    """
    last = before[-1].casefold().rstrip(".") if before else ""
    if before and before[-1][0].isupper() and (
            last in TITLES or last in _RANKS and kind in (PERSON, UNKNOWN)):
        return PERSON, TOLD
    told = _noun_after(after)
    if told and not (told == PERSON and kind in PLACES):  # "born in Michigan, the son of"
        return told, TOLD
    if last == "of" and len(before) > 1:
        if _NOUN.get(before[-2]) == PLACE:
            return PLACE, TOLD
        if before[-2] in _KIN and kind in (GROUP, UNKNOWN):
            return PERSON, LIKELY
    noun = _NOUN.get(last, "")
    if noun and before[-1].islower() and kind != noun and (
            noun != BUILDING or kind not in (PERSON, GROUP)):
        return noun, TOLD
    if "<" in after[:2] and "@" in "".join(after[:5]):
        return PERSON, TOLD
    if after and after[0].casefold() in _SAYS and kind in (UNKNOWN, PERSON):
        return PERSON, LIKELY
    if kind in (PERSON, GROUP, WORK, "NORP") and name[1:].islower() and _is_where(before, after):
        return PLACE, LIKELY
    return "", 0.0


def is_mistyped(before: Sequence[str], name: str, kind: str) -> bool:
    """Whether a name is not what the tagger says: a code and what has an article, a person."""
    if any(map(str.isdigit, name)) or _CAMEL.search(name):
        return kind == PERSON or (kind in ("NORP", PLACE) and " " not in name)
    return kind == PERSON and " " not in name and bool(before) and before[-1].casefold() in (
        "the", "a", "an", "this", "my", "our")


def _is_where(before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether the words before a name of one word lead to a place: "in X", "in Y, X,"."""
    words = [word.casefold() for word in before]
    last, two = words[-1:], words[-2:-1]
    if last == [","]:
        return (words[-3:-2] == ["in"] and before[-2][0].isupper()
                and bool(after) and after[0] in (".", ",", ";"))
    if last == ["to"]:
        return not _MOVES.isdisjoint(two)
    if last == ["at"]:
        return two in (["born"], ["died"], ["buried"], ["killed"])
    return last in (["in"], ["near"], ["throughout"], ["reached"], ["via"]) and (
        _ABSTRACT.isdisjoint(words[:-1]))


def settled(votes: Iterable[tuple[str, str, float]]) -> dict[str, str]:
    """One kind for each key.

    Parameters
    ----------
    votes : iterable of (key, kind, weight)
        Of kind "PROPN" what has no type.
    """
    counts: dict[str, Counter[str]] = {}
    for key, kind, weight in votes:
        counts.setdefault(key, Counter())[kind] += weight  # type: ignore[assignment]
    return {key: _most(count) for key, count in counts.items()}


def _most(count: Counter[str]) -> str:
    """The kind with most votes; places of all kinds vote together."""
    untyped = count.pop(UNKNOWN, 0)
    whole = sum(count.values())
    if not count or whole < SHARE * (whole + untyped):
        return UNKNOWN
    together = Counter(count)
    for kind in PLACES & count.keys():
        together[kind] = sum(count[one] for one in PLACES)
    return min(count, key=lambda kind: (-together[kind], -count[kind], kind))


def _noun_after(after: Sequence[str]) -> str:
    """The kind that "X, a river in" or "X is a river" tells."""
    words = [word.casefold() for word in after[:9]]
    if len(words) < 3 or words[0] not in (",", "is", "was", "-", "\u2013", "\u2014") or (
            words[1] not in ("a", "an", "the")):
        return ""
    for at, word in enumerate(words[2:], 2):
        if not word[0].isalpha() and word != "-":
            return ""
        if word in _AFTER:
            return ""
        follows = words[at + 1] if at + 1 < len(words) else "."
        if word in _NOUN and (not follows[0].isalpha() or follows in _AFTER):
            return _NOUN[word]
    return ""
