"""The Explore page: question, controls, status line and picture."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import sqrt
from typing import Any

import numpy as np
import streamlit as st

from qafd.graph import Graph
from qafd.knowledge import EXAMPLES, KnowledgeGraph
from qafd.records import QueryPlan
from qafd.retrieve.base import SATURATED, Retrieval
from qafd.retrieve.qafd import PRESETS, FlowDiffusion
from qafd.ui.workspace import forget, keep
from qafd.view.component import panels, selected
from qafd.view.layout import Positions, layout
from qafd.view.panel import RAMPS, Caption, clean, panel_data

DRAWN = 150
ASPECT = 1.6
NEAREST = 20  # passages that may be seeds beside the names of the question
LENS = 2.0  # how much more room the nodes of the first view get than those it leaves out


@dataclass(frozen=True)
class View:
    """All that the page shows of one question."""

    knowledge: KnowledgeGraph
    graph: Graph
    question: str
    plan: QueryPlan
    method: FlowDiffusion
    retrieval: Retrieval


@dataclass(frozen=True)
class Drawing:
    """How the picture is drawn, whatever it shows."""

    contract: bool
    thickness: str
    ramp: str


def question_box(knowledge: KnowledgeGraph) -> str:
    """The question, from the box, an example or the link."""
    examples = EXAMPLES.get(knowledge.path.stem, ())
    # A question belongs to its workspace: another one starts with its own.
    if st.session_state.get("asked_in", knowledge.path) != knowledge.path:
        forget("q")
    st.session_state["asked_in"] = knowledge.path
    question = st.text_input(
        "Question", value=examples[0] if examples else "", key=keep("q"), bind="query-params",
        placeholder="Ask your documents a question", label_visibility="collapsed",
        icon=":material/search:")
    if examples:
        with st.container(horizontal=True, gap="small"):
            for example in examples:
                st.button(example, type="tertiary", on_click=_ask, args=(example,),
                          disabled=example == question)
    return question or ""


def _ask(question: str) -> None:
    st.session_state["q"] = question


def ask_something(knowledge: KnowledgeGraph) -> None:
    """An invitation, with questions about the best connected names of the graph."""
    graph = knowledge.graph
    st.write("Ask a question to see which part of the graph answers it, and why.")
    entities = np.flatnonzero(graph.kinds == "entity")
    best = entities[np.lexsort((entities, -graph.degree[entities]))][:3]
    with st.container(horizontal=True, gap="small"):
        for row in best.tolist():
            question = f"What is said about {clean(graph.names[row], 60)}?"
            st.button(question, key=f"ask{row}", on_click=_ask, args=(question,))


def method_controls(knowledge: KnowledgeGraph) -> FlowDiffusion:
    """The parameters of flow diffusion, in the sidebar; each preset keeps its own values."""
    with st.sidebar:
        name = st.segmented_control(
            "Preset", list(PRESETS), default=next(iter(PRESETS)), required=True, key=keep("preset"),
            bind="query-params", format_func=lambda key: PRESETS[key].label) or next(iter(PRESETS))
        preset = PRESETS[name]
        st.caption(preset.quality)
        start = preset.method.fitted(knowledge.graph)
        shown = [spec for spec in fields(FlowDiffusion) if not spec.metadata["advanced"]]
        top = start.highest(knowledge.graph)
        chosen = {spec.name: _control(spec, start, name, top) for spec in shown}
        with st.expander("Advanced"):
            chosen |= {spec.name: _control(spec, start, name, top)
                       for spec in fields(FlowDiffusion) if spec.metadata["advanced"]}
    return FlowDiffusion(**chosen)


def _control(spec: Any, method: FlowDiffusion, preset: str, highest: float) -> Any:
    """The control of one parameter, made from its range or options."""
    value, meta = getattr(method, spec.name), spec.metadata
    key = keep(f"{preset}_{spec.name}")
    label = _label(spec.name, method)
    if meta["options"]:
        return st.selectbox(label, meta["options"], index=meta["options"].index(value), key=key,
                            bind="query-params", help=meta["help"])
    low, high = meta["low"], {
        "mass": highest,
        "seeds": NEAREST if method.seeding == "question" else meta["high"],
    }.get(spec.name, meta["high"])
    whole = isinstance(value, int) or (spec.name == "mass" and method.rule == "budget")
    step = 1.0 if whole else 0.01 if high <= 2 else 0.1
    kind = int if isinstance(value, int) else float
    return st.slider(label, kind(low), kind(high), kind(value), kind(step), key=key,
                     format="%d" if whole else "%.2f", bind="query-params", help=meta["help"])


def _label(name: str, method: FlowDiffusion) -> str:
    """What a parameter is called, in the words of the chosen rules."""
    if name == "mass":
        return "About how many nodes" if method.rule == "budget" else "Source mass alpha"
    if name == "seeds":
        return "Passage seeds" if method.seeding == "question" else "Seeds N"
    return {"variant": "Edge weight", "rule": "Source mass rule", "layer": "Diffuse over",
            "capacity": "Sink capacity", "similarity": "Similarity map",
            "top": "Passages ranked"}.get(name, name.replace("_", " ").capitalize())


def drawing_controls() -> Drawing:
    """How to draw, in the sidebar."""
    with st.sidebar, st.expander("Picture"):
        contract = st.toggle(
            "Contract passages", True, key=keep("contract"), bind="query-params",
            help="Draw the flow that passages carry between their entities; it still adds up.")
        thickness = st.segmented_control(
            "Edge thickness", ("flow", "weight"), default="flow", required=True, key="thickness",
            bind="query-params", help="Flow w (x_u - x_v), or the query-aware weight w alone.")
        ramp = st.segmented_control("Colors", list(RAMPS), default="green", required=True,
                                    key=keep("ramp"), bind="query-params")
    return Drawing(contract, thickness or "flow", ramp or "green")


def empty_workspace(knowledge: KnowledgeGraph) -> None:
    """What is missing and the one button that mends it."""
    with knowledge.store() as store:
        waiting = any(file.status in ("queued", "parsing", "extracting")
                      for file in store.files())
    st.subheader("Documents are being read" if waiting else "This workspace is empty")
    st.write("The graph appears with the first passages." if waiting else
             "Add documents, and their knowledge graph appears here.")
    if st.button("See the progress" if waiting else "Add documents", type="primary",
                 icon=":material/upload_file:"):
        st.switch_page("pages/documents.py")


def explored(knowledge: KnowledgeGraph, question: str, method: FlowDiffusion) -> View:
    """The question answered by the method; repeated views come from memory."""
    graph = knowledge.graph
    plan = _plan(knowledge.path, graph.revision, question, knowledge)
    retrieval = _retrieval(knowledge.path, graph.revision, question, method, knowledge, plan)
    return View(knowledge, graph, question, plan, method, retrieval)


@st.cache_resource(max_entries=64, show_spinner=False)
def _plan(path: Any, revision: int, question: str, _knowledge: KnowledgeGraph) -> QueryPlan:  # noqa: ARG001
    return _knowledge.plan(question)


@st.cache_resource(max_entries=128, show_spinner=False)
def _retrieval(path: Any, revision: int, question: str, method: FlowDiffusion,  # noqa: ARG001
               _knowledge: KnowledgeGraph, _plan: QueryPlan) -> Retrieval:
    return _knowledge.retrieve(_plan, method)


@st.cache_resource(max_entries=32, show_spinner=False)
def _frozen(path: Any, revision: int, question: str, _knowledge: KnowledgeGraph,  # noqa: ARG001
            _plan: QueryPlan) -> tuple[Positions, tuple[Any, ...]]:
    """One layout for everything any setting may show, so that no slider moves a node."""
    graph = _knowledge.graph
    widest = [_knowledge.retrieve(_plan, replace(p.method, mass=p.method.highest(graph)))
              for p in PRESETS.values()]
    nodes: dict[str, Any] = {}
    for retrieval in widest:
        for node in _foremost(retrieval, DRAWN):
            nodes.setdefault(node.id, node)
    first = {n.id for n in _knowledge.retrieve(_plan).nodes if n.state == SATURATED}
    degree = Counter(end for r in widest for e in r.edges for end in (e.source, e.target))
    edges = [(e.source, e.target, sqrt((degree[e.source] + degree[e.target]) / 2)
              * (LENS if e.source in first and e.target in first else 1.0))
             for r in widest for e in r.edges if e.source in nodes and e.target in nodes]
    names = {node.id: node.name for node in nodes.values() if node.kind != "passage"}
    return layout(nodes, edges, aspect=ASPECT, labels=names), tuple(nodes.values())


def _foremost(retrieval: Retrieval, most: int) -> Sequence[Any]:
    return sorted(retrieval.nodes, key=lambda n: (
        not n.seed, n.state != SATURATED, -n.importance, -n.mass, n.id))[:most]


def status_line(view: View) -> None:
    """The result in one line."""
    retrieval = view.retrieval
    full = [n for n in retrieval.nodes if n.state == SATURATED]
    certificate = retrieval.certificate or {}
    exact = (f"exact, gap {abs(certificate['gap']):.1g}" if certificate.get("optimal")
             else f"not converged: {certificate.get('reason')}")
    parts = [f"{len(full):,} of {len(view.graph):,} nodes retrieved",
             f"{sum(view.graph.tokens[view.graph.row[n.id]] for n in full):,} tokens",
             exact, f"{retrieval.work.milliseconds:.1f} ms"]
    st.caption(" · ".join(parts))
    for notice in (*view.plan.notices, *retrieval.notices):
        st.caption(f":material/info: {notice}")


def picture(view: View, drawing: Drawing) -> str | None:
    """The drawn subgraph; returns the selected node."""
    positions, others = _frozen(view.knowledge.path, view.graph.revision, view.question,
                                view.knowledge, view.plan)
    chosen = selected("picture") or st.query_params.get("node")
    data = panel_data(
        [view.retrieval], positions=positions, others=others, contract=drawing.contract,
        thickness=drawing.thickness, ramp=drawing.ramp, selected=chosen, limit=DRAWN,
        aspect=ASPECT, graph_size=len(view.graph),
        captions=[Caption("QAFD", "query-aware flow diffusion")])
    picked = panels(data, key="picture")
    if picked:
        st.query_params["node"] = picked
    else:
        st.query_params.pop("node", None)
    return picked
