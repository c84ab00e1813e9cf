"""What a question asks for, a person, place, time, number, reason or means, and what brings one."""

import re
from collections.abc import Iterable, Sequence, Set
from enum import StrEnum

from qafd.reading.text.bm25 import content_words, words
from qafd.reading.text.stems import stem, stems
from qafd.storage.rows import SentenceName


class Asked(StrEnum):
    """The kind of thing that a question asks for."""

    PERSON = "person"
    PLACE = "place"
    TIME = "time"
    NUMBER = "number"
    REASON = "reason"
    MEANS = "means"
    OPEN = "open"


DEFINITE = frozenset((Asked.PERSON, Asked.PLACE, Asked.TIME, Asked.NUMBER))  # what texts name or count

_MEASURE = (r"(?:number|amount|price|cost|fee|rent|salary|wage|rate|size|weight|height|length|width|depth|"
            r"distance|speed|temperature|age|percentage|capacity|dose|duration)")
# English first, then Chinese, Japanese, German, French and Spanish.
_ASKS = {
    Asked.REASON: r"\bwhy\b|\b(?:what|which) (?:is|was|are|were) the reasons?\b",
    Asked.NUMBER: r"\bhow (?:many|much|long|old|tall|large|far|big|high|deep|wide|heavy|hot|cold|late|early|"
                  r"often|soon|fast)\b|\bpopulation\b|\bwhat (?:does|do|did|would|will)\b[^?]*\bcost\b|"
                  rf"\b(?:what|which) {_MEASURE}\b|"
                  rf"\bwhat(?:['’]s| is| was| are| were) the (?:\w+ ){{0,3}}{_MEASURE}\b|"
                  r"多少|几[个年座位人]|いくつ|何[人年個冊]|"
                  r"\b(?:wie ?viele?|combien|cuánt[oa]s?)\b",
    # "When restoring, does ..." and "When I leave, what ..." ask for something else.
    Asked.TIME: r"^\W*when\b(?! \w+ing\b)(?![^?]*,)|^\W*when(?:['’]s| (?:is|are|was|were|do|does|did|will|"
                r"would|can|could|may|must|should|shall|has|have|had))\b|, when\b|"
                r"\b(?:until|till|since|by|from) when\b|"
                r"\b(?:what|which) (?:year|date|day|weekday|month|season|decade|century|time|hours?)\b|"
                r"何时|什么时候|哪一?年|いつ|\b(?:wann|quand|cuándo)\b",
    Asked.PLACE: r"\bwhere(?:abouts)?\b|\b(?:what|which) (?:cit|countr|place|town|state|village|river|"
                 r"island)|哪里|哪儿|在哪|哪[个些]?国家|どこ|\b(?:wo|où|dónde)\b",
    Asked.PERSON: r"\bwho(?:m|se)?\b|谁|誰|哪位|\b(?:wer|wem|wen|qui|quién(?:es)?)\b",
    Asked.MEANS: r"\bhow (?:do|does|did|can|could|should|would|to)\b|"
                 r"\bwhat (?:can|could|should|must) (?:i|we|you|one)\b",
}
_SIGNS = {  # how English sentences give a reason, or tell what to do
    Asked.REASON: re.compile(
        r"\b(?:because|since|so that|due to|owing to|thanks to|in order to|to avoid|otherwise|lest|"
        r"therefore|thus|as a result|reasons?|caus(?:e[sd]?|ing))\b", re.IGNORECASE),
    Asked.MEANS: re.compile(
        r"^\W*(?:to \w+|if|first|then|try|use|run|set|click|select|enter|open|go)\b|"
        r"\b(?:you|we|one) (?:can|could|may|must|should|need)\b|\b(?:use|using|by \w+ing)\b",
        re.IGNORECASE),
}
_NUMBERS = re.compile(
    r"\w*\d[\w.,]*|[一二三四五六七八九十百千万]+(?=[年个個人名座月])|\b(?:two|three|four|five|six|seven|"
    r"eight|nine|ten|eleven|twelve|dozen|hundred|thousand|million|half|once|twice)\b", re.IGNORECASE)
_TIMES = re.compile(
    r"\w*\d[\w.,]*|時代|\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|"
    r"april|may|june|july|august|september|october|november|december)\b", re.IGNORECASE)
_TYPES = {  # what taggers and models call them
    Asked.PERSON: frozenset(("person", "people", "character")),
    Asked.PLACE: frozenset(("gpe", "loc", "fac", "place", "location", "city", "country",
                            "building"))}


_DEFINES = frozenset(map(stem, ("mean", "meaning", "stand", "refer", "define", "definition",
                               "describe", "explain")))
_NOUN = re.compile(r"\b(?:which|what) ([^\W\d_]+)", re.IGNORECASE)
_CLAUSE = re.compile(r"[,;:(]")
_OPEN = re.compile(r"\b(?:who|whom|whose|what|which|where|when|why|how)\b", re.IGNORECASE)
_EXCLUDES = re.compile(r"\b(?:not|except|excluding|without|other than)\b", re.IGNORECASE)


def find_exclusion(question: str) -> str:
    """The first word by which a question takes something out, "" for none."""
    found = _EXCLUDES.search(question)
    return found.group() if found else ""


def asked_for(question: str) -> Asked:
    """The kind of thing that a question asks for, as far as its words tell."""
    for kind, asks in _ASKS.items():
        if re.search(asks, question, re.IGNORECASE):
            return kind
    return Asked.OPEN


def asks_for_something(question: str) -> bool:
    """Whether an English question asks who, what or how, and not whether: to "Does anyone mention Kew?" the
    name itself is the answer."""
    return _OPEN.search(question) is not None


def asked_noun(question: str) -> str:
    """The stem of what follows "which" or "what", as in "Which village": "" for none.

    Where a reason or a means is asked for it is not what is asked for.
    """
    found = _NOUN.search(question)
    return stem(words(found[1])[0]) if found and asked_for(question) not in _SIGNS else ""


def is_time(word: str) -> bool:
    """Whether a word is a number, a month or a day of the week, which texts write in many ways."""
    return _TIMES.fullmatch(word) is not None


def tells(word: str) -> bool:
    """Whether the stem of a word tells what is asked about a name, as "found" in "Who founded Kew?"
    does and "mean" in "What does LGTM mean?" does not."""
    return word not in _DEFINES


def begins_with(text: str, names: Iterable[Sequence[str]]) -> bool:
    """Whether one of some names, given by the stems of their words, comes first in a sentence.

    Numbers, articles and other function words before it do not count.
    """
    said = [stem(word) for word in content_words(text) if not word.isdigit()]
    return any(list(name) == said[:len(name)] for name in names if name)


def opens_with(text: str, noun: str) -> str:
    """The first clause of a sentence if it has a noun, given by its stem, else ""."""
    clause = _CLAUSE.split(text, maxsplit=1)[0]
    return clause if noun in stems(clause) else ""


def brings(kind: Asked, text: str, new: Iterable[SentenceName], said: Set[str]) -> float:
    """How well a sentence fits a kind that is asked for, in [0, 1].

    Only what the question does not say itself can be the answer: the `new` names of the sentence,
    and numbers and times that are not among the words `said`. Reasons and means are told by their
    signs. Any name fits half.
    """
    if kind in (Asked.NUMBER, Asked.TIME):
        pattern = _NUMBERS if kind == Asked.NUMBER else _TIMES
        found = {match.group().casefold() for match in pattern.finditer(text)}
        return float(not found <= said)
    if kind in _SIGNS and _SIGNS[kind].search(text):
        return 1.0
    types = {name.type for name in new}
    if not types.isdisjoint(_TYPES.get(kind, ())):
        return 1.0
    return 0.5 if types else 0.0


def unsaid(names: Iterable[SentenceName], said: Set[str]) -> list[SentenceName]:
    """The names that a question with the words `said` does not have itself."""
    return [name for name in names if not said >= set(words(name.text))]
