"""The conditions of a question, listed and edited, and the answers that meet all of them."""

from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from qafd.app.escaping import escape_sentence, plain
from qafd.app.provider import language_model
from qafd.app.session import bound, choose_option, exchange, put
from qafd.app.tables import columns_of, table
from qafd.errors import ParameterError
from qafd.graph import Graph
from qafd.knowledge import KnowledgeGraph, check_conditions, read_conditions, version_of
from qafd.models.cost import Metered, tokens_of
from qafd.models.instructions import instructions_of
from qafd.models.prompts_conditions import holds_query, query_messages
from qafd.reasons import NoticeKind
from qafd.records import QueryPlan
from qafd.retrieve.base import Retrieval
from qafd.retrieve.conditions import (
    link_conditions,
    list_conditions,
    restate_conditions,
)
from qafd.retrieve.exact import ExactMatches
from qafd.view.panel import clean
from qafd.wording.explanations import say_met, say_met_by
from qafd.wording.reasons import word_notice

EVIDENCE = {"passage": "Passage", "sentence": "Sentence", "relation": "Relation"}
COLUMNS = ("Answer", "Condition", "Met by", "Sentence", "Document")
Writer = Callable[[Retrieval, QueryPlan], None]
"""Draws what lets a model write an answer from a retrieval."""


def conditions_panel(knowledge: KnowledgeGraph, graph: Graph, plan: QueryPlan,
                     writer: Writer | None = None) -> None:
    """List the conditions of a question, and the table of answers that meet them."""
    st.caption("Each name of the question is a condition on the answer. Exact retrieval lists "
                "the answers that meet all of them, with the evidence.")
    plan = _read_plan(knowledge, graph, plan)
    plan = _edit_conditions(graph, plan)
    by_sentences = _match(knowledge, graph, plan, "sentence")
    begin = "sentence" if _meets_all(by_sentences) else "passage"
    # A choice of the user's is in the address and stays; else each question begins afresh.
    if exchange("evidence of", plan.question) != plan.question and "evidence" not in st.query_params:
        put("evidence", begin)
    evidence = choose_option(
        "Weakest evidence", EVIDENCE, "evidence", default=begin,
        help=("Evidence that meets a condition: only a relation; also a sentence that has both "
              "names; also a passage that has both."))
    retrieval = by_sentences if evidence == "sentence" else _match(knowledge, graph, plan, evidence)
    if retrieval.notices:
        st.write(" ".join(escape_sentence(word_notice(notice)) for notice in retrieval.notices))
    rows: list[tuple[str, ...]] = []
    for answer in check_conditions(knowledge, retrieval):
        first = f"{answer.name} ({say_met(answer)})"
        for row in answer.rows:
            rows.append((first, row.name, say_met_by(row), row.sentence, row.document))
    if rows:
        table(columns_of(COLUMNS, rows), column_config={"Sentence": st.column_config.Column(width="large")})
        if writer is not None:
            writer(retrieval, plan)


def _match(knowledge: KnowledgeGraph, graph: Graph, plan: QueryPlan, evidence: str) -> Retrieval:
    """Match the conditions of a question by evidence of at least this level."""
    method = ExactMatches(evidence=evidence)
    with st.spinner("Matching"):
        knowledge.build_layers(method.needs)
        return knowledge.retrieve(plan, method, graph=graph)


def _meets_all(retrieval: Retrieval) -> bool:
    """Return True if an answer meets all conditions, surely or perhaps."""
    kinds = NoticeKind.ALL_MET, NoticeKind.PERHAPS_MET
    return any(notice.kind in kinds and notice.values["met"] == notice.values["wanted"]
               for notice in retrieval.notices)


def _read_plan(knowledge: KnowledgeGraph, graph: Graph, plan: QueryPlan) -> QueryPlan:
    """Return the plan, its conditions read by a model if one is set and the user wants it."""
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
    key = (knowledge.id, version_of(graph), plan.question, model.name)
    read = _read_by(key, knowledge, graph, plan, replace(model, accepts=holds_query))
    if read.conditions is not None:
        st.caption(f"Read by {name}.")
    return read


# A model that failed is asked again after a minute; good replies are in the workspace.
@st.cache_resource(max_entries=32, ttl=60, show_spinner=False)
def _read_by(key: tuple[str, ...], _knowledge: KnowledgeGraph, _graph: Graph,  # noqa: ARG001
             _plan: QueryPlan, _model: Metered) -> QueryPlan:
    return read_conditions(_knowledge, _plan, _model, graph=_graph)


def _edit_conditions(graph: Graph, plan: QueryPlan) -> QueryPlan:
    """Draw the list of conditions, and return the plan with those that the user leaves in it."""
    now = list_conditions(graph, link_conditions(graph, plan))
    texts = st.multiselect(
        "Conditions", now, now, key=f"conditions of {plan.question}", accept_new_options=True,
        help="Remove one, or type a name to add one. “not” before a name says that the answer must "
             "not be related to it.")
    try:
        return restate_conditions(graph, plan, texts)
    except ParameterError as error:
        st.caption(escape_sentence(error))
        return plan
