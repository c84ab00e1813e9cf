"""Two runs side by side: which nodes, passages and settings differ, in numbers and in words."""

from collections.abc import Iterator
from dataclasses import dataclass

from qafd.retrieve.base import RetrievedPassage
from qafd.retrieve.compare import TEXTS
from qafd.runs import Run, worded
from qafd.wording import say_some


@dataclass(frozen=True)
class NodeChange:
    """A node that one or both of two runs retrieved.

    `before` and `after` are its importance x in each run, None where it was not retrieved;
    `share_before` and `share_after` the same over the largest of the run, in [0, 1], which also
    runs of different methods can be compared by.
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
    """What was set, or made the graph, and differs."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class RunDifference:
    """What a second run has otherwise than a first one.

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
        """Whether both retrieved the same nodes and passages."""
        return not (self.gained or self.lost or self.passages_gained or self.passages_lost)

    def sentence(self, first: str = "A", second: str = "B") -> str:
        """The difference in words, e.g. "B brings Lisa and leaves out iPod; mass 60 → 20."."""
        brings = [c.name for c in self.gained if c.kind not in TEXTS]
        lacks = [c.name for c in self.lost if c.kind not in TEXTS]
        parts = ([f"brings {say_some(brings)}"] if brings else []) + (
            [f"leaves out {say_some(lacks)}"] if lacks else [])
        if parts:
            said = f"{second} {' and '.join(parts)}"
        elif not self.same:
            said = f"{first} and {second} retrieve the same names, not the same passages"
        else:
            said = f"{first} and {second} retrieve the same"
        differing = [f"{s.name} {s.before} → {s.after}" for s in self.settings]
        rest = ("; settings that differ: " + ", ".join(differing) if differing else
                "; their settings are the same")
        return f"{said}{rest}{'' if rest.endswith(('?', '.')) else '.'}"


def difference(first: Run, second: Run) -> RunDifference:
    """What the second run has otherwise than the first; nothing is retrieved anew."""
    a, b = _shares(first), _shares(second)
    changes = [NodeChange(node, one.name, one.kind, a[node][0] if node in a else None,
                      b[node][0] if node in b else None, a.get(node, (0.0, 0.0))[1],
                      b.get(node, (0.0, 0.0))[1])
               for node, one in {n.id: n for n in (*first.retrieved, *second.retrieved)}.items()]
    by_share = sorted(changes, key=lambda c: (-max(c.share_before, c.share_after), c.id))
    here = {p.chunk for p in first.retrieval.passages}
    there = {p.chunk for p in second.retrieval.passages}
    return RunDifference(
        tuple(c for c in by_share if c.before is None),
        tuple(c for c in by_share if c.after is None),
        tuple(sorted((c for c in changes if c.before is not None and c.after is not None),
                     key=lambda c: (-abs(c.difference), c.id))),
        tuple(_settings(first, second)),
        tuple(p for p in second.retrieval.passages if p.chunk not in here),
        tuple(p for p in first.retrieval.passages if p.chunk not in there),
        (first.tokens, second.tokens))


def _shares(run: Run) -> dict[str, tuple[float, float]]:
    top = max((n.importance for n in run.retrieved), default=0.0)
    return {n.id: (n.importance, n.importance / top if top > 0 else 0.0) for n in run.retrieved}


def _settings(first: Run, second: Run) -> Iterator[Setting]:
    a, b = settings_of(first), settings_of(second)
    for name in a:
        if a[name] != b.get(name, a[name]):  # other methods have other parameters
            yield Setting(name, a[name], b[name])
    graphs = [f"revision {run.retrieval.revision}" for run in (first, second)]
    if first.graph and second.graph and first.graph != second.graph:
        # revisions of different workspaces count different graphs
        graphs = [f"{words} ({run.graph[:8]})"
                  for words, run in zip(graphs, (first, second), strict=True)]
        yield Setting("graph", *graphs)
    elif not (first.graph and second.graph) and graphs[0] != graphs[1]:
        yield Setting("graph", *graphs)


def settings_of(run: Run) -> dict[str, str]:
    """Question, method, parameters, models and version of a run, as people read them."""
    made = run.retrieval.made_by
    return {"question": run.retrieval.query, "method": run.retrieval.method,
            **worded(run.retrieval.params),
            "question read by": run.plan.planner, "vectors by": made.embedder or "unknown",
            "entities by": made.extractor or "unknown", "qafd": made.qafd}
