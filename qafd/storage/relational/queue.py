"""The queue of jobs: waiting, running and finished ones."""

import json
from collections.abc import Collection, Iterable

from qafd.storage.relational.base import Part
from qafd.storage.rows import Job, now

_COLUMNS = "id, state, stage, done, total, current, error, created_at, started_at, finished_at"
_OPEN = "('queued', 'running', 'paused')"
_UNREAD = "status IN ('queued', 'parsing', 'extracting') AND deleted_at IS NULL"


class SqlQueue(Part):
    """The table of jobs."""

    def add(self, layers: Iterable[str] = ()) -> int:
        """A new job that waits, and builds these layers; its number."""
        with self._file.transaction() as connection:
            return int(connection.execute(
                "INSERT INTO jobs (state, created_at, layers) VALUES ('queued', ?, ?) RETURNING id",
                (now(), ",".join(layers))).fetchone()[0])

    def claim(self, foreign: Collection[int] = ()) -> int | None:
        """Let the first job that is not over and not `foreign` run, and count that it was started."""
        with self._file.transaction() as connection:
            row = connection.execute(
                "UPDATE jobs SET state = 'running', error = '', starts = starts + 1, "
                "started_at = coalesce(started_at, ?) WHERE id = "
                f"(SELECT min(id) FROM jobs WHERE state IN {_OPEN} AND id NOT IN "
                "  (SELECT CAST(value AS INTEGER) FROM json_each(?))) RETURNING id",
                (now(), json.dumps(list(foreign)))).fetchone()
        return None if row is None else int(row[0])

    def stuck(self, starts: int) -> tuple[Job, ...]:
        """The running jobs that were started so often without getting any further."""
        return self._jobs("WHERE state = 'running' AND starts >= ? ORDER BY id", starts)

    def report(self, job: int, stage: str, done: int, total: int, current: str) -> None:
        """Note how far a job has come; once it reads or embeds, its starts count again."""
        self._write(
            "UPDATE jobs SET stage = ?1, done = ?2, total = ?3, current = ?4, "
            "starts = CASE WHEN ?1 IN ('extracting', 'embedding') THEN 0 ELSE starts END "
            "WHERE id = ?5", stage, done, total, current, job)

    def cancel(self, job: int) -> bool:
        """Ask for the end of a job; True for one that had not begun and is over at once."""
        with self._file.transaction() as connection:
            connection.execute(
                "UPDATE jobs SET cancel = 1 WHERE id = ? AND state = 'running'", (job,))
            return bool(connection.execute(
                "UPDATE jobs SET state = 'cancelled', finished_at = ? "
                "WHERE id = ? AND state IN ('queued', 'paused')", (now(), job)).rowcount)

    def is_cancelled(self, job: int) -> bool:
        """Return True if a job was cancelled or is gone."""
        row = self._row("SELECT cancel FROM jobs WHERE id = ?", job)
        return row is None or bool(row[0])

    def finish(self, job: int, error: str = "") -> None:
        """End a job: cancelled if its end was asked for, else done."""
        self._write(
            "UPDATE jobs SET state = CASE cancel WHEN 1 THEN 'cancelled' ELSE 'done' END, "
            "error = ?, cancel = 0, finished_at = ? WHERE id = ?", error, now(), job)

    def fail(self, job: int, error: str) -> None:
        """End a job that cannot go on, for a reason in one sentence."""
        self._write(
            "UPDATE jobs SET state = 'failed', error = ?, cancel = 0, finished_at = ? WHERE id = ?",
            error, now(), job)

    def pause(self, error: str) -> None:
        """Pause all queued and running jobs until `claim` takes them."""
        self._write("UPDATE jobs SET state = 'paused', error = ? "
                    "WHERE state IN ('queued', 'running')", error)

    def latest(self, limit: int = 20) -> tuple[Job, ...]:
        """The latest jobs, newest first."""
        return self._jobs("ORDER BY id DESC LIMIT ?", limit)

    def open(self) -> tuple[Job, ...]:
        """The jobs that are not over, oldest first."""
        return self._jobs(f"WHERE state IN {_OPEN} ORDER BY id")

    def files(self, job: int, foreign: Collection[int] = ()) -> tuple[str, ...]:
        """Return the unfinished files of a job, and those that no other open or `foreign` job will
        finish."""
        return tuple(row[0] for row in self._rows(
            f"SELECT name FROM files WHERE {_UNREAD} AND (job = ? OR NOT EXISTS "
            f"  (SELECT 1 FROM jobs WHERE id = files.job AND (state IN {_OPEN} OR id IN "
            "   (SELECT CAST(value AS INTEGER) FROM json_each(?))))) "
            "ORDER BY rowid", job, json.dumps(list(foreign))))

    def layers(self, job: int) -> set[str]:
        """The layers that a job was made for."""
        row = self._row("SELECT layers FROM jobs WHERE id = ?", job)
        return set(filter(None, row[0].split(",")))

    def given(self, job: int) -> tuple[str, ...]:
        """All files that a job was made to read, those that are read already too."""
        return tuple(row[0] for row in self._rows(
            "SELECT name FROM files WHERE job = ? ORDER BY rowid", job))

    def failed_files(self, job: int) -> int:
        """Count the files of a job that could not be read."""
        return int(self._row(
            "SELECT count(*) FROM files WHERE job = ? AND status = 'failed'",
            job)[0])

    def orphans(self) -> int:
        """Count the files that wait without a job."""
        return int(self._row(f"SELECT count(*) FROM files WHERE job IS NULL AND {_UNREAD}")[0])

    def measure_unparsed(self, job: int | None = None) -> tuple[int, int, int]:
        """Bytes that wait to be parsed, for a job or all; bytes that were, and their passages."""
        return tuple(self._row(
            "SELECT coalesce(sum(size) FILTER (WHERE status IN ('queued', 'parsing') "
            "    AND deleted_at IS NULL AND (CAST(?1 AS INTEGER) IS NULL OR job = ?1)), 0), "
            "  coalesce(sum(size) FILTER (WHERE status IN ('extracting', 'done')), 0), "
            "  (SELECT count(*) FROM chunks) FROM files", job))

    def _jobs(self, which: str, *values: int) -> tuple[Job, ...]:
        return tuple(Job(*row) for row in self._rows(
            f"SELECT {_COLUMNS} FROM jobs {which}", *values))
