"""The extraction log to the graph: nodes, edges and vectors, as a pure function."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix

from qafd.pace import silent
from qafd.reading.text import NameIndex, canonical, count_tokens, title_of_file
from qafd.reading.text.scripts import is_latin
from qafd.records import (
    GUESS,
    WEIGHT,
    Chunk,
    Edge,
    Extraction,
    Floats,
    Mention,
    Node,
    Nodes,
    Vectors,
)

if TYPE_CHECKING:
    from qafd.models.embedder import PassageEmbedder

FLOOR = 1e-3  # of a similarity, so that every weight stays positive
TITLE_FACTOR = 4.0
UNTOLD_FACTOR = 0.5  # of a title that no sentence says
TERM_FACTOR = 0.1
HUB_EXPONENT = 0.2
SYNONYM_FACTOR = 0.1
SYNONYM_COSINE = 0.8
SYNONYMS = 16  # nearest names of a name; those that differ in a number alone are all near
ROUNDING = 1e-5  # more than a cosine in single precision can be wrong
MANY = 4096  # names from which comparing them begins with bounds of `BOUNDS` numbers
BOUNDS = 128
CROWDED = 1 / 16  # share of pairs that pass for near from which all cosines are computed
EVIDENCE_LIMIT = 20  # sentences kept for an edge
NUMBERING = 3  # characters that a line with a name alone may have beside it
DESCRIPTION_LIMIT = 2000  # characters of an entity's merged descriptions

_LOWER = re.compile(r"\b[^\W\d_A-Z]\w*")


@dataclass(frozen=True)
class Reading:
    """A chunk, what was extracted from it, and its vectors.

    `vector` has shape (d,), `sentences` shape (s, d): one unit row for each sentence of the
    extraction, pooled in the context of the passage.
    """

    chunk: Chunk
    extraction: Extraction
    vector: Vectors = field(repr=False)
    sentences: Vectors = field(repr=False)


@dataclass(frozen=True)
class Assembly:
    """The graph: nodes sorted by (kind, key), edges by (source, target, kind).

    `alignment` (n, d) is what a question is compared with, `names` (n, d) are the vectors of
    the bare names (of the passage itself for a passage); unit rows in the order of `nodes`.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    alignment: Vectors = field(repr=False)
    names: Vectors = field(repr=False)


@dataclass
class _Entity:
    """What the log says of one key: places are (chunk, sentence, start, end).

    `said` are the different descriptions, in the order of the log. `named` is False
    for a term, which no mention of another kind has; `title` is True for a document's title.
    """

    places: set[tuple[int, int, int, int]] = field(default_factory=set)
    names: Counter[str] = field(default_factory=Counter)
    titled: set[int] = field(default_factory=set)
    said: dict[str, None] = field(default_factory=dict)
    named: bool = False
    title: bool = False

    def told(self, log: Sequence[Reading]) -> bool:
        """Whether a sentence says the name and more: headings stand in a text as lines too."""
        spans = ((log[number].extraction.sentences[sentence], end - start)
                 for number, sentence, start, end in self.places)
        return any(end - start > length + NUMBERING for (start, end), length in spans)


def read(chunk: Chunk, extraction: Extraction, embedder: "PassageEmbedder") -> Reading:
    """The chunk with its vectors: one pass over title and text gives them all."""
    above = f"{chunk.title}\n" if chunk.title else ""
    spans = [(len(above) + start, len(above) + end) for start, end in extraction.sentences]
    vector, sentences = embedder.embed_spans(above + chunk.text, spans)
    return Reading(chunk, extraction, vector, sentences)


def sure_names(chunk: Chunk, extraction: Extraction) -> tuple[str, ...]:
    """The keys of a chunk that make entities without another mention, sorted.

    Embedding them while the chunk is at hand leaves little to embed for `assemble`.
    """
    return tuple(sorted({m.key for m in extraction.mentions if _certain(m, chunk)}))


def assemble(
    readings: Iterable[Reading], embed_names: Callable[[Sequence[str]], Vectors],
    compared: Callable[[int, int], None] = silent,
) -> Assembly:
    """The knowledge graph of a log of readings, the same for every order of the log.

    Nodes are the passages and the entities; an entity is a key with a mention, where a
    noun chunk needs two sentences, a lone proper noun must never be written small, a title
    that is but the file's name must occur in a text, and a heading in a sentence. Known names are
    then found again in all passages by longest match. Names of one document that are the last
    word of just one of its persons, or a spelled-out acronym, are one entity.

    Edges, with `similarity` the structural factor H(h(u), h(v)) of Eq. (1):

    - mention, entity to passage: max(.001, cosine of name and passage), 4 times that where
      the entity is the passage's title or heading (0.5 times where no sentence says the title),
      0.1 times for terms, and divided by the entity's number of passages to the power 0.2;
    - relation, entity to entity: asserted in a sentence, max(.001, cosine of the names), times
      the weight that an imported graph gives it, as a multiple of the mean;
    - synonym, entity to entity: cosine of the names >= 0.8, times 0.1, where one of the two is
      among the 16 nearest such names of the other.

    Parameters
    ----------
    readings : iterable of Reading
        Distinct chunks.
    embed_names : callable
        Keys to unit rows, shape (k, d); called once, with sorted keys.
    compared : callable
        Told now and then how many of all names were compared with the others, which takes longest
        of all that is done here; what it raises ends the assembly.
    """
    log = sorted(readings, key=lambda r: (r.chunk.document, r.chunk.start, r.chunk.id))
    if not log:
        nothing = np.zeros((0, 0), np.float32)
        return Assembly((), (), nothing, nothing)
    entities = _entities(log)
    keys = sorted(entities)
    passages = sorted(range(len(log)), key=lambda i: log[i].chunk.id)
    place = {chunk: row for row, chunk in enumerate(passages)}
    texts = np.stack([log[i].vector for i in passages])
    names = embed_names(keys) if keys else np.zeros((0, texts.shape[1]), np.float32)
    nodes = [_entity_node(key, entities[key], log) for key in keys]
    nodes += [_passage_node(log[i].chunk) for i in passages]
    edges = [
        *_mention_edges(keys, entities, log, place, nodes, names, texts),
        *_relation_edges(keys, log, nodes, names),
        *_synonym_edges(keys, nodes, names, compared),
    ]
    return Assembly(
        nodes=tuple(nodes),
        edges=tuple(sorted(edges, key=lambda e: (e.source, e.target, e.kind))),
        alignment=np.concatenate([_alignment(keys, entities, log, place, texts), texts]),
        names=np.concatenate([names, texts]))


def node_id(kind: str, key: str) -> str:
    """The id of a node, a hash of its kind and key."""
    return hashlib.sha256(f"{kind}\n{key}".encode()).hexdigest()[:24]


def _certain(mention: Mention, chunk: Chunk) -> bool:
    if mention.kind == "title":
        return chunk.title != title_of_file(chunk.document)
    return mention.kind not in ("heading", "term") and (
        mention.kind != "PROPN" or " " in mention.key)


def _entities(log: Sequence[Reading]) -> dict[str, _Entity]:
    """The entities of the log with all their places, string links included."""
    aliases = _aliases(log)
    certain: set[str] = set()
    doubtful: dict[str, set[tuple[int, int]]] = defaultdict(set)
    lone: set[str] = set()
    filed: set[str] = set()
    for number, reading in enumerate(log):
        alias = aliases[reading.chunk.document]
        for mention in reading.extraction.mentions:
            key = alias.get(mention.key, mention.key)
            if mention.kind == "heading" or _certain(mention, reading.chunk):
                certain.add(key)
            elif mention.kind == "title":
                filed.add(key)
            elif mention.kind == "term":
                doubtful[key].add((number, mention.sentence))
            else:
                lone.add(key)
    small: Counter[str] = Counter()
    said: set[str] = set()
    files = NameIndex(filed)
    for reading in log:
        small.update(_LOWER.findall(reading.chunk.text))
        said.update(key for key, _, _ in files.find(reading.chunk.text))
    twice = {key for key, where in doubtful.items() if len(where) > 1}
    keys = certain | said | twice | (lone - small.keys())
    entities: dict[str, _Entity] = defaultdict(_Entity)
    index = NameIndex(keys, _concepts(log, small, keys))
    for number, reading in enumerate(log):
        alias = aliases[reading.chunk.document]
        for mention in reading.extraction.mentions:
            key = alias.get(mention.key, mention.key)
            if key not in keys:
                continue
            entity = entities[key]
            entity.names[mention.name] += 1
            entity.named |= mention.kind != "term"
            if mention.kind in ("title", "heading"):
                entity.titled.add(number)
                entity.title |= mention.kind == "title"
            else:
                entity.places.add((number, mention.sentence, mention.start, mention.end))
        for described in reading.extraction.descriptions:
            key = alias.get(described.source, described.source)
            if key in entities and described.text and not described.target:
                entities[key].said[described.text] = None
        starts = [start for start, _ in reading.extraction.sentences]
        for found, start, end in index.find(reading.chunk.text, starts):
            sentence = int(np.searchsorted(starts, start, side="right")) - 1
            entities[alias.get(found, found)].places.add((number, max(sentence, 0), start, end))
    return {key: entity for key, entity in entities.items()
            if entity.title or not entity.titled or entity.told(log)}


def _concepts(log: Sequence[Reading], small: Mapping[str, int], keys: Iterable[str]) -> set[str]:
    """Titles of one word that the texts write small (as often as `small` says) more often than with
    a capital that opens no sentence and no longer name: "Photosynthesis", not "Prince"."""
    titles = {
        mention.key for reading in log for mention in reading.extraction.mentions
        if mention.kind == "title" and _certain(mention, reading.chunk) and mention.key in small
        and mention.key.isalpha() and mention.key == reading.chunk.title.casefold()}
    if not titles:
        return titles
    index = NameIndex(keys)
    capital = Counter(
        key for reading in log for key, _, _ in index.find(
            reading.chunk.text, [start for start, _ in reading.extraction.sentences]))
    return {key for key in titles if small[key] > capital[key]}


def _aliases(log: Sequence[Reading]) -> dict[str, dict[str, str]]:
    """For each document, keys to the key they stand for in it."""
    own_key = cache(canonical)  # a graph of many edges has each name many times
    spelled: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for reading in log:
        document = spelled[reading.chunk.document]
        for mention in reading.extraction.mentions:
            own = own_key(mention.name)
            if own != mention.key:
                document[own].add(mention.key)
            words = mention.key.split()
            if mention.kind.rstrip(GUESS) == "PERSON" and 1 < len(words) < 5:
                document[words[-1]].add(mention.key)
    return {
        document: {name: next(iter(keys)) for name, keys in names.items() if len(keys) == 1}
        for document, names in spelled.items()}


def _entity_node(key: str, entity: _Entity, log: Sequence[Reading]) -> Node:
    # The key must follow from the name: questions are linked by the names a graph carries.
    own = [name for name in entity.names if canonical(name) == key]
    name = min(own, key=lambda n: (-entity.names[n], n)) if own else key
    evidence = ""
    if entity.places:
        number, sentence, _, _ = min(entity.places)
        start, end = log[number].extraction.sentences[sentence]
        evidence = log[number].chunk.text[start:end]
    text = " ".join(entity.said)[:DESCRIPTION_LIMIT] or evidence
    return Node(node_id("entity", key), "entity", key, name, text,
                count_tokens(name) + count_tokens(text))


def _passage_node(chunk: Chunk) -> Node:
    name = chunk.title or chunk.document
    return Node(node_id("passage", chunk.id), "passage", chunk.id, name, chunk.text,
                count_tokens(chunk.text))


def _mention_edges(
    keys: Sequence[str], entities: dict[str, _Entity], log: Sequence[Reading],
    place: dict[int, int], nodes: Sequence[Node], names: Vectors, texts: Vectors,
) -> Iterator[Edge]:
    for row, key in enumerate(keys):
        entity = entities[key]
        kind = 1.0 if entity.named else TERM_FACTOR
        where: dict[int, set[int]] = {number: set() for number in entity.titled}
        counts = Counter(number for number, _, _, _ in entity.places)
        for number, sentence, _, _ in entity.places:
            where.setdefault(number, set()).add(sentence)
        numbers = sorted(where)
        factor = kind / len(numbers) ** HUB_EXPONENT
        heads = TITLE_FACTOR if entity.told(log) else UNTOLD_FACTOR
        cosines = _cosines(texts[[place[number] for number in numbers]], names[row:row + 1])
        for number, cosine in zip(numbers, cosines.tolist(), strict=True):
            title = heads if number in entity.titled else 1.0
            chunk = log[number].chunk.id
            yield Edge(
                nodes[row].id, nodes[len(keys) + place[number]].id, "mention",
                title * factor * max(FLOOR, cosine), count=max(1, counts[number]),
                evidence=tuple((chunk, s) for s in sorted(where[number])))


def _relation_edges(
    keys: Sequence[str], log: Sequence[Reading], nodes: Sequence[Node], names: Vectors
) -> Iterator[Edge]:
    aliases = _aliases(log)
    row = {key: i for i, key in enumerate(keys)}
    directed: dict[tuple[str, str], dict[tuple[str, int], str]] = defaultdict(dict)
    given: dict[tuple[str, str], float] = defaultdict(float)
    for reading in log:
        alias = aliases[reading.chunk.document]
        for said in reading.extraction.descriptions:
            if said.kind == WEIGHT and said.target:
                ends = (alias.get(said.source, said.source), alias.get(said.target, said.target))
                given[min(ends), max(ends)] += said.strength
        for assertion in reading.extraction.assertions:
            source = alias.get(assertion.source, assertion.source)
            target = alias.get(assertion.target, assertion.target)
            if source != target and source in row and target in row:
                sentence = (reading.chunk.id, assertion.sentence)
                directed[source, target].setdefault(sentence, assertion.label)
    pairs = sorted({(min(pair), max(pair)) for pair in directed})
    if not pairs:
        return
    rows = np.array([(row[u], row[v]) for u, v in pairs])
    cosines = _cosines(names[rows[:, 0]], names[rows[:, 1]])
    for (u, v), cosine in zip(pairs, cosines.tolist(), strict=True):
        forth, back = directed.get((u, v), {}), directed.get((v, u), {})
        source, target = (u, v) if len(forth) >= len(back) else (v, u)
        labels = Counter(label for label in directed[source, target].values() if label)
        evidence = sorted({*forth, *back})
        yield Edge(
            nodes[row[source]].id, nodes[row[target]].id, "relation",
            max(FLOOR, cosine) * (given[u, v] or 1.0),
            label=min(labels, key=lambda text: (-labels[text], text)) if labels else "",
            count=len(evidence), evidence=tuple(evidence[:EVIDENCE_LIMIT]))


def _synonym_edges(
    keys: Sequence[str], nodes: Sequence[Node], names: Vectors,
    compared: Callable[[int, int], None] = silent, block: int = 256,
) -> Iterator[Edge]:
    """Pairs of names with cosine >= 0.8, for each name the nearest; O(n^2) in blocks of rows.

    Two names in scripts that the bundled model cannot read must be spelled alike too.
    """
    latin = [is_latin(key) for key in keys]
    bounds = _bounds(names)
    found: set[tuple[int, int]] = set()
    for first in range(0, len(keys), block):
        if first:
            compared(first, len(keys))
        for u, others, cosines in _near(names, bounds, first, first + block):
            found |= {(min(u, v), max(u, v))
                      for v in _nearest(u, others, cosines, keys, latin, names)}
    pairs = np.array(sorted(found), np.int64).reshape(-1, 2)
    for at in range(0, len(pairs), 4096):
        some = pairs[at:at + 4096]
        for (u, v), cosine in zip(some.tolist(), _cosines(names[some[:, 0]], names[some[:, 1]])
                                  .tolist(), strict=True):
            yield Edge(nodes[u].id, nodes[v].id, "synonym", SYNONYM_FACTOR * cosine)


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


def _near(names: Vectors, bounds: Vectors, first: int, last: int
          ) -> Iterator[tuple[int, Nodes, Vectors]]:
    """The rows from `first` to `last` that others may be near, these and their rough cosines.

    Rough is in single precision; none of 0.8 or more is missing.
    """
    least = SYNONYM_COSINE - ROUNDING
    rough = bounds[first:last] @ bounds.T
    near = rough >= (least if bounds is names else least - ROUNDING)
    if bounds is not names and np.count_nonzero(near) > CROWDED * near.size:
        rough = names[first:last] @ names.T
        near = rough >= least
        bounds = names
    for i in np.flatnonzero(near.sum(axis=1) > 1).tolist():  # itself
        u = first + i
        others = np.flatnonzero(near[i])
        others = others[others != u]
        cosines = rough[i, others] if bounds is names else names[others] @ names[u]
        kept = cosines >= least
        if kept.any():
            yield u, others[kept], cosines[kept]


def _nearest(
    u: int, others: Nodes, rough: Vectors, keys: Sequence[str],
    latin: Sequence[bool], names: Vectors,
) -> Iterator[int]:
    """The first `SYNONYMS` of these rows that may be called like row `u`, nearest first.

    `rough`, shape (k,), are their cosines in single precision.
    """
    if latin[u] and len(others) > SYNONYMS:
        least = np.partition(rough, -SYNONYMS)[-SYNONYMS]
        others = others[rough >= least - 2 * ROUNDING]
    exact = _cosines(names[others], names[u:u + 1])
    left = SYNONYMS
    for at in np.lexsort((others, -exact)).tolist():
        v = int(others[at])
        if not left or exact[at] < SYNONYM_COSINE:
            return
        if latin[u] or latin[v] or _alike(keys[u], keys[v]):
            left -= 1
            yield v


def _cosines(one: Vectors, other: Vectors) -> Floats:
    """Cosines of paired unit rows, (k,): rounded to single precision from double.

    Processors add in orders of their own; rounded, the sums are the same on all.
    """
    exact: Floats = np.einsum("ij,ij->i", *np.broadcast_arrays(one, other), dtype=np.float64)
    return exact.astype(np.float32).astype(np.float64)


def _alike(one: str, other: str) -> bool:
    """Whether two names have three quarters of the shorter one in a row in common.

    A model that knows no letter of two names gives them one vector.
    """
    if set(one).isdisjoint(other):
        return False
    run = SequenceMatcher(None, one, other, autojunk=False).find_longest_match()
    return 4 * run.size >= 3 * min(len(one), len(other))


def _alignment(
    keys: Sequence[str], entities: dict[str, _Entity], log: Sequence[Reading],
    place: dict[int, int], texts: Vectors,
) -> Vectors:
    """Unit rows of the entities, (k, d): halfway between the passages and the sentences of each.

    The mean of an entity's passages gates best; that of its sentences tells the entities of one
    passage apart.
    """
    first = np.cumsum([0, *(len(reading.sentences) for reading in log)])
    wide: list[tuple[int, int]] = []
    close: list[tuple[int, int]] = []
    for row, key in enumerate(keys):
        entity = entities[key]
        said = {(number, sentence) for number, sentence, _, _ in entity.places}
        numbers = entity.titled | {number for number, _ in said}
        wide += [(row, at) for at in sorted(place[number] for number in numbers)]
        close += [(row, int(first[number]) + sentence) for number, sentence in sorted(said)]
    sentences = np.concatenate([reading.sentences for reading in log])
    return _units(_units(_sums(wide, len(keys), texts))
                  + _units(_sums(close, len(keys), sentences)))


def _sums(pairs: Sequence[tuple[int, int]], count: int, vectors: Vectors) -> Vectors:
    """Row r is the sum of the vectors paired with r, (count, d)."""
    rows, columns = np.array(pairs, np.int64).reshape(-1, 2).T
    ones = np.ones(len(rows), np.float32)
    table = csr_matrix((ones, (rows, columns)), (count, len(vectors)))  # type: ignore[no-untyped-call]
    return np.asarray(table @ vectors)


def _units(rows: Vectors) -> Vectors:
    """Rows scaled to unit length; zero rows stay zero."""
    wide = rows.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    return np.asarray(wide / np.maximum(lengths, 1e-12), np.float32)
