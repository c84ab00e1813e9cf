"""Names that very many passages have, after a change: their sums with what it touches exchanged."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from qafd.assemble.claims import Reading, log_order
from qafd.assemble.entities import (
    NO_PLACES,
    Gathered,
    KeyPart,
    gather,
    is_described,
    may_be_hub,
    unpack_part,
)
from qafd.records import Chunk, Extraction
from qafd.storage import Workspace
from qafd.storage.full_assembly import stored_readings


@dataclass(frozen=True)
class PassageState:
    """A passage with its sentences, and its part of each name as `pack_part` has it."""

    chunk: Chunk
    sentences: tuple[tuple[int, int], ...]
    parts: Mapping[str, str] = field(compare=False)

    @property
    def extraction(self) -> Extraction:
        """The sentences alone."""
        return Extraction(self.chunk.id, "", self.sentences, (), ())


@dataclass(frozen=True)
class NameParts:
    """Facts of some passages about one name, in the order of the log."""

    parts: Mapping[int, KeyPart]
    log: Sequence[Reading]


@dataclass(frozen=True)
class ChangedHub:
    """The sums of a name after a change, and its parts that are new or others than before.

    `passages` are the ids of these passages, and of those whose part is gone.
    """

    gathered: Gathered
    said: NameParts
    passages: frozenset[str]


_States = dict[str, list[PassageState]]


def change_hubs(store: Workspace, model: str, keys: Iterable[str],
                before: Mapping[int, PassageState], after: Mapping[int, PassageState]
                ) -> dict[str, ChangedHub]:
    """The hubs among some keys that follow from their sums and from the passages of a change.

    All other keys have to be made from all of their passages: those that are no hub or do not stay
    one, that a model describes, or whose old vectors are erased.

    Parameters
    ----------
    before, after : mapping of int to PassageState
        The passages of the change by number, as the graph had them and as it is to have them.
    """
    hubs = store.assembly.hubs(keys)
    gone, fresh = _exchange(hubs.keys(), before, after)
    lost, found = _readings(store, model, gone), _readings(store, model, fresh)
    changed = {}
    for key, hub in hubs.items():
        old_said, said = _collect(key, gone[key], lost), _collect(key, fresh[key], found)
        if old_said is None or said is None or is_described(said.parts):
            continue
        dimension = len(hub.wide)
        gathered = hub.change(gather(old_said.parts, old_said.log, dimension),
                              gather(said.parts, said.log, dimension))
        if not may_be_hub(gathered):
            continue
        if gathered.first is None:
            gathered = _find_first(store, key, gathered)
        passages = frozenset(state.chunk.id for state in (*gone[key], *fresh[key]))
        changed[key] = ChangedHub(gathered, said, passages)
    return changed


def _exchange(keys: Set[str], before: Mapping[int, PassageState], after: Mapping[int, PassageState]
               ) -> tuple[_States, _States]:
    """The passages whose part of a name is gone, and those that have another one, by name."""
    gone: _States = defaultdict(list)
    fresh: _States = defaultdict(list)
    for number in before.keys() | after.keys():
        old, new = before.get(number), after.get(number)
        for key in keys & {*(old.parts if old else ()), *(new.parts if new else ())}:
            if old and new and old == new and old.parts.get(key) == new.parts.get(key):
                continue
            if old and key in old.parts:
                gone[key].append(old)
            if new and key in new.parts:
                fresh[key].append(new)
    return gone, fresh


def _readings(store: Workspace, model: str, states: Mapping[str, Sequence[PassageState]]
              ) -> dict[str, Reading]:
    """The readings of these passages whose vectors are kept, by id."""
    some = {state.chunk.id: state for states_of_key in states.values() for state in states_of_key}
    return stored_readings(store, model, [(state.chunk, state.extraction)
                                          for state in some.values()])


def _collect(key: str, states: Sequence[PassageState], readings: Mapping[str, Reading]
             ) -> NameParts | None:
    """Collect the facts of some passages about a name; None if a passage has no vectors."""
    if any(state.chunk.id not in readings for state in states):
        return None
    ordered = sorted(states, key=lambda state: log_order(readings[state.chunk.id]))
    parts = {number: unpack_part(state.parts[key]) for number, state in enumerate(ordered)}
    return NameParts(parts, [readings[state.chunk.id] for state in ordered])


def _find_first(store: Workspace, key: str, gathered: Gathered) -> Gathered:
    """The sums with the first passage that has the name in a sentence."""
    number = store.postings.first("part", key, NO_PLACES)
    chunk = store.postings.passages([number])[number]
    part = unpack_part(store.postings.of(number, ("part",))["part", key])
    start, end = store.log.spans([chunk.id])[chunk.id][min(part.places)[0]]
    return replace(gathered, first=(chunk.document, chunk.start, chunk.id),
                   evidence=chunk.text[start:end])
