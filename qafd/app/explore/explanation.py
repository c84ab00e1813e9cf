"""The explanation of the shown result, computed once, and the node to explain."""

import math
from collections.abc import Collection
from dataclasses import replace
from decimal import ROUND_CEILING, Context

import streamlit as st

from qafd.app.markup import ticks
from qafd.app.result import View, counts_tokens
from qafd.app.session import bound, compute_shared, exchange, put, session
from qafd.explain import Explanation, RunExplanation
from qafd.explain.entry import entries
from qafd.explain.paths import row_name
from qafd.flow.homotopy import Path as Entries
from qafd.graph import Graph
from qafd.view.drawing import share_of
from qafd.wording.explanations import say_why, say_why_not
from qafd.wording.panels import say_number

ABOUT = "about"
SEARCHED = 400  # retrieved nodes up to which the mass of an entry is looked for
OFFERED = 5_000  # nodes up to which the list has every name
MARGIN = 1e-9  # the relative tolerance of a solve
TICKED = 300  # retrieved nodes up to which entries are computed while the page waits


def explanation_of(view: View) -> Explanation:
    """Return the explanation of the view, further questions included."""
    plan = view.plan
    parts = plan.question, plan.planner, tuple(asked.question for asked in plan.further)
    return compute_shared("explanation", (view.knowledge.id, view.version, parts, view.method),
                          lambda: view.knowledge.explain(view.retrieval, graph=view.graph, plan=plan),
                          view.at)


def node_choice(graph: Graph, explanation: Explanation) -> str:
    """Return the node to explain: the selected one, one of the list, or any by name."""
    picked = st.query_params.get("node")
    options = [n.id for n in sorted(explanation.retrieval.nodes, key=lambda n: (
        n.state != "saturated", n.seed, n.kind == "passage", -n.importance, -n.mass))]
    asked = ABOUT in st.session_state or ABOUT in st.query_params
    if exchange("node", picked) != picked or picked and not asked:
        put(ABOUT, picked)
    if len(graph) <= OFFERED:
        options = list(dict.fromkeys([*options, *graph.ids]))
    elif picked and picked not in options and picked in graph.row:
        options = [picked, *options]
    first = options[0] if explanation.retrieval.nodes else ""
    chosen = st.selectbox(
        "Why is this node here, or not?", options, 0 if first else None,
        **bound(ABOUT), accept_new_options=True,
        placeholder="Type any name of the graph",
        format_func=lambda i: row_name(graph, graph.row[i]) if i in graph.row else i,
        help="Select a node in the picture, choose one that mass touched, or type another name.")
    return chosen or first


def why_line(explanation: Explanation, node: str) -> str:
    """Return the reasons of one node in a few sentences."""
    if explanation.is_retrieved(node):
        return say_why(explanation.why(node))
    return " ".join(say_why_not(explanation.why_not(node, SEARCHED)))


def entered_path(view: View) -> Entries | None:
    """Return the masses at which nodes enter; None if that takes long or is undefined."""
    explanation = explanation_of(view)
    if len(explanation.runs) > 1 or explanation.full > TICKED or not view.method.mass > 0:
        return None
    run, end = explanation.runs[0], session().highest_mass
    widest = replace(view.method, mass=end)
    found = compute_shared("entered", (view.about, widest), lambda: _find_entries(run, end), view.at)
    return found or run.entered


def next_in(view: View) -> str:
    """Draw ticks below the control where nodes enter, and name the next one."""
    path, place = entered_path(view), session().under_mass
    if path is None or place is None:
        return ""
    end = session().highest_mass
    retrieved = {n.id for n in view.retrieval.retrieved}
    following = _following(view, path, retrieved)
    places = [share_of(alpha, end) for alpha in path.alphas.tolist() if alpha <= end]
    label = f"Full so far: {len(retrieved)}; {following}"
    hint = "Each tick is the mass at which a node becomes full; short ticks are still ahead"
    with place:
        st.html(ticks(places, share_of(view.method.mass, end), hint, label))
    return following


def _following(view: View, path: Entries, retrieved: Collection[str]) -> str:
    """Name the node that fills next and its mass; "" if unknown."""
    rows, alphas = [*path.rows.tolist(), path.next_row], [*path.alphas.tolist(), path.next_alpha]
    for row, alpha in zip(rows, alphas, strict=True):
        if row is None or view.graph.ids[row] in retrieved:
            continue
        # A node that is just full is not retrieved yet, and the shown digits have to be enough.
        at = max(alpha, view.method.mass) * (1 + MARGIN)
        name = row_name(view.graph, row)
        if counts_tokens(view.method):
            return f"next to fill: {name} at {math.ceil(at):,} tokens"
        enough = float(Context(3, ROUND_CEILING).create_decimal(at))
        return f"next to fill: {name} at mass {say_number(enough)}"
    return ""


def _find_entries(run: RunExplanation, mass: float) -> Entries | None:
    """Return the mass at which every node enters, None if there are too many."""
    if len(run.problem.at(mass).support) > TICKED:
        return None
    return entries(run.problem, mass)
