"""Two runs side by side: which nodes, passages and settings differ."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from qafd.retrieve.base import RetrievedPassage
from qafd.runs import Run


@dataclass(frozen=True)
class NodeChange:
    """A node that one or both of two runs retrieved.

    `before` and `after` are its importance x in each run, None where it was not retrieved.
    `share_before` and `share_after` are x over the largest of the run, in [0, 1]. They can be
    compared between methods.
    """

    id: str
    name: str
    kind: str
    before: float | None
    after: float | None
    share_before: float
    share_after: float

    @property
    def difference(self) -> float:
        """The second share minus the first, between -1 and 1."""
        return self.share_after - self.share_before


@dataclass(frozen=True)
class Setting:
    """A setting that differs, by its key in `settings_of`, or "graph"."""

    name: str
    before: Any
    after: Any


@dataclass(frozen=True)
class RunDifference:
    """Differences of a second run from a first one.

    Parameters
    ----------
    gained, lost, shared : tuple of NodeChange
        Nodes that only the second, only the first and both retrieved; most important first, the
        shared ones by how much their share of the importance changed.
    settings : tuple of Setting
    passages_gained, passages_lost : tuple of RetrievedPassage
        Best first.
    tokens : tuple of int
        Of the retrieved nodes of the first and of the second.
    """

    gained: tuple[NodeChange, ...]
    lost: tuple[NodeChange, ...]
    shared: tuple[NodeChange, ...]
    settings: tuple[Setting, ...]
    passages_gained: tuple[RetrievedPassage, ...]
    passages_lost: tuple[RetrievedPassage, ...]
    tokens: tuple[int, int]

    @property
    def same(self) -> bool:
        """True if both retrieved the same nodes and passages."""
        return not (self.gained or self.lost or self.passages_gained or self.passages_lost)


def difference(first: Run, second: Run) -> RunDifference:
    """List how the second run differs from the first; nothing is retrieved again."""
    a, b = _shares(first), _shares(second)
    gained: list[NodeChange] = []
    lost: list[NodeChange] = []
    shared: list[NodeChange] = []
    for node in {n.id: n for n in (*first.retrieved, *second.retrieved)}.values():
        before, share_before = a.get(node.id, (None, 0.0))
        after, share_after = b.get(node.id, (None, 0.0))
        change = NodeChange(node.id, node.name, node.kind, before, after, share_before, share_after)
        if before is None:
            gained.append(change)
        elif after is None:
            lost.append(change)
        else:
            shared.append(change)
    gained.sort(key=lambda c: (-c.share_after, c.id))
    lost.sort(key=lambda c: (-c.share_before, c.id))
    shared.sort(key=lambda c: (-abs(c.difference), c.id))
    return RunDifference(
        tuple(gained), tuple(lost), tuple(shared), tuple(_settings(first, second)),
        _passages_beyond(second, first), _passages_beyond(first, second),
        (first.tokens, second.tokens))


def _passages_beyond(run: Run, other: Run) -> tuple[RetrievedPassage, ...]:
    """Return the passages that the other run does not have."""
    chunks = {passage.chunk for passage in other.retrieval.passages}
    return tuple(p for p in run.retrieval.passages if p.chunk not in chunks)


def _shares(run: Run) -> dict[str, tuple[float, float]]:
    top = max((n.importance for n in run.retrieved), default=0.0)
    return {n.id: (n.importance, n.importance / top if top > 0 else 0.0) for n in run.retrieved}


def _settings(first: Run, second: Run) -> Iterator[Setting]:
    a, b = settings_of(first), settings_of(second)
    for name in a:
        if a[name] != b.get(name, a[name]):  # other methods have other parameters
            yield Setting(name, a[name], b[name])
    revisions = first.retrieval.revision, second.retrieval.revision
    # Revisions of different workspaces count different graphs.
    if first.graph and second.graph and first.graph != second.graph:
        yield Setting("graph", f"{revisions[0]} ({first.graph[:8]})",
                      f"{revisions[1]} ({second.graph[:8]})")
    elif not (first.graph and second.graph) and revisions[0] != revisions[1]:
        yield Setting("graph", str(revisions[0]), str(revisions[1]))


def settings_of(run: Run) -> dict[str, Any]:
    """Return question, method, parameters, models and version of a run."""
    made = run.retrieval.made_by
    return {"question": run.retrieval.query, "method": run.retrieval.method,
            **run.retrieval.params, "planner": run.planner, "embedder": made.embedder,
            "extractor": made.extractor, "qafd": made.qafd}
