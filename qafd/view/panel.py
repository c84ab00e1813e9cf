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
from qafd.wording.reasons import word_reason

# Both ramps are monotone in lightness, so their order survives every color blindness and a
# gray print; in the dark theme the strong end stays clear of the background.
RAMPS: dict[str, dict[str, list[str]]] = {
    "green": {"light": ["#f6e25a", "#b4d748", "#5fb24a", "#278c3f", "#0a6330"],
              "dark": ["#f9ea7d", "#bede55", "#6cc155", "#34a354", "#168a4b"]},
    "viridis": {"light": ["#fde725", "#7ad151", "#22a884", "#2a788e", "#3f2f78"],
                "dark": ["#fde725", "#8bd850", "#2bb58c", "#3587a3", "#6f68b8"]},
}
# From -1, the second's, over gray to 1, the first's.
DIVERGING = {"light": ["#b35806", "#f0a95c", "#d3d3d3", "#7fb2dc", "#1f5fa8"],
             "dark": ["#f28f3b", "#b9803f", "#6c7178", "#5b93c4", "#6bb3f5"]}
NAME_LENGTH = 120
REASON_LENGTH = 400
EDGES_PER_NODE = 4
# Above this ratio of the largest importance to the median, even square roots would paint
# half of the nodes in one color.
SKEWED = 400.0
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
            raise ParameterError(f"thickness is {self.thickness!r}; it shows 'flow' or 'weight'")
        if self.ramp not in RAMPS:
            raise ParameterError(
                f"there is no color ramp {self.ramp!r}; choose from {', '.join(RAMPS)}")
        if self.limit < 1:
            raise ParameterError(f"limit is {self.limit}; a panel draws 1 node at least")

    def amount(self, edge: RetrievedEdge) -> float:
        """What the thickness of an edge shows."""
        return edge.flow if self.thickness == "flow" else edge.weight

    def largest(self, retrieval: Retrieval) -> float:
        """What the thickest edge of a retrieval shows, 0 without edges."""
        return max(map(self.amount, retrieval.edges), default=0.0)


def panel_data(
    retrievals: Sequence[Retrieval],
    drawing: Drawing = Drawing(),
    *,
    positions: Mapping[str, tuple[float, float]],
    captions: Sequence[Caption] = (),
    others: Iterable[RetrievedNode] = (),
    selected: str | None = None,
    lone: bool = False,
    path: Sequence[str] = (),
    signed: Mapping[str, float] | None = None,
    graph_size: int | None = None,
    boxes: Sequence[str] | None = None,
    late: Collection[str] = (),
    largest: Sequence[float] = (),
) -> dict[str, Any]:
    """The panels of a page as JSON values for `qafd.app.component.panels`.

    Each panel shows seeds and the selected node, then saturated nodes by importance, wet ones by
    mass, dry ones, up to the limit. What a panel does not show and another panel or `others` does
    is drawn there as a ghost, half as many as the limit at most. Color is the square root of
    importance over the largest of the panel, or its rank when importances are too skewed for that;
    thickness is the square root of flow (or weight) over the largest of the panel.

    Parameters
    ----------
    retrievals : sequence of Retrieval
        One panel each, in order.
    positions : mapping of id to (x, y)
        The frozen layout, in [0, aspect] x [0, 1]; nodes outside of it are not drawn, and
        the footer counts them.
    captions : sequence of Caption, optional
        One per retrieval.
    others : iterable of RetrievedNode, optional
        More nodes of the layout, such as what a larger source mass would bring.
    lone : bool
        Color only what one panel alone retrieves; the rest is gray.
    path : sequence of str
        Node ids whose edges stand out; contracted passages on it are passed over.
    signed : mapping of id to float, optional
        Differences between -1 and 1, by which nodes are colored instead of by importance.
    graph_size : int, optional
        Nodes of the whole graph, for "12 of 4,311 nodes shown".
    boxes : sequence of str, optional
        Ids of the seeds that may be boxes, by default the first six of each panel. What is near a
        box gives way to it, so boxes that depend on the panels would move nodes with them.
    late : collection of str, optional
        Ids of nodes that were put beside the layout; no other node gives way to them.
    largest : sequence of float, optional
        The importance that is 100%, one per retrieval; by default the largest of its nodes.

    Raises
    ------
    ParameterError
        When the captions, or the largest importances, do not match the retrievals.
    """
    if captions and len(captions) != len(retrievals):
        raise ParameterError(f"{len(captions)} captions for {len(retrievals)} retrievals; "
                             "give one for each or none")
    if largest and len(largest) != len(retrievals):
        raise ParameterError(f"{len(largest)} largest importances for {len(retrievals)} "
                             "retrievals; give one for each or none")
    tops = largest or [largest_of(r.nodes) for r in retrievals]
    hidden = [drawing.contract and any(n.kind == "passage" for n in r.nodes) for r in retrievals]
    if drawing.contract:
        retrievals = [drawn_contracted(r) for r in retrievals]
    shown = [_choose(r, positions, drawing.limit, selected) for r in retrievals]
    drawn = {node.id: node for nodes in shown for node in nodes}
    ghosts = {node.id: node for node in [*(n for r in retrievals for n in r.nodes), *others]
              if node.id in positions and node.id not in drawn
              and not (drawing.contract and node.kind == "passage")}
    drawn |= {node.id: node for node in sorted(
        ghosts.values(), key=lambda n: (-n.importance, n.id))[:drawing.limit // 2]}
    index = {node: i for i, node in enumerate(sorted(drawn))}
    scale = _color_scale(shown)
    found = Counter(n.id for r in retrievals for n in r.nodes if n.state == SATURATED)
    only = {node for node, times in found.items() if lone and times == 1}
    picture = _Picture(drawing, index, scale, only, signed, graph_size)
    words = captions or [Caption()] * len(retrievals)
    return {
        "aspect": drawing.aspect,
        "nodes": [{"id": node, "name": shown_name(drawn[node]),
                   "kind": clean(drawn[node].kind, NAME_LENGTH),
                   "x": round(positions[node][0] / drawing.aspect, 4),
                   "y": round(positions[node][1], 4)}
                  | ({"late": 1} if node in late else {}) for node in index],
        "panels": [_panel(picture, *one) for one in zip(
            retrievals, shown, words, hidden, tops, strict=True)],
        "ramp": RAMPS[drawing.ramp] if signed is None else DIVERGING,
        "signed": signed is not None,
        "legend": _legend(shown, scale is rank_scale, drawing, max(
            map(drawing.largest, retrievals), default=0.0), tops) | (
            {} if signed is None else {"color": "difference", "low": "second only",
                                       "high": "first only", "note": ""}),
        "lone": lone,
        "boxes": boxes,
        "path": [node for node in path if node in index],
        "question": clean(retrievals[0].query, REASON_LENGTH) if retrievals else "",
        "selected": selected,
    }


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
    name = clean(node.name, NAME_LENGTH) or "(no name)"
    return f"¶ {name}" if node.kind == "passage" else name


def number(value: float) -> str:
    """Three significant digits, thousands grouped."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def percent(share: float) -> str:
    """A share as people read it: "100%", "27.7%"."""
    return f"{number(100 * share)}%" if share <= 0 or share >= 1e-4 else "<0.01%"


def largest_of(nodes: Iterable[RetrievedNode]) -> float:
    """The largest importance, which is 100% wherever importances are shown; 0 without nodes."""
    return max((n.importance for n in nodes), default=0.0)


def share_of(importance: float, largest: float) -> float:
    """An importance over the largest one; 0 when either is not above 0."""
    return max(importance, 0.0) / largest if largest > 0 else 0.0


def counted(count: int, word: str) -> str:
    """A count with its word: "1 name", "2,000 names", "3 entities"."""
    many = f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"
    return f"{count:,} {word if count == 1 else many}"


def brought(count: int, touched: int = 0, word: str = "name") -> str:
    """What a method brought, as every page says it: "17 names retrieved, 32 touched"."""
    return f"{counted(count, word)} retrieved" + f", {touched:,} touched" * bool(touched)


def nodes_shown(count: int, all_of_them: int) -> str:
    """How much of something is drawn: "40 of 49 nodes shown"."""
    return f"{count:,} of {all_of_them:,} nodes shown"


def root_scale(importance: Floats) -> Floats:
    """Square roots of importances over the largest, in [0, 1]; all 0 when that is 0."""
    top = importance.max(initial=0.0)
    return np.sqrt(importance / top) if top > 0 else np.zeros_like(importance)


def rank_scale(importance: Floats) -> Floats:
    """Ranks of importances in (0, 1], 1 the largest; equal ones share their highest rank."""
    order = np.sort(importance)
    return np.asarray(np.searchsorted(order, importance, side="right") / max(len(order), 1))


def _color_scale(shown: Sequence[Sequence[RetrievedNode]]) -> Callable[[Floats], Floats]:
    for nodes in shown:
        values = np.array([n.importance for n in nodes if n.importance > 0])
        if len(values) and values.max() > SKEWED * np.median(values):
            return rank_scale
    return root_scale


def _choose(retrieval: Retrieval, positions: Mapping[str, tuple[float, float]], limit: int,
            selected: str | None) -> list[RetrievedNode]:
    """The nodes that are drawn, most important first."""
    def order(node: RetrievedNode) -> tuple[bool, int, float, str]:
        state = (SATURATED, WET).index(node.state) if node.state in (SATURATED, WET) else 2
        amount = node.importance if state == 0 else node.mass
        return (not node.seed and node.id != selected, state, -amount, node.id)

    placed = sorted((n for n in retrieval.nodes if n.id in positions), key=order)[:limit]
    return sorted(placed, key=lambda n: (-n.importance, -n.mass, n.id))


@dataclass(frozen=True)
class _Picture:
    """What the panels of a picture share; `only` are the nodes that one panel alone retrieves."""

    drawing: Drawing
    index: Mapping[str, int]
    scale: Callable[[Floats], Floats]
    only: Collection[str]
    signed: Mapping[str, float] | None
    graph_size: int | None


def _panel(picture: _Picture, retrieval: Retrieval, nodes: Sequence[RetrievedNode],
           caption: Caption, hidden: bool, largest: float) -> dict[str, Any]:
    """One panel; passages of its retrieval may be hidden, drawn as the flow they carry.

    An importance is said as its share of the `largest`.
    """
    drawing, index, signed = picture.drawing, picture.index, picture.signed
    importance, weight = drawing.measures or ("importance", "weight")

    def said(node: RetrievedNode) -> str:
        return number(node.importance) if drawing.measures else percent(
            share_of(node.importance, largest))

    thickest = 0.5 if drawing.measures else 1.0
    arrows, top = drawing.thickness == "flow", drawing.largest(retrieval)
    touched = len(retrieval.nodes)
    here = {node.id: node for node in nodes}
    lines = sorted((e for e in retrieval.edges if e.source in here and e.target in here
                    and e.source != e.target),
                   key=lambda e: (-drawing.amount(e), -e.weight, e.source, e.target))
    edges = lines[:EDGES_PER_NODE * max(len(nodes), 1)]
    full = [n.importance if n.state == SATURATED else 0.0 for n in nodes]
    color = dict(zip(here, picture.scale(np.array(full)), strict=True))
    if signed is not None:
        color = {node: (1 + signed.get(node, 0.0)) / 2 for node in here}
    title = clean(caption.title or retrieval.method, NAME_LENGTH)
    return {
        "title": title,
        "subtitle": clean(caption.subtitle, NAME_LENGTH),
        "footer": clean(caption.footer, REASON_LENGTH) or _footer(
            nodes, len(edges), len(lines), touched, picture.graph_size, hidden),
        "alt": clean(caption.alt, REASON_LENGTH) or _sentence(
            title, nodes, edges, here, touched, hidden),
        "nodes": [{
            "n": index[node.id], "state": node.state, "seed": node.seed,
            "only": node.id in picture.only,
            "t": round(float(color[node.id]), 3) if node.state == SATURATED else 0,
            "value": said(node),
            "facts": [[importance, said(node)], *_facts(node)] + (
                [["difference", f"{signed[node.id]:+.2f}"]]
                if signed and node.id in signed else []),
            "reason": clean(word_reason(node.reason), REASON_LENGTH)} for node in nodes],
        "edges": [{
            "u": index[e.source], "v": index[e.target],
            "w": round(thickest * float(np.sqrt(drawing.amount(e) / top)), 3) if top > 0 else 0,
            "arrow": arrows and e.flow > 0, "label": clean(e.label, NAME_LENGTH),
            "facts": [["flow", number(e.flow)]] * (arrows or e.flow > 0)
            + [[weight, number(e.weight)]]} for e in edges],
    }


def _facts(node: RetrievedNode) -> list[list[str]]:
    facts = []
    if node.capacity > 0:
        facts.append(["mass", f"{number(node.mass)} of {number(node.capacity)}"])
    if node.source > 0:
        facts.append(["source", number(node.source)])
    if node.alignment:
        facts.append(["similarity to question", f"{node.alignment:.2f}"])
    return facts


def _footer(nodes: Sequence[RetrievedNode], edges: int, all_edges: int, touched: int,
            graph_size: int | None, hidden: bool) -> str:
    drawn = any(n.kind == "passage" for n in nodes)
    retrieved = sum(n.state == SATURATED and not (hidden and n.kind == "passage") for n in nodes)
    wet = sum(n.state == WET for n in nodes)
    parts = [brought(retrieved, wet, "name" if hidden else "node")]
    if hidden:
        parts.append("other passages are drawn as flow" if drawn
                     else "passages are drawn as flow")
    parts.append(f"{edges:,} of {all_edges:,} edges" if edges < all_edges else
                 f"{edges:,} edge{'s' * (edges != 1)}")
    if graph_size is not None or len(nodes) < touched:
        parts.append(nodes_shown(len(nodes), graph_size or touched))
    return " · ".join(parts)


def _sentence(title: str, nodes: Sequence[RetrievedNode], edges: Sequence[RetrievedEdge],
              here: Mapping[str, RetrievedNode], touched: int, hidden: bool) -> str:
    """The picture in words, for those who cannot see it."""
    if not nodes:
        return f"{title}: no nodes."
    names = [clean(n.name, 40) for n in nodes[:3]]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    retrieved = sum(n.state == SATURATED for n in nodes)
    text = (f"{title}: {retrieved} of {touched:,} touched {'names' if hidden else 'nodes'} "
            f"retrieved; most important: {listed}.")
    widest = max(edges, key=lambda e: e.flow, default=None)
    if widest and widest.flow > 0:
        text += (f" The largest flow, {number(widest.flow)}, runs from "
                 f"{clean(here[widest.source].name, 40)} to {clean(here[widest.target].name, 40)}.")
    return text


def _legend(shown: Sequence[Sequence[RetrievedNode]], ranked: bool, drawing: Drawing,
            top: float, largest: Sequence[float]) -> dict[str, Any]:
    """What colors and widths mean; numbers where there is one panel, else shares.

    `largest` are the importances of 100%.
    """
    color, width = drawing.measures or (
        "importance", "edge weight" if drawing.thickness == "weight" else "flow")
    best = max((n.importance for nodes in shown for n in nodes), default=0.0)
    alone = len(shown) == 1
    note = "" if ranked else "square-root scale"
    if best <= 0:
        low = high = note = ""
    elif ranked:
        low, high = "lowest rank", "highest"
    elif drawing.measures:
        low, high = "0", number(best)
    else:
        low, high = "0%", (f"{percent(share_of(best, largest[0]))} of the largest" if alone else
                           "panel's largest")
    if top <= 0:
        widths: list[tuple[float, str]] = []
    elif drawing.measures:
        widths = [(float(np.sqrt(v / top)) / 2, number(v)) for v in sorted({1.0, top})]
    elif alone:
        widest = _round_down(top)
        widths = [(float(np.sqrt(v / top)), number(v)) for v in (widest / 10, widest)]
    else:
        widths = [(float(np.sqrt(0.1)), "10%"), (1.0, "panel's largest")]
    return {
        "color": f"{color} by rank" if ranked else color, "low": low, "high": high,
        "note": note,
        "thickness": width,
        "widths": [[round(w, 3), text] for w, text in widths],
        "wet": any(n.state == WET for nodes in shown for n in nodes),
        "dry": any(n.state not in (WET, SATURATED) for nodes in shown for n in nodes),
        "passages": any(n.kind == "passage" for nodes in shown for n in nodes),
        "plain": drawing.measures is not None,
    }


def _round_down(value: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that is at most `value`."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(max((m * power for m in (1, 2, 5) if m * power <= value), default=power))
