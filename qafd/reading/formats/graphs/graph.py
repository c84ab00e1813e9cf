"""A graph as its file gives it: nodes, edges and the texts they are from, cleaned and checked."""

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from qafd.errors import ParseError
from qafd.reading.formats.draft import Limits, too_much
from qafd.reading.text.plaintext import amount, clean, one_line, storable

NODES, EDGES = 50_000, 500_000
NAME = 100  # characters of a name at most
ID = 200  # of an id; of a longer one the beginning and a digest
IMPORTED = b'{"graph": {"format": '
"""How the bytes of an imported graph begin."""

Row = Mapping[str, Any]
"""The attributes of a node, an edge or a text, as the file calls them."""

_IDS = ("id", "node_id", "entity_id", "key")
_NAMES = ("name", "label", "title", "entity_name", "entity", "nodelabel", "id", "node_id")
_KINDS = ("entity_type", "type", "kind", "category", "class", "labels")
_DESCRIPTIONS = ("description", "desc", "summary", "definition", "text", "content", "comment",
                 "notes")
SOURCES = ("source", "from", "src", "head", "subject", "start", "source_id", "from_id")
TARGETS = ("target", "to", "dst", "tail", "object", "end", "target_id", "to_id")
_LABELS = ("label", "relation", "interaction", "relationship", "relation_type", "rel", "predicate",
           "edge_type", "edge label", "edgelabel", "keywords", "name", "type", "kind")
_WEIGHTS = ("weight", "value", "strength", "score")
_TEXTS = ("text_unit_ids", "source_id", "source_ids", "chunk_ids", "tuids")
_NO_LABELS = {"directed", "undirected", "mutual", "1", "0"}
_OWN = {"relation", "mention", "synonym", "by_hand"}  # kinds of edges in our own exports
_SEPARATOR = re.compile(r"\s*<SEP>\s*")
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")


@dataclass(frozen=True)
class ImportedNode:
    """A node; `texts` are ids of the texts that it is from."""

    id: str
    name: str
    kind: str = ""
    description: str = ""
    texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class ImportedEdge:
    """An edge between two ids; `weight` is positive, None where the file has none."""

    source: str
    target: str
    label: str = ""
    description: str = ""
    weight: float | None = None
    texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class ImportedText:
    """A text that nodes and edges were found in."""

    id: str
    text: str
    title: str = ""


@dataclass(frozen=True)
class ImportedGraph:
    """Nodes and edges of one or more files, in their order; `format` is how they are written.

    `notices` list omissions, a sentence each.
    """

    format: str
    nodes: tuple[ImportedNode, ...]
    edges: tuple[ImportedEdge, ...]
    texts: tuple[ImportedText, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """One line with the numbers of nodes, edges and texts."""
        counts = [amount(len(self.nodes), "node"), amount(len(self.edges), "edge")]
        if self.texts:
            counts.append(amount(len(self.texts), "text"))
        return ", ".join([self.format, *counts])

    def to_json(self) -> bytes:
        """Return node-link JSON that is read as the same graph; equal graphs give equal bytes."""
        return json.dumps(self.plain(), ensure_ascii=False).encode()

    def plain(self) -> dict[str, Any]:
        """Return the value that `to_json` writes; `Rows` of it make this graph again."""
        return {
            "graph": {"format": self.format, "notices": self.notices},
            "nodes": [_fill(id=n.id, name=n.name, type=n.kind, description=n.description,
                              text_unit_ids=n.texts) for n in self.nodes],
            "edges": [_fill(source=e.source, target=e.target, label=e.label, weight=e.weight,
                              description=e.description, text_unit_ids=e.texts)
                      for e in self.edges],
            "texts": [_fill(id=t.id, text=t.text, title=t.title) for t in self.texts],
        }


@dataclass
class Rows:
    """Rows that readers collect, before names and weights are understood."""

    format: str
    nodes: list[Row] = field(default_factory=list)
    edges: list[Row] = field(default_factory=list)
    texts: list[Row] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    def check(self) -> None:
        """Raise ParseError when it is already too large."""
        _check_size(len(self.nodes), len(self.edges))


def _check_size(nodes: int, edges: int) -> None:
    for many, most, what in ((nodes, NODES, "nodes"), (edges, EDGES, "edges")):
        if many > most:
            raise ParseError(f"The graph has more than {most:,} {what}; import a part of it, "
                             "for instance the neighborhood you ask about.")


def graph_of(parts: Sequence[Rows], limits: Limits) -> ImportedGraph:
    """Return the graph of the rows of its files.

    Ends of edges are ids of nodes, else names of nodes, else nodes of their own. Loops are left
    out, and weights that are no positive numbers.

    Raises
    ------
    ParseError
        There is no edge, or too much of something.
    """
    whole = _join(parts)
    texts = {text.id: text for text in map(_text, whole.texts) if text.text}
    nodes = _nodes(whole, texts)
    edges = _edges(whole, nodes, texts)
    if not edges:
        raise ParseError("The graph has no edge between two nodes, so nothing could flow on it; "
                         "check that the file names a source and a target for each edge.")
    length = sum(len(text.text) for text in texts.values())
    length += sum(len(node.description) for node in nodes.values())
    length += sum(len(edge.description) for edge in edges)
    if length > limits.text_characters:
        raise too_much(limits.text_characters, "characters of text")
    _check_size(len(nodes), len(edges))
    if ignored := _count_ignored(whole):
        whole.notices.append(f"Attributes that were not read: {ignored}.")
    return ImportedGraph(whole.format, tuple(nodes.values()), tuple(edges), tuple(texts.values()),
                         tuple(dict.fromkeys(whole.notices)))


def _join(parts: Sequence[Rows]) -> Rows:
    """Return the rows of all files; of our own exports the part that documents do not make."""
    whole = Rows(" + ".join(dict.fromkeys(part.format for part in parts)))
    for part in parts:
        whole.nodes += part.nodes
        whole.edges += part.edges
        whole.texts += part.texts
        whole.notices += part.notices
        whole.check()
    if whole.edges and all(edge.get("kind") in _OWN for edge in whole.edges):
        _keep_relations(whole)
    return whole


def _nodes(whole: Rows, texts: Mapping[str, ImportedText]) -> dict[str, ImportedNode]:
    """Return the nodes by their ids, of those with one id the first."""
    nodes: dict[str, ImportedNode] = {}
    twice = cut = 0
    for row in whole.nodes:
        node = _node(row, texts)
        cut += len(" ".join(str(_first(row, _NAMES)).split())) > NAME
        if node.id:
            twice += nodes.setdefault(node.id, node) != node
    if cut:
        whole.notices.append(f"Names that were cut to {NAME} characters: {cut:,}.")
    if twice:
        whole.notices.append(f"Left out: {twice:,} nodes that repeat the id of another node with other "
                             "content.")
    return nodes


def _edges(whole: Rows, nodes: dict[str, ImportedNode], texts: Mapping[str, ImportedText]
           ) -> list[ImportedEdge]:
    """Return the edges between two nodes; nodes that only edges name are added to `nodes`."""
    named = {node.name: key for key, node in reversed(list(nodes.items()))}
    edges: list[ImportedEdge] = []
    weightless = 0
    for row in whole.edges:
        source = _end(_first(row, SOURCES), nodes, named)
        target = _end(_first(row, TARGETS), nodes, named)
        if source and target and source != target:
            weight, wrong = _weight(row)
            weightless += wrong
            edges.append(ImportedEdge(source, target, _label(row), _description(row), weight,
                                      _texts(row, texts)))
    if loops := len(whole.edges) - len(edges):
        whole.notices.append(f"Left out: {loops:,} edges from a node to itself or to nothing.")
    if weightless:
        whole.notices.append(f"{weightless:,} weights are not positive numbers; their edges get the mean "
                             "weight.")
    return edges


def _keep_relations(whole: Rows) -> None:
    """Keep entities and their relations of our own exports, which documents do not make."""
    relations = [row for row in whole.edges if row["kind"] == "relation"]
    if not relations:
        raise ParseError("This is a part of a graph, as exported here, in which no name relates "
                         "to another; import the file that the graph is from.")
    passages = sum(node.get("kind") == "passage" for node in whole.nodes)
    if passages:
        whole.notices.append(f"Left out: {passages:,} passages; copy the workspace to keep them.")
    whole.nodes = [row for row in whole.nodes if row.get("kind") == "entity"]
    for row in () if whole.nodes else relations:
        for end in ("source", "target"):
            whole.nodes.append({"id": row[end], "name": row.get(f"{end}_name", row[end])})
    whole.edges = [{name: row.get(name, "") for name in ("source", "target", "label", "description")}
                   for row in relations]


def _node(row: Row, texts: Mapping[str, ImportedText]) -> ImportedNode:
    identity = _id(_first(row, (*_IDS, *_NAMES)))
    name = one_line(str(_first(row, _NAMES)), NAME) or one_line(identity, NAME)
    kind = one_line(str(_first(row, _KINDS)), 40)
    return ImportedNode(identity, name, "" if kind.lower() in ("entity", "node") else kind,
                        _description(row), _texts(row, texts))


def _text(row: Row) -> ImportedText:
    return ImportedText(_id(_first(row, ("id", "tuid"))), clean(str(row.get("text") or "")),
                        one_line(str(row.get("title") or "")))


def _end(value: Any, nodes: dict[str, ImportedNode], named: Mapping[str, str]) -> str:
    """Return the id of the node that an edge ends at, which is made if it has to be."""
    end = _id(value)
    if end and end not in nodes:
        end = named.get(one_line(end, NAME), end)
        nodes.setdefault(end, ImportedNode(end, one_line(end, NAME)))
    return end


def _id(value: Any) -> str:
    text = str(value) if value not in (None, "") else ""
    if len(text) <= ID:
        return _line(text, ID)
    return f"{one_line(text, ID - 9)} {hashlib.sha256(storable(text).encode()).hexdigest()[:8]}"


@lru_cache(200_000)
def _line(text: str, longest: int) -> str:
    """Return `one_line` of a value, cached: the ends of edges repeat."""
    return one_line(text, longest)


def _first(row: Row, names: Iterable[str]) -> Any:
    """Return the first of these attributes that has a value, else ""."""
    return next((row[name] for name in names if row.get(name) not in (None, "")), "")


def _description(row: Row) -> str:
    """Return the different descriptions of a node or an edge, a paragraph each."""
    said = _SEPARATOR.split(str(_first(row, _DESCRIPTIONS)))
    return "\n\n".join(filter(None, dict.fromkeys(map(clean, said))))


def _label(row: Row) -> str:
    for name in _LABELS:
        label = _line(re.split(r"<SEP>|,", str(row.get(name) or ""))[0], 60)
        if label and (name == "label" and label.isalpha() or label.lower() not in _NO_LABELS):
            return label
    return ""


def _weight(row: Row) -> tuple[float | None, bool]:
    """Return the weight, and whether there is one that cannot be used."""
    given = _first(row, _WEIGHTS)
    if given == "":
        return None, False
    try:
        weight = float(given)
    except (TypeError, ValueError, OverflowError):
        return None, True
    return (weight, False) if 0 < weight < math.inf else (None, True)


def _texts(row: Row, texts: Mapping[str, ImportedText]) -> tuple[str, ...]:
    ids = _as_list(_first(row, _TEXTS))
    return tuple(dict.fromkeys(key for key in map(_id, ids) if key in texts))


def _as_list(value: Any) -> list[Any]:
    """Return the items of a list, also of one that a table has as a text: "['a', 'b']"."""
    if isinstance(value, (list, tuple)):
        return list(value)
    text = str(value)
    if text.startswith("[") and (quoted := _QUOTED.findall(text)):
        return [one or other for one, other in quoted]
    return re.split(r"<SEP>|[,;]", text)


def _count_ignored(whole: Rows) -> str:
    known = {*_IDS, *_NAMES, *_KINDS, *_DESCRIPTIONS, *SOURCES, *TARGETS, *_LABELS, *_WEIGHTS,
             *_TEXTS, "directed"}
    others: Counter[str] = Counter()
    for row in (*whole.nodes, *whole.edges):
        others.update(str(name) for name in row if name not in known)
    names = [one_line(name, 30) for name, _ in others.most_common(7)]
    return ", ".join(names[:6]) + (", …" if len(names) > 6 else "")


def _fill(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in (None, "", ())}
