"""Chunk to extraction by a language model, and the engine that keeps several calls in flight."""

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from qafd.errors import MalformedReplyError, MissingKeyError, ModelError, SpendingCapError
from qafd.ingest.engine import Batch, Engine, Readings
from qafd.models import LLM, Message, Reply
from qafd.models.cost import Metered
from qafd.models.estimate import RunPlan, plan_run
from qafd.models.prompts import (
    ENTITY_TYPES,
    Records,
    again,
    extract_messages,
    more,
    read_records,
)
from qafd.reading.text import canonical, words_of
from qafd.reading.text.scripts import form_of, same
from qafd.records import Assertion, Chunk, Description, Extraction, Mention, Vectors

REPLY_TOKENS = 2048  # most that a reply may have
PATIENCE = 8  # calls in a row that may fail before the others are not made
_WORDS_OF_A_LABEL = 4
_OWN = {"term", "title", "heading", "propn"}  # kinds with a meaning in the log


@dataclass(frozen=True)
class ModelReading:
    """An extraction, and "" or why it is not what the model should have given."""

    extraction: Extraction
    doubt: str = ""


class ModelExtractor:
    """Prompt 1 over a chunk; what is no record, or not in the chunk, is dropped.

    Sentences, title and heading come from the local reading of the same chunk. That reading also
    stands in when two replies in a row hold no record.

    Parameters
    ----------
    llm : LLM
        A `Metered` one is told which chunk it is asked about.
    types : sequence of str
        Entity types to look for; another type that the model gives is kept as "OTHER".
    language : str
        Of descriptions and keywords.
    gleanings : int
        How often to ask for what was missed.
    """

    def __init__(self, llm: LLM, types: Sequence[str] = ENTITY_TYPES, language: str = "English",
                 gleanings: int = 0) -> None:
        self._llm, self._types = llm, tuple(types)
        self._language, self._gleanings = language, gleanings
        probe = extract_messages(Chunk("", "", "", "", 0, 0), self._types, language)
        options = repr((probe[0].content, gleanings, REPLY_TOKENS)).encode()
        self.name = f"{llm.name}/records-1-{hashlib.sha256(options).hexdigest()[:8]}"

    def read(self, chunk: Chunk, local: Extraction) -> ModelReading:
        """The log entry of a chunk.

        Raises
        ------
        ModelError
            No reply was to be had; the chunk waits for another run.
        """
        if not _has_letters(chunk):
            return ModelReading(replace(local, extractor=self.name))
        llm = self._llm.about(chunk=chunk.id, document=chunk.document) if isinstance(
            self._llm, Metered) else self._llm
        messages = extract_messages(chunk, self._types, self._language)
        reply = _asked(llm, messages)
        if reply is None or not read_records(reply.text):
            messages = again(messages)
            reply = _asked(llm, messages)
        records = read_records(reply.text) if reply is not None else Records()
        if reply is None or not records:
            return ModelReading(replace(local, extractor=self.name),
                           "two replies of the model held no record")
        cut = reply.cut
        for _ in range(self._gleanings):
            messages = more(messages, reply.text)
            reply = _asked(llm, messages)
            if reply is None or not (added := read_records(reply.text)):
                break
            records += added
            cut = cut or reply.cut
        extraction = grounded(chunk, local, records, self.name, self._types)
        return ModelReading(extraction, "the model's reply was too long and is not whole" if cut else "")

    def plan(self, chunks: Iterable[Chunk], in_flight: int = 4) -> RunPlan:
        """What reading these chunks would take; no call is made."""
        assert isinstance(self._llm, Metered)
        return plan_run(self._llm, (
            extract_messages(chunk, self._types, self._language) for chunk in chunks
            if _has_letters(chunk)), REPLY_TOKENS, rounds=1 + self._gleanings,
            in_flight=in_flight)


def _has_letters(chunk: Chunk) -> bool:
    return any(character.isalpha() for character in chunk.text)


def accepted(reply: Reply) -> bool:
    """Whether a reply to Prompt 1 is worth keeping: whole, with a record in it."""
    return not reply.cut and bool(read_records(reply.text))


def _asked(llm: LLM, messages: Sequence[Message]) -> Reply | None:
    """A reply; None when the model answered nothing."""
    try:
        return llm.complete(messages, max_tokens=REPLY_TOKENS)
    except MalformedReplyError:
        return None


def grounded(chunk: Chunk, local: Extraction, records: Records, extractor: str,
             types: Sequence[str] = ENTITY_TYPES) -> Extraction:
    """The log entry of a chunk from a model's records, as far as the chunk bears them out.

    An entity must occur in the chunk, word by word up to case, punctuation, possessive and a
    plural s (letter by letter without spaces, see `qafd.reading.text.scripts`), or be its title or
    heading; a relation must join two such entities. Equal records become one, their different
    descriptions stay.
    """
    known = {m.key: m.kind for m in local.mentions if m.kind in ("title", "heading")}
    mentions = [m for m in local.mentions if m.kind in ("title", "heading")]
    text = [(_stem(word), start, end) for word, start, end in words_of(chunk.text)]
    starts = [start for start, _ in local.sentences] or [0]
    allowed = {kind.upper() for kind in types}
    sentences: dict[str, set[int]] = {key: set() for key in known}
    said: dict[Description, None] = {}
    for entity in records.entities:
        key = canonical(entity.source)
        kind = entity.kind.upper() if entity.kind.upper() in allowed else "OTHER"
        kind = "OTHER" if kind.lower() in _OWN else kind
        if key not in sentences:
            places = list(_places(key, text))
            if not places:
                continue
            at = [int(np.searchsorted(starts, start, side="right")) - 1 for start, _ in places]
            sentences[key] = {max(number, 0) for number in at}
            mentions += [Mention(key, chunk.text[start:end], start, end, max(number, 0), kind)
                         for (start, end), number in zip(places, at, strict=True)]
        said[Description(key, kind=kind, text=entity.text)] = None
    assertions: dict[tuple[str, str], Assertion] = {}
    for relation in records.relations:
        source, target = canonical(relation.source), canonical(relation.target)
        if source == target or source not in sentences or target not in sentences:
            continue
        shared = sentences[source] & sentences[target] or sentences[source] | sentences[target]
        label = " ".join((relation.keywords[0] if relation.keywords else "").split()[
            :_WORDS_OF_A_LABEL])
        if local.sentences:
            assertions.setdefault((source, target), Assertion(
                source, target, min(shared, default=0), label))
        said[replace(relation, source=source, target=target)] = None
    if records.keywords:
        said[Description(keywords=records.keywords)] = None
    return Extraction(
        chunk.id, extractor, local.sentences,
        tuple(sorted(mentions, key=lambda m: (m.sentence, m.start, m.end, m.kind, m.key))),
        tuple(assertions.values()), tuple(said))


def _places(key: str, text: Sequence[tuple[str, int, int]]) -> Iterator[tuple[int, int]]:
    """Where the words of a key stand in a text, from the left, without overlap."""
    wanted = [_stem(word) for word, _, _ in words_of(key)]
    if not any(character.isalnum() for character in key) or not 2 <= len(key) <= 100:
        return
    at = 0
    while wanted and at + len(wanted) <= len(text):
        some = text[at:at + len(wanted)]
        words = [word for word, _, _ in some]
        if same(words, wanted):
            yield some[0][1] + len(words[0]) - len(wanted[0]), some[-1][2]
            at += len(wanted)
        else:
            at += 1


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else form_of(word)


class ModelEngine:
    """Reads with a language model, several calls in flight; vectors come from another engine.

    A chunk whose call fails is reported, not logged: it waits for the next run. After `PATIENCE`
    failures in a row, a spent cap or a refused key, the calls that are left are not made.
    """

    def __init__(self, extractor: ModelExtractor, base: Engine, in_flight: int = 4) -> None:
        self.models = base.models._replace(extractor=extractor.name)
        self._extractor, self._base, self._in_flight = extractor, base, in_flight
        self._stop: ModelError | None = None
        self._failures = 0

    def read_all(self, batches: Iterator[Batch]) -> Iterator[tuple[Batch, Readings]]:
        """Every passage as a batch of its own, in order; its failure instead of its reading."""
        waiting: deque[tuple[str, Chunk, Vectors, Future[ModelReading]]] = deque()
        with ThreadPoolExecutor(self._in_flight) as pool:
            try:
                for (source, chunks), local in self._base.read_all(batches):
                    for chunk, extraction, vectors in zip(
                            chunks, local.extractions, local.vectors, strict=True):
                        waiting.append((source, chunk, vectors,
                                        pool.submit(self._read, chunk, extraction)))
                        while len(waiting) > 2 * self._in_flight:
                            yield self._result(*waiting.popleft())
                while waiting:
                    yield self._result(*waiting.popleft())
            finally:
                for *_, future in waiting:
                    future.cancel()

    def reread(self, pairs: Sequence[tuple[Chunk, Extraction]]) -> list[Vectors]:
        """The vectors of passages whose extraction is known, each (1 + s, d)."""
        return self._base.reread(pairs)

    def embed(self, names: Sequence[str]) -> Vectors:
        """Unit rows, shape (k, d)."""
        return self._base.embed(names)

    def _read(self, chunk: Chunk, local: Extraction) -> ModelReading:
        if self._stop is not None:
            raise self._stop
        try:
            reading = self._extractor.read(chunk, local)
        except (SpendingCapError, MissingKeyError) as error:
            self._stop = error
            raise
        except ModelError as error:
            self._failures += 1
            if self._failures >= PATIENCE:
                self._stop = error
            raise
        self._failures = 0
        return reading

    def _result(self, source: str, chunk: Chunk, vectors: Vectors, future: "Future[ModelReading]"
                ) -> tuple[Batch, Readings]:
        nothing = np.zeros((0, self.models.dimension), np.float32)
        try:
            reading = future.result()
        except ModelError as error:
            return (source, ()), Readings((), (), (), nothing, failed=(error,))
        return (source, (chunk,)), Readings(
            (reading.extraction,), (vectors,), (), nothing, doubts=(reading.doubt,))
