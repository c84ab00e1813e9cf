"""The facts of a workspace, updated document by document.

They are what follows from one document alone, and what a passage says of the names that all documents
decide of; see `qafd.storage.relational.postings`.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product

from qafd.assemble.edges import PairPart, pairs_of, signs_of
from qafd.assemble.entities import (
    Alias,
    alias_in,
    aliases_of,
    claims_of,
    pack_part,
    parts_of,
    small_words,
)
from qafd.edits import Edit, apply_edits, entity_names, hidden_keys, split_names
from qafd.reading.text import NameIndex, canonical, forms_of, variants, words_in_tree, words_of
from qafd.reading.text.scripts import is_other
from qafd.records import Chunk, Extraction
from qafd.storage import Workspace
from qafd.storage.full_assembly import FullAssembly
from qafd.storage.rows import Log

RULES = 7  # of facts and of the assembly; those made by other rules are all rebuilt
TOGETHER = 100  # documents whose names are looked up at once
ALONE = ("word", "key", "term", "pair", "sentences")
"""Kinds of facts that follow from a document alone."""
SMALL = "s"  # the body of a word that the passage also writes without a capital
SURE, LONE = "s", "l"  # the body of a key that the passage claims so, see `Claims`; else ""

Documents = dict[str, list[tuple[Chunk, Extraction, Extraction]]]
"""The passages of each document, with the extraction as read and as edits let it be."""


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


@dataclass
class Touched:
    """Keys of names, and pairs of keys, that a change of facts affects."""

    keys: set[str] = field(default_factory=set)
    pairs: set[tuple[str, str]] = field(default_factory=set)

    def add(self, facts: Iterable[tuple[str, str]]) -> None:
        """Record the keys and pairs that added, changed or deleted facts are about."""
        for kind, term in facts:
            if kind == "part":
                self.keys.add(term)
            elif kind == "pair":
                low, high = term.split("\n")
                self.pairs.add((low, high))


def changed_documents(store: Workspace, edits: Sequence[Edit]) -> set[str] | None:
    """Return the documents that the next graph reads differently; None if all may be."""
    state = store.postings.state()
    if state is None or state.get("rules") != RULES or state["extractor"] != store.log.extractor or (
            state["embedder"] != store.vectors.embedder[0]):
        return None
    used = set(state["edits"])  # type: ignore[call-overload]
    before = [replace(edit, undone_at=None if edit.id in used else edit.made_at) for edit in edits]
    passages = set[int]().union(*store.postings.bodies("key", _reread_keys(before, edits)).values())
    documents = {chunk.document for chunk in store.postings.passages(passages).values()}
    documents |= store.postings.documents_of(_resplit_passages(before, edits))
    return store.postings.list_touched() | documents


def _reread_keys(before: Sequence[Edit], after: Sequence[Edit]) -> set[str]:
    """The keys that edits let be understood differently, as they are in the log."""
    names = entity_names(before), entity_names(after)
    changed = {key for key in names[0].keys() | names[1].keys()
               if names[0].get(key) != names[1].get(key)}
    meant = hidden_keys(before) ^ hidden_keys(after)
    changed |= meant
    for some in names:
        changed |= {key for key, name in some.items() if canonical(name) in meant}
    return changed


def _resplit_passages(before: Sequence[Edit], after: Sequence[Edit]) -> set[str]:
    """Return the passages in which edits split entities otherwise."""
    splits = split_names(before), split_names(after)
    return {passage for passage in splits[0].keys() | splits[1].keys()
            if splits[0].get(passage) != splits[1].get(passage)}


def state_of(store: Workspace, edits: Iterable[Edit]) -> dict[str, object]:
    """Return the state that facts of this log depend on."""
    return {"rules": RULES, "extractor": store.log.extractor, "embedder": store.vectors.embedder[0],
            "edits": [edit.id for edit in edits if edit.undone_at is None]}


class Facts:
    """The facts of a workspace, updated document by document.

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
        known = self._store.names.find_known(claimed)
        fresh = self._names_among(claimed)
        others = self._passages_with(fresh ^ known)
        note_names(self._store, fresh - known)
        self._store.names.remove(known - fresh)
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
        """Store the facts that follow from documents alone.

        Return the keys that are claimed or written in small letters differently than before.
        """
        changed: set[tuple[str, str]] = set()
        numbers = self._postings.rows(read)
        for some in read.values():
            alias = aliases_of(extraction for _, _, extraction in some)
            for chunk, raw, extraction in some:
                facts = _facts_alone(chunk, raw, extraction, alias_in(alias, extraction))
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
        """Return those of some keys that are searched as names, because of what passages claim of them."""
        present = self._postings.find_present
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
            some = names[at:at + TOGETHER]
            aliases, texts, claimed = dict[str, Alias](), list[str](), set[str]()
            for document in some:
                told = aliases_of(extraction for _, _, extraction in read[document])
                for chunk, _, extraction in read[document]:
                    alias = aliases[chunk.id] = alias_in(told, extraction)
                    texts.append(chunk.text)
                    claimed |= {alias.get(mention.key, mention.key) for mention in extraction.mentions}
            known, index = self._store.names.find_known(claimed), self._index(texts)
            for document in some:
                changed = document in documents
                for chunk, _, extraction in read[document]:
                    parts = parts_of(chunk, extraction, aliases[chunk.id], known, index)
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
        return NameIndex(self._store.names.beginning(words, pairs, branches))


def begin_anew(store: Workspace, made: FullAssembly) -> None:
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
    note_names(store, made.known)
    store.names.set_near(made.near)
    keep_signs(store)
    postings.hold(state_of(store, made.log.edits))


def _facts_alone(chunk: Chunk, raw: Extraction, extraction: Extraction, alias: Alias
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


def unpack_pair(body: str) -> PairPart:
    forth, back, *weights = json.loads(body)
    return PairPart({int(at): label for at, label in forth.items()},
                    {int(at): label for at, label in back.items()}, *weights)


def note_names(store: Workspace, keys: Iterable[str]) -> None:
    """Note names with the words that they are looked for by."""
    names = []
    for key in keys:
        words = [*words_in_tree(key), "", ""]
        names.append((key, words[0], words[1]))
    store.names.add(names)


def keep_signs(store: Workspace, gone: Collection[str] = (), fresh: Collection[str] = ()) -> None:
    """Store the signs of fresh names and delete those of gone names; store all if none are stored."""
    keys, names = store.graph.entity_names(fresh if store.names.has_signs() else None)
    store.names.put_signs(gone, keys, signs_of(names))
