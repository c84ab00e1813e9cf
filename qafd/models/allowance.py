"""The daily cap on the spending of all sessions, commands and jobs of one folder."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from qafd.errors import ParameterError
from qafd.json_files import lock_file, replace_json
from qafd.models.cost import Cap, Meter, Spent

MOST = 10**15  # calls, tokens or dollars that a day can have
KEPT = 3  # days in the file: a call that began before midnight is settled against its own


def today() -> str:
    """Return the date in UTC."""
    return datetime.now(UTC).date().isoformat()


class Allowance(Meter):
    """A meter that is stored in a file and restarts at midnight UTC.

    If the clock is set back, the latest day of the file goes on. A file that cannot be read stops
    all calls, because the amount spent is unknown.

    Parameters
    ----------
    file : path
        Created at the first paid call.
    cap : Cap
        The cap of one day.
    clock : callable
        Returns the date.
    """

    scope = "day"

    def __init__(self, file: Path, cap: Cap, clock: Callable[[], str] = today) -> None:
        super().__init__(cap)
        self.file, self._clock = file, clock

    @classmethod
    def share(cls, file: Path, cap: Cap) -> None:
        """Let all meters of this process count here too."""
        Meter.shared = cls(file, cap)

    @staticmethod
    def describe() -> list[Any] | None:
        """Describe the shared allowance for another process, see `take`."""
        shared = Meter.shared
        return [str(shared.file), asdict(shared.cap)] if isinstance(shared, Allowance) else None

    @classmethod
    def take(cls, description: list[Any] | None) -> None:
        """Share the allowance that another process described."""
        if description is not None:
            cls.share(Path(description[0]), Cap(**description[1]))

    def reserve(self, most: Spent) -> str:
        """Count the most that the next request can cost; return the day that it counts on."""
        with self._lock, self._days() as days:
            day = max([self._clock(), *days])
            self.spent = days.get(day, Spent())
            self._check(most)
            days[day] = self.spent = self.spent + most
        return day

    def settle(self, reserved: Spent, real: Spent, day: str = "") -> None:
        """Replace an amount reserved on a day by the real cost of the request."""
        with self._lock, self._days() as days:
            if day in days:
                days[day] = days[day] - reserved + real

    @contextmanager
    def _days(self) -> Iterator[dict[str, Spent]]:
        """Read the spending of each day, and write it back as the block changed it."""
        try:
            with lock_file(self.file):
                days = self._read()
                yield days
                replace_json(self.file, {day: asdict(days[day]) for day in sorted(days)[-KEPT:]})
        except OSError as error:
            raise ParameterError(f"the file of the day's spending, {self.file}, cannot be read or "
                                 f"written ({error}); check it, or choose another QAFD_HOME"
                                 ) from error

    def _read(self) -> dict[str, Spent]:
        try:
            stored = json.loads(self.file.read_text("utf-8"))
            days = {date.fromisoformat(day).isoformat(): Spent(**spent) for day, spent in stored.items()}
            readable = all(map(_is_count, days.values()))
        except FileNotFoundError:
            return {}
        except (ValueError, TypeError, AttributeError, RecursionError):
            readable = False
        if not readable:
            raise ParameterError(f"{self.file} should list today's spending but cannot be read, so no "
                                 "call is made; delete it to restart the day at zero")
        return days


def _is_count(spent: Spent) -> bool:
    """Return True if these numbers can have been counted."""
    whole = type(spent.calls) is int and type(spent.tokens) is int
    return whole and isinstance(spent.cost, int | float) and all(
        0 <= number <= MOST for number in (spent.calls, spent.tokens, spent.cost))
