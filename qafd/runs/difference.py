"""Two runs side by side: the nodes, passages and settings in which they differ."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qafd.retrieve.base import RetrievedNode, RetrievedPassage
from qafd.runs import Run


@dataclass(frozen=True)
class RunDifference:
    """Differences of a second run from a first one.

    Parameters
    ----------
    gained, lost : tuple of RetrievedNode
        Nodes that only the second and only the first retrieved, most important first.
    shared : int
        The number of nodes that both retrieved.
    passages_gained, passages_lost : tuple of RetrievedPassage
        Best first.
    settings : mapping
        Both values of each setting that differs, by its key in `settings_of`, or "graph".
    tokens : tuple of int
        Of the retrieved nodes of the first and of the second.
    """

    gained: tuple[RetrievedNode, ...]
    lost: tuple[RetrievedNode, ...]
    shared: int
    passages_gained: tuple[RetrievedPassage, ...]
    passages_lost: tuple[RetrievedPassage, ...]
    settings: Mapping[str, tuple[Any, Any]]
    tokens: tuple[int, int]

    @property
    def same(self) -> bool:
        """True if both retrieved the same nodes and passages."""
        return not (self.gained or self.lost or self.passages_gained or self.passages_lost)


def difference(first: Run, second: Run) -> RunDifference:
    """List how the second run differs from the first; nothing is retrieved again."""
    lost = _nodes_beyond(first, second)
    return RunDifference(
        _nodes_beyond(second, first), lost, len(first.retrieved) - len(lost),
        _passages_beyond(second, first), _passages_beyond(first, second), _compare_settings(first, second),
        (first.tokens, second.tokens))


def _nodes_beyond(run: Run, other: Run) -> tuple[RetrievedNode, ...]:
    """Return the nodes of a run that the other does not retrieve."""
    ids = {node.id for node in other.retrieved}
    return tuple(node for node in run.retrieved if node.id not in ids)


def _passages_beyond(run: Run, other: Run) -> tuple[RetrievedPassage, ...]:
    """Return the passages of a run that the other does not have."""
    chunks = {passage.chunk for passage in other.retrieval.passages}
    return tuple(passage for passage in run.retrieval.passages if passage.chunk not in chunks)


def _compare_settings(first: Run, second: Run) -> dict[str, tuple[Any, Any]]:
    a, b = settings_of(first), settings_of(second)
    both = a.keys() & b.keys()  # other methods have other parameters
    found = {name: (a[name], b[name]) for name in a if name in both and a[name] != b[name]}
    revisions = first.retrieval.revision, second.retrieval.revision
    # Revisions of different workspaces count different graphs.
    if first.graph and second.graph and first.graph != second.graph:
        found["graph"] = (f"{revisions[0]} ({first.graph[:8]})", f"{revisions[1]} ({second.graph[:8]})")
    elif not (first.graph and second.graph) and revisions[0] != revisions[1]:
        found["graph"] = str(revisions[0]), str(revisions[1])
    return found


def settings_of(run: Run) -> dict[str, Any]:
    """Return question, method, parameters, models and version of a run."""
    made = run.retrieval.made_by
    return {"question": run.retrieval.query, "method": run.retrieval.method,
            **run.retrieval.params, "planner": run.planner, "embedder": made.embedder,
            "extractor": made.extractor, "qafd": made.qafd}
