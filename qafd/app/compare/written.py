"""A model's answers to one question from the passages of each method, side by side."""

from collections.abc import Sequence

import streamlit as st

from qafd.answer import Written
from qafd.app import markup
from qafd.app.escaping import capitalize, plain, safe
from qafd.app.explore.answer import say_leaving
from qafd.app.provider import language_model, preferences, why_no_model
from qafd.errors import ModelError
from qafd.knowledge import KnowledgeGraph, cite_reply, draft_answer
from qafd.models import Reply
from qafd.models.cost import tokens_of
from qafd.reading.text.markdown import answer_html
from qafd.retrieve.base import Retrieval


def written_answers(knowledge: KnowledgeGraph, question: str, budget: int,
                    columns: Sequence[tuple[str, Retrieval]]) -> None:
    """Draw a model's answer for each column, under its name or its letter.

    All columns get the same prompt and token budget. Paid answers are shown again for free.
    """
    model = language_model(knowledge.url, "answer", question)
    if model is None:
        st.caption(plain(capitalize(why_no_model())))
        return
    calls = preferences().calls
    budget = calls.fit(budget)
    drafts = [(name, draft_answer(knowledge, retrieval, budget=budget)) for name, retrieval in columns]
    known = {name: model.find_stored(model.key(draft.messages, None, calls.reply_tokens))
             for name, draft in drafts}
    missing = [(name, draft) for name, draft in drafts if known[name] is None]
    if missing:
        sent = sum(tokens_of(draft.messages) for _, draft in missing)
        would = f"{model.name} would read about {sent:,} tokens in {len(missing)} calls."
        st.caption(plain(f"{would} {say_leaving()}"))
        if st.button("Let the model answer each", key="write_each"):
            # one connection for all calls, which would each open and close the file
            with st.spinner(f"{len(missing)} calls"), knowledge.store():
                for name, draft in missing:
                    try:
                        known[name] = model.complete(draft.messages, max_tokens=calls.reply_tokens)
                    except ModelError as error:
                        st.error(plain(f"{name}: {str(error)}"))
    for number, (name, draft) in enumerate(drafts):
        reply = known[name]
        if reply is not None:
            with st.container(border=True, key=f"answer{number}"):
                _show(name, cite_reply(knowledge, draft, reply, model.name), reply, f"written{number}")


def _show(name: str, written: Written, reply: Reply, anchor: str) -> None:
    st.html(markup.embolden(safe(name)) + answer_html(
        written.text, {citation.number for citation in written.citations}, anchor))
    for citation in written.citations:
        text = citation.passage.text
        quotes = [markup.mark_spans(text, [(start, end)], start, end) for start, end in citation.marks]
        source = f"[{citation.number}] {safe(citation.passage.name)} — {safe(citation.where)}"
        st.html(markup.anchor_source(f"{source}: {' … '.join(quotes)}", anchor, citation.number))
    st.caption(plain("Written by {model}, {about}{sent} + {about}{written} tokens.".format(
                         model=written.model,
                         about="~" if reply.estimated else "",
                         sent=f"{reply.tokens_in:,}",
                         written=f"{reply.tokens_out:,}")))
