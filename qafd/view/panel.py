"""Retrievals as panels: the data of the component, and of the slider of its mass, as JSON values.

How importance becomes color and flow becomes thickness is decided here, and the words of the
tooltips. Names come from documents: they are cleaned here and shown as text only.
"""

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qafd.flow.homotopy import local_problem
from qafd.reasons import ReasonKind, reason
from qafd.retrieve.base import DRY, SATURATED, WET, Retrieval, RetrievedEdge, RetrievedNode
from qafd.retrieve.qafd import Problem
from qafd.view.drawing import (
    DIVERGING,
    PALE,
    RAMP,
    Caption,
    Drawing,
    Idiom,
    Look,
    Scale,
    Shown,
    choose,
    drawn_nodes,
    found_once,
    largest_of,
    place_on_ramp,
    share_of,
)
from qafd.view.groups import Groups
from qafd.view.layout import Positions
from qafd.wording.panels import (
    say_footer,
    say_idiom,
    say_number,
    say_percent,
    say_picture,
)
from qafd.wording.reasons import word_reason

NAME_LENGTH = 120
REASON_LENGTH = 400
DOCUMENTS = 5  # of a node that a filter can find it by
# Direction marks could turn a name around; the last three cannot be in an SVG file.
_UNSHOWN = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
                     "\ufeff\ufffe\uffff")


def panel_data(retrievals: Sequence[Retrieval], drawing: Drawing = Drawing(), *,
               positions: Positions, look: Look = Look()) -> dict[str, Any]:
    """Return the panels of a page as JSON values for `qafd.app.component.panels`.

    Each panel shows seeds and the selected node, then saturated nodes by importance, wet ones by
    mass, dry ones, up to the limit. A node of another panel or of `others` alone is drawn as a
    ghost, half as many as the limit at most. Color and thickness are square roots: of
    importance, and of flow (or weight), over the largest of the panel. With a `scale` both are the
    same at every mass, and color is a logarithm.

    Parameters
    ----------
    retrievals : sequence of Retrieval
        One panel each, in order.
    positions : mapping of id to (x, y)
        The frozen layout, in [0, aspect] x [0, 1]; nodes outside of it are not drawn, and
        the footer counts them.
    look
        See `Look`.
    """
    captions = look.captions or [Caption()] * len(retrievals)
    largest = look.largest or [largest_of(retrieval.nodes) for retrieval in retrievals]
    shown = [choose(retrieval, drawing, positions, look.selected) for retrieval in retrievals]
    drawn = drawn_nodes(shown, drawing, positions, look.others)
    index = {node: i for i, node in enumerate(sorted(drawn))}
    picture = _Picture(drawing, look, index, found_once(shown) if look.lone else set())
    panels = [picture.panel(*parts) for parts in zip(shown, captions, largest, strict=True)]
    for panel, idioms in zip(panels, look.idioms, strict=False):
        panel["shapes"] = _shapes(idioms, index)
    ramp, legend = coloring(shown, drawing, largest, look)
    return {
        "aspect": drawing.aspect, "legend": legend, "ramp": ramp, "panels": panels,
        "nodes": [place(drawn[node], positions[node], drawing, look) for node in index],
        "question": clean(retrievals[0].query, REASON_LENGTH) if retrievals else "",
        **_state(look, index),
    }


def _state(look: Look, index: Mapping[str, int]) -> dict[str, Any]:
    """Return the options of a look for the component."""
    return {
        "signed": look.signed is not None,
        "lone": look.lone,
        "unsure": look.unsure,
        "boxes": look.boxes,
        "path": [node for node in look.path if node in index],
        "groups": _name_groups(look.groups) if look.groups else None,
        "crowd": [look.scale.nodes, look.scale.edges] if look.scale else None,
        "selected": look.selected,
        "named": list(look.named),
    }


def place(node: RetrievedNode, at: tuple[float, float], drawing: Drawing, look: Look) -> dict[str, Any]:
    """Return name, kind and place of a node in all panels."""
    x, y = at
    place: dict[str, Any] = {
        "id": node.id, "name": shown_name(node), "kind": clean(node.kind, NAME_LENGTH),
        "x": round(x / drawing.aspect, 4), "y": round(y, 4)}
    if node.kind == "passage":
        place["square"] = 1
    if node.id in look.late:
        place["late"] = 1
    if look.groups:
        place["d"] = list(look.groups.documents_of.get(node.id, ()))[:DOCUMENTS]
        place["c"] = look.groups.community_of.get(node.id, -1)
    return place


def _name_groups(groups: Groups) -> dict[str, list[str]]:
    return {"document": [clean(name, NAME_LENGTH) for name in groups.documents],
            "community": [clean(name, NAME_LENGTH) for name in groups.communities]}


def _shapes(idioms: Sequence[Idiom], index: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the shapes of a panel over the nodes that are drawn."""
    shapes = []
    for idiom in idioms:
        nodes = [index[node] for node in idiom.nodes if node in index]
        if nodes:
            title = say_idiom(idiom.shape, idiom.title, idiom.number)
            shapes.append({"shape": idiom.shape, "n": nodes, "title": clean(title, NAME_LENGTH)})
    return shapes


def clean(text: str, length: int) -> str:
    """Reduce to one line of at most `length` characters without control or direction characters."""
    characters = "".join(
        " " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c
        for c in text[:4 * length]
        if c not in _UNSHOWN and unicodedata.category(c) != "Cs")
    line = " ".join(characters.split())
    return line if len(line) <= length and len(text) <= 4 * length else line[:length - 1] + "…"


def shown_name(node: RetrievedNode) -> str:
    """Return the name of a node; a passage, often named like an entity, begins with a pilcrow."""
    name = clean(node.name, NAME_LENGTH) or "…"
    return f"¶ {name}" if node.kind == "passage" else name


@dataclass(frozen=True)
class _Picture:
    """Settings shared by the panels of a picture; `only` are the nodes that one panel alone retrieves."""

    drawing: Drawing
    look: Look
    index: Mapping[str, int]
    only: Collection[str]

    def panel(self, shown: Shown, caption: Caption, largest: float) -> dict[str, Any]:
        """Build one panel; an importance is given as its share of the `largest`."""
        title = clean(caption.title or shown.retrieval.method, NAME_LENGTH)
        scale = self.look.scale
        top = scale.amount if scale else self.drawing.largest(shown.retrieval)
        return {
            "title": title,
            "subtitle": clean(caption.subtitle, NAME_LENGTH),
            "footer": clean(caption.footer, REASON_LENGTH) or say_footer(shown, self.look.graph_size),
            "alt": _describe(title, shown),
            "nodes": self._nodes(shown, largest),
            "edges": [self._edge(edge, top) for edge in shown.edges],
        }

    def _nodes(self, shown: Shown, largest: float) -> list[dict[str, Any]]:
        full = [n.importance if n.state == SATURATED else 0.0 for n in shown.nodes]
        scale, signed = self.look.scale, self.look.signed
        colors = (place_on_ramp(np.array(full), scale.importance) if scale
                  else np.sqrt(np.clip(np.array(full) / (largest or 1.0), 0, 1))).tolist()
        later = shown.retrieval.later_seeds
        nodes = []
        for node, color in zip(shown.nodes, colors, strict=True):
            if signed is not None:
                color = (1 + signed.get(node.id, 0.0)) / 2
            facts = [["importance", say_percent(share_of(node.importance, largest))], *_facts(node)]
            if signed and node.id in signed:
                facts.append(["difference", f"{signed[node.id]:+.2f}"])
            rare: dict[str, Any] = {"possible": 1} if node.id in self.look.possible else {}
            if node.id in later:
                rare["later"] = 1
            if shares := _shares(node):
                rare["shares"] = shares
            nodes.append({
                "n": self.index[node.id], "state": node.state, "seed": node.seed,
                "only": node.id in self.only,
                "t": round(float(color), 3) if node.state == SATURATED else 0,
                "facts": facts, "reason": clean(word_reason(node.reason), REASON_LENGTH),
                **rare})
        return nodes

    def _edge(self, edge: RetrievedEdge, top: float) -> dict[str, Any]:
        arrows = self.drawing.thickness == "flow"
        width = min(share_of(self.drawing.amount(edge), top), 1.0) ** 0.5
        facts = [["flow", say_number(edge.flow)]] if arrows or edge.flow > 0 else []
        return {"u": self.index[edge.source], "v": self.index[edge.target], "w": round(width, 3),
                "arrow": arrows and edge.flow > 0, "label": clean(edge.label, NAME_LENGTH),
                "facts": [*facts, ["weight", say_number(edge.weight)]]}


def _facts(node: RetrievedNode) -> list[list[str]]:
    facts = []
    if node.capacity > 0:
        held = f"{say_number(node.mass)} of {say_number(node.capacity)}"
        facts.append(["mass", held])
    if node.source > 0:
        facts.append(["source", say_number(node.source)])
    if node.alignment:
        facts.append(["similarity to question", f"{node.alignment:.2f}"])
    return facts


def _shares(node: RetrievedNode) -> list[float]:
    """Return the share of its capacity that each condition of the question fills, if any is told."""
    return [round(float(str(part.values["share"])), 3) for part in node.reason.also
            if part.kind == ReasonKind.HELD]


def _describe(title: str, shown: Shown) -> str:
    """Describe the picture in words, for people who cannot see it."""
    names = {node.id: clean(node.name, 40) for node in shown.nodes}
    widest = max(shown.edges, key=lambda edge: edge.flow, default=None)
    largest = None
    if widest is not None and widest.flow > 0:
        largest = names[widest.source], names[widest.target], widest.flow
    return say_picture(title, shown, list(names.values())[:3], largest)


def coloring(shown: Sequence[Shown], drawing: Drawing, largest: Sequence[float], look: Look
             ) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """Return the ramp of a picture, and its legend."""
    legend = _legend(shown, drawing, largest, look.scale)
    if look.signed is not None:
        return DIVERGING, {**legend, "color": "difference", "low": "second only",
                           "high": "first only", "note": ""}
    return PALE if look.unsure else RAMP, legend


def _legend(shown: Sequence[Shown], drawing: Drawing, largest: Sequence[float], scale: Scale | None
            ) -> dict[str, Any]:
    """Return the legend of colors and widths; numbers where there is one panel, else shares.

    `largest` are the importances of 100%.
    """
    nodes: list[RetrievedNode] = []
    for one in shown:
        nodes += one.nodes
    best = largest_of(nodes)
    low = high = note = ""
    if scale is not None:
        low, high, note = "low", "high", "the same at every mass"
    elif best > 0:
        # Two panels have each their largest, one of which not all need to show.
        top = 1.0 if len(shown) > 1 else share_of(best, largest[0])
        low, high, note = "0%", say_percent(top), "square-root scale"
    return {
        "color": "importance", "low": low, "high": high, "note": note,
        "thickness": "edge weight" if drawing.thickness == "weight" else "flow",
        "widths": [[round(w, 3), text] for w, text in _reference_widths(shown, drawing, scale)],
        "wet": any(node.state == WET for node in nodes),
        "dry": any(node.state not in (WET, SATURATED) for node in nodes),
        "passages": any(node.kind == "passage" for node in nodes),
    }


def _reference_widths(shown: Sequence[Shown], drawing: Drawing, scale: Scale | None
                      ) -> list[tuple[float, str]]:
    """Return widths of the legend with the amounts they mean."""
    largest = [drawing.largest(one.retrieval) for one in shown]
    top = scale.amount if scale else max(largest, default=0.0)
    if not top > 0:
        return []
    if len(shown) > 1:
        return [(float(np.sqrt(0.1)), "10%"), (1.0, "panel's largest")]
    widest = _round_down(top)
    return [(float(np.sqrt(v / top)), say_number(v)) for v in (widest / 10, widest)]


def _round_down(value: float) -> float:
    """Return the largest of 1, 2, 5 times a power of ten that is at most `value`."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(max((m * power for m in (1, 2, 5) if m * power <= value), default=power))


LONGEST = 300  # nodes that fill on the way: the walk takes their number cubed, about .1 s at 300


def mass_data(problem: Problem, drawing: Drawing, scale: Scale, positions: Positions,
              groups: Groups | None = None, longest: int = LONGEST) -> dict[str, Any] | None:
    """Return the local problem up to the method's mass and the places of its nodes, as JSON values.

    None where more than `longest` nodes fill or nothing does; then only the server draws.
    """
    graph, unit = problem.layer, problem.per_unit()
    if not len(problem.seeds.rows) or not problem.method.mass > 0:
        return None
    shown = np.array([graph.row[node] for node in positions if node in graph.row], np.int64)
    local = local_problem(graph, problem.gates, problem.seeds.rows, unit, shown,
                          problem.method.capacity, problem.method.mass)
    if not 0 < local.size <= longest:
        return None
    seeds = set(problem.seeds.rows.tolist())
    ids = graph.ids_of(local.rows.tolist())
    kinds = [str(kind) for kind in graph.kinds[local.rows].tolist()]
    names = [graph.names[row] for row in local.rows.tolist()]
    look = Look(groups=groups)
    places = []
    for node, name, kind in zip(ids, names, kinds, strict=True):
        record = RetrievedNode(node, name, kind, 0.0, 0.0, DRY, reason(ReasonKind.UNREACHED))
        at = positions.get(node)
        places.append(None if at is None else place(record, at, drawing, look))
    return {
        "question": clean(problem.plan.question, REASON_LENGTH), "up": problem.method.mass,
        "size": local.size,
        "sink": local.sink.tolist(), "drive": local.drive.tolist(), "end": local.end.tolist(),
        "leak": local.leak.tolist(), "u": local.u.tolist(), "v": local.v.tolist(),
        "w": local.weight.tolist(), "places": places,
        "passage": [int(kind == "passage") for kind in kinds],
        "seed": [int(row in seeds) for row in local.rows.tolist()],
        "contract": drawing.contract and "passage" in kinds, "limit": drawing.limit,
        "scale": {"importance": scale.importance, "amount": scale.amount},
    }
