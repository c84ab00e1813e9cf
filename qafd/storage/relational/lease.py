"""The claim of the one process that works on a workspace."""

import os
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager

from qafd.storage.relational.base import Part


class Lease(Part, ABC):
    """The row of the lease; how it is claimed and kept alive is what a backend adds."""

    @abstractmethod
    def hold(self) -> AbstractContextManager[None]:
        """Be the one process that extends the log; the claim is renewed in the background.

        Raises
        ------
        BusyError
            Another living process holds the lease.
        DiskFullError
            There is no room for the work.
        """

    @property
    @abstractmethod
    def writer(self) -> int | None:
        """The process that holds the lease and is alive, or None."""

    def give_back(self) -> None:
        """End the claim before the end of the `hold()` block."""
        self._write("DELETE FROM lease WHERE token = ?", self._file.token)

    def check(self) -> None:
        """Inside `hold()`: refuse to go on when the claim was lost."""
        self._file.check_lease()


def runs(pid: int) -> bool:
    """Return True if a process of this host has this number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
