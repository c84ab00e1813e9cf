"""Edits by hand: names that mean one entity or two, pairs that do not, names that are none, edges.

An edit changes nothing that was read. The graph is made from the log as the edits in force let
it be understood, so an edit that is undone leaves no trace in the graph.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from qafd.reading.text import canonical
from qafd.records import Assertion, Description, Edge, Extraction, Mention, node_id

STRENGTH = 0.5  # similarity of an edge by hand
MENTION_KINDS = ("title", "heading", "term")  # which say nothing of what is named
Ends = frozenset[str]
Joined = TypeVar("Joined", Assertion, Description)


@dataclass(frozen=True)
class Edit:
    """Edit of an entity, by its key; active until `undone_at`.

    `action` is "same" (`key` is the entity called `name`, which may only spell it differently),
    "split" (in `passages`, by id, it is the entity called `name`), "apart" (it is not the entity
    with the key `name`), "hide" (it is not an entity), "join" (a relation `label` leads from it to
    the entity with the key `name`; `note` is the reason) or "cut" (earlier edges between the two
    are removed).
    """

    id: int
    action: str
    key: str
    name: str
    made_at: str
    undone_at: str | None = None
    label: str = ""
    note: str = ""
    passages: tuple[str, ...] = ()

    def holds(self, action: str) -> bool:
        """Return True if it has this kind and is active."""
        return self.action == action and self.undone_at is None


def entity_names(edits: Iterable[Edit]) -> dict[str, str]:
    """Map each key that an edit "same" touches to the name of its entity.

    An edit of an entity applies to all names that earlier edits gave to it.
    """
    names: dict[str, str] = {}
    for edit in edits:
        if not edit.holds("same"):
            continue
        name = names.get(canonical(edit.name), edit.name)
        if canonical(name) == edit.key:  # it takes one of its own names
            name = edit.name
        own = [key for key, other in names.items() if canonical(other) == edit.key]
        names |= dict.fromkeys([*own, edit.key], name)
    return names


def merged_keys(edits: Iterable[Edit]) -> dict[str, str]:
    """Map the keys of merged names to the key of their entity."""
    return {key: canonical(name) for key, name in entity_names(edits).items()
            if canonical(name) != key}


def hidden_keys(edits: Iterable[Edit]) -> set[str]:
    """Return the keys of hidden entities."""
    return {edit.key for edit in edits if edit.holds("hide")}


def apply_edits(extractions: Sequence[Extraction], edits: Sequence[Edit]
                ) -> tuple[Extraction, ...]:
    """Apply the edits in force to extractions, in order."""
    names = entity_names(edits)
    hidden = hidden_keys(edits)
    splits = split_names(edits)
    if not names and not hidden and not splits:
        return tuple(extractions)
    keys = {key: canonical(name) for key, name in names.items()}
    applied = (_apply_to(extraction, names, keys, hidden) for extraction in extractions)
    return tuple(replace(one, split=splits[one.chunk]) if one.chunk in splits else one for one in applied)


def split_names(edits: Iterable[Edit]) -> dict[str, dict[str, str]]:
    """Return the new names in each passage with a split entity, by its key; "" for none.

    Splits follow an entity through all edits "same". A later split of a split-off entity follows
    the earlier split.
    """
    edits = tuple(edits)
    names, hidden = entity_names(edits), hidden_keys(edits)
    found: dict[str, dict[str, str]] = {}
    for edit in edits:
        if not edit.holds("split"):
            continue
        key = canonical(names.get(edit.key, edit.key))
        name = names.get(canonical(edit.name), edit.name)
        name = "" if canonical(name) in hidden else name
        for passage in edit.passages:
            here = found.setdefault(passage, {})
            for other, given in list(here.items()):
                if canonical(given) == key:
                    here[other] = name
            here[key] = name
    return found


def _apply_to(extraction: Extraction, names: Mapping[str, str], keys: Mapping[str, str],
              hidden: set[str]) -> Extraction:
    def mention(one: Mention) -> Mention:
        return replace(one, key=keys.get(one.key, one.key), name=names.get(one.key, one.name))

    def ends(one: Joined) -> Joined:
        return replace(one, source=keys.get(one.source, one.source),
                       target=keys.get(one.target, one.target))

    return replace(
        extraction,
        mentions=tuple(m for m in map(mention, extraction.mentions) if m.key not in hidden),
        assertions=tuple(a for a in map(ends, extraction.assertions)
                         if not hidden & {a.source, a.target}),
        descriptions=tuple(d for d in map(ends, extraction.descriptions)
                           if not hidden & {d.source, d.target}))


def edges_by_hand(
    edits: Iterable[Edit]
) -> tuple[dict[tuple[str, str, str], Edit], set[Ends]]:
    """Return the edges that edits add, by the keys of source and target and label; the pairs they cut.

    A later edit of a pair wins: a cut removes edges added before it, and edges added after a cut
    stay. Both follow an entity through all edits "same". If those merge the two ends, there is
    nothing to join or to cut.
    """
    edits = tuple(edits)
    names = entity_names(edits)
    joined: dict[tuple[str, str, str], Edit] = {}
    cut: set[Ends] = set()
    for edit in edits:
        if not (edit.holds("join") or edit.holds("cut")):
            continue
        source, target = (canonical(names.get(key, key)) for key in (edit.key, edit.name))
        if source == target:
            continue
        if edit.action == "join":
            joined[source, target, edit.label] = edit
        else:
            cut.add(frozenset((source, target)))
            joined = {spot: one for spot, one in joined.items() if {*spot[:2]} != {source, target}}
    return joined, cut


def connect_by_hand(found: Sequence[Edge], entities: Collection[str], edits: Iterable[Edit]
                    ) -> Sequence[Edge]:
    """Return edges of a log with those that edits add and without those that they cut, sorted.

    `entities` are the keys of those that the graph has. An added edge is a "relation", which methods
    over relations walk, and one "by_hand", which carries the default diffusion; its similarity is
    `STRENGTH`, or that of the same relation in the documents where it is larger. Edits of entities
    that the graph does not have wait until it does.
    """
    joined, cut = edges_by_hand(edits)
    if not joined and not cut:
        return found
    gone = {frozenset(node_id("entity", key) for key in pair) for pair in cut}
    edges = {(e.source, e.target, e.kind, e.label): e for e in found
             if {e.source, e.target} not in gone}
    for source, target, label in joined:
        ends = node_id("entity", source), node_id("entity", target)
        for kind in ("relation", "by_hand") if source in entities and target in entities else ():
            spot = (*ends, kind, label)
            edges[spot] = (replace(edges[spot], similarity=max(edges[spot].similarity, STRENGTH))
                           if spot in edges else Edge(*ends, kind, STRENGTH, label))
    return [edges[spot] for spot in sorted(edges)]
