"""Retrievals that are stored for good, plans, and the history of kept runs."""

import hashlib
import json
import secrets
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from qafd.errors import StoreError
from qafd.reading.text.plaintext import storable
from qafd.reasons import Notice, NoticeKind, notice
from qafd.records import Keyword, QueryPlan
from qafd.storage.packing import checksum
from qafd.storage.relational.base import Part, upsert
from qafd.storage.rows import RunRow, SavedRetrieval, now


class SqlRuns(Part):
    """The tables of retrievals, runs and plans."""

    def save(self, retrieval: Mapping[str, Any], plan: Mapping[str, Any],
                       layout: Mapping[str, Any], run: Mapping[str, Any] | None = None) -> str:
        """Store a retrieval for good and return its id.

        Parameters
        ----------
        retrieval, plan, layout, run : mapping of plain JSON values
            `Retrieval.to_dict()`, the query plan, the positions of the drawn nodes, and what else
            `qafd.runs` keeps.
        """
        body = json.dumps({"retrieval": retrieval, "plan": plan, "layout": layout,
                           "run": run or {}}).encode()
        key = secrets.token_hex(6)
        self._write(
            "INSERT INTO retrievals VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            key, storable(retrieval["query"]), retrieval["method"],
            json.dumps(retrieval["params"]), retrieval["revision"], now(),
            hashlib.sha256(body).hexdigest(), zlib.compress(body))
        return key

    def load(self, key: str) -> SavedRetrieval:
        """A stored retrieval, as it was.

        Raises
        ------
        StoreError
            There is none with this id, or its bytes have changed.
        """
        row = self._row(
            "SELECT id, created_at, revision, sha256, body FROM retrievals WHERE id = ?",
            key)
        if row is None:
            raise StoreError(f"There is no stored retrieval {key!r} in this workspace.")
        damaged = f"The stored retrieval {key} is damaged; run the question again."
        try:
            body = zlib.decompress(row[4])
        except zlib.error as error:
            raise StoreError(damaged) from error
        if hashlib.sha256(body).hexdigest() != row[3]:
            raise StoreError(damaged)
        return SavedRetrieval(*row[:4], **json.loads(body))

    def keep(self, key: str, note: str, nodes: int, tokens: int, exact: bool | None) -> None:
        """Put a stored retrieval into the history."""
        self._write("INSERT INTO runs VALUES (?, ?, ?, ?, ?, NULL)",
                    key, note, nodes, tokens, None if exact is None else int(exact))

    def history(self) -> tuple[RunRow, ...]:
        """The kept runs, newest first."""
        rows = self._rows(
            "SELECT id, created_at, query, method, params, revision, nodes, tokens, exact, note "
            "FROM runs JOIN retrievals USING (id) WHERE deleted_at IS NULL "
            "ORDER BY created_at DESC, id")
        return tuple(
            RunRow(key, made_at, question, method, json.loads(params), revision, nodes, tokens,
                   None if exact is None else bool(exact), note)
            for key, made_at, question, method, params, revision, nodes, tokens, exact, note in rows)

    def notes(self, beginning: str) -> dict[str, str]:
        """The notes of the kept runs whose ids begin so, by id; of two at most."""
        return dict(self._rows(
            "SELECT id, note FROM runs WHERE deleted_at IS NULL "
            "AND substr(id, 1, ?) = ? LIMIT 2", len(beginning), beginning))

    def annotate(self, key: str, note: str) -> None:
        """Give a kept run another note."""
        self._write("UPDATE runs SET note = ? WHERE id = ?", note, key)

    def delete(self, keys: Sequence[str]) -> None:
        """Take runs out of the history, those for good that were deleted before."""
        with self._file.transaction() as connection:
            connection.execute("DELETE FROM retrievals WHERE id IN "
                               "(SELECT id FROM runs WHERE deleted_at IS NOT NULL)")
            connection.executemany("UPDATE runs SET deleted_at = ? WHERE id = ?",
                                   [(now(), key) for key in keys])

    def undo(self) -> int:
        """Bring back the runs that were deleted last; how many there were."""
        with self._file.transaction() as connection:
            return connection.execute(
                "UPDATE runs SET deleted_at = NULL WHERE deleted_at IS NOT NULL").rowcount

    def list_deleted(self) -> int:
        """How many runs `undo` would bring back."""
        return int(self._row("SELECT count(*) FROM runs WHERE deleted_at IS NOT NULL")[0])

    def save_plan(self, plan: QueryPlan) -> None:
        """Keep a plan, so that its question can be asked again without a model."""
        body = {"keywords": [[k.text, k.level] for k in plan.keywords], "names": plan.names,
                "notices": [[one.kind, one.values] for one in plan.notices], "read": plan.read,
                "written": plan.written, "about": plan.about}
        vectors = (plan.embedding.astype("<f4").tobytes(),
                   plan.keyword_embeddings.astype("<f4").tobytes())
        question = storable(plan.question)
        body["sha256"] = _plan_sum(question, body, *vectors)
        self._write(upsert("plans", ["question"], ["body", "embedding", "keyword_embeddings"]),
                    question, json.dumps(body), *vectors)

    def plan(self, question: str) -> QueryPlan | None:
        """The plan kept for a question; None when the graph has changed since, or the plan has."""
        row = self._row(
            "SELECT body, embedding, keyword_embeddings FROM plans WHERE question = ?",
            storable(question))
        if row is None or not plan_holds(storable(question), *row):
            return None
        body = json.loads(row[0])
        embedding = np.frombuffer(row[1], "<f4")
        return QueryPlan(
            question, tuple(Keyword(*keyword) for keyword in body["keywords"]), embedding,
            np.frombuffer(row[2], "<f4").reshape(-1, len(embedding)), tuple(body["names"]),
            tuple(_notice_of(one) for one in body["notices"]), read=body.get("read", ""),
            written=tuple((text, key) for text, key in body.get("written", ())),
            about=tuple(map(tuple, body.get("about", ()))))


def _notice_of(kept: Any) -> Notice:
    """A notice as it was kept; those of earlier versions are sentences."""
    if isinstance(kept, str):
        return notice(NoticeKind.GIVEN, text=kept)
    kind, values = kept
    return notice(NoticeKind(kind), **values)


def plan_holds(question: str, body: str, embedding: bytes, keywords: bytes) -> bool:
    """Whether a stored plan is as it was saved; one from before plans had checksums is not."""
    try:
        said = json.loads(body)
        return bool(said.pop("sha256") == _plan_sum(question, said, embedding, keywords))
    except (ValueError, TypeError, LookupError, AttributeError):
        return False


def _plan_sum(question: str, body: Mapping[str, Any], embedding: bytes, keywords: bytes) -> str:
    return checksum(question, json.dumps(body, sort_keys=True), embedding, keywords)
