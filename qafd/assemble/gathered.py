"""What all passages of a name sum up to, exactly, so that one passage can be added or taken away."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from qafd.assemble.parts import Parts
from qafd.assemble.readings import Reading, log_order
from qafd.records import Floats, Nodes, Vectors

HUB = 16  # passages of a name from which its sums are kept
BLOCK = 128  # names whose vectors are summed at once, which fit into a core's cache
STEPS = float(1 << 24)  # in one; numbers of vectors are rounded to such steps before they are added
TERM_FACTOR = 0.1
HUB_EXPONENT = 0.2
TITLE_FACTOR = 4.0
UNTOLD_FACTOR = 0.5  # of a title that no sentence says

Wholes = NDArray[np.int64]
"""Sums of vectors in steps of 2^-24, whose addition is exact in every order."""

Place = tuple[str, int, str]
"""Where a passage stands in the log, see `log_order`."""


@dataclass(frozen=True)
class Gathered:
    """What the passages that have a name say of it together.

    `passages` counts them; `named`, `told`, `titled` and `title` count those whose part is so (see
    `KeyPart`), `names` the spellings. `wide` is the sum of the vectors of the passages, `close` that
    of the sentences, both of shape (d,). `first` is where the first passage stands that has
    the name in a sentence, None where none has, and `evidence` is that sentence.
    """

    passages: int
    named: int
    told: int
    titled: int
    title: int
    names: Counter[str]
    wide: Wholes = field(repr=False, compare=False)
    close: Wholes = field(repr=False, compare=False)
    first: Place | None = None
    evidence: str = ""

    def change(self, gone: "Gathered", fresh: "Gathered") -> "Gathered":
        """These sums without those of some passages and with those of others.

        Where the first passage is among those that are gone, there is none here: it has to be sought.
        """
        names = Counter(self.names)
        names.subtract(gone.names)
        names.update(fresh.names)
        first = self
        if gone.first and gone.first == self.first:
            first = replace(self, first=None, evidence="")
        elif fresh.first and (self.first is None or fresh.first < self.first):
            first = fresh
        return Gathered(
            self.passages - gone.passages + fresh.passages,
            self.named - gone.named + fresh.named, self.told - gone.told + fresh.told,
            self.titled - gone.titled + fresh.titled, self.title - gone.title + fresh.title,
            +names, self.wide - gone.wide + fresh.wide, self.close - gone.close + fresh.close,
            first.first, first.evidence)

    @property
    def scale(self) -> float:
        """The factor that all mention edges of the name have in common."""
        kind = 1.0 if self.named else TERM_FACTOR
        return float(kind / self.passages ** HUB_EXPONENT)

    @property
    def heading(self) -> float:
        """The factor of a mention edge to a passage that has the name as its title or heading."""
        return TITLE_FACTOR if self.told else UNTOLD_FACTOR


def gather(parts: Parts, log: Sequence[Reading], dimension: int) -> Gathered:
    """The sums over all passages of one name.

    Parameters
    ----------
    log : sequence of Reading
        In its order.
    dimension : int
        Of the vectors.
    """
    holding = {number: part for number, part in parts.items() if part.holds}
    names: Counter[str] = Counter()
    for part in parts.values():
        names.update(part.names)
    wide = [log[number].vector for number in holding]
    close: list[Vectors] = []
    said = []
    for number, part in holding.items():
        told_in = {sentence for sentence, _, _ in part.places}
        close += [log[number].sentences[at] for at in told_in]
        if part.places:
            said.append(number)
    first, evidence = None, ""
    if said:
        reading, places = log[min(said)], holding[min(said)].places
        start, end = reading.extraction.sentences[min(places)[0]]
        first, evidence = log_order(reading), reading.chunk.text[start:end]
    count = holding.values()
    return Gathered(
        len(holding), sum(part.named for part in count), sum(part.told for part in count),
        sum(part.titled for part in count), sum(part.title for part in count), names,
        _sum(wide, dimension), _sum(close, dimension), first, evidence)


def is_hub(gathered: Gathered, parts: Parts) -> bool:
    """Whether a name's sums are kept: many passages have it, and no model described it, since
    descriptions stand in the order of the passages."""
    return may_be_hub(gathered) and not is_described(parts)


def may_be_hub(gathered: Gathered) -> bool:
    """Whether the sums of a name that no model described are kept; a sentence tells of it."""
    return gathered.passages > HUB and gathered.told > 0


def is_described(parts: Parts) -> bool:
    """Whether a model said something of the name in one of these passages."""
    return any(part.said or part.related for part in parts.values())


def align(wide: Wholes | Floats, close: Wholes | Floats, told: Vectors | None = None) -> Vectors:
    """The unit vectors of entities, (..., d): halfway between their passages and their sentences.

    The mean of an entity's passages gates best; that of its sentences tells the entities of one
    passage apart.

    Parameters
    ----------
    wide, close : ndarray, shape (..., d)
        See `Gathered`.
    told : ndarray, shape (..., d), optional
        Vectors of what models said of entities; the rows are halfway to them.
    """
    rows = _unit(_unit(wide / STEPS) + _unit(close / STEPS))
    return rows if told is None else _unit(rows + told)


@dataclass(frozen=True)
class Occurrences:
    """Which vectors are summed for each of some names: those of its passages and of its sentences.

    `names`, ascending, are their numbers, of which `owner`, ascending, has that of each occurrence, and
    `row` its vector, shape (k,); `close` says which are of sentences.
    """

    names: Nodes
    owner: Nodes
    row: Nodes
    close: NDArray[np.bool_]

    def sums(self, vectors: Callable[[Nodes], Vectors]) -> Iterator[tuple[Nodes, Floats, Floats]]:
        """Names, (b,), with `wide` and `close` of each, (b, d), block after block; `vectors` gives some
        rows."""
        for first in range(0, len(self.names), BLOCK):
            names = self.names[first:first + BLOCK]
            inside = slice(*np.searchsorted(self.owner, (names[0], names[-1] + 1)))
            owner, close = np.searchsorted(names, self.owner[inside]), self.close[inside]
            used, place = np.unique(self.row[inside], return_inverse=True)
            wholes = _steps(vectors(used))
            shape = len(names), len(used)
            wide, near = (csr_matrix(  # type: ignore[no-untyped-call]
                (some.astype(np.float64), (owner, place)), shape) for some in (~close, close))
            yield names, wide @ wholes, near @ wholes


def _steps(rows: Vectors) -> Floats:
    """Rows in whole steps of 2^-24."""
    whole: Floats = np.rint(rows.astype(np.float64) * STEPS)
    return whole


def _sum(vectors: Sequence[Vectors], dimension: int) -> Wholes:
    rows = np.array(vectors, np.float32).reshape(-1, dimension)
    return np.asarray(_steps(rows).astype(np.int64).sum(axis=0))


def _unit(rows: Vectors | Floats) -> Vectors:
    """Rows scaled to unit length; zeros stay zeros."""
    wide = np.asarray(rows, np.float64)
    lengths = np.sqrt(np.square(wide).sum(axis=-1, keepdims=True))
    return np.asarray(wide / np.maximum(lengths, 1e-12), np.float32)
