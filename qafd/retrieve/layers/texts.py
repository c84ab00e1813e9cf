"""What layers read besides the graph: sentences, where names are mentioned, who relates to whom."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Protocol

import numpy as np

from qafd.errors import StoreError
from qafd.graph import Graph
from qafd.reading.text import count_tokens
from qafd.records import Edge, Nodes, Vectors, node_id
from qafd.storage import Workspace
from qafd.storage.rows import Log, vector_keys


class Embeds(Protocol):
    """Texts to unit rows, shape (k, d)."""

    def embed(self, texts: Sequence[str], /) -> Vectors:
        """The vectors of some texts, in order."""
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
        What models said of entities, by node id, with the ids of the passages that they said it of.
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
    """The texts of the store's present graph.

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
    model, dimension = store.vectors.embedder
    keys = []
    sentences = []
    for chunk, some in zip(chunks, spans, strict=True):
        keys.append(vector_keys(model, chunk.title, chunk.text, some)[1:])
        sentences.append([chunk.text[start:end] for start, end in some])
    vectors = store.vectors.get(key for some in keys for key in some)
    missing = len(ids) - sum(all(key in vectors for key in some) for some in keys)
    if missing:
        raise StoreError(
            f"{missing} of {len(ids)} passages were removed or changed since the graph was made; "
            f"bring it up to date with 'qafd index --db {store.place.written}'.")
    made = gather(
        graph, ids, [chunk.text for chunk in chunks], sentences,
        np.array([vectors[key] for some in keys for key in some], np.float32).reshape(
            sum(map(len, keys)), dimension),
        store.graph.edges(graph.ids), {nodes[i].key: i for i in ids})
    return replace(made, described=_described(graph, log, store.edits.merged()))


def _described(graph: Graph, log: Log, merged: Mapping[str, str]) -> dict[str, dict[str, tuple[str, ...]]]:
    """What models said of the entities of a graph, in the order of the texts."""
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
    """The record of passages with their sentences and of the edges between their names.

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
    first = dict(zip(ids, accumulate((len(some) for some in sentences), initial=0), strict=False))
    place = {node: index for index, node in enumerate(ids)}
    mentions: list[tuple[int, str]] = []
    contains: list[tuple[int, str, int]] = []
    relations: list[tuple[str, str, int, str]] = []
    for edge in edges:
        if edge.kind == "mention":
            contains.append((place[edge.target], edge.source, edge.count))
            mentions += [(first[chunks[chunk]] + at, edge.source) for chunk, at in edge.evidence]
        elif edge.kind == "relation":
            relations.append((edge.source, edge.target, edge.count, edge.label))
    row, own = graph.row, {node: chunk for chunk, node in chunks.items()}
    relations.sort()
    return Texts(
        rows=np.array([row[i] for i in ids], np.int64), passages=tuple(passages),
        chunks=tuple(own[i] for i in ids),
        owner=np.repeat(np.arange(len(ids)), [len(some) for some in sentences]),
        position=np.array([at for some in sentences for at in range(len(some))], np.int64),
        sentences=tuple(text for some in sentences for text in some), vectors=vectors,
        mentions=_table([(at, row[e]) for at, e in sorted(set(mentions))], 2),
        contains=_table([(at, row[e], count) for at, e, count in sorted(contains)], 3),
        relations=_table([(row[u], row[v], count) for u, v, count, _ in relations], 3),
        labels=tuple(label for _, _, _, label in relations))


def fit_texts(parts: Sequence[str], most: int) -> list[str]:
    """The parts that fit into so many tokens, in order; the first always."""
    kept, tokens = list(parts[:1]), sum(map(count_tokens, parts[:1]))
    for part in parts[1:]:
        own = count_tokens(part)
        if tokens + own <= most:
            kept.append(part)
            tokens += own
    return kept


def _table(rows: list[tuple[int, ...]], columns: int) -> Nodes:
    return np.array(rows, np.int64).reshape(-1, columns)
