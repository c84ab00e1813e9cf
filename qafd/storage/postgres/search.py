"""The search of a workspace in PostgreSQL: words as FTS5 takes them, ranked as FTS5 does.

Its own full-text search knows neither FTS5's words nor BM25, and a workspace should be found in
by the same words wherever it lies.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import log

import numpy as np

from qafd.records import Chunk, Floats
from qafd.storage.postgres.connecting import PostgresConnection
from qafd.storage.relational.base import Connection, to_json
from qafd.storage.relational.log import CHUNK
from qafd.storage.relational.passages import (
    OFF,
    ON,
    SNIPPET,
    SqlPassages,
    index_in_memory,
    list_words,
    match_of,
    snippet_parts,
)
from qafd.storage.rows import Found, Hit

BATCH = 2000  # passages whose words are made at once
COLUMN = 1 << 24  # places of a column, so that no phrase goes over two
COLUMNS = {"title": 0, "text": COLUMN}
K1, B = 1.2, 0.75  # of BM25, as in FTS5
RAREST = 1e-6  # what FTS5 takes for the weight of a word that most passages have

Places = Mapping[int, Sequence[int]]
"""Passages that have a word or a phrase, to where."""


def index_passages(connection: PostgresConnection, anew: bool) -> None:
    """Write the words of the passages that have none yet, or of all."""
    if anew:
        connection.execute("UPDATE passages SET words = NULL")
    connection.execute("DELETE FROM meta WHERE key = 'purged'")
    while rows := connection.execute(
            "SELECT rowid, title, text FROM passages WHERE words IS NULL ORDER BY rowid LIMIT ?",
            (BATCH,)).fetchall():
        places: dict[tuple[str, int], list[int]] = defaultdict(list)
        sizes = dict.fromkeys((row[0] for row in rows), 0)
        with index_in_memory(rows) as index:
            for term, passage, column, offset in list_words(index):
                places[term, passage].append(COLUMNS[column] + offset)
                sizes[passage] += 1
        connection.execute("DELETE FROM words WHERE passage IN ("
                           "  SELECT CAST(value AS INTEGER) FROM json_each(?))",
                           (to_json(sizes),))
        with connection.raw.cursor().copy("COPY words FROM STDIN (FORMAT binary)") as copy:
            copy.set_types(["text", "int4", "int4[]"])
            for (term, passage), at in places.items():
                copy.write_row((term, passage, sorted(at)))
        connection.executemany("UPDATE passages SET words = ? WHERE rowid = ?",
                               [(size, passage) for passage, size in sizes.items()])


def read_words(connection: Connection) -> set[tuple[str, int, int]]:
    """Each word of the index with its passage and where in it."""
    return set(connection.execute("SELECT term, passage, unnest(places) FROM words"))


def make_words(connection: Connection) -> set[tuple[str, int, int]]:
    """Compute the words of the current passages that `read_words` should return."""
    with index_in_memory(connection.execute("SELECT rowid, title, text FROM passages")) as index:
        return {(term, passage, COLUMNS[column] + offset)
                for term, passage, column, offset in list_words(index)}


class PostgresPassages(SqlPassages):
    """The passages of the graph, searched in rows of words."""

    def _any(self, terms: Sequence[str]) -> bool:
        """Return True if a passage has all of these words and phrases; the first found is enough."""
        phrases = _tokenize(terms)
        with self._file.snapshot() as connection:
            if sum(map(len, phrases)) == 1:
                return connection.execute("SELECT 1 FROM words WHERE term = ? LIMIT 1",
                                          (phrases[0][0],)).fetchone() is not None
            found = [places.keys() for places in _find(connection, phrases)]
        return bool(found) and bool(set(found[0]).intersection(*found[1:]))

    def _best(self, terms: Sequence[str], every: bool, k: int, document: str | None) -> Found:
        """The k best passages with all of these words and phrases, or with any; one is given."""
        phrases = _tokenize(terms)
        with self._file.snapshot() as connection:
            counts = [_count(found) for found in _find(connection, phrases)]
            passages = set[int]()
            for number, count in enumerate(counts):
                passages = passages & count.keys() if every and number else passages | count.keys()
            rows = connection.execute(
                "SELECT rowid, id, words FROM passages WHERE rowid IN ("
                "  SELECT CAST(value AS INTEGER) FROM json_each(?1)) "
                "AND (CAST(?2 AS TEXT) IS NULL OR document = ?2) ORDER BY id",
                (to_json(passages), document)).fetchall()
            if not rows:
                return Found((), 0)
            many, size = connection.execute(
                "SELECT count(*), sum(words) FROM passages").fetchone()
            scores = _score([row[0] for row in rows], [row[2] for row in rows], counts, many, size)
            # rows are in the order of ids, which a stable sort keeps among equal scores
            best = np.argsort(-scores, kind="stable")[:k].tolist()
            numbers = [rows[at][0] for at in best]
            found = {row[0]: row[1:] for row in connection.execute(
                f"SELECT rowid, {CHUNK} FROM passages WHERE rowid IN "
                "(SELECT CAST(value AS INTEGER) FROM json_each(?))", (json.dumps(numbers),))}
        chunks = {number: Chunk(*found[number]) for number in numbers}
        with index_in_memory([(number, chunk.title, chunk.text)
                              for number, chunk in chunks.items()]) as index:
            snippets = dict(index.execute(
                "SELECT rowid, snippet(passages_fts, 1, ?, ?, '…', ?) FROM passages_fts "
                "WHERE passages_fts MATCH ?", (ON, OFF, SNIPPET, match_of(terms, every))))
        return Found(tuple(Hit(chunks[number], float(scores[at]), snippet_parts(snippets[number]))
                           for number, at in zip(numbers, best, strict=True)), len(rows))


def _tokenize(terms: Sequence[str]) -> list[list[str]]:
    """The words of each phrase as they are indexed; a phrase without any is left out."""
    tokens: list[dict[int, str]] = [{} for _ in terms]
    with index_in_memory([(at, "", term.strip('"')) for at, term in enumerate(terms)]) as index:
        for word, at, _, offset in list_words(index):
            tokens[at][offset] = word
    phrases = []
    for words in filter(None, tokens):
        phrases.append([words[offset] for offset in sorted(words)])
    return phrases


def _find(connection: Connection, phrases: Sequence[Sequence[str]]) -> list[Places]:
    """Find the places of each phrase, by passage."""
    wanted: dict[str, dict[int, Sequence[int]]] = {}
    for phrase in phrases:
        wanted.update((word, {}) for word in phrase)
    for word, passage, places in connection.execute(
            "SELECT term, passage, places FROM words WHERE term IN "
            "(SELECT value FROM json_each(?))", (to_json(wanted),)).fetchall():
        wanted[word][passage] = places
    return [_follow(list(map(wanted.__getitem__, phrase))) for phrase in phrases]


def _follow(words: Sequence[Places]) -> Places:
    """Find the places where these words follow each other."""
    found = words[0]
    for distance, places in enumerate(words[1:], 1):
        following = {}
        for passage in found.keys() & places.keys():
            ends = set(places[passage])
            if starts := [at for at in found[passage] if at + distance in ends]:
                following[passage] = starts
        found = following
    return found


def _count(places: Places) -> dict[int, int]:
    return {passage: len(at) for passage, at in places.items()}


def _score(passages: Sequence[int], sizes: Sequence[int], counts: Sequence[Mapping[int, int]],
           many: int, size: int) -> Floats:
    """BM25 of passages, by the operations of FTS5 in their order: scores are equal to the bit.

    Parameters
    ----------
    passages, sizes : sequence
        Their numbers, and how many words each has.
    counts : sequence of mapping
        For each phrase how often each passage has it.
    many, size : int
        How many passages there are, and words in all of them.
    """
    scores = np.zeros(len(passages))
    lengths = np.array(sizes, dtype=np.float64)
    for count in counts:
        weight = log((many - len(count) + 0.5) / (len(count) + 0.5))
        often = np.array([count.get(passage, 0) for passage in passages], dtype=np.float64)
        scores += (weight if weight > 0 else RAREST) * (
            (often * (K1 + 1.0)) / (often + K1 * (1 - B + B * lengths / (size / many))))
    return scores
