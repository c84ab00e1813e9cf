"""The Answer tab: the passages behind the quoted sentences, or a model's streamed answer."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from qafd.answer import WEAK, Answer, Citation, Draft, Written
from qafd.answer.context import BUDGET
from qafd.app import markup
from qafd.app.escaping import brief, capitalize, escape_sentence, plain, safe
from qafd.app.explore.sources import answer_names
from qafd.app.links import in_document
from qafd.app.provider import language_model, leaves_this_machine, preferences, why_no_model
from qafd.app.result import View
from qafd.app.session import bound, remember, session, value_of
from qafd.errors import ModelError
from qafd.knowledge import cite_reply, draft_answer
from qafd.models import Reply, Streamed
from qafd.models.cost import Metered, tokens_of
from qafd.models.prompts_answer import LENGTHS
from qafd.reading.text.markdown import answer_html
from qafd.records import QueryPlan
from qafd.retrieve.base import Retrieval
from qafd.wording import join_words
from qafd.wording.answers import CHANCE, say_doubts, say_heading, say_status
from qafd.wording.counts import count

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator


def answer_tab(view: View) -> None:
    """Draw the sources of the answer, and a model's words on request."""
    answer = view.answer
    model = language_model(view.knowledge.url, "answer", view.question)
    if model is not None:
        _draw_written(view, model)
    st.html(_quoted_from(answer, capitalize(why_no_model())))


def _quoted_from(answer: Answer, why_quoted: str) -> str:
    """Return the marked sources, and why no model wrote instead or "", both as HTML."""
    words = "Extractive: sentences of your documents, quoted, no language model."
    html = markup.fold(markup.small(safe(f"{words} {why_quoted}")), markup.small(safe(CHANCE)))
    html += markup.paragraph(safe(say_status(answer)), "answer")
    if not answer.sentences:
        return html
    html += markup.paragraph(markup.embolden(safe(say_heading(answer))))
    near: dict[int, list[float]] = {}
    for sentence in answer.sentences:
        near.setdefault(sentence.citation, []).append(sentence.similarity)
    return html + markup.side_by_side([source_html(citation, "quoted", near[citation.number])
                                       for citation in answer.citations])


def quoted_html(answer: Answer) -> str:
    """Return the quoted sentences as one paragraph, with the numbers of their sources."""
    parts = []
    for sentence in answer.sentences:
        if sentence.skips:
            parts.append("…")
        number = markup.cite(f"[{sentence.cited}]")
        quotation = markup.best(sentence.line, sentence.best)
        parts.append(f"{quotation}\xa0{number}")
    return markup.paragraph(" ".join(parts), "answer")


def source_html(citation: Citation, anchor: str, similar: Sequence[float]) -> str:
    """Return the place of a citation and its passage with the cited sentences marked.

    `similar` are the similarities of its sentences, in the order in which they are quoted.
    """
    at = citation.passage
    facts = [safe(citation.where), "similarity {numbers}".format(
                                       numbers=", ".join(f"{each:.2f}" for each in similar))]
    if citation.support < WEAK:
        facts.append("weak support")
    facts.append(in_document(at.document, at.chunk, [(at.start + start, at.start + end)
                                                     for start, end in citation.marks]))
    head = f"[{citation.number}] {markup.embolden(safe(citation.title))} — {' · '.join(facts)}"
    return markup.anchor_source(markup.paragraph(head) + markup.paragraph(
        markup.mark_spans(at.text, citation.marks)), anchor, citation.number)


def write_from_table(view: View, retrieval: Retrieval, plan: QueryPlan) -> None:
    """Draw a model's answer from the conditions of an exact retrieval, on request."""
    model = language_model(view.knowledge.url, "answer", view.question)
    if model is None:
        return
    exact = replace(view, retrieval=retrieval, plan=plan)
    with view.knowledge.store():
        _draw_written(exact, model)


def write_first(view: View) -> Written | None:
    """Draw a model's answer in the card and return it; None where no model answers first.

    A question is answered once by itself. When mass or weight change the retrieval, a button asks
    again: a call for every move of the mass would cost too much.
    """
    model = language_model(view.knowledge.url, "answer", view.question) if preferences().answers else None
    if model is None:
        return None
    draft = _draft(view)
    first = remember("first draft", (view.about, model.name, _length()), lambda: draft)
    known, place = _find_reply(draft, model), st.empty()
    if known is None:
        failed = session().seen.get("failed draft") == draft
        label = "Try again" if failed else "Answer again from the present passages"
        again = failed or draft != first
        if not again or st.button(label, icon=":material/refresh:", type="tertiary", key="write again"):
            known = _ask(draft, model, place)
    if known is None and draft != first:
        draft, known = first, _find_reply(first, model)
        if known is not None:
            st.caption("Written before the last change of the retrieval.")
    if known is None:
        return None
    written = cite_reply(view.knowledge, draft, known, model.name)
    place.html(markup.mark_names(
        answer_html(written.text, {citation.number for citation in written.citations}), answer_names(view)))
    _say_doubts(written, model)
    return written


def _ask(draft: Draft, model: Metered, place: "DeltaGenerator") -> Reply | None:
    """Draw the model's reply as it arrives, and return it; None after an error, which is shown."""
    try:
        return _stream(draft, model, place)
    except ModelError as error:
        session().seen["failed draft"] = draft
        place.empty()
        st.error(escape_sentence(f"{str(error)} The quoted answer needs no model."))
        return None


def find_written(view: View) -> Written | None:
    """Return a model's earlier answer from the shown passages, without a call."""
    model = language_model(view.knowledge.url, "answer", view.question)
    if model is None:
        return None
    draft = _draft(view)
    known = _find_reply(draft, model)
    return None if known is None else cite_reply(view.knowledge, draft, known, model.name)


def _length() -> str:
    return str(value_of("length", next(iter(LENGTHS))))


def _draft(view: View) -> Draft:
    """Build the prompt for the retrieval."""
    asked = (view.about, view.method, view.retrieval.method, _length(), view.plan.planner)
    return remember("draft", asked, lambda: draft_answer(view.knowledge,
        view.retrieval, view.plan, length=_length(), budget=preferences().calls.fit(BUDGET)))


def _find_reply(draft: Draft, model: Metered) -> Reply | None:
    return model.find_stored(model.key(draft.messages, None, preferences().calls.answer_tokens))


def _draw_written(view: View, model: Metered) -> None:
    """Draw a model's answer on request; a paid one is shown again without a call."""
    asked, length, button = st.columns([3, 1, 1], vertical_alignment="bottom")
    length.selectbox("Length", list(LENGTHS), **bound("length"),
                     format_func=lambda name: name.capitalize())
    draft = _draft(view)
    known = _find_reply(draft, model)
    reads = (f"{plain(model.name)} reads about {tokens_of(draft.messages):,} tokens: "
             f"{count(len(draft.context.sources), 'passage')}.")
    asked.caption(f"{reads} {say_leaving()}")
    place = st.empty()
    if button.button("Write an answer", type="primary", key="write", width="stretch",
                     disabled=known is not None):
        known = _ask(draft, model, place)
        place.empty()
    if known is not None:
        written = cite_reply(view.knowledge, draft, known, model.name)
        _show(written, model)
    with st.expander("Text that the model gets"):
        context = draft.context
        st.caption(f"About {context.tokens:,} of {context.budget:,} tokens of data; "
                    f"{count(context.left_out, 'retrieved passage')} did not fit, "
                    f"{context.copies} repeated another, and {context.weak} scored too far below "
                    "the best.")
        for message in draft.messages:
            st.caption(message.role.capitalize())
            st.code(message.content, language=None, wrap_lines=True)


def say_leaving() -> str:
    """Return a warning if a call sends data away, else ""."""
    if not leaves_this_machine(preferences()):
        return ""
    return "Your question and the passages leave this machine."


def _stream(draft: Draft, model: Metered, place: "DeltaGenerator") -> Reply:
    """Draw the model's reply as it arrives, and return it."""
    numbers = {source.number for source in draft.context.sources}
    text = ""
    streamed = Streamed(model.stream(
        draft.messages, max_tokens=preferences().calls.answer_tokens))
    for piece in streamed:
        text += piece
        place.html(markup.anchor_source(answer_html(text, numbers), "stream", 0))
    return streamed.reply


def _show(written: Written, model: Metered) -> None:
    cited = {citation.number for citation in written.citations}
    st.html(answer_html(written.text, cited))
    _say_doubts(written, model)
    sources = [source_html(citation, "source", [citation.support]) for citation in written.citations]
    st.html("".join(sources))


def _say_doubts(written: Written, model: Metered) -> None:
    """Draw author and cost of an answer, and the reasons to doubt it."""
    st.caption(f"Written by {plain(written.model)} · {_say_cost(written.reply, model)}. A "
                "model can be wrong: check the marked sentences.")
    if written.unknown:
        numbers = join_words([str(number) for number in written.unknown])
        st.caption(f":material/warning: It cites sources that do not exist: {numbers}. They are "
                   "struck out.")
    for doubt in say_doubts(written):
        st.caption(f":material/warning: {brief(doubt, 600)}")
    if not written.citations and not written.abstained:
        st.caption(":material/warning: It cites no source, so nothing here is supported.")


def _say_cost(spent: Reply, model: Metered) -> str:
    """Draw tokens, and dollars where the price is known."""
    values = {"about": "~" if spent.estimated else "", "sent": f"{spent.tokens_in:,}",
              "written": f"{spent.tokens_out:,}"}
    if not model.price:
        return "{about}{sent} + {about}{written} tokens, no price set".format(**values)
    dollars = model.price.of(spent.tokens_in, spent.tokens_out)
    return "{about}{sent} + {about}{written} tokens, {about}${dollars}".format(
               dollars=f"{dollars:.4f}",
               **values)
