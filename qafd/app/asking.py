"""The question of a page: its box, examples, suggestions, and notices of missing data."""

from collections.abc import Sequence

import streamlit as st

from qafd.app import access
from qafd.app.error_display import with_errors_shown
from qafd.app.escaping import brief
from qafd.app.pages import way
from qafd.app.session import (
    PRIVATE,
    QUESTION,
    bound,
    compute_shared,
    exchange,
    in_store,
    keep,
    put,
    session,
)
from qafd.knowledge import KnowledgeGraph, list_questions, version_of
from qafd.plan.suggest import questions_of
from qafd.samples import EXAMPLES


def question_box(knowledge: KnowledgeGraph) -> str:
    """Draw the box of the question and its examples, and return the question."""
    examples = EXAMPLES.get(knowledge.name, ())
    # Question, selection and parameters belong to their workspace: another one starts afresh.
    if exchange("workspace", knowledge.id) != knowledge.id:
        session().restart_controls = True
        put(QUESTION, examples[0] if examples else "")
        st.query_params.pop("node", None)
    earlier = session().own_questions.get(knowledge.id, []) + [
        turn.question for turn in list_questions(knowledge)]
    question = asked_among(examples, QUESTION, "Ask your documents a question", list(dict.fromkeys(earlier)))
    if access.shared:
        _privacy()
    return question


def _privacy() -> None:
    """Report who sees the questions, and offer to keep them to this session."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption("Everyone who uses this workspace sees the questions asked in it.", width="content")
        st.toggle("Keep mine to this session", key=keep(PRIVATE),
                  help="Questions that you ask from now on are listed only here, and only until you "
                       "close this page.")


def asked_among(examples: Sequence[str], key: str, placeholder: str,
                earlier: Sequence[str] = ()) -> str:
    """Return the question that is typed, or chosen from examples or earlier questions.

    The box begins with the first example.
    """
    row = st.container(horizontal=True, gap="small", key=f"asked-{key}")
    question = row.text_input(
        "Question", value=examples[0] if examples else "", **bound(key),
        placeholder=placeholder, label_visibility="collapsed", icon=":material/search:")
    others = [one for one in earlier if one != question and one not in examples]
    if others:
        with row:
            _earlier(others, key)
    if examples:
        with st.container(horizontal=True, gap="small", key=f"examples-{key}"):
            for example in examples:
                st.button(example, type="tertiary", disabled=example == question,
                          on_click=put, args=(key, example))
    return question or ""


def _earlier(questions: Sequence[str], key: str) -> None:
    st.selectbox("Earlier questions", questions, index=None, key="earlier", width=320,
                 placeholder="Earlier questions", label_visibility="collapsed",
                 on_change=_ask_again, args=(key,))


def _ask_again(key: str) -> None:
    put(key, st.session_state["earlier"])
    put("earlier", None)


def ask_something(knowledge: KnowledgeGraph) -> None:
    """Ask the visitor for a question, and list questions that this graph may answer."""
    graph = knowledge.graph
    st.write("Ask a question to see which part of the graph answers it, and why.")
    with st.container(horizontal=True, gap="small"):
        at = knowledge.id, version_of(graph)
        for question in compute_shared("suggested", at, lambda: in_store(
                knowledge, lambda store: questions_of(store, graph)), at):
            st.button(brief(question), key=f"ask {question}",
                      on_click=put, args=(QUESTION, question))


def empty_workspace(knowledge: KnowledgeGraph) -> None:
    """Name the missing data and link to the page that adds it. Repeat while files are read."""
    with knowledge.store() as store:
        waiting = bool(store.queue.open())
    if waiting:
        st.header("Documents are being read", anchor=False)
        st.write("The graph appears with the first passages.")
        label = "See the progress"
    else:
        st.header("This workspace is empty", anchor=False)
        st.write("Add documents, and their knowledge graph appears here.")
        label = "Add documents"
    way("documents", label)
    if waiting:
        st.fragment(with_errors_shown(_wait_for_a_graph), run_every=1.0)(knowledge)


def _wait_for_a_graph(knowledge: KnowledgeGraph) -> None:
    if len(knowledge.graph):
        st.rerun()
