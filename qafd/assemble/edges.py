"""The edges of a log: of entities to passages, and what passages assert of two entities."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

import numpy as np

from qafd.assemble.parts import Parts
from qafd.assemble.readings import Alias, Reading
from qafd.assemble.synonyms import cosines_of
from qafd.records import WEIGHT, Edge, Extraction, Vectors, node_id

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


def find_relations(keys: Sequence[str], log: Sequence[Reading], aliases: Sequence[Alias],
                      names: Vectors) -> Iterator[Edge]:
    row = {key: i for i, key in enumerate(keys)}
    asserted: dict[tuple[str, str], dict[str, PairPart]] = defaultdict(dict)
    for reading, alias in zip(log, aliases, strict=True):
        for pair, part in pairs_of(reading.extraction, alias).items():
            if pair[0] in row and pair[1] in row:
                asserted[pair][reading.chunk.id] = part
    yield from relation_edges(asserted, row, names)


def relation_edges(asserted: Mapping[tuple[str, str], Mapping[str, PairPart]],
                   row: Mapping[str, int], names: Vectors) -> Iterator[Edge]:
    """The relations of pairs of entities; `row` gives the row of `names` of each."""
    pairs = sorted(asserted)
    ends = np.array([(row[u], row[v]) for u, v in pairs], np.int64).reshape(-1, 2)
    cosines = cosines_of(names[ends[:, 0]], names[ends[:, 1]]).tolist() if pairs else []
    for pair, cosine in zip(pairs, cosines, strict=True):
        edge = _relation_edge(pair, asserted[pair], cosine)
        if edge is None:
            continue
        yield edge
        if any(part.told for part in asserted[pair].values()):
            yield replace(edge, kind="extracted", label="", count=0, evidence=())


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
