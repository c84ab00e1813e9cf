"""What everybody together may spend on a day: all sessions, commands and jobs of one folder."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from qafd.json_files import lock_file, replace_json
from qafd.models.cost import Cap, Meter, Spent


class Allowance(Meter):
    """A meter that is kept in a file, and begins anew at midnight UTC.

    Parameters
    ----------
    file : path
        Made when the first call is paid for; one that cannot be read counts as empty.
    cap : Cap
        Of a day.
    """

    scope = "day"

    def __init__(self, file: Path, cap: Cap) -> None:
        super().__init__(cap)
        self.file = file

    @classmethod
    def share(cls, file: Path, cap: Cap) -> None:
        """Let all meters of this process count here too."""
        Meter.shared = cls(file, cap)

    @staticmethod
    def told() -> list[Any] | None:
        """The shared one for another process, see `take`."""
        shared = Meter.shared
        return [str(shared.file), asdict(shared.cap)] if isinstance(shared, Allowance) else None

    @classmethod
    def take(cls, told: list[Any] | None) -> None:
        """Share what another process told."""
        if told is not None:
            cls.share(Path(told[0]), Cap(**told[1]))

    @contextmanager
    def _held(self) -> Iterator[None]:
        with super()._held(), lock_file(self.file):
            today = datetime.now(UTC).date().isoformat()
            self.spent = self._read(today)
            yield
            replace_json(self.file, {"day": today, **asdict(self.spent)})

    def _read(self, today: str) -> Spent:
        try:
            kept: dict[str, Any] = json.loads(self.file.read_text("utf-8"))
            if kept.pop("day") == today:
                return Spent(int(kept["calls"]), int(kept["tokens"]), float(kept["cost"]))
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            pass
        return Spent()
