"""Records that are made when they are read.

A diffusion touches thousands of nodes in a large graph and a person sees a hundred of them, so the
results of a method stay in arrays until their records are read.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, SupportsIndex, TypeVar, overload

import numpy as np

from qafd.records import Nodes

T = TypeVar("T", covariant=True)


class Deferred(Sequence[T], Generic[T]):
    """A sequence like a tuple, whose records are made from arrays when they are read.

    A slice makes its part only; all records are made, and kept, once they are gone through. Equal to
    any sequence of equal records; a copy or pickle of it is a plain tuple.

    Parameters
    ----------
    length : int
    make : callable
        From places, shape (k,) and each below `length`, their records.
    columns : mapping of str to sequence of length `length`
        Fields that can be read without their records, see `column`.
    """

    def __init__(self, length: int, make: Callable[[Nodes], Sequence[T]],
                 columns: Mapping[str, Sequence[Any]]) -> None:
        self.columns = columns
        self._length, self._make = length, make
        self._made: tuple[T, ...] | None = None

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: SupportsIndex) -> T: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[T, ...]: ...

    def __getitem__(self, at: SupportsIndex | slice) -> T | tuple[T, ...]:
        if self._made is not None:
            return self._made[at]
        places = np.arange(self._length)[at]
        if isinstance(at, slice):
            return tuple(self._make(places))
        return self._make(places.reshape(1))[0]

    def __iter__(self) -> Iterator[T]:
        if self._made is None:
            self._made = tuple(self._make(np.arange(self._length)))
        return iter(self._made)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # as for a list

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[type[tuple[T, ...]], tuple[tuple[T, ...]]]:
        return tuple, (tuple(self),)


def column(records: Sequence[Any], name: str) -> Sequence[Any]:
    """Return one field of all records, without making those that are deferred where it lies ready."""
    if isinstance(records, Deferred) and name in records.columns:
        return records.columns[name]
    return [getattr(record, name) for record in records]
