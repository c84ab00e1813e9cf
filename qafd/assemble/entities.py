"""The entities of a log: what passages say of each key, and which keys are entities by it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from qafd.assemble.claims import Claims, claims_of, small_words
from qafd.assemble.parts import KeyPart, Parts, pack_part, parts_of, unpack_part
from qafd.assemble.readings import Alias, Reading
from qafd.reading.text import NameIndex, canonical, count_tokens
from qafd.records import Chunk, Node, node_id

DESCRIPTION_LIMIT = 2000  # characters of an entity's merged descriptions


def is_entity(parts: Parts) -> bool:
    """Whether a key with these parts is an entity: a heading must be told by a sentence."""
    if not any(part.holds for part in parts.values()):
        return False
    return (any(part.title or part.told for part in parts.values())
            or not any(part.titled for part in parts.values()))


@dataclass(frozen=True)
class LogNames:
    """What the passages of a log say of names.

    `passages` are their ids in the order of the log, `aliases` the keys of each document that stand
    for another, `known` the names that are looked for in all texts. `parts` is what each passage, by
    its number in the log, says of a key, as `pack_part` writes it: of large logs the records would
    be most of what an assembly holds.
    """

    passages: tuple[str, ...]
    aliases: Mapping[str, Alias]
    known: frozenset[str]
    parts: Mapping[str, Mapping[int, str]] = field(repr=False)

    def of(self, key: str) -> dict[int, KeyPart]:
        """What the passages say of a key, by their number."""
        return {number: unpack_part(body) for number, body in self.parts[key].items()}


def find_names(log: Sequence[Reading], aliases: Mapping[str, Alias]) -> LogNames:
    """What the log says of each key, string links included; not all of them are entities."""
    claimed = Claims()
    sentences: Counter[str] = Counter()
    small: set[str] = set()
    for reading in log:
        chunk = reading.chunk
        claims = claims_of(chunk, reading.extraction, aliases[chunk.document])
        claimed.sure |= claims.sure
        claimed.lone |= claims.lone
        sentences.update({key: len(some) for key, some in claims.terms.items()})
        small.update(small_words(chunk.text))
    twice = {key for key, many in sentences.items() if many > 1}
    keys = claimed.sure | twice | (claimed.lone - small)
    index = NameIndex(keys)
    found: dict[str, dict[int, str]] = defaultdict(dict)
    for number, reading in enumerate(log):
        alias = aliases[reading.chunk.document]
        for key, part in parts_of(reading.chunk, reading.extraction, alias, keys, index).items():
            found[key][number] = pack_part(part)
    return LogNames(tuple(reading.chunk.id for reading in log), aliases, frozenset(keys), found)


def entity_node(key: str, names: Counter[str], text: str) -> Node:
    """The node of a key by its spellings and what is said of it."""
    # The key must follow from the name: questions are linked by the names a graph carries.
    own = [name for name in names if canonical(name) == key]
    name = min(own, key=lambda n: (-names[n], n)) if own else key
    return Node(node_id("entity", key), "entity", key, name, text,
                count_tokens(name) + count_tokens(text))


def join_said(parts: Parts) -> str:
    """What models say of an entity, in the order of the log; "" where none does."""
    said: dict[str, None] = {}
    known = False
    for number in sorted(parts):
        part = parts[number]
        if known or part.names:  # what is said of a name before it is mentioned does not count
            said |= dict.fromkeys(part.said)
        known |= part.holds or bool(part.names)
    return " ".join(said)[:DESCRIPTION_LIMIT]


def passage_node(chunk: Chunk) -> Node:
    """The node of a passage."""
    name = chunk.title or chunk.document
    return Node(node_id("passage", chunk.id), "passage", chunk.id, name, chunk.text,
                count_tokens(chunk.text))


def describe_entity(key: str, parts: Iterable[KeyPart]) -> str:
    """What models say of an entity and of its relations, as one text; "" where none does.

    Its order does not depend on that of the passages.
    """
    texts: set[str] = set()
    for part in parts:
        texts |= {*part.said, *part.related}
    return f"{key}: {' '.join(sorted(texts))}"[:DESCRIPTION_LIMIT] if texts else ""
