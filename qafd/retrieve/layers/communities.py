"""Communities of the entity graph and a report on each: the index of GraphRAG."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import ClassVar, Self

import numpy as np
from graspologic_native import hierarchical_leiden  # type: ignore[attr-defined]
from scipy.sparse import csr_matrix

from qafd.graph import Graph
from qafd.records import Nodes, Vectors
from qafd.retrieve.layers.texts import Embeds, Texts, fit_texts
from qafd.retrieve.layers.writing import LayerText, Writer

LARGEST = 10  # entities; a larger community is split on the next level, GraphRAG's default
SEED = 0xDEADBEEF  # GraphRAG's default
REPORT_TOKENS = 150
NAMES, RELATIONS, SENTENCES = 8, 5, 3  # of a report, at most
SHOWN, SHOWN_TOKENS = 30, 1200  # names, relations and sentences each, and tokens, that a model is shown


@dataclass(frozen=True, eq=False)
class Communities:
    """Hierarchical Leiden communities (Edge et al.) with a report on each.

    Relations weigh the number of sentences that assert them; entities without a relation are in
    no community. A report that no language model has written lists the key entities (by number of
    neighbors) with a model's description where there is one, the strongest relations, and the sentences
    about members that are nearest to the mean of all of them; a model is shown more of the same. Departs
    from the paper: components are not reduced to
    the largest, and no model rates a community.

    Parameters
    ----------
    level, parent : ndarray of int, shape (k,)
        0 is the coarsest level; the parent is a community or -1.
    members : ndarray of int, shape (m, 2)
        (community, graph row of the entity).
    titles, texts : tuple of str, length k
        The key entities, and the report.
    vectors : ndarray of float32, shape (k, d)
        Of the reports.
    """

    builder: ClassVar[int] = 3

    level: Nodes = field(repr=False)
    parent: Nodes = field(repr=False)
    members: Nodes = field(repr=False)
    titles: tuple[str, ...] = field(repr=False)
    texts: tuple[str, ...] = field(repr=False)
    vectors: Vectors = field(repr=False)

    @classmethod
    def build(cls, graph: Graph, texts: Texts, embedder: Embeds, writer: Writer, /) -> Self:
        """Return the communities of the entity graph."""
        level, parent, members = partition(graph, texts.relations)
        titles, drafts = _reports(graph, texts, len(level), members)
        reports = writer.write(drafts)
        return cls(level, parent, members, titles, reports,
                   embedder.embed(reports) if reports else texts.vectors[:0])

    def __len__(self) -> int:
        return len(self.texts)

    def cut(self, level: int, n: int) -> Nodes:
        """Return for each of n graph rows its deepest community down to a level, or -1, shape (n,)."""
        at = np.full(n, -1)
        order = np.argsort(self.level[self.members[:, 0]], kind="stable")
        for depth in range(level + 1):
            some = self.members[order[self.level[self.members[order, 0]] == depth]]
            at[some[:, 1]] = some[:, 0]
        return at


def partition(graph: Graph, relations: Nodes) -> tuple[Nodes, Nodes, Nodes]:
    """Return level and parent of each community, and pairs (community, graph row).

    Parameters
    ----------
    relations : ndarray of int, shape (r, 3)
        (graph row, graph row, strength).
    """
    strength: dict[tuple[str, str], float] = {}
    for u, v, count in relations.tolist():
        ends = (min(graph.ids[u], graph.ids[v]), max(graph.ids[u], graph.ids[v]))
        strength[ends] = strength.get(ends, 0.0) + count
    if not strength:
        nothing = np.zeros(0, np.int64)
        return nothing, nothing, np.zeros((0, 2), np.int64)
    found = hierarchical_leiden(
        [(u, v, weight) for (u, v), weight in sorted(strength.items())],
        max_cluster_size=LARGEST, seed=SEED)
    keys = sorted({(c.level, c.cluster) for c in found})
    number = {key: i for i, key in enumerate(keys)}
    parents = {(c.level, c.cluster): number.get((c.level - 1, c.parent_cluster), -1)
               for c in found}
    members = sorted((number[c.level, c.cluster], c.node) for c in found)
    return (np.array([level for level, _ in keys]), np.array([parents[key] for key in keys]),
            np.array([(community, graph.row[node]) for community, node in members]))


def _reports(graph: Graph, texts: Texts, k: int,
             members: Nodes) -> tuple[tuple[str, ...], tuple[LayerText, ...]]:
    """Return title and report of each of k communities."""
    n = len(graph)
    pairs = np.unique(np.sort(texts.relations[:, :2], axis=1), axis=0)
    neighbors = np.bincount(pairs.ravel(), minlength=n)
    belongs = _incidence(members[:, ::-1], (n, k))
    about = (_incidence(texts.mentions, (len(texts.sentences), n)) @ belongs).T.tocsr()  # (k, s)
    centers = about @ texts.vectors
    inside = _relations_inside(texts.relations, belongs)
    starts = np.searchsorted(members[:, 0], np.arange(k + 1))
    titles, drafts = [], []
    for community in range(k):
        rows = members[starts[community]:starts[community + 1], 1].tolist()
        rows.sort(key=lambda row: (-neighbors[row], graph.ids[row]))
        names = [graph.names[row] for row in rows]
        said = about.indices[about.indptr[community]:about.indptr[community + 1]]
        nearness = texts.vectors[said] @ centers[community]
        best = said[np.lexsort((said, -nearness))]
        relations = sorted(inside.get(community, []), key=lambda at: (-texts.relations[at, 2], at))
        stated = [_write_relation(graph, texts, at) for at in relations[:SHOWN]]

        def pick(most: int, chosen: Nodes = best) -> list[str]:
            return [texts.sentences[at] for at in sorted(chosen[:most].tolist())]

        titles.append(", ".join(names[:3]))
        described = list(_describe(graph, texts, rows[:SHOWN]))
        report = [f"{', '.join(names[:NAMES])}.", *described[:RELATIONS], *stated[:RELATIONS],
                  *pick(SENTENCES)]
        shown = [f"{', '.join(names[:SHOWN])}.", *described, *stated, *pick(SHOWN)]
        passages = np.unique(texts.owner[said])
        drafts.append(LayerText(
            "report", " ".join(fit_texts(report, REPORT_TOKENS)), "\n".join(fit_texts(shown, SHOWN_TOKENS)),
            tuple(texts.chunks[at] for at in passages.tolist())))
    return tuple(titles), tuple(drafts)


def _describe(graph: Graph, texts: Texts, rows: Sequence[int]) -> Iterator[str]:
    """Yield the first description that a model wrote of each entity, after its name."""
    for row in rows:
        for text in islice(texts.described.get(graph.ids[row], ()), 1):
            yield f"{graph.names[row]}: {text}"


def _relations_inside(relations: Nodes, belongs: csr_matrix) -> dict[int, list[int]]:
    """Return the relations with both ends in a community, by community."""
    if not len(relations):
        return {}
    both = belongs[relations[:, 0]].multiply(belongs[relations[:, 1]]).tocoo()
    inside: dict[int, list[int]] = {}
    for at, community in zip(both.row.tolist(), both.col.tolist(), strict=True):
        inside.setdefault(community, []).append(at)
    return inside


def _write_relation(graph: Graph, texts: Texts, relation: int) -> str:
    u, v, _ = texts.relations[relation].tolist()
    return f"{graph.names[u]} {texts.labels[relation] or 'and'} {graph.names[v]}."


def _incidence(pairs: Nodes, shape: tuple[int, int]) -> csr_matrix:
    table: csr_matrix = csr_matrix(  # type: ignore[no-untyped-call]
        (np.ones(len(pairs), np.float32), (pairs[:, 0], pairs[:, 1])), shape)
    return table
