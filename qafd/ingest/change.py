"""The graph after a change of the log: only what the change touches is made anew.

`qafd.assemble` makes the graph of a whole log, and both give the same. What follows from one
document alone, and what else decides of a name, is kept as facts (`qafd.storage.relational.postings`).
A change of documents or edits then touches

1. their passages, and those that have a name which became known or unknown by it,
2. the names that these passages have, with their edges to all their passages; of names that very
   many passages have, sums and the edges to these passages alone (`qafd.ingest.hubs`),
3. relations that these passages assert, or that end in a name which came or went,
4. synonyms of names that came or went.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product

import numpy as np

from qafd.assemble import Assembly
from qafd.assemble.claims import aliases_of, claims_of, small_words
from qafd.assemble.edges import PairPart, mention_edges, pairs_of, relation_edges
from qafd.assemble.entities import (
    describe_entity,
    entity_node,
    is_entity,
    join_said,
    passage_node,
)
from qafd.assemble.gathered import Gathered, gather, is_hub
from qafd.assemble.parts import KeyPart, pack_part, parts_of, unpack_part
from qafd.assemble.readings import Reading, log_order
from qafd.assemble.synonyms import (
    FEW,
    SYNONYMS,
    Near,
    may_be_near,
    nearest_names,
    signs_of,
    synonym_edges,
)
from qafd.edits import (
    Edit,
    apply_edits,
    connect_by_hand,
    edges_by_hand,
    entity_names,
    entity_types,
    hidden_keys,
)
from qafd.ingest.hubs import PassageState, change_hubs
from qafd.ingest.whole import WholeGraph
from qafd.reading.text import NameIndex, canonical, forms_of, variants, words_in_tree, words_of
from qafd.reading.text.scripts import is_other
from qafd.records import Chunk, Edge, Extraction, Node, Vectors, node_id
from qafd.storage import Workspace
from qafd.storage.assembled import stored_readings
from qafd.storage.rows import Log, PlacedNode, embedding_key, key_of

RULES = 6  # of facts and of the assembly; those made by others are made anew as a whole
TOGETHER = 100  # documents whose names are looked up at once
SHARE = 4  # a change of more than one passage of so many is made as a whole
MOST = 20_000  # so is one of more passages, which takes some 90 kB of memory each
ALONE = ("word", "key", "term", "pair", "sentences")
"""Kinds of facts that follow from a document alone."""
SMALL = "s"  # the body of a word that the passage also writes without a capital
SURE, LONE = "s", "l"  # the body of a key that the passage claims so, see `Claims`; else ""


Documents = dict[str, list[tuple[Chunk, Extraction, Extraction]]]
"""The passages of each document, with the extraction as read and as edits let it be."""


class MissingNamesError(Exception):
    """Names that have no vector yet; with them the change can be taken in."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(names)
        self.names = names


class MissingVectorsError(Exception):
    """Passages that did not change have lost their vectors; all has to be assembled."""


@dataclass
class Touched:
    """What a change of facts touches: keys of names and pairs of them."""

    keys: set[str] = field(default_factory=set)
    pairs: set[tuple[str, str]] = field(default_factory=set)

    def add(self, facts: Iterable[tuple[str, str]]) -> None:
        """Note what facts that are new, other or gone say something of."""
        for kind, term in facts:
            if kind == "part":
                self.keys.add(term)
            elif kind == "pair":
                low, high = term.split("\n")
                self.pairs.add((low, high))


def changed_documents(store: Workspace, edits: Sequence[Edit]) -> set[str] | None:
    """The documents that the next graph reads otherwise than this one; None where all may be."""
    state = store.postings.state()
    if state is None or state.get("rules") != RULES or state["extractor"] != store.log.extractor or (
            state["embedder"] != store.vectors.embedder[0]):
        return None
    used = set(state["edits"])  # type: ignore[call-overload]
    before = [replace(edit, undone_at=None if edit.id in used else edit.made_at) for edit in edits]
    passages = set[int]().union(*store.postings.bodies("key", _reread_keys(before, edits)).values())
    documents = {chunk.document for chunk in store.postings.passages(passages).values()}
    return store.postings.touched() | documents


def _reread_keys(before: Sequence[Edit], after: Sequence[Edit]) -> set[str]:
    """The keys that edits let be understood differently, as they are in the log."""
    names = entity_names(before), entity_names(after)
    types = entity_types(before), entity_types(after)
    changed = {key for key in names[0].keys() | names[1].keys()
               if names[0].get(key) != names[1].get(key)}
    meant = hidden_keys(before) ^ hidden_keys(after)
    meant |= {key for key in types[0].keys() | types[1].keys()
              if types[0].get(key) != types[1].get(key)}
    changed |= meant
    for some in names:
        changed |= {key for key, name in some.items() if canonical(name) in meant}
    return changed


def _state_of(store: Workspace, edits: Iterable[Edit]) -> dict[str, object]:
    """What facts of this log are made with."""
    return {"rules": RULES, "extractor": store.log.extractor, "embedder": store.vectors.embedder[0],
            "edits": [edit.id for edit in edits if edit.undone_at is None]}


class Facts:
    """The facts of a workspace, brought up to date document by document.

    Attributes
    ----------
    before, after : dict of int to PassageState
        The passages that were read, by number: as the graph has them and as it is to have them.
    """

    def __init__(self, store: Workspace, edits: Sequence[Edit]) -> None:
        self._postings = store.postings
        self._store = store
        self._edits = edits
        self._gone: set[tuple[str, str]] = set()
        self.before: dict[int, PassageState] = {}
        self.after: dict[int, PassageState] = {}

    def remember(self, passages: Mapping[int, Chunk]) -> None:
        """Note what the graph has of passages, before they are changed."""
        for number, chunk in passages.items():
            facts = self._postings.of(number, ("part", "sentences"))
            spans = json.loads(facts.pop(("sentences", ""), "[]"))
            self.before[number] = PassageState(
                chunk, tuple((start, end) for start, end in spans),
                {key: body for (_, key), body in facts.items()})

    def take_in(self, documents: Collection[str], log: Log) -> Touched:
        """Bring facts up to date with the log of some documents, whose passages are written.

        Parameters
        ----------
        log : Log
            Of these documents, as they were read.
        """
        touched = Touched()
        read = self._by_document(log)
        claimed = self._take_alone(read, touched)
        known = self._postings.known(claimed)
        fresh = self._names_among(claimed)
        others = self._passages_with(fresh ^ known)
        plant(self._store, fresh - known)
        self._postings.uproot(known - fresh)
        read |= self._reread(others, read)
        self._take_parts(read, documents, touched)
        return touched

    def _by_document(self, log: Log) -> Documents:
        read: Documents = defaultdict(list)
        edited = apply_edits(log.extractions, self._edits)
        for chunk, raw, extraction in zip(log.chunks, log.extractions, edited, strict=True):
            read[chunk.document].append((chunk, raw, extraction))
        return read

    def _reread(self, passages: set[int], read: Mapping[str, object]
                ) -> Documents:
        """The documents of some passages that are not read yet."""
        if not passages:
            return {}
        chunks = self._postings.passages(passages).values()
        documents = {chunk.document for chunk in chunks} - read.keys()
        return self._by_document(self._store.log.read(documents)) if documents else {}

    def _take_alone(self, read: Documents, touched: Touched) -> set[str]:
        """Take in what follows from documents alone; the keys that are claimed, or written small,
        otherwise than before."""
        changed: set[tuple[str, str]] = set()
        numbers = self._postings.rows(read)
        for some in read.values():
            alias = aliases_of(extraction for _, _, extraction in some)
            for chunk, raw, extraction in some:
                facts = _facts_alone(chunk, raw, extraction, alias)
                changed |= self._postings.put(numbers[chunk.id], ALONE, facts)
        changed |= self._gone
        touched.add(changed)
        return {term for kind, term in changed if kind in ("word", "key", "term")}

    def forget(self, passages: Iterable[int]) -> Touched:
        """Remove the facts of passages that are no longer there."""
        for number in passages:
            self._gone |= self._postings.forget(number)
        touched = Touched()
        touched.add(self._gone)
        return touched

    def _names_among(self, keys: set[str]) -> set[str]:
        """Those of some keys that what passages claim of them makes names that are looked for."""
        present = self._postings.present
        # of a frequent key that is claimed surely nothing else is sought, which would read all its facts
        names = present("key", keys, SURE)
        lone = present("key", keys - names, LONE)
        names |= lone - present("word", lone, SMALL)
        often = {key for key in present("term", keys - names) if self._postings.total("term", key) > 1}
        return names | often

    def _passages_with(self, keys: Iterable[str]) -> set[int]:
        """The passages whose parts may change when these keys become known or unknown."""
        keys = set(keys)
        found = set[int]().union(*self._postings.bodies("key", keys).values())
        for key in keys:
            words = words_in_tree(key)
            if words:
                found |= self._postings.having("word", words)
                if not words[0].isascii():  # Arabic words lose what they begin with by it
                    found |= self._postings.having("word", words[:1])
        return found

    def _take_parts(self, read: Documents,
                    documents: Collection[str], touched: Touched) -> None:
        numbers = self._postings.rows(read)
        names = list(read)
        for at in range(0, len(names), TOGETHER):
            some = {document: read[document] for document in names[at:at + TOGETHER]}
            index = self._index([chunk.text for own in some.values() for chunk, _, _ in own])
            aliases = {document: aliases_of(extraction for _, _, extraction in own)
                       for document, own in some.items()}
            claimed = {aliases[document].get(mention.key, mention.key) for document, own in some.items()
                       for _, _, extraction in own for mention in extraction.mentions}
            known = self._postings.known(claimed)
            for document, own in some.items():
                changed = document in documents
                for chunk, _, extraction in own:
                    parts = parts_of(chunk, extraction, aliases[document], known, index)
                    number, bodies = numbers[chunk.id], {key: pack_part(parts[key]) for key in parts}
                    if not changed:
                        self.remember({number: chunk})
                    self.after[number] = PassageState(chunk, extraction.sentences, bodies)
                    facts = {("part", key): body for key, body in bodies.items()}
                    touched.add(self._postings.put(number, ("part",), facts))
                    if changed:  # its place or its vectors may be others
                        touched.add(facts)

    def _index(self, texts: Iterable[str]) -> NameIndex:
        """An index of all names that can be in some texts, or decide how these are read."""
        words: set[str] = set()
        pairs: set[tuple[str, str]] = set()
        branches: set[str] = set()
        for text in texts:
            forms = [variants(word, text) for word, _, _ in words_of(text)]
            own = set().union(*forms)
            words |= own
            if is_other(text):
                branches |= own
            for one, two in pairwise(forms):
                pairs.update(product(one, two))
        return NameIndex(self._postings.beginning(words, pairs, branches))


def _facts_alone(chunk: Chunk, raw: Extraction, extraction: Extraction, alias: Mapping[str, str]
                 ) -> dict[tuple[str, str], str]:
    facts: dict[tuple[str, str], str] = {}
    for word in forms_of(chunk.text):
        facts["word", word] = ""
    facts |= dict.fromkeys([("word", word) for word in small_words(chunk.text)], SMALL)
    claims = claims_of(chunk, extraction, alias)
    for key, sentences in claims.terms.items():
        facts["term", key] = str(len(sentences))
    keys = _raw_keys(raw).union(claims.terms)
    facts["sentences", ""] = json.dumps(extraction.sentences, separators=(",", ":"))
    for (low, high), part in pairs_of(extraction, alias).items():
        if low != high:
            facts["pair", f"{low}\n{high}"] = _pack_pair(part)
            keys |= {low, high}
    for some, claim in ((keys, ""), (claims.lone, LONE), (claims.sure, SURE)):
        facts |= dict.fromkeys([("key", key) for key in some], claim)
    return facts


def _raw_keys(extraction: Extraction) -> set[str]:
    keys = {mention.key for mention in extraction.mentions}
    for assertion in extraction.assertions:
        keys |= {assertion.source, assertion.target}
    for description in extraction.descriptions:
        keys |= {description.source, description.target}
    return keys


def _pack_pair(part: PairPart) -> str:
    weights = [part.given, part.told] if part.given or part.told else []
    return json.dumps([part.forth, part.back, *weights], ensure_ascii=False, separators=(",", ":"))


def _unpack_pair(body: str) -> PairPart:
    forth, back, *weights = json.loads(body)
    return PairPart({int(at): label for at, label in forth.items()},
                    {int(at): label for at, label in back.items()}, *weights)


class GraphChange:
    """The nodes and edges of the graph that a change touches, made anew from facts.

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
              gone: Iterable[str]) -> None:
        """Bring nodes and edges up to date.

        Parameters
        ----------
        facts : Facts
            Which took the change in.
        chunks : sequence of Chunk
            The passages that are new or read anew.
        gone : iterable of str
            The ids of those that are no longer there.

        Raises
        ------
        MissingNamesError
            New names have no vector yet.
        """
        graph = self._store.graph
        before = graph.has(node_id("entity", key) for key in touched.keys)
        hubs = change_hubs(self._store, self._model, touched.keys, facts.before, facts.after)
        entities, log = self._entities(touched.keys - hubs.keys())
        keys = sorted(entities)
        said = {key: text for key in keys if (text := describe_entity(key, entities[key].values()))}
        vectors = self._names([*keys, *said.values(), *hubs])
        names = dict(zip([*keys, *said.values(), *hubs], vectors, strict=True))
        nodes: dict[str, PlacedNode | None] = {
            node_id("entity", key): None for key in touched.keys}
        nodes |= {node_id("passage", chunk): None for chunk in gone}
        sums: dict[str, Gathered | None] = dict.fromkeys(touched.keys)
        edges: list[Edge] = []
        for key, parts in entities.items():
            gathered = gather(parts, log, vectors.shape[1])
            sums[key] = gathered if is_hub(gathered, parts) else None
            text = join_said(parts) or gathered.evidence
            nodes |= self._placed(entity_node(key, gathered.names, text), gathered, said.get(key, ""))
            edges += mention_edges(key, parts, log, names[key], gathered.heading)
        for reading in self._readings(chunks):
            node = passage_node(reading.chunk)
            nodes[node.id] = PlacedNode(
                node, node.key, key_of(self._model, reading.chunk, reading.extraction))
        between: list[tuple[str, str]] = []
        hub_edges: list[Edge] = []
        for key, hub in hubs.items():
            sums[key] = gathered = hub.gathered
            node = entity_node(key, gathered.names, gathered.evidence)
            nodes |= self._placed(node, gathered)
            between += [(node.id, node_id("passage", chunk)) for chunk in hub.passages]
            hub_edges += mention_edges(key, hub.said.parts, hub.said.log, names[key],
                                       gathered.heading)
        was = {key for key in touched.keys if node_id("entity", key) in before}
        now = entities.keys() | hubs.keys()
        graph.put_nodes(nodes)
        graph.put_hubs(sums)
        graph.put_mentions([node_id("entity", key) for key in touched.keys - hubs.keys()], edges)
        graph.put_pairs(between, hub_edges)
        pairs = touched.pairs | self._with_partners(was ^ now)
        pairs |= self._synonyms(was - now, now - was)
        self._write_pairs(pairs)

    def _placed(self, node: Node, gathered: Gathered, said: str = "") -> dict[str, PlacedNode]:
        """An entity with where its vectors and its text are kept, by its id."""
        told = embedding_key(self._model, said) if said else ""
        passage = gathered.first[2] if gathered.first else ""
        return {node.id: PlacedNode(node, passage, embedding_key(self._model, node.key), told,
                                    gathered.scale)}

    def _entities(self, keys: Iterable[str]) -> tuple[dict[str, dict[int, KeyPart]], list[Reading]]:
        """Those of some keys that are entities, what each of their passages says, these in order."""
        found: dict[str, dict[int, KeyPart]] = {}
        for key, bodies in self._postings.bodies("part", keys).items():
            parts = {number: unpack_part(body) for number, body in bodies.items()}
            if is_entity(parts):
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
        losing = self._postings.near_to(gone)
        old = self._postings.near({*gone, *losing})
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
        old |= self._postings.near(sought | joined.keys())
        changed: Near = {}
        pairs: set[tuple[str, str]] = set()
        for key in {*gone, *losing, *sought, *joined}:
            before = old.get(key, {})
            left = {other: cosine for other, cosine in before.items() if other not in gone}
            near = {} if key in gone else _first(found.get(key, left | joined.get(key, {})))
            if near != before:
                changed[key] = near
                pairs |= {(min(key, other), max(key, other)) for other in near | before}
        self._postings.set_near(changed)
        return pairs

    def _nearest(self, sought: Collection[str]) -> Near:
        """All names that are near to each of these."""
        if not sought:
            return {}
        graph = self._store.graph
        if len(sought) > FEW:
            keys, names = graph.entity_names()
        else:
            known, codes = self._postings.signs()
            close = may_be_near(codes, graph.entity_names(sought)[1])
            keys, names = graph.entity_names({known[at] for at in close.tolist()}.union(sought))
        row = {key: at for at, key in enumerate(keys)}
        near = nearest_names(keys, names, sorted(row[key] for key in sought), most=len(keys))
        return {key: near.get(key, {}) for key in sought}

    def _write_pairs(self, pairs: set[tuple[str, str]]) -> None:
        """Make all edges between the two names of each pair anew, those by hand too."""
        joined, cut = edges_by_hand(self._edits)
        ends = [frozenset(spot[:2]) for spot in joined] + list(cut) + self._by_hand_before()
        pairs = pairs | {(min(two), max(two)) for two in ends}
        wanted = set().union(*pairs)
        known = self._store.graph.has(node_id("entity", key) for key in wanted)
        there = sorted(key for key in wanted if node_id("entity", key) in known)
        row = {key: at for at, key in enumerate(there)}
        live = [pair for pair in sorted(pairs) if pair[0] in row and pair[1] in row]
        asserted = self._asserted(live)
        edges = list(relation_edges(asserted, row, self._names(there)))
        ids = {frozenset((node_id("entity", low), node_id("entity", high))) for low, high in pairs}
        for edge in synonym_edges(there, self._postings.near(there)):
            if {edge.source, edge.target} in ids:
                edges.append(edge)
        nothing = np.zeros((0, 0), np.float32)
        nodes = tuple(Node(node_id("entity", key), "entity", key, key) for key in there)
        made = connect_by_hand(Assembly(nodes, tuple(edges), nothing, nothing), self._edits)
        self._store.graph.put_pairs(
            [(node_id("entity", low), node_id("entity", high)) for low, high in pairs],
            made.edges)

    def _by_hand_before(self) -> list[frozenset[str]]:
        """The pairs that edits joined or cut when the graph was made."""
        state = self._postings.state() or {}
        used = set(state.get("edits", ()))  # type: ignore[call-overload]
        before = [replace(edit, undone_at=None) for edit in self._edits if edit.id in used]
        joined, cut = edges_by_hand(before)
        return [frozenset(spot[:2]) for spot in joined] + list(cut)

    def _asserted(self, pairs: Iterable[tuple[str, str]]
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
            parts = {chunks[number].id: _unpack_pair(some[number]) for number in sorted(some, key=place)}
            if parts:
                asserted[pair] = parts
        return asserted


def _first(near: Mapping[str, float]) -> dict[str, float]:
    """The nearest names, as many as are kept."""
    best = sorted(near, key=lambda other: (-near[other], other))[:SYNONYMS]
    return {other: near[other] for other in best}


def take_in(store: Workspace, model: str, documents: Collection[str], log: Log) -> bool:
    """Bring the graph up to date with the log of changed documents; True when that changed it.

    All of it is one transaction of the caller's.

    Raises
    ------
    MissingNamesError
        New names have no vector yet. The transaction has to be given up.
    MissingVectorsError
        Likewise; the change cannot be taken in.
    """
    sums = store.graph.sums()
    numbers = store.postings.rows(documents)
    gone = numbers.keys() - {chunk.id for chunk in log.chunks}
    facts = Facts(store, log.edits)
    facts.remember(store.postings.passages(numbers.values()))
    touched = facts.forget(numbers[chunk] for chunk in gone)
    store.graph.put_passages(gone, log.chunks)
    more = facts.take_in(documents, log)
    touched.keys |= more.keys
    touched.pairs |= more.pairs
    GraphChange(store, model, log.edits).write(touched, facts, log.chunks, gone)
    changed = store.graph.sums() != sums
    store.graph.settle(log.revision, changed)
    store.postings.hold(_state_of(store, log.edits))
    return changed


def begin_anew(store: Workspace, made: WholeGraph) -> None:
    """Make the facts of a whole log, of which the graph was just made."""
    postings = store.postings
    postings.clear()
    for some, bodies in made.parts():
        numbers = postings.rows({chunk.document for chunk in some.chunks})
        facts: dict[int, dict[tuple[str, str], str]] = {}
        for (chunk, extraction, alias), raw, parts in zip(some.passages(), some.raws, bodies, strict=True):
            own = _facts_alone(chunk, raw, extraction, alias)
            own |= {("part", key): body for key, body in parts.items()}
            facts[numbers[chunk.id]] = own
        postings.fill(facts)
    plant(store, made.known)
    postings.set_near(made.near)
    keep_signs(store)
    postings.hold(_state_of(store, made.log.edits))


def plant(store: Workspace, keys: Iterable[str]) -> None:
    """Note names with the words that they are looked for by."""
    names = []
    for key in keys:
        words = [*words_in_tree(key), "", ""]
        names.append((key, words[0], words[1]))
    store.postings.plant(names)


def keep_signs(store: Workspace, gone: Collection[str] = (), fresh: Collection[str] = ()) -> None:
    """Keep the signs of names that came, forget those of names that went; of all where none are kept."""
    postings = store.postings
    keys, names = store.graph.entity_names(fresh if postings.has_signs() else None)
    postings.put_signs(gone, keys, signs_of(names))
