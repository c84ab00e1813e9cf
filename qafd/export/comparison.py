"""The nodes and passages of a comparison as one table."""

from dataclasses import dataclass

from qafd.retrieve.compare import ComparedMethod, Comparison
from qafd.view.drawing import largest_of, share_of


@dataclass(frozen=True)
class Row:
    """A name or passage and, column by column, its share of the best score; None where it was not found."""

    name: str
    kind: str
    shares: tuple[float | None, ...]

    @property
    def times(self) -> int:
        """Number of methods that found it."""
        return sum(share is not None for share in self.shares)


def rows(comparison: Comparison) -> tuple[Row, ...]:
    """List everything that a method found: names first, then passages within the budget.

    Rows that most methods found come first, then those of the largest shares.
    """
    named: dict[str, tuple[str, str]] = {}
    for retrieval in comparison.retrievals.values():
        named |= {node.id: (node.name, node.kind) for node in retrieval.nodes if node.id not in named}
        named |= {passage.id: (passage.name, "passage") for passage in retrieval.passages}
    columns = list(map(_share_scores, comparison.columns))
    table = [Row(name, kind, tuple(found.get(key) for found in columns))
             for key, (name, kind) in named.items()]
    return tuple(sorted((row for row in table if row.times), key=lambda row: (
        row.kind == "passage", -row.times, -sum(filter(None, row.shares)), row.name)))


def _share_scores(column: ComparedMethod) -> dict[str, float]:
    """Return the score of each node and passage over the method's largest of its kind, by id."""
    if column.retrieval is None:
        return {}
    nodes, passages = column.retrieval.nodes, column.retrieval.passages
    best = max((passage.score for passage in passages), default=0.0)
    found = {node.id: share_of(node.importance, largest_of(nodes)) for node in column.found}
    return found | {passage.id: share_of(passage.score, best) for passage in passages}
