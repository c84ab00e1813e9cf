"""The search of a workspace file: FTS5 finds and ranks passages, and cuts what is shown of them."""

from collections.abc import Sequence

from qafd.records import Chunk
from qafd.storage.relational.base import to_json
from qafd.storage.relational.log import columns_of
from qafd.storage.relational.passages import SqlPassages
from qafd.storage.relational.text_search import OFF, ON, SNIPPET, match_of, snippet_parts
from qafd.storage.rows import Found, Hit


class SqlitePassages(SqlPassages):
    """The passages of the graph, searched by FTS5."""

    def _any(self, terms: Sequence[str]) -> bool:
        """Return True if a passage has all of these words and phrases; the first found is enough."""
        if not terms:
            return False
        with self._file.reading() as connection:
            return connection.execute(
                "SELECT 1 FROM passages_fts WHERE passages_fts MATCH ? LIMIT 1",
                (match_of(terms, True),)).fetchone() is not None

    def _best(self, terms: Sequence[str], every: bool, k: int, document: str | None) -> Found:
        """The k best passages with all of these words and phrases, or with any; one is given."""
        match = match_of(terms, every)
        chosen = ("FROM passages_fts JOIN passages ON passages.rowid = passages_fts.rowid "
                  "WHERE passages_fts MATCH ?1 AND (?2 IS NULL OR document = ?2)")
        with self._file.snapshot() as connection:
            total = connection.execute(f"SELECT count(*) {chosen}", (match, document)).fetchone()[0]
            scores = dict(connection.execute(
                f"SELECT passages.id, -bm25(passages_fts) AS score {chosen} "
                "ORDER BY score DESC, passages.id LIMIT ?3", (match, document, k)).fetchall())
            # a snippet is made for every row that is read, so not before the best are known
            rows = {row[0]: row for row in connection.execute(
                f"SELECT {columns_of('passages')}, snippet(passages_fts, 1, ?4, ?5, '…', ?6) "
                f"{chosen} AND passages.id IN (SELECT value FROM json_each(?3))",
                (match, document, to_json(scores), ON, OFF, SNIPPET))}
        return Found(tuple(Hit(Chunk(*rows[key][:-1]), score, snippet_parts(rows[key][-1]))
                           for key, score in scores.items()), total)
