"""Follow-ups below an answer, and how one was read."""

from dataclasses import dataclass

import streamlit as st

from qafd.answer.conversation import FollowUp, follow_up, keep_turn, what_was_said
from qafd.app.escaping import plain, said
from qafd.app.explore.reading import MODEL_READS
from qafd.app.provider import language_model
from qafd.app.result import View
from qafd.app.session import QUESTION, empty, fresh_key, put, put_next, session, value_of
from qafd.errors import StoreError
from qafd.knowledge import KnowledgeGraph
from qafd.samples import EXAMPLES
from qafd.view.panel import clean
from qafd.wording import say, say_error

BOX = "follow"


@dataclass(frozen=True)
class Followed:
    """A follow-up that was asked, and the question that it followed."""

    made: FollowUp
    before: str


def follow_box(view: View) -> None:
    """The box for a follow-up to the question of a view."""
    typed = st.text_input(say("Follow-up"), key=fresh_key(BOX), max_chars=1000,
                          placeholder=say("Ask a follow-up"), label_visibility="collapsed",
                          icon=":material/reply:")
    if not typed or not typed.strip():
        return
    # The toggle beside the question lets a model read it; a follow-up is read by the same.
    reads = value_of(MODEL_READS, False)
    model = language_model(view.knowledge.url, "plan", view.question) if reads else None
    with view.knowledge.store():
        made = follow_up(typed, [what_was_said(view.retrieval, view.answer)], model)
    session().followed = Followed(made, view.question)
    put_next(QUESTION, made.question)
    empty(BOX)
    st.rerun()


def how_it_was_read(question: str) -> None:
    """That the question was a follow-up, and a way back to its own words."""
    followed = session().followed
    if followed is None or followed.made.question != question:
        return
    made = followed.made
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if made.failure is not None:
            st.caption(said(say_error(made.failure)))
        if made.made_by:
            st.caption(say(":material/reply: “{typed}”, after “{before}”. Edit the question above if "
                           "it means something else.", typed=plain(clean(made.typed, 160)),
                           before=plain(clean(followed.before, 160))), width="content")
            st.button(say("Ask as typed"), type="tertiary", on_click=put, args=(QUESTION, made.typed))


def keep_asked(knowledge: KnowledgeGraph, question: str) -> None:
    """Note a question that was not the last one in this session, where the workspace can be written."""
    asked, seen = (knowledge.id, question), session().seen
    if seen.get("asked") == asked or question in EXAMPLES.get(knowledge.name, ()):
        return
    seen["asked"] = asked
    followed = session().followed
    typed = followed.made.typed if followed and followed.made.question == question else ""
    try:
        with knowledge.store() as store:
            keep_turn(store, question, typed)
    except StoreError:
        return  # a workspace that cannot be written has no history
