"""Columns that can lie in a file: texts in one block of bytes, vectors of a byte a number, and named
arrays that are mapped.

A mapped array costs no time to open, and of memory only the pages that are read.
"""

import json
import mmap
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import index
from pathlib import Path
from typing import Any, SupportsIndex, overload

import numpy as np
import numpy.typing as npt

from qafd.records import Floats, Nodes, Vectors

Array = npt.NDArray[Any]
Places = npt.NDArray[np.int32]
Arrays = Mapping[str, Array]

MAGIC = b"qafd columns 1\n"
ALIGNED = 4096  # a page: what is read of one array is not read of another
WIDENED = 2048  # rows of bytes that are made floats at a time, which fit into a core's cache
WRITTEN = 1 << 24  # bytes that are written at once
CHECKED = 1 << 17  # bytes to both ends of an array that are compared with its checksum


class TextBlock(Sequence[str]):
    """Texts in one block of bytes; iterating over them makes strings one by one.

    Parameters
    ----------
    data : ndarray of uint8
        Their UTF-8, one after the other.
    bounds : ndarray of int64, shape (n + 1,)
        Text i is `data[bounds[i]:bounds[i + 1]]`.
    """

    def __init__(self, data: npt.NDArray[np.uint8], bounds: Nodes) -> None:
        self.data, self.bounds = data, bounds

    @classmethod
    def of(cls, texts: Iterable[str]) -> "TextBlock":
        """Pack texts into one block."""
        parts = [text.encode("utf-8", "surrogatepass") for text in texts]
        bounds = np.zeros(len(parts) + 1, np.int64)
        np.cumsum([len(part) for part in parts], out=bounds[1:])
        return cls(np.frombuffer(b"".join(parts), np.uint8), bounds)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @overload
    def __getitem__(self, at: SupportsIndex) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...

    def __getitem__(self, at: SupportsIndex | slice) -> str | Sequence[str]:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        place = index(at)
        place += len(self) if place < 0 else 0
        if not 0 <= place < len(self):
            raise IndexError(at)
        return self._bytes(place).decode("utf-8", "surrogatepass")

    def _bytes(self, place: int) -> bytes:
        data, bounds = self._memory
        return bytes(data[bounds[place]:bounds[place + 1]])

    @cached_property
    def _memory(self) -> tuple[memoryview, memoryview]:
        return self.data.data, self.bounds.data  # whose items are found in a third of the time

    def __iter__(self) -> Iterator[str]:
        data = self.data.tobytes()
        for start, end in pairwise(self.bounds.tolist()):
            yield data[start:end].decode("utf-8", "surrogatepass")

    def merge(self, other: "TextBlock", places: Nodes) -> "TextBlock":
        """Return the texts in some places, counted through this block and then through another."""
        bounds = np.zeros(len(places) + 1, np.int64)
        np.cumsum(merge_rows(np.diff(self.bounds), np.diff(other.bounds), places), out=bounds[1:])
        # Texts that lie one after the other are copied at once.
        new = (np.diff(places) != 1) | (places[1:] == len(self))
        firsts = np.concatenate([[0], 1 + np.flatnonzero(new)])[:len(places)]
        lasts = np.append(firsts[1:], len(places))[:len(firsts)] - 1
        parts = []
        for first, last in zip(places[firsts].tolist(), places[lasts].tolist(), strict=True):
            block, before = (self, 0) if first < len(self) else (other, len(self))
            parts.append(block.data[block.bounds[first - before]:block.bounds[last - before + 1]])
        return TextBlock(np.concatenate(parts or [self.data[:0]]), bounds)

    def pick(self, places: Nodes) -> list[str]:
        """Return the texts in some places, which is faster than one by one."""
        data, bounds = self.data.data, self.bounds
        return [str(data[start:end], "utf-8", "surrogatepass") for start, end in zip(
            bounds[places].tolist(), bounds[places + 1].tolist(), strict=True)]

    def near(self, text: str, most: int) -> Nodes:
        """Return the places of the texts that may be within `most` slips of one, ascending.

        A slip changes the number of letters by one at most and the set of ASCII letters by two, so none
        that is within them is missing; texts that use other letters are left out without being read.
        """
        letters, sets = self._letters
        asked_letters, asked_sets = TextBlock.of([text])._letters
        near = np.abs(letters - asked_letters) <= most
        near &= np.bitwise_count(sets ^ asked_sets) <= 2 * most
        return np.flatnonzero(near)

    @cached_property
    def _letters(self) -> tuple[Nodes, npt.NDArray[np.uint64]]:
        """Return the number of letters of each text, and a bit for every 64th part of ASCII in it."""
        begins = np.append(0, np.cumsum(self.data & 0xC0 != 0x80))  # bytes that begin a letter
        letters = np.diff(begins[self.bounds])
        bits = np.left_shift(np.uint64(1), self.data & 63, dtype=np.uint64)
        bits[self.data > 127] = 0
        sets = np.bitwise_or.reduceat(np.append(bits, np.uint64(0)), self.bounds[:-1])
        return letters, np.where(letters > 0, sets, np.uint64(0))

    def find(self, text: str) -> int | None:
        """Return the place of a text, None where it is not; they must be sorted."""
        place = self.place_of(text)
        return place if place < len(self) and self[place] == text else None

    def place_of(self, text: str) -> int:
        """Return the number of texts that are less than one; they must be sorted."""
        return self._first(text.encode("utf-8", "surrogatepass"), 0, len(self), False)

    def beginning(self, start: str, within: range | None = None) -> range:
        """Return the places of the texts that begin so, of all or some places; they must be sorted."""
        inside = range(len(self)) if within is None else within
        sought = start.encode("utf-8", "surrogatepass")
        first = self._first(sought, inside.start, inside.stop, False)
        return range(first, self._first(sought, first, inside.stop, True))

    def _first(self, sought: bytes, low: int, high: int, after: bool) -> int:
        """Return the first place of some of a text that is not less, or that is more and does not begin so.

        Texts and their UTF-8 have one order.
        """
        while low < high:
            middle = (low + high) // 2
            here = self._bytes(middle)
            if here < sought or after and here.startswith(sought):
                low = middle + 1
            else:
                high = middle
        return low

    def having(self, word: str) -> list[int]:
        """Return the places of the texts that have a word between their ends and spaces, ascending."""
        found = []
        # A look ahead takes no letters, so that one found across two texts hides none in the second.
        sought = b"(?=%b)" % re.escape(word.encode("utf-8", "surrogatepass"))
        for match in re.finditer(sought, self.data.data):
            place = int(np.searchsorted(self.bounds, match.start(), "right")) - 1
            if word in self[place].split(" "):
                found.append(place)
        return sorted(set(found))


def pick(texts: Sequence[str], places: Nodes) -> list[str]:
    """Return the texts in some places."""
    if isinstance(texts, TextBlock):
        return texts.pick(places)
    return [texts[place] for place in places.tolist()]


class JoinedRows:
    """Rows of bytes of several arrays, one after the other, which are copied only when they are asked."""

    def __init__(self, *parts: npt.NDArray[np.int8]) -> None:
        self.parts = parts
        self.shape: tuple[int, int] = (sum(map(len, parts)), parts[0].shape[1])
        self.nbytes = sum(part.nbytes for part in parts)
        self.strides, self.dtype = parts[0].strides, parts[0].dtype


Bytes = npt.NDArray[np.int8] | JoinedRows


def join(array: Array | JoinedRows) -> Array:
    """Return an array, copied if it is in parts."""
    return np.concatenate(array.parts) if isinstance(array, JoinedRows) else array


class ByteRows:
    """Unit rows of a byte a number: a quarter of the memory of floats, and all rows are compared with
    a vector in half of the time.

    Parameters
    ----------
    numbers : ndarray of int8, shape (m, d)
        Rows in proportion, which several columns may share.
    lengths : ndarray of float32, shape (m,)
        Of the rows of `numbers`; 1 where all of a row are 0.
    places : ndarray of int32, shape (n,), optional
        The row of `numbers` that each row is; all in their order by default.
    """

    def __init__(self, numbers: Bytes, lengths: Vectors, places: Places | None = None) -> None:
        self.numbers: Any = numbers  # an array as soon as it is asked
        self.lengths = lengths
        self.places = np.arange(len(lengths), dtype=np.int32) if places is None else places

    @classmethod
    def of(cls, numbers: npt.NDArray[np.int8]) -> "ByteRows":
        """Return the rows that these stored numbers stand for."""
        return cls(numbers, lengths_of(numbers))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of numbers in each."""
        return len(self.places), self.numbers.shape[1]

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, rows: int | slice | Nodes | Sequence[int]) -> Vectors:
        """Return one row, shape (d,), or some, as floats."""
        places = self.places[rows]
        some: Vectors = self.numbers[places].astype(np.float32)
        some /= self.lengths[places, None]
        return some

    def __matmul__(self, asked: Vectors | Floats) -> Vectors:
        """Return the products of all rows with a vector, shape (d,), or with the columns of a matrix, (d, k);
        shape (n,) or (n, k)."""
        found = np.empty((len(self.numbers), *asked.shape[1:]), asked.dtype)
        floats = np.empty((min(WIDENED, len(found)), self.numbers.shape[1]), asked.dtype)
        for block in np.flatnonzero(np.bincount(self.places // WIDENED)).tolist():
            span = slice(block * WIDENED, (block + 1) * WIDENED)
            part = self.numbers[span]
            floats[:len(part)] = part
            np.dot(floats[:len(part)], asked, out=found[span])
        products: Vectors = found[self.places]
        products /= self.lengths[self.places].reshape(-1, *[1] * (asked.ndim - 1))
        return products

    def take(self, rows: Nodes) -> "ByteRows":
        """Return some of the rows, which share their numbers with these."""
        return ByteRows(self.numbers, self.lengths, self.places[rows])


def lay_out(vectors: ByteRows, names: ByteRows, same: npt.NDArray[np.bool_]) -> tuple[ByteRows, ByteRows]:
    """Return two columns over shared numbers, in which the rows that are the same in both are first."""
    first, rest = np.flatnonzero(same), np.flatnonzero(~same)
    kept = vectors.places[first], vectors.places[rest], names.places[rest]
    both = join(vectors.numbers), join(names.numbers)
    numbers = np.concatenate([both[0][kept[0]], both[0][kept[1]], both[1][kept[2]]])
    lengths = np.concatenate([vectors.lengths[kept[0]], vectors.lengths[kept[1]], names.lengths[kept[2]]])
    places = np.empty(len(same), np.int32)
    places[first] = np.arange(len(first))
    places[rest] = len(first) + np.arange(len(rest))
    return ByteRows(numbers, lengths, places), ByteRows(
        numbers, lengths, places + np.int32(len(rest)) * ~same)


def append_rows(shared: Sequence[ByteRows], others: Sequence[ByteRows], places: Nodes) -> list[ByteRows]:
    """Return the rows in some places of columns that share numbers, counted through each and then through
    another one; what others have is appended to the numbers, and nothing of them is moved."""
    before = len(shared[0].lengths)
    numbers = JoinedRows(*_parts(shared[0].numbers), *_parts(others[0].numbers))
    lengths = np.concatenate([shared[0].lengths, others[0].lengths])
    return [ByteRows(numbers, lengths, merge_rows(some.places, added.places + before, places))
            for some, added in zip(shared, others, strict=True)]


VectorColumn = Vectors | ByteRows
"""Unit rows, (n, d)."""


def take_rows(vectors: VectorColumn | None, rows: Nodes) -> VectorColumn | None:
    """Return some rows, packed if the vectors are; None without vectors."""
    if isinstance(vectors, ByteRows):
        return vectors.take(rows)
    return None if vectors is None else vectors[rows]


def merge_rows(some: Array, others: Array, places: Nodes) -> Array:
    """Return the rows at some places, which count through `some` first and then through `others`."""
    here = places < len(some)
    merged = np.empty((len(places), *some.shape[1:]), np.result_type(some, others))
    merged[here] = some[places[here]]
    merged[~here] = others[places[~here] - len(some)]
    return merged


@dataclass(frozen=True)
class MergedLists:
    """Ascending entries in lists, list after list, from lists that lost some and got others.

    Parameters
    ----------
    starts : ndarray, shape (k + 1,)
        List i is `entries[starts[i]:starts[i + 1]]`.
    entries : ndarray of int32
    stay : ndarray of bool
        Of the entries before, those that stay.
    at : ndarray
        The place among them before which each new entry is inserted.
    """

    starts: Nodes
    entries: Places
    stay: npt.NDArray[np.bool_]
    at: Nodes

    @classmethod
    def merge(cls, starts: Nodes, entries: Places, renamed: tuple[Nodes, Places], count: int,
              added: tuple[Nodes, Places]) -> "MergedLists":
        """Return `count` lists.

        Parameters
        ----------
        starts, entries : ndarray
            The lists before.
        renamed : tuple of ndarray
            The new number of each list and of each entry, ascending; -1 for what is gone.
        added : tuple of ndarray
            New entries, ascending, and before them the number of the list of each, ascending.
        """
        numbers = renamed[1][entries]
        stay = (numbers >= 0) & np.repeat(renamed[0] >= 0, np.diff(starts))
        numbers = numbers[stay]
        before = np.zeros(len(stay) + 1, np.int32)
        np.cumsum(stay, out=before[1:])
        here = renamed[0] >= 0
        sizes = np.zeros(count, np.int64)
        sizes[renamed[0][here]] = np.diff(before[starts])[here]
        begins = np.cumsum(sizes) - sizes
        # Only lists that get some are searched, all in one.
        lists, which = np.unique(added[0], return_inverse=True)
        width = max(int(added[1].max(initial=0)), len(renamed[1]), 1) + count + 1
        known = np.repeat(np.arange(len(lists)) * width, sizes[lists])
        known += numbers[expand_slices(begins[lists], sizes[lists])]
        inside = np.searchsorted(known, which * width + added[1])
        at = inside + (begins[lists] - np.cumsum(sizes[lists]) + sizes[lists])[which]
        sizes += np.bincount(added[0], minlength=count)
        return cls(np.append(0, np.cumsum(sizes)), np.insert(numbers, at, added[1]), stay, at)

    def insert(self, some: Array, others: Array) -> Array:
        """Return values of the entries, from those of the entries before and of the new ones."""
        return np.insert(some[self.stay], self.at, others)


def to_bytes(rows: Vectors) -> npt.NDArray[np.int8]:
    """Scale rows, (n, d), to 8-bit integers by the largest number of each."""
    wide = rows.astype(np.float64)
    most = np.abs(wide).max(axis=1, keepdims=True, initial=0)
    return np.rint(wide * 127 / np.where(most, most, 1)).astype(np.int8)


def expand_slices(starts: Nodes, counts: Nodes) -> Nodes:
    """Return the places of some slices, one slice after the other; shape (sum of the counts,)."""
    return np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())


def lengths_of(numbers: npt.NDArray[np.int8]) -> Vectors:
    """Return the lengths of rows of integers, (n,), the same bits on every machine; 1 for zeros."""
    lengths = np.empty(len(numbers), np.float32)
    for first in range(0, len(numbers), WIDENED):
        floats = numbers[first:first + WIDENED].astype(np.float32)
        # whole numbers, whose sum is exact in any order
        squares = np.einsum("ij,ij->i", floats, floats, dtype=np.float64)
        lengths[first:first + WIDENED] = np.maximum(np.sqrt(squares), 1)
    return lengths


TextColumn = tuple[str, ...] | TextBlock
"""Texts in memory, or where they lie."""


class PlaceOf(Mapping[str, int]):
    """The place of each of some sorted texts, by search instead of a table of all of them."""

    def __init__(self, texts: TextBlock) -> None:
        self._texts = texts

    def __getitem__(self, text: str) -> int:
        place = self._texts.find(text)
        if place is None:
            raise KeyError(text)
        return place

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


def write_columns(path: Path, label: str, arrays: Arrays, old: "MappedColumns | None" = None) -> None:
    """Write arrays as one file, each array once, which appears under its name only when it is complete.

    The memory of old columns, whose vectors are in the new ones, is given back on the way.

    Raises
    ------
    OSError
        There is no room, or nothing can be written there.
    """
    kept, at = [], 0
    known: dict[tuple[Any, ...], tuple[int, int]] = {}  # start and checksum of arrays by where they lie
    for name, array in arrays.items():
        memory = *(part.__array_interface__["data"] for part in _parts(array)), array.nbytes, array.strides
        if memory not in known:
            at += -at % ALIGNED
            known[memory] = at, _checksum(array)
            at += array.nbytes
        kept.append((name, array.dtype.str, array.shape, *known[memory]))
    lying = {start: array for array, (*_, start, _) in zip(arrays.values(), kept, strict=True)}
    header = json.dumps([label, at, kept]).encode()
    head = MAGIC + len(header).to_bytes(8) + zlib.crc32(header).to_bytes(4) + header
    first = len(head) + -len(head) % ALIGNED
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            file.write(head)
            for start, array in lying.items():
                file.seek(first + start)
                for data in _slices_of(array):
                    file.write(data)
                    if old:
                        old.release()
            file.truncate(first + at)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


@dataclass(frozen=True)
class MappedColumns:
    """The arrays of a file, read where they lie, and the label that it was written with."""

    label: str
    arrays: dict[str, Array]
    memory: mmap.mmap

    def release(self) -> None:
        """Give back the memory of what was read so far; it is read again when it is needed."""
        self.memory.madvise(mmap.MADV_DONTNEED)


def open_columns(path: Path) -> MappedColumns | None:
    """Map a file of arrays; None where it is not whole."""
    try:
        with path.open("rb") as file:
            # Not only to be read: numba would compile the solver again for such arrays.
            whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    except (OSError, ValueError):  # an empty file cannot be mapped
        return None
    begin = len(MAGIC) + 12
    length = int.from_bytes(whole[len(MAGIC):len(MAGIC) + 8])
    header = whole[begin:begin + length]
    if (whole[:len(MAGIC)] != MAGIC or len(header) < length
            or zlib.crc32(header).to_bytes(4) != whole[begin - 4:begin]):
        return None
    first = begin + length + -(begin + length) % ALIGNED
    found, size, kept = json.loads(header)
    if len(whole) != first + size:
        return None
    arrays: dict[str, Array] = {}
    for name, kind, shape, start, checksum in kept:
        count = int(np.prod(shape, dtype=np.int64))
        arrays[name] = np.frombuffer(whole, kind, count, first + start).reshape(shape)
        if _checksum(arrays[name]) != checksum:
            return None
        whole.madvise(mmap.MADV_DONTNEED)  # what was read for its checksum alone
    return MappedColumns(found, arrays, whole)


def _parts(array: Array | JoinedRows) -> tuple[Array, ...]:
    return array.parts if isinstance(array, JoinedRows) else (array,)


def _bytes_of(array: Array | JoinedRows) -> list[memoryview]:
    """Return the bytes of an array, part by part."""
    return [np.ascontiguousarray(part).reshape(-1).view(np.uint8).data for part in _parts(array)]


def _slices_of(array: Array | JoinedRows) -> Iterator[memoryview]:
    """Yield the bytes of an array in slices of which each is written at once."""
    for data in _bytes_of(array):
        for at in range(0, len(data), WRITTEN):
            yield data[at:at + WRITTEN]


def _checksum(array: Array | JoinedRows) -> int:
    """Hash an array, or only both ends of a large one, since reading all would take long."""
    size, begin, total = array.nbytes, 0, 0
    for data in _bytes_of(array):
        if size <= 2 * CHECKED:
            total = zlib.crc32(data, total)
        else:
            total = zlib.crc32(data[:max(CHECKED - begin, 0)], total)
            total = zlib.crc32(data[max(size - CHECKED - begin, 0):], total)
        begin += len(data)
    return total


_PARTS = ("numbers", "lengths", "places")  # of `ByteRows`


def flatten(name: str, columns: Mapping[str, Array | TextBlock | ByteRows | None]) -> dict[str, Array]:
    """Return columns as arrays under longer names, without those that are None."""
    arrays: dict[str, Array] = {}
    for column, held in columns.items():
        if isinstance(held, TextBlock):
            arrays |= {f"{name}.{column}.data": held.data, f"{name}.{column}.bounds": held.bounds}
        elif isinstance(held, ByteRows):
            arrays |= {f"{name}.{column}.{part}": getattr(held, part) for part in _PARTS}
        elif held is not None:
            arrays[f"{name}.{column}"] = held
    return arrays


def unflatten(name: str, arrays: Arrays) -> dict[str, Any]:
    """Return the columns that `flatten` made arrays of."""
    columns: dict[str, Any] = {}
    for key, array in arrays.items():
        own, _, rest = key.partition(".")
        column, _, part = rest.partition(".")
        if own == name and part == "data":
            columns[column] = TextBlock(array, arrays[f"{name}.{column}.bounds"])
        elif own == name and part == "numbers":
            columns[column] = ByteRows(*(join(arrays[f"{name}.{column}.{part}"]) for part in _PARTS))
        elif own == name and not part:
            columns[column] = array
    return columns
