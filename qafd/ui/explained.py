"""The explanation of what the page shows, computed once, and the node it is asked about."""

import math
from decimal import ROUND_CEILING, Context
from pathlib import Path

import streamlit as st

from qafd.explain import Explanation, RunExplanation, shown
from qafd.retrieve.qafd import FlowDiffusion
from qafd.ui.explore import View, counts_tokens
from qafd.ui.workspaces import keep, safe
from qafd.view.panel import number

SEARCHED = 400  # retrieved nodes up to which the mass of an entry is looked for
OFFERED = 5_000  # nodes up to which the list has every name
MARGIN = 1e-9  # the relative tolerance of a solve
TICKED = 300  # retrieved nodes up to which entries are computed while the page waits


def explanation_of(view: View) -> Explanation:
    """The explanation of the view: of all subqueries together, or of the part that is shown."""
    parts = "\n".join([view.plan.question, view.plan.planner,
                       *(part.question for part in view.plan.subqueries)])
    return _explanation(view.knowledge.path, view.version, parts, view.method, view)


@st.cache_resource(max_entries=64, show_spinner=False)
def _explanation(path: Path, version: str, read: str,  # noqa: ARG001
                 method: FlowDiffusion, _view: View) -> Explanation:  # noqa: ARG001
    return _view.knowledge.explain(_view.retrieval, graph=_view.graph, plan=_view.plan)


def node_choice(view: View, explanation: Explanation) -> str:
    """The node that is asked about: the selected one, one from the list, or any other by name."""
    picked = st.query_params.get("node")
    options = [n.id for n in sorted(explanation.retrieval.nodes, key=lambda n: (
        n.state != "saturated", n.seed, n.kind == "passage", -n.importance, -n.mass))]
    if "about_for" in st.session_state and st.session_state["about_for"] != picked:
        st.session_state["about"] = picked
    st.session_state["about_for"] = picked
    if picked and "about" not in st.session_state and "about" not in st.query_params:
        st.session_state["about"] = picked
    graph = view.graph
    if len(graph) <= OFFERED:
        options = list(dict.fromkeys([*options, *graph.ids]))
    elif picked and picked not in options and picked in graph.row:
        options = [picked, *options]
    first = options[0] if explanation.retrieval.nodes else ""
    chosen = st.selectbox(
        "Why is this node here, or not?", options, 0 if first else None,
        key=keep("about"), bind="query-params", accept_new_options=True,
        placeholder="Type any name of the graph",
        format_func=lambda i: shown(graph, graph.row[i]) if i in graph.row else i,
        help="Select a node in the picture, choose one that mass touched, or type another name.")
    return chosen or first


def why_line(view: View, node: str) -> str:
    """The reasons of one node in a few sentences."""
    explanation = explanation_of(view)
    if explanation.retrieved(node):
        return explanation.why(node).summary
    return " ".join(explanation.why_not(node, SEARCHED).sentences)


def next_in(view: View) -> str:
    """Which node enters next, for the status line; draws ticks where others did, below the mass.

    Nothing for a question in parts, whose mass each part has a share of.
    """
    explanation, place = explanation_of(view), st.session_state.get("under_mass")
    if (not isinstance(explanation, RunExplanation) or place is None
            or view.plan.question != view.question or explanation.full > TICKED
            or not view.method.mass > 0):
        return ""
    path, high = explanation.entered, view.method.highest(view.graph)
    following = ""
    if path.next_row is not None and path.next_alpha is not None:
        # A node that is just full is not retrieved yet, and the shown digits have to be enough.
        at = max(path.next_alpha, view.method.mass) * (1 + MARGIN)
        following = f"next to fill: {shown(view.graph, path.next_row)} at " + (
            f"{math.ceil(at):,} tokens" if counts_tokens(view.method) else
            f"mass {number(float(Context(3, ROUND_CEILING).create_decimal(at)))}")
    ticks = "".join(
        f"<i style='position:absolute;left:{share:.2%};width:1px;height:8px;"
        "background:currentColor;opacity:.6'></i>"
        for share in (path.alphas / high).tolist() if share <= 1)
    with place:
        st.html("<div role='img' style='position:relative;height:8px;margin:-12px 6px 0' "
                f"title='Each tick is the mass at which a node became full' "
                f"aria-label='Full so far: {len(path.alphas)}; {safe(following)}'>"
                f"{ticks}</div>")
    return following
