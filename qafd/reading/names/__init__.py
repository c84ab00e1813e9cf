"""Chunk to extraction: the names of a passage and which of them share a sentence."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from qafd.reading.names.entry import entry_of, find_verb, is_no_name, names_something
from qafd.reading.names.foreign import read_other
from qafd.reading.names.languages import ENGLISH, language_of
from qafd.reading.names.tagger import is_in_dictionary, is_verb, tagger
from qafd.reading.text import EMOJI, canonical, words_of
from qafd.reading.text.lines import ITEM, column_names, row_values, without_bullet
from qafd.records import GUESS, Chunk, Extraction, Mention
from qafd.resources import lexicon

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

TYPES = frozenset({"PERSON", "ORG", "GPE", "LOC", "FAC", "NORP", "PRODUCT", "EVENT",
                   "WORK_OF_ART", "LAW", "LANGUAGE"})
UNTYPED = "PROPN"
RULES = "local-26"
"""What these rules are called in the log; see `LocalExtractor.name`."""

VALUE_WORDS = 3  # of a value in a row that can be a name as a whole

_BLANK = " \t\n-*+\u2022"
_EDGE = "\u2022\u2023\u00b7 \t\n\"'`\u201c\u201d\u2018\u2019,;:!?*_-\u2013\u2014/\\|<>=#~()[]" + EMOJI
_TRAILING = re.compile(r"(?:\s+(?:of|and|the|for|in|on|at|by|from|with|to|&))+$")
_POSSESSIVE = re.compile(r"['\u2019]s$")
_ABBREVIATED = re.compile(
    r"(?:\b(?:[^\W\d_]|inc|corp|ltd|co|jr|sr|st|bros|dept|univ|mt|no)|\.\w+)\.$", re.IGNORECASE)


class LocalExtractor:
    """spaCy's small English model; needs no key and no network.

    Passages in other languages are read by rules of their own, see `qafd.reading.names.foreign`.

    A mention is a named entity (`TYPES`, as guesses: "PERSON?"), a run of proper nouns that the tagger missed
    ("PROPN"), the title, the heading, or a noun chunk of two content words or more ("term").
    `qafd.assemble` decides which terms become nodes. Two names of a sentence assert a relation,
    labeled where the parse is sure of subject, verb and object (`find_verb`), else "named together";
    in sentences of more than 8 names only neighbors do. "X (Y)" with Y the initials of X makes Y
    another name of X.

    Attributes
    ----------
    name : str
        `RULES` and the version of the model. A workspace is read again when it changes, so
        `RULES` changes exactly when some text is read differently.

    Raises
    ------
    ModelError
        When the spaCy model is not installed.
    """

    def __init__(self) -> None:
        self._nlp, version = tagger()
        self._stop: frozenset[str] = frozenset(self._nlp.Defaults.stop_words)
        self.name = f"{RULES}/{version}"

    def extract(self, chunk: Chunk) -> Extraction:
        """Return the entry of the extraction log for a chunk."""
        return next(self.extract_all([chunk]))

    def extract_all(self, chunks: Iterable[Chunk]) -> Iterator[Extraction]:
        """Yield one extraction per chunk, in order; faster than one call each."""
        told = ((chunk, language_of(chunk.text)) for chunk in chunks)
        texts = ((chunk.text if language == ENGLISH else "", (chunk, language))
                 for chunk, language in told)
        for doc, (chunk, language) in self._nlp.pipe(texts, as_tuples=True, batch_size=16):
            if language == ENGLISH:
                yield self._read(doc, chunk)
            else:
                yield read_other(chunk, language, self.name)

    def _read(self, doc: "Doc", chunk: Chunk) -> Extraction:
        text = doc.text  # which spaCy joins anew each time
        sentences = [sentence for sentence in doc.sents if sentence.text.strip(_BLANK)]
        named: list[Mention] = []
        terms: list[Mention] = []
        spans: dict[int, Span] = {}  # of the names, by where they begin
        column_at: dict[int, str] = {}  # of the values in rows, by where they begin
        for number, sentence in enumerate(sentences):
            columns = {sentence.start_char + at for at in column_names(sentence.text)}
            for column, start, _ in row_values(sentence.text):
                column_at[sentence.start_char + start] = column
            taken: set[int] = set()
            for span, kind in _spans(sentence):
                mention = self._mention(span, kind, number)
                if mention is not None and mention.start not in columns:
                    named.append(mention)
                    spans[mention.start] = span
                    taken.update(range(span.start, span.end))
            for mention in self._terms(sentence, taken, number, text):
                if mention.start not in columns:
                    terms.append(mention)

        def label(source: Mention, target: Mention) -> str:
            return find_verb(spans[source.start], spans[target.start])

        bounds = [without_bullet(text, s.start_char, s.end_char) for s in sentences]
        return entry_of(chunk, self.name, bounds, _alike(named, column_at), terms, label, self._names)

    def _mention(self, span: "Span", kind: str, number: int) -> Mention | None:
        """Return the span as a mention, trimmed; None for one that names nothing or has no capital."""
        raw = span.text.split("\n")[0]
        item = ITEM.match(raw)
        if item:
            raw = raw[item.end():]
        start = span.start_char + (item.end() if item else 0) + len(raw) - len(raw.lstrip(_EDGE))
        name = _POSSESSIVE.sub("", _TRAILING.sub("", raw.strip(_EDGE)))
        if name.endswith(".") and not _ABBREVIATED.search(name):
            name = name[:-1]
        key = canonical(name)
        if not (self._names(key) or key in lexicon("names", "given")) or name.islower() or is_no_name(name):
            return None
        return Mention(key, name, start, start + len(name), number, kind)

    def _names(self, key: str) -> bool:
        """Return True if a key can be a name: one of 12 words at most, of which one is no function word."""
        words = [word for word, _, _ in words_of(key)]
        return names_something(key) and len(words) <= 12 and not self._stop.issuperset(words)

    def _terms(self, sentence: "Span", taken: set[int], number: int, text: str
               ) -> Iterator[Mention]:
        for found in sentence.noun_chunks:
            tokens = [token for token in found if not token.is_space]
            while tokens and (tokens[0].is_stop or tokens[0].pos_ not in ("NOUN", "PROPN", "ADJ")):
                tokens = tokens[1:]
            content = [t for t in tokens if t.is_alpha and t.pos_ in ("NOUN", "PROPN", "ADJ")]
            if len(content) < 2 or len(tokens) > 5 or any(token.i in taken for token in tokens):
                continue
            start, end = tokens[0].idx, tokens[-1].idx + len(tokens[-1])
            name = text[start:end]
            key = canonical(name)
            if "\n" not in name and self._names(key):
                yield Mention(key, name, start, end, number, "term")


def proper_runs(sentence: "Span", blocked: set[int]) -> Iterator["Span"]:
    """Yield the longest runs of proper nouns that touch no entity of the tagger, of any type."""
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


def _spans(sentence: "Span") -> list[tuple["Span", str]]:
    """Return the spans of a sentence that may be names, in order, with their types."""
    blocked: set[int] = set()
    for entity in sentence.ents:
        blocked.update(range(entity.start, entity.end))
    spans = []
    for entity in sentence.ents:
        if entity.label_ in TYPES:
            spans += [(part, entity.label_) for part in _parts_by_line(entity)]
    spans += [(run, UNTYPED) for run in proper_runs(sentence, blocked)]
    spans = [(_with_given(_without_address(span), sentence), kind) for span, kind in spans]
    spans += [(sentence.doc[word.i:word.i + 1], "PERSON") for word in sentence[:-1] if _stands_alone(word)]
    for value in _named_values(sentence):
        if not any(token.ent_type_ in TYPES for token in value):
            apart = [one for one in spans if one[0].end <= value.start or one[0].start >= value.end]
            spans = [*apart, (value, UNTYPED)]
    return sorted((one for one in spans if not _tells_to(one[0], sentence)), key=lambda one: one[0].start)


def _without_address(span: "Span") -> "Span":
    """Return a name without the word that a letter opens with: "Dear Rosa"."""
    return span[1:] if len(span) > 1 and span[0].lower_ in ("dear", "hello", "hi") else span


def _with_given(span: "Span", sentence: "Span") -> "Span":
    """Return a name whole where its given name is a small word to the tagger: "Per Lund"."""
    doc, start, end = span.doc, span.start, span.end
    if _is_given(doc[max(start - 1, sentence.start)]):
        start = max(start - 1, sentence.start)
    elif len(span) == 1 and _is_given(span[0]) and end < sentence.end and doc[end].text.istitle():
        end += 1
    return doc[start:end]


def _is_given(word: "Token") -> bool:
    """Return True for a function word with a capital that is a given name."""
    return word.text.istitle() and not word.ent_type_ and word.lower_ in lexicon("names", "given")


def _stands_alone(word: "Token") -> bool:
    """Return True for such a name before its verb or within a sentence: "Per keeps it", "She met Per"."""
    after = word.nbor()
    within = not word.is_sent_start and not after.text.istitle()
    return _is_given(word) and (within or after.pos_ == "VERB" and after.tag_ in ("VBD", "VBZ"))


def _parts_by_line(entity: "Span") -> Iterator["Span"]:
    """Yield the parts of an entity of the tagger on each line: two items of a list are two names."""
    first = entity.start
    for token in entity:
        if "\n" in token.text:
            yield entity.doc[first:token.i]
            first = token.i + 1
    yield entity.doc[first:entity.end]


def _named_values(sentence: "Span") -> Iterator["Span"]:
    """Yield the values in a row of a table that are names as a whole, by the capitals of their words."""
    for _, start, end in row_values(sentence.text):
        value = sentence.doc.char_span(sentence.start_char + start, sentence.start_char + end)
        if value is None or len(value) > VALUE_WORDS or not all(word.text.istitle() for word in value):
            continue
        opening = value[0]
        small = opening.is_stop and opening.lower_ not in lexicon("names", "given")
        if not small and (len(value) > 1 or not is_in_dictionary(opening.lower_)):
            yield value


def _tells_to(span: "Span", sentence: "Span") -> bool:
    """Return True if a span is an imperative verb: "Bake for 45 minutes".

    It opens its sentence and heads it. The tagger takes such a word for a name by its capital.
    """
    opens = not any(token.text[-1].isalnum() for token in span.doc[sentence.start:span.start])
    return len(span) == 1 and opens and span.root.dep_ == "ROOT" and is_verb(span.text.lower())


def _alike(named: Sequence[Mention], column_at: Mapping[int, str]) -> list[Mention]:
    """Return the mentions; those of one name get their most frequent type, marked as a guess.

    A name that the tagger gave no type has that of the others in its column of a table.
    """
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    columns: dict[str, Counter[str]] = defaultdict(Counter)
    for mention in named:
        counts[mention.key][mention.kind] += 1
        if mention.kind != UNTYPED and mention.start in column_at:
            columns[column_at[mention.start]][mention.kind] += 1
    typed = []
    for mention in named:
        count = counts[mention.key]
        if set(count) == {UNTYPED}:
            count = columns.get(column_at.get(mention.start, ""), count)
        kind = min(count, key=lambda one: (-count[one], one))
        typed.append(replace(mention, kind=kind if kind == UNTYPED else kind + GUESS))
    return typed
