"""The nodes and passages of a comparison as one table."""

from dataclasses import dataclass

from qafd import __version__
from qafd.export import table_csv
from qafd.reasons import UNSTATED, Reason
from qafd.retrieve.base import Retrieval
from qafd.retrieve.compare import ComparedMethod, Comparison
from qafd.view.drawing import largest_of, share_of
from qafd.wording.reasons import word_reason


@dataclass(frozen=True)
class FoundNode:
    """A node as one method found it: its score, its rank and its reason.

    `share` is the score over the method's largest of names, or of passages.
    """

    score: float
    share: float
    rank: int
    reason: Reason


@dataclass(frozen=True)
class Row:
    """A name or passage and, column by column, how it was found; None where it was not."""

    id: str
    name: str
    kind: str
    found: tuple[FoundNode | None, ...]

    @property
    def times(self) -> int:
        """Number of methods that found it."""
        return sum(one is not None for one in self.found)


def rows(comparison: Comparison) -> tuple[Row, ...]:
    """List everything that a method found: names first, then passages within the budget.

    Rows that most methods found come first, then those that they rank best.
    """
    named: dict[str, tuple[str, str]] = {}
    columns = []
    for column in comparison.columns:
        found: dict[str, FoundNode] = {}
        if column.retrieval is not None:
            for node in column.retrieval.nodes:
                named.setdefault(node.id, (node.name, node.kind))
            for passage in column.retrieval.passages:
                named[passage.id] = passage.name, "passage"
            found = _rank_found(column, column.retrieval)
        columns.append(found)
    table = []
    for key, (name, kind) in named.items():
        row = Row(key, name, kind, tuple(found.get(key) for found in columns))
        if row.times:
            table.append(row)
    return tuple(sorted(table, key=_order))


def _order(row: Row) -> tuple[bool, int, float, str, str]:
    places = sum(1 / one.rank for one in row.found if one is not None)
    return row.kind == "passage", -row.times, -places, row.name, row.id


def _rank_found(column: ComparedMethod, retrieval: Retrieval) -> dict[str, FoundNode]:
    """Return each node and passage as the method found it, by id."""
    found = {}
    top = largest_of(retrieval.nodes)
    for rank, node in enumerate(column.found, 1):
        share = share_of(node.importance, top)
        found[node.id] = FoundNode(node.importance, share, rank, node.reason)
    why = {node.id: node.reason for node in retrieval.nodes}
    best = max((passage.score for passage in retrieval.passages), default=0.0)
    for rank, passage in enumerate(retrieval.passages, 1):
        found[passage.id] = FoundNode(passage.score, share_of(passage.score, best), rank,
                                      why.get(passage.id, UNSTATED))
    return found


def rows_csv(comparison: Comparison) -> str:
    """Write the table of `rows`, with score, rank and reason of each method; no text is a formula."""
    made = f"qafd {__version__}"
    for retrieval in list(comparison.retrievals.values())[:1]:
        made = f"qafd {retrieval.made_by.qafd}, workspace {retrieval.made_by.workspace}"
    names = ["id", "name", "kind", "found by"]
    for column in comparison.columns:
        names += [f"{column.name}: {what}" for what in ("score", "rank", "reason")]
    lines = []
    for row in rows(comparison):
        cells: list[object] = [row.id, row.name, row.kind, row.times]
        for one in row.found:
            cells += [one.score, one.rank, word_reason(one.reason)] if one else ["", "", ""]
        lines.append([*cells, made])
    return table_csv([*names, "made_by"], lines)
