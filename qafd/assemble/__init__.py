"""The extraction log to the graph: nodes, edges and vectors, as a pure function."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from qafd.assemble.claims import aliases_of
from qafd.assemble.edges import find_relations, mention_edges
from qafd.assemble.entities import (
    describe_entity,
    entity_node,
    find_names,
    is_entity,
    passage_node,
)
from qafd.assemble.gathered import Gathered, align, gather, is_hub
from qafd.assemble.parts import Parts
from qafd.assemble.readings import Alias, Reading, alias_in, log_order
from qafd.assemble.synonyms import nearest_names, synonym_edges
from qafd.records import Edge, Extraction, Floats, Node, Vectors
from qafd.time_left import ignore_progress


@dataclass(frozen=True)
class Assembly:
    """The graph: nodes sorted by (kind, key), edges by (source, target, kind).

    `alignment` (n, d) is what a question is compared with, `names` (n, d) are the vectors of
    the bare names (of the passage itself for a passage); unit rows in the order of `nodes`. `scales` (n,)
    are factors of the similarities of the mention edges of each node, which `edges` are without; `hubs`
    the sums of the names that many passages have, `said` what models say of keys and their relations,
    `told_in` the first passage that has a key in a sentence.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    alignment: Vectors = field(repr=False)
    names: Vectors = field(repr=False)
    scales: Floats = field(default_factory=lambda: np.zeros(0), repr=False)
    hubs: Mapping[str, Gathered] = field(default_factory=dict, repr=False)
    said: Mapping[str, str] = field(default_factory=dict, repr=False)
    told_in: Mapping[str, str] = field(default_factory=dict, repr=False)

    def similarities(self) -> Floats:
        """The similarities of the edges with their factors, shape (m,)."""
        factors = {node.id: factor for node, factor in zip(self.nodes, self.scales, strict=True)}
        return np.array([edge.similarity * (factors[edge.source] if edge.kind == "mention" else 1.0)
                         for edge in self.edges])


def assemble(
    readings: Iterable[Reading], embed_names: Callable[[Sequence[str]], Vectors],
    compared: Callable[[int, int], None] = ignore_progress,
) -> Assembly:
    """The knowledge graph of a log of readings, the same for every order of the log.

    Nodes are the passages and the entities; an entity is a key with a mention, where a
    noun chunk needs two sentences, a lone proper noun must never be written small, a title must be
    more than the file's name, and a heading in a sentence. Known names are
    then found again in all passages by longest match. Names of one document that are the last
    word of just one of its persons, or a spelled-out acronym, are one entity.

    Edges, with `similarity` the structural factor H(h(u), h(v)) of Eq. (1):

    - mention, entity to passage: max(.001, cosine of name and passage), 4 times that where
      the entity is the passage's title or heading (0.5 times where no sentence says the title),
      0.1 times for terms, and divided by the entity's number of passages to the power 0.2; these two
      factors are those of the entity, in `Assembly.scales`;
    - relation, entity to entity: asserted in a sentence, max(.001, cosine of the names), times
      the weight that an imported graph gives it, as a multiple of the mean, or a fifth of the
      strength that a language model gives it, from 1 to 10;
    - extracted, entity to entity: next to each relation that a language model extracted, of the same
      similarity; it carries the default diffusion, which relations of the local rules do not;
    - synonym, entity to entity: cosine of the names >= 0.8, times 0.1, where one of the two is
      among the 16 nearest such names of the other.

    Parameters
    ----------
    readings : iterable of Reading
        Distinct chunks.
    embed_names : callable
        Keys, and what models say of them, to unit rows, shape (k, d); called once.
    compared : callable
        Called now and then with how many of all names were compared with the others, which takes longest
        of all that is done here; what it raises ends the assembly.
    """
    log = sorted(readings, key=log_order)
    if not log:
        nothing = np.zeros((0, 0), np.float32)
        return Assembly((), (), nothing, nothing)
    aliases = _aliases_of_all(log)
    found = find_names(log, aliases)
    keys, said = _entities_among(found)
    passages = sorted(log, key=lambda reading: reading.chunk.id)
    texts = np.stack([reading.vector for reading in passages])
    rows = embed_names([*keys, *said.values()]) if keys else np.zeros((0, texts.shape[1]), np.float32)
    names, told = rows[:len(keys)], dict(zip(said, rows[len(keys):], strict=True))
    nodes, edges, rows_of, scales, hubs, told_in = [], list[Edge](), [], [], {}, {}
    for key, name in zip(keys, names, strict=True):
        parts = found[key]
        gathered = gather(parts, log, texts.shape[1])
        if is_hub(gathered, parts):
            hubs[key] = gathered
        if gathered.first:
            told_in[key] = gathered.first[2]
        nodes.append(entity_node(key, gathered))
        rows_of.append(align(gathered.wide, gathered.close, told.get(key)))
        scales.append(gathered.scale)
        edges += mention_edges(key, parts, log, name, gathered.heading)
    nodes += [passage_node(reading.chunk) for reading in passages]
    near = nearest_names(keys, names, range(len(keys)), compared)
    edges += find_relations(keys, log, aliases, names)
    edges += synonym_edges(keys, near)
    return Assembly(
        nodes=tuple(nodes),
        edges=tuple(sorted(edges, key=lambda e: (e.source, e.target, e.kind))),
        alignment=np.array([*rows_of, *texts]), names=np.concatenate([names, texts]),
        scales=np.array([*scales, *np.ones(len(passages))]), hubs=hubs, said=said,
        told_in=told_in)


def _entities_among(found: Mapping[str, Parts]) -> tuple[list[str], dict[str, str]]:
    """The keys that are entities, sorted, and of those that models describe the text."""
    keys, said = [], {}
    for key in sorted(found):
        parts = found[key]
        if is_entity(parts):
            keys.append(key)
            if text := describe_entity(key, parts.values()):
                said[key] = text
    return keys, said


def _aliases_of_all(log: Sequence[Reading]) -> list[Alias]:
    """Return what keys stand for in each passage."""
    documents: dict[str, list[Extraction]] = defaultdict(list)
    for reading in log:
        documents[reading.chunk.document].append(reading.extraction)
    aliases = {document: aliases_of(extractions) for document, extractions in documents.items()}
    return [alias_in(aliases[reading.chunk.document], reading.extraction) for reading in log]
