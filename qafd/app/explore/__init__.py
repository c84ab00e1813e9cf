"""The Explore page: question, controls, status line and picture."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from qafd.answer import Answer
from qafd.app.component import panels, selected
from qafd.app.controls import controls, start_anew
from qafd.app.escaping import plain, said
from qafd.app.pages import page
from qafd.app.session import QUESTION, exchange, forget_all_but, keep, put, session
from qafd.graph import Graph
from qafd.ingest.jobs import open_jobs
from qafd.knowledge import KnowledgeGraph
from qafd.models import LLM
from qafd.plan.suggest import questions_of
from qafd.records import QueryPlan
from qafd.retrieve.base import SATURATED, Retrieval, RetrievedNode, Retriever
from qafd.retrieve.qafd import PRESETS, FlowDiffusion
from qafd.samples import EXAMPLES
from qafd.view.contraction import drawn_contracted
from qafd.view.layout import Positions
from qafd.view.panel import RAMPS, Caption, Drawing, clean, counted, panel_data
from qafd.view.placement import freeze, with_new
from qafd.wording.flaws import say_doubt
from qafd.wording.reasons import word_notice

DRAWN = 150
ASPECT = 1.6
SEPARATOR = "|"  # of the two ends in the id of an edge
LITTLE = 0.1  # of a token budget: below it a caption says what fits next


@dataclass(frozen=True)
class View:
    """All that the page shows of one question."""

    knowledge: KnowledgeGraph
    graph: Graph
    version: str
    question: str
    plan: QueryPlan
    method: FlowDiffusion
    retrieval: Retrieval

    @property
    def certificate(self) -> dict[str, Any]:
        """The certificate of the diffusion, as plain values."""
        assert self.retrieval.certificate is not None
        return self.retrieval.certificate

    @cached_property
    def answer(self) -> Answer:
        """The sentences of the retrieved passages that answer the question."""
        return self.knowledge.answer(self.retrieval, self.plan)


def question_box(knowledge: KnowledgeGraph) -> str:
    """The question, from the box, an example or the link."""
    examples = EXAMPLES.get(knowledge.path.stem, ())
    # Question, selection and parameters belong to their workspace: another one starts anew.
    if exchange("workspace", knowledge.path) != knowledge.path:
        session().anew = True
        put(QUESTION, examples[0] if examples else "")
        st.query_params.pop("node", None)
    return asked_among(examples, "q", "Ask your documents a question")


def asked_among(examples: Sequence[str], key: str, placeholder: str) -> str:
    """The question that is typed, or chosen from examples; the first one stands there before."""
    question = st.text_input(
        "Question", value=examples[0] if examples else "", key=keep(key), bind="query-params",
        placeholder=placeholder, label_visibility="collapsed", icon=":material/search:")
    if examples:
        with st.container(horizontal=True, gap="small"):
            for example in examples:
                st.button(example, type="tertiary", disabled=example == question,
                          on_click=put, args=(key, example))
    return question or ""


def ask_something(knowledge: KnowledgeGraph) -> None:
    """An invitation, with questions that this graph may answer."""
    graph = knowledge.graph
    st.write("Ask a question to see which part of the graph answers it, and why.")
    with st.container(horizontal=True, gap="small"):
        for question in _suggested(knowledge.path, knowledge.version(graph), graph):
            st.button(plain(clean(question, 160)), key=f"ask {question}",
                      on_click=put, args=(QUESTION, question))


@st.cache_data(max_entries=8, show_spinner=False)
def _suggested(path: Path, version: str, _graph: Graph) -> tuple[str, ...]:  # noqa: ARG001
    with KnowledgeGraph(path).store() as store:
        return questions_of(store, _graph)


def method_controls(knowledge: KnowledgeGraph, question: str) -> FlowDiffusion:
    """The parameters of flow diffusion, in the sidebar; each preset keeps its own values."""
    with st.sidebar:
        name = st.radio("Preset", list(PRESETS), key=keep("preset"), bind="query-params",
                        format_func=lambda key: PRESETS[key].label)
        method = PRESETS[name].method
        if session().anew:
            session().anew = False
            forget_all_but("ws", "q", "preset", "contract", "thickness", "ramp")
            start_anew(method, name, knowledge.graph, partial(span_of, knowledge, question))
        st.caption(PRESETS[name].quality)
        return controls(method, name, knowledge.graph, st.container(), st.expander("Advanced"),
                        span=partial(span_of, knowledge, question))


def span_of(knowledge: KnowledgeGraph, question: str,
            method: FlowDiffusion) -> tuple[float, float]:
    """The masses between which the result changes, 0 and 0 where they are not known."""
    if not question.strip() or method.subqueries == "on":
        return 0.0, 0.0
    graph = knowledge.graph
    return _span(knowledge.path, knowledge.version(graph), question,
                 replace(method, mass=0.0), knowledge, graph)


@st.cache_data(max_entries=256, show_spinner=False)
def _span(path: Path, version: str, question: str, method: FlowDiffusion,
          _knowledge: KnowledgeGraph, _graph: Graph) -> tuple[float, float]:
    plan = plan_of(path, version, question, _knowledge, _graph)
    return method.span(_knowledge.corpus(_graph, method.needs), plan)


def drawing_controls() -> Drawing:
    """How to draw, in the sidebar."""
    with st.sidebar, st.expander("Picture"):
        st.toggle(
            "Contract passages", True, key=keep("contract"), bind="query-params",
            help="Draw the flow that passages carry between their entities; it still adds up.")
        st.segmented_control(
            "Edge thickness", ("flow", "weight"), default="flow", required=True,
            key=keep("thickness"), bind="query-params",
            help="Flow w (x_u - x_v), or the query-aware weight w alone.")
        st.segmented_control("Colors", list(RAMPS), default="green", required=True,
                             key=keep("ramp"), bind="query-params")
    return chosen_drawing()


def chosen_drawing() -> Drawing:
    """How the controls say to draw."""
    state = st.session_state
    return Drawing(bool(state.get("contract", True)), state.get("thickness") or "flow",
                   state.get("ramp") or "green", DRAWN, ASPECT)


def empty_workspace(knowledge: KnowledgeGraph) -> None:
    """What is missing and where to mend it; looks again while documents are being read."""
    with knowledge.store() as store:
        waiting = bool(open_jobs(store))
    st.subheader("Documents are being read" if waiting else "This workspace is empty")
    st.write("The graph appears with the first passages." if waiting else
             "Add documents, and their knowledge graph appears here.")
    st.page_link(page("documents"), icon=":material/upload_file:",
                 label="See the progress" if waiting else "Add documents")
    if waiting:
        st.fragment(_until_there_is_a_graph, run_every=1.0)(knowledge)


def _until_there_is_a_graph(knowledge: KnowledgeGraph) -> None:
    if len(knowledge.graph):
        st.rerun()


def explored(knowledge: KnowledgeGraph, question: str, method: FlowDiffusion,
             client: LLM | None = None) -> View:
    """The question answered by the method on the graph as it is now; repeats come from memory.

    A client reads the question instead of the local rules.
    """
    graph = knowledge.graph
    version = knowledge.version(graph)
    apart = method.subqueries == "on"
    plan = (plan_of(knowledge.path, version, question, knowledge, graph)
            if client is None and not apart else
            _read(knowledge.path, version, question, apart, client.name if client else "",
                  knowledge, graph, client))
    asked = question if plan.planner == "local" else f"{question}\n{plan.planner}"
    retrieval = retrieved(knowledge.path, version, asked, method, knowledge, graph, plan)
    return View(knowledge, graph, version, question, plan, method, retrieval)


@st.cache_resource(max_entries=64, show_spinner=False)
def plan_of(path: Path, version: str, question: str, _knowledge: KnowledgeGraph,  # noqa: ARG001
          _graph: Graph) -> QueryPlan:
    return _knowledge.plan(question, _graph)


# A model that failed is asked again after a minute; good replies are in the workspace.
@st.cache_resource(max_entries=32, ttl=60, show_spinner=False)
def _read(path: Path, version: str, question: str, apart: bool, reader: str,  # noqa: ARG001
          _knowledge: KnowledgeGraph, _graph: Graph, _client: LLM | None) -> QueryPlan:
    return _knowledge.plan(question, _graph, subqueries=apart, client=_client)


@st.cache_resource(max_entries=128, show_spinner=False)
def retrieved(path: Path, version: str, question: str, method: Retriever,  # noqa: ARG001
              _knowledge: KnowledgeGraph, _graph: Graph, _plan: QueryPlan) -> Retrieval:
    """What a method retrieves, kept in memory."""
    return _knowledge.retrieve(_plan, method, graph=_graph)


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


def status_line(view: View, following: str = "") -> None:
    """The result in one line, with what follows when there is more mass."""
    retrieval = view.retrieval
    full = [n for n in retrieval.nodes if n.state == SATURATED]
    certificate = view.certificate
    exact = ("exact (checked)" if certificate["optimal"]
             else f"not converged: {say_doubt(certificate)}")
    passages = sum(n.kind == "passage" for n in full)
    kinds = f" ({counted(len(full) - passages, 'name')}, {counted(passages, 'passage')})" * (
        passages > 0)
    used, mass = sum(view.graph.tokens[view.graph.row[n.id]] for n in full), view.method.mass
    little = counts_tokens(view.method) and bool(following) and used < mass * LITTLE
    parts = [f"{len(full):,} of {counted(len(view.graph), 'node')} retrieved{kinds}",
             f"{used:,} {f'of {mass:,.0f} ' * counts_tokens(view.method)}tokens",
             exact, f"{retrieval.work.milliseconds:.1f} ms"]
    st.caption(" · ".join(filter(None, [*parts, plain(following) * (not little)])), help=(
        "Exact: every optimality condition was checked, number by number in the tab Certificate; "
        f"the relative gap is {abs(certificate['relative_gap']):.0e}."
        if certificate["optimal"] else None))
    if little:
        st.caption(plain(f"Most of the budget lies on nodes that it cannot fill yet; {following}."))
    with view.knowledge.store() as store:
        if open_jobs(store):
            st.caption(":material/info: Documents are still being read; what they add is not in "
                       "this result yet.")
    for notice in retrieval.notices:
        st.caption(f":material/info: {said(word_notice(notice))}")


def counts_tokens(method: FlowDiffusion) -> bool:
    """Whether the mass of a method is a number of tokens."""
    return (method.rule, method.capacity) == ("total", "tokens")


def picture(view: View, drawing: Drawing, path: Sequence[str] = ()) -> str | None:
    """The drawn subgraph, in which a path of node ids may stand out; returns the selected node."""
    positions, others = placed(view)
    key = f"picture-{view.knowledge.path.stem}"
    # Another question begins with its answer, not with what was selected for the one before.
    before = exchange(key, view.question)

    def draw(chosen: str | None) -> dict[str, Any]:
        return {**panel_data(
            [view.retrieval], drawing, positions=positions, others=others, selected=chosen,
            path=path, graph_size=len(view.graph),
            captions=[Caption("QAFD", "query-aware flow diffusion")]), "edges": True}

    return pick(draw, key, anew=before != view.question)


def pick(draw: Callable[[str | None], dict[str, Any]], key: str, *,
         anew: bool = False) -> str | None:
    """Draw panels; returns the selected node or edge, which the link then has too.

    `draw` makes the data of the panels in which a node or edge is selected; with `anew` nothing
    is. After Back and Forward the link says what is selected, else the browser does.
    """
    context = get_script_run_ctx()
    back = context is not None and context.is_history_navigation
    linked = st.query_params.get("line") or st.query_params.get("node")
    chosen = linked if back else None if anew else selected(key) or linked
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
