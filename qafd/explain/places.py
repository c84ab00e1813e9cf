"""The documents behind the nodes and edges of a diffusion."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from weakref import WeakKeyDictionary

import numpy as np

from qafd.flow.solver import Diffusion
from qafd.graph import Graph
from qafd.retrieve.qafd import Problem
from qafd.storage import Workspace

Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Places:
    """The documents that a diffusion passed.

    `stated` has the document of each relation around touched nodes that no other document states
    and no synonym doubles, by the graph rows of its ends, the lower one first.
    """

    documents: frozenset[str]
    stated: Mapping[Pair, str]

    def stated_in(self, document: str) -> list[Pair]:
        """Return the ends of the relations that this document alone states."""
        return [ends for ends, name in self.stated.items() if name == document]


def find_places(problem: Problem, diffusion: Diffusion, open_store: Callable[[], Workspace]) -> Places:
    """Find the documents behind the nodes and edges that a diffusion touched."""
    documents = documents_of(problem.corpus.graph, open_store)
    stated = _find_stated(problem, diffusion, open_store) if problem.method.layer == "entities" else {}
    passed = {documents[row] for row in diffusion.rows.tolist() if row in documents}
    ends = np.sort(diffusion.rows[np.stack([diffusion.u, diffusion.v])], axis=0)
    passed |= {stated[u, v] for u, v in ends.T.tolist() if (u, v) in stated}
    return Places(frozenset(passed), stated)


def _find_stated(problem: Problem, diffusion: Diffusion, open_store: Callable[[], Workspace]
                 ) -> dict[Pair, str]:
    """Find the document of each relation around touched nodes that it alone states."""
    graph, layer = problem.corpus.graph, problem.layer
    with open_store() as store:
        relations = store.graph.edges(graph.ids_of(diffusion.rows.tolist()), "relation")
        evidence = chain.from_iterable(edge.evidence for edge in relations)
        chunks = store.passages.get({chunk for chunk, _ in evidence})
    stated: dict[Pair, set[str]] = defaultdict(set)
    for edge in relations:
        low, high = sorted((graph.row[edge.source], graph.row[edge.target]))
        stated[low, high] |= {chunks[chunk].document for chunk, _ in edge.evidence if chunk in chunks}
        if edge.count > len(edge.evidence):
            stated[low, high].add("")  # there is more than is listed
    found = {}
    for (low, high), names in stated.items():
        at = layer.entry(low, high)
        kinds = 0 if at is None else int(layer.edge_kinds[at]).bit_count()
        if len(names) == kinds == 1 and "" not in names:
            found[low, high] = names.pop()
    return found


_DOCUMENTS: WeakKeyDictionary[Graph, Mapping[int, str]] = WeakKeyDictionary()


def documents_of(graph: Graph, open_store: Callable[[], Workspace]) -> Mapping[int, str]:
    """Return the document of each passage by its row, read once for a graph."""
    if graph not in _DOCUMENTS:
        with open_store() as store:
            chunks = store.passages.of_nodes(graph.ids_of(np.flatnonzero(graph.kinds == "passage").tolist()))
        _DOCUMENTS[graph] = {graph.row[node]: chunk.document for node, chunk in chunks.items()}
    return _DOCUMENTS[graph]
