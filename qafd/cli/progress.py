"""How far a long command is, on stderr."""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from qafd.pace import Pace
from qafd.reading.text.plaintext import one_line
from qafd.wording.counts import say_left

if TYPE_CHECKING:
    from qafd.ingest.progress import Progress

EVERY = 10.0  # seconds between lines where nothing can be written over
ASKED = 1.0  # seconds between two questions after what is ahead


class ProgressLine:
    """One line, written over on a terminal; in a log, a new one after `EVERY` seconds.

    Parameters
    ----------
    ahead : callable, optional
        How many passages are expected beyond those that "extracting" knows of.
    """

    def __init__(self, ahead: Callable[[], float] = float) -> None:
        self._ahead = ahead

    def __enter__(self) -> Self:
        self._watched = sys.stderr.isatty()
        self._said = self._asked = time.monotonic()
        self._paces: dict[str, Pace] = {}
        return self

    def __call__(self, stage: str, done: int, total: int, current: str = "") -> None:
        """Say that `done` of `total` are through `stage`, and what is at work.

        Files that are parsed between passages are not told; the passages are further.
        """
        if stage == "parsing" and "extracting" in self._paces:
            return
        left = self._left(stage, done, total)
        text = f"{stage} {done}/{total} {one_line(current, 30 if left else 50)}"
        if left:
            text = f"{text.rstrip()}, {left}"
        if self._watched:
            print(f"\r{text:79}", end="", file=sys.stderr, flush=True)
        elif time.monotonic() - self._said >= EVERY:
            self._said = time.monotonic()
            print(text.rstrip(), file=sys.stderr, flush=True)

    def _left(self, stage: str, done: int, total: int) -> str:
        pace = self._paces.setdefault(stage, Pace())
        if stage != "extracting":
            pace.note(done, total)
        elif time.monotonic() - self._asked >= ASKED:
            self._asked = time.monotonic()
            pace.note(done, total + self._ahead())
        return say_left(pace.left)

    def show(self, progress: "Progress") -> None:
        """The same for what the library reports."""
        self(progress.stage, progress.done, progress.total, progress.current)

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._watched:
            print(f"\r{'':79}", end="\r", file=sys.stderr, flush=True)
