"""The nodes and edges of a retrieval for which a panel has room, and ghosts."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from qafd.retrieve.base import SATURATED, WET, Retrieval, RetrievedEdge, RetrievedNode
from qafd.view.contraction import drawn_contracted
from qafd.view.drawing import EDGES_PER_NODE, Drawing
from qafd.view.layout import Positions


@dataclass(frozen=True, eq=False)
class Shown:
    """The part of a retrieval that one panel shows.

    `retrieval` is as it is drawn: where `hidden`, its passages are the flow they carry. `nodes` are
    most important first; `edges` those between them, the widest first, of `all_edges`.
    """

    retrieval: Retrieval
    hidden: bool
    nodes: tuple[RetrievedNode, ...]
    edges: tuple[RetrievedEdge, ...]
    all_edges: int

    @property
    def touched(self) -> int:
        """Number of nodes of the retrieval."""
        return len(self.retrieval.nodes)

    @property
    def full(self) -> int:
        """Number of nodes shown that are retrieved."""
        return sum(node.state == SATURATED for node in self.nodes)

    @property
    def retrieved(self) -> int:
        """Nodes shown that are retrieved, without passages where these are hidden."""
        return sum(node.state == SATURATED and not (self.hidden and node.kind == "passage")
                   for node in self.nodes)

    @property
    def wet(self) -> int:
        """Nodes shown that are touched, not full."""
        return sum(node.state == WET for node in self.nodes)

    @property
    def passages(self) -> bool:
        """True if a passage is shown."""
        return any(node.kind == "passage" for node in self.nodes)


def choose(retrieval: Retrieval, drawing: Drawing, positions: Positions,
            selected: str | None) -> Shown:
    """Choose the nodes and edges of a retrieval to draw."""
    hidden = drawing.contract and any(node.kind == "passage" for node in retrieval.nodes)
    drawn = drawn_contracted(retrieval) if drawing.contract else retrieval

    def order(node: RetrievedNode) -> tuple[bool, int, float, str]:
        state = (SATURATED, WET).index(node.state) if node.state in (SATURATED, WET) else 2
        amount = node.importance if state == 0 else node.mass
        return (not node.seed and node.id != selected, state, -amount, node.id)

    placed = sorted((n for n in drawn.nodes if n.id in positions), key=order)[:drawing.limit]
    present = {node.id for node in placed}
    lines = [e for e in drawn.edges
             if e.source in present and e.target in present and e.source != e.target]
    lines.sort(key=lambda e: (-drawing.amount(e), -e.weight, e.source, e.target))
    return Shown(drawn, hidden, tuple(sorted(placed, key=lambda n: (-n.importance, -n.mass, n.id))),
                 tuple(lines[:EDGES_PER_NODE * max(len(placed), 1)]), len(lines))


def drawn_nodes(shown: Sequence[Shown], drawing: Drawing,
                 positions: Positions,
                 others: Iterable[RetrievedNode]) -> dict[str, RetrievedNode]:
    """Return the nodes of all panels, and the most important ghosts."""
    drawn: dict[str, RetrievedNode] = {}
    more: list[RetrievedNode] = []
    for one in shown:
        drawn |= {node.id: node for node in one.nodes}
        more += one.retrieval.nodes
    ghosts: dict[str, RetrievedNode] = {}
    for node in [*more, *others]:
        passed = drawing.contract and node.kind == "passage"
        if node.id in positions and node.id not in drawn and not passed:
            ghosts[node.id] = node
    foremost = sorted(ghosts.values(), key=lambda node: (-node.importance, node.id))
    return drawn | {node.id: node for node in foremost[:drawing.limit // 2]}


def found_once(shown: Sequence[Shown]) -> set[str]:
    """Return the nodes that one panel alone retrieves."""
    found: Counter[str] = Counter()
    for one in shown:
        found.update(node.id for node in one.retrieval.retrieved)
    return {node for node, times in found.items() if times == 1}
