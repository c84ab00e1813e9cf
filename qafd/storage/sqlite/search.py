"""Words looked for in the passages of the graph, with what was found of them marked."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from qafd.reading.text.plaintext import clean, storable
from qafd.reading.text.scripts import is_unspaced
from qafd.records import Chunk
from qafd.storage.sqlite.log import CHUNK
from qafd.storage.sqlite.workspace import Workspace

FOUND = 20  # passages
MOST = 100  # words and phrases that are looked for
SNIPPET = 40  # words of a passage that are shown, at most 64
NEAR = 100  # characters to each side of what is no word
_ON, _OFF = "\x02", "\x03"  # no stored text has them
_TERM = re.compile(r'"([^"]*)"|(\w+)')
_STRING = re.compile(r'"([^"]*)"|([^\s"]+)')

Parts = tuple[tuple[str, bool], ...]


@dataclass(frozen=True)
class Hit:
    """A passage that was found; `score` >= 0, larger is better.

    `parts` is the part of its text with most of the words, in pieces: the words themselves, with
    True, and what stands between them.
    """

    chunk: Chunk
    score: float
    parts: Parts


@dataclass(frozen=True)
class Found:
    """The best of `total` passages with all words, or with some where none has all.

    `said` is a sentence when this is not all that was asked for, else "".
    """

    hits: tuple[Hit, ...]
    total: int
    said: str = ""


class SearchStore(Workspace):
    """A workspace whose passages can be searched."""

    def search(self, text: str, k: int = FOUND, document: str | None = None) -> Found:
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
        if len(terms) > MOST:
            terms, said = terms[:MOST], f" Only the first {MOST} words were looked for."
        found = self._best(" ".join(terms), k, document) if terms else Found((), 0)
        if not found.hits and len(terms) > 1:
            found = self._best(" OR ".join(terms), k, document)
            if found.hits:
                said = f"No passage has all of these words; these have some.{said}"
        if not found.hits:
            # no words of the index: a part of a word, a sign
            found = self._literal([start], k, document)
        if not found.hits and text.strip():
            return Found((), 0, ("No passage has " + (
                "this." if len(terms) < 2 else "any of these words.") + said))
        return Found(found.hits, found.total, said.strip())

    def _literal(self, sought: Sequence[str], k: int, document: str | None) -> Found:
        """The passages that have all these very characters, in the order of documents."""
        if not all(sought):
            return Found((), 0)
        chosen = ("FROM passages WHERE NOT EXISTS (SELECT 1 FROM json_each(?1) "
                  "WHERE NOT instr(text, value)) AND (?2 IS NULL OR document = ?2)")
        asked = json.dumps(list(sought))
        with self.snapshot() as connection:
            total = connection.execute(f"SELECT count(*) {chosen}", (asked, document)
                                       ).fetchone()[0]
            rows = connection.execute(
                f"SELECT {CHUNK} {chosen} ORDER BY document, start LIMIT ?3",
                (asked, document, k)).fetchall()
        return Found(tuple(Hit(chunk, 0.0, _around(chunk.text, sought[0]))
                           for chunk in (Chunk(*row) for row in rows)), total)

    def _best(self, match: str, k: int, document: str | None) -> Found:
        chosen = ("FROM passages_fts JOIN passages ON passages.rowid = passages_fts.rowid "
                  "WHERE passages_fts MATCH ?1 AND (?2 IS NULL OR document = ?2)")
        with self.snapshot() as connection:
            total = connection.execute(f"SELECT count(*) {chosen}", (match, document)).fetchone()[0]
            scores = dict(connection.execute(
                f"SELECT passages.id, -bm25(passages_fts) AS score {chosen} "
                "ORDER BY score DESC, passages.id LIMIT ?3", (match, document, k)).fetchall())
            # a snippet is made for every row that is read, so not before the best are known
            rows = {row[0]: row for row in connection.execute(
                f"SELECT {_columns()}, snippet(passages_fts, 1, ?4, ?5, '…', ?6) {chosen} "
                "AND passages.id IN (SELECT value FROM json_each(?3))",
                (match, document, json.dumps(list(scores)), _ON, _OFF, SNIPPET))}
        return Found(tuple(Hit(Chunk(*rows[key][:-1]), score, _parts(rows[key][-1]))
                           for key, score in scores.items()), total)


def _columns() -> str:
    return ", ".join(f"passages.{column}" for column in CHUNK.split(", "))


def _terms(text: str) -> list[str]:
    """The words and phrases of a text as FTS5 takes them, each once."""
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


def _parts(snippet: str) -> Parts:
    parts: list[tuple[str, bool]] = []
    for piece in re.split(f"({_ON}[^{_OFF}]*{_OFF}?)", snippet):
        if piece:
            parts.append((piece.strip(_ON + _OFF), piece[0] == _ON))
    return tuple(parts)
