"""The progress of a long command, on stderr."""

import math
import sys
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from qafd.reading.text.plaintext import one_line

if TYPE_CHECKING:
    from qafd.ingest.engine import Progress

EVERY = 10.0  # seconds between lines in a log
UNITS = {"parsing": " files", "extracting": " passages", "assembling": " passages"}


class ProgressLine:
    """A bar for each stage of a command; in a log a line each `EVERY` seconds.

    Parameters
    ----------
    ahead : callable, optional
        Returns the number of passages expected beyond those that "extracting" counts.
    """

    def __init__(self, ahead: Callable[[], float] = float) -> None:
        self._ahead = ahead
        self._bar: Any = None
        self._stages: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __call__(self, stage: str, done: int, total: int, current: str = "") -> None:
        """Show that `done` of `total` have passed `stage`, and the current item.

        Files that are parsed between passages are not shown.
        """
        if stage == "parsing" and "extracting" in self._stages:
            return
        if self._bar is None or self._stages[-1] != stage:
            self._begin(stage)
        more = self._ahead() if stage == "extracting" else 0.0
        self._bar.total = None if math.isinf(more) else total + round(more)
        self._bar.set_postfix_str(one_line(current, 30), refresh=False)
        self._bar.update(done - self._bar.n)

    def show(self, progress: "Progress") -> None:
        """Show a report of the library."""
        self(progress.stage, progress.done, progress.total, progress.current)

    def _begin(self, stage: str) -> None:
        from tqdm import tqdm  # which help need not load

        self._end()
        self._stages.append(stage)
        watched = sys.stderr.isatty()
        self._bar = tqdm(desc=stage, unit=UNITS.get(stage, ""), leave=False, dynamic_ncols=True,
                         file=sys.stderr, mininterval=0.1 if watched else EVERY,
                         delay=0 if watched else EVERY)

    def _end(self) -> None:
        if self._bar is not None:
            self._bar.close()

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._end()
