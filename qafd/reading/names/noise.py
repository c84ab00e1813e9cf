"""What looks like a name and is none: numbered things, roles, orders, nouns that open a note."""

import re
from collections.abc import Iterator, Sequence

from qafd.reading.names.kinds import PERSON, UNKNOWN, is_given, kind_of
from qafd.reading.text import words_of
from qafd.records import Mention

_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)")
_COMMON = frozenset(re.findall(
    r"\w+",
    "january february march april may june july august september october november december "
    "monday tuesday wednesday thursday friday saturday sunday one two three four five six seven "
    "eight nine ten first second third fourth fifth mr mrs ms dr prof sir lady chapter figure "
    "table section page part volume no yes ok am pm bc ad etc todo fyi mon tue tues wed thu thur "
    "thurs fri sat feb mar apr jun jul aug sep sept oct nov dec tbd tba tbc re cc bcc fwd"))
# What letters and chats say; as a title it may be that of a song.
_SAID = frozenset(re.findall(
    r"\w+",
    "today tomorrow yesterday tonight btw lgtm asap thx faq dear hi hello hey regards cheers "
    "thanks sincerely greetings breakfast lunch dinner meeting"))
_MONEY = re.compile(r"(?:[A-Z]{3}|[A-Z]{0,2}[$\u20ac\u00a3\u00a5])\s?\d[\d.,]*")
# What stands before the first word of a sentence, an item or a note.
_OPENING = re.compile(r"(?:^|\n|[.!?:]|\d[.)]|[-*\u2022\])])[ \t>]*$")
# What numbers and single letters follow that are no names: "Room 204", "Schedule A".
_NUMBERED = frozenset(re.findall(
    r"\w+",
    "chapter figure fig table section page part volume vol note step day week month year exp "
    "experiment exhibit appendix schedule annex article clause item room hall floor site "
    "building gate platform row column question answer phase stage level version option number "
    "eur usd gbp chf jpy eq equation line issue ticket case lot unit sheet slide task sample"))
# Of those, what texts and time are divided into.
_PARTS = frozenset(re.findall(
    r"\w+",
    "chapter figure fig table section page part volume vol note step day week month year exp "
    "experiment exhibit appendix schedule annex article clause item row column question answer "
    "phase stage version option number eur usd gbp chf jpy eq equation line slide task sample"))
_PARTY = re.compile(
    r"\((?:(?:herein|here|there|hence)(?:after|forth)[,:]?(?: (?:called|referred to as|known as))? "
    r"[\"\u201c]?the [\"\u201c]?|the [\"\u201c])([^\W\d_a-z][^\W\d_]*[a-z])[\"\u201d]?\)")
_AMOUNT = frozenset(re.findall(
    r"\w+", "age grade score rank top number total size count about euro dollar nos approx aged "
    "minute hour second season episode act scene verse round lap match game"))
_LABEL = re.compile(r"(?!(?:1[5-9]|20)\d\d$)\d{1,6}|[A-Z]{1,3}-?\d{1,5}", re.ASCII)
_DESCRIBED = re.compile(  # "Level 42 are an English band"
    r"\b([^\W\d_a-z][a-z]+ \d{1,4})(?= (?:is|was|are|were) (?:a|an|the)\b)")
_COUNTING = re.compile(r"\d[\d.,\-]*[a-z]?|[A-Z]|[IVX]+", re.ASCII)
_ROLES = frozenset(re.findall(
    r"\w+",
    "chief executive executives officer ceo cfo cto coo vice president chairman chair director "
    "manager head board captain mayor minister secretary treasurer deputy managing senior junior "
    "assistant general producer coach editor engineer architect accountant consultant chairwoman "
    "headteacher teacher nurse of the and"))
# What opens a sentence that tells somebody what to do, or a note without its subject.
_IMPERATIVE = frozenset(re.findall(
    r"\w+",
    "add ask asked bake bring buy call called check choose clean click close contact copy cut "
    "download email enter find fix fixed follow get give go hold install keep leave let look mail "
    "make meet met mix move note open order ordered phone pick place please press put read "
    "remember remove repeat replace reset restart return run save see select send sent serve set "
    "slice start stop store switch take talk tell thank told toast turn type update upgrade use "
    "visit wait wash watch write"))
# One of many, so no name: "either Party", "your Manager".
_ANY = frozenset(("each", "either", "your", "any", "every", "such", "per"))
_PARTICLES = frozenset(re.findall(r"\S+", "de da do dos das del della di du des la le les el al "
                                  "bin ibn ben van von der den ter ten zu af av of and the y e"))
_AFTER_NOUN = frozenset((
    "from", "for", "with", "of", "at", "as", "after", "before", "by", "to", "on"))
_HEADING = 80  # characters of a heading at most
_BULLET = re.compile(r"[-*+\u2022]")


def says_nothing(key: str) -> bool:
    """Whether all words of a key are numbers, months, days and such."""
    return all(word in _COMMON or _ORDINAL.fullmatch(word) or not any(map(str.isalpha, word))
               for word, _, _ in words_of(key))


def is_noise(name: str, key: str, kind: str, text: str, start: int) -> bool:
    """Whether a mention that begins at an offset of a text is no name, whatever the tagger says.

    It is an amount of money, a number with what it numbers ("Schedule A", and the "Room" of "Room
    204"), or has no capital; where it has no type also a role ("Chief Executive Officer").
    """
    words = name.split()
    if _MONEY.fullmatch(name) or kind in (UNKNOWN, PERSON) and key in _SAID:
        return True
    if kind == UNKNOWN and (len(key) < 3 or _ROLES.issuperset(key.split())):
        return True
    if not any(map(str.isupper, name)) and (kind == UNKNOWN or len(words) == 1):
        return True
    if (found := _DESCRIBED.match(text, start)) and found[1] == name:
        return words[0].casefold() in _PARTS
    numbers = words[1:] or text[start + len(name):start + len(name) + 12].split()[:1]
    return words[0].casefold() in _NUMBERED and bool(numbers) and all(
        _COUNTING.fullmatch(one.rstrip(".,:;)")) for one in numbers)


def described(text: str) -> Iterator[tuple[int, int]]:
    """Where numbered things stand that a text describes: "Level 42 are an English band"."""
    return (found.span(1) for found in _DESCRIBED.finditer(text))


def parties(text: str) -> set[str]:
    """What a contract calls its parties, as keys: "(hereinafter: the Lender)"."""
    return {found[1].casefold() for found in _PARTY.finditer(text)}


def opens(text: str, start: int) -> bool:
    """Whether an offset opens a sentence, an item, or a note after a colon or a stamp."""
    return _OPENING.search(text, max(0, start - 20), start) is not None


def lead(name: str, opening: bool) -> int:
    """How many characters come before the name in a run of proper nouns.

    "Use Expensify" that opens a sentence, and "g Roquefort"; all of it where nothing is left.
    """
    at = 0
    for number, word in enumerate(re.finditer(r"\S+\s*", name)):
        said = word.group().strip()
        if not (number == 0 and opening and is_order(said)) and (
                any(map(str.isupper, said)) or said in _PARTICLES):
            break
        at = word.end()
    return at


def is_label(noun: str, number: str) -> bool:
    """Whether a noun and a number or code tell a thing from its like: "pump 17", "shelf C4".

    Not "page 7", "June 7", "number 7" nor what a year follows.
    """
    return (len(noun) > 2 and noun.isalpha() and noun.casefold() not in _PARTS | _COMMON | _AMOUNT
            and _LABEL.fullmatch(number) is not None)


def is_order(word: str) -> bool:
    """Whether a word at the beginning of a sentence tells somebody what to do."""
    return word.casefold() in _IMPERATIVE


def is_heading(text: str, start: int, end: int) -> bool:
    """Whether `text[start:end]` stands alone in a paragraph and ends as no sentence does."""
    said = text[start:end].strip()
    end = start + len(text[start:end].rstrip())
    return (bool(said) and said[-1] not in ".!?;,\u2026\"" and len(said) < _HEADING
            and "\n" not in said and not _BULLET.match(said)
            and text[:start].rstrip(" \t")[-2:] in ("", "\n", "\n\n")
            and text[end:].lstrip(" \t").startswith("\n\n"))


def is_doubtful(text: str, mention: Mention, headed: bool, after: Sequence[str]) -> bool:
    """Whether a capital says nothing: in a heading, or where a noun opens a note."""
    single = " " not in mention.key
    if headed:
        return (single or mention.kind == UNKNOWN) and not (
            kind_of(mention.name) or is_given(mention.name))
    return (mention.kind == UNKNOWN and single and not mention.name.isupper() and bool(after)
            and after[0] in _AFTER_NOUN and opens(text, mention.start))


def is_one_of_many(mention: Mention, before: Sequence[str], noun_follows: bool) -> bool:
    """Whether a name of one word is one of many: "either Party", not "your Vienna office"."""
    return (bool(before) and before[-1].casefold() in _ANY and " " not in mention.key
            and mention.kind != "NORP" and not noun_follows)
