"""What the rest of qafd asks of a workspace; a backend is a package that keeps to this.

A function takes the part that it needs. Every method that reads sees one version of the workspace,
every method that writes is one transaction; inside `Workspace.transaction` they join it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, Self

from qafd.edits import Edit, Ends
from qafd.graph import Graph
from qafd.records import Chunk, Document, Edge, Extraction, Node, QueryPlan, Vectors
from qafd.storage.rows import (
    SEARCHED,
    Call,
    Contents,
    DocumentRow,
    Evidence,
    File,
    Found,
    LayerRow,
    Log,
    Said,
    SavedRetrieval,
    SentenceName,
    Total,
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
        """A file is done; its text is stored, so its bytes are dropped.

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
        """The bytes of a file as it was given; None once it is read, since its text is stored."""

class Documents(Protocol):
    """The documents in files: kept, deleted, brought back, removed for good."""

    def all(self, source: str | None = None) -> tuple[DocumentRow, ...]:
        """All documents, or those of one file, in the order of files and positions."""

    def titles(self, source: str, most: int) -> dict[str, str]:
        """The titles of the first documents of a file by their names, in order."""

    def get(self, name: str) -> Document:
        """A document with its text and marks."""

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

    def counts(self) -> tuple[int, int]:
        """How many passages the live log has, and how many the graph."""

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
        vectors : mapping of str to ndarray, shape (d,)
            By `embedding_key`.
        doubt : str
            Why the model's reading is not what it should be; `retry` asks for a new one.
        """

    def use_extractor(self, name: str) -> None:
        """From now on the graph is made of this extractor's entries of the log."""

    @property
    def extractor(self) -> str:
        """The extractor whose entries make up the graph; "" before the first."""

    def read(self) -> Log:
        """The live log: what the graph is a function of."""

    @property
    def choice(self) -> str:
        """Which models read this workspace (see `qafd.ingest.reader`); "" for the local ones."""

    def choose(self, choice: str, anew: bool) -> None:
        """Let other models read from the next run on, all that was read before too if `anew`."""

    def doubts(self) -> dict[str, tuple[str, ...]]:
        """File names to why passages of theirs were not read by the model as they should be."""

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

    def missing(self, keys: Iterable[str]) -> set[str]:
        """Those of these keys under which no vector is stored."""

    def put(self, vectors: Mapping[str, Vectors]) -> None:
        """Keep vectors, each of shape (d,), by `embedding_key`.

        Raises
        ------
        ParameterError
            One has another length than the workspace's model, or holds NaN or infinity.
        """

class GraphStore(Protocol):
    """The nodes and edges that the last assembly made."""

    def write(self, log: Log, nodes: Sequence[Node], edges: Sequence[Edge],
                    vectors: Vectors, name_vectors: Vectors) -> bool:
        """Replace the graph by the one made from `log`; True when that changed it.

        Nothing is written when a graph of the same or a later state of the log is there.

        Parameters
        ----------
        vectors, name_vectors : ndarray of float32, shape (n, d)
            One row per node: what query similarity and Algorithm 1 are computed from.
        """

    def differences(self, log: Log, nodes: Sequence[Node], edges: Sequence[Edge],
                    vectors: Vectors, name_vectors: Vectors) -> dict[str, int]:
        """For each table of the graph, how many rows differ from those of this graph."""

    def drop(self) -> None:
        """Throw away what was computed from the log; the next assembly makes it anew."""

    def altered(self) -> tuple[str, ...]:
        """What is not as the last assembly left it, in words for each table of the graph.

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

    def edges(self, ids: Iterable[str]) -> tuple[Edge, ...]:
        """The edges that have one of these nodes at an end."""

    def labels(self, ids: Iterable[str]) -> dict[frozenset[str], str]:
        """What the relations between these nodes are called, by their two ends."""

    def digest(self) -> str:
        """SHA-256 of the graph, its passages and the mentions they rest on.

        Two workspaces with the same live documents have the same digest, whatever happened
        to them; neither times nor row numbers enter it.
        """

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

    def forget_replies(self, documents: Iterable[str]) -> None:
        """Drop what models said of these documents; what it cost stays in the ledger."""

class JobQueue(Protocol):
    """Jobs that wait, and the lease of the one process that works."""

    def lease(self) -> AbstractContextManager[None]:
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

    def give_back_lease(self) -> None:
        """End the claim before the end of the `lease()` block."""

    def check_lease(self) -> None:
        """Inside `lease()`: refuse to go on when the claim was lost."""

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
    def layers(self) -> LayerStore: ...

    @property
    def runs(self) -> RunStore: ...

    @property
    def ledger(self) -> Ledger: ...

    @property
    def queue(self) -> JobQueue: ...

    @property
    def edits(self) -> Edits: ...


    @property
    def url(self) -> str:
        """Where it is, for `open_workspace`."""

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def path(self) -> Path: ...

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

    def compact(self) -> None:
        """Make it as small as it can be, to ship it or to archive it."""

    def backup(self, destination: str) -> None:
        """Copy it, while others may write, and verify the copy.

        Raises
        ------
        StoreError
            The destination exists, or the copy is not sound.
        """


class Backend(Protocol):
    """The package of a backend, as `qafd.storage.BACKENDS` names it."""

    def url_of(self, path: str) -> str:
        """The URL of what lies at a path."""

    def open_workspace(self, url: str, read_only: bool, make: bool) -> Workspace:
        """Open it, see `qafd.storage.open_workspace`."""

    def remove_workspace(self, url: str) -> None:
        """Delete it, see `qafd.storage.remove_workspace`."""

    def is_writable(self, url: str) -> bool:
        """Whether it can be changed."""
