"""The input of layers besides the graph: sentences, mentions and relations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain
from typing import Protocol

import numpy as np

from qafd.errors import StoreError
from qafd.graph import Graph
from qafd.reading.text import count_tokens
from qafd.records import Chunk, Edge, Nodes, Vectors, node_id
from qafd.storage import Workspace
from qafd.storage.rows import Log, passage_key


class Embeds(Protocol):
    """Texts to unit rows, shape (k, d)."""

    def embed(self, texts: Sequence[str], /) -> Vectors:
        """Return the vectors of some texts, in order."""
        ...


@dataclass(frozen=True, eq=False)
class Texts:
    """The texts of a graph's passages; passages in the order of their ids.

    Parameters
    ----------
    rows : ndarray of int, shape (c,)
        Graph row of each passage.
    passages, chunks : tuple of str, length c
        Text and id of each.
    owner, position : ndarray of int, shape (s,)
        The passage of each sentence, as an index into `rows`, and its number there.
    sentences : tuple of str, length s
    vectors : ndarray of float32, shape (s, d)
        Unit rows of the sentences.
    mentions : ndarray of int, shape (m, 2)
        (sentence, graph row of the entity): M of FlowRAG's section 3.2.
    contains : ndarray of int, shape (j, 3)
        (index into `rows`, graph row of the entity, count): how often a passage has a name.
    relations : ndarray of int, shape (r, 3)
        (graph row, graph row, number of sentences that assert it).
    labels : tuple of str, length r
        The word between the two, or "".
    described : mapping of str to mapping of str to tuple of str
        The descriptions that models wrote of entities, by node id, with the ids of their passages.
    """

    rows: Nodes
    passages: tuple[str, ...] = field(repr=False)
    chunks: tuple[str, ...] = field(repr=False)
    owner: Nodes = field(repr=False)
    position: Nodes = field(repr=False)
    sentences: tuple[str, ...] = field(repr=False)
    vectors: Vectors = field(repr=False)
    mentions: Nodes = field(repr=False)
    contains: Nodes = field(repr=False)
    relations: Nodes = field(repr=False)
    labels: tuple[str, ...] = field(repr=False)
    described: Mapping[str, Mapping[str, tuple[str, ...]]] = field(repr=False, default_factory=dict)


def texts_of(graph: Graph, store: Workspace) -> Texts:
    """Return the texts of the store's present graph.

    Raises
    ------
    StoreError
        Passages of the graph have left the log since it was made.
    """
    ids = sorted(graph.ids[row] for row in np.flatnonzero(graph.kinds == "passage").tolist())
    nodes = store.graph.nodes(ids)
    log = store.log.read()
    found = {chunk.id: (chunk, extraction)
             for chunk, extraction in zip(log.chunks, log.extractions, strict=True)}
    chunks = [found[nodes[i].key][0] for i in ids if nodes[i].key in found]
    spans = [found[chunk.id][1].sentences for chunk in chunks]
    sentences = []
    for chunk, some in zip(chunks, spans, strict=True):
        sentences.append([chunk.text[start:end] for start, end in some])
    vectors = _vectors_of_sentences(store, chunks, spans, len(ids))
    made = gather(graph, ids, [chunk.text for chunk in chunks], sentences, vectors,
                  store.graph.edges(graph.ids), {nodes[i].key: i for i in ids})
    return replace(made, described=_collect_descriptions(graph, log, store.edits.map_merged()))


def _vectors_of_sentences(store: Workspace, chunks: Sequence[Chunk],
                          spans: Sequence[Sequence[tuple[int, int]]], expected: int) -> Vectors:
    """Return the stored vectors of all sentences, shape (s, d), where so many passages have theirs."""
    model, dimension = store.vectors.embedder
    keys = [passage_key(model, chunk.title, chunk.text, some)
            for chunk, some in zip(chunks, spans, strict=True)]
    kept = store.vectors.rows(keys)
    missing = expected - sum(key in kept for key in keys)
    if missing:
        raise StoreError(
            f"{missing} of {expected} passages were removed or changed since the graph was made; "
            f"bring it up to date with 'qafd index --db {store.place.written}'.")
    return np.concatenate([np.zeros((0, dimension), np.float32), *(kept[key][1:] for key in keys)])


def _collect_descriptions(graph: Graph, log: Log, merged: Mapping[str, str]
                          ) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the descriptions of the entities of a graph, in the order of the texts."""
    found: dict[str, dict[str, set[str]]] = {}
    for chunk, extraction in zip(log.chunks, log.extractions, strict=True):
        for one in extraction.descriptions:
            node = node_id("entity", merged.get(one.source, one.source))
            if one.text and not one.target and node in graph.row:
                found.setdefault(node, {}).setdefault(one.text, set()).add(chunk.id)
    described = {}
    for node, said in sorted(found.items()):
        described[node] = {text: tuple(sorted(said[text])) for text in sorted(said)}
    return described


def gather(graph: Graph, ids: Sequence[str], passages: Sequence[str],
           sentences: Sequence[Sequence[str]], vectors: Vectors, edges: Sequence[Edge],
           chunks: Mapping[str, str]) -> Texts:
    """Return the record of passages with their sentences and of the edges between their names.

    Parameters
    ----------
    ids : sequence of str, length c
        Node ids of the passages, ascending.
    vectors : ndarray of float32, shape (s, d)
        Of all sentences, passage by passage.
    edges : sequence of Edge
        Mentions, from entity to passage, with evidence and count, and relations.
    chunks : mapping of str to str
        Chunk ids, which evidence names, to node ids.
    """
    row, own = graph.row, {node: chunk for chunk, node in chunks.items()}
    counts = list(map(len, sentences))
    position = [np.arange(count) for count in counts]
    place = {node: index for index, node in enumerate(ids)}
    starts = [0, *accumulate(counts)]
    first = {chunk: starts[place[node]] for chunk, node in chunks.items()}
    mentions, contains, relations, labels = _tables_of_edges(edges, row, place, first)
    return Texts(
        rows=np.array([row[i] for i in ids], np.int64), passages=tuple(passages),
        chunks=tuple(own[i] for i in ids), owner=np.repeat(np.arange(len(ids)), counts),
        position=np.concatenate([*position, np.zeros(0, np.int64)]),
        sentences=tuple(chain.from_iterable(sentences)), vectors=vectors, mentions=mentions,
        contains=contains, relations=relations, labels=labels)


def _tables_of_edges(edges: Sequence[Edge], row: Mapping[str, int], place: Mapping[str, int],
                     first: Mapping[str, int]) -> tuple[Nodes, Nodes, Nodes, tuple[str, ...]]:
    """Return mentions, passages that contain names, relations and their labels, as `Texts` has them.

    `row` is of nodes in the graph, `place` of passages, `first` has the first sentence of chunks.
    """
    mentions: set[tuple[int, str]] = set()
    contains: list[tuple[int, str, int]] = []
    relations: list[tuple[str, str, int, str]] = []
    for edge in edges:
        if edge.kind == "mention":
            contains.append((place[edge.target], edge.source, edge.count))
            mentions.update((first[chunk] + at, edge.source) for chunk, at in edge.evidence)
        elif edge.kind == "relation":
            relations.append((edge.source, edge.target, edge.count, edge.label))
    relations.sort()
    return (_table([(at, row[e]) for at, e in sorted(mentions)], 2),
            _table([(at, row[e], count) for at, e, count in sorted(contains)], 3),
            _table([(row[u], row[v], count) for u, v, count, _ in relations], 3),
            tuple(label for _, _, _, label in relations))


def fit_texts(parts: Sequence[str], most: int) -> list[str]:
    """Return the parts that fit into so many tokens, in order; the first always."""
    kept, tokens = list(parts[:1]), sum(map(count_tokens, parts[:1]))
    for part in parts[1:]:
        own = count_tokens(part)
        if tokens + own <= most:
            kept.append(part)
            tokens += own
    return kept


def _table(rows: list[tuple[int, ...]], columns: int) -> Nodes:
    return np.array(rows, np.int64).reshape(-1, columns)
