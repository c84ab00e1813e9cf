"""A question as it is read: once for each text, for everything that looks at its words."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from qafd.plan.kinds import (
    Asked,
    Beyond,
    begins,
    find_asked,
    find_asking_words,
    find_beyond,
    find_counted,
)
from qafd.reading.names.cjk import TERM
from qafd.reading.names.foreign import names_of
from qafd.reading.names.languages import ENGLISH, function_words, language_of
from qafd.reading.names.tagger import tagger
from qafd.reading.text import canonical
from qafd.reading.text.bm25 import content_words, stem, words

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

_READING = Lock()  # spaCy's pipelines add words to a shared vocabulary as they read


class Phrase(NamedTuple):
    """A part of a question at `start:end`."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class QuestionParse:
    """A question and its parse, each part of which is made when it is first read.

    English questions are read by spaCy's small model without its finder of entities: of names, all that
    counts is whether the graph has them.
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
    def doc(self) -> "Doc | None":
        """The text tagged and parsed, None for one that is not English."""
        if not self.is_english:
            return None
        nlp, _ = tagger()
        with _READING:
            return nlp(self.text, disable=["ner"])

    @cached_property
    def common(self) -> frozenset[str]:
        """Words that are no names."""
        return function_words(ENGLISH) | function_words(self.language)

    @cached_property
    def named(self) -> tuple[Phrase, ...]:
        """Names by the look of them: runs of proper nouns."""
        if self.doc is None:
            return tuple(phrase for phrase, is_term in self._foreign if not is_term)
        return tuple(_find_runs(self.doc))

    @cached_property
    def themes(self) -> tuple[str, ...]:
        """Noun phrases without their leading function words."""
        if self.doc is None:
            return tuple(phrase.text for phrase, is_term in self._foreign if is_term)
        return tuple(_find_themes(self.doc))

    @cached_property
    def _foreign(self) -> list[tuple[Phrase, bool]]:
        """The names and terms of a question in another language; True for a term."""
        found, _ = names_of(self.text, [(0, len(self.text))], self.language)
        phrases = [(Phrase(self.text[start:end], start, end), kind == TERM) for start, end, kind in found]
        return [(phrase, is_term) for phrase, is_term in phrases if canonical(phrase.text)]

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
        if beyond in (None, Beyond.CLOSED) and self.doc is not None:
            tokens = {token.lower_ for token in self.doc}
            if "or" in tokens and "than" not in tokens and any(map(_rates, self.doc)):
                return Beyond.COMPARISON
        return beyond

    @property
    def is_extreme(self) -> bool:
        """True if it asks for the most or least of something, in English."""
        return self.doc is not None and any(token.tag_ in _MOST for token in self.doc)

    @property
    def counted(self) -> str:
        """The noun after "how many", "" without one."""
        return find_counted(self.text)

    @cached_property
    def unmentioned(self) -> frozenset[str]:
        """Words that a document need not have to be about them: those that ask, "largest", "anybody"."""
        degrees = [token.lower_ for token in self.doc or ()
                   if token.tag_ in (*_MORE, *_MOST) or token.pos_ == "PRON"]
        return self.asking_words.union(degrees)

    @property
    def is_closed(self) -> bool:
        """True if it begins as questions of yes and no do."""
        return begins(self.text, "closed")


def _rates(token: "Token") -> bool:
    """Return True for a comparative that is said of things, as in "which is older"."""
    return token.tag_ in _MORE and (token.dep_ != "amod" or token.lower_ in ("more", "less"))


@lru_cache(64)
def parse_question(text: str) -> QuestionParse:
    """Return the parse of a text, the same for the same text."""
    return QuestionParse(text)


def _find_runs(doc: "Doc") -> Iterator[Phrase]:
    """Yield runs of proper nouns, with the hyphens between them."""
    for is_proper, run in groupby(doc, lambda token: token.pos_ == "PROPN" or token.text == "-"):
        tokens = [token for token in run if is_proper]
        while tokens and tokens[0].text == "-":
            tokens = tokens[1:]
        while tokens and tokens[-1].text == "-":
            tokens = tokens[:-1]
        if tokens:
            span = doc[tokens[0].i:tokens[-1].i + 1]
            if canonical(span.text):
                yield Phrase(span.text, span.start_char, span.end_char)


def _find_themes(doc: "Doc") -> Iterator[str]:
    for phrase in doc.noun_chunks:
        tokens = list(phrase)
        while tokens and (tokens[0].is_stop or not tokens[0].is_alpha):
            tokens = tokens[1:]
        if tokens:
            yield doc.text[tokens[0].idx:tokens[-1].idx + len(tokens[-1])]


_MORE, _MOST = ("JJR", "RBR"), ("JJS", "RBS")  # tags of comparatives and superlatives
WH = frozenset(("WDT", "WP", "WP$", "WRB"))
"""Tags of words that ask."""
FEW = 3  # words of content below which a question without a name leans on what is before it
_TALKERS = frozenset(("i", "we", "you"))
_SUBJECTS = frozenset(("nsubj", "nsubjpass"))
_CONTENT = frozenset(("NOUN", "PROPN", "VERB", "ADJ", "NUM"))


def find_asking(parse: QuestionParse, find_names: Callable[[QuestionParse], Sequence[int]]) -> str:
    """Return the part of a text that asks, with its facts; all of it where nothing asks, or not in English.

    Of several sentences those with a question mark ask, or else those that express a wish to know. Of
    "Could you tell me who wrote it?" the clause is kept. Sentences about the writer or the reader alone,
    without a number, are left out, and so are greetings, thanks and requests. Those stay that have a
    known name or precede a question that leans on them: a pronoun for something else comes before its
    nouns, or it has no name and fewer than three words of content.

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
    sentences = [] if parse.doc is None else list(parse.doc.sents)
    asking = [one.text.endswith("?") for one in sentences]
    if not any(asking):
        asking = [_asked_clause(one) is not None for one in sentences]
    if not any(asking):
        return parse.text
    names = find_names(parse) if len(sentences) > 1 else ()
    parts: list[str] = []
    for number, sentence in enumerate(sentences):
        if asking[number]:
            parts.append(_without_opening(sentence))
            continue
        before_question = number + 1 < len(sentences) and asking[number + 1]
        if _has_name(sentence, names) or _tells_of_matter(list(sentence)) or (
                before_question and _leans(sentences[number + 1], names)):
            parts.append(sentence.text)
    return " ".join(part.strip() for part in parts)


def _without_opening(sentence: "Span") -> str:
    """Return a sentence that asks, from the clause that is asked or from the words after a greeting."""
    clause = _asked_clause(sentence)
    if clause is not None:
        return sentence.doc[clause.left_edge.i:sentence.end].text
    greeted = False
    for token in sentence:
        if _in_interjection(token):
            greeted = True
        elif token.dep_ != "punct":
            return sentence.doc[token.i:sentence.end].text if greeted else sentence.text
    return sentence.text


def _in_interjection(token: "Token") -> bool:
    return token.dep_ == "intj" or any(one.dep_ == "intj" for one in token.ancestors)


def _asked_clause(sentence: "Span") -> "Token | None":
    """Return the verb of "who wrote it" in "Could you tell me who wrote it?", before which only writer and
    reader occur."""
    for token in sentence:
        if token.dep_ == "ccomp" and _opens_question(token.left_edge):
            before = list(sentence.doc[sentence.start:token.left_edge.i])
            if not any(_opens_question(one) or _is_content(one) for one in before) and not (
                    _tells_of_matter(before)):
                return token
    return None


def _opens_question(token: "Token") -> bool:
    if token.pos_ == "ADP" and token.i + 1 < len(token.doc):  # "in which year"
        token = token.nbor()
    return token.tag_ in WH or token.lower_ == "whether"


def _is_content(token: "Token") -> bool:
    return token.pos_ in ("NOUN", "PROPN", "NUM") and not _in_interjection(token)


def _tells_of_matter(sentence: Sequence["Token"]) -> bool:
    """Return True if the subject is not the writer or reader, or numbers are given of them, with which
    texts are compared."""
    subjects = [token.lower_ for token in sentence if token.dep_ in _SUBJECTS]
    if any(subject not in _TALKERS for subject in subjects):
        return True
    return bool(subjects) and any(token.pos_ == "NUM" for token in sentence)


def _has_name(sentence: "Span", names: Sequence[int]) -> bool:
    return any(sentence.start_char <= start < sentence.end_char for start in names)


def _leans(sentence: "Span", names: Sequence[int]) -> bool:
    """Return True if a question needs the sentence before it to be understood."""
    if _has_name(sentence, names):
        return False
    content = sum(token.pos_ in _CONTENT for token in sentence)
    return content < FEW or _points_back(sentence)


def _points_back(sentence: Iterable["Token"]) -> bool:
    """Return True if a pronoun of the third person comes before all nouns."""
    for token in sentence:
        if token.pos_ in ("NOUN", "PROPN"):
            return False
        if token.pos_ == "PRON" and ("3" in token.morph.get("Person", [])
                                     or "Dem" in token.morph.get("PronType", [])):
            return True
    return False
