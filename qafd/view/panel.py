"""Retrievals as panels: what the component draws, as one JSON value.

What a picture needs beyond a retrieval is decided here: which nodes fit, how importance
becomes color and flow becomes thickness, what the legend says about both, and the words of
the tooltips. Names come from documents: they are cleaned here and shown as text only.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qafd.errors import ParameterError
from qafd.records import Floats
from qafd.retrieve.base import SATURATED, WET, Retrieval, RetrievedEdge, RetrievedNode
from qafd.view.contraction import drawn_contracted
from qafd.view.groups import Groups
from qafd.view.idioms import Idiom
from qafd.view.layout import Positions
from qafd.wording import say
from qafd.wording.panels import (
    say_footer,
    say_idiom,
    say_kind,
    say_number,
    say_percent,
    say_picture,
    say_words,
)
from qafd.wording.reasons import word_reason

# Both ramps are monotone in lightness, so their order survives every color blindness and a
# gray print; in the dark theme the strong end stays clear of the background.
RAMPS: dict[str, dict[str, list[str]]] = {
    "green": {"light": ["#f6e25a", "#b4d748", "#5fb24a", "#278c3f", "#0a6330"],
              "dark": ["#f9ea7d", "#bede55", "#6cc155", "#34a354", "#168a4b"]},
    "viridis": {"light": ["#fde725", "#7ad151", "#22a884", "#2a788e", "#3f2f78"],
                "dark": ["#fde725", "#8bd850", "#2bb58c", "#3587a3", "#6f68b8"]},
}
# A picture that nothing is sure of: the same order of lightness, nearly without color.
PALE = {"light": ["#eceade", "#d3d6c9", "#b3b9ae", "#8f988d", "#6c766c"],
        "dark": ["#e3e2d9", "#c3c7bb", "#a0a79c", "#7e877d", "#626b63"]}
# From -1, the second's, over gray to 1, the first's.
DIVERGING = {"light": ["#b35806", "#f0a95c", "#d3d3d3", "#7fb2dc", "#1f5fa8"],
             "dark": ["#f28f3b", "#b9803f", "#6c7178", "#5b93c4", "#6bb3f5"]}
NAME_LENGTH = 120
REASON_LENGTH = 400
EDGES_PER_NODE = 4
DOCUMENTS = 5  # of a node that a filter can find it by
# Above this ratio of the largest importance to the median, even square roots would paint
# half of the nodes in one color.
SKEWED = 400.0
LINEAR = 100.0
# Direction marks could turn a name around; the last three cannot stand in an SVG file.
_UNSHOWN = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
                     "\ufeff\ufffe\uffff")


@dataclass(frozen=True)
class Caption:
    """The words around a panel; what is empty is made from the retrieval."""

    title: str = ""
    subtitle: str = ""
    footer: str = ""
    alt: str = ""


@dataclass(frozen=True)
class Drawing:
    """How panels are drawn, whatever they show.

    Parameters
    ----------
    contract : bool
        Draw the flow passages carry between their entities instead of the passages.
    thickness : {"flow", "weight"}
        What the thickness of an edge shows; edges have arrows only for flow.
    ramp : str
        A key of `RAMPS`.
    limit : int
        Nodes of a panel at most.
    aspect : float
        Width of the layout over its height.
    measures : (str, str), optional
        What importance and weight count in a picture of no retrieval: nothing is called retrieved,
        and edges are half as thick.

    Raises
    ------
    ParameterError
        When `thickness` or `ramp` has no such option, or `limit` is below 1.
    """

    contract: bool = False
    thickness: str = "flow"
    ramp: str = "green"
    limit: int = 150
    aspect: float = 1.45
    measures: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        if self.thickness not in ("flow", "weight"):
            raise ParameterError("thickness is {thickness!r}; it shows 'flow' or 'weight'",
                                 thickness=self.thickness)
        if self.ramp not in RAMPS:
            raise ParameterError("there is no color ramp {ramp!r}; choose from {ramps}",
                                 ramp=self.ramp, ramps=", ".join(RAMPS))
        if self.limit < 1:
            raise ParameterError("limit is {limit}; a panel draws 1 node at least",
                                 limit=self.limit)

    def amount(self, edge: RetrievedEdge) -> float:
        """What the thickness of an edge shows."""
        return edge.flow if self.thickness == "flow" else edge.weight

    def largest(self, retrieval: Retrieval) -> float:
        """What the thickest edge of a retrieval shows, 0 without edges."""
        return max(map(self.amount, retrieval.edges), default=0.0)


@dataclass(frozen=True)
class Scale:
    """What colors and widths mean at every mass of a question, so that two masses can be compared.

    Parameters
    ----------
    importance : float
        Where colors end, > 0: nodes of this importance or more have the strongest.
    amount : float
        Where widths end: what edges of this flow (or weight) or more have.
    nodes, edges : int
        How many there are where the scale ends; what is crowded is drawn smaller.
    """

    importance: float
    amount: float
    nodes: int
    edges: int

    def colors(self, importance: Floats) -> Floats:
        """Places on the ramp in [0, 1], equal for equal importances.

        Importances grow by powers of ten with the mass: up to a hundredth of the largest the place
        grows with them, beyond that with their logarithm.
        """
        shares = np.maximum(importance, 0.0) / self.importance
        return np.asarray(np.minimum(np.log1p(LINEAR * shares) / np.log1p(LINEAR), 1.0))


def scale_of(retrieval: Retrieval, drawing: Drawing) -> Scale | None:
    """The scale that ends at what a retrieval has; None where no node has importance."""
    drawn = drawn_contracted(retrieval) if drawing.contract else retrieval
    largest = largest_of(drawn.nodes)
    if largest <= 0:
        return None
    nodes, edges = len(drawn.nodes), sum(drawing.amount(edge) > 0 for edge in drawn.edges)
    return Scale(largest, drawing.largest(drawn), min(nodes, drawing.limit),
                 min(edges, EDGES_PER_NODE * drawing.limit))


@dataclass(frozen=True)
class Look:
    """What a page may want of its panels beyond a picture of each retrieval.

    Parameters
    ----------
    captions : sequence of Caption
        One per retrieval; by default made from it.
    others : iterable of RetrievedNode
        More nodes of the layout, such as what a larger source mass would bring.
    selected : str or None
        A node that is always shown.
    lone : bool
        Color only what one panel alone retrieves; the rest is gray.
    unsure : bool
        Draw in pale colors, as what answers nothing for sure.
    path : sequence of str
        Node ids whose edges stand out; contracted passages on it are passed over.
    signed : mapping of id to float, or None
        Differences between -1 and 1, by which nodes are colored instead of by importance.
    graph_size : int or None
        Nodes of the whole graph, for "12 of 4,311 nodes shown".
    boxes : sequence of str or None
        Ids of the seeds that may be boxes, by default the first six of each panel. What is near a
        box gives way to it, so boxes that depend on the panels would move nodes with them.
    late : collection of str
        Ids of nodes that were put beside the layout; no other node gives way to them.
    idioms : sequence of sequence of Idiom
        The shapes of each panel's method.
    largest : sequence of float
        The importance that is 100%, one per retrieval; by default the largest of its nodes.
    scale : Scale or None
        What colors and widths mean; by default they are relative to the largest of the panel.
    groups : Groups or None
        By which else the picture can be colored and filtered.
    expanded : sequence of str
        The nodes whose neighbors are shown too.
    more : int
        How many neighbors of the selected node could be shown too.
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
    expanded: Sequence[str] = ()
    more: int = 0


def panel_data(retrievals: Sequence[Retrieval], drawing: Drawing = Drawing(), *,
               positions: Positions, look: Look = Look()) -> dict[str, Any]:
    """The panels of a page as JSON values for `qafd.app.component.panels`.

    Each panel shows seeds and the selected node, then saturated nodes by importance, wet ones by
    mass, dry ones, up to the limit. What a panel does not show and another panel or `others` does
    is drawn there as a ghost, half as many as the limit at most. Color is the square root of
    importance over the largest of the panel, or its rank when importances are too skewed for that;
    thickness is the square root of flow (or weight) over the largest of the panel. With a `scale`
    both are the same at every mass.

    Parameters
    ----------
    retrievals : sequence of Retrieval
        One panel each, in order.
    positions : mapping of id to (x, y)
        The frozen layout, in [0, aspect] x [0, 1]; nodes outside of it are not drawn, and
        the footer counts them.
    look
        See `Look`.

    Raises
    ------
    ParameterError
        When the captions, or the largest importances, do not match the retrievals.
    """
    captions = look.captions or [Caption()] * len(retrievals)
    largest = look.largest or [largest_of(retrieval.nodes) for retrieval in retrievals]
    _check_matched(len(retrievals), {"captions": captions, "largest importances": largest})
    shown = [_choose(retrieval, drawing, positions, look.selected) for retrieval in retrievals]
    drawn = _drawn_nodes(shown, drawing, positions, look.others)
    index = {node: i for i, node in enumerate(sorted(drawn))}
    scale = look.scale
    colors = scale.colors if scale else _color_scale(shown)
    picture = _Picture(drawing, index, colors, scale, _found_once(shown) if look.lone else set(),
                       look.signed, look.graph_size)
    panels = list(map(picture.panel, shown, captions, largest))
    for panel, idioms in zip(panels, look.idioms, strict=False):
        panel["shapes"] = _shapes(idioms, index)
    ramp, legend = _coloring(shown, colors is rank_scale, drawing, largest, look)
    return {
        "aspect": drawing.aspect, "legend": legend, "ramp": ramp, "panels": panels,
        "nodes": [_place(drawn[node], positions[node], drawing, look) for node in index],
        "question": clean(retrievals[0].query, REASON_LENGTH) if retrievals else "",
        "words": say_words(),
        **_state(look, index),
    }


def _check_matched(retrievals: int, given: Mapping[str, Sequence[Any]]) -> None:
    """Refuse what is given for other than each retrieval."""
    for name, some in given.items():
        if len(some) != retrievals:
            raise ParameterError("{given} {name} for {retrievals} retrievals; give one for each or none",
                                 given=len(some), name=name, retrievals=retrievals)


def _state(look: Look, index: Mapping[str, int]) -> dict[str, Any]:
    """What the component is told of a look, beside what is drawn."""
    return {
        "signed": look.signed is not None,
        "lone": look.lone,
        "unsure": look.unsure,
        "boxes": look.boxes,
        "path": [node for node in look.path if node in index],
        "groups": _named(look.groups) if look.groups else None,
        "expanded": list(look.expanded),
        "more": look.more,
        "crowd": [look.scale.nodes, look.scale.edges] if look.scale else None,
        "selected": look.selected,
    }


def _place(node: RetrievedNode, at: tuple[float, float], drawing: Drawing, look: Look) -> dict[str, Any]:
    """What a node is in all panels, and where it stands."""
    x, y = at
    place: dict[str, Any] = {
        "id": node.id, "name": shown_name(node), "kind": say_kind(clean(node.kind, NAME_LENGTH)),
        "x": round(x / drawing.aspect, 4), "y": round(y, 4)}
    if node.kind == "passage":
        place["square"] = 1
    if node.id in look.late:
        place["late"] = 1
    if look.groups:
        place["d"] = list(look.groups.documents_of.get(node.id, ()))[:DOCUMENTS]
        place["c"] = look.groups.community_of.get(node.id, -1)
    return place


def _named(groups: Groups) -> dict[str, list[str]]:
    return {"document": [clean(name, NAME_LENGTH) for name in groups.documents],
            "community": [clean(name, NAME_LENGTH) for name in groups.communities]}


def _shapes(idioms: Sequence[Idiom], index: Mapping[str, int]) -> list[dict[str, Any]]:
    """The shapes of a panel over the nodes that are drawn."""
    shapes = []
    for idiom in idioms:
        nodes = [index[node] for node in idiom.nodes if node in index]
        if nodes:
            title = say_idiom(idiom.shape, idiom.title, idiom.number)
            shapes.append({"shape": idiom.shape, "n": nodes, "title": clean(title, NAME_LENGTH)})
    return shapes


def clean(text: str, length: int) -> str:
    """One line of at most `length` characters without control or direction characters."""
    kept = "".join(
        " " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c
        for c in text[:4 * length]
        if c not in _UNSHOWN and unicodedata.category(c) != "Cs")
    line = " ".join(kept.split())
    return line if len(line) <= length and len(text) <= 4 * length else line[:length - 1] + "…"


def shown_name(node: RetrievedNode) -> str:
    """The name of a node; a passage, often named like an entity, begins with a pilcrow."""
    name = clean(node.name, NAME_LENGTH) or "…"
    return f"¶ {name}" if node.kind == "passage" else name


def largest_of(nodes: Iterable[RetrievedNode]) -> float:
    """The largest importance, which is 100% wherever importances are shown; 0 without nodes."""
    return max((n.importance for n in nodes), default=0.0)


def share_of(importance: float, largest: float) -> float:
    """An importance over the largest one; 0 when either is not above 0."""
    return max(importance, 0.0) / largest if largest > 0 else 0.0


def root_scale(importance: Floats) -> Floats:
    """Square roots of importances over the largest, in [0, 1]; all 0 when that is 0."""
    top = importance.max(initial=0.0)
    return np.sqrt(importance / top) if top > 0 else np.zeros_like(importance)


def rank_scale(importance: Floats) -> Floats:
    """Ranks of importances in (0, 1], 1 the largest; equal ones share their highest rank."""
    order = np.sort(importance)
    return np.asarray(np.searchsorted(order, importance, side="right") / max(len(order), 1))


@dataclass(frozen=True, eq=False)
class Shown:
    """What one panel shows of a retrieval.

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
        """Nodes of the retrieval."""
        return len(self.retrieval.nodes)

    @property
    def full(self) -> int:
        """Nodes shown that are retrieved."""
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
        """Whether a passage is shown."""
        return any(node.kind == "passage" for node in self.nodes)


def _choose(retrieval: Retrieval, drawing: Drawing, positions: Positions,
            selected: str | None) -> Shown:
    """What is drawn of a retrieval."""
    hidden = drawing.contract and any(node.kind == "passage" for node in retrieval.nodes)
    drawn = drawn_contracted(retrieval) if drawing.contract else retrieval

    def order(node: RetrievedNode) -> tuple[bool, int, float, str]:
        state = (SATURATED, WET).index(node.state) if node.state in (SATURATED, WET) else 2
        amount = node.importance if state == 0 else node.mass
        return (not node.seed and node.id != selected, state, -amount, node.id)

    placed = sorted((n for n in drawn.nodes if n.id in positions), key=order)[:drawing.limit]
    here = {node.id for node in placed}
    lines = [e for e in drawn.edges
             if e.source in here and e.target in here and e.source != e.target]
    lines.sort(key=lambda e: (-drawing.amount(e), -e.weight, e.source, e.target))
    return Shown(drawn, hidden, tuple(sorted(placed, key=lambda n: (-n.importance, -n.mass, n.id))),
                 tuple(lines[:EDGES_PER_NODE * max(len(placed), 1)]), len(lines))


def _drawn_nodes(shown: Sequence[Shown], drawing: Drawing,
                 positions: Positions,
                 others: Iterable[RetrievedNode]) -> dict[str, RetrievedNode]:
    """What some panel shows, and the most important ghosts."""
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


def _found_once(shown: Sequence[Shown]) -> set[str]:
    """The nodes that one panel alone retrieves."""
    found: Counter[str] = Counter()
    for one in shown:
        found.update(node.id for node in one.retrieval.retrieved)
    return {node for node, times in found.items() if times == 1}


def _color_scale(shown: Sequence[Shown]) -> Callable[[Floats], Floats]:
    for one in shown:
        values = np.array([node.importance for node in one.nodes if node.importance > 0])
        if len(values) and values.max() > SKEWED * np.median(values):
            return rank_scale
    return root_scale


@dataclass(frozen=True)
class _Picture:
    """What the panels of a picture share; `only` are the nodes that one panel alone retrieves."""

    drawing: Drawing
    index: Mapping[str, int]
    colors: Callable[[Floats], Floats]
    scale: Scale | None
    only: Collection[str]
    signed: Mapping[str, float] | None
    graph_size: int | None

    def panel(self, shown: Shown, caption: Caption, largest: float) -> dict[str, Any]:
        """One panel; an importance is said as its share of the `largest`."""
        title = clean(caption.title or shown.retrieval.method, NAME_LENGTH)
        top = self.scale.amount if self.scale else self.drawing.largest(shown.retrieval)
        return {
            "title": title,
            "subtitle": clean(caption.subtitle, NAME_LENGTH),
            "footer": clean(caption.footer, REASON_LENGTH) or say_footer(shown, self.graph_size),
            "alt": clean(caption.alt, REASON_LENGTH) or _describe(title, shown),
            "nodes": self._nodes(shown, largest),
            "edges": [self._edge(edge, top) for edge in shown.edges],
        }

    def _nodes(self, shown: Shown, largest: float) -> list[dict[str, Any]]:
        full = [n.importance if n.state == SATURATED else 0.0 for n in shown.nodes]
        colors = self.colors(np.array(full)).tolist()
        measure = self.drawing.measures[0] if self.drawing.measures else say("importance")
        nodes = []
        for node, color in zip(shown.nodes, colors, strict=True):
            if self.signed is not None:
                color = (1 + self.signed.get(node.id, 0.0)) / 2
            value = (say_number(node.importance) if self.drawing.measures
                     else say_percent(share_of(node.importance, largest)))
            facts = [[measure, value], *_facts(node)]
            if self.signed and node.id in self.signed:
                facts.append([say("difference"), f"{self.signed[node.id]:+.2f}"])
            nodes.append({
                "n": self.index[node.id], "state": node.state, "seed": node.seed,
                "only": node.id in self.only,
                "t": round(float(color), 3) if node.state == SATURATED else 0,
                "value": value, "facts": facts, "reason": clean(word_reason(node.reason), REASON_LENGTH)})
        return nodes

    def _edge(self, edge: RetrievedEdge, top: float) -> dict[str, Any]:
        drawing = self.drawing
        arrows, thickest = drawing.thickness == "flow", 0.5 if drawing.measures else 1.0
        weight = drawing.measures[1] if drawing.measures else say("weight")
        share = min(drawing.amount(edge) / top, 1.0) if top > 0 else 0.0
        width = thickest * float(np.sqrt(share))
        facts = [[say("flow"), say_number(edge.flow)]] if arrows or edge.flow > 0 else []
        return {"u": self.index[edge.source], "v": self.index[edge.target], "w": round(width, 3),
                "arrow": arrows and edge.flow > 0, "label": clean(edge.label, NAME_LENGTH),
                "facts": [*facts, [weight, say_number(edge.weight)]]}


def _facts(node: RetrievedNode) -> list[list[str]]:
    facts = []
    if node.capacity > 0:
        held = say("{mass} of {capacity}", mass=say_number(node.mass),
                   capacity=say_number(node.capacity))
        facts.append([say("mass"), held])
    if node.source > 0:
        facts.append([say("source"), say_number(node.source)])
    if node.alignment:
        facts.append([say("similarity to question"), f"{node.alignment:.2f}"])
    return facts


def _describe(title: str, shown: Shown) -> str:
    """The picture in words, for those who cannot see it."""
    names = {node.id: clean(node.name, 40) for node in shown.nodes}
    widest = max(shown.edges, key=lambda edge: edge.flow, default=None)
    largest = None
    if widest is not None and widest.flow > 0:
        largest = names[widest.source], names[widest.target], widest.flow
    return say_picture(title, shown, list(names.values())[:3], largest)


def _coloring(shown: Sequence[Shown], ranked: bool, drawing: Drawing, largest: Sequence[float],
              look: Look) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """The ramp of a picture, and its legend."""
    legend = _legend(shown, ranked, drawing, largest)
    if look.scale is not None:
        legend |= _legend_of(look.scale)
    if look.signed is not None:
        return DIVERGING, {**legend, "color": say("difference"), "low": say("second only"),
                           "high": say("first only"), "note": ""}
    return PALE if look.unsure else RAMPS[drawing.ramp], legend


def _legend(shown: Sequence[Shown], ranked: bool, drawing: Drawing,
            largest: Sequence[float]) -> dict[str, Any]:
    """What colors and widths mean; numbers where there is one panel, else shares.

    `largest` are the importances of 100%.
    """
    nodes: list[RetrievedNode] = []
    for one in shown:
        nodes += one.nodes
    if drawing.measures:
        color, width = drawing.measures
    else:
        color = say("importance")
        width = say("edge weight") if drawing.thickness == "weight" else say("flow")
    best = largest_of(nodes)
    low = high = note = ""
    if best > 0 and ranked:
        low, high = say("lowest rank"), say("highest")
    elif best > 0 and drawing.measures:
        low, high, note = "0", say_number(best), say("square-root scale")
    elif best > 0:
        # Two panels have each their largest, one of which not all need to show.
        top = 1.0 if len(shown) > 1 else share_of(best, largest[0])
        low, high, note = "0%", say_percent(top), say("square-root scale")
    return {
        "color": say("{measure} by rank", measure=color) if ranked else color,
        "low": low, "high": high, "note": note, "thickness": width,
        "widths": [[round(w, 3), text] for w, text in _reference_widths(shown, drawing)],
        "wet": any(node.state == WET for node in nodes),
        "dry": any(node.state not in (WET, SATURATED) for node in nodes),
        "passages": any(node.kind == "passage" for node in nodes),
        "plain": drawing.measures is not None,
    }


def _legend_of(scale: Scale) -> dict[str, Any]:
    """What colors and widths mean on a scale that is the same at every mass."""
    widest = _round_down(scale.amount) if scale.amount > 0 else 0.0
    widths = []
    for value in (widest / 10, widest):
        if value > 0:
            widths.append([round(float(np.sqrt(value / scale.amount)), 3), say_number(value)])
    return {"low": say("low"), "high": say("high"), "note": say("the same at every mass"),
            "widths": widths}


def _reference_widths(shown: Sequence[Shown], drawing: Drawing) -> list[tuple[float, str]]:
    """Widths of the legend with the amounts they stand for."""
    top = max((drawing.largest(one.retrieval) for one in shown), default=0.0)
    if top <= 0:
        return []
    if drawing.measures:
        return [(float(np.sqrt(v / top)) / 2, say_number(v)) for v in sorted({1.0, top})]
    if len(shown) > 1:
        return [(float(np.sqrt(0.1)), "10%"), (1.0, say("panel's largest"))]
    widest = _round_down(top)
    return [(float(np.sqrt(v / top)), say_number(v)) for v in (widest / 10, widest)]


def _round_down(value: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that is at most `value`."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(max((m * power for m in (1, 2, 5) if m * power <= value), default=power))
