"""The picture of a result: its drawing, the places of its nodes, and the selection in it."""

import json
import zlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from qafd.app.component import component, panels, read_selection
from qafd.app.result import View, retrieve_by
from qafd.app.session import bound, choose_option, compute_shared, exchange, session, value_of
from qafd.explain.paths import row_name
from qafd.retrieve.base import RetrievedNode
from qafd.retrieve.compare import find_off_topic
from qafd.retrieve.qafd import PRESETS, FlowDiffusion
from qafd.view.contraction import drawn_contracted
from qafd.view.drawing import Caption, Drawing, Look, Scale, scale_of
from qafd.view.groups import Groups, group, passages_of
from qafd.view.layout import Positions
from qafd.view.panel import clean, mass_data, panel_data
from qafd.view.placement import ASPECT, DRAWN, add_new, freeze
from qafd.wording.panels import say_alone

TOP = 2.0  # of the suggested mass, where colors and widths end
SEPARATOR = "|"  # of the two ends in the id of an edge


def drawing_controls(contracted: bool = False) -> Drawing:
    """Draw the controls of the picture, in the sidebar; `contracted` ones never show passages."""
    with st.sidebar, st.expander("Picture"):
        if not contracted:
            st.toggle("Passages", True, **bound("passages"),
                      help="Turn it off to draw what flows through a passage as arrows between its names.")
        choose_option("Edge thickness", ("flow", "weight"), "thickness",
               help="Flow w (x_u - x_v), or the query-aware weight w alone.")
    return replace(chosen_drawing(), contract=True) if contracted else chosen_drawing()


def chosen_drawing() -> Drawing:
    """Return the drawing that the controls ask for."""
    return Drawing(value_of("passages", True) in (False, "false"),
                   value_of("thickness", "") or "flow", DRAWN, ASPECT)


def _recall_layout(view: View) -> tuple[Positions, tuple[RetrievedNode, ...], frozenset[str]]:
    return compute_shared("frozen", (view.about, view.method.rule), lambda: _freeze(view), view.at)


def _freeze(view: View) -> tuple[Positions, tuple[RetrievedNode, ...], frozenset[str]]:
    """Freeze one layout for all nodes that a preset shows, up to as many as are drawn.

    No slider moves a node: a mass of `DRAWN` fills all nodes that a picture can have. A preset
    with a diffusion for each seed runs as a single one, which reaches about the same. The last
    value is the preset's retrieval.
    """
    graph = view.graph
    preset = next((one.method for one in PRESETS.values() if one.method.rule == view.method.rule),
                  FlowDiffusion())
    usual = replace(preset, diffusions="joint").fit_to(graph)
    most = replace(usual, mass=min(usual.highest(graph), max(TOP * usual.mass, DRAWN)))
    results = [method.retrieve(view.corpus, view.plan) for method in (usual, most)]
    first = {n.id for n in results[0].retrieved}
    return (*freeze(results, first), frozenset(first))


def place_nodes(view: View) -> tuple[Positions, tuple[RetrievedNode, ...]]:
    """Return positions of all that the picture may show, and the nodes they were made for.

    Nodes of unusual settings are put next to their neighbors, so that nothing else moves.
    """
    frozen, others, _ = _recall_layout(view)
    return add_new(frozen, view.retrieval), others


def scale(view: View, drawing: Drawing) -> Scale | None:
    """Return the scale of colors and widths at every mass of the question."""
    method = replace(view.method, mass=type(view.method)().mass)
    read = view.knowledge.id, view.version, view.plan.question, view.plan.planner
    return compute_shared("scale", (read, method, drawing), lambda: _scale(view, method, drawing), view.at)


def _scale(view: View, method: FlowDiffusion, drawing: Drawing) -> Scale | None:
    """Return the scale up to twice the suggested mass: importance has no bound if all is full."""
    graph = view.graph
    usual = method.fit_to(graph)
    widest = replace(usual, mass=min(TOP * usual.mass, usual.highest(graph)))
    return scale_of(widest.retrieve(view.corpus, view.plan), drawing)


def picture(view: View, drawing: Drawing, path: Sequence[str] = (), named: Sequence[str] = (),
            possible: Collection[str] = ()) -> str | None:
    """Draw the subgraph, and return the selected node.

    The edges of a `path` of node ids stand out, the nodes of `named` always have their names, and those
    of `possible` a broken ring.
    """
    key = _key(view)
    # Another question begins with its answer, not with the selection of the one before.
    fresh = exchange(key, view.question) != view.question
    positions, others = place_nodes(view)
    unsure, steady, groups = view.lacks_answer, scale(view, drawing), groups_of(view)

    def draw(chosen: str | None) -> dict[str, Any]:
        data = panel_data([view.retrieval], drawing, positions=positions, look=Look(
            [caption(view)], others, selected=chosen, path=path, graph_size=len(view.graph), scale=steady,
            groups=groups, unsure=unsure, named=named, possible=possible))
        return {**data, "edges": True, "mass": view.method.mass}

    selected = pick(draw, key, fresh=fresh)
    _animate(view, drawing, positions, steady)
    return selected


def both_weights(view: View, drawing: Drawing) -> str | None:
    """Draw plain and query-aware edge weights side by side, and return the selected node.

    Passages are drawn, as in Figure 1 of the paper. Nodes that one weight alone retrieves are in color.
    """
    plain = retrieve_by(view.knowledge, view.graph, view.version,
                      replace(view.method, variant="plain"), view.plan)
    full = {node.id for node in plain.retrieved}
    only_aware = [node.id for node in view.retrieval.retrieved if node.id not in full]
    full = {node.id for node in view.retrieval.retrieved}
    only_plain = [node.id for node in plain.retrieved if node.id not in full]
    known, others = place_nodes(view)
    positions = add_new(known, plain)
    drawing = replace(drawing, contract=False)
    captions = []
    off_topic = len(find_off_topic(plain, view.retrieval))
    for title, idea, only, off in (
            ("Plain", "edges as wide as the graph has them", only_plain, off_topic),
            ("Query-aware", "edges wide toward the question", only_aware, 0)):
        names = [clean(row_name(view.graph, view.graph.row[id]), 40) for id in only]
        captions.append(Caption(title, idea, f"off topic: {off} · {say_alone(names)}"))
    signed = dict.fromkeys(only_plain, 1.0) | dict.fromkeys(only_aware, -1.0)
    key = f"both-{view.knowledge.name}"
    return pick(lambda chosen: panel_data(
        [plain, view.retrieval], drawing, positions=positions, look=Look(
            captions, others, selected=chosen, signed=signed, named=tuple(signed),
            graph_size=len(view.graph))),
        key, fresh=exchange(key, view.question) != view.question)


def _animate(view: View, drawing: Drawing, positions: Positions, steady: Scale | None) -> None:
    """Let the browser draw every mass while the control moves, where it can."""
    method, highest = view.method, session().highest_mass
    joint = method.diffusions == "joint" and not view.plan.further
    if not joint or steady is None or drawing.thickness != "flow" or view.plan.planner != "local":
        return
    widest = replace(method, mass=highest)
    data = compute_shared("mass", (view.about, widest, drawing),
                          lambda: _mass_data(view, widest, drawing, positions, steady), view.at)
    if data is not None:
        component("mass")(key=f"mass-{view.knowledge.name}", data=data)


def _mass_data(view: View, widest: FlowDiffusion, drawing: Drawing, positions: Positions,
               steady: Scale) -> bytes | None:
    data = mass_data(widest.problem(view.corpus, view.plan), drawing, steady, positions, groups_of(view))
    return None if data is None else zlib.compress(json.dumps(data, separators=(",", ":")).encode())


def caption(view: View) -> Caption:
    """Return the caption of the picture of a result."""
    if view.lacks_answer:
        return Caption("QAFD", "pale: these documents do not mention all of the question")
    if view.method.variant == "plain":
        return Caption("QAFD", "flow diffusion with plain edge weights")
    return Caption("QAFD", "query-aware flow diffusion")


def deselect(view: View) -> None:
    """Clear the selection before the picture is drawn next."""
    exchange(_key(view), "")


def _key(view: View) -> str:
    return f"picture-{view.knowledge.name}"


def groups_of(view: View) -> Groups:
    """Return the documents and communities of all that the picture may show."""
    return compute_shared("groups", (view.about, view.method.rule), lambda: _groups(view), view.at)


def _groups(view: View) -> Groups:
    graph = view.graph
    frozen, _, first = _recall_layout(view)
    ids = [node for node in frozen if node in graph.row]
    passages: dict[str, None] = {}
    for node in ids:
        passages.update(dict.fromkeys(passages_of(graph, node)))
    with view.knowledge.store() as store:
        node_of = {node.key: name for name, node in store.graph.nodes(passages).items()}
        chunks = store.passages.get(node_of)
    documents = {node_of[key]: chunk.document for key, chunk in chunks.items()}
    return group(graph, ids, documents, first)


def pick(draw: Callable[[str | None], dict[str, Any]], key: str, *,
         fresh: bool = False, name: str = "panel") -> str | None:
    """Draw panels or a map, and return the selected node or edge, which the link then has too.

    `draw` makes the data for a selection, which `fresh` clears. After Back and Forward the selection
    is that of the link, else that of the browser. `name` is that of the component.
    """
    context = get_script_run_ctx()
    back = context is not None and context.is_history_navigation
    linked = st.query_params.get("line") or st.query_params.get("node")
    if back:
        chosen = linked
    elif fresh:
        chosen = None
    else:
        chosen = read_selection(key) or linked
    reply = panels({**draw(chosen), "told": back or fresh}, key=key, name=name)
    picked = chosen if back or fresh else reply
    kind = "line" if picked and SEPARATOR in picked else "node"
    for one in ("node", "line"):
        if picked and one == kind:
            st.query_params[one] = picked
        else:
            st.query_params.pop(one, None)
    return picked


def ends_of(selected: str | None, view: View, contracted: bool) -> list[str]:
    """Return the two ends of a selected edge; empty for a node or an edge that is not drawn."""
    ends = (selected or "").split(SEPARATOR)
    if len(ends) != 2:
        return []
    drawn = drawn_contracted(view.retrieval) if contracted else view.retrieval
    return ends if any({e.source, e.target} == set(ends) for e in drawn.edges) else []
