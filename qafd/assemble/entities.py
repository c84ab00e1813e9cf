"""The entities of a log: what passages say of each key, and which keys are entities by it."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from qafd.assemble.claims import ClaimedNames
from qafd.assemble.gathered import DESCRIPTION_LIMIT, Gathered
from qafd.assemble.parts import KeyPart, Parts, parts_of
from qafd.assemble.readings import Alias, Reading
from qafd.reading.text import NameIndex, canonical, count_tokens
from qafd.records import Chunk, Node, node_id


def is_entity(parts: Parts) -> bool:
    """Return True if a key with these parts is an entity; a heading must occur in a sentence."""
    if not any(part.holds for part in parts.values()):
        return False
    return (any(part.title or part.told for part in parts.values())
            or not any(part.titled for part in parts.values()))


def find_names(log: Sequence[Reading], aliases: Sequence[Alias]) -> dict[str, dict[int, KeyPart]]:
    """Collect the parts of each key by passage number in the log, string links included; not all
    of the keys are entities."""
    claimed = ClaimedNames()
    for reading, alias in zip(log, aliases, strict=True):
        claimed.add(reading.chunk, reading.extraction, alias)
    keys = claimed.names()
    index = NameIndex(keys)
    found: dict[str, dict[int, KeyPart]] = defaultdict(dict)
    for number, (reading, alias) in enumerate(zip(log, aliases, strict=True)):
        for key, part in parts_of(reading.chunk, reading.extraction, alias, keys, index).items():
            found[key][number] = part
    return found


def entity_node(key: str, gathered: Gathered) -> Node:
    """The node of a key by its spellings and what is stated of it."""
    names, text = gathered.names, gathered.text
    # The key must follow from the name: questions are linked by the names a graph carries.
    own = [name for name in names if canonical(name) == key]
    name = min(own, key=lambda n: (-names[n], n)) if own else key
    return Node(node_id("entity", key), "entity", key, name, text,
                count_tokens(name) + count_tokens(text))


def passage_node(chunk: Chunk) -> Node:
    """The node of a passage."""
    name = chunk.title or chunk.document
    return Node(node_id("passage", chunk.id), "passage", chunk.id, name, chunk.text,
                count_tokens(chunk.text))


def describe_entity(key: str, parts: Iterable[KeyPart]) -> str:
    """Join the model descriptions of an entity and its relations to one text; "" without any.

    Its order does not depend on that of the passages.
    """
    texts: set[str] = set()
    for part in parts:
        texts |= {*part.said, *part.related}
    return f"{key}: {' '.join(sorted(texts))}"[:DESCRIPTION_LIMIT] if texts else ""
