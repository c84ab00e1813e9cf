"""The edges between entities, for people to review and edit, and descriptions of both."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from qafd.curate.entities import Entity, entity
from qafd.edits import Edit, edges_by_hand
from qafd.errors import ParameterError
from qafd.reading.text.plaintext import one_line
from qafd.records import WEIGHT, Edge, node_id
from qafd.storage import Workspace
from qafd.storage.rows import Said

LABEL, NOTE = 80, 500  # characters of an edge's label and note


@dataclass(frozen=True)
class Neighbor:
    """An entity that edges join to another, and their evidence.

    `labels` word the relations as "founded →", or "← founded" where it leads to the other one;
    `sentences` counts those that relate the two, `evidence` is one of them; `alike` is True if
    their names are nearly equal; `joined` are the edits that added an edge.
    """

    id: str
    name: str
    labels: tuple[str, ...]
    sentences: int
    evidence: str
    alike: bool
    joined: tuple[Edit, ...]


@dataclass(frozen=True)
class EdgeByHand:
    """A relation that somebody added, by the names of its ends; `made_at` is a time of ISO 8601."""

    source: str
    label: str
    target: str
    made_at: str
    note: str


def connect(store: Workspace, one: str, other: str, label: str = "", note: str = "") -> int:
    """Add a relation from one entity to another; returns the number of the edit.

    Parameters
    ----------
    label : str
        Name of the relation, such as "founded"; at most `LABEL` characters are kept.
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
    """Remove all edges between two entities; returns the number of the edit.

    Later documents add none either, until the two are connected by hand. Passages that name both
    stay joined to each.

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
        raise ParameterError(f"no edge joins {first.name!r} and {second.name!r}, only passages "
                             "that name both may; the page Graph lists the neighbors of "
                             "each")
    return store.edits.add("cut", first.key, second.key)


def neighbors(store: Workspace, one: Entity) -> tuple[Neighbor, ...]:
    """List the neighbors of an entity: edges added by hand first, then by sentences and name.

    Removed edges are left out, also before the graph is updated.
    """
    with store.snapshot():
        added, cut = edges_by_hand(store.edits.all())
        edges = _edges_at(store, one, cut)
        joined: dict[str, dict[str, Edit]] = defaultdict(dict)
        for (source, target, label), edit in added.items():
            if one.key in (source, target):
                other = node_id("entity", target if source == one.key else source)
                joined[other][_add_arrow(label, source == one.key)] = edit
        found = store.graph.nodes({*edges, *joined})
        places = {other: _first_place(some) for other, some in edges.items()}
        texts = store.passages.sentence_texts(place for place in places.values() if place)
    near = []
    for other, node in found.items():
        some = edges[other]
        labels = [*joined[other], *(_add_arrow(e.label, e.source == one.id) for e in some)]
        place = places.get(other)
        near.append(Neighbor(
            other, node.name, tuple(filter(None, dict.fromkeys(labels))),
            sum(e.count for e in some if e.kind == "relation"),
            texts.get(place, "") if place else "", any(e.kind == "synonym" for e in some),
            tuple(joined[other].values())))
    return tuple(sorted(near, key=lambda n: (not n.joined, -n.sentences, n.name, n.id)))


def _edges_at(store: Workspace, one: Entity, cut: Collection[frozenset[str]]
              ) -> dict[str, list[Edge]]:
    """Return the edges that documents and names join to an entity, by the other end; not those cut."""
    edges: dict[str, list[Edge]] = defaultdict(list)
    gone = {node_id("entity", key) for key in frozenset().union(*cut) if {one.key, key} in cut}
    for edge in store.graph.edges([one.id]):
        other = edge.target if edge.source == one.id else edge.source
        shown = edge.kind == "synonym" or edge.evidence and edge.kind == "relation"
        if shown and other not in gone:
            edges[other].append(edge)
    return edges


def _first_place(edges: Iterable[Edge]) -> tuple[str, int] | None:
    """Return the first sentence that shows one of some edges."""
    return min((edge.evidence[0] for edge in edges if edge.evidence), default=None)


def _add_arrow(label: str, outward: bool) -> str:
    return label and (f"{label} →" if outward else f"← {label}")


def find_added(store: Workspace, id: str) -> dict[str, tuple[EdgeByHand, ...]]:
    """Return the edges that were added by hand at a node, by the id of the other end."""
    with store.snapshot():  # an edit in between would give an end another key
        joined = {ends: edits for ends, edits in store.edits.map_added_edges().items() if id in ends}
        merged = store.edits.map_merged()
        nodes = store.graph.nodes(set().union(*joined))
    names = {node.key: node.name for node in nodes.values()}
    found = {}
    for ends, edits in joined.items():
        if nodes.keys() >= ends:
            other = next(iter(ends - {id}))
            found[other] = tuple(
                EdgeByHand(names[merged.get(e.key, e.key)], e.label, names[merged.get(e.name, e.name)],
                           e.made_at, e.note) for e in edits)
    return found


@dataclass(frozen=True)
class Remark:
    """A description, and the first passage that it describes.

    `model` wrote it; it is "" for a graph file. `strength` is from 1 to 10, 0 if not
    given; `more` counts other passages with the same description.
    """

    text: str
    model: str
    document: str
    title: str
    page: int | None
    chunk: str
    keywords: tuple[str, ...] = ()
    strength: float = 0.0
    more: int = 0


def remarks(store: Workspace, node: str) -> dict[str, tuple[Remark, ...]]:
    """Return the descriptions of an entity and of its relations, in the order of the documents.

    Models write this; it may be wrong, and its text is no more to be trusted than that of a
    document.

    Parameters
    ----------
    node : str
        The id of the entity.

    Returns
    -------
    dict
        By the id of the other end of a relation; "" for the entity itself. Empty
        for other nodes, and where no model has read the documents.
    """
    with store.snapshot():
        known = store.graph.nodes([node]).get(node)
        if known is None or known.kind != "entity":
            return {}
        merged = store.edits.map_merged()
        said = store.passages.said_of(known.key, *(key for key, own in merged.items() if own == known.key))
    found: dict[str, dict[str, Remark]] = defaultdict(dict)
    for one in said:
        about = one.description
        ends = {merged.get(key, key) for key in (about.source, about.target) if key}
        other = next(iter(ends - {known.key}), "")
        if not about.text or (about.target and not other):  # of two names that are one now
            continue
        here = found[node_id("entity", other) if other else ""]
        if about.text in here:
            here[about.text] = replace(here[about.text], more=here[about.text].more + 1)
        else:
            here[about.text] = _remark(one)
    return {other: tuple(some.values()) for other, some in found.items()}


def _remark(one: Said) -> Remark:
    about = one.description
    strength = 0.0 if about.kind == WEIGHT else about.strength
    return Remark(about.text, one.model, one.document, one.title, one.page, one.chunk,
                  about.keywords, strength)
