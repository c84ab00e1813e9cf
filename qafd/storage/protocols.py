"""What the rest of qafd asks of a workspace; a backend is a package that keeps to this.

A function takes the part that it needs. Every method that reads sees one version of the workspace,
every method that writes is one transaction; inside `Workspace.transaction` they join it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, Self

from qafd.assemble import Assembly
from qafd.assemble.gathered import Gathered
from qafd.edits import Edit, Ends
from qafd.graph import Graph
from qafd.records import (
    Chunk,
    Codes,
    Description,
    Document,
    Edge,
    Extraction,
    Mark,
    Node,
    QueryPlan,
    Vectors,
)
from qafd.storage.diagnosis import Diagnosis, Fault
from qafd.storage.rows import (
    SEARCHED,
    Call,
    Contents,
    DocumentRow,
    EntityRow,
    Evidence,
    File,
    Found,
    Head,
    Job,
    LayerRow,
    Log,
    NameCount,
    PassageFacts,
    PassageLine,
    PlacedNode,
    RunRow,
    Said,
    SavedRetrieval,
    SentenceName,
    Total,
    UnreadRow,
    WholeRow,
    WorkspacePlace,
)


class Files(Protocol):
    """Files that were given, and how far each has come."""

    def add(self, name: str, data: bytes, job: int | None = None) -> bool:
        """Take in a file; True when there is work to do for it.

        The same bytes under the same name change nothing (a deleted file comes back);
        other bytes replace the file: its documents stay until the new ones are parsed.
        """

    def unread(self) -> tuple[tuple[str, bytes], ...]:
        """Name and bytes of the files that are not parsed yet, those that were stopped too."""

    def hold(self, files: Iterable[tuple[str, bytes]]) -> None:
        """Take in files that nothing reads before `retry` lets them wait."""

    def begin(self, name: str) -> bytes | None:
        """Start to parse a file: its bytes, or None when it is not waiting (any more)."""

    def finish(self, name: str) -> None:
        """A file is done; its text is stored, so its bytes are dropped, but for a PDF's pages.

        Unless it was replaced in the meantime: then it waits for its turn.
        """

    def reopen(self, names: Iterable[str]) -> None:
        """Let finished files be read again, by another extractor."""

    def fail(self, name: str, error: str) -> None:
        """A file cannot be read, for a reason in one sentence."""

    def cancel(self, names: Iterable[str]) -> None:
        """Stop these files where they are; what was logged stays in the graph."""

    def retry(self, names: Iterable[str], job: int | None = None) -> int:
        """Let files that failed or were cancelled wait again; returns how many.

        So do finished files with passages that the model did not read as it should: only these
        are read again, and what is known of them stays until then.
        """

    def all(self) -> tuple[File, ...]:
        """All files, in the order in which they came; the later one of equal files says so."""

    def contents(self) -> dict[str, Contents]:
        """What each file brings into the graph, by the file's name."""

    def original(self, name: str) -> bytes | None:
        """The bytes of a file as it was given; None once it is read and is no PDF."""

class Documents(Protocol):
    """The documents in files: kept, deleted, brought back, removed for good."""

    def all(self, source: str | None = None) -> tuple[DocumentRow, ...]:
        """All documents, or those of one file, in the order of files and positions."""

    def titles(self, source: str, most: int) -> dict[str, str]:
        """The titles of the first documents of a file by their names, in order."""

    def get(self, name: str) -> Document:
        """A document with its text and marks."""

    def head(self, name: str) -> Head:
        """What is known of a document, without its text."""

    def part(self, name: str, start: int, end: int) -> tuple[str, tuple[Mark, ...]]:
        """The text of a document between two offsets, and all its marks."""

    def passages(self, name: str, first: int, most: int) -> tuple[Chunk, ...]:
        """The passages of a document from a number on, which counts from 1."""

    def number_of(self, name: str, chunk: str) -> int | None:
        """Which passage of its document a passage is, from 1 on; None when it is not in there."""

    def outline(self, name: str) -> tuple[PassageLine, ...]:
        """All passages of a document, in order."""

    def put(
        self, source: str, parsed: Sequence[tuple[Document, tuple[Chunk, ...]]],
        notices: Sequence[str] = (),
    ) -> bool:
        """Make these the documents of a file; passages that did not change keep their log.

        Returns False, and writes nothing, when the file was replaced or removed since `begin`.

        Raises
        ------
        DocumentNameError
            Two documents have one name, within the file or across files.
        """

    def delete(self, *names: str) -> None:
        """Take files or documents out of the graph, all or none; `undo` brings each back.

        They are deleted at the same moment. The graph follows at its next assembly.
        """

    def undo(self, name: str) -> None:
        """Bring back what `delete(name)` took away."""

    def purge(self, *names: str) -> None:
        """Remove files or documents for good, with all that quotes them; see `qafd.ingest.erase`.

        Vectors and graph follow at the next assembly.

        Raises
        ------
        StoreError
            There is none of a name, or its file waits to be read. Nothing was changed.
        """

    def names_of(self, name: str) -> set[str]:
        """The documents that go when a file or a document of this name is removed.

        Raises
        ------
        StoreError
            See `purge`.
        """

    def quoting(self, documents: Collection[str]) -> tuple[str, ...]:
        """The stored retrievals that show what only these documents have: a passage, a name, or a
        relation by its label.
        """

class ExtractionLog(Protocol):
    """What was extracted from each passage: what the graph is a function of."""

    def count(self) -> int:
        """How many passages the live log has; it looks at each."""

    def count_assembled(self) -> int:
        """How many passages the graph has."""

    def pending(self, source: str, extractor: str) -> tuple[Chunk, ...]:
        """The passages of a file that this extractor has still to read, in order.

        Those whose extraction is given are not among them; see `adopt`.
        """

    def give(self, chunk: Chunk, extraction: Extraction) -> None:
        """Log what a file says of a passage; anything else that was found in it is forgotten."""

    def given(self, source: str, extractor: str) -> dict[int, Chunk]:
        """The passages of a file whose extraction is given and not adopted yet, by its row."""

    def adopt(self, source: str, extractor: str) -> None:
        """Let what is given for the passages of a file stand among this extractor's entries."""

    def put(
        self, chunk: Chunk, extraction: Extraction, vectors: Mapping[str, Vectors] | None = None,
        doubt: str = "",
    ) -> bool:
        """Append one passage's extraction, with the vectors that belong to it, to the log.

        Returns False, and writes nothing, when the passage was removed or changed in the
        meantime or has an entry already.

        Parameters
        ----------
        vectors : mapping of str to ndarray, shape (d,) or (r, d)
            By `embedding_key` or `passage_key`.
        doubt : str
            Why the model's reading is not what it should be; `retry` asks for a new one.
        """

    def use_extractor(self, name: str) -> None:
        """From now on the graph is made of this extractor's entries of the log."""

    @property
    def extractor(self) -> str:
        """The extractor whose entries make up the graph; "" before the first."""

    @property
    def revision(self) -> int:
        """Counts the changes of the log."""

    def read(self, documents: Iterable[str] | None = None) -> Log:
        """The live log, of all or some documents: what the graph is a function of."""

    def spans(self, ids: Iterable[str]) -> dict[str, list[tuple[int, int]]]:
        """Where the sentences of some passages of the live log are, by the passage's id."""

    @property
    def choice(self) -> str:
        """Which models read this workspace (see `qafd.ingest.reader`); "" for the local ones."""

    def choose(self, choice: str, anew: bool) -> None:
        """Let other models read from the next run on, all that was read before too if `anew`."""

    def doubts(self) -> dict[str, tuple[str, ...]]:
        """File names to why passages of theirs were not read by the model as they should be."""

    def names(self, chunks: Collection[str]) -> tuple[tuple[str, str, int, int], ...]:
        """Chunk, key, start and end of each name in some passages, as it was read."""

    def unread(self, source: str) -> tuple[UnreadRow, ...]:
        """The passages of a file that the model did not read, or not in whole, in order."""


class VectorStore(Protocol):
    """Vectors by key, of the one embedding model that a workspace is bound to."""

    def stamp(self, name: str, dimension: int) -> None:
        """Bind the workspace to one embedding model, at its first use.

        Raises
        ------
        EmbedderMismatchError
            It is bound to another one.
        """

    def check(self, name: str, dimension: int) -> None:
        """Refuse a model whose vectors cannot be compared with those stored here."""

    @property
    def embedder(self) -> tuple[str, int]:
        """Name and dimension of the model of this workspace; ("", 0) before its first use."""

    @property
    def earlier(self) -> tuple[str, int]:
        """Name and dimension of the model before this one, whose vectors are kept; else ("", 0)."""

    def drop_earlier(self) -> None:
        """Drop the vectors of the model before this one."""

    def forget(self) -> None:
        """Drop the stamp, so that the next assembly embeds anew.

        The vectors are kept, to be compared with those of another model; those of a model before
        them are dropped.
        """

    def get(self, keys: Iterable[str]) -> dict[str, Vectors]:
        """The stored vectors among these keys, each of shape (d,)."""

    def rows(self, keys: Iterable[str]) -> dict[str, Vectors]:
        """What is stored under these keys, each of shape (r, d), r > 1 for passages."""

    def missing(self, keys: Iterable[str]) -> set[str]:
        """Those of these keys under which no vector is stored."""

    def put(self, vectors: Mapping[str, Vectors]) -> None:
        """Keep unit vectors, each of shape (d,) or (r, d), by their keys, as `pack_vectors` rounds them.

        Raises
        ------
        ParameterError
            One has another length than the workspace's model, or holds NaN or infinity.
        """

class GraphWriter(Protocol):
    """What an assembly, whole or of what a change touches, does to the graph."""

    def write(self, log: Log, made: Assembly) -> bool:
        """Replace the graph by the one made from `log`; True when that changed it.

        Nothing is written when a graph of the same or a later state of the log is there.
        """

    def put_passages(self, gone: Iterable[str], chunks: Iterable[Chunk]) -> None:
        """Remove passages by id, and bring others in or up to date."""

    def put_nodes(self, nodes: Mapping[str, PlacedNode | None]) -> None:
        """Let these be the nodes with these ids; None where there is none."""

    def put_hubs(self, hubs: Mapping[str, Gathered | None]) -> None:
        """Let these be the sums of these keys; None where none are kept."""

    def put_mentions(self, sources: Iterable[str], edges: Iterable[Edge]) -> None:
        """Let these be all edges that lead from some entities to passages, without the factors of
        their nodes."""

    def put_pairs(self, pairs: Iterable[tuple[str, str]], edges: Iterable[Edge]) -> None:
        """Let these be all edges between the two nodes of each pair; those of mentions without the
        factors of their nodes."""

    def settle(self, revision: int, changed: bool) -> None:
        """Note that the graph is that of this revision of the log, and whether that changed it."""

    def drop(self) -> None:
        """Throw away what was computed from the log; the next assembly makes it anew."""


class GraphStore(GraphWriter, Protocol):
    """The nodes and edges that the last assembly made."""

    def differences(self, log: Log, made: Assembly) -> dict[str, int]:
        """For each table of the graph, how many rows differ from those of this graph."""

    def has(self, ids: Iterable[str]) -> set[str]:
        """Those of these ids that are nodes."""

    def hubs(self, keys: Iterable[str]) -> dict[str, Gathered]:
        """The sums that are kept of some of these keys."""

    def entity_names(self, keys: Iterable[str] | None = None) -> tuple[list[str], Vectors]:
        """The keys of all entities or of some, in order, and the vectors of their names, (k, d)."""

    def sums(self) -> str:
        """Of each table of the graph the rows and the sum of their hashes; "" where none is kept."""

    def altered(self) -> tuple[Fault, ...]:
        """What is not as the last assembly left it, for each table of the graph.

        Nothing is known of a graph from before assemblies kept counts and checksums.
        """

    @property
    def version(self) -> str:
        """Names one state of one graph; never the same for two, also after a wipe."""

    def version_at(self, revision: int) -> str:
        """Names the graph of this revision, see `version`."""

    @property
    def revision(self) -> int:
        """Counts the versions of the graph; 0 is the empty one."""

    @property
    def stale(self) -> bool:
        """Whether the log has moved on since the graph was assembled."""

    def read(self) -> Graph:
        """The knowledge graph, stamped with its revision; rows are sorted by id."""

    def nodes(self, ids: Iterable[str]) -> dict[str, Node]:
        """The nodes among these ids, with their texts."""

    def edges(self, ids: Iterable[str], kind: str = "") -> tuple[Edge, ...]:
        """The edges that have one of these nodes at an end, of one kind or of all."""

    def labels(self, ids: Iterable[str]) -> dict[frozenset[str], str]:
        """What the relations between these nodes are called, by their two ends."""

    def digest(self) -> str:
        """SHA-256 of the graph, its passages and the mentions they rest on.

        Two workspaces with the same live documents have the same digest, whatever happened
        to them; neither times nor row numbers enter it.
        """

class NameTrees(Protocol):
    """The names of a graph by how they begin, and which of them are near each other."""

    def known(self, keys: Iterable[str]) -> set[str]:
        """Those of these keys that are names."""

    def plant(self, names: Iterable[tuple[str, str, str]]) -> None:
        """Note names: the key and its first two words."""

    def uproot(self, keys: Iterable[str]) -> None:
        """Forget names."""

    def beginning(self, words: Iterable[str], pairs: Iterable[tuple[str, str]],
                  branches: Iterable[str]) -> set[str]:
        """The names of one of these words, the longer ones that begin with one of these
        pairs, and one name for each of the `branches` with which any begins."""

    def near(self, keys: Iterable[str]) -> dict[str, dict[str, float]]:
        """The nearest names of each of these."""

    def near_to(self, keys: Iterable[str]) -> set[str]:
        """The names among whose nearest one of these is."""

    def set_near(self, near: Mapping[str, Mapping[str, float]]) -> None:
        """Let these be the nearest names of each."""

    def signs(self) -> tuple[list[str], Codes]:
        """The names whose signs are kept, in no order, and these, shape (k, b).

        See `qafd.assemble.synonyms.signs_of`.
        """

    def has_signs(self) -> bool:
        """Whether the signs of any name are kept."""

    def put_signs(self, gone: Iterable[str], keys: Sequence[str], codes: Codes) -> None:
        """Forget the signs of some names, and keep those of others, shape (k, b)."""


class Postings(NameTrees, Protocol):
    """What the graph is made of, passage by passage, so that a change costs what it touches.

    A fact is a kind, a term and a passage, with a body; passages are numbered as in the graph.
    """

    def touched(self) -> set[str]:
        """The documents in which something has changed since the graph was assembled."""

    def state(self) -> dict[str, object] | None:
        """What the facts were made with, None where there are none that hold."""

    def hold(self, state: Mapping[str, object]) -> None:
        """Let the facts be those of the log as it is now."""

    def clear(self) -> None:
        """Throw all facts away."""

    def rows(self, documents: Iterable[str]) -> dict[str, int]:
        """The passages of the graph in some documents: chunk id to number."""

    def passages(self, numbers: Iterable[int]) -> dict[int, Chunk]:
        """The passages of the graph with these numbers."""

    def of(self, passage: int, kinds: Sequence[str]) -> dict[tuple[str, str], str]:
        """The facts of these kinds of a passage."""

    def put(self, passage: int, kinds: Sequence[str], facts: PassageFacts) -> set[tuple[str, str]]:
        """Let these be the facts of these kinds of a passage; which are new, other or gone."""

    def forget(self, passage: int) -> set[tuple[str, str]]:
        """Remove all facts of a passage; which these were."""

    def terms(self, passages: Iterable[int], kinds: Sequence[str]) -> set[tuple[str, str]]:
        """Kind and term of the facts of these kinds that any of some passages has."""

    def bodies(self, kind: str, terms: Iterable[str]) -> dict[str, dict[int, str]]:
        """The bodies of some terms, each by passage."""

    def present(self, kind: str, terms: Iterable[str], body: str | None = None) -> set[str]:
        """Those of these terms that any passage has, with this body if one is given."""

    def first(self, kind: str, term: str, without: str) -> int:
        """The passage that stands first in the log of those whose body of a term does not begin so."""

    def total(self, kind: str, term: str) -> int:
        """The sum of the bodies of a term, which are counts."""

    def having(self, kind: str, terms: Sequence[str]) -> set[int]:
        """The passages that have all these terms, one at least."""


class PassageStore(Protocol):
    """The passages of the graph, and what was found in them."""

    def get(self, ids: Iterable[str]) -> dict[str, Chunk]:
        """The passages of the graph among these chunk ids."""

    def parts(self) -> tuple[Chunk, ...]:
        """The passages, without text, of the documents in the graph that have several; in order."""

    def sentences(
        self, ids: Iterable[str]
    ) -> dict[str, tuple[tuple[int, int, Vectors], ...]]:
        """(start, end, vector) of the sentences of these chunks, offsets within the chunk.

        Vectors, shape (d,), are pooled in the context of the passage; a sentence whose vector is
        not stored is left out.
        """

    def sentence_texts(self, places: Iterable[tuple[str, int]]) -> dict[tuple[str, int], str]:
        """What these sentences say, by chunk and number; those that are gone are left out."""

    def names(self, ids: Iterable[str]) -> dict[tuple[str, int], list[SentenceName]]:
        """The names in the sentences of some chunks, by chunk and where the sentence ends in it.

        What has a type by hand is a name of that type wherever the graph finds it in a sentence,
        also what the extractor saw in titles only.
        """

    def evidence(self, ids: Iterable[str]) -> tuple[Evidence, ...]:
        """The sentences that mention these nodes, in the order of documents and offsets."""

    def said_of(self, *keys: str) -> tuple[Said, ...]:
        """What models said of an entity and its relations, passage by passage.

        Parameters
        ----------
        keys : str
            As in `Node.key`, and those that edits made one with it.
        """

    def search(self, text: str, k: int = SEARCHED, document: str | None = None) -> Found:
        """The k best passages for the words of a text by BM25, of all documents or of one.

        Words in quotation marks are looked for as a phrase; forms of an English word count as it,
        accents and capitals do not matter. Passages of equal scores are ordered by id. In scripts
        without spaces each string and each phrase is looked for as it is.
        """

    def has_word(self, word: str) -> bool:
        """Whether some passage has a word, in any of its forms, as `search` takes it."""


class LayerStore(Protocol):
    """Derived layers, kept as the bytes that their builders made."""

    def put(self, name: str, version: str, builder: int, body: bytes) -> None:
        """Keep a layer in the place of an older one of that name; see `qafd.retrieve.layers`."""

    def rows(self) -> dict[str, LayerRow]:
        """What layers are kept, by name, whether they fit the graph or not."""

    def body(self, name: str) -> bytes:
        """The bytes of a kept layer.

        Raises
        ------
        StoreError
            There is none of that name, or its bytes have changed.
        """

class RunStore(Protocol):
    """Retrievals that are kept for good, and plans of questions."""

    def save(self, retrieval: Mapping[str, Any], plan: Mapping[str, Any],
                       layout: Mapping[str, Any], run: Mapping[str, Any] | None = None) -> str:
        """Store a retrieval for good and return its id.

        Parameters
        ----------
        retrieval, plan, layout, run : mapping of plain JSON values
            `Retrieval.to_dict()`, the query plan, the positions of the drawn nodes, and what else
            `qafd.runs` keeps.
        """

    def load(self, key: str) -> SavedRetrieval:
        """A stored retrieval, as it was.

        Raises
        ------
        StoreError
            There is none with this id, or its bytes have changed.
        """

    def keep(self, key: str, note: str, nodes: int, tokens: int, exact: bool | None) -> None:
        """Put a stored retrieval into the history."""

    def history(self) -> tuple[RunRow, ...]:
        """The kept runs, newest first."""

    def notes(self, beginning: str) -> dict[str, str]:
        """The notes of the kept runs whose ids begin so, by id; of two at most."""

    def annotate(self, key: str, note: str) -> None:
        """Give a kept run another note."""

    def delete(self, keys: Sequence[str]) -> None:
        """Take runs out of the history, those for good that were deleted before."""

    def undo(self) -> int:
        """Bring back the runs that were deleted last; how many there were."""

    def deleted(self) -> int:
        """How many runs `undo` would bring back."""

    def save_plan(self, plan: QueryPlan) -> None:
        """Keep a plan, so that its question can be asked again without a model."""

    def plan(self, question: str) -> QueryPlan | None:
        """The plan kept for a question; None when the graph has changed since, or the plan has."""

class Ledger(Protocol):
    """Calls to models: what was paid for, and the replies."""

    def put(self, call: Call) -> None:
        """Note a call, at once when it has ended."""

    def good_call(self, key: str) -> Call | None:
        """The latest call with this key whose reply was of use."""

    def totals(self, by: str = "run", run: str | None = None) -> tuple[Total, ...]:
        """What was spent, summed by one of `BY`, the latest first; of one run, or of all."""

    def useless_replies(self, chunks: Collection[str], most: int) -> dict[str, tuple[str, ...]]:
        """The latest replies for each passage that its reading had no use for, newest first."""

    def has_read(self, extractor: str) -> bool:
        """Whether a model was called to read passages as this extractor."""

    def replies(self, documents: Collection[str]) -> int:
        """How many replies go with these documents: on them, or on a question, but for its plan."""

    def forget_replies(self, documents: Iterable[str]) -> None:
        """Drop what models said of these documents; what it cost stays in the ledger."""

class JobQueue(Protocol):
    """Jobs: what waits, what is at work, what came of it."""

    def add(self, layers: Iterable[str] = ()) -> int:
        """A new job that waits, and builds these layers; its number."""

    def begin(self) -> int | None:
        """Let the first job that is not over run, and count that it was started."""

    def stuck(self, starts: int) -> tuple[Job, ...]:
        """The running jobs that were started so often without getting any further."""

    def report(self, job: int, stage: str, done: int, total: int, current: str) -> None:
        """Note how far a job has come; once it reads or embeds, its starts count anew."""

    def cancel(self, job: int) -> bool:
        """Ask for the end of a job; True for one that had not begun and is over at once."""

    def is_cancelled(self, job: int) -> bool:
        """Whether the end of a job was asked for, or the job is gone."""

    def close(self, job: int, state: str, error: str = "") -> None:
        """Let a job be over."""

    def pause(self, error: str) -> None:
        """Let all jobs that are not over wait for `begin`."""

    def latest(self, limit: int = 20) -> tuple[Job, ...]:
        """The latest jobs, newest first."""

    def open(self) -> tuple[Job, ...]:
        """The jobs that are not over, oldest first."""

    def files(self, job: int) -> tuple[str, ...]:
        """The unfinished files of a job, and those that no other open job will finish."""

    def layers(self, job: int) -> set[str]:
        """The layers that a job was made for."""

    def failed_files(self, job: int) -> int:
        """How many files of a job could not be read."""

    def orphans(self) -> int:
        """How many files wait to be read for no job."""

    def unparsed(self, job: int | None = None) -> tuple[int, int, int]:
        """Bytes that wait to be parsed, for a job or all; bytes that were, and their passages."""


class Lease(Protocol):
    """The claim of the one process that works on a workspace."""

    def hold(self) -> AbstractContextManager[None]:
        """Be the one process that extends the log; the claim is renewed in the background.

        Raises
        ------
        BusyError
            Another living process holds the lease.
        DiskFullError
            There is no room for the work.
        """

    @property
    def writer(self) -> int | None:
        """The process that holds the lease and is alive, or None."""

    def give_back(self) -> None:
        """End the claim before the end of the `hold()` block."""

    def check(self) -> None:
        """Inside `hold()`: refuse to go on when the claim was lost."""


class Edits(Protocol):
    """What people say of the entities."""

    def add(self, action: str, key: str, name: str = "", label: str = "", note: str = "") -> int:
        """Put an edit in force and return its number; see `qafd.edits.Edit`.

        The graph follows at its next assembly.
        """

    def undo(self, number: int) -> None:
        """Take an edit back; its row stays, with the time.

        Raises
        ------
        StoreError
            No edit in force has that number.
        """

    def all(self) -> tuple[Edit, ...]:
        """All edits, also those undone, in the order in which they were made."""

    def merged(self) -> dict[str, str]:
        """Keys of names that count as another entity's, to the key of that entity."""

    def joined(self) -> dict[Ends, tuple[Edit, ...]]:
        """The edits that add edges, by the node ids of the two ends."""


class Survey(Protocol):
    """All of a workspace, row by row; each method costs as much as the workspace is large."""

    def size(self) -> tuple[int, int]:
        """How many nodes and edges the graph has."""

    def nodes(self) -> Iterator[WholeRow]:
        """All nodes, by id."""

    def edges(self) -> Iterator[Edge]:
        """All edges, by their ends, kind and label."""

    def entities(self, only: str = "") -> tuple[EntityRow, ...]:
        """All entities, or the one with this node id."""

    def synonyms(self) -> tuple[tuple[str, str], ...]:
        """The keys of the entities whose names are nearly alike in meaning, pair by pair."""

    def names(self, keys: Collection[str] | None = None) -> tuple[NameCount, ...]:
        """How often the live log has each name, of all keys or of these."""

    def kinds(self) -> tuple[str, ...]:
        """The kinds of names in the live log, the most frequent first."""

    def descriptions(self) -> Iterator[Description]:
        """What the live log says of entities and relations, in the order of documents."""

    def nameless(self) -> Iterator[tuple[str, str | None]]:
        """For each passage its file and its text, None in the place of one that has a name."""


class Notes(Protocol):
    """Texts that a workspace keeps under a name."""

    def get(self, name: str) -> str:
        """The text under a name, "" for none."""

    def put(self, name: str, text: str) -> None:
        """Keep a text in the place of what was there."""

    def append(self, name: str, row: Mapping[str, str], most: int) -> None:
        """Add a row to a list under a name, which keeps its last `most`."""

    def rows(self, name: str) -> list[dict[str, str]]:
        """The rows that were appended under a name, the oldest first."""

    def clear(self, name: str) -> None:
        """Remove all rows under a name."""


class Workspace(Protocol):
    """An open workspace and its parts; belongs to the thread that opened it."""

    @property
    def files(self) -> Files: ...

    @property
    def documents(self) -> Documents: ...

    @property
    def log(self) -> ExtractionLog: ...

    @property
    def vectors(self) -> VectorStore: ...

    @property
    def graph(self) -> GraphStore: ...

    @property
    def passages(self) -> PassageStore: ...

    @property
    def postings(self) -> Postings: ...

    @property
    def layers(self) -> LayerStore: ...

    @property
    def runs(self) -> RunStore: ...

    @property
    def ledger(self) -> Ledger: ...

    @property
    def queue(self) -> JobQueue: ...

    @property
    def lease(self) -> Lease: ...

    @property
    def edits(self) -> Edits: ...

    @property
    def survey(self) -> Survey: ...

    @property
    def notes(self) -> Notes: ...


    @property
    def place(self) -> WorkspacePlace:
        """Where it is, and what it is called."""

    def close(self) -> None:
        """Close it; also done at the end of a `with` block."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def transaction(self) -> AbstractContextManager[Any]:
        """One write transaction: all that is written inside the block, or nothing.

        Raises
        ------
        DiskFullError, BusyError, StoreError
            Nothing was written.
        """

    def snapshot(self) -> AbstractContextManager[Any]:
        """Reads that all see the same version of the workspace."""

    def wipe(self) -> None:
        """Empty it: documents, uploads, vectors, graph, jobs and retrievals."""

    def scrub(self) -> None:
        """Leave no byte of what was deleted.

        Raises
        ------
        BusyError
            Somebody reads an earlier state, which therefore stays until this is called again.
        """

    def renew(self) -> None:
        """Give it a new identity: its revisions count another history from now on."""

    def count_anew(self) -> None:
        """Let the database learn how much its tables hold, after much was written: it chooses by that
        how it looks something up."""

    def compact(self) -> None:
        """Make it as small as it can be, to ship it or to archive it."""

    def take(self, other: Any) -> None:
        """Hold what another workspace holds, in the place of what is here."""

    def backup(self, destination: str) -> None:
        """Copy it into a new file, while others may write, and verify the copy.

        Raises
        ------
        StoreError
            The destination exists, or the copy is not sound.
        """


class Backend(Protocol):
    """The package of a backend, as `qafd.storage.BACKENDS` names it."""

    def url_of(self, path: str) -> str:
        """The URL of what lies at a path."""

    def place_of(self, url: str) -> WorkspacePlace:
        """See `qafd.storage.place_of`."""

    def beside(self, url: str, name: str) -> str:
        """See `qafd.storage.beside`."""

    def names_beside(self, url: str) -> tuple[str, ...]:
        """See `qafd.storage.names_beside`."""

    def size_of(self, url: str) -> int | None:
        """See `qafd.storage.size_of`."""

    def examine(self, url: str | None, deep: bool) -> Iterator[Diagnosis]:
        """See `qafd.storage.examine`."""

    def open_workspace(self, url: str, read_only: bool, make: bool, shared: bool) -> Workspace:
        """Open it, see `qafd.storage.open_workspace`."""

    def remove_workspace(self, url: str) -> None:
        """Delete it, see `qafd.storage.remove_workspace`."""

    def is_writable(self, url: str) -> bool:
        """Whether it can be changed."""
