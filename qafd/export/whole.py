"""The whole graph of a workspace, row by row: what exports and networkx read."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from functools import cache
from sqlite3 import Connection
from typing import TYPE_CHECKING, Any

from qafd.assemble import node_id
from qafd.edits import MENTION_KINDS, edges_by_hand, entity_types, told
from qafd.reading.text import passage_names
from qafd.records import WEIGHT
from qafd.retrieve.base import Imprint
from qafd.storage import Workspace

if TYPE_CHECKING:
    import networkx


@dataclass(frozen=True)
class WholeNode:
    """An entity or a passage.

    `text` is that of a passage, or the first sentence that names an entity; `description` is what
    a language model or an imported graph says of the entity instead, `type` is by hand or else
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
    """A mention, relation, synonym, or what was added by hand.

    `weight` is the factor H(h(u), h(v)) of Eq. (1) that no question changes, `count` how many
    sentences it rests on. `evidence` names them: ids of passages, each with ":" and the number of
    the sentence in it, from 0, with blanks between. `by_hand` says when it was added, and the note.
    `description` and `strength` are those of an imported graph or a language model.
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
        """Tells parallel edges apart."""
        return f"{self.kind} {self.label}".rstrip()


NODE_FIELDS = tuple(field.name for field in fields(WholeNode))
EDGE_FIELDS = tuple(field.name for field in fields(WholeEdge))


@dataclass(frozen=True)
class Whole:
    """One state of a graph, open for reading.

    `stale` says that documents or edits wait to be taken in.
    """

    made_by: Imprint
    revision: int
    node_count: int
    edge_count: int
    stale: bool
    _store: Workspace
    _connection: Connection

    @property
    def record(self) -> dict[str, Any]:
        """What made it, as every export has it."""
        return {**asdict(self.made_by), "revision": self.revision}

    def nodes(self) -> Iterator[WholeNode]:
        """All nodes, by id."""
        parts = passage_names(self._store.passages.parts())
        types, described = self._types(), self._described()
        for key, kind, chunk, name, text, *place in self._connection.execute(
                "SELECT nodes.id, kind, key, name, nodes.text, document, title, page "
                "FROM nodes LEFT JOIN passages ON kind = 'passage' AND passages.id = key "
                "ORDER BY nodes.id"):
            if kind == "passage":
                yield WholeNode(key, kind, parts.get(chunk, name), "", text, "", *place)
            else:
                own = key in described
                yield WholeNode(key, kind, name, types.get(key, ""), "" if own else text,
                                text if own else "")

    def edges(self) -> Iterator[WholeEdge]:
        """All edges, by their ends, kind and label."""
        ids = cache(lambda chunk: node_id("passage", chunk))
        joined, _ = edges_by_hand(self._store.edits.all())
        notes = {(node_id("entity", source), node_id("entity", target), label): told(edit)
                 for (source, target, label), edit in joined.items()}
        said = self._relations()
        for source, target, kind, label, weight, count, evidence in self._connection.execute(
                "SELECT source, target, kind, label, similarity, count, evidence FROM edges "
                "ORDER BY source, target, kind, label"):
            texts, strength = said.get(frozenset((source, target)), ((), None))
            own = kind == "relation"
            yield WholeEdge(
                source, target, kind, label, weight, count,
                " ".join(f"{ids(chunk)}:{at}" for chunk, at in json.loads(evidence)),
                notes.get((source, target, label), "") if kind in ("relation", "by_hand") else "",
                "\n\n".join(texts) if own else "", strength if own else None)

    def to_networkx(self) -> "networkx.MultiDiGraph":
        """The graph with ids as nodes and the fields of both records that say something."""
        import networkx

        graph = networkx.MultiDiGraph(**self.record)
        for node in self.nodes():
            graph.add_node(node.id, **filled(node, NODE_FIELDS[1:]))
        for edge in self.edges():
            graph.add_edge(edge.source, edge.target, key=edge.key, **filled(edge, EDGE_FIELDS[2:]))
        return graph

    def _types(self) -> dict[str, str]:
        """Entity to its type by hand, else the tag of most of its mentions."""
        merged = self._store.edits.merged()
        marks = ", ".join("?" * len(MENTION_KINDS))
        tags: dict[str, Counter[str]] = defaultdict(Counter)
        for key, kind, count in self._connection.execute(
                "SELECT key, mentions.kind, count(*) FROM live JOIN mentions USING (extraction) "
                f"WHERE mentions.kind NOT IN ({marks}) GROUP BY 1, 2", MENTION_KINDS):
            tags[node_id("entity", merged.get(key, key))][kind] += count
        by_hand = {node_id("entity", key): kind
                   for key, kind in entity_types(self._store.edits.all()).items()}
        return {node: min(counts, key=lambda kind: (-counts[kind], kind))
                for node, counts in tags.items()} | by_hand

    def _described(self) -> set[str]:
        """The entities whose text is a description."""
        merged = self._store.edits.merged()
        return {node_id("entity", merged.get(key, key)) for key, in self._connection.execute(
            "SELECT DISTINCT source FROM descriptions JOIN live USING (extraction) "
            "WHERE target = '' AND source <> '' AND descriptions.text <> ''")}

    def _relations(self) -> dict[frozenset[str], tuple[tuple[str, ...], float | None]]:
        """Pairs of entities to what is said of their relation, and how strong a file says it is."""
        merged = self._store.edits.merged()
        texts: dict[frozenset[str], dict[str, None]] = defaultdict(dict)
        given: dict[frozenset[str], float] = defaultdict(float)
        for *ends, kind, text, strength in self._connection.execute(
                "SELECT source, target, descriptions.kind, descriptions.text, strength "
                "FROM descriptions JOIN live USING (extraction) WHERE target <> '' "
                "ORDER BY live.document, live.position, descriptions.position"):
            pair = frozenset(node_id("entity", merged.get(key, key)) for key in ends)
            texts[pair] |= {text: None} if text else {}
            if kind == WEIGHT:
                given[pair] += strength
        return {pair: (tuple(some), given.get(pair)) for pair, some in texts.items()}


def filled(row: WholeNode | WholeEdge, names: tuple[str, ...]) -> dict[str, Any]:
    """The fields of a row that say something, by name."""
    return {name: value for name in names if (value := getattr(row, name)) not in ("", None)}


@contextmanager
def whole(store: Workspace) -> Iterator[Whole]:
    """The graph of an open store as it is now; others may write meanwhile, which is not seen."""
    with store.snapshot() as connection:
        nodes, edges = (int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
                        for table in ("nodes", "edges"))
        made_by = Imprint(store.graph.version, store.vectors.embedder[0], store.log.extractor)
        yield Whole(made_by, store.graph.revision, nodes, edges, store.graph.stale, store, connection)
