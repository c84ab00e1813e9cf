"""Names in European languages other than English: runs of words with a capital."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from qafd.reading.names.languages import function_words

LONGEST = 7  # words of a name

_WORD = re.compile(
    r"(?:\b(?:[ldjmnstc]|qu|all|dall|dell|nell|sull|un)['\u2019])?"  # "l'Observatoire"
    r"((?:[^\W\d_]\.)+(?=\s*[^\W\d_])|[^\W_]+(?:[-'\u2019&][^\W\d_]+)*)", re.IGNORECASE)
_PARTICLES = frozenset(re.findall(r"\S+", """
    de del della dello dei degli di da do dos das du des la las los le les el al al- ibn bin ben
    von vom van den der ter ten zu zum zur af av til am an im ob y e und et i"""))
_LINKS = frozenset(re.findall(r"\S+", """
    y e und et i der den la las los le les el"""))  # only beside another
_GERMAN = frozenset(re.findall(r"\S+", """
    von vom van zu zum zur am an im ob de der dem den di"""))
_GERMAN_FIRST = _GERMAN - {"der", "dem", "den"}
_TITLES = frozenset(re.findall(r"\S+", """
    herr herrn frau dr prof professor professorin monsieur madame mme m mlle señor señora sr sra
    don doña signor signora senhor senhora dom dona mr mrs meneer mevrouw pan pani firma"""))
# What follows is German, where every noun has a capital.
_DETERMINERS = frozenset(re.findall(r"\S+", """
    der die das des dem den ein eine einen einem einer eines kein keine keinen keinem keiner sein
    seine seinen seinem seiner seines ihr ihre ihren ihrem ihrer ihres mein meine dein unser
    unsere euer eure dieser diese dieses diesen diesem jeder jede jedes jeden jedem jener jene
    alle allen aller viele vielen vieler mehrere einige manche beide beiden zum zur vom beim im am
    ins ans zwei drei vier fünf sechs sieben acht neun zehn welche welcher welches"""))
_ADJECTIVE = re.compile(r"(?:e|er|es|en|em)$")
_NAMING = re.compile(  # German adjectives that begin a name: "Deutsche Bahn", "Zweiter Weltkrieg"
    r"(?:.*sch|neu|alt|gro(?:ß|ss)|klein|hoh|heilig|rot|schwarz|weiß|grün|golden|vereint|vereinigt|"
    r"erst|zweit|dritt|international|national|freie|frei|königlich|nördlich|südlich|heil|lang)"
    r"(?:e|er|es|en|em)$", re.IGNORECASE)
_NOUN = re.compile(
    r"(?:erin|eurin|istin|orin|innen|ung|ungen|heit|heiten|keit|keiten|schaft|schaften|tion|tionen|"
    r"tät|täten|ismus|ment|mente|nis|nisse|tum|ling|lein|ik|enz|anz|ist|isten|tor|toren|eur|"
    r"eure|werk|werke|"
    r"zeit|jahr|jahre|jahren|tag|tage|kunst|meister|arbeit|weg|stück|leute|mann|krieg)$")
_ROLE = re.compile(  # "der Physiker Albert Einstein"
    r"(?:er|in|ist|or|eur|ant|ent|nom|oge|at|mann|frau|könig|kaiser|papst|chef|graf|fürst|sohn|arzt|"
    r"herzog|bischof)$")
_COMMON = frozenset(re.findall(r"\S+", """
    jahr jahre jahren jahres ende anfang zeit teil beginn prozent millionen milliarden euro dollar
    menschen wasser bier wein geld arbeit leben krieg frieden hilfe haus hause uhr frau herr
    kinder januar februar märz april mai juni juli august september oktober november dezember
    montag dienstag mittwoch donnerstag freitag samstag sonntag gedichte märchen bücher werke
    bilder werken büchern bildern trümmern physik mathematik chemie musik kunst geschichte luft
    erde feuer holz eisen gold silber stahl glas papier beispiel fall stelle ort stadt land seite
    tod geburt liebe tausende hunderte dutzende kilometer meter tonnen liter grad meilen tage
    tagen wochen monate monaten stunden minuten sekunden männer frauen leute eltern vater mutter
    bruder schwester sohn tochter söhne töchter freunde schulen kirchen straßen häuser städte
    länder fragen themen gründen gründe weise art form folge folgen recht kraft tiere pflanzen
    bäume brot fleisch milch kaffee tee zucker salz öl strom energie daten software teile arten
    mitglieder mitarbeiter besucher schüler studenten forscher autoren künstler arbeiter bauern
    bürger soldaten"""))
_INSTITUTION = frozenset(re.findall(r"\S+", """
    universität hochschule institut museum schloss burg dom theater verlag kirche bank werft
    brauerei insel stiftung orchester gymnasium kloster galerie oper park platz fc sv tsv bayer"""))


class _Word(NamedTuple):
    text: str
    start: int
    end: int

    @property
    def low(self) -> str:
        return self.text.casefold()

    @property
    def capital(self) -> bool:
        return self.text[0].isupper() and not (len(self.text) == 1 and self.text.isalpha())


def names(text: str, sentences: Sequence[tuple[int, int]], language: str
          ) -> Iterator[tuple[int, int]]:
    """Where the names of a passage stand, in order.

    A name is a run of words with a capital, with particles between them ("Otto von Bismarck"). A
    single word that opens a sentence must occur within one too, function words and titles are no
    part of a name, and of German words, which all have capitals when they are nouns, those count
    that stand without an article or adjective and look like no noun.
    """
    stop = function_words(language)
    split = [[_Word(one.group(1), one.start(1), one.end(1))
              for one in _WORD.finditer(text, *bounds)] for bounds in sentences]
    inside = {word.text for words in split for word in words[1:] if word.capital}
    begin = {word.text for words in split for before, word in pairwise(words)
             if word.capital and not before.capital}
    for words in split:
        for first, run in _runs(words, text, stop, language):
            if language == "de":
                run = _german(run, words[:first], first == 0, stop)
            while run and run[0].low in _TITLES:
                run = run[1:]
            if run and run[0] is words[0] and (run[0].low in stop or run[0].text not in inside and (
                    len(run) == 1 or run[1].text in begin)):
                run = run[1:]
            if 1 < len(run) <= LONGEST or (run and len(run[0].text) > 2):
                yield run[0].start, run[-1].end


def _runs(words: Sequence[_Word], text: str, stop: frozenset[str], language: str
          ) -> Iterator[tuple[int, list[_Word]]]:
    """Runs of words with a capital, and where in the sentence they begin."""
    particles = _GERMAN if language == "de" else _PARTICLES
    at = 0
    while at < len(words):
        last = at
        while words[at].capital and (
                after := _next(words, last, text, particles, language)) is not None:
            last = after
        # "Les Misérables" is a name, "Les ouvriers" and "La Renault" at a beginning are not.
        if words[at].capital and (words[at].low not in stop or words[at].text.isupper()
                                  or last > at and (at > 0 or language == "de")):
            yield at, list(words[at:last + 1])
        elif last > at:
            yield at + 1, list(words[at + 1:last + 1])
        at = last + 1


def _next(words: Sequence[_Word], last: int, text: str, particles: frozenset[str], language: str
          ) -> int | None:
    """The next word with a capital of the same run."""
    for after in range(last + 1, min(len(words), last + 4)):
        gap = text[words[after - 1].end:words[after].start]
        if gap.strip("-'\u2019lLdD \u00a0") or "\n" in gap or not gap:
            return None
        if words[after].capital:
            return after
        word = words[after].low
        if language == "de" and _parts_names(words, last, after):
            return None
        if word not in particles or (after == last + 1 and (
                word in _LINKS if language != "de" else word not in _GERMAN_FIRST)):
            return None
    return None


def _parts_names(words: Sequence[_Word], last: int, after: int) -> bool:
    """Whether a German particle stands between two names: "Kabel an Halden", not "an der Oder"."""
    following = words[after + 1:after + 3]
    if words[after].low in ("an", "im", "ob"):
        return bool(following) and following[0].capital
    if words[after].low == "von" and len(following) == 2 and following[0].low in ("der", "dem"):
        return following[1].capital and bool(_NOUN.search(following[1].low))
    return (words[after].low == "von" and last > 0 and words[last - 1].capital
            and len(following) == 2 and all(word.capital for word in following))


def _german(run: list[_Word], before: Sequence[_Word], opening: bool, stop: frozenset[str]
            ) -> list[_Word]:
    """The part of a run of German words that can be a name."""
    previous = before[-1] if before else None
    told = previous is not None and (
        previous.low in _DETERMINERS
        or (previous.text.islower() and previous.low not in stop and len(before) > 1
            and before[-2].low in _DETERMINERS | stop and bool(_ADJECTIVE.search(previous.low))))
    while run and run[0].low in stop and not run[0].text.isupper() and (
            opening or not _NAMING.match(run[0].text)):
        told, opening, run = run[0].low in _DETERMINERS, False, run[1:]
    if not run:
        return run
    if len(run) == 1:
        noun = run[0].low in _COMMON or bool(_NOUN.search(run[0].low))
        return [] if noun or told and not run[0].text.isupper() else run
    if run[0].text.isupper() or _NAMING.match(run[0].text) or run[0].low in _INSTITUTION:
        return run
    if told and (_ROLE.search(run[0].low) or run[1].text.islower()) or (
            run[0].low in _COMMON or _NOUN.search(run[0].low)):
        rest = run[1:]
        while rest and rest[0].text[0].islower():
            rest = rest[1:]
        return _german(rest, [], False, stop) if rest else []
    return run
