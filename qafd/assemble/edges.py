"""The edges of a log: names that mean nearly the same, mentions, and what passages assert of two entities."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from statistics import fmean

import numpy as np

from qafd.assemble.entities import Alias, Parts, Reading
from qafd.reading.text.scripts import is_latin
from qafd.records import WEIGHT, Codes, Edge, Extraction, Floats, Nodes, Vectors, node_id
from qafd.time_left import ignore_progress

SYNONYM_FACTOR = 0.1
SYNONYM_COSINE = 0.8
SYNONYMS = 16  # nearest names of a name; those that differ in a number alone are all near
ROUNDING = 1e-5  # more than a cosine in single precision can be wrong
MANY = 4096  # names from which comparing them begins with bounds of `BOUNDS` numbers
BOUNDS = 128
BLOCK = 256  # names that are compared with all others at a time
FEW = 64  # names up to which those near them are sought by signs first
CROWDED = 1 / 16  # share of pairs that pass for near from which all cosines are computed

Near = dict[str, dict[str, float]]
"""Keys to the nearest keys of each that may be called alike, at most `SYNONYMS`, with cosines."""


def nearest_names(keys: Sequence[str], names: Vectors, rows: Sequence[int],
                  compared: Callable[[int, int], None] = ignore_progress,
                  most: int = SYNONYMS) -> Near:
    """Return, for the keys in some rows, the `most` nearest of all keys with cosine >= 0.8, nearest
    first.

    Two names in scripts that the bundled model cannot read must be spelled alike too. For all rows
    it is O(n^2), in blocks.

    Parameters
    ----------
    keys : sequence of str, length n
        Sorted.
    names : ndarray, shape (n, d)
    """
    latin = [is_latin(key) for key in keys]
    bounds = _bounds(names) if len(rows) > MANY else names
    found: Near = {}
    for at in range(0, len(rows), BLOCK):
        if at:
            compared(at, len(rows))
        for u, others, cosines in _near(names, bounds, rows[at:at + BLOCK]):
            some = {keys[v]: cosine for v, cosine in _nearest(
                u, others, cosines, (keys, latin, names), most)}
            if some:
                found[keys[u]] = some
    return found


def synonym_edges(keys: Iterable[str], near: Near) -> Iterator[Edge]:
    """An edge for every two names of which one is among the nearest of the other."""
    pairs: dict[tuple[str, str], float] = {}
    for u in keys:
        for v, cosine in near.get(u, {}).items():
            pairs[min(u, v), max(u, v)] = cosine
    for (u, v), cosine in pairs.items():
        yield Edge(node_id("entity", u), node_id("entity", v), "synonym", SYNONYM_FACTOR * cosine)


def signs_of(names: Vectors) -> Codes:
    """Return the signs of each name's numbers as bits, and the cosine of its vector with these
    signs.

    Parameters
    ----------
    names : ndarray, shape (k, d)
        Unit rows.

    Returns
    -------
    ndarray of uint8, shape (k, ceil(d / 8) + 4)
        The last 4 bytes are the cosine in single precision.
    """
    bits = np.packbits(names >= 0, axis=1)
    cosines = np.abs(names).sum(axis=1, keepdims=True) / np.float32(names.shape[1] ** 0.5)
    return np.hstack([bits, cosines.astype("<f4").view(np.uint8).reshape(-1, 4)])


def may_be_near(codes: Codes, asked: Vectors) -> Nodes:
    """Return the rows of codes whose names may have a cosine of 0.8 or more with an asked name.

    No such name is missing: by the triangle inequality, the angle to a name is at least the angle
    to its signs minus the angle between the name and its signs.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n, b)
        Those of `signs_of`.
    asked : ndarray, shape (k, d)
        Unit rows; few, or comparing all vectors is less work.
    """
    many, d = asked.shape
    bits, own = codes[:, :-4], np.ascontiguousarray(codes[:, -4:]).view("<f4")
    padded = np.zeros((many, 8 * bits.shape[1]), np.float32)
    padded[:, :d] = asked / np.float32(d ** 0.5)
    patterns = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) * np.float32(2) - 1
    cosines = np.zeros((len(codes), many), np.float32)
    for at in range(bits.shape[1]):  # the sum of each byte's eight products is looked up
        cosines += (patterns @ padded[:, 8 * at:8 * at + 8].T)[bits[:, at]]
    own = np.clip(own, 0, 1)
    least = SYNONYM_COSINE * own - (1 - SYNONYM_COSINE ** 2) ** 0.5 * np.sqrt(1 - own * own)
    return np.flatnonzero((cosines >= least - 10 * ROUNDING).any(axis=1))


def _bounds(names: Vectors) -> Vectors:
    """Rows whose products are no smaller than the cosines of the names, (n, 128) or (n, d).

    On the axes along which names differ most, the last number is the length of all that is left
    (Cauchy-Schwarz). Few names of cosine < 0.8 pass for near by them, at a third of the work.
    """
    n, d = names.shape
    if n < MANY or d <= BOUNDS:
        return names
    some = names[::n // MANY].astype(np.float64)
    axes = np.linalg.eigh(some.T @ some)[1][:, ::-1]
    turned = names @ axes.astype(np.float32)
    left = np.linalg.norm(turned[:, BOUNDS - 1:], axis=1, keepdims=True)
    return np.concatenate([turned[:, :BOUNDS - 1], left], axis=1)


def _near(names: Vectors, bounds: Vectors, rows: Sequence[int]
          ) -> Iterator[tuple[int, Nodes, Vectors]]:
    """Those of some rows that others may be near, these and their rough cosines.

    Rough is in single precision; none of 0.8 or more is missing.
    """
    least = SYNONYM_COSINE - ROUNDING
    rough = bounds[rows] @ bounds.T
    near = rough >= (least if bounds is names else least - ROUNDING)
    if bounds is not names and np.count_nonzero(near) > CROWDED * near.size:
        rough = names[rows] @ names.T
        near = rough >= least
        bounds = names
    for i in np.flatnonzero(near.sum(axis=1) > 1).tolist():  # itself
        u = rows[i]
        others = np.flatnonzero(near[i])
        others = others[others != u]
        cosines = rough[i, others] if bounds is names else names[others] @ names[u]
        kept = cosines >= least
        if kept.any():
            yield u, others[kept], cosines[kept]


def _nearest(
    u: int, others: Nodes, rough: Vectors,
    named: tuple[Sequence[str], Sequence[bool], Vectors], most: int,
) -> Iterator[tuple[int, float]]:
    """Yield the first `most` of these rows that may be synonyms of row `u`, nearest first, and
    their cosines.

    `rough`, shape (k,), are their cosines in single precision.
    """
    keys, latin, names = named
    if latin[u] and len(others) > most:
        least = np.partition(rough, -most)[-most]
        others = others[rough >= least - 2 * ROUNDING]
    exact = cosines_of(names[others], names[u:u + 1])
    left = most
    for at in np.lexsort((others, -exact)).tolist():
        v = int(others[at])
        if not left or exact[at] < SYNONYM_COSINE:
            return
        if latin[u] or latin[v] or _alike(keys[u], keys[v]):
            left -= 1
            yield v, float(exact[at])


def cosines_of(one: Vectors, other: Vectors) -> Floats:
    """Cosines of paired unit rows, (k,): rounded to single precision from double.

    Processors add in orders of their own; rounded, the sums are the same on all.
    """
    exact: Floats = np.einsum("ij,ij->i", *np.broadcast_arrays(one, other), dtype=np.float64)
    return exact.astype(np.float32).astype(np.float64)


def _alike(one: str, other: str) -> bool:
    """Return True if two names share a run of three quarters of the shorter one.

    A model that knows no letter of two names gives them one vector.
    """
    if set(one).isdisjoint(other):
        return False
    run = SequenceMatcher(None, one, other, autojunk=False).find_longest_match()
    return 4 * run.size >= 3 * min(len(one), len(other))


FLOOR = 1e-3  # of a similarity, so that every weight stays positive
MIDDLE = 5.0  # strength of a relation that is as wide as one without
EVIDENCE_LIMIT = 20  # sentences kept for an edge


@dataclass
class PairPart:
    """Relation of two keys in one passage: the label of each sentence, in both directions.

    `given` are the weights that an imported graph gives the relation, see `WEIGHT`, and `told` the
    strengths that a language model gives it, from 1 to 10, 0 where it gives none.
    """

    forth: dict[int, str] = field(default_factory=dict)
    back: dict[int, str] = field(default_factory=dict)
    given: list[float] = field(default_factory=list)
    told: list[float] = field(default_factory=list)


def pairs_of(extraction: Extraction, alias: Alias) -> dict[tuple[str, str], PairPart]:
    """Collect the relations in a passage for each pair of keys, the lower one first."""
    pairs: dict[tuple[str, str], PairPart] = defaultdict(PairPart)
    for said in extraction.descriptions:
        if said.target:
            ends = (alias.get(said.source, said.source), alias.get(said.target, said.target))
            if "" in ends:
                continue
            pair = pairs[min(ends), max(ends)]
            (pair.given if said.kind == WEIGHT else pair.told).append(said.strength)
    for assertion in extraction.assertions:
        source = alias.get(assertion.source, assertion.source)
        target = alias.get(assertion.target, assertion.target)
        if source == target or not source or not target:
            continue
        pair = pairs[min(source, target), max(source, target)]
        labels = pair.forth if source < target else pair.back
        labels.setdefault(assertion.sentence, assertion.label)
    return pairs


def mention_edges(key: str, parts: Parts, log: Sequence[Reading], name: Vectors,
                  heading: float) -> Iterator[Edge]:
    """The edges from an entity to the passages that mention it, without the factor of its node.

    Parameters
    ----------
    name : ndarray, shape (d,)
        Of the bare name.
    heading : float
        The factor of passages that have it as a title or heading.
    """
    numbers = sorted(number for number, part in parts.items() if part.holds)
    if not numbers:
        return
    texts = np.stack([log[number].vector for number in numbers])
    cosines = cosines_of(texts, name[None])
    for number, cosine in zip(numbers, cosines.tolist(), strict=True):
        part, chunk = parts[number], log[number].chunk.id
        sentences = sorted({sentence for sentence, _, _ in part.places})
        yield Edge(
            node_id("entity", key), node_id("passage", chunk), "mention",
            (heading if part.titled else 1.0) * max(FLOOR, cosine), count=max(1, len(part.places)),
            evidence=tuple((chunk, sentence) for sentence in sentences))


def relation_edges(asserted: Mapping[tuple[str, str], Mapping[str, PairPart]],
                   row: Mapping[str, int], names: Vectors) -> Iterator[Edge]:
    """The relations of pairs of entities; `row` gives the row of `names` of each."""
    pairs = sorted(asserted)
    ends = np.array([(row[u], row[v]) for u, v in pairs], np.int64).reshape(-1, 2)
    cosines = cosines_of(names[ends[:, 0]], names[ends[:, 1]]).tolist() if pairs else []
    for pair, cosine in zip(pairs, cosines, strict=True):
        edge = _relation_edge(pair, asserted[pair], cosine)
        if edge is not None:
            yield edge


def _relation_edge(pair: tuple[str, str], parts: Mapping[str, PairPart], cosine: float
                  ) -> Edge | None:
    """The edge of two entities, if a passage asserts one.

    Parameters
    ----------
    parts : mapping of str to PairPart
        By the passage's id, in the order of the log.
    cosine : float
        Of the two names.
    """
    forth: dict[tuple[str, int], str] = {}
    back: dict[tuple[str, int], str] = {}
    given = 0.0
    told: list[float] = []
    for chunk, part in parts.items():
        told += [strength for strength in part.told if strength]
        forth |= {(chunk, sentence): label for sentence, label in part.forth.items()}
        back |= {(chunk, sentence): label for sentence, label in part.back.items()}
        for weight in part.given:
            given += weight
    if not forth and not back:
        return None
    source, target = pair if len(forth) >= len(back) else reversed(pair)
    said = forth if len(forth) >= len(back) else back
    labels = Counter(label for label in said.values() if label)
    evidence = sorted({*forth, *back})
    return Edge(
        node_id("entity", source), node_id("entity", target), "relation",
        max(FLOOR, cosine) * (given or 1.0) * (fmean(told) / MIDDLE if told else 1.0),
        label=min(labels, key=lambda text: (-labels[text], text)) if labels else "",
        count=len(evidence), evidence=tuple(evidence[:EVIDENCE_LIMIT]))
