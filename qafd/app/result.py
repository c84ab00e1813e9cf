"""The retrieval by flow diffusion for the question of a page, with its controls and status."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import streamlit as st

from qafd.answer import Answer
from qafd.app.controls import ControlPlaces, controls, mass_control, set_suggested
from qafd.app.escaping import brief, capitalize, escape_sentence, plain
from qafd.app.provider import language_model
from qafd.app.session import bound, choose_option, compute_shared, forget_all_but, session, value_of
from qafd.graph import Graph
from qafd.knowledge import KnowledgeGraph, read_corpus, version_of
from qafd.models import LLM
from qafd.models.cost import Metered
from qafd.reasons import NoticeKind
from qafd.records import QueryPlan
from qafd.retrieve.base import Corpus, Retrieval, Retriever
from qafd.retrieve.qafd import PRESETS, FlowDiffusion
from qafd.wording import count
from qafd.wording.reasons import word_notice
from qafd.wording.runs import say_doubt

MODEL_READS = "model_reads"
DETAILS = (NoticeKind.LONE_SEEDS, NoticeKind.MASS_CAPPED_THERE, NoticeKind.THEN_ASKED,
           NoticeKind.NO_NAME_KNOWN)
"""Notices that ask for no action, or that the answer gives in its own words."""
AWARE, PLAIN, BOTH = "Query-aware", "Plain", "Both"
OF_ALL_PRESETS = ("ws", "q", "preset", "passages", "thickness", "edges")


@dataclass(frozen=True)
class View:
    """The data that the page shows of one question."""

    knowledge: KnowledgeGraph
    graph: Graph
    version: str
    question: str
    plan: QueryPlan
    method: FlowDiffusion
    retrieval: Retrieval

    @property
    def corpus(self) -> Corpus:
        """The graph with what flow diffusion needs of it."""
        return read_corpus(self.knowledge, self.graph, FlowDiffusion.needs)

    @property
    def about(self) -> tuple[str, str, str]:
        """Key of the question: its workspace, the graph's version and its text."""
        return self.knowledge.id, self.version, self.question

    @property
    def at(self) -> tuple[str, str]:
        """The workspace and the version of its graph."""
        return self.knowledge.id, self.version

    @property
    def certificate(self) -> dict[str, Any]:
        """The certificate of the diffusion, as plain values."""
        assert self.retrieval.certificate is not None
        return self.retrieval.certificate

    @cached_property
    def answer(self) -> Answer:
        """The sentences of the retrieved passages that answer the question."""
        return self.knowledge.answer(self.retrieval, self.plan)

    @property
    def lacks_answer(self) -> bool:
        """True if what the question asks for is in no document; its picture is pale.

        A low chance alone means that another sentence may be the best, not that there is none.
        """
        return self.answer.lacks_all or not self.answer.sentences


def method_controls(knowledge: KnowledgeGraph, mass_apart: bool = False) -> FlowDiffusion:
    """Draw the parameters of flow diffusion in the sidebar; each preset keeps its own values.

    With `mass_apart` the mass has no control here: see `draw_mass`.
    """
    graph = knowledge.graph
    with st.sidebar:
        name = st.radio("Preset", list(PRESETS), **bound("preset"),
                        format_func=lambda key: PRESETS[key].label)
        method = PRESETS[name].method
        if session().restart_controls:
            session().restart_controls = False
            forget_all_but(*OF_ALL_PRESETS)
            set_suggested(method, name, graph)
        st.caption(PRESETS[name].quality)
        basic = st.container()
        places = ControlPlaces(basic, st.expander("Advanced"), basic)
        fixed = {"mass": method.mass} if mass_apart else {}
        return controls(method, name, graph, places, fixed)


def draw_mass(knowledge: KnowledgeGraph, method: FlowDiffusion) -> FlowDiffusion:
    """Draw the control of the mass and the switch of edge weights, and return the method.

    They are above the picture and drawn with it, so that moving them waits for nothing else.
    """
    preset = value_of("preset", next(iter(PRESETS)))
    with st.container(horizontal=True, vertical_alignment="top", key="upon"):
        place = session().under_mass = st.container(key="mass")
        with place:
            method = mass_control(method, PRESETS[preset].method, preset, knowledge.graph)
        aware = choose_option(
            "Edges", (AWARE, PLAIN, BOTH), "edges",
            help=("Query-aware edges are wide where they lead towards the question; plain ones "
                  "are as wide as the graph has them. Try Both: the two pictures side by side, with "
                  "the nodes that one of them alone retrieves in color."))
    return replace(method, variant="plain") if aware == PLAIN else method


def explore_question(knowledge: KnowledgeGraph, question: str, method: FlowDiffusion,
             client: LLM | None = None) -> View:
    """Answer the question by the method on the present graph; repeats come from memory.

    A client, if given, reads the question instead of the local rules, and asks further ones.
    """
    graph = knowledge.graph
    version = version_of(graph)
    with knowledge.store():  # which all that is asked of it here uses
        plan = plan_of(knowledge, graph, version, question, client)
        retrieval = retrieve_by(knowledge, graph, version, method, plan)
    return View(knowledge, graph, version, question, plan, method, retrieval)


def reader(knowledge: KnowledgeGraph, question: str) -> Metered | None:
    """Return the model that reads the question, unless the sidebar says no; None for the local rules."""
    model = language_model(knowledge.url, "plan", question)
    if model is None:
        return None
    with st.sidebar:
        wanted = st.toggle(
            f"Let {brief(model.name, 40)} read the question", True, **bound(MODEL_READS),
            help=("It names the keywords, asks up to two further questions where the first passages "
                  "are not enough, and rewrites follow-ups. Two calls for each new question."))
    return model if wanted else None


def plan_of(knowledge: KnowledgeGraph, graph: Graph, version: str, question: str,
            client: LLM | None = None) -> QueryPlan:
    """Return the plan of a question by a model or the local rules, kept in memory."""
    if client is not None:
        return _read((knowledge.id, version), question, client.name, knowledge, graph, client)
    return compute_shared("plan", (knowledge.id, version, question), lambda: knowledge.plan(question, graph),
                          (knowledge.id, version))


# A model that failed is asked again after a minute; good replies are in the workspace.
@st.cache_resource(max_entries=32, ttl=60, show_spinner=False)
def _read(place: tuple[str, str], question: str, reader: str,  # noqa: ARG001
          _knowledge: KnowledgeGraph, _graph: Graph, _client: LLM) -> QueryPlan:
    return _knowledge.plan(question, _graph, client=_client)


def retrieve_by(knowledge: KnowledgeGraph, graph: Graph, version: str, method: Retriever,
              plan: QueryPlan) -> Retrieval:
    """Retrieve by a method; repeats come from memory."""
    asked = plan.question, plan.planner, *(further.question for further in plan.further)
    return compute_shared("retrieval", (knowledge.id, version, asked, method),
                          lambda: knowledge.retrieve(plan, method, graph=graph), (knowledge.id, version))


def status_line(view: View, following: str = "") -> None:
    """Draw the result in one line, with the effect of more mass."""
    full = view.retrieval.retrieved
    used = sum(int(view.graph.tokens[view.graph.row[n.id]]) for n in full)
    tokens = count(used, "token")
    if counts_tokens(view.method):
        tokens = f"{used:,} of {view.method.mass:,.0f} tokens"
    certificate = view.certificate
    parts = [_say_retrieved(view, sum(n.kind == "passage" for n in full), len(full)), tokens]
    help = None
    if certificate["optimal"]:
        parts.append("exact (checked)")
        help = ("Exact: every optimality condition was checked, number by number in the tab "
                f"Certificate; the relative gap is {abs(certificate['relative_gap']):.0e}.")
    else:
        parts.append(f"not converged: {say_doubt(certificate)}")
    if following:
        parts.append(plain(following))
    st.caption(" · ".join(parts), help=help)
    with view.knowledge.store() as store:
        waiting = store.queue.open()
    if waiting:
        st.caption(":material/info: Documents are still being read; this result lacks their "
                   "contents.")


def reading_note(view: View) -> None:
    """Draw the first notice that asks for an action; the tab Certificate has all."""
    of_one_seed = (NoticeKind.MASS_CAPPED,) if view.method.diffusions == "each" else ()
    for notice in view.retrieval.notices:
        if notice.kind not in (*DETAILS, *of_one_seed):
            st.caption(f":material/info: {escape_sentence(word_notice(notice))}")
            return


def all_notes(view: View) -> None:
    """Draw all notices about the question and its retrieval."""
    for notice in view.retrieval.notices:
        st.caption(capitalize(escape_sentence(word_notice(notice))))


def _say_retrieved(view: View, passages: int, full: int) -> str:
    found = f"{full:,} of {count(len(view.graph), 'node')} retrieved"
    if not passages:
        return found
    return f"{found} ({count(full - passages, 'name')}, {count(passages, 'passage')})"


def counts_tokens(method: FlowDiffusion) -> bool:
    """Return True if the mass of a method is a number of tokens."""
    return (method.rule, method.capacity) == ("total", "tokens")
