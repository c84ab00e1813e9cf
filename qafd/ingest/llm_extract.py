"""Chunk to extraction by a language model, and the engine that keeps several calls in flight."""

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby
from operator import attrgetter

from qafd.errors import MalformedReplyError, MissingKeyError, ModelError, SpendingCapError
from qafd.ingest.engine import Batch, Engine, Readings
from qafd.ingest.grounding import ground
from qafd.models import LLM, Message, Reply
from qafd.models.cost import Metered, RunPlan, plan_run
from qafd.models.prompts import (
    ENTITY_TYPES,
    Records,
    again,
    extract_messages,
    last_passage,
    read_passages,
)
from qafd.records import Chunk, Extraction, Vectors

REPLY_TOKENS = 4096  # most that a reply may have
TOGETHER = 4  # passages of a call: about the text that the papers show a model at once
PATIENCE = 8  # calls in a row that may fail before the others are not made


class ReadingDoubt(StrEnum):
    """Why a passage is not read as it should be."""

    UNGROUNDED = "ungrounded"
    CUT = "cut"


@dataclass(frozen=True)
class ModelReading:
    """An extraction, and "" or why it is not what the model should have given; see `ReadingDoubt`."""

    extraction: Extraction
    doubt: str = ""


@dataclass(frozen=True)
class _Heard:
    """The records of some passages; from place `cut` on they may be incomplete."""

    records: Sequence[Records]
    cut: int


Pair = tuple[Chunk, Extraction]
"""A passage and its local reading."""


class ModelExtractor:
    """Reader of passages by Prompt 1; it drops lines that are not records or not in their passage.

    The rest is added to the local reading of the same passage, see `qafd.ingest.grounding`. A reply that
    names nothing in the passages is shown to the model once more; a passage of several that it leaves out
    or does not come to the end of is asked about alone. Where that does not help, the local reading
    is used alone.

    Parameters
    ----------
    llm : LLM
        A `Metered` one gets the document it is asked about.
    types : sequence of str
        Entity types to look for; another type that the model gives is kept as "OTHER".
    language : str
        Of descriptions and keywords.
    reply_tokens : int
        Most that a reply may have.
    """

    def __init__(self, llm: LLM, types: Sequence[str] = ENTITY_TYPES, language: str = "English",
                 reply_tokens: int = REPLY_TOKENS) -> None:
        self._llm, self._types, self._language = llm, tuple(types), language
        self._limit = reply_tokens
        options = self._messages([])[0].content.encode()
        self.name = f"{llm.name}/records-4-{hashlib.sha256(options).hexdigest()[:8]}"

    def read(self, chunk: Chunk, local: Extraction) -> ModelReading:
        """The log entry of a passage; see `read_together`."""
        return self.read_together([(chunk, local)])[0]

    def read_together(self, pairs: Sequence[Pair]) -> list[ModelReading]:
        """The log entries of passages of one document.

        Raises
        ------
        ModelError
            No reply was to be had; the passages wait for another run.
        """
        asked = [pair for pair in pairs if _has_letters(pair[0])]
        read = iter(self._read(asked) if asked else [])
        return [next(read) if _has_letters(chunk) else
                ModelReading(replace(local, extractor=self.name)) for chunk, local in pairs]

    def _read(self, pairs: Sequence[Pair]) -> Iterator[ModelReading]:
        heard = self._ask(pairs)
        for place, (pair, records) in enumerate(zip(pairs, heard.records, strict=True)):
            found, cut = self._ground(pair, records), place >= heard.cut
            if len(pairs) > 1 and (cut or not _names_any(found)):
                alone = self._ask([pair], retry=False)
                found, cut = self._ground(pair, alone.records[0] + records), alone.cut == 0
            if _names_any(found):
                yield ModelReading(found, ReadingDoubt.CUT if cut else "")
            else:
                local = replace(pair[1], extractor=self.name)
                yield ModelReading(local, ReadingDoubt.UNGROUNDED)

    def _ask(self, pairs: Sequence[Pair], retry: bool = True) -> _Heard:
        """Ask the model about some passages, and again for names that it missed."""
        llm, count = self._model_for(pairs), len(pairs)
        messages = self._messages([chunk for chunk, _ in pairs])
        reply = self._reply(llm, messages)
        if retry and not self._grounds(pairs, reply):
            messages = again(messages, reply.text if reply is not None else "")
            reply = self._reply(llm, messages)
        return _heard(reply, count)

    def _messages(self, chunks: Sequence[Chunk]) -> tuple[Message, ...]:
        return extract_messages(chunks, self._types, self._language)

    def _reply(self, llm: LLM, messages: Sequence[Message]) -> Reply | None:
        """A reply; None when the model answered nothing."""
        try:
            return llm.complete(messages, max_tokens=self._limit)
        except MalformedReplyError:
            return None

    def _ground(self, pair: Pair, records: Records) -> Extraction:
        return ground(*pair, records, self.name, self._types)

    def _grounds(self, pairs: Sequence[Pair], reply: Reply | None) -> bool:
        """Return True if a reply names anything that is in its passage."""
        records = _heard(reply, len(pairs)).records
        return any(_names_any(self._ground(pair, said)) for pair, said in zip(pairs, records, strict=True))

    def _model_for(self, pairs: Sequence[Pair]) -> LLM:
        """The model; a metered one keeps the whole replies that name what is in the passages."""
        if not isinstance(self._llm, Metered):
            return self._llm

        def accept(reply: Reply) -> bool:
            return not reply.cut and self._grounds(pairs, reply)

        about = self._llm.about(chunk=" ".join(chunk.id for chunk, _ in pairs),
                                document=pairs[0][0].document)
        return replace(about, accepts=accept)

    def plan(self, groups: Iterable[Sequence[Chunk]], in_flight: int = 4) -> RunPlan:
        """Estimate the cost of reading these passages, grouped, without a call."""
        assert isinstance(self._llm, Metered)
        asked = ([chunk for chunk in group if _has_letters(chunk)] for group in groups)
        return plan_run(self._llm, ((self._messages(group), len(group)) for group in asked if group),
                        self._limit, in_flight=in_flight)


def _names_any(extraction: Extraction) -> bool:
    """Return True if any entity of the model occurs in the passage."""
    return any(said.source for said in extraction.descriptions)


def _heard(reply: Reply | None, count: int) -> _Heard:
    if reply is None:
        return _Heard([Records()] * count, count)
    return _Heard(read_passages(reply.text, count),
                  last_passage(reply.text) - 1 if reply.cut else count)


def group_passages(chunks: Sequence[Chunk], together: int = TOGETHER) -> Iterator[Sequence[Chunk]]:
    """Passages that a model is shown together: neighbors of one document, at most so many."""
    for _, own in groupby(chunks, attrgetter("document")):
        passages = list(own)
        for at in range(0, len(passages), together):
            yield passages[at:at + together]


def _has_letters(chunk: Chunk) -> bool:
    return any(character.isalpha() for character in chunk.text)


class ModelEngine:
    """Reads with a language model, several calls in flight; vectors come from another engine.

    A chunk whose call fails is reported, not logged: it waits for the next run. After `PATIENCE`
    failures in a row, a spent cap or a refused key, the calls that are left are not made.
    """

    def __init__(self, extractor: ModelExtractor, base: Engine, in_flight: int = 4,
                 together: int = TOGETHER) -> None:
        self.models = base.models._replace(extractor=extractor.name)
        self._extractor, self._base, self._in_flight = extractor, base, in_flight
        self._together = together
        self._stop: ModelError | None = None
        self._failures = 0

    def read_all(self, batches: Iterator[Batch]) -> Iterator[tuple[Batch, Readings]]:
        """The passages of each call as a batch, in order; its failure instead of their readings."""
        waiting: deque[tuple[str, Sequence[Chunk], Sequence[Vectors], Future[list[ModelReading]]]]
        waiting = deque()
        with ThreadPoolExecutor(self._in_flight) as pool:
            try:
                for (source, chunks), local in self._base.read_all(batches):
                    at = 0
                    for group in group_passages(chunks, self._together):
                        own = slice(at, at + len(group))
                        at += len(group)
                        pairs = list(zip(group, local.extractions[own], strict=True))
                        waiting.append((source, group, local.vectors[own],
                                        pool.submit(self._read, pairs)))
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

    def _read(self, pairs: Sequence[Pair]) -> list[ModelReading]:
        if self._stop is not None:
            raise self._stop
        try:
            readings = self._extractor.read_together(pairs)
        except (SpendingCapError, MissingKeyError) as error:
            self._stop = error
            raise
        except ModelError as error:
            self._failures += 1
            if self._failures >= PATIENCE:
                self._stop = error
            raise
        self._failures = 0
        return readings

    def _result(self, source: str, chunks: Sequence[Chunk], vectors: Sequence[Vectors],
                future: "Future[list[ModelReading]]") -> tuple[Batch, Readings]:
        try:
            readings = future.result()
        except ModelError as error:
            return (source, ()), Readings((), (), failed=(error,) * len(chunks))
        return (source, chunks), Readings(
            tuple(reading.extraction for reading in readings), tuple(vectors),
            tuple(reading.doubt for reading in readings))
