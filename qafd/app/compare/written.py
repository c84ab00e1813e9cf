"""The same question answered by a model from what each method retrieved, side by side."""

from collections.abc import Sequence

import streamlit as st

from qafd.app.escaping import capital, plain, safe
from qafd.app.explore.answer import STYLE
from qafd.app.provider import language_model, leaves_this_machine, preferences, why_no_model
from qafd.errors import ModelError
from qafd.knowledge import KnowledgeGraph
from qafd.models.cost import tokens_of
from qafd.models.prompts_answer import ANSWER_TOKENS
from qafd.reading.text.markdown import answer_html
from qafd.retrieve.base import Retrieval


def written_answers(knowledge: KnowledgeGraph, question: str, budget: int,
                    columns: Sequence[tuple[str, Retrieval]]) -> None:
    """An answer in a model's words for each column, under its name or its letter.

    All columns get the same prompt and token budget; what was paid for once is shown again.
    """
    model = language_model(knowledge.path, "answer", question)
    if model is None:
        st.caption(plain(capital(why_no_model())))
        return
    drafts = [(name, knowledge.draft(retrieval, budget=budget)) for name, retrieval in columns]
    known = {name: model.stored(model.key(draft.messages, None, ANSWER_TOKENS))
             for name, draft in drafts}
    missing = [(name, draft) for name, draft in drafts if known[name] is None]
    if missing:
        away = (" Your question and the passages leave this machine."
                if leaves_this_machine(preferences()) else "")
        sent = sum(tokens_of(draft.messages) for _, draft in missing)
        st.caption(plain(f"{model.name} would read about {sent:,} tokens in {len(missing)} calls."
                         f"{away}"))
        if st.button("Let the model answer each", key="write_each"):
            # one connection for all calls, which would each open and close the file
            with st.spinner(f"{len(missing)} calls"), knowledge.store():
                for name, draft in missing:
                    try:
                        known[name] = model.complete(draft.messages, max_tokens=ANSWER_TOKENS)
                    except ModelError as error:
                        st.error(plain(f"{name}: {error}"))
    st.html(STYLE)
    for number, (name, draft) in enumerate(drafts):
        reply, anchor = known[name], f"written{number}"
        if reply is None:
            continue
        with st.container(border=True, key=f"answer{number}"):
            written = knowledge.written(draft, reply, model.name)
            st.html(f"<b>{safe(name)}</b>" + answer_html(
                written.text, {c.number for c in written.citations}, anchor))
            for c in written.citations:
                said = " … ".join(safe(c.passage.text[start:end]) for start, end in c.marks)
                st.html(f"<small id='{anchor}-{c.number}'>[{c.number}] "
                        f"{safe(c.title)} — {safe(c.where)}: <mark>{said}</mark></small>")
            about = "~" if reply.estimated else ""
            st.caption(plain(f"Written by {model.name}, {about}{reply.tokens_in:,} + "
                             f"{about}{reply.tokens_out:,} tokens."))
