"""Retrievals that are stored for good, plans, and the history of kept runs."""

import hashlib
import json
import secrets
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from qafd.errors import StoreError
from qafd.reading.text.plaintext import storable
from qafd.records import Keyword, QueryPlan
from qafd.storage.rows import SavedRetrieval, checksum, now
from qafd.storage.sqlite.file import Part


class SqliteRuns(Part):
    """The tables of retrievals, runs and plans."""

    def save(self, retrieval: Mapping[str, Any], plan: Mapping[str, Any],
                       layout: Mapping[str, Any], run: Mapping[str, Any] | None = None) -> str:
        """Store a retrieval for good and return its id."""
        body = json.dumps({"retrieval": retrieval, "plan": plan, "layout": layout,
                           "run": run or {}}).encode()
        key = secrets.token_hex(6)
        with self._file.transaction() as connection:
            connection.execute(
                "INSERT INTO retrievals VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (key, storable(retrieval["query"]), retrieval["method"],
                 json.dumps(retrieval["params"]), retrieval["revision"], now(),
                 hashlib.sha256(body).hexdigest(), zlib.compress(body)))
        return key

    def load(self, key: str) -> SavedRetrieval:
        """A stored retrieval, as it was."""
        with self._file.snapshot() as connection:
            row = connection.execute(
                "SELECT id, created_at, revision, sha256, body FROM retrievals WHERE id = ?",
                (key,)).fetchone()
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

    def save_plan(self, plan: QueryPlan) -> None:
        """Keep a plan, so that its question can be asked again without a model."""
        body = {"keywords": [[k.text, k.level] for k in plan.keywords], "names": plan.names,
                "notices": plan.notices, "read": plan.read}
        vectors = (plan.embedding.astype("<f4").tobytes(),
                   plan.keyword_embeddings.astype("<f4").tobytes())
        question = storable(plan.question)
        body["sha256"] = _plan_sum(question, body, *vectors)
        with self._file.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO plans VALUES (?, ?, ?, ?)",
                               (question, json.dumps(body), *vectors))

    def plan(self, question: str) -> QueryPlan | None:
        """The plan kept for a question; None when the graph has changed since, or the plan has."""
        with self._file.snapshot() as connection:
            row = connection.execute(
                "SELECT body, embedding, keyword_embeddings FROM plans WHERE question = ?",
                (storable(question),)).fetchone()
        if row is None or not plan_holds(storable(question), *row):
            return None
        body = json.loads(row[0])
        embedding = np.frombuffer(row[1], "<f4")
        return QueryPlan(
            question, tuple(Keyword(*keyword) for keyword in body["keywords"]), embedding,
            np.frombuffer(row[2], "<f4").reshape(-1, len(embedding)), tuple(body["names"]),
            tuple(body["notices"]), read=body.get("read", ""))


def plan_holds(question: str, body: str, embedding: bytes, keywords: bytes) -> bool:
    """Whether a stored plan is as it was saved; one from before plans had checksums is not."""
    try:
        said = json.loads(body)
        return bool(said.pop("sha256") == _plan_sum(question, said, embedding, keywords))
    except (ValueError, TypeError, LookupError, AttributeError):
        return False


def _plan_sum(question: str, body: Mapping[str, Any], embedding: bytes, keywords: bytes) -> str:
    return checksum(question, json.dumps(body, sort_keys=True), embedding, keywords)
