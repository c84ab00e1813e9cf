"""The passages of the graph: read, searched by words, and with what was found in them."""

import json
import re
import sqlite3
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import groupby

from qafd.edits import MENTION_KINDS, split_names
from qafd.reading.text import canonical
from qafd.reading.text.plaintext import clean, storable
from qafd.reading.text.scripts import is_unspaced
from qafd.records import GIVEN, Chunk, Vectors, node_id, type_of
from qafd.storage.relational.base import NUMBERS, Connection, Part, meta, to_json, to_json_numbers
from qafd.storage.relational.graph import SqlGraph
from qafd.storage.relational.log import (
    CHUNK,
    SqlEdits,
    SqlLog,
    SqlVectors,
    columns_of,
    description_of,
)
from qafd.storage.rows import (
    MOST_WORDS,
    SEARCHED,
    Evidence,
    Found,
    Hit,
    Parts,
    Said,
    SentenceName,
    hash_number,
    passage_key,
    texts,
)

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


NEAR = 100  # characters to each side of what is no word
_TERM = re.compile(r'"([^"]*)"|(\w+)')
_STRING = re.compile(r'"([^"]*)"|([^\s"]+)')


def _check_texts(chunk: Chunk) -> Chunk:
    texts((chunk.document, chunk.title, chunk.text, chunk.heading))
    return chunk


class SqlPassages(Part):
    """The passages of the graph, and what was found in them."""

    def get(self, ids: Iterable[str]) -> dict[str, Chunk]:
        """The passages of the graph among these chunk ids."""
        with self._file.reading() as connection:
            rows = connection.execute(
                f"SELECT {CHUNK} FROM passages WHERE id IN (SELECT value FROM json_each(?))",
                (to_json(ids),))
            return {row[0]: _check_texts(Chunk(*row)) for row in rows}

    def of_nodes(self, ids: Iterable[str]) -> dict[str, Chunk]:
        """The passages that nodes with these ids are, by the node's id."""
        with self._file.reading() as connection:
            rows = connection.execute(
                f"SELECT nodes.id, {columns_of('passages')} FROM nodes "
                "JOIN passages ON passages.id = nodes.key "
                f"WHERE kind = 'passage' AND number IN {NUMBERS}", (to_json_numbers(ids),))
            return {node: _check_texts(Chunk(*row)) for node, *row in rows}

    def parts(self, documents: Iterable[str] | None = None) -> Iterator[Chunk]:
        """Return the passages, without text, of all or some documents that have several; in order."""
        some = "" if documents is None else "WHERE document IN (SELECT value FROM json_each(?)) "
        with self._file.snapshot() as connection:
            for row in connection.execute(
                    "SELECT id, document, title, '', start, \"end\", page, heading FROM passages "
                    f"WHERE document IN (SELECT document FROM passages {some}GROUP BY document "
                    "HAVING count(*) > 1) ORDER BY document, start",
                    () if documents is None else (to_json(documents),)):
                yield Chunk(*row)

    def sentences(
        self, ids: Iterable[str]
    ) -> dict[str, tuple[tuple[int, int, Vectors], ...]]:
        """(start, end, vector) of the sentences of these chunks, offsets within the chunk.

        Vectors, shape (d,), are pooled in the context of the passage; a sentence whose vector is
        not stored is left out.
        """
        with self._file.snapshot() as connection:
            model = meta(connection, "embedder")
            live = connection.execute("SELECT id, title, text FROM live WHERE id IN "
                                      "(SELECT value FROM json_each(?))", (to_json(ids),)).fetchall()
            spans = SqlLog(self._file).spans([row[0] for row in live])
            keys = {chunk: passage_key(model, title, text, spans[chunk])
                    for chunk, title, text in live if chunk in spans}
            stored = SqlVectors(self._file).rows(keys.values())
        found: dict[str, tuple[tuple[int, int, Vectors], ...]] = {}
        for chunk, key in keys.items():
            if key in stored:
                starts, ends = zip(*spans[chunk], strict=True)
                found[chunk] = tuple(zip(starts, ends, stored[key][1:], strict=True))
        return found

    def sentence_texts(
        self, places: Iterable[tuple[str, int]]
    ) -> dict[tuple[str, int], str]:
        """Return the texts of these sentences by chunk and number, without removed ones."""
        return {(chunk, at): text for chunk, at, text in self._rows(
            "SELECT live.id, sentences.position, "
            '  substr(live.text, sentences.start + 1, sentences."end" - sentences.start) '
            "FROM json_each(?) AS wanted JOIN live ON live.id = json_extract(wanted.value, '$[0]') "
            "JOIN sentences ON sentences.extraction = live.extraction "
            "  AND sentences.position = CAST(json_extract(wanted.value, '$[1]') AS INTEGER)",
            to_json(places))}

    def names(self, ids: Iterable[str]) -> dict[tuple[str, int], list[SentenceName]]:
        """Return the names in the sentences of some chunks, by chunk and where the sentence ends in it."""
        found: dict[tuple[str, int], list[SentenceName]] = {}
        with self._file.snapshot() as connection:
            edits = SqlEdits(self._file)
            merged, splits = edits.map_merged(), split_names(edits.all())
            rows = connection.execute(
                'SELECT live.id, sentences."end", mentions.key, mentions.name, mentions.kind '
                "FROM live JOIN mentions USING (extraction) "
                "JOIN sentences ON sentences.extraction = live.extraction "
                "  AND sentences.position = mentions.sentence "
                "WHERE live.id IN (SELECT value FROM json_each(?))", (to_json(ids),))
            for chunk, end, key, text, kind in rows:
                if kind not in MENTION_KINDS:
                    own = merged.get(key, key)
                    own = canonical(splits.get(chunk, {}).get(own, own))
                    found.setdefault((chunk, end), []).append(
                        SentenceName(node_id("entity", own), text, type_of(kind).casefold()))
        return found

    def evidence(self, ids: Iterable[str]) -> tuple[Evidence, ...]:
        """The sentences that mention these nodes, in the order of documents and offsets."""
        wanted = list(ids)
        pairs: dict[tuple[int, str, int], None] = {}
        for edge in SqlGraph(self._file).edges(wanted):
            if edge.kind == "mention":
                for node in {edge.source, edge.target} & set(wanted):
                    pairs.update({(hash_number(node), *place): None for place in edge.evidence})
        with self._file.snapshot() as connection:
            merged = SqlEdits(self._file).map_merged()
            rows = connection.execute(
                "WITH pairs AS (SELECT CAST(json_extract(value, '$[0]') AS BIGINT) AS node, "
                "  json_extract(value, '$[1]') AS chunk, "
                "  CAST(json_extract(value, '$[2]') AS INTEGER) AS at FROM json_each(?)) "
                "SELECT nodes.id, live.id, live.document, live.title, "
                "  substr(live.text, sentences.start + 1, "
                '    sentences."end" - sentences.start), '
                '  live.start + sentences.start, live.start + sentences."end", '
                "  live.page, live.heading, nodes.key, mentions.key, "
                '  live.start + mentions.start, live.start + mentions."end" '
                "FROM pairs JOIN nodes ON nodes.number = pairs.node "
                "JOIN live ON live.id = pairs.chunk "
                "JOIN sentences ON sentences.extraction = live.extraction "
                "  AND sentences.position = pairs.at "
                "LEFT JOIN mentions ON mentions.extraction = live.extraction "
                '  AND mentions.sentence = pairs.at AND mentions."end" > mentions.start '
                "ORDER BY live.document, live.start, sentences.start, nodes.id, "
                "  mentions.position", (to_json(pairs),)).fetchall()
        found: list[Evidence] = []
        for place, some in groupby(rows, lambda row: row[:10]):
            spans = [tuple(row[11:]) for row in some if merged.get(row[10], row[10]) == place[9]]
            found.append(Evidence(*(*place[:9], tuple(spans))))
        return tuple(found)

    def said_of(self, *keys: str) -> tuple[Said, ...]:
        """Return the model descriptions of an entity and its relations, passage by passage.

        Parameters
        ----------
        keys : str
            As in `Node.key`, and those that edits made one with it.
        """
        with self._file.reading() as connection:
            # Few are said of one entity: they are found first, whatever the planner thinks.
            rows = connection.execute(
                "WITH wanted AS (SELECT value FROM json_each(?)), "
                "said AS MATERIALIZED (SELECT * FROM descriptions "
                "  WHERE source IN (SELECT value FROM wanted) OR target IN (SELECT value FROM wanted)) "
                "SELECT source, target, said.kind, said.text, keywords, strength, "
                "  live.id, live.document, live.title, live.page, "
                "  CASE WHEN EXISTS (SELECT 1 FROM extractions AS given WHERE given.chunk = live.id "
                "    AND given.extractor = ?) THEN '' ELSE extractor END "
                "FROM said CROSS JOIN extractions ON extractions.id = said.extraction "
                "CROSS JOIN live ON live.extraction = said.extraction "
                "ORDER BY live.document, live.position, said.position",
                (json.dumps(keys), GIVEN))
            # An extractor is called as its model, with "/" and how it was asked.
            return tuple(Said(description_of(row[:6]), *(*row[6:10], row[10].rpartition("/")[0]))
                         for row in rows)

    def search(self, text: str, k: int = SEARCHED, document: str | None = None) -> Found:
        """The k best passages for the words of a text by BM25, of all documents or of one.

        Words in quotation marks are looked for as a phrase; forms of an English word count as it,
        accents and capitals do not matter. Passages of equal scores are ordered by id. In scripts
        without spaces each string and each phrase is looked for as it is.
        """
        text = storable(text)
        start = clean(text.strip()[:1000])
        if is_unspaced(start):
            strings = ("".join(either).strip() for either in _STRING.findall(start))
            found = self._literal(list(filter(None, strings)), k, document)
            return found if found.hits else Found((), 0, "No passage has this.")
        terms, said = _terms(text), ""
        if len(terms) > MOST_WORDS:
            terms, said = terms[:MOST_WORDS], f" Only the first {MOST_WORDS} words were looked for."
        found = self._best(terms, True, k, document) if terms else Found((), 0)
        if not found.hits and len(terms) > 1:
            found = self._best(terms, False, k, document)
            if found.hits:
                said = f"No passage has all of these words; these have some.{said}"
        if not found.hits:
            # no words of the index: a part of a word, a sign
            found = self._literal([start], k, document)
        if not found.hits and text.strip():
            return Found((), 0, ("No passage has " + (
                "this." if len(terms) < 2 else "any of these words.") + said))
        return Found(found.hits, found.total, said.strip())

    def has_word(self, word: str) -> bool:
        """Return True if a passage has a word, in any of its forms, as `search` takes it."""
        if is_unspaced(word):
            return self.search(word, 1).total > 0
        return self._any(_terms(word))

    def _literal(self, sought: Sequence[str], k: int, document: str | None) -> Found:
        """The passages that have all these very characters, in the order of documents."""
        if not all(sought):
            return Found((), 0)
        chosen = ("FROM passages WHERE NOT EXISTS (SELECT 1 FROM json_each(?1) "
                  "WHERE instr(text, value) = 0) AND (CAST(?2 AS TEXT) IS NULL OR document = ?2)")
        asked = to_json(sought)
        with self._file.snapshot() as connection:
            total = connection.execute(f"SELECT count(*) {chosen}", (asked, document)
                                       ).fetchone()[0]
            rows = connection.execute(
                f"SELECT {CHUNK} {chosen} ORDER BY document, start LIMIT ?3",
                (asked, document, k)).fetchall()
        chunks = [Chunk(*row) for row in rows]
        return Found(tuple(Hit(chunk, 0.0, _around(chunk.text, sought[0])) for chunk in chunks), total)

    @abstractmethod
    def _any(self, terms: Sequence[str]) -> bool:
        """Return True if a passage has all of these words and phrases; the first found is enough."""

    @abstractmethod
    def _best(self, terms: Sequence[str], every: bool, k: int, document: str | None) -> Found:
        """The k best passages with all of these words and phrases, or with any; one is given."""


def _terms(text: str) -> list[str]:
    """The words and phrases of a text, each once and in quotation marks."""
    # cut before it is normalized: a long run of combining marks takes quadratic time
    words = (phrase or word for phrase, word in _TERM.findall(clean(text[:100_000])))
    kept = {word.lower(): word for word in words if re.search(r"\w", word)}
    return [f'"{word}"' for word in kept.values()]


def _around(text: str, sought: str) -> Parts:
    at = text.index(sought)
    start, end = max(0, at - NEAR), min(len(text), at + len(sought) + NEAR)
    parts = (("…" * (start > 0) + text[start:at], False), (sought, True),
             (text[at + len(sought):end] + "…" * (end < len(text)), False))
    return tuple(part for part in parts if part[0])
