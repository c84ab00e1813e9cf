"""A document as it is read: some of its passages in order, with the names of the graph in them."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from qafd.assemble import node_id
from qafd.errors import StoreError
from qafd.records import Chunk, Mark
from qafd.storage import Workspace
from qafd.storage.sqlite.documents import PAGES
from qafd.storage.sqlite.log import CHUNK

SIZE = 40  # passages of an excerpt: some 40,000 characters
BEFORE = 8  # of them before the one that is asked for
OPENING = 90  # characters


@dataclass(frozen=True)
class Named:
    """An entity's name at `text[start:end]` of a passage."""

    start: int
    end: int
    name: str


@dataclass(frozen=True)
class Passage:
    """The passage with a number, from 1 on; `above` is what stands between it and the one before.

    `names` are those of entities of the graph, in order, none inside another.
    """

    number: int
    chunk: Chunk
    above: str
    names: tuple[Named, ...]

    @property
    def subject(self) -> str:
        """Its title where it names that, else the name it has most often; "" without names."""
        often = Counter(found.name for found in self.names)
        if self.chunk.title in often:
            return self.chunk.title
        return max(often, key=lambda name: often[name], default="")


@dataclass(frozen=True)
class Head:
    """What is known of a document; `pages` is 0 where its format has none.

    `original` says whether the bytes of its file are stored, which are dropped when it was read.
    """

    name: str
    source: str
    title: str
    kind: str
    characters: int
    passages: int
    pages: int
    deleted_at: str | None
    original: bool


@dataclass(frozen=True)
class Excerpt:
    """Some passages of a document that has `document.passages` of them, and where pages begin."""

    document: Head
    passages: tuple[Passage, ...]
    marks: tuple[Mark, ...] = ()

    @property
    def first(self) -> int:
        """The number of its first passage, 1 where there is none."""
        return self.passages[0].number if self.passages else 1

    @property
    def last(self) -> int:
        """The number of its last passage, 0 where there is none."""
        return self.passages[-1].number if self.passages else 0


@dataclass(frozen=True)
class Line:
    """A passage in the list of a document's passages, with the beginning of its text."""

    number: int
    chunk: str
    page: int | None
    heading: str
    opening: str


def number_of(store: Workspace, document: str, chunk: str) -> int | None:
    """Which passage of its document a passage is, from 1 on; None when it is not in there."""
    with store.snapshot() as connection:
        row = connection.execute("SELECT position FROM chunks WHERE document = ? AND id = ?",
                                 (document, chunk)).fetchone()
    return None if row is None else int(row[0]) + 1


def excerpt(store: Workspace, document: str, first: int = 1, size: int = SIZE) -> Excerpt:
    """The passages of a document from a number on, deleted documents too.

    Raises
    ------
    StoreError
        There is no such document.
    """
    with store.snapshot() as connection:
        head = _head(store, document)
        first = max(1, min(first, head.passages - size + 1))
        found = connection.execute(
            f"SELECT position + 1, {CHUNK} FROM chunks WHERE document = ? "
            "AND position >= ? - 2 AND position < ? ORDER BY position",
            (document, first, first + size - 1)).fetchall()
        chunks = [(number, Chunk(*fields)) for number, *fields in found]
        names = _names(store, [chunk.id for _, chunk in chunks])
        start = chunks[0][1].start if chunks and chunks[0][0] > 1 else 0
        text, marks = connection.execute(
            "SELECT substr(text, ? + 1, ?), marks FROM documents WHERE name = ?",
            (start, chunks[-1][1].end - start if chunks else 0, document)).fetchone()
    passages, end = [], start
    for number, chunk in chunks:
        above = text[end - start:chunk.start - start].strip()
        if number >= first:
            passages.append(Passage(number, chunk, above, names.get(chunk.id, ())))
        end = chunk.end
    return Excerpt(head, tuple(passages), tuple(Mark(*mark) for mark in json.loads(marks)))


def around(number: int) -> int:
    """Where an excerpt begins that has a passage not far below its beginning."""
    return max(1, number - BEFORE)


def outline(store: Workspace, document: str) -> tuple[Line, ...]:
    """All passages of a document, in order."""
    with store.snapshot() as connection:
        return tuple(Line(*row) for row in connection.execute(
            "SELECT position + 1, id, page, heading, substr(text, 1, ?) FROM chunks "
            "WHERE document = ? ORDER BY position", (OPENING, document)))


def _head(store: Workspace, document: str) -> Head:
    with store.snapshot() as connection:
        row = connection.execute(
            "SELECT documents.name, source, title, kind, length(text), "
            "  (SELECT count(*) FROM chunks WHERE document = documents.name), "
            f"  {PAGES}, "
            "  documents.deleted_at, data IS NOT NULL "
            "FROM documents JOIN files ON files.name = source WHERE documents.name = ?",
            (document,)).fetchone()
    if row is None:
        raise StoreError(f"There is no document called {document[:200]!r} in this workspace.")
    return Head(*(*row[:8], bool(row[8])))


def _names(store: Workspace, chunks: Sequence[str]) -> dict[str, tuple[Named, ...]]:
    """The names of entities in some passages, as the edits in force let them be understood."""
    merged = store.edits.merged()
    found: dict[str, list[tuple[int, int, str]]] = {}
    with store.snapshot() as connection:
        rows = connection.execute(
            'SELECT chunk, key, start, "end" FROM extractions JOIN mentions '
            "  ON extraction = extractions.id "
            'WHERE chunk IN (SELECT value FROM json_each(?)) AND extractor = ? AND "end" > start',
            (json.dumps(chunks), store.log.extractor)).fetchall()
    for chunk, key, start, end in rows:
        found.setdefault(chunk, []).append((start, end, node_id("entity", merged.get(key, key))))
    nodes = store.graph.nodes({node for some in found.values() for *_, node in some})
    kept: dict[str, tuple[Named, ...]] = {}
    for chunk, some in found.items():
        names: list[Named] = []
        for start, end, node in sorted(some, key=lambda place: (place[0], -place[1])):
            if node in nodes and start >= (names[-1].end if names else 0):
                names.append(Named(start, end, nodes[node].name))
        kept[chunk] = tuple(names)
    return kept
