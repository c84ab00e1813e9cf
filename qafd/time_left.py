"""The remaining time of a long task, from its speed so far."""

import time
from collections.abc import Callable

SETTLE = 5.0  # seconds that are measured before anything is said
STEPS = 4  # reports of progress in them
GIVES_WAY = 0.25  # share by which the remaining time must be wrong to be said anew


class TimeLeft:
    """An estimate of the remaining time of a task.

    It counts down. It is corrected only if the measured speed differs by more than a quarter, so
    that it does not flicker.

    Parameters
    ----------
    clock : callable
        The time in seconds, never going back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.share = 0.0
        self._start: tuple[float, float] | None = None
        self._done, self._steps = 0.0, 0
        self._end: float | None = None

    def note(self, done: float, total: float) -> None:
        """Note the amount done of `total`; less than before restarts, infinity means unknown."""
        now = self._clock()
        if self._start is None or done < self._done:
            self._start, self._steps, self._end = (now, done), 0, None
        self._steps += done > self._done
        self._done = done
        self.share = min(done / total, 1.0) if total else 0.0
        elapsed, gained = now - self._start[0], done - self._start[1]
        if total == float("inf") or elapsed < SETTLE or self._steps < STEPS or not gained:
            return
        left = max(total - done, 0.0) * elapsed / gained
        if self._end is None or abs(now + left - self._end) > GIVES_WAY * left:
            self._end = now + left

    @property
    def left(self) -> float | None:
        """The remaining seconds, None while unknown."""
        return None if self._end is None else self._end - self._clock()


def ignore_progress(*_: object) -> None:
    """Ignore the progress of a task."""
