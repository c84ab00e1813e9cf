"""The conditions of a question, listed and edited, and the answers that meet all of them."""


import streamlit as st

from qafd.app.escaping import escape_sentence
from qafd.app.result import View
from qafd.app.tables import columns_of, table
from qafd.errors import ParameterError
from qafd.graph import Graph
from qafd.knowledge import check_conditions
from qafd.reasons import NoticeKind
from qafd.records import QueryPlan
from qafd.retrieve.base import Retrieval
from qafd.retrieve.conditions import (
    link_conditions,
    list_conditions,
    restate_conditions,
)
from qafd.retrieve.exact import ExactMatches
from qafd.wording.explanations import say_met, say_met_by
from qafd.wording.reasons import word_notice

COLUMNS = ("Answer", "Condition", "Met by", "Sentence", "Document")


def conditions_tab(view: View) -> None:
    """List the conditions of a question, and the table of answers that meet them."""
    st.caption("Each name of the question is a condition on the answer. Exact retrieval lists the answers "
               "that meet all of them, with the sentences. Where none does by sentences, a passage with both "
               "names counts too.")
    plan = _edit_conditions(view.graph, view.plan)
    retrieval = _match(view, plan, "sentence")
    if not _meets_all(retrieval):
        retrieval = _match(view, plan, "passage")
    if retrieval.notices:
        st.write(" ".join(escape_sentence(word_notice(notice)) for notice in retrieval.notices))
    rows: list[tuple[str, ...]] = []
    for answer in check_conditions(view.knowledge, retrieval):
        first = f"{answer.name} ({say_met(answer)})"
        for row in answer.rows:
            rows.append((first, row.name, say_met_by(row), row.sentence, row.document))
    if rows:
        table(columns_of(COLUMNS, rows), column_config={"Sentence": st.column_config.Column(width="large")})


def _match(view: View, plan: QueryPlan, evidence: str) -> Retrieval:
    """Match the conditions of a question by evidence of at least this level."""
    method = ExactMatches(evidence=evidence)
    with st.spinner("Matching"):
        view.knowledge.build_layers(method.needs)
        return view.knowledge.retrieve(plan, method, graph=view.graph)


def _meets_all(retrieval: Retrieval) -> bool:
    """Return True if an answer meets all conditions, surely or perhaps."""
    kinds = NoticeKind.ALL_MET, NoticeKind.PERHAPS_MET
    return any(notice.kind in kinds and notice.values["met"] == notice.values["wanted"]
               for notice in retrieval.notices)


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
