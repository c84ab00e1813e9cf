"""The graph after a change of the log: only what the change touches is made again.

`qafd.assemble` makes the graph of a whole log, and both give the same. What follows from one
document alone, and what else decides of a name, is kept as facts (`qafd.storage.relational.postings`).
A change of documents or edits then touches

1. their passages, and those that have a name which became known or unknown by it,
2. the names that these passages have, with their edges to all their passages; of names that very
   many passages have, sums and the edges to these passages alone (`change_hubs`),
3. relations that these passages assert, or that end in a name which came or went,
4. synonyms of names that came or went.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from qafd.assemble.edges import (
    FEW,
    SYNONYMS,
    Near,
    PairPart,
    may_be_near,
    mention_edges,
    nearest_names,
    relation_edges,
    synonym_edges,
)
from qafd.assemble.entities import (
    NO_PLACES,
    Gathered,
    KeyPart,
    Reading,
    entity_node,
    gather,
    log_order,
    passage_node,
    unpack_part,
)
from qafd.edits import Edit, connect_by_hand, edges_by_hand
from qafd.ingest.postings import Facts, PassageState, Touched, keep_signs, state_of, unpack_pair
from qafd.records import Chunk, Edge, Extraction, Vectors, node_id
from qafd.storage import Workspace
from qafd.storage.full_assembly import stored_readings
from qafd.storage.rows import Log, PlacedNode, embedding_key, key_of

SHARE = 4  # a change of more than one passage of so many is made as a whole
MOST = 20_000  # so is one of more passages, which takes some 90 kB of memory each


class MissingNamesError(Exception):
    """Names that have no vector yet; with them the change can be taken in."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(names)
        self.names = names


class MissingVectorsError(Exception):
    """Passages that did not change have lost their vectors; all has to be assembled."""


class GraphChange:
    """The nodes and edges of the graph that a change touches, made again from facts.

    Parameters
    ----------
    model : str
        The embedding model of the workspace.
    edits : sequence of Edit
        All, those undone too.
    """

    def __init__(self, store: Workspace, model: str, edits: Sequence[Edit]) -> None:
        self._store, self._model, self._edits = store, model, edits
        self._postings = store.postings

    def write(self, touched: Touched, facts: Facts, chunks: Sequence[Chunk],
              gone: Iterable[str]) -> bool:
        """Bring nodes and edges up to date; True when that changed any.

        Parameters
        ----------
        facts : Facts
            Which took the change in.
        chunks : sequence of Chunk
            The passages that are new or read again.
        gone : iterable of str
            The ids of those that are no longer there.

        Raises
        ------
        MissingNamesError
            New names have no vector yet.
        """
        assembly = self._store.assembly
        before = self._store.graph.has(node_id("entity", key) for key in touched.keys)
        hubs = change_hubs(self._store, self._model, touched.keys, facts.before, facts.after)
        entities, log = self._entities(touched.keys - hubs.keys())
        gathered = {key: gather(entities[key], log) for key in sorted(entities)}
        said = {key: text for key, one in gathered.items() if (text := one.describe(key))}
        keys = [*gathered, *said.values(), *hubs]
        names = dict(zip(keys, self._names(keys), strict=True))
        nodes: dict[str, PlacedNode | None] = {
            node_id("entity", key): None for key in touched.keys}
        nodes |= {node_id("passage", chunk): None for chunk in gone}
        gathered |= {key: hub.gathered for key, hub in hubs.items()}
        edges: list[Edge] = []
        between: list[tuple[str, str]] = []
        hub_edges: list[Edge] = []
        for key, one in gathered.items():
            node, told = entity_node(key, one), said.get(key, "")
            nodes[node.id] = PlacedNode(node, one.first[2] if one.first else "",
                                        embedding_key(self._model, key),
                                        embedding_key(self._model, told) if told else "", one.scale)
            if key in hubs:
                hub = hubs[key]
                between += [(node.id, node_id("passage", chunk)) for chunk in hub.passages]
                hub_edges += mention_edges(key, hub.parts, hub.log, names[key], one.heading)
            else:
                edges += mention_edges(key, entities[key], log, names[key], one.heading)
        nodes |= self._passages(chunks)
        was = {key for key in touched.keys if node_id("entity", key) in before}
        now = gathered.keys()
        changes = [assembly.put_nodes(nodes), assembly.put_hubs(_hub_sums(touched.keys, gathered)),
                   assembly.put_mentions([node_id("entity", key) for key in touched.keys - hubs.keys()],
                                         edges),
                   assembly.put_pairs(between, hub_edges)]
        pairs = touched.pairs | self._with_partners(was ^ now)
        pairs |= self._synonyms(was - now, now - was)
        return self._write_pairs(pairs) or any(changes)

    def _passages(self, chunks: Sequence[Chunk]) -> dict[str, PlacedNode]:
        """The nodes of some passages, by id."""
        nodes = {}
        for reading in self._readings(chunks):
            node = passage_node(reading.chunk)
            nodes[node.id] = PlacedNode(
                node, node.key, key_of(self._model, reading.chunk, reading.extraction))
        return nodes

    def _entities(self, keys: Iterable[str]) -> tuple[dict[str, dict[int, KeyPart]], list[Reading]]:
        """Return the keys that are entities with the facts in each passage, and these passages in order."""
        found: dict[str, dict[int, KeyPart]] = {}
        for key, bodies in self._postings.bodies("part", keys).items():
            parts = {number: unpack_part(body) for number, body in bodies.items()}
            holding = [part for part in parts.values() if part.holds]
            if any(part.title or part.told for part in holding) or holding and not any(
                    part.titled for part in holding):
                found[key] = parts
        numbers = set().union(*found.values())
        passages = self._postings.passages(numbers)
        log = sorted(self._readings(list(passages.values())), key=log_order)
        place = {reading.chunk.id: at for at, reading in enumerate(log)}
        at = {number: place[chunk.id] for number, chunk in passages.items()}
        for key, parts in found.items():
            found[key] = {at[number]: part for number, part in parts.items()}
        return found, log

    def _readings(self, chunks: Sequence[Chunk]) -> list[Reading]:
        spans = self._store.log.spans(chunk.id for chunk in chunks)
        pairs = [(chunk, Extraction(chunk.id, "", tuple(spans.get(chunk.id, ())), (), ()))
                 for chunk in chunks]
        found = stored_readings(self._store, self._model, pairs)
        if len(found) < len(pairs):
            raise MissingVectorsError
        return list(found.values())

    def _names(self, keys: Sequence[str]) -> Vectors:
        places = [embedding_key(self._model, key) for key in keys]
        stored = self._store.vectors.get(places)
        missing = [key for key, place in zip(keys, places, strict=True) if place not in stored]
        if missing:
            raise MissingNamesError(missing)
        return np.array([stored[place] for place in places])

    def _with_partners(self, keys: Iterable[str]) -> set[tuple[str, str]]:
        """The pairs that passages assert of some keys."""
        keys = set(keys)
        having = set[int]().union(*self._postings.bodies("key", keys).values())
        pairs = set[tuple[str, str]]()
        for _, ends in self._postings.terms(having, ("pair",)):
            low, high = ends.split("\n")
            if low in keys or high in keys:
                pairs.add((low, high))
        return pairs

    def _synonyms(self, gone: Collection[str], fresh: Collection[str]) -> set[tuple[str, str]]:
        """Bring the nearest names up to date; the pairs of which one was or is near the other."""
        losing = self._store.names.near_to(gone)
        old = self._store.names.near({*gone, *losing})
        sought = set(fresh)
        for key in losing.difference(gone):
            if len(old[key]) == SYNONYMS:  # those after it are not known
                sought.add(key)
        keep_signs(self._store, gone, fresh)
        found = self._nearest(sought)
        joined: Near = defaultdict(dict)
        for key in fresh:
            for other, cosine in found[key].items():
                if other not in sought:
                    joined[other][key] = cosine
        old |= self._store.names.near(sought | joined.keys())
        changed: Near = {}
        pairs: set[tuple[str, str]] = set()
        for key in {*gone, *losing, *sought, *joined}:
            before = old.get(key, {})
            left = {other: cosine for other, cosine in before.items() if other not in gone}
            near = {} if key in gone else _first(found.get(key, left | joined.get(key, {})))
            if near != before:
                changed[key] = near
                pairs |= {(min(key, other), max(key, other)) for other in near | before}
        self._store.names.set_near(changed)
        return pairs

    def _nearest(self, sought: Collection[str]) -> Near:
        """All names that are near to each of these."""
        if not sought:
            return {}
        graph = self._store.graph
        if len(sought) > FEW:
            keys, names = graph.entity_names()
        else:
            known, codes = self._store.names.signs()
            close = may_be_near(codes, graph.entity_names(sought)[1])
            keys, names = graph.entity_names({known[at] for at in close.tolist()}.union(sought))
        row = {key: at for at, key in enumerate(keys)}
        near = nearest_names(keys, names, sorted(row[key] for key in sought), most=len(keys))
        return {key: near.get(key, {}) for key in sought}

    def _write_pairs(self, pairs: set[tuple[str, str]]) -> bool:
        """Make all edges between the two names of each pair again, those by hand too."""
        joined, cut = edges_by_hand(self._edits)
        ends = [frozenset(spot[:2]) for spot in joined] + list(cut) + self._by_hand_before()
        pairs = pairs | {(min(two), max(two)) for two in ends}
        wanted = set().union(*pairs)
        known = self._store.graph.has(node_id("entity", key) for key in wanted)
        there = sorted(key for key in wanted if node_id("entity", key) in known)
        row = {key: at for at, key in enumerate(there)}
        live = [pair for pair in sorted(pairs) if pair[0] in row and pair[1] in row]
        asserted = self._read_asserted(live)
        edges = list(relation_edges(asserted, row, self._names(there)))
        ids = {frozenset((node_id("entity", low), node_id("entity", high))) for low, high in pairs}
        for edge in synonym_edges(there, self._store.names.near(there)):
            if {edge.source, edge.target} in ids:
                edges.append(edge)
        return self._store.assembly.put_pairs(
            [(node_id("entity", low), node_id("entity", high)) for low, high in pairs],
            connect_by_hand(edges, row.keys(), self._edits))

    def _by_hand_before(self) -> list[frozenset[str]]:
        """The pairs that edits joined or cut when the graph was made."""
        state = self._postings.state() or {}
        used = set(state.get("edits", ()))  # type: ignore[call-overload]
        before = [replace(edit, undone_at=None) for edit in self._edits if edit.id in used]
        joined, cut = edges_by_hand(before)
        return [frozenset(spot[:2]) for spot in joined] + list(cut)

    def _read_asserted(self, pairs: Iterable[tuple[str, str]]
                  ) -> dict[tuple[str, str], dict[str, PairPart]]:
        bodies: dict[tuple[str, str], dict[int, str]] = {}
        for ends, some in self._postings.bodies("pair", map("\n".join, pairs)).items():
            low, high = ends.split("\n")
            bodies[low, high] = some
        chunks = self._postings.passages(set().union(*bodies.values()))

        def place(number: int) -> tuple[str, int, str]:
            return chunks[number].document, chunks[number].start, chunks[number].id

        asserted = {}
        for pair, some in bodies.items():
            parts = {chunks[number].id: unpack_pair(some[number]) for number in sorted(some, key=place)}
            if parts:
                asserted[pair] = parts
        return asserted


def _first(near: Mapping[str, float]) -> dict[str, float]:
    """The nearest names, as many as are kept."""
    best = sorted(near, key=lambda other: (-near[other], other))[:SYNONYMS]
    return {other: near[other] for other in best}


def _hub_sums(touched: Iterable[str], gathered: Mapping[str, Gathered]) -> dict[str, Gathered | None]:
    """Return the sum of each touched name that is a hub now, None for the others."""
    return {key: gathered[key] if key in gathered and gathered[key].is_hub else None for key in touched}


def take_in(store: Workspace, model: str, documents: Collection[str], log: Log) -> bool:
    """Bring the graph up to date with the log of changed documents; True when that changed it.

    All of it is one transaction of the caller's.

    Raises
    ------
    MissingNamesError
        New names have no vector yet. The transaction has to be given up.
    MissingVectorsError
        The change cannot be taken in.
    """
    numbers = store.postings.rows(documents)
    gone = numbers.keys() - {chunk.id for chunk in log.chunks}
    facts = Facts(store, log.edits)
    facts.remember(store.postings.passages(numbers.values()))
    touched = facts.forget(numbers[chunk] for chunk in gone)
    changed = store.assembly.put_passages(gone, log.chunks)
    more = facts.take_in(documents, log)
    touched.keys |= more.keys
    touched.pairs |= more.pairs
    changed |= GraphChange(store, model, log.edits).write(touched, facts, log.chunks, gone)
    store.assembly.settle(log.revision, changed)
    store.postings.hold(state_of(store, log.edits))
    return changed


@dataclass(frozen=True)
class ChangedHub:
    """The sums of a name after a change, and its parts in the passages of the change, in order.

    `passages` are the ids of these passages, and of those that had a part before.
    """

    gathered: Gathered
    parts: Mapping[int, KeyPart]
    log: Sequence[Reading]
    passages: Collection[str]


def change_hubs(store: Workspace, model: str, keys: Iterable[str],
                before: Mapping[int, PassageState], after: Mapping[int, PassageState]
                ) -> dict[str, ChangedHub]:
    """The hubs among some keys that follow from their sums and from the passages of a change.

    All other keys have to be made from all of their passages: those that are no hub or do not stay
    one, with a title that becomes or ceases to be one of many passages, that a model describes, or whose
    old vectors are erased.

    Parameters
    ----------
    before, after : mapping of int to PassageState
        The passages of the change by number, as the graph had them and as it is to have them.
    """
    hubs = store.assembly.hubs(keys)
    gone, fresh = (_collect(store, model, hubs.keys(), states.values()) for states in (before, after))
    changed = {}
    for key, hub in hubs.items():
        (old_parts, old_log), (parts, log) = gone[key], fresh[key]
        if len(old_parts) > len(old_log) or len(parts) > len(log):  # without vectors
            continue
        said = gather(parts, log)
        gathered = hub.change(gather(old_parts, old_log), said)
        if said.described or not gathered.is_hub or gathered.heading != hub.heading:
            continue
        if gathered.first is None:
            gathered = _find_first(store, key, gathered)
        passages = {reading.chunk.id for reading in (*old_log, *log)}
        changed[key] = ChangedHub(gathered, parts, log, passages)
    return changed


def _collect(store: Workspace, model: str, keys: Set[str], states: Iterable[PassageState]
             ) -> dict[str, tuple[dict[int, KeyPart], list[Reading]]]:
    """Collect the parts of some names in passages, in the order of the log, and readings with vectors."""
    ordered = sorted((state for state in states if keys & state.parts.keys()),
                     key=lambda state: (state.chunk.document, state.chunk.start, state.chunk.id))
    readings = stored_readings(store, model, [(state.chunk, state.extraction) for state in ordered])
    found: dict[str, tuple[dict[int, KeyPart], list[Reading]]] = {key: ({}, []) for key in keys}
    for state in ordered:
        for key in keys & state.parts.keys():
            parts, log = found[key]
            parts[len(parts)] = unpack_part(state.parts[key])
            log += [readings[state.chunk.id]] if state.chunk.id in readings else []
    return found


def _find_first(store: Workspace, key: str, gathered: Gathered) -> Gathered:
    """The sums with the first passage that has the name in a sentence."""
    number = store.postings.first("part", key, NO_PLACES)
    chunk = store.postings.passages([number])[number]
    part = unpack_part(store.postings.of(number, ("part",))["part", key])
    start, end = store.log.spans([chunk.id])[chunk.id][min(part.places)[0]]
    return replace(gathered, first=(chunk.document, chunk.start, chunk.id),
                   evidence=chunk.text[start:end])
