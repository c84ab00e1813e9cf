"""The conditions of a question: drawn, changed by the user, and what meets all of them."""

from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from qafd.app.escaping import plain, said
from qafd.app.provider import language_model
from qafd.app.session import bound, choose_option, exchange, keep, put
from qafd.app.tables import columns_of, table
from qafd.errors import ParameterError
from qafd.explain.matching_steps import walk_through
from qafd.graph import Graph
from qafd.knowledge import KnowledgeGraph
from qafd.models.cost import Metered, tokens_of
from qafd.models.instructions import instructions_of
from qafd.models.prompts_conditions import holds_query, query_messages
from qafd.reasons import NoticeKind
from qafd.records import QueryPlan
from qafd.retrieve.base import Retrieval
from qafd.retrieve.conditions import LinkedQuery, edit_conditions, link_conditions, rank_rivals
from qafd.retrieve.exact import ExactMatches
from qafd.view.panel import clean
from qafd.view.query_picture import draw_query
from qafd.wording.conditions import STAGES, say_met, say_met_by, say_query, say_step
from qafd.wording.reasons import word_notice, word_seed

STEPS, FEW_STEPS = 320, 8  # pixels of a list of more steps than these
NAMES = ("In the question", "Entity", "Score", "Found", "Like it (cosine)")
EVIDENCE = {"passage": "Passage", "sentence": "Sentence", "relation": "Relation"}
COLUMNS = ("Answer", "Condition", "Met by", "Sentence", "Document")
Writer = Callable[[Retrieval, QueryPlan], None]
"""Draws what lets a model write an answer from a retrieval."""


def conditions_panel(knowledge: KnowledgeGraph, graph: Graph, plan: QueryPlan,
                     writer: Writer | None = None) -> None:
    """Draw the conditions of a question, and the table of what meets them."""
    st.caption("Each name of the question is a condition on the answer. Exact retrieval lists "
                "what meets all of them, with what shows it.")
    plan = _read(knowledge, graph, plan)
    left, right = st.columns([2, 3], gap="medium")
    with right:
        plan = _edited(graph, plan, link_conditions(graph, plan))
        by_sentences = _match(knowledge, graph, plan, "sentence")
        begin = "sentence" if _meets_all(by_sentences) else "passage"
        # A choice of the user's is in the address and stays; else each question begins anew.
        if exchange("evidence of", plan.question) != plan.question and "evidence" not in st.query_params:
            put("evidence", begin)
        evidence = choose_option(
            "Weakest evidence", EVIDENCE, "evidence", default=begin,
            help=("What meets a condition: only a relation; also a sentence that has both "
                  "names; also a passage that has both."))
    with left:
        linked = link_conditions(graph, plan)
        legend = "What is sought is round; a broken line is a condition that must not hold."
        if any(node.others for node in linked.known.values()):
            legend += " " + "Of names with a slash between them one is enough."
        st.image(draw_query(linked, graph.names), caption=legend, alt=say_query(linked.query))
    retrieval = by_sentences if evidence == "sentence" else _match(knowledge, graph, plan, evidence)
    if retrieval.notices:
        told = [said(word_notice(notice)) for notice in retrieval.notices]
        if evidence == "passage" and _meets_all(retrieval):
            told.append("Met means here at least that one passage names both; it need not say "
                         "that they are related.")
        st.write(" ".join(told))
    rows: list[tuple[str, ...]] = []
    for answer in knowledge.conditions(retrieval):
        first = f"{answer.name} ({say_met(answer)})"
        for row in answer.rows:
            rows.append((first, row.name, say_met_by(row), row.sentence, row.document))
    if rows:
        table(columns_of(COLUMNS, rows), column_config={"Sentence": st.column_config.Column(width="large")})
        if writer is not None:
            writer(retrieval, plan)
    with st.expander("How the names were found"):
        _names(graph, linked)
    with st.expander("How it is matched, step by step"):
        _steps(knowledge, graph, plan, evidence)


def _match(knowledge: KnowledgeGraph, graph: Graph, plan: QueryPlan, evidence: str) -> Retrieval:
    """What meets the conditions of a question by evidence that is no weaker than this."""
    method = ExactMatches(evidence=evidence)
    with st.spinner("Matching"):
        knowledge.build_layers(method.needs)
        return knowledge.retrieve(plan, method, graph=graph)


def _meets_all(retrieval: Retrieval) -> bool:
    """Whether something meets all conditions."""
    return any(one.kind == NoticeKind.ALL_MET for one in retrieval.notices)


def _names(graph: Graph, linked: LinkedQuery) -> None:
    """Which entity each name of the question was taken for, how surely, and what is like it."""
    rows = []
    for place, node in sorted(linked.known.items()):
        others = [f"{name} ({cosine:.2f})" for name, cosine in rank_rivals(graph, node.row)]
        rows.append((linked.query.nodes[place].text, node.call(graph.names), round(node.sure, 2),
                     word_seed(node.why), ", ".join(others)))
    if rows:
        table(columns_of(NAMES, rows), formats={"Score": "%.2f"})
    else:
        st.write("No name of the question is an entity.")


def _steps(knowledge: KnowledgeGraph, graph: Graph, plan: QueryPlan, evidence: str) -> None:
    """The algorithms on this question, one step lit in the picture, and what the filter leaves."""
    length = st.segmented_control(
        "Conditions on a path", (1, 2), default=1, required=True, key=keep("path_length"),
        help="The question is cut into paths of this length, as SG-RAG looks them up.") or 1
    walk = walk_through(knowledge.corpus(graph, ExactMatches.needs), plan, length, evidence)
    nodes = walk.linked.query.nodes
    left, right = st.columns([2, 3], gap="medium")
    with right, st.container(height=STEPS if len(walk.steps) > FEW_STEPS else "content", border=False):
        number = st.radio(
            "Step", range(len(walk.steps)), key=f"step {plan.question} {length}",
            format_func=lambda at: f"{at + 1}. {plain(clean(say_step(walk.steps[at], nodes), 300))}")
    step = walk.steps[number or 0]
    joined = None if step.path is None else step.path.edges
    with left:
        shown = step.nodes if step.path is None else step.path.nodes
        st.image(draw_query(walk.linked, graph.names, shown, joined), alt=say_query(walk.linked.query))
    if not walk.survivors:
        return
    st.caption(("What each stage of the paper's filter leaves of {number} entities. The "
                "matching above needs none of it and misses nothing.").format(
                   number=f"{graph.count('entity'):,}"))
    columns: dict[str, list[str] | list[int]] = {"Sought": [nodes[left.node].text for left in walk.survivors]}
    for stage, title in STAGES.items():
        columns[title] = [left.counts[stage] for left in walk.survivors]
    table(columns)


def _read(knowledge: KnowledgeGraph, graph: Graph, plan: QueryPlan) -> QueryPlan:
    """The plan, with its conditions read by a model where there is one and the user wants it."""
    model = language_model(knowledge.url, "plan", plan.question)
    if model is None:
        return plan
    name = plain(clean(model.name, 40))
    messages = query_messages(plan.words, instructions_of(model).prompt("query"))
    wanted = st.toggle(
        f"Let {name} read the conditions", **bound("model_reads_conditions"),
        help=(f"One call of about {tokens_of(messages):,} tokens for each new question; without "
              "it, rules read the names of the question."))
    if not wanted:
        return plan
    key = (knowledge.id, knowledge.version(graph), plan.question, model.name)
    read = _read_by(key, knowledge, graph, plan, replace(model, accepts=holds_query))
    if read.conditions is not None:
        st.caption(f"Read by {name}.")
    return read


# A model that failed is asked again after a minute; good replies are in the workspace.
@st.cache_resource(max_entries=32, ttl=60, show_spinner=False)
def _read_by(key: tuple[str, ...], _knowledge: KnowledgeGraph, _graph: Graph,  # noqa: ARG001
             _plan: QueryPlan, _model: Metered) -> QueryPlan:
    return _knowledge.read_conditions(_plan, _model, graph=_graph)


def _edited(graph: Graph, plan: QueryPlan, linked: LinkedQuery) -> QueryPlan:
    """The plan with the conditions that the user leaves, turns round and adds."""
    negated = {one.target for one in linked.query.conditions if one.negated}
    wanted, refused = list[str](), list[str]()
    for place, node in linked.known.items():
        (refused if place in negated else wanted).extend(graph.names[row] for row in node.named)
    every = list(dict.fromkeys((*wanted, *refused)))
    hold, fail = f"conditions hold {plan.question}", f"conditions fail {plan.question}"
    holds = st.multiselect("Must hold", every, wanted, key=hold, on_change=_take_over,
                           args=(hold, fail))
    fails = st.multiselect("Must not hold", every, refused, key=fail, on_change=_take_over,
                           args=(fail, hold))
    added = st.text_input("Add a name", key=f"conditions add {plan.question}").strip()
    kept = {*holds, *fails}
    turned = [name for name in kept if (name in fails) != (name in refused)]
    removed = [name for name in every if name not in kept]
    if turned or removed:
        plan = edit_conditions(graph, plan, remove=removed, negate=turned)
    if not added:
        return plan
    try:
        return edit_conditions(graph, plan, add=[added])
    except ParameterError as error:
        st.caption(said(error))
        return plan


def _take_over(chosen: str, other: str) -> None:
    """Take what was put into one list of conditions out of the other, where it stood before."""
    taken = st.session_state[chosen]
    st.session_state[other] = [name for name in st.session_state[other] if name not in taken]
