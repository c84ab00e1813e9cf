"""The question of Explore: read by rules or a model, or as a follow-up."""

from dataclasses import dataclass, replace

import streamlit as st

from qafd.answer import Written
from qafd.answer.conversation import FollowUp, follow_up, keep_turn, what_was_said
from qafd.app import markup
from qafd.app.escaping import brief, escape_sentence, plain, safe
from qafd.app.provider import language_model
from qafd.app.result import MODEL_READS, View
from qafd.app.session import QUESTION, empty, fresh_key, put, put_next, recall, session, value_of
from qafd.errors import StoreError
from qafd.knowledge import KnowledgeGraph
from qafd.samples import EXAMPLES
from qafd.view.panel import clean

BOX = "follow"


def draw_reading(view: View) -> None:
    """Draw how a model read the question and what it asked further, in one line."""
    words = []
    if view.plan.planner != "local":
        words.append(f"Read by {plain(view.plan.planner)}. Things: {_keywords(view, 'low')}. "
                     f"Themes: {_keywords(view, 'high')}.")
    words += [f"Then asked: {brief(further.question)}" for further in view.plan.further]
    if words:
        st.caption(" · ".join(words))


def _keywords(view: View, level: str) -> str:
    words = [clean(keyword.text, 60) for keyword in view.plan.keywords if keyword.level == level]
    return plain(", ".join(words)) if words else "none"


@dataclass(frozen=True)
class Followed:
    """A follow-up, and the questions and answers of its thread, the first one first."""

    made: FollowUp
    thread: tuple[tuple[str, str], ...]


def draw_thread(question: str) -> None:
    """Draw the questions that a follow-up came after, each folded over its answer."""
    followed = session().followed
    if followed is not None and followed.made.question == question:
        st.html("".join(markup.fold(safe(asked, 120), markup.paragraph(safe(answer)))
                        for asked, answer in followed.thread))


def follow_box(view: View, written: Written | None = None) -> None:
    """Draw the box for a follow-up to the question of a view and to a model's answer."""
    typed = st.text_input("Follow-up", key=fresh_key(BOX), max_chars=1000,
                          placeholder="Ask a follow-up", label_visibility="collapsed",
                          icon=":material/reply:")
    if not typed or not typed.strip():
        return
    # The toggle next to the question lets a model read it; it reads follow-ups too.
    reads = value_of(MODEL_READS, True)
    model = language_model(view.knowledge.url, "plan", view.question) if reads else None
    with view.knowledge.store():
        made = follow_up(typed, [what_was_said(view.retrieval, replace(view.answer, written=written))], model)
    before = session().followed
    thread = before.thread if before is not None and before.made.question == view.question else ()
    said = written.text if written else " ".join(sentence.line for sentence in view.answer.sentences[:1])
    session().followed = Followed(made, (*thread, (view.question, said)))
    put_next(QUESTION, made.question)
    empty(BOX)
    st.rerun()


def how_it_was_read(question: str) -> None:
    """Show the notice that the question was a follow-up, and offer its own words."""
    followed = session().followed
    if followed is None or followed.made.question != question:
        return
    made = followed.made
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if made.failure is not None:
            st.caption(escape_sentence(str(made.failure)))
        if made.made_by:
            st.caption((f":material/reply: “{brief(made.typed)}”, after "
                        f"“{brief(followed.thread[-1][0])}”. Edit the question above if it means "
                        "something else."), width="content")
            st.button("Ask as typed", type="tertiary", on_click=put, args=(QUESTION, made.typed))


def keep_asked(knowledge: KnowledgeGraph, question: str, private: bool = False) -> None:
    """Record a question unless it was this session's last one, if the workspace is writable.

    A private question is recorded in this session only.
    """
    if question in EXAMPLES.get(knowledge.name, ()) or recall("asked", knowledge.id) == question:
        return
    session().results["asked"] = knowledge.id, question
    if private:
        session().own_questions.setdefault(knowledge.id, []).insert(0, question)
        return
    followed = session().followed
    typed = followed.made.typed if followed and followed.made.question == question else ""
    try:
        with knowledge.store() as store:
            keep_turn(store, question, typed)
    except StoreError:
        return  # a workspace that cannot be written has no history
