"""The progress of a long command, on stderr."""

import math
import shutil
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from qafd.reading.text.plaintext import one_line
from qafd.time_left import TimeLeft
from qafd.wording.counts import say_left

if TYPE_CHECKING:
    from qafd.ingest.engine import Progress

EVERY = 10.0  # seconds between lines in a log
ASKED = 1.0  # seconds between two estimates of the rest
UNITS = {"parsing": "files", "extracting": "passages", "assembling": "passages"}
"""The units of stages whose `current` does not name them."""


class ProgressLine:
    """A line that is rewritten on a terminal, or printed again after `EVERY` seconds in a log.

    Parameters
    ----------
    ahead : callable, optional
        Returns the number of passages expected beyond those that "extracting" counts.
    """

    def __init__(self, ahead: Callable[[], float] = float) -> None:
        self._ahead = ahead

    def __enter__(self) -> Self:
        self._watched = sys.stderr.isatty()
        self._said = time.monotonic()
        self._asked, self._more = -math.inf, 0.0
        self._paces: dict[str, TimeLeft] = {}
        return self

    def __call__(self, stage: str, done: int, total: int, current: str = "") -> None:
        """Show that `done` of `total` have passed `stage`, and the current item.

        Files that are parsed between passages are not shown.
        """
        if stage == "parsing" and "extracting" in self._paces:
            return
        left = self._left(stage, done, total)
        text = f"{stage} {self._word_count(stage, done, total)} {one_line(current, 30 if left else 50)}"
        if left:
            text = f"{text.rstrip()}, {left}"
        if self._watched:
            self._write(text.rstrip())
        elif time.monotonic() - self._said >= EVERY:
            self._said = time.monotonic()
            print(text.rstrip(), file=sys.stderr, flush=True)

    def _left(self, stage: str, done: int, total: int) -> str:
        pace = self._paces.setdefault(stage, TimeLeft())
        if stage != "extracting":
            pace.note(done, total)
        elif time.monotonic() - self._asked >= ASKED:
            self._asked, self._more = time.monotonic(), self._ahead()
            pace.note(done, total + self._more)
        return say_left(pace.left)

    def _word_count(self, stage: str, done: int, total: int) -> str:
        """Word the count; files that are not parsed yet add an estimate of passages."""
        unit = UNITS.get(stage, "")
        if stage != "extracting" or not self._more:
            return f"{done}/{total} {unit}".rstrip()
        if math.isinf(self._more):
            return f"{done} {unit}"
        return f"{done} of about {total + self._more:.0f} {unit}"

    def _write(self, text: str) -> None:
        """Rewrite the line, cut to the width of the terminal."""
        room = shutil.get_terminal_size().columns - 1
        print(f"\r{text[:room]:{min(room, 79)}}", end="", file=sys.stderr, flush=True)

    def show(self, progress: "Progress") -> None:
        """Show a report of the library."""
        self(progress.stage, progress.done, progress.total, progress.current)

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._watched:
            self._write("")
            print(end="\r", file=sys.stderr, flush=True)
