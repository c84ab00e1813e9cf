"""Chunk to extraction by a language model, and the engine that keeps several calls in flight."""

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from qafd.errors import MalformedReplyError, MissingKeyError, ModelError, SpendingCapError
from qafd.ingest.engine import Batch, Engine, Readings
from qafd.ingest.grounding import Grounded, ground
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
from qafd.records import Chunk, Extraction, Vectors

REPLY_TOKENS = 2048  # most that a reply may have
PATIENCE = 8  # calls in a row that may fail before the others are not made


class ReadingDoubt(StrEnum):
    """Why a passage is not read as it should be; `NEAR` is followed by the names."""

    UNGROUNDED = "ungrounded"
    CUT = "cut"
    NEAR = "near"


def word_near(near: Sequence[tuple[str, str]]) -> str:
    """The doubt of names that the passage spells otherwise, "" without any."""
    if not near:
        return ""
    pairs = "; ".join(f"{model} = {own}" for model, own in near)
    return f"{ReadingDoubt.NEAR}: {pairs}"


@dataclass(frozen=True)
class ModelReading:
    """An extraction, and "" or why it is not what the model should have given; see `ReadingDoubt`."""

    extraction: Extraction
    doubt: str = ""


class ModelExtractor:
    """Prompt 1 over a chunk; what is no record, or not in the chunk, is dropped.

    Sentences, title and heading come from the local reading of the same chunk. A reply that names
    nothing in the chunk is shown to the model once more, with an example; when the next one is no
    better, the local reading stands in.

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
        llm = self._model_for(chunk, local)
        messages = extract_messages(chunk, self._types, self._language)
        reply = _asked(llm, messages)
        found = self._ground(chunk, local, reply)
        if not found:
            messages = again(messages, reply.text if reply is not None else "")
            reply = _asked(llm, messages)
            found = self._ground(chunk, local, reply)
        if reply is None or not found:
            return ModelReading(replace(local, extractor=self.name), ReadingDoubt.UNGROUNDED)
        records, cut = read_records(reply.text), reply.cut
        for _ in range(self._gleanings):
            messages = more(messages, reply.text)
            reply = _asked(llm, messages)
            if reply is None or not (added := read_records(reply.text)):
                break
            records += added
            cut = cut or reply.cut
        found = ground(chunk, local, records, self.name, self._types)
        if cut:
            return ModelReading(found.extraction, ReadingDoubt.CUT)
        return ModelReading(found.extraction, word_near(found.near))

    def _ground(self, chunk: Chunk, local: Extraction, reply: Reply | None) -> Grounded:
        records = read_records(reply.text) if reply is not None else Records()
        return ground(chunk, local, records, self.name, self._types)

    def _model_for(self, chunk: Chunk, local: Extraction) -> LLM:
        """The model; a metered one keeps the whole replies that name what is in the chunk."""
        if not isinstance(self._llm, Metered):
            return self._llm

        def accept(reply: Reply) -> bool:
            return not reply.cut and bool(self._ground(chunk, local, reply))

        about = self._llm.about(chunk=chunk.id, document=chunk.document)
        return replace(about, accepts=accept)

    def plan(self, chunks: Iterable[Chunk], in_flight: int = 4) -> RunPlan:
        """What reading these chunks would take; no call is made."""
        assert isinstance(self._llm, Metered)
        return plan_run(self._llm, (
            extract_messages(chunk, self._types, self._language) for chunk in chunks
            if _has_letters(chunk)), REPLY_TOKENS, rounds=1 + self._gleanings,
            in_flight=in_flight)


def _has_letters(chunk: Chunk) -> bool:
    return any(character.isalpha() for character in chunk.text)


def _asked(llm: LLM, messages: Sequence[Message]) -> Reply | None:
    """A reply; None when the model answered nothing."""
    try:
        return llm.complete(messages, max_tokens=REPLY_TOKENS)
    except MalformedReplyError:
        return None


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
