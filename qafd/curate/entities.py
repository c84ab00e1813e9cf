"""The entities of a workspace for people to look through and put right: who may be the same?"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from qafd.assemble import node_id
from qafd.edits import MENTION_KINDS, entity_names, entity_types, hidden_keys
from qafd.errors import ParameterError
from qafd.graph import Graph
from qafd.reading.text import as_typed, canonical
from qafd.reading.text.plaintext import one_line
from qafd.reading.text.scripts import is_unspaced
from qafd.records import GUESS
from qafd.storage import Workspace

ALIKE = 0.5  # of the pairs of letters of two names
SHORT = 6  # letters from which one letter more or less is a slip of the pen
TYPE = 40  # characters of a type
_TYPES = {"ORG": "organization", "GPE": "place", "LOC": "place", "FAC": "building",
          "NORP": "group of people", "PROPN": "name", "WORK_OF_ART": "work"}
_SMALL = frozenset(("and", "de", "for", "in", "of", "on", "the", "to", "von"))


@dataclass(frozen=True)
class Entity:
    """An entity: its type, by hand or as the tagger guesses it ("PERSON?", "" for none), and how well it is
    connected.

    `also` are other spellings in the documents, `evidence` is a sentence about it.
    """

    id: str
    name: str
    key: str
    type: str
    passages: int
    relations: int
    also: tuple[str, ...]
    evidence: str


@dataclass(frozen=True)
class Suggestion:
    """Two entities that may be one, and why; `similarity` is the cosine of their names.

    `together` counts the sentences that name both: people seldom call one thing by two names in
    one sentence.
    """

    first: Entity
    second: Entity
    why: str
    similarity: float
    together: int


def entities(store: Workspace, only: str = "") -> tuple[Entity, ...]:
    """All entities, those in most passages first, or the one of the key `only`; what edits took
    out of the graph is left out, also before the graph has followed."""
    spoken: dict[str, Counter[str]] = defaultdict(Counter)
    types: dict[str, Counter[str]] = defaultdict(Counter)
    with store.snapshot() as connection:
        edits = store.edits.all()
        names = entity_names(edits)
        by_hand = entity_types(edits)
        gone = hidden_keys(edits) | {
            key for key, name in names.items() if canonical(name) != key}
        rows = connection.execute(
            "SELECT id, name, key, text, "
            "  (SELECT count(*) FROM edges WHERE edges.kind = 'mention' AND source = nodes.id), "
            "  (SELECT count(*) FROM edges WHERE edges.kind = 'relation' "
            "  AND (source = nodes.id OR target = nodes.id)) "
            "FROM nodes WHERE kind = 'entity'" + " AND id = ?" * bool(only),
            [node_id("entity", only)] * bool(only)).fetchall()
        merged = [only, *(key for key, name in names.items() if canonical(name) == only)]
        for key, name, kind, count in connection.execute(
                "SELECT key, name, mentions.kind, count(*) FROM live "
                "JOIN mentions USING (extraction) WHERE ? = '' OR "
                "key IN (SELECT value FROM json_each(?)) GROUP BY 1, 2, 3",
                (only, json.dumps(merged))):
            entity = canonical(names[key]) if key in names else key
            spoken[entity][name] += count
            if kind not in MENTION_KINDS:
                types[entity][kind] += count
    found = [Entity(node, name, key, by_hand.get(key) or _first(types[key]), passages, relations,
                    tuple(_also(name, spoken[key])), text)
             for node, name, key, text, passages, relations in rows if key not in gone]
    return tuple(sorted(found, key=lambda entity: (-entity.passages, entity.name, entity.id)))


def find(entities: Iterable[Entity], words: str) -> tuple[Entity, ...]:
    """The entities with all these words, or beginnings of them, in one of their names.

    Accents and dashes do not matter; in scripts without spaces any part of a name counts.
    """
    wanted = _plain(words).split()
    return tuple(entity for entity in entities if all(
        any(part.startswith(word) or is_unspaced(word) and word in part
            for name in (entity.name, *entity.also) for part in _plain(name).split())
        for word in wanted))


def _plain(text: str) -> str:
    return as_typed(text).casefold().replace("-", " ")


def similar(entities: Iterable[Entity], typed: str, most: int = 5) -> tuple[Entity, ...]:
    """The entities with the names most like what was typed, the likest first.

    By Dice's coefficient 2 |A and B| / (|A| + |B|) of their pairs of letters, of at least `ALIKE`.
    """
    wanted = _pairs(typed)
    near = []
    for one in entities:
        own = _pairs(one.name)
        share = 2 * len(own & wanted) / max(len(own) + len(wanted), 1)
        if share >= ALIKE:
            near.append((-share, one.name, one))
    return tuple(one for *_, one in sorted(near, key=lambda found: found[:2])[:most])


def _pairs(name: str) -> set[str]:
    """The pairs of letters that follow each other, with the ends of the name."""
    letters = f" {_plain(name)} "
    return {letters[i:i + 2] for i in range(len(letters) - 1)}


def hubs(entities: Iterable[Entity]) -> tuple[Entity, ...]:
    """The same entities, those in most relations first: flow spreads from them."""
    return tuple(sorted(entities, key=lambda entity: -entity.relations))


def orphans(entities: Iterable[Entity]) -> tuple[Entity, ...]:
    """The entities that connect nothing: in one passage and no relation."""
    return tuple(e for e in entities if e.passages <= 1 and not e.relations)


def entity(store: Workspace, name: str) -> Entity:
    """The entity of a name, by which an edit may have called it.

    Raises
    ------
    ParameterError
        There is none.
    """
    key = canonical(name)
    for one in entities(store, store.edits.merged().get(key, key)) if key else ():
        return one
    raise ParameterError(f"there is no entity called {name!r}; 'qafd entities' lists them")


def call(store: Workspace, known: str, name: str) -> int:
    """Let an entity be called `name`: rename it, or let it be one with what is called so.

    Returns the number of the edit. Raises ParameterError when there is no entity `known`, or
    `name` has no letter or digit or is hidden.
    """
    one = entity(store, known)
    name = " ".join(name.split())
    if not canonical(name):
        raise ParameterError(f"{name!r} cannot be a name; give one with a letter or digit")
    if canonical(name) in hidden_keys(store.edits.all()):
        raise ParameterError(f"{name!r} is hidden, so the entity would be too; undo that edit "
                             "first, or choose another name")
    if name == one.name:
        raise ParameterError(f"{name!r} is what it is called already")
    return store.edits.add("same", one.key, name)


def retype(store: Workspace, known: str, kind: str) -> int:
    """Let an entity be of a type, such as "person" or "work"; returns the number of the edit.

    Words that people use for a tagger's tag, see `type_words`, are kept as that tag, and others as
    tags are written: "PERSON", "SPACE_STATION". Where a passage has but the last name of what is a
    person by now, that name means this entity, and no longer where it is none.

    Raises
    ------
    ParameterError
        There is no entity `known`, this is its type already, or it is no word or too long for one.
    """
    one = entity(store, known)
    words = one_line(kind.replace("_", " ")).rstrip(GUESS)
    if not any(letter.isalpha() for letter in words) or len(words) > TYPE:
        raise ParameterError(f"{one_line(kind, TYPE + 20)!r} cannot be a type; give a word or two, "
                             f"such as person, of at most {TYPE} characters")
    tag = _tag(store, words)
    if type_words(tag) == type_words(one.type):
        raise ParameterError(f"{type_words(one.type)!r} is the type of {one.name!r} already; give "
                             "another one, or undo the edit that gave it")
    return store.edits.add("type", one.key, tag)


def _tag(store: Workspace, words: str) -> str:
    """How a workspace calls a type: as its own tags do, else the tagger, else the words."""
    with store.snapshot() as connection:
        own = [kind for kind, in connection.execute(
            "SELECT mentions.kind FROM live JOIN mentions USING (extraction) "
            "GROUP BY 1 ORDER BY count(*) DESC, 1") if kind not in MENTION_KINDS]
    tag = words.upper().replace(" ", "_")
    # a lone name that is tagged PROPN is no entity until a text bears it out
    known = (one for one in (*own, *_TYPES) if one != "PROPN")
    return next((one for one in known if type_words(one) == words.casefold()),
                "NAME" if tag == "PROPN" else tag)


def type_words(kind: str) -> str:
    """A type as people say it: "ORG" is an organization, "SPACE_STATION" a space station, and
    "PERSON?", which is a guess, "person?"."""
    sure = kind.rstrip(GUESS)
    return _TYPES.get(sure, sure.lower().replace("_", " ")) + kind[len(sure):]


def hide(store: Workspace, known: str) -> int:
    """Let an entity be none; returns the number of the edit."""
    return store.edits.add("hide", entity(store, known).key)


def keep_apart(store: Workspace, one: str, other: str) -> int:
    """Never suggest again that two entities are the same; returns the number of the edit."""
    first, second = sorted((entity(store, one).key, entity(store, other).key))
    return store.edits.add("apart", first, second)


def suggestions(store: Workspace, graph: Graph, most: int = 50) -> tuple[Suggestion, ...]:
    """Pairs of entities that may be one, the likeliest first: pairs never named together, then
    by the cosine of their names.

    Names nearly alike in meaning (synonym edges) or but for one letter; a name that begins or
    ends exactly one other; initials of exactly one other. Names with different numbers are
    different, and so are pairs that were told apart.
    """
    known = {one.key: one for one in entities(store)
             if any(letter.isupper() for letter in one.name)}
    apart = {(edit.key, edit.name) for edit in store.edits.all() if edit.holds("apart")}
    why: dict[tuple[str, str], str] = {}
    for first, second, reason in (*_alike(store), *_one_letter(known), *_parts(known),
                                  *_initials(known)):
        pair = (min(first, second), max(first, second))
        if first in known and second in known and pair not in apart and (
                _numbers(first) == _numbers(second)):
            why.setdefault(pair, reason)
    if graph.name_vectors is None or not why:
        return ()
    rows = np.array([[graph.row[known[key].id] for key in pair] for pair in why])
    cosines = np.einsum("ij,ij->i", graph.name_vectors[rows[:, 0]], graph.name_vectors[rows[:, 1]])
    together = _together(store, [(known[a].id, known[b].id) for a, b in why])
    found = [Suggestion(*_rarer_first(known[a], known[b]), reason, float(cosine), many)
             for ((a, b), reason), cosine, many in zip(why.items(), cosines, together, strict=True)]
    found.sort(key=lambda s: (s.together > 0, -s.similarity, s.first.name, s.second.name))
    return tuple(found[:most])


def _rarer_first(one: Entity, other: Entity) -> tuple[Entity, Entity]:
    if (one.passages, one.name) <= (other.passages, other.name):
        return one, other
    return other, one


def _first(counts: Counter[str]) -> str:
    return min(counts, key=lambda kind: (-counts[kind], kind)) if counts else ""


def _also(name: str, spoken: Counter[str]) -> list[str]:
    return sorted((other for other in spoken if other.casefold() != name.casefold()),
                  key=lambda other: (-spoken[other], other))


def _alike(store: Workspace) -> list[tuple[str, str, str]]:
    with store.snapshot() as connection:
        return [(a, b, "names of nearly one meaning") for a, b in connection.execute(
            "SELECT head.key, tail.key FROM edges JOIN nodes AS head ON head.id = source "
            "JOIN nodes AS tail ON tail.id = target WHERE edges.kind = 'synonym'")]


def _one_letter(known: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Keys that one letter more, less or other makes equal."""
    near: dict[str, list[str]] = defaultdict(list)
    for key in known:
        if len(key) >= SHORT:
            for variant in {key, *(key[:i] + key[i + 1:] for i in range(len(key)))}:
                near[variant].append(key)
    for keys in near.values():
        for a, b in combinations(keys, 2):
            yield a, b, "one letter differs"


def _parts(known: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Keys that are the first or the last words of exactly one other."""
    longer: dict[str, set[str]] = defaultdict(set)
    for key in known:
        words = key.split()
        for i in range(1, len(words)):
            longer[" ".join(words[:i])].add(key)
            longer[" ".join(words[i:])].add(key)
    for key in known:
        if len(longer[key]) == 1:
            yield key, next(iter(longer[key])), "one name is a part of the other"


def _initials(known: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Keys that are the initials of exactly one other."""
    spelled: dict[str, set[str]] = defaultdict(set)
    for key in known:
        words = [word for word in key.split() if word not in _SMALL]
        if len(words) > 1:
            spelled["".join(word[0] for word in words)].add(key)
    for key in known:
        letters = key.replace(".", "")
        if len(spelled.get(letters, ())) == 1:
            yield key, next(iter(spelled[letters])), "initials of the other"


def _numbers(key: str) -> tuple[str, ...]:
    return tuple(sorted("".join(c if c.isdigit() else " " for c in key).split()))


def _together(store: Workspace, pairs: Sequence[tuple[str, str]]) -> list[int]:
    """For each pair of node ids, how many sentences name both."""
    said: dict[str, set[tuple[str, int]]] = defaultdict(set)
    with store.snapshot() as connection:
        for node, evidence in connection.execute(
                "SELECT source, evidence FROM edges WHERE kind = 'mention' AND source IN "
                "(SELECT value FROM json_each(?))",
                (json.dumps(sorted({node for pair in pairs for node in pair})),)):
            said[node] |= {(chunk, at) for chunk, at in json.loads(evidence)}
    return [len(said[a] & said[b]) for a, b in pairs]
