"""How far a long command is, on stderr."""

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from qafd.plaintext import one_line

if TYPE_CHECKING:
    from qafd.index import Progress

EVERY = 10.0  # seconds between lines where nothing can be written over


class Meter:
    """One line, written over on a terminal; in a log, a new one after `EVERY` seconds."""

    def __enter__(self) -> Self:
        self._watched = sys.stderr.isatty()
        self._said = time.monotonic()
        return self

    def __call__(self, stage: str, done: int, total: int, current: str = "") -> None:
        """Say that `done` of `total` are through `stage`, and what is at work."""
        text = f"{stage} {done}/{total} {one_line(current, 50)}"
        if self._watched:
            print(f"\r{text:79}", end="", file=sys.stderr, flush=True)
        elif time.monotonic() - self._said >= EVERY:
            self._said = time.monotonic()
            print(text.rstrip(), file=sys.stderr, flush=True)

    def show(self, progress: "Progress") -> None:
        """The same for what the library reports."""
        self(progress.stage, progress.done, progress.total, progress.current)

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._watched:
            print(f"\r{'':79}", end="\r", file=sys.stderr, flush=True)
