"""The calls to language models: what was paid for, and the replies, never paid for twice."""

from collections.abc import Collection, Iterable

from qafd.reading.text.plaintext import storable
from qafd.storage.relational.base import Part, to_json
from qafd.storage.rows import BY, Call, Total, now

ABOUT = """json_each('["' || replace(chunk, ' ', '","') || '"]')"""
"""The passages of a call, a row for each id, in its column value."""
WRITTEN = (f"(purpose = 'write' AND EXISTS (SELECT 1 FROM {ABOUT} JOIN chunks ON chunks.id = value "
           "WHERE chunks.document IN (SELECT value FROM json_each(?))))")
"""Whether a call wrote a text of a layer from passages of some documents."""


class SqlLedger(Part):
    """The table of calls."""

    def put(self, call: Call) -> None:
        """Note a call, at once when it has ended."""
        self._write(
            "INSERT INTO llm_calls (key, purpose, model, status, reply, tokens_in, "
            "tokens_out, estimated, cut, cost, seconds, chunk, document, question, run, "
            "created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            call.key, call.purpose, call.model, call.status, storable(call.reply),
            call.tokens_in, call.tokens_out, int(call.estimated), int(call.cut), call.cost,
            call.seconds, call.chunk, storable(call.document), storable(call.question),
            call.run, now())

    def good_call(self, key: str) -> Call | None:
        """The latest call with this key whose reply was of use."""
        row = self._row(
            "SELECT key, purpose, model, status, reply, tokens_in, tokens_out, estimated, "
            "cut, cost, seconds, chunk, document, question, run FROM llm_calls "
            "WHERE key = ? AND status = 'ok' ORDER BY id DESC LIMIT 1", key)
        return None if row is None else Call(*(*row[:7], bool(row[7]), bool(row[8]), *row[9:]))

    def totals(self, by: str = "run", run: str | None = None) -> tuple[Total, ...]:
        """Sum the spending by one of `BY`, the latest first; of one run, or of all."""
        if by not in BY:
            raise ValueError(by)
        return tuple(Total(*(*row[:4], bool(row[4]), *row[5:])) for row in self._rows(
            f"SELECT {by}, count(*), sum(tokens_in), sum(tokens_out), max(estimated), "
            "coalesce(sum(cost), 0.0), count(*) - count(cost), sum(seconds) FROM llm_calls "
            f"WHERE CAST(?1 AS TEXT) IS NULL OR run = ?1 GROUP BY {by} ORDER BY max(id) DESC", run))

    def useless_replies(self, chunks: Collection[str], most: int) -> dict[str, tuple[str, ...]]:
        """The latest replies for each passage that its reading had no use for, newest first."""
        found: dict[str, tuple[str, ...]] = {}
        for chunk, reply in self._rows(
                f"SELECT value, reply FROM llm_calls, {ABOUT} WHERE status != 'ok' "
                "AND purpose = 'extract' AND value IN (SELECT value FROM json_each(?)) "
                "ORDER BY llm_calls.id DESC", to_json(chunks)):
            found[chunk] = (*found.get(chunk, ()), reply)[:most]
        return found

    def has_read(self, extractor: str) -> bool:
        """Return True if a model was called to read passages as this extractor."""
        return self._row(
            "SELECT 1 FROM llm_calls WHERE purpose = 'extract' "
            "AND substr(?, 1, length(model) + 1) = model || '/'",
            extractor) is not None

    def replies(self, documents: Collection[str]) -> int:
        """Count the replies about these documents or about a question, except its plan."""
        names = to_json(documents)
        return int(self._row(
            "SELECT count(*) FROM llm_calls WHERE reply != '' AND (document IN "
            "  (SELECT value FROM json_each(?)) OR question != '' AND purpose != 'plan' "
            f"OR {WRITTEN})", names, names)[0])

    def forget_replies(self, documents: Iterable[str]) -> None:
        """Drop what models write of these documents; what it cost stays in the ledger."""
        names = to_json(documents)
        self._write(
            "UPDATE llm_calls SET reply = '', key = '', document = '', chunk = '', "
            "status = 'rejected' WHERE document IN (SELECT value FROM json_each(?)) "
            f"OR {WRITTEN}", names, names)
