"""The settings of a picture, and the scale of its colors and widths."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from qafd.errors import ParameterError
from qafd.records import Floats
from qafd.retrieve.base import Retrieval, RetrievedEdge, RetrievedNode
from qafd.view.contraction import drawn_contracted
from qafd.view.groups import Groups
from qafd.view.idioms import Idiom

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
