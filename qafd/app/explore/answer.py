"""The answer next to the picture: quoted sentences or a model's streamed words, why, and the sources."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import streamlit as st

from qafd.answer import Answer, Citation, Draft, Review, Written
from qafd.answer.context import BUDGET
from qafd.app import markup
from qafd.app.error_display import contain_errors
from qafd.app.escaping import brief, escape_sentence, plain, safe
from qafd.app.explore.question import draw_thread, follow_box
from qafd.app.explore.sources import (
    answer_names,
    draw_added,
    draw_chain,
    draw_listed,
    draw_reach,
    found_by,
)
from qafd.app.provider import language_model, leaves_this_machine, preferences
from qafd.app.result import View
from qafd.app.session import bound, remember, session, value_of
from qafd.errors import ModelError
from qafd.knowledge import cite_reply, draft_answer
from qafd.models import Message, Reply, Streamed
from qafd.models.cost import Metered, tokens_of
from qafd.models.prompts_answer import LENGTHS
from qafd.reading.text.markdown import answer_html
from qafd.wording import count, join_words
from qafd.wording.answers import (
    CHANCE,
    say_certainty,
    say_doubts,
    say_heading,
    say_review,
    say_status,
)

USUAL = {"short": 80, "paragraphs": 400, "list": 200}  # tokens of an answer, by its length
CHECKED = 40  # tokens of the verdicts on an answer

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator


def draw_answer(view: View, open_source: Callable[[str], None]) -> None:
    """Draw the answer, why the graph has it, and the sources with how each was found."""
    draw_thread(view.question)
    written = None
    with contain_errors("The model's answer"):
        written = write_first(view)
    if written is None:
        _quote_answer(view)
    with contain_errors("The list of names"):
        draw_listed(view)
    follow_box(view, written)
    st.html(markup.section("Why"))
    with contain_errors("The reason"):
        draw_chain(view)
        draw_added(view)
    citations = written.citations if written else view.answer.citations
    if citations:
        st.html(markup.section("Sources"))
        with contain_errors("The list of sources"):
            _list_sources(view, citations, open_source)


def _quote_answer(view: View) -> None:
    """Draw the quoted sentences, and how likely the first is the answer."""
    answer = view.answer
    st.caption(plain(say_status(answer)), help=CHANCE)
    html = markup.paragraph(markup.embolden(safe(say_heading(answer)))) if answer.sentences else ""
    st.html(html + quote_html(answer, answer_names(view)))
    if view.retrieval.unsure:
        st.caption(say_certainty(view.retrieval))


def quote_html(answer: Answer, names: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the quoted sentences, each with the number of its source, and `names` linked to their nodes."""
    html = ""
    for sentence in answer.sentences:
        number = markup.cite(f"[{sentence.cited}]")
        if sentence.cells:
            row = markup.quote_row(sentence.cells, sentence.asked, number)
            html += markup.mark_names(row, names)
            continue
        words = markup.best(sentence.line, sentence.best, 300)
        html += markup.paragraph(f"{markup.mark_names(words, names)}\xa0{number}", "quoted")
    return html


def _list_sources(view: View, citations: Sequence[Citation], open_source: Callable[[str], None]) -> None:
    """Draw the title of each source, which opens its passage, above how it was found."""
    with st.container(key="sources", gap=None):
        for citation in citations:
            heading = citation.passage.heading
            name = citation.title if heading in ("", citation.title) else f"{citation.title}, {heading}"
            st.button(f"{citation.number} {brief(name, 60)}", key=f"source {citation.passage.chunk}",
                      type="tertiary", on_click=open_source, args=(citation.passage.chunk,))
            words = markup.small(safe(found_by(view, citation)))
            st.html(markup.anchor_source(words, "source", citation.number))
    draw_reach(view, citations)


def write_first(view: View) -> Written | None:
    """Draw a model's answer and return it; None where none is written.

    A question is answered once by itself, unless Settings ask for a button. When mass or weight change
    the retrieval, a button asks again: a call for every move of the mass would cost too much.
    """
    model = language_model(view.knowledge.url, "answer", view.question)
    if model is None:
        return None
    place, draft = st.empty(), _draft(view)
    first = remember("first draft", (view.about, model.name, _length()), lambda: draft)
    known = _find_reply(draft, model)
    if known is None:
        label = _name_request(draft, first)
        if not label or st.button(label, icon=":material/edit_note:", type="tertiary", key="write"):
            known = _ask(draft, model, place)
    if known is None and draft != first:
        draft, known = first, _find_reply(first, model)
        if known is not None:
            st.caption("Written before the retrieval last changed.")
    written = None if known is None else cite_reply(view.knowledge, draft, known, model.name)
    if written is not None:
        numbers = {citation.number for citation in written.citations}
        place.html(markup.mark_names(answer_html(written.text, numbers), answer_names(view)))
        written = _check_statements(written, replace(model, purpose="check"))
        _say_doubts(written, model)
    _draw_prompt(draft, model)
    return written


def _name_request(draft: Draft, first: Draft) -> str:
    """Return the label of the button that asks the model; "" if it is asked without one."""
    if session().failed == draft:
        return "Try again"
    if draft != first:
        return "Answer again from the current passages"
    return "" if preferences().answers else "Write an answer"


def _ask(draft: Draft, model: Metered, place: "DeltaGenerator") -> Reply | None:
    """Draw the model's reply as it arrives, and return it; None after an error, which is shown."""
    numbers = {source.number for source in draft.context.sources}
    text = ""
    streamed = Streamed(model.stream(draft.messages, max_tokens=preferences().calls.reply_tokens))
    try:
        for piece in streamed:
            text += piece
            place.html(answer_html(text, numbers))
        return streamed.reply
    except ModelError as error:
        session().failed = draft
        place.empty()
        st.error(escape_sentence(f"{str(error)} The quoted answer needs no model."))
        return None


def _check_statements(written: Written, model: Metered) -> Written:
    """Put the cited statements to the model at a button; a check that was paid is shown at once."""
    review = Review.of(written)
    if review is None:
        return written
    known = model.find_stored(model.key(review.messages, review.schema, preferences().calls.reply_tokens))
    if known is not None:
        return review.read(known.text)
    cost = _expect_cost(review.messages, model, CHECKED)
    place = st.empty()
    if place.button("Check the statements", icon=":material/fact_check:", type="tertiary", key="check",
                    help=plain("The model reads each statement again beside the passages that it cites: "
                               f"similar words can say the opposite. It takes {cost}")):
        try:
            checked = review.ask(model)
            place.empty()
            return checked
        except ModelError as error:
            st.error(escape_sentence(str(error)))
    return written


def find_written(view: View) -> Written | None:
    """Return a model's earlier answer from the shown passages, without a call."""
    model = language_model(view.knowledge.url, "answer", view.question)
    if model is None:
        return None
    draft = _draft(view)
    known = _find_reply(draft, model)
    return None if known is None else cite_reply(view.knowledge, draft, known, model.name)


def _length() -> str:
    """Return the chosen length; a link has its label, and is read before the control is drawn."""
    chosen = str(value_of("length", "")).lower()
    return chosen if chosen in LENGTHS else next(iter(LENGTHS))


def _draft(view: View) -> Draft:
    """Build the prompt for the retrieval."""
    asked = (view.about, view.method, view.retrieval.method, _length(), view.plan.planner,
             view.retrieval.further)
    return remember("draft", asked, lambda: draft_answer(view.knowledge,
        view.retrieval, view.plan, length=_length(), budget=BUDGET))


def _find_reply(draft: Draft, model: Metered) -> Reply | None:
    return model.find_stored(model.key(draft.messages, None, preferences().calls.reply_tokens))


def _draw_prompt(draft: Draft, model: Metered) -> None:
    """Draw the choice of the length, the cost and the prompt, folded."""
    with st.expander(f"{brief(model.name, 40)}: length, cost and prompt"):
        st.selectbox("Length", list(LENGTHS), **bound("length"), format_func=str.capitalize)
        context = draft.context
        st.caption(plain(f"It reads {count(len(context.sources), 'passage')}: "
                         f"{_expect_cost(draft.messages, model, USUAL[_length()])} {say_leaving()}"))
        st.caption(f"{count(context.left_out, 'retrieved passage')} did not fit into "
                   f"{context.budget:,} tokens, {context.copies} repeated another, and {context.weak} "
                   "scored too far below the best.")
        for message in draft.messages:
            st.caption(message.role.capitalize())
            st.code(message.content, language=None, wrap_lines=True)


def _expect_cost(messages: Sequence[Message], model: Metered, usual: int) -> str:
    """Word the expected tokens of a call and the most it may have, with their price where that is known."""
    sent, most = tokens_of(messages), preferences().calls.reply_tokens
    words = f"about {sent:,} tokens in and {min(usual, most):,} out, at most {most:,} out"
    if not model.price:
        return f"{words}."
    expected, highest = model.price.of(sent, min(usual, most)), model.price.of(sent, most)
    return f"{words} (${expected:.4f}, at most ${highest:.4f})."


def say_leaving() -> str:
    """Return a warning if a call sends data away, else ""."""
    if not leaves_this_machine(preferences()):
        return ""
    return "Your question and the passages leave this machine."


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
    if checked := say_review(written):
        st.caption(f":material/fact_check: {checked}")


def _say_cost(spent: Reply, model: Metered) -> str:
    """Word the tokens of a reply, and its price where that is known."""
    about = "~" if spent.estimated else ""
    words = f"{about}{spent.tokens_in:,} + {about}{spent.tokens_out:,} tokens"
    if not model.price:
        return f"{words}, no price set"
    return f"{words}, {about}${model.price.of(spent.tokens_in, spent.tokens_out):.4f}"
