"""The settings of a picture: its colors, widths, shapes of methods, and what of a graph is shown."""

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from qafd.errors import ParameterError
from qafd.reasons import Reason, ReasonKind
from qafd.records import Floats
from qafd.retrieve.base import SATURATED, WET, Retrieval, RetrievedEdge, RetrievedNode
from qafd.view.contraction import drawn_contracted
from qafd.view.groups import Groups
from qafd.view.layout import Positions

HULL, RING, RIBBON = "hull", "ring", "ribbon"
HOPS = 2  # rings around the seeds
RIBBONS = 6
_PATHS = (ReasonKind.ON_PATH, ReasonKind.ON_FLOW_PATH)
_HOPS = (ReasonKind.ONE_HOP, ReasonKind.RELATION_END)


@dataclass(frozen=True)
class Idiom:
    """A shape over some nodes: the hull of a community, a ring around seeds, the ribbon of a path.

    `nodes` are ids, of a ribbon in the order of its path; `title` is the name of a community,
    `number` the hops of a ring or the place of a path.
    """

    shape: str
    nodes: tuple[str, ...]
    title: str = ""
    number: int = 0


def idioms_of(retrieval: Retrieval) -> tuple[Idiom, ...]:
    """Return the shapes that the reasons of a retrieval describe; none for most methods."""
    communities: defaultdict[int, list[str]] = defaultdict(list)
    titles: dict[int, str] = {}
    paths: dict[int, tuple[bool, tuple[str, ...]]] = {}
    hops = False
    for node in retrieval.nodes:
        for reason in _all_of(node.reason):
            if reason.kind == ReasonKind.IN_COMMUNITY:
                community = int(str(reason.values["community"]))
                communities[community].append(node.id)
                titles[community] = str(reason.values["title"])
            elif reason.kind in _PATHS:
                way = reason.values["way"]
                assert isinstance(way, tuple)
                place = int(str(reason.values["place"]))
                paths[place] = reason.kind == ReasonKind.ON_FLOW_PATH, tuple(map(str, way))
            elif reason.kind in _HOPS:
                hops = True
    found = [Idiom(HULL, tuple(nodes), titles[at]) for at, nodes in communities.items()]
    for place in sorted(paths)[:RIBBONS]:
        mixed, way = paths[place]
        found.append(Idiom(RIBBON, _ids_of(retrieval, way, mixed), number=place))
    if hops:
        found += _rings(retrieval)
    return tuple(idiom for idiom in found if len(idiom.nodes) > 1)


def _all_of(reason: Reason) -> Iterator[Reason]:
    """Yield a reason and all further ones in it."""
    yield reason
    for other in reason.also:
        yield from _all_of(other)


def _ids_of(retrieval: Retrieval, way: tuple[str, ...], mixed: bool) -> tuple[str, ...]:
    """Find the nodes of a path by their names; on a mixed one every second node is a passage."""
    known = {(node.kind == "passage", node.name): node.id for node in retrieval.nodes}
    ids = [known.get((mixed and place % 2 == 1, name)) for place, name in enumerate(way)]
    return tuple(node for node in ids if node is not None)


def _rings(retrieval: Retrieval) -> list[Idiom]:
    """Return the nodes within each number of hops of the seeds, the widest ring first."""
    near = defaultdict(list)
    for edge in retrieval.edges:
        near[edge.source].append(edge.target)
        near[edge.target].append(edge.source)
    hops = dict.fromkeys(retrieval.seeds, 0)
    waiting = deque(retrieval.seeds)
    while waiting:
        node = waiting.popleft()
        for other in near[node]:
            if other not in hops:
                hops[other] = hops[node] + 1
                waiting.append(other)
    rings = []
    for most in range(min(HOPS, max(hops.values(), default=0)), -1, -1):
        rings.append(Idiom(RING, tuple(node for node in hops if hops[node] <= most), number=most))
    return rings

# The ramp is monotone in lightness, so its order survives every color blindness and a gray print;
# in the dark theme the strong end stays clear of the background.
RAMP = {"light": ["#f6e25a", "#b4d748", "#5fb24a", "#278c3f", "#0a6330"],
        "dark": ["#f9ea7d", "#bede55", "#6cc155", "#34a354", "#168a4b"]}
# A picture that nothing is sure of: the same order of lightness, nearly without color.
PALE = {"light": ["#eceade", "#d3d6c9", "#b3b9ae", "#8f988d", "#6c766c"],
        "dark": ["#e3e2d9", "#c3c7bb", "#a0a79c", "#7e877d", "#626b63"]}
# From -1, the second's, over gray to 1, the first's.
DIVERGING = {"light": ["#b35806", "#f0a95c", "#d3d3d3", "#7fb2dc", "#1f5fa8"],
             "dark": ["#f28f3b", "#b9803f", "#6c7178", "#5b93c4", "#6bb3f5"]}
EDGES_PER_NODE = 4
LINEAR = 100.0


@dataclass(frozen=True)
class Caption:
    """The words around a panel; empty ones are made from the retrieval."""

    title: str = ""
    subtitle: str = ""
    footer: str = ""


@dataclass(frozen=True)
class Drawing:
    """The settings of panels, for any content.

    Parameters
    ----------
    contract : bool
        Draw the flow passages carry between their entities instead of the passages.
    thickness : {"flow", "weight"}
        The quantity of an edge that is its thickness; edges have arrows only for flow.
    limit : int
        Nodes of a panel at most.
    aspect : float
        Width of the layout over its height.

    Raises
    ------
    ParameterError
        When `thickness` has no such option, or `limit` is below 1.
    """

    contract: bool = False
    thickness: str = "flow"
    limit: int = 150
    aspect: float = 1.45

    def __post_init__(self) -> None:
        if self.thickness not in ("flow", "weight"):
            raise ParameterError(f"thickness is {self.thickness!r}; it shows 'flow' or 'weight'")
        if self.limit < 1:
            raise ParameterError(f"limit is {self.limit}; a panel draws 1 node at least")

    def amount(self, edge: RetrievedEdge) -> float:
        """Return the value that the thickness of an edge shows."""
        return edge.flow if self.thickness == "flow" else edge.weight

    def largest(self, retrieval: Retrieval) -> float:
        """Return the value of the thickest edge of a retrieval, 0 without edges."""
        return max(map(self.amount, retrieval.edges), default=0.0)


@dataclass(frozen=True)
class Scale:
    """The scale of colors and widths for all masses of a question, so that they can be compared.

    Parameters
    ----------
    importance : float
        Where colors end, > 0: nodes of this importance or more have the strongest.
    amount : float
        Where widths end: edges of this flow (or weight) or more have the largest.
    nodes, edges : int
        Their numbers where the scale ends; a crowded picture is drawn smaller.
    """

    importance: float
    amount: float
    nodes: int
    edges: int


def place_on_ramp(importance: Floats, largest: float) -> Floats:
    """Return places on the ramp in [0, 1], 1 for the largest importance or more.

    Importances grow by powers of ten with the mass: up to a hundredth of the largest the place
    grows with them, beyond that with their logarithm.
    """
    shares = np.maximum(importance, 0.0) / (largest or 1.0)
    return np.asarray(np.minimum(np.log1p(LINEAR * shares) / np.log1p(LINEAR), 1.0))


def scale_of(retrieval: Retrieval, drawing: Drawing) -> Scale | None:
    """Return the scale that ends at a retrieval's maxima; None where no node has importance."""
    drawn = drawn_contracted(retrieval) if drawing.contract else retrieval
    largest = largest_of(drawn.nodes)
    if largest <= 0:
        return None
    nodes, edges = len(drawn.nodes), sum(drawing.amount(edge) > 0 for edge in drawn.edges)
    return Scale(largest, drawing.largest(drawn), min(nodes, drawing.limit),
                 min(edges, EDGES_PER_NODE * drawing.limit))


@dataclass(frozen=True)
class Look:
    """Options of panels beyond a picture of each retrieval.

    Parameters
    ----------
    captions : sequence of Caption
        One per retrieval; by default made from it.
    others : iterable of RetrievedNode
        More nodes of the layout, such as those that a larger source mass would retrieve.
    selected : str or None
        A node that is always shown.
    lone : bool
        Color only nodes that one panel alone retrieves; the rest is gray.
    unsure : bool
        Draw in pale colors, as a result without a sure answer.
    path : sequence of str
        Node ids whose edges stand out; contracted passages on it are passed over.
    signed : mapping of id to float, or None
        Differences between -1 and 1, by which nodes are colored instead of by importance.
    graph_size : int or None
        Nodes of the whole graph, for "12 of 4,311 nodes shown".
    boxes : sequence of str or None
        Ids of the seeds that may be boxes, by default the first six of each panel. A node near a
        box gives way to it, so boxes that depend on the panels would move nodes with them.
    late : collection of str
        Ids of nodes that were added to the layout later; no other node gives way to them.
    idioms : sequence of sequence of Idiom
        The shapes of each panel's method.
    largest : sequence of float
        The importance that is 100%, one per retrieval; by default the largest of its nodes.
    scale : Scale or None
        Meaning of colors and widths; by default they are relative to the largest of the panel.
    groups : Groups or None
        Groups by which the picture can be colored and filtered.
    named : sequence of str
        Ids of nodes whose names are always shown, full or not.
    possible : collection of str
        Ids of retrieved nodes that are drawn with a broken ring.
    """

    captions: Sequence[Caption] = ()
    others: Iterable[RetrievedNode] = ()
    selected: str | None = None
    lone: bool = False
    unsure: bool = False
    path: Sequence[str] = ()
    signed: Mapping[str, float] | None = None
    graph_size: int | None = None
    boxes: Sequence[str] | None = None
    late: Collection[str] = ()
    idioms: Sequence[Sequence[Idiom]] = ()
    largest: Sequence[float] = ()
    scale: Scale | None = None
    groups: Groups | None = None
    named: Sequence[str] = ()
    possible: Collection[str] = ()


def largest_of(nodes: Iterable[RetrievedNode]) -> float:
    """Return the largest importance, which is 100% wherever importances are shown; 0 without nodes."""
    return max((n.importance for n in nodes), default=0.0)


def share_of(part: float, whole: float) -> float:
    """Return a part over its whole, 0 when either is not above 0."""
    return max(part, 0.0) / whole if whole > 0 else 0.0


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
