"""Words of passages as SQLite's FTS5 takes and ranks them, which every backend's search follows."""

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager

from qafd.storage.relational.base import Connection
from qafd.storage.rows import Parts

TOKENIZER = "porter unicode61 remove_diacritics 2"
"""The FTS5 tokenizer of the search."""
SNIPPET = 40  # words of a passage that are shown, at most 64
ON, OFF = "\x02", "\x03"  # no stored text has them


def match_of(terms: Sequence[str], every: bool) -> str:
    """Return the FTS5 query for passages with all of these words and phrases, or with any."""
    return (" " if every else " OR ").join(terms)


def snippet_parts(snippet: str) -> Parts:
    """A snippet as its words that were sought, with True, and the text between them."""
    parts: list[tuple[str, bool]] = []
    for piece in re.split(f"({ON}[^{OFF}]*{OFF}?)", snippet):
        if piece:
            parts.append((piece.strip(ON + OFF), piece[0] == ON))
    return tuple(parts)


@contextmanager
def index_in_memory(rows: Iterable[tuple[int, str, str]]) -> Iterator[sqlite3.Connection]:
    """An index `passages_fts` like that of a file over rows of number, title and text."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute(
            f"CREATE VIRTUAL TABLE passages_fts USING fts5 (title, text, tokenize='{TOKENIZER}')")
        connection.executemany(
            "INSERT INTO passages_fts (rowid, title, text) VALUES (?, ?, ?)", rows)
        yield connection


def list_words(connection: Connection) -> Iterator[tuple[str, int, str, int]]:
    """Each word of an index with its row, its column and where in it, all in order."""
    connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.words "
                       "USING fts5vocab ('main', 'passages_fts', 'instance')")
    yield from connection.execute(
        "SELECT term, doc, col, offset FROM temp.words ORDER BY 1, 2, 3, 4")
