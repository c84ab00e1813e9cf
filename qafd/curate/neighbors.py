"""The edges between entities for people to look through and put right: what joins which?"""

import json
from collections import defaultdict
from dataclasses import dataclass

from qafd.assemble import node_id
from qafd.curate.entities import Entity, entity
from qafd.edits import Edit, edges_by_hand, told
from qafd.errors import ParameterError
from qafd.reading.text.plaintext import one_line
from qafd.records import Edge
from qafd.storage import Workspace

LABEL, NOTE = 80, 500  # characters of an edge's label and note


@dataclass(frozen=True)
class Neighbor:
    """An entity that edges join to another one, and on what they rest.

    `labels` say the relations as "founded →", or "← founded" where it leads to the other one;
    `sentences` counts those that relate the two, `evidence` is one of them; `alike` says whether
    their names are nearly equal; `joined` are the edits that added an edge.
    """

    id: str
    name: str
    labels: tuple[str, ...]
    sentences: int
    evidence: str
    alike: bool
    joined: tuple[Edit, ...]

    @property
    def grounds(self) -> str:
        """What the edges rest on, in words."""
        many = f"{self.sentences} sentence{'s' * (self.sentences != 1)}" * bool(self.sentences)
        return " · ".join(filter(None, (many, "names alike" * self.alike, *map(told, self.joined))))


def connect(store: Workspace, one: str, other: str, label: str = "", note: str = "") -> int:
    """Let a relation lead from one entity to another; returns the number of the edit.

    Parameters
    ----------
    label : str
        What the relation is called, such as "founded"; at most `LABEL` characters are kept.
    note : str
        Where it is from; shown in the place of a sentence, at most `NOTE` characters.

    Raises
    ------
    ParameterError
        There is no such entity, both are one, or this relation was added already.
    """
    source, target = entity(store, one), entity(store, other)
    label, note = one_line(label, LABEL), one_line(note, NOTE)
    if source.key == target.key:
        raise ParameterError(f"{source.name!r} cannot be connected to itself; name another entity")
    joined, _ = edges_by_hand(store.edits.all())
    if (source.key, target.key, label) in joined:
        raise ParameterError(f"{source.name!r} and {target.name!r} are connected like this "
                             "already; give another label")
    return store.edits.add("join", source.key, target.key, label, note)


def disconnect(store: Workspace, one: str, other: str) -> int:
    """Let no edge join two entities; returns the number of the edit.

    What documents say of both later makes none either, until somebody connects them. Passages that
    name both stay joined to each.

    Raises
    ------
    ParameterError
        There is no such entity, or no edge between the two.
    """
    first, second = sorted((entity(store, one), entity(store, other)), key=lambda e: e.key)
    pair = {first.key, second.key}
    joined, cut = edges_by_hand(store.edits.all())
    if not (any(pair == {*spot[:2]} for spot in joined) or (pair not in cut and any(
            {e.source, e.target} == {first.id, second.id} for e in store.graph.edges([first.id])))):
        raise ParameterError(
            f"no edge joins {first.name!r} and {second.name!r}, only passages that name both may; "
            "the page Graph lists the neighbors of each")
    return store.edits.add("cut", first.key, second.key)


def neighbors(store: Workspace, one: Entity) -> tuple[Neighbor, ...]:
    """What edges join to an entity: what was added by hand first, then by sentences and name.

    What an edit took out is left out, also before the graph has followed.
    """
    edges: dict[str, list[Edge]] = defaultdict(list)
    joined: dict[str, dict[str, Edit]] = defaultdict(dict)
    with store.snapshot() as connection:
        added, cut = edges_by_hand(store.edits.all())
        gone = {node_id("entity", key) for pair in cut if one.key in pair for key in pair}
        for edge in store.graph.edges([one.id]):
            other = edge.target if edge.source == one.id else edge.source
            if edge.kind == "synonym" or edge.evidence and edge.kind == "relation":
                edges[other] += [edge] * (other not in gone)
        for (source, target, label), edit in added.items():
            if one.key in (source, target):
                other = node_id("entity", target if source == one.key else source)
                joined[other][_directed(label, source == one.key)] = edit
        found = store.graph.nodes({*edges, *joined})
        first = {other: min(e.evidence[0] for e in some if e.evidence)
                 for other, some in edges.items() if any(e.evidence for e in some)}
        said = dict(connection.execute(
            "SELECT wanted.key, substr(live.text, sentences.start + 1, "
            '  sentences."end" - sentences.start) '
            "FROM json_each(?) AS wanted JOIN live ON live.id = json_extract(wanted.value, '$[0]') "
            "JOIN sentences ON sentences.extraction = live.extraction "
            "  AND sentences.position = json_extract(wanted.value, '$[1]')", (json.dumps(first),)))
    near = [Neighbor(
        i, node.name,
        tuple(filter(None, dict.fromkeys((
            *joined[i], *(_directed(e.label, e.source == one.id) for e in edges[i]))))),
        sum(e.count for e in edges[i] if e.kind == "relation"), said.get(i, ""),
        any(e.kind == "synonym" for e in edges[i]), tuple(joined[i].values()))
        for i, node in found.items() if edges[i] or joined[i]]
    return tuple(sorted(near, key=lambda n: (not n.joined, -n.sentences, n.name, n.id)))


def _directed(label: str, outward: bool) -> str:
    return label and (f"{label} →" if outward else f"← {label}")


def added(store: Workspace, id: str) -> dict[str, str]:
    """What is said of each edge that was added by hand at a node, by the id of its other end.

    It stands where a sentence of a document would: the relation in words, when it was added, and
    the note.
    """
    with store.snapshot():  # an edit in between would give an end another key
        joined = {ends: edits for ends, edits in store.edits.joined().items() if id in ends}
        merged = store.edits.merged()
        nodes = store.graph.nodes({end for ends in joined for end in ends})
    names = {node.key: node.name for node in nodes.values()}
    return {next(iter(ends - {id})): " ".join(
        f"{names[merged.get(e.key, e.key)]} — {e.label or 'is related to'} → "
        f"{names[merged.get(e.name, e.name)]}. {told(e).rstrip('.')}." for e in edits)
        for ends, edits in joined.items() if nodes.keys() >= ends}
