"""Two retrievals on one layout, and the common nodes of many."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from qafd.retrieve.base import Retrieval


@dataclass(frozen=True)
class Contrast:
    """The differences of two retrievals, node by node.

    Parameters
    ----------
    signed : tuple of (id, float)
        Square root of importance over the largest, the first's minus the second's: between -1
        (most important in the second, absent in the first) and 1; largest magnitude first.
        Of all nodes that either retrieved.
    both, only_first, only_second : tuple of str
        Retrieved nodes, in the order of the retrieval they come from.
    """

    first: Retrieval
    second: Retrieval
    signed: tuple[tuple[str, float], ...]
    both: tuple[str, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]

    @property
    def overlap(self) -> float:
        """Return the Jaccard index of the retrieved nodes; 1 when both are empty."""
        union = len(self.both) + len(self.only_first) + len(self.only_second)
        return len(self.both) / union if union else 1.0


def contrast(first: Retrieval, second: Retrieval) -> Contrast:
    """Contrast two retrievals from one graph: questions, phrasings, or parameters."""
    a, b = _relative(first), _relative(second)
    signed = [(node, a.get(node, 0.0) - b.get(node, 0.0)) for node in a | b]
    return Contrast(
        first, second, tuple(sorted(signed, key=lambda pair: (-abs(pair[1]), pair[0]))),
        tuple(n for n in a if n in b), tuple(n for n in a if n not in b),
        tuple(n for n in b if n not in a))


def core(retrievals: Sequence[Retrieval]) -> tuple[tuple[str, int], ...]:
    """Count how many of some retrievals have each node, most first.

    Those that all have are the stable core; equal counts are ordered by their sum of
    relative importance.
    """
    shares = [_relative(r) for r in retrievals]
    count: Counter[str] = Counter()
    weight: Counter[str] = Counter()  # of numbers that need not be whole
    for share in shares:
        count.update(share.keys())
        weight.update(share)
    return tuple(sorted(count.items(), key=lambda item: (-item[1], -weight[item[0]], item[0])))


def _relative(retrieval: Retrieval) -> dict[str, float]:
    full = {n.id: n.importance for n in retrieval.retrieved}
    top = max(full.values(), default=0.0)
    return {node: (x / top) ** 0.5 if top > 0 else 0.0 for node, x in full.items()}
