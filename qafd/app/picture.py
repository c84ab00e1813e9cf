"""The picture of a result: how it is drawn, where its nodes are, and what is selected in it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from qafd.app.component import panels, selected
from qafd.app.result import View
from qafd.app.session import exchange, keep, value_of
from qafd.retrieve.base import DRY, SATURATED, Retrieval, RetrievedNode
from qafd.retrieve.qafd import PRESETS, FlowDiffusion
from qafd.view.contraction import drawn_contracted
from qafd.view.layout import Positions
from qafd.view.panel import RAMPS, Caption, Drawing, panel_data
from qafd.view.placement import freeze, with_new
from qafd.wording import say, say_count

DRAWN = 150
ASPECT = 1.6
MARGIN = 0.84  # of the frame that nodes fill when it is zoomed to them
SEPARATOR = "|"  # of the two ends in the id of an edge


def drawing_controls() -> Drawing:
    """How to draw, in the sidebar."""
    with st.sidebar, st.expander(say("Picture")):
        st.toggle(
            say("Contract passages"), True, key=keep("contract"), bind="query-params",
            help=say("Draw the flow that passages carry between their entities; it still adds "
                     "up."))
        st.segmented_control(
            say("Edge thickness"), ("flow", "weight"), default="flow", required=True,
            key=keep("thickness", ("flow", "weight")), bind="query-params", format_func=say,
            help=say("Flow w (x_u - x_v), or the query-aware weight w alone."))
        st.segmented_control(say("Colors"), list(RAMPS), default="green", required=True,
                             key=keep("ramp", list(RAMPS)), bind="query-params", format_func=say)
    return chosen_drawing()


def chosen_drawing() -> Drawing:
    """How the controls say to draw."""
    return Drawing(value_of("contract", True) not in (False, "false"),
                   value_of("thickness", "") or "flow", value_of("ramp", "") or "green",
                   DRAWN, ASPECT)


@st.cache_resource(max_entries=32, show_spinner=False)
def _frozen(path: Path, version: str, question: str, _view: View,  # noqa: ARG001
            ) -> tuple[Positions, tuple[RetrievedNode, ...]]:
    """One layout for what the presets show at their largest mass: no slider moves a node."""
    corpus = _view.knowledge.corpus(_view.graph, FlowDiffusion.needs)
    widest = [replace(p.method, mass=p.method.highest(_view.graph)).retrieve(corpus, _view.plan)
              for p in PRESETS.values()]
    usual = FlowDiffusion().fitted(_view.graph).retrieve(corpus, _view.plan)
    first = {n.id for n in usual.nodes if n.state == SATURATED}
    return freeze(widest, first, DRAWN, ASPECT)


def placed(view: View) -> tuple[Positions, tuple[RetrievedNode, ...]]:
    """Positions of all that the picture may show, and the nodes they were made for.

    What only an unusual setting retrieves is put beside its neighbors, so that nothing else
    moves.
    """
    frozen, others = _frozen(view.knowledge.path, view.version, view.question, view)
    return with_new(frozen, view.retrieval, DRAWN, ASPECT), others


def placed_too(view: View, other: Retrieval) -> Positions:
    """The positions of `placed` and of what another retrieval shows."""
    return with_new(placed(view)[0], other, DRAWN, ASPECT)


def picture(view: View, drawing: Drawing, path: Sequence[str] = ()) -> str | None:
    """The drawn subgraph, in which a path of node ids may stand out; returns the selected node."""
    positions, others = placed(view)
    key = f"picture-{view.knowledge.path.stem}"
    retrieval, footer = view.retrieval, ""
    if value_of("only", False) is True:
        retrieval, footer = _only_retrieved(view.retrieval)
        drawn = drawn_contracted(retrieval) if drawing.contract else retrieval
        positions, others = _zoom(positions, drawn), ()
    caption = Caption("QAFD", say("query-aware flow diffusion"), footer)

    def draw(chosen: str | None) -> dict[str, Any]:
        data = panel_data([retrieval], drawing, positions=positions, others=others,
                          selected=chosen, path=path, graph_size=len(view.graph),
                          captions=[caption])
        return {**data, "edges": True}

    # Another question begins with its answer, not with what was selected for the one before.
    return pick(draw, key, anew=exchange(key, view.question) != view.question)


def _only_retrieved(retrieval: Retrieval) -> tuple[Retrieval, str]:
    """A retrieval without what is not full, and how much that is."""
    nodes = tuple(n for n in retrieval.nodes if n.state == SATURATED or n.seed)
    kept = {n.id for n in nodes}
    edges = tuple(e for e in retrieval.edges if {e.source, e.target} <= kept)
    folded = len(retrieval.nodes) - len(nodes)
    full = sum(n.state == SATURATED for n in nodes)
    footer = say_count(full, "{number} node retrieved, +{folded} touched",
                       "{number} nodes retrieved, +{folded} touched", folded=f"{folded:,}")
    return replace(retrieval, nodes=nodes, edges=edges), footer


def _zoom(positions: Positions, retrieval: Retrieval) -> Positions:
    """Positions in which the nodes of a retrieval fill the frame."""
    kept = {n.id: positions[n.id] for n in retrieval.nodes
            if n.id in positions and n.state != DRY}
    if len(kept) < 2:
        return kept
    places = np.array(list(kept.values()))
    low, size = places.min(axis=0), np.maximum(np.ptp(places, axis=0), 1e-9)
    frame = np.array([ASPECT, 1.0])
    scale = min(MARGIN * frame / size)
    placed = (places - low - size / 2) * scale + frame / 2
    return {node: (float(x), float(y)) for node, (x, y) in zip(kept, placed, strict=True)}


def pick(draw: Callable[[str | None], dict[str, Any]], key: str, *,
         anew: bool = False) -> str | None:
    """Draw panels; returns the selected node or edge, which the link then has too.

    `draw` makes the data of the panels in which a node or edge is selected; with `anew` nothing
    is. After Back and Forward the link says what is selected, else the browser does.
    """
    context = get_script_run_ctx()
    back = context is not None and context.is_history_navigation
    linked = st.query_params.get("line") or st.query_params.get("node")
    if back:
        chosen = linked
    elif anew:
        chosen = None
    else:
        chosen = selected(key) or linked
    told = panels({**draw(chosen), "told": back or anew, "back": back}, key=key)
    picked = chosen if back or anew else told
    kind = "line" if picked and SEPARATOR in picked else "node"
    for one in ("node", "line"):
        if picked and one == kind:
            st.query_params[one] = picked
        else:
            st.query_params.pop(one, None)
    return picked


def ends_of(selected: str | None, view: View, contracted: bool) -> list[str]:
    """The two ends of a selected edge; empty for a node, and where the edge is not drawn now."""
    ends = (selected or "").split(SEPARATOR)
    if len(ends) != 2:
        return []
    drawn = drawn_contracted(view.retrieval) if contracted else view.retrieval
    return ends if any({e.source, e.target} == set(ends) for e in drawn.edges) else []
