"""The calls to language models: what was paid for, and the replies, never paid for twice."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from qafd.reading.text.plaintext import storable
from qafd.records import GIVEN, Description
from qafd.storage.sqlite.workspace import Workspace, bump, meta, now, set_meta

BY = ("chunk", "document", "question", "run", "model", "purpose")
"""What the ledger can be summed by."""


@dataclass(frozen=True)
class Call:
    """One call. `status` is "ok", "rejected" (paid, but of no use) or "failed".

    `key` is a hash of everything that was sent; `cost` is in dollars, None without a price.
    `chunk`, `document` and `question` say what it was for.
    """

    key: str
    purpose: str
    model: str
    status: str
    reply: str
    tokens_in: int
    tokens_out: int
    estimated: bool = False
    cut: bool = False
    cost: float | None = None
    seconds: float = 0.0
    chunk: str = ""
    document: str = ""
    question: str = ""
    run: str = ""


@dataclass(frozen=True)
class Total:
    """A sum over calls; `estimated` where some of the tokens are, `unpriced` counts calls."""

    what: str
    calls: int
    tokens_in: int
    tokens_out: int
    estimated: bool
    cost: float
    unpriced: int
    seconds: float


@dataclass(frozen=True)
class Said:
    """A description and the passage that it rests on.

    `model` wrote it, "" where the file of a graph brought it.
    """

    description: Description
    chunk: str
    document: str
    title: str
    page: int | None
    model: str


class LedgerStore(Workspace):
    """A workspace that remembers the calls to models and the doubts about what they gave."""

    def put_call(self, call: Call) -> None:
        """Note a call, at once when it has ended."""
        with self.transaction() as connection:
            connection.execute(
                "INSERT INTO llm_calls (key, purpose, model, status, reply, tokens_in, "
                "tokens_out, estimated, cut, cost, seconds, chunk, document, question, run, "
                "created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (call.key, call.purpose, call.model, call.status, storable(call.reply),
                 call.tokens_in, call.tokens_out, call.estimated, call.cut, call.cost,
                 call.seconds, call.chunk, storable(call.document), storable(call.question),
                 call.run, now()))

    def good_call(self, key: str) -> Call | None:
        """The latest call with this key whose reply was of use."""
        with self.snapshot() as connection:
            row = connection.execute(
                "SELECT key, purpose, model, status, reply, tokens_in, tokens_out, estimated, "
                "cut, cost, seconds, chunk, document, question, run FROM llm_calls "
                "WHERE key = ? AND status = 'ok' ORDER BY id DESC LIMIT 1", (key,)).fetchone()
        return None if row is None else Call(*(*row[:7], bool(row[7]), bool(row[8]), *row[9:]))

    def ledger(self, by: str = "run", run: str | None = None) -> tuple[Total, ...]:
        """What was spent, summed by one of `BY`, the latest first; of one run, or of all."""
        if by not in BY:
            raise ValueError(by)
        with self.snapshot() as connection:
            return tuple(Total(*(*row[:4], bool(row[4]), *row[5:])) for row in connection.execute(
                f"SELECT {by}, count(*), sum(tokens_in), sum(tokens_out), max(estimated), "
                "total(cost), sum(cost IS NULL), sum(seconds) FROM llm_calls "
                f"WHERE ? IS NULL OR run = ? GROUP BY {by} ORDER BY max(id) DESC", (run, run)))

    def forget_replies(self, documents: Iterable[str]) -> None:
        """Drop what models said of these documents; what it cost stays in the ledger."""
        with self.transaction() as connection:
            connection.executemany(
                "UPDATE llm_calls SET reply = '', key = '', document = '', chunk = '', "
                "status = 'rejected' WHERE document = ?", [(name,) for name in documents])

    def said_of(self, *keys: str) -> tuple[Said, ...]:
        """What models said of an entity and its relations, passage by passage.

        Parameters
        ----------
        keys : str
            As in `Node.key`, and those that edits made one with it.
        """
        with self.reading() as connection:
            # Few are said of one entity: they are found first, whatever the planner thinks.
            rows = connection.execute(
                "WITH wanted AS (SELECT value FROM json_each(?)), "
                "said AS MATERIALIZED (SELECT * FROM descriptions "
                "  WHERE source IN wanted OR target IN wanted) "
                "SELECT source, target, said.kind, said.text, keywords, strength, "
                "  live.id, live.document, live.title, live.page, "
                "  iif(EXISTS (SELECT 1 FROM extractions AS given WHERE given.chunk = live.id "
                "    AND given.extractor = ?), '', extractor) "
                "FROM said CROSS JOIN extractions ON extractions.id = said.extraction "
                "CROSS JOIN live ON live.extraction = said.extraction "
                "ORDER BY live.document, live.position, said.position",
                (json.dumps(keys), GIVEN))
            # An extractor is called as its model, with "/" and how it was asked.
            return tuple(Said(_described(row[:6]), *(*row[6:10], row[10].rpartition("/")[0]))
                         for row in rows)

    @property
    def choice(self) -> str:
        """Which models read this workspace (see `qafd.ingest.reader`); "" for the local ones."""
        with self.snapshot() as connection:
            return meta(connection, "choice")

    def choose(self, choice: str, anew: bool) -> None:
        """Let other models read from the next run on, all that was read before too if `anew`."""
        with self.transaction() as connection:
            set_meta(connection, "choice", choice)
            if anew and meta(connection, "extractor"):
                bump(connection, "log_revision")

    def doubts(self) -> dict[str, tuple[str, ...]]:
        """File names to why passages of theirs were not read by the model as they should be."""
        found: dict[str, tuple[str, ...]] = {}
        with self.snapshot() as connection:
            for source, reason in connection.execute(
                    "SELECT source, reason FROM doubts JOIN live USING (extraction) "
                    "JOIN documents ON documents.name = live.document "
                    "ORDER BY documents.position, live.position"):
                found[source] = (*found.get(source, ()), reason)
        return found


def put_descriptions(
    connection: sqlite3.Connection, extraction: int, descriptions: Iterable[Description]
) -> None:
    connection.executemany(
        "INSERT INTO descriptions VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [(extraction, i, d.source, d.target, d.kind, d.text,
          json.dumps(d.keywords, ensure_ascii=False), d.strength)
         for i, d in enumerate(descriptions)])


def descriptions_of(connection: sqlite3.Connection) -> dict[int, tuple[Description, ...]]:
    """Row of the log to its descriptions, in order."""
    found: dict[int, list[Description]] = {}
    for at, *fields in connection.execute(
            "SELECT extraction, source, target, kind, text, keywords, strength "
            "FROM descriptions ORDER BY extraction, position"):
        found.setdefault(at, []).append(_described(fields))
    return {at: tuple(some) for at, some in found.items()}


def _described(row: Sequence[Any]) -> Description:
    source, target, kind, text, keywords, strength = row
    return Description(source, target, kind, text, tuple(json.loads(keywords)), strength)
