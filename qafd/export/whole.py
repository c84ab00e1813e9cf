"""The whole graph of a workspace, row by row, for files, networkx and a page.

`qafd.ingest.imports.read_graph` reads the same entities, passages and relations from these files.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from functools import cache
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from qafd.edits import MENTION_KINDS, edges_by_hand
from qafd.errors import ParameterError
from qafd.export import csv_rows, page
from qafd.export.markup import GraphRows
from qafd.reading.text import passage_names
from qafd.reasons import given_reason
from qafd.records import WEIGHT, node_id
from qafd.retrieve.base import SATURATED, Imprint, Retrieval, RetrievedEdge, RetrievedNode
from qafd.storage import Workspace
from qafd.view.layout import layout
from qafd.wording import count
from qafd.wording.documents import say_made_by_hand

if TYPE_CHECKING:
    import networkx


DRAWN = 300  # nodes that a page draws at most
LINES = 1000  # of a table that are written at a time


@dataclass(frozen=True)
class WholeNode:
    """An entity or a passage.

    `text` is that of a passage, or the first sentence that names an entity; `description` is
    the one of a language model or an imported graph, `type` is by hand or else
    the tag of most of its mentions. `document`, `title` and `page` are a passage's.
    """

    id: str
    kind: str
    name: str
    type: str = ""
    text: str = ""
    description: str = ""
    document: str = ""
    title: str = ""
    page: int | None = None


@dataclass(frozen=True)
class WholeEdge:
    """A mention, relation, synonym, or edge added by hand.

    `weight` is the factor H(h(u), h(v)) of Eq. (1) that no question changes, `count` how many
    sentences it rests on. `evidence` names them: ids of passages, each with ":" and the number of
    the sentence in it, from 0, with blanks between. `by_hand` is the time and the note if it was
    added by hand. `description` and `strength` are those of an imported graph or a language model.
    """

    source: str
    target: str
    kind: str
    label: str
    weight: float
    count: int
    evidence: str = ""
    by_hand: str = ""
    description: str = ""
    strength: float | None = None

    @property
    def key(self) -> str:
        """Key that separates parallel edges."""
        return f"{self.kind} {self.label}".rstrip()


NODE_FIELDS = tuple(field.name for field in fields(WholeNode))
EDGE_FIELDS = tuple(field.name for field in fields(WholeEdge))


@dataclass(frozen=True)
class Whole:
    """One state of a graph, open for reading.

    `stale` is True if documents or edits are not yet in it.
    """

    made_by: Imprint
    revision: int
    node_count: int
    edge_count: int
    stale: bool
    _store: Workspace

    @property
    def record(self) -> dict[str, Any]:
        """Return the origin, as every export has it."""
        return {**asdict(self.made_by), "revision": self.revision}

    def nodes(self) -> Iterator[WholeNode]:
        """Return all nodes, by id."""
        parts = passage_names(self._store.passages.parts())
        types, described = self._types(), self._find_described()
        for row in self._store.listing.nodes():
            node = row.node
            if node.kind == "passage":
                yield WholeNode(node.id, node.kind, parts.get(node.key, node.name), "", node.text, "",
                                row.document, row.title, row.page)
            else:
                own = node.id in described
                yield WholeNode(node.id, node.kind, node.name, types.get(node.id, ""),
                                "" if own else node.text, node.text if own else "")

    def edges(self) -> Iterator[WholeEdge]:
        """Return all edges, by their ends, kind and label."""
        ids = cache(lambda chunk: node_id("passage", chunk))
        joined, _ = edges_by_hand(self._store.edits.all())
        notes = {(node_id("entity", source), node_id("entity", target), label): say_made_by_hand(edit)
                 for (source, target, label), edit in joined.items()}
        said = self._relations()
        for edge in self._store.listing.edges():
            texts, strength = said.get(frozenset((edge.source, edge.target)), ((), None))
            own = edge.kind == "relation"
            note = ""
            if edge.kind in ("relation", "by_hand"):
                note = notes.get((edge.source, edge.target, edge.label), "")
            yield WholeEdge(
                edge.source, edge.target, edge.kind, edge.label, edge.similarity, edge.count,
                " ".join(f"{ids(chunk)}:{at}" for chunk, at in edge.evidence), note,
                "\n\n".join(texts) if own else "", strength if own else None)

    def rows(self) -> GraphRows:
        """Return its nodes and edges to write, which are read as they are written."""
        about = "; ".join(f"{name} {value}" for name, value in self.record.items())
        return GraphRows(
            self.record, about, self.made_by.qafd, NODE_FIELDS[1:], EDGE_FIELDS[2:],
            lambda: (list_fields(node, NODE_FIELDS) for node in self.nodes()),
            lambda: ({**list_fields(edge, EDGE_FIELDS), "key": edge.key} for edge in self.edges()))

    def to_networkx(self) -> "networkx.MultiDiGraph":
        """Build the graph with ids as nodes and the non-empty fields of both records."""
        import networkx

        graph = networkx.MultiDiGraph(**self.record)
        for node in self.nodes():
            graph.add_node(node.id, **list_fields(node, NODE_FIELDS[1:]))
        for edge in self.edges():
            graph.add_edge(edge.source, edge.target, key=edge.key, **list_fields(edge, EDGE_FIELDS[2:]))
        return graph

    def _types(self) -> dict[str, str]:
        """Return the tag of most mentions of each entity."""
        merged = self._store.edits.map_merged()
        tags: dict[str, Counter[str]] = defaultdict(Counter)
        for found in self._store.listing.names():
            if found.kind not in MENTION_KINDS:
                tags[node_id("entity", merged.get(found.key, found.key))][found.kind] += found.count
        return {node: min(counts, key=lambda kind: (-counts[kind], kind))
                for node, counts in tags.items()}

    def _find_described(self) -> set[str]:
        """Return the entities whose text is a description."""
        merged = self._store.edits.map_merged()
        return {node_id("entity", merged.get(one.source, one.source))
                for one in self._store.listing.descriptions()
                if one.source and not one.target and one.text}

    def _relations(self) -> dict[frozenset[str], tuple[tuple[str, ...], float | None]]:
        """Return the description and the strength of the relation of each pair of entities."""
        merged = self._store.edits.map_merged()
        texts: dict[frozenset[str], dict[str, None]] = defaultdict(dict)
        given: dict[frozenset[str], float] = defaultdict(float)
        for one in self._store.listing.descriptions():
            if not one.target:
                continue
            pair = frozenset(node_id("entity", merged.get(key, key))
                             for key in (one.source, one.target))
            texts[pair] |= {one.text: None} if one.text else {}
            if one.kind == WEIGHT:
                given[pair] += one.strength
        return {pair: (tuple(some), given.get(pair)) for pair, some in texts.items()}


def list_fields(row: WholeNode | WholeEdge, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields of a row that are not empty, by name."""
    return {name: value for name in names if (value := getattr(row, name)) not in ("", None)}


@contextmanager
def whole(store: Workspace) -> Iterator[Whole]:
    """Open the graph of a store as it is now; later writes are not seen."""
    with store.snapshot():
        made_by = Imprint(store.graph.version, store.vectors.embedder[0], store.log.extractor)
        yield Whole(made_by, store.graph.revision, *store.listing.size(), store.graph.stale, store)


def nodes_csv(graph: Whole) -> Iterator[str]:
    """Write the nodes as a table."""
    return _lines(NODE_FIELDS, graph.nodes(), _stamp(graph))


def edges_csv(graph: Whole) -> Iterator[str]:
    """Write the edges as a table."""
    return _lines(EDGE_FIELDS, graph.edges(), _stamp(graph))


def _lines(columns: tuple[str, ...], rows: Iterable[WholeNode] | Iterable[WholeEdge],
           made_by: str) -> Iterator[str]:
    """Write a table as CSV, some lines at a time; no text can be run as a formula."""
    yield csv_rows([(*columns, "made_by")])
    values = attrgetter(*columns)
    left = iter(rows)
    while some := list(islice(left, LINES)):
        yield csv_rows((*values(row), made_by) for row in some)


def _stamp(graph: Whole) -> str:
    return f"qafd {graph.made_by.qafd}, workspace {graph.made_by.workspace}"


def _drawn_edge(e: WholeEdge) -> RetrievedEdge:
    label = f"{e.label or e.kind} · {e.by_hand}" if e.by_hand else e.label or e.kind
    return RetrievedEdge(e.source, e.target, e.kind, 0.0, e.weight, label)


def html(graph: Whole) -> Iterator[str]:
    """Write a picture of a graph of up to `DRAWN` nodes, else raise ParameterError."""
    if graph.node_count > DRAWN:
        raise ParameterError(f"a page draws at most {DRAWN} nodes and the graph has "
                             f"{graph.node_count:,}; export GraphML or GEXF and open it in "
                             "Gephi or Cytoscape, or export a retrieval as html")
    edges = [edge for edge in graph.edges() if edge.kind != "by_hand"]  # a relation of the same ends is drawn
    degree = Counter(end for edge in edges for end in (edge.source, edge.target))
    nodes = tuple(sorted((RetrievedNode(n.id, n.name, n.kind, float(degree[n.id]), 0.0, SATURATED,
                                        given_reason(n.description), degree=degree[n.id])
                          for n in graph.nodes()), key=lambda n: (-n.importance, n.id)))
    drawn = Retrieval("Knowledge graph", "graph", {}, (), nodes, tuple(map(_drawn_edge, edges)),
                      revision=graph.revision, made_by=graph.made_by)
    labels = {n.id: n.name[:40] for n in nodes}
    kinds = Counter(n.kind for n in nodes)
    yield page(drawn, layout(labels, [(e.source, e.target) for e in edges], labels=labels),
               f"{count(kinds['entity'], 'entity')}, {count(kinds['passage'], 'passage')}, "
               f"{count(len(edges), 'edge')}")
