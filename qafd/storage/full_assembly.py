"""The graph of a whole log by the rules of `qafd.assemble`, slice by slice.

Memory holds one slice of the log at a time, and little of each name and edge.
"""

import pickle
import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from qafd.arrays import expand_slices
from qafd.assemble.edges import (
    FLOOR,
    Near,
    PairPart,
    cosines_of,
    nearest_names,
    pairs_of,
    relation_edges,
    synonym_edges,
)
from qafd.assemble.entities import (
    Alias,
    ClaimedNames,
    Gathered,
    KeyPart,
    Occurrences,
    Reading,
    alias_in,
    aliases_of,
    entity_node,
    pack_part,
    parts_of,
    passage_node,
)
from qafd.edits import Edit, apply_edits, connect_by_hand, edges_by_hand
from qafd.reading.text import NameIndex
from qafd.records import Chunk, Edge, Extraction, Nodes, Vectors, node_id
from qafd.storage.rows import (
    MENTION,
    SENTENCE,
    EdgeRow,
    Log,
    PlacedNode,
    edge_row,
    embedding_key,
    hash_number,
    key_of,
)
from qafd.time_left import ignore_progress

if TYPE_CHECKING:
    from qafd.storage.relational.workspace import Workspace

SLICE = 4000  # passages, about, that are in memory at a time


class LogSlice:
    """Whole documents of a log, their passages in its order.

    Attributes
    ----------
    chunks : sequence of Chunk
    keys : sequence of str
        Where the vectors of each passage are kept.
    """

    def __init__(self, chunks: Sequence[Chunk], keys: Sequence[str],
                 raws: Callable[[], Sequence[Extraction]], edits: Sequence[Edit]) -> None:
        self.chunks, self.keys, self._raws, self._edits = chunks, keys, raws, edits

    @cached_property
    def raws(self) -> Sequence[Extraction]:
        """Readings of the passages."""
        return self._raws()

    def passages(self) -> Iterator[tuple[Chunk, Extraction, Alias]]:
        """Yield each passage with its extraction after edits, and the aliases of its document."""
        extractions = apply_edits(self.raws, self._edits)
        documents: dict[str, list[Extraction]] = {}
        for chunk, extraction in zip(self.chunks, extractions, strict=True):
            documents.setdefault(chunk.document, []).append(extraction)
        aliases = {document: aliases_of(some) for document, some in documents.items()}
        for chunk, extraction in zip(self.chunks, extractions, strict=True):
            yield chunk, extraction, alias_in(aliases[chunk.document], extraction)


class PackedLog:
    """The live log at one moment, packed in slices, which come in its order each time.

    Parameters
    ----------
    model : str
        The embedding model.
    """

    def __init__(self, revision: int, edits: Sequence[Edit], model: str) -> None:
        self.revision, self.edits, self.model = revision, edits, model
        self._packed: list[tuple[bytes, bytes]] = []

    def add(self, log: Log) -> LogSlice:
        """Add the documents that come next."""
        pairs = sorted(zip(log.chunks, log.extractions, strict=True),
                       key=lambda pair: (pair[0].document, pair[0].start, pair[0].id))
        chunks, raws = [chunk for chunk, _ in pairs], [extraction for _, extraction in pairs]
        keys = [key_of(self.model, *pair) for pair in pairs]
        self._packed.append((pack((chunks, keys)), pack(raws)))
        return LogSlice(chunks, keys, lambda: raws, self.edits)

    def __iter__(self) -> Iterator[LogSlice]:
        for heads, raws in self._packed:
            chunks, keys = unpack(heads)
            yield LogSlice(chunks, keys, partial(unpack, raws), self.edits)


def pack(content: object) -> bytes:
    """Content of this process as few bytes."""
    return zlib.compress(pickle.dumps(content, pickle.HIGHEST_PROTOCOL), 1)


def unpack(packed: bytes) -> Any:
    """Restore the object that `pack` packed in this process."""
    return pickle.loads(zlib.decompress(packed))  # noqa: S301


BLOCK = 8192  # edges that are made at a time


class _MentionColumns:
    """Keys of the passages, in the order of passages, as columns."""

    def __init__(self) -> None:
        self.keys, self.passages, self.counts, self.sizes = (array("i") for _ in range(4))
        self.titled = bytearray()
        self.sentences = array("I")

    def add(self, key: int, passage: int, part: KeyPart) -> None:
        sentences = sorted({sentence for sentence, _, _ in part.places})
        self.keys.append(key)
        self.passages.append(passage)
        self.counts.append(max(1, len(part.places)))
        self.sizes.append(len(sentences))
        self.titled.append(part.titled)
        self.sentences.extend(sentences)


class _PairColumns:
    """Related pairs of keys of the passages, the lower key first, as columns."""

    def __init__(self) -> None:
        self.low, self.high, self.passages = (array("i") for _ in range(3))
        self.parts: list[PairPart] = []
        self._same: dict[str, PairPart] = {}

    def add(self, low: int, high: int, passage: int, part: PairPart) -> None:
        self.low.append(low)
        self.high.append(high)
        self.passages.append(passage)
        self.parts.append(self._same.setdefault(repr(part), part))  # most are like another


class FullAssembly:
    """The rows of the graph that a log gives, each kind to be gone through once.

    Parameters
    ----------
    vectors_of : callable
        Passages to the unit rows of each, (1 + s, d): its own, and those of its sentences.
    embed_names : callable
        Keys, and what models say of them, to unit rows, (k, d); called once.
    compared : callable
        Called now and then with how many of all names were compared with the others; what it raises ends it.
    go_on : callable
        Called at each slice; what it raises ends it.
    """

    def __init__(self, log: PackedLog,
                 vectors_of: Callable[[LogSlice], Sequence[Vectors]],
                 embed_names: Callable[[Sequence[str]], Vectors],
                 compared: Callable[[int, int], None] = ignore_progress,
                 go_on: Callable[[], None] = ignore_progress) -> None:
        self.log, self._vectors_of, self._go_on = log, vectors_of, go_on
        self._numbers: dict[str, int] = {}
        self._told: dict[int, Gathered] = {}
        self._mentions, self._pairs = _MentionColumns(), _PairColumns()
        self._parts: list[bytes] = []
        self._chunks: list[str] = []
        self.known = self._claim()
        self._read()
        told = {key: self._told[number] for key, number in self._numbers.items()
                if number in self._told and self._told[number].is_entity}
        self.keys = sorted(told)
        self._entities = [told[key] for key in self.keys]
        self._said = {key: text for key in self.keys
                      if (text := told[key].describe(key))}
        rows = embed_names([*self.keys, *self._said.values()]) if self.keys else np.zeros((0, 0), np.float32)
        self._names = rows[:len(self.keys)]
        self._rows = np.full(len(self._numbers), -1, np.int64)
        self._rows[[self._numbers[key] for key in self.keys]] = np.arange(len(self.keys))
        self._weigh()
        self.near: Near = nearest_names(self.keys, self._names, range(len(self.keys)), compared)

    @property
    def revision(self) -> int:
        """Of the log."""
        return self.log.revision

    def _number(self, key: str) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _claim(self) -> set[str]:
        """The names that are looked for in all texts."""
        claimed = ClaimedNames()
        for part in self.log:
            self._go_on()
            for chunk, extraction, alias in part.passages():
                claimed.add(chunk, extraction, alias)
        return claimed.names()

    def _read(self) -> None:
        """Read the facts of each passage about its names and pairs of names."""
        index = NameIndex(self.known)
        for some in self.log:
            self._go_on()
            bodies = []
            for chunk, extraction, alias in some.passages():
                passage = len(self._chunks)
                self._chunks.append(chunk.id)
                parts = parts_of(chunk, extraction, alias, self.known, index)
                for key, part in parts.items():
                    number = self._number(key)
                    if number not in self._told:
                        self._told[number] = Gathered()
                    self._told[number].add(part, chunk, extraction)
                    if part.holds:
                        self._mentions.add(number, passage, part)
                for (low, high), pair in pairs_of(extraction, alias).items():
                    self._pairs.add(self._number(low), self._number(high), passage, pair)
                bodies.append({key: pack_part(part) for key, part in parts.items()})
            self._parts.append(pack(bodies))

    def _weigh(self) -> None:
        """Similarities of mentions, and the sums of the names that many passages have."""
        heading = np.array([one.heading for one in self._entities])
        hubs = [row for row, one in enumerate(self._entities) if one.is_hub]
        self._hubs = {row: at for at, row in enumerate(hubs)}
        self._scales = [one.scale for one in self._entities]
        dimension = self._names.shape[1]
        self._wide, self._close = (np.zeros((len(hubs), dimension), np.int64) for _ in range(2))
        place = np.full(len(self.keys), -1, np.int64)
        place[hubs] = np.arange(len(hubs))
        rows, passages = self._rows[np.asarray(self._mentions.keys)], np.asarray(self._mentions.passages)
        titled = np.frombuffer(self._mentions.titled, np.bool_)
        ends = np.cumsum(np.asarray(self._mentions.sizes), dtype=np.int64)
        starts = ends - np.asarray(self._mentions.sizes)
        self._similarity = np.zeros(len(rows))
        base = 0
        for part in self.log:
            self._go_on()
            vectors = self._vectors_of(part)
            flat = np.concatenate(vectors)
            sizes = np.array([len(some) for some in vectors])
            first = np.cumsum(sizes) - sizes
            low, high = np.searchsorted(passages, (base, base + len(part.chunks)))
            live = low + np.flatnonzero(rows[low:high] >= 0)
            for at in range(0, len(live), BLOCK):
                some = live[at:at + BLOCK]
                own = rows[some]
                cosines = cosines_of(flat[first[passages[some] - base]], self._names[own])
                factor = np.where(titled[some], heading[own], 1.0)
                self._similarity[some] = factor * np.maximum(FLOOR, cosines)
            inside = live[place[rows[live]] >= 0]
            self._sum(place[rows[inside]], first[passages[inside] - base],
                      (starts[inside], ends[inside]), flat)
            base += len(part.chunks)

    def _sum(self, hubs: Nodes, texts: Nodes, spans: tuple[Nodes, Nodes], flat: Vectors) -> None:
        """Add the vectors of passages and sentences, rows of `flat`, to the sums of their hubs."""
        starts, ends = spans
        counts = ends - starts
        where = expand_slices(starts, counts)
        sentences = np.asarray(self._mentions.sentences)[where].astype(np.int64)
        owner = np.concatenate([hubs, np.repeat(hubs, counts)])
        rows = np.concatenate([texts, np.repeat(texts, counts) + 1 + sentences])
        order = np.argsort(owner, kind="stable")
        close = np.arange(len(owner)) >= len(hubs)
        found = Occurrences(np.unique(hubs), owner[order], rows[order], close[order])
        for names, wide, near in found.sums(flat.__getitem__):
            self._wide[names] += wide.astype(np.int64)
            self._close[names] += near.astype(np.int64)

    def passages(self) -> Iterator[Sequence[Chunk]]:
        """The passages."""
        for part in self.log:
            yield part.chunks

    def nodes(self) -> Iterator[Sequence[PlacedNode]]:
        """The nodes of entities and of passages."""
        for at in range(0, len(self.keys), BLOCK):
            yield [self._entity(row) for row in range(at, min(at + BLOCK, len(self.keys)))]
        for part in self.log:
            yield [PlacedNode(passage_node(chunk), chunk.id, key)
                   for chunk, key in zip(part.chunks, part.keys, strict=True)]

    def _entity(self, row: int) -> PlacedNode:
        key, told = self.keys[row], self._entities[row]
        said = self._said.get(key, "")
        return PlacedNode(entity_node(key, told), told.first[2] if told.first else "",
                          embedding_key(self.log.model, key),
                          embedding_key(self.log.model, said) if said else "", self._scales[row])

    def hubs(self) -> Iterator[Mapping[str, Gathered]]:
        """The sums of the names that many passages have."""
        for row, at in self._hubs.items():
            yield {self.keys[row]: replace(self._entities[row], wide=self._wide[at], close=self._close[at])}

    def edges(self) -> Iterator[Sequence[EdgeRow]]:
        """The edges as rows, those of mentions without the factors of their nodes."""
        yield from self._mention_rows()
        joined, cut = edges_by_hand(self.log.edits)
        by_hand = {frozenset(spot[:2]) for spot in joined} | cut
        ends = set().union(*by_hand).intersection(self.keys)
        pairs = {frozenset(node_id("entity", key) for key in pair) for pair in by_hand}
        kept: list[Edge] = []
        synonyms = list(synonym_edges(self.keys, self.near))
        for some in chain(self._relations(), [synonyms]):
            rows = []
            for edge in some:
                if pairs and frozenset((edge.source, edge.target)) in pairs:
                    kept.append(edge)
                else:
                    rows.append(edge_row(edge))
            yield rows
        yield list(map(edge_row, connect_by_hand(kept, ends, self.log.edits)))

    def _mention_rows(self) -> Iterator[Sequence[EdgeRow]]:
        """In the order of the table, which is then written from its beginning to its end."""
        rows = self._rows[np.asarray(self._mentions.keys)]
        heads = np.array([hash_number(node_id("entity", key)) for key in self.keys], np.int64)
        tails = np.array([hash_number(node_id("passage", chunk)) for chunk in self._chunks], np.int64)
        passages, counts = np.asarray(self._mentions.passages), np.asarray(self._mentions.counts)
        sizes = np.asarray(self._mentions.sizes)
        ends = np.cumsum(sizes, dtype=np.int64) * SENTENCE.itemsize
        starts = ends - sizes * SENTENCE.itemsize
        evidence = np.asarray(self._mentions.sentences).astype(SENTENCE).tobytes()
        live = np.flatnonzero(rows >= 0)
        order = live[np.lexsort((tails[passages[live]], heads[rows[live]]))]
        for at in range(0, len(order), BLOCK):
            some = order[at:at + BLOCK]
            columns = (heads[rows[some]], tails[passages[some]], self._similarity[some], counts[some],
                       starts[some], ends[some])
            yield [(source, target, MENTION, "", similarity, count, evidence[start:end])
                   for source, target, similarity, count, start, end in zip(
                       *(column.tolist() for column in columns), strict=True)]

    def _relations(self) -> Iterator[list[Edge]]:
        low, high = (self._rows[np.asarray(some)] for some in (self._pairs.low, self._pairs.high))
        passages = np.asarray(self._pairs.passages)
        live = np.flatnonzero((low >= 0) & (high >= 0))
        order = live[np.lexsort((passages[live], high[live], low[live]))]
        lows, highs = low[order], high[order]
        new = np.flatnonzero((np.diff(lows, prepend=-1) != 0) | (np.diff(highs, prepend=-1) != 0))
        for at in range(0, len(new), BLOCK):
            asserted: dict[tuple[str, str], dict[str, PairPart]] = {}
            bounds = [*new[at:at + BLOCK + 1].tolist(), len(order)][:BLOCK + 1]
            for start, end in pairwise(bounds):
                pair = self.keys[lows[start]], self.keys[highs[start]]
                asserted[pair] = {self._chunks[passages[one]]: self._pairs.parts[one]
                                  for one in order[start:end].tolist()}
            yield list(relation_edges(asserted, self._row, self._names))

    @cached_property
    def _row(self) -> dict[str, int]:
        return {key: row for row, key in enumerate(self.keys)}

    def parts(self) -> Iterator[tuple[LogSlice, list[dict[str, str]]]]:
        """Each slice of the log with what its passages say of keys, as `pack_part` has it."""
        for part, packed in zip(self.log, self._parts, strict=True):
            yield part, unpack(packed)


def vectors_of(store: "Workspace", some: LogSlice) -> list[Vectors]:
    """The stored vectors of passages, each (1 + s, d)."""
    stored = store.vectors.rows(some.keys)
    return [stored[key] for key in some.keys]


def stored_readings(store: "Workspace", model: str, pairs: Sequence[tuple[Chunk, Extraction]]
                    ) -> dict[str, Reading]:
    """The passages whose vectors of a model are all kept, by id."""
    keys = [key_of(model, *pair) for pair in pairs]
    stored = store.vectors.rows(keys)
    return {chunk.id: Reading(chunk, extraction, stored[key][0], stored[key][1:])
            for (chunk, extraction), key in zip(pairs, keys, strict=True) if key in stored}


def assemble_stored(store: "Workspace") -> FullAssembly:
    """The graph of the log as it is now, with the vectors that are stored."""
    model, _ = store.vectors.embedder
    log = PackedLog(store.log.revision, store.edits.all(), model)
    for part in store.log.slices(SLICE):
        log.add(part)

    def embed_names(names: Sequence[str]) -> Vectors:
        keys = [embedding_key(model, name) for name in names]
        stored = store.vectors.get(keys)
        return np.array([stored[key] for key in keys])

    return FullAssembly(log, partial(vectors_of, store), embed_names)
