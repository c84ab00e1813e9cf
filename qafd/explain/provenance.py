"""The documents of the passages and relations of a diffusion."""

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from qafd.errors import ParameterError
from qafd.explain.sensitivity import Places
from qafd.flow.solver import Diffusion
from qafd.graph import Graph
from qafd.records import Edge
from qafd.retrieve.qafd import Problem
from qafd.storage import Workspace


@dataclass(frozen=True, eq=False)
class Provenance:
    """Documents behind the nodes and edges that a diffusion touched; read when first asked for."""

    problem: Problem
    diffusion: Diffusion
    open_store: Callable[[], Workspace]

    @property
    def _graph(self) -> Graph:
        return self.problem.corpus.graph

    @cached_property
    def _documents(self) -> Mapping[int, str]:
        if self._graph not in _DOCUMENTS:
            with self.open_store() as store:
                _DOCUMENTS[self._graph] = _documents_of(self._graph, store)
        return _DOCUMENTS[self._graph]

    @cached_property
    def _chunks(self) -> Mapping[str, str]:
        """Document of each passage with relations, by its chunk id."""
        with self.open_store() as store:
            chunks: set[str] = set()
            for edge in self._relations:
                chunks.update(chunk for chunk, _ in edge.evidence)
            return {i: chunk.document for i, chunk in store.passages.get(chunks).items()}

    @cached_property
    def _relations(self) -> tuple[Edge, ...]:
        """Relations around touched nodes, when mass runs over them."""
        if self.problem.method.layer != "entities":
            return ()
        with self.open_store() as store:
            touched = self._graph.ids_of(self.diffusion.rows.tolist())
            return store.graph.edges(touched, "relation")

    @cached_property
    def _only_in(self) -> Mapping[tuple[int, int], str]:
        """Document of each relation that no other document states and no synonym doubles."""
        stated: dict[tuple[int, int], set[str]] = {}
        row = self._graph.row
        for edge in self._relations:
            ends = (min(row[edge.source], row[edge.target]), max(row[edge.source],
                                                                 row[edge.target]))
            names = {self._chunks.get(chunk, "") for chunk, _ in edge.evidence}
            if edge.count > len(edge.evidence):
                names.add("")  # there is more than is listed
            stated.setdefault(ends, set()).update(names)
        return {ends: next(iter(names)) for ends, names in stated.items()
                if len(names) == 1 and "" not in names and self._one_kind(*ends)}

    def _one_kind(self, u: int, v: int) -> bool:
        at = self.problem.layer.entry(u, v)
        return at is not None and int(self.problem.layer.edge_kinds[at]).bit_count() == 1

    @cached_property
    def places(self) -> Places:
        """Return the nodes and edges of the diffusion by document."""
        nodes: dict[str, list[int]] = {}
        for i, row in enumerate(self.diffusion.rows.tolist()):
            if row in self._documents:
                nodes.setdefault(self._documents[row], []).append(i)
        edges: dict[str, list[int]] = {}
        ends = np.sort(self.diffusion.rows[np.stack([self.diffusion.u, self.diffusion.v])], axis=0)
        for e, (u, v) in enumerate(ends.T.tolist()):
            name = self._only_in.get((u, v))
            if name is not None:
                edges.setdefault(name, []).append(e)
        return Places({k: tuple(v) for k, v in nodes.items()},
                      {k: tuple(v) for k, v in edges.items()})

    def passages_of(self, document: str) -> tuple[int, ...]:
        """Return the rows of a document's passages; raise ParameterError if there is none."""
        rows = tuple(row for row, name in self._documents.items() if name == document)
        if not rows:
            names = sorted(set(self._documents.values()))
            raise nearest_error("there is no document {name!r} in this graph", document,
                                difflib.get_close_matches(document, names, 3, 0.4))
        return rows

    def relations_of(self, document: str) -> tuple[tuple[int, int], ...]:
        """Return the ends of the relations that this document alone states."""
        return tuple(ends for ends, name in self._only_in.items() if name == document)


def nearest_error(template: str, name: str, near: Sequence[str]) -> ParameterError:
    """Return the error for an unknown name, with similar ones."""
    if not near:
        return ParameterError(f"{template.format(name=name[:80])}, nor one with a name like it")
    return ParameterError(f"{template.format(name=name[:80])}; did you mean {', '.join(map(repr, near))}?")


_DOCUMENTS: WeakKeyDictionary[Graph, Mapping[int, str]] = WeakKeyDictionary()


def _documents_of(graph: Graph, store: Workspace) -> dict[int, str]:
    """Return the document of each passage's row."""
    rows = np.flatnonzero(graph.kinds == "passage").tolist()
    chunks = store.passages.of_nodes(graph.ids_of(rows))
    return {graph.row[node]: chunk.document for node, chunk in chunks.items()}
