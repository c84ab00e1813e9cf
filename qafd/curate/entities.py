"""The entities of a workspace for people to look through and put right: who may be the same?"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from math import exp

from rapidfuzz.distance import OSA

from qafd.edits import MENTION_KINDS, entity_names, hidden_keys
from qafd.errors import ParameterError
from qafd.graph import Graph
from qafd.reading.text import as_typed, canonical
from qafd.reading.text.bm25 import stems
from qafd.reading.text.plaintext import storable
from qafd.reading.text.scripts import is_unspaced
from qafd.records import GUESS, node_id
from qafd.storage import Workspace

MOSTLY = 0.9  # of the passages of all names that another begins or ends
SHORT = 6  # letters from which one letter more or less is a slip of the pen
SUGGESTED = 50  # pairs of entities at most
CHANCE = (-1.2, 1.4, 2.6, -2.0)  # weights of `rate_pair`, see benchmarks/duplicates.py
_TYPES = {"ORG": "organization", "GPE": "place", "LOC": "place", "FAC": "building",
          "NORP": "group of people", "PROPN": "name", "WORK_OF_ART": "work"}
_NUMBERS = re.compile(r"\d+|\b(?:[ivx]+|jr|sr|junior|senior|elder|younger)\b")
SMALL = frozenset(("and", "de", "for", "in", "of", "on", "the", "to", "von"))


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


class Likeness(StrEnum):
    """Why two entities may be one."""

    MEANING = "meaning"
    LETTER = "letter"
    PART = "part"
    INITIALS = "initials"


Pair = tuple[str, str, Likeness]


@dataclass(frozen=True)
class Suggestion:
    """Two entities that may be one, and why; `similarity` is the cosine of their names.

    `together` counts the sentences that name both: people seldom call one thing by two names in
    one sentence. The `first` is in fewer passages. `chance` is fitted: that they are one, from 0 to 1.
    """

    first: Entity
    second: Entity
    why: Likeness
    similarity: float
    together: int
    chance: float

    @property
    def impact(self) -> float:
        """About how many passages are found by the other name too, once the two are one."""
        return self.first.passages / (1 + self.together)


def entities(store: Workspace, only: str = "") -> tuple[Entity, ...]:
    """Return all entities, those in most passages first, or the one of the key `only`; entities
    that edits removed are left out, also before the graph is updated."""
    spoken: dict[str, Counter[str]] = defaultdict(Counter)
    types: dict[str, Counter[str]] = defaultdict(Counter)
    with store.snapshot():
        edits = store.edits.all()
        names = entity_names(edits)
        gone = hidden_keys(edits) | {
            key for key, name in names.items() if canonical(name) != key}
        rows = store.listing.entities(node_id("entity", only) if only else "")
        merged = [only, *(key for key, name in names.items() if canonical(name) == only)]
        for one in store.listing.names(merged if only else None):
            key = canonical(names[one.key]) if one.key in names else one.key
            spoken[key][one.name] += one.count
            if one.kind not in MENTION_KINDS:
                types[key][one.kind] += one.count
    origin = {canonical(edit.name): edit.key for edit in edits if edit.holds("split")}
    found = []
    for row in rows:
        node, key = row.node, row.node.key
        if key not in gone:
            found.append(Entity(
                node.id, node.name, key, _first(types[origin.get(key, key)]), row.passages,
                row.relations, tuple(_also(node.name, spoken[key])), node.text))
    return tuple(sorted(found, key=lambda entity: (-entity.passages, entity.name, entity.id)))


def find(entities: Iterable[Entity], words: str) -> tuple[Entity, ...]:
    """Find the entities with all these words, or beginnings of them, in one of their names.

    Accents and dashes do not matter; in scripts without spaces any part of a name counts.
    """
    wanted = _plain(words).split()
    found = []
    for entity in entities:
        parts = _plain(" ".join((entity.name, *entity.also))).split()
        if all(_begins_one(word, parts) for word in wanted):
            found.append(entity)
    return tuple(found)


def _begins_one(word: str, parts: Iterable[str]) -> bool:
    inside = is_unspaced(word)
    return any(part.startswith(word) or inside and word in part for part in parts)


def _plain(text: str) -> str:
    return as_typed(text).casefold().replace("-", " ")


def entity(store: Workspace, name: str) -> Entity:
    """Return the entity of a name, also of one that an edit gave it.

    Raises
    ------
    ParameterError
        There is none.
    """
    key = canonical(storable(name))
    for one in entities(store, store.edits.map_merged().get(key, key)) if key else ():
        return one
    raise ParameterError(f"there is no entity called {name!r}; 'qafd entities' lists them")


def call(store: Workspace, known: str, name: str) -> int:
    """Call an entity `name`: rename it, or merge it with the entity of that name.

    Returns the number of the edit. Raises ParameterError when there is no entity `known`, or
    `name` has no letter or digit or is hidden.
    """
    one, name = entity(store, known), check_name(store, name)
    if name == one.name:
        raise ParameterError(f"{name!r} is its name already; give another one")
    return store.edits.add("same", one.key, name)


def check_name(store: Workspace, name: str) -> str:
    """Return a new name as it is stored; raise ParameterError if no entity can be called that."""
    name = " ".join(storable(name).split())
    if not canonical(name):
        raise ParameterError(f"{name!r} cannot be a name; give one with a letter or digit")
    if canonical(name) in hidden_keys(store.edits.all()):
        raise ParameterError(f"{name!r} is hidden, so the entity would be too; undo that edit "
                             "first, or choose another name")
    return name


def type_words(kind: str) -> str:
    """Word a type: "ORG" is an organization, "SPACE_STATION" a space station, and
    "PERSON?", which is a guess, "person?"."""
    sure = kind.rstrip(GUESS)
    return _TYPES.get(sure, sure.lower().replace("_", " ")) + kind[len(sure):]


def hide(store: Workspace, known: str) -> int:
    """Let an entity be none; returns the number of the edit."""
    return store.edits.add("hide", entity(store, known).key)


def keep_apart(store: Workspace, one: str, other: str) -> int:
    """Stop suggesting that two entities are the same; returns the number of the edit."""
    first, second = sorted((entity(store, one).key, entity(store, other).key))
    return store.edits.add("apart", first, second)


def suggestions(store: Workspace, graph: Graph) -> tuple[Suggestion, ...]:
    """Return the pairs of possible duplicates that join most passages, the likeliest first.

    Names nearly alike in meaning (synonym edges) or but for one letter; a name that begins or
    ends one other, or mostly one; initials of exactly one other. Names with different numbers are
    different, and so are those of a family and pairs that a user keeps apart.
    """
    known = {one.key: one for one in entities(store) if one.name != one.name.lower()}
    apart = {(edit.key, edit.name) for edit in store.edits.all() if edit.holds("apart")}
    why: dict[tuple[str, str], Likeness] = {}
    for first, second, likeness in (*_alike(store), *_one_letter(known), *_parts(known),
                                    *_initials(known)):
        pair = (min(first, second), max(first, second))
        if first in known and second in known and pair not in apart and may_be_one(first, second):
            why.setdefault(pair, likeness)
    if graph.name_vectors is None or not why:
        return ()
    together = _together(store, [(known[a].id, known[b].id) for a, b in why])
    found = []
    for ((a, b), likeness), many in zip(why.items(), together, strict=True):
        vectors = graph.name_vectors[[graph.row[known[a].id], graph.row[known[b].id]]]
        rarer, other = _rarer_first(known[a], known[b])
        cosine = float(vectors[0] @ vectors[1])
        found.append(Suggestion(rarer, other, likeness, cosine, many, rate_pair(rarer, other, cosine)))
    found.sort(key=lambda pair: (-pair.impact, -pair.similarity, pair.first.name, pair.second.name))
    return tuple(sorted(found[:SUGGESTED], key=lambda pair: -pair.chance))


def rate_pair(one: Entity, other: Entity, cosine: float) -> float:
    """Return the chance that two entities are one: by meaning, the same words in other forms, and unless
    one is a nationality and the other a place or a person of that name."""
    forms = [stems(entity.name) - SMALL for entity in (one, other)]
    types = {entity.type.rstrip(GUESS) for entity in (one, other)}
    signs = (1.0, cosine, float(forms[0] == forms[1]), float("NORP" in types and len(types) > 1))
    odds = sum(weight * sign for weight, sign in zip(CHANCE, signs, strict=True))
    return 1 / (1 + exp(-odds))


def may_be_one(one: str, other: str) -> bool:
    """Return True if two keys could name the same entity: numbers agree, and no family names.

    Father and son share a word, and each has one of his own: "leopold mozart" and "wolfgang
    mozart" are two, but "w. mozart" may be either.
    """
    if _numbers(one) != _numbers(other):
        return False
    words, others = set(one.split()), set(other.split())
    if not words & others:
        return True
    return not (_has_own_word(words - others, others) and _has_own_word(others - words, words))


def _has_own_word(own: Iterable[str], others: Iterable[str]) -> bool:
    """Return True if a word is not another's abbreviation or misspelling."""
    for word in own:
        if not any(_is_short_for(word, other) or OSA.distance(word, other) <= 1 for other in others):
            return True
    return False


def _is_short_for(word: str, other: str) -> bool:
    short, long = sorted((word.rstrip("."), other.rstrip(".")), key=len)
    return long.startswith(short)


def _rarer_first(one: Entity, other: Entity) -> tuple[Entity, Entity]:
    if (one.passages, one.name) <= (other.passages, other.name):
        return one, other
    return other, one


def _first(counts: Counter[str]) -> str:
    return min(counts, key=lambda kind: (-counts[kind], kind)) if counts else ""


def _also(name: str, spoken: Counter[str]) -> list[str]:
    return sorted((other for other in spoken if other.casefold() != name.casefold()),
                  key=lambda other: (-spoken[other], other))


def _alike(store: Workspace) -> list[Pair]:
    return [(a, b, Likeness.MEANING) for a, b in store.listing.synonyms()]


def _one_letter(known: Iterable[str]) -> Iterator[Pair]:
    """Yield the pairs of keys that differ by one added, missing or other letter."""
    near: dict[str, list[str]] = defaultdict(list)
    for key in known:
        if len(key) >= SHORT:
            for variant in {key, *(key[:i] + key[i + 1:] for i in range(len(key)))}:
                near[variant].append(key)
    for keys in near.values():
        for a, b in combinations(keys, 2):
            yield a, b, Likeness.LETTER


def _parts(known: Mapping[str, Entity]) -> Iterator[Pair]:
    """Return the keys that are the first or last words of another, where such keys are rare."""
    longer: dict[str, set[str]] = defaultdict(set)
    for key in known:
        words = key.split()
        for i in range(1, len(words)):
            longer[" ".join(words[:i])].add(key)
            longer[" ".join(words[i:])].add(key)
    for key in known:
        counts = Counter({other: known[other].passages for other in longer[key]})
        for other, passages in counts.most_common(1):
            if passages >= MOSTLY * counts.total():
                yield key, other, Likeness.PART


def _initials(known: Iterable[str]) -> Iterator[Pair]:
    """Return the keys that are the initials of exactly one other."""
    spelled: dict[str, set[str]] = defaultdict(set)
    for key in known:
        words = [word for word in key.split() if word not in SMALL]
        if len(words) > 1:
            spelled["".join(word[0] for word in words)].add(key)
    for key in known:
        letters = key.replace(".", "")
        if len(spelled.get(letters, ())) == 1:
            yield key, next(iter(spelled[letters])), Likeness.INITIALS


def _numbers(key: str) -> tuple[str, ...]:
    """Return the numbers in a key, and the words for generations of a family."""
    return tuple(sorted(_NUMBERS.findall(key)))


def _together(store: Workspace, pairs: Sequence[tuple[str, str]]) -> list[int]:
    """Return for each pair of node ids the number of sentences that name both."""
    said: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for edge in store.graph.edges(set().union(*pairs)):
        if edge.kind == "mention":
            said[edge.source] |= set(edge.evidence)
    return [len(said[a] & said[b]) for a, b in pairs]
