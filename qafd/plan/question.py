"""A question as it is read: once for each text, for everything that looks at its words."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

from qafd.plan.kinds import (
    Asked,
    Beyond,
    begins,
    find_asked,
    find_asking_words,
    find_beyond,
    find_counted,
    is_number,
)
from qafd.reading.names.cjk import TERM
from qafd.reading.names.foreign import names_of, sentences
from qafd.reading.names.languages import ENGLISH, function_words, language_of
from qafd.reading.names.tagger import is_comparative, is_form, is_in_dictionary, is_superlative
from qafd.reading.text import canonical
from qafd.reading.text.bm25 import content_words, stem, words
from qafd.reading.text.scripts import is_unspaced
from qafd.resources import lexicon

FEW = 3  # words of content below which a question without a name leans on what is before it

_WORD = re.compile(r"[^\W_]+(?:[-'\u2019][^\W_]+)*")
_OPENING = re.compile(r"(\w+) +")  # "Describe Rome"
_CONTRACTED = re.compile(r"(\w+)['\u2019](?:m|s|re|ve|ll|d)\b\s*")  # "Where's Ben"
_QUALIFIED = re.compile(r"-[^\W\d_A-Z]\w{4,}$")  # "CBS-affiliated"
_GREETED = re.compile(r"\w+(?: \w+)?[,!.:]+\s+(?=\w)")  # "Hello, " and "Good evening, "


class Phrase(NamedTuple):
    """A part of a question at `start:end`."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class QuestionParse:
    """A question and its parse, each part of which is made when it is first read.

    No tagger reads a question: of names, all that counts is whether the graph has them, and no part of
    speech changes which passages are found.
    """

    text: str

    @cached_property
    def language(self) -> str:
        """The code of its language, see `language_of`."""
        return language_of(self.text, least=1)

    @property
    def is_english(self) -> bool:
        return self.language == ENGLISH

    @cached_property
    def common(self) -> frozenset[str]:
        """Words that are no names."""
        return function_words(ENGLISH) | function_words(self.language)

    @cached_property
    def _found(self) -> list[tuple[Phrase, bool]]:
        """Its names, and its terms in scripts without capitals; True for a term."""
        if self.text.isupper():  # capitals throughout mark no names
            return []
        found, _ = names_of(self.text, sentences(self.text), self.language)
        phrases = [(Phrase(self.text[start:end], start, end), kind == TERM) for start, end, kind in found]
        return [(phrase, is_term) for phrase, is_term in phrases if canonical(phrase.text)]

    @cached_property
    def named(self) -> tuple[Phrase, ...]:
        """Names by their form: runs of words with a capital, without a request before them."""
        requests = self.asking_words | _requesting()
        found = []
        for phrase, is_term in self._found:
            opening, short = _OPENING.match(phrase.text), _CONTRACTED.match(phrase.text)
            start = 0
            if opening and opening[1].lower() in requests:
                start = opening.end()
            elif short and short[1].lower() in self.common:
                start = short.end()
            name = _QUALIFIED.sub("", phrase.text[start:])
            if not is_term and (len(name) > 1 or is_unspaced(name)):
                found.append(Phrase(name, phrase.start + start, phrase.start + start + len(name)))
        return tuple(found)

    @cached_property
    def themes(self) -> tuple[str, ...]:
        """Terms, or the runs of words between names and common words."""
        terms = [phrase.text for phrase, is_term in self._found if is_term]
        return tuple(terms or self._find_runs())

    def _find_runs(self) -> Iterator[str]:
        spans: list[tuple[int, int]] = []
        end = -1  # of the run at work
        for match in () if is_unspaced(self.text) else _WORD.finditer(self.text):
            named = any(start < match.end() and match.start() < last for _, start, last in self.named)
            common = match[0].casefold().replace("\u2019", "'").partition("'")[0] in self.common
            if named or common or not any(map(str.isalpha, match[0])):
                end = -1
            elif end >= 0 and not self.text[end:match.start()].strip():
                spans[-1] = (spans[-1][0], match.end())
                end = match.end()
            else:
                spans.append(match.span())
                end = match.end()
        return (self.text[start:end] for start, end in spans)

    @cached_property
    def words(self) -> frozenset[str]:
        """All words, as in BM25."""
        return frozenset(words(self.text))

    @cached_property
    def content(self) -> tuple[str, ...]:
        """The different words of content, in order."""
        return tuple(content_words(self.text))

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of the words of content."""
        return frozenset(map(stem, self.content))

    @cached_property
    def asking_words(self) -> frozenset[str]:
        """The words that ask and which an answer need not have."""
        return find_asking_words(self.text)

    @cached_property
    def asked(self) -> Asked:
        """The kind of thing asked for."""
        return find_asked(self.text)

    @cached_property
    def beyond(self) -> Beyond | None:
        """Why no sentence can answer, None where one may.

        "Which is older, A or B?" compares; "than A or B" and "which older boat" do not.
        """
        beyond = find_beyond(self.text, self.language)
        chooses = self.is_english and "or" in self.words and "than" not in self.words
        if beyond in (None, Beyond.CLOSED) and chooses:
            return Beyond.COMPARISON if any(map(is_comparative, _find_predicates(self.text))) else beyond
        return beyond

    @property
    def is_extreme(self) -> bool:
        """True if it asks for the most or least of something, in English."""
        return self.is_english and any(map(is_superlative, self.words))

    @property
    def counted(self) -> str:
        """The noun after "how many", "" without one."""
        return find_counted(self.text)

    @property
    def is_closed(self) -> bool:
        """True if it begins as questions of yes and no do."""
        return begins(self.text, "closed")

    def names_thing(self, word: str) -> bool:
        """Return True if a word is of a name or, in English, of a thing: a noun by its form or its place.

        Words that ask and common ones are neither. In other languages we know no other forms of a
        word, so only names count.
        """
        if word in self.asking_words | self.common | lexicon("english", "indefinite"):
            return False
        if any(word in words(phrase.text) for phrase in self.named):
            return True
        if not self.is_english:
            return False
        if not is_in_dictionary(word):
            return word.isalpha()
        other = is_form(word, "verb") or is_form(word, "adj")
        return is_form(word, "noun") and (not other or any(
            after == word and before in _before_nouns() for before, after in pairwise(words(self.text))))


@lru_cache(64)
def parse_question(text: str) -> QuestionParse:
    """Return the parse of a text, the same for the same text."""
    return QuestionParse(text)


def _find_predicates(text: str) -> Iterator[str]:
    """Yield "more", "less" and words that only "or" may follow: "older" in "which is older, A or B"."""
    yield from re.findall(r"\w+(?!\w| +(?!or\b)\w)|\b(?:more|less)\b", text.lower())


def _requesting() -> frozenset[str]:
    return lexicon("english", "requesting")


def _before_nouns() -> frozenset[str]:
    return lexicon("english", "before_nouns")


def find_asking(parse: QuestionParse, find_names: Callable[[QuestionParse], Sequence[int]]) -> str:
    """Return the part of a text that asks, with its facts; all of it where nothing asks, or not in English.

    Of several sentences those with a question mark ask, or else those that express a wish to know. Of
    "Could you tell me who wrote it?" the clause is kept. Greetings, thanks and requests are left out, and
    sentences about the writer or the reader without a number. Those stay that have a
    known name or precede a question that leans on them: a pronoun for something else comes before its
    words of content, or it has no name and fewer than three of these.

    Parameters
    ----------
    find_names : callable
        Returns where names begin that the graph knows; asked only of several sentences.

    Examples
    --------
    >>> from qafd.plan.question import parse_question
    >>> find_asking(parse_question("Hi! Could you tell me who wrote the rules? Thanks."), lambda _: ())
    'who wrote the rules?'
    """
    if not parse.is_english:
        return parse.text
    bounds = sentences(parse.text)
    texts = [parse.text[start:end].strip() for start, end in bounds]
    asking = [text.endswith("?") for text in texts]
    if not any(asking):
        asking = [_find_clause(text) > 0 for text in texts]
    if not any(asking):
        return parse.text
    begun = find_names(parse) if len(bounds) > 1 else ()
    named = [_lies_in(start, end, begun) for start, end in bounds]
    parts: list[str] = []
    for number, text in enumerate(texts):
        if asking[number]:
            parts.append(_without_opening(text))
            continue
        leaned_on = number + 1 < len(texts) and asking[number + 1] and not named[number + 1] and (
            _leans(texts[number + 1]))
        if named[number] or _tells_of_matter(words(text)) or leaned_on:
            parts.append(text)
    return " ".join(parts)


def _lies_in(start: int, end: int, places: Sequence[int]) -> bool:
    """Return True if any of some places is from `start` to before `end`."""
    return any(start <= place < end for place in places)


def _without_opening(sentence: str) -> str:
    """Return a sentence that asks, from the clause that is asked or from the words after a greeting."""
    greeting = _GREETED.match(sentence)
    if greeting and not lexicon("english", "greeting").isdisjoint(words(greeting[0])):
        sentence = sentence[greeting.end():]
    return sentence[_find_clause(sentence):]


def _find_clause(sentence: str) -> int:
    """Return where "who wrote it" begins in "Could you tell me who wrote it?", else 0.

    Before it only common words, words for writer and reader, and verbs that request occur.
    """
    common = function_words(ENGLISH) | lexicon("english", "greeting")
    before: list[str] = []
    start = 0
    for match in _WORD.finditer(sentence):
        word = match[0].lower()
        if word == "whether" or word in lexicon("english", "questioning"):
            requests = not _requesting().isdisjoint(before) and not _talkers().isdisjoint(before)
            in_which = bool(before) and before[-1] in lexicon("english", "prepositions")
            return (start if in_which else match.start()) if requests else 0
        if word not in common | _talkers() | _requesting():
            return 0
        before.append(word)
        start = match.start()
    return 0


def _talkers() -> frozenset[str]:
    return lexicon("english", "talkers")


def _tells_of_matter(sentence: Sequence[str]) -> bool:
    """Return True if the subject is not the writer or reader, or numbers are given of them, with which
    texts are compared."""
    if not lexicon("english", "greeting").isdisjoint(sentence):
        return False
    if any(map(is_number, sentence)):
        return True
    opens = sentence[:1] and sentence[0] in lexicon("english", "openers")
    return bool(opens) and _talkers().isdisjoint(sentence)


def _leans(question: str) -> bool:
    """Return True if a question without a name needs the sentence before it to be understood."""
    content = content_words(question)
    if len(content) < FEW:
        return True
    asked = words(question)
    return not lexicon("english", "referring").isdisjoint(asked[:asked.index(content[0])])
