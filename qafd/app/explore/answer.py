"""The Answer tab: quoted sentences, or a model's words as they come, with their sources."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from qafd.answer import WEAK, Answer, Citation, Draft, Written
from qafd.app.escaping import plain, safe, safe_lines, said
from qafd.app.links import in_document
from qafd.app.pages import page
from qafd.app.provider import language_model, leaves_this_machine, preferences, why_no_model
from qafd.app.result import View
from qafd.app.session import keep, session
from qafd.errors import ModelError
from qafd.evaluate.judge import Verdict, graded, judge
from qafd.models import Reply
from qafd.models.cost import Metered, streamed, tokens_of
from qafd.models.prompts_answer import ABSENT, ANSWER_TOKENS, EMPOWERMENT, LENGTHS, PAPER
from qafd.reading.text.markdown import answer_html
from qafd.view.panel import counted
from qafd.wording.answers import say_absence, say_gap, say_need

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

_TEXT = "font-size:1.05rem;line-height:1.6;max-width:52rem"
# One color that marks on light and on dark; links in the color of the text.
STYLE = ("<style>[class*=st-key-answer] mark{background:rgba(240,180,0,.3);color:inherit}"
         "[class*=st-key-answer] a{color:inherit}</style>")
RUBRICS = {"Paper's five": PAPER, "Empowerment (SG-RAG)": EMPOWERMENT}


def answer_tab(view: View) -> None:
    """Sentences that answer the question, and on request an answer in a model's words."""
    answer = view.answer
    model = language_model(view.knowledge.path, "answer", view.question)
    # Where no connection stays open, each call would open and close the file, 25 ms.
    with st.container(key="answer"), view.knowledge.store():
        st.html(STYLE)
        if model is not None:
            _written(view, answer, model)
        _quoted(answer)
    if model is None:
        st.caption(said(why_no_model()))
        st.page_link(page("settings"), label="Language models", icon=":material/settings:")


def _quoted(answer: Answer) -> None:
    st.caption("Extractive: sentences of your documents, quoted, no language model." + (
        "" if answer.abstained or not answer.sentences else
        f" {say_need(answer)}"),
        help="The cosine between a sentence and the question: 1 means the same, 0 nothing in "
             "common. In letters that the model does not read it is the share of the question's "
             "words. A sentence that has all words of the question counts whatever it is.")
    if answer.abstained:
        st.write(say_absence(answer).replace(ABSENT, f"**{ABSENT}**"))
        if not answer.sentences:
            return
    if gap := say_gap(answer):
        st.caption(plain(gap))
    if answer.abstained:
        st.caption("The nearest sentences:")
    st.html(f"<p style='{_TEXT}'>" + " ".join(
        f"{'… ' * s.skips}{'<b>' * s.best}{safe(s.line)}{'</b>' * s.best} "
        f"<sup><a href='#quoted-{s.citation}'>[{s.cited}]</a></sup>"
        for s in answer.sentences) + "</p>")
    _sources(answer.citations, "quoted", {c.number: [
        s.similarity for s in answer.sentences if s.citation == c.number]
        for c in answer.citations})


def _sources(citations: tuple[Citation, ...], anchor: str,
             near: Mapping[int, Sequence[float]] | None = None) -> None:
    """Where each citation stands, and its passage with the cited sentences marked.

    `near` are the similarities of its sentences, in the order in which they are quoted.
    """
    for citation in citations:
        at = citation.passage
        similar = near[citation.number] if near else [citation.support]
        link = in_document(at.document, at.chunk,
                           [(at.start + start, at.start + end) for start, end in citation.marks])
        st.html(f"<p id='{anchor}-{citation.number}' style='margin:.4em 0 0'><small>"
                f"[{citation.number}] <b>{safe(citation.title)}</b> — {safe(citation.where)} · "
                f"similarity {', '.join(f'{each:.2f}' for each in similar)}"
                f"{', weak support' if citation.support < WEAK else ''} · {link}</small></p>"
                f"<p style='margin:.1em 0 .3em 1.6em;max-width:52rem'><small>"
                f"{_marked(citation)}</small></p>")


def _marked(citation: Citation) -> str:
    """The passage with its cited sentences marked."""
    text, at, parts = citation.passage.text, 0, []
    for start, end in sorted(citation.marks):
        parts += [safe_lines(text[at:start]), f"<mark>{safe_lines(text[start:end])}</mark>"]
        at = end
    return " ".join([*parts, safe_lines(text[at:])])


def _written(view: View, answer: Answer, model: Metered) -> None:
    """The model's answer: what was paid for once is shown again without a call."""
    asked, length, button = st.columns([3, 1, 1], vertical_alignment="bottom")
    choice = length.selectbox("Length", list(LENGTHS), key=keep("length"), bind="query-params",
                              format_func=str.capitalize)
    draft = view.knowledge.draft(view.retrieval, view.plan, length=choice)
    known = model.stored(model.key(draft.messages, None, ANSWER_TOKENS))
    away = " Your question and the passages leave this machine." if leaves_this_machine(
        preferences()) else ""
    if answer.abstained:
        asked.write("Your documents do not seem to answer this (see below), so ask the model only "
                    "if you know better.")
    asked.caption(f"{plain(model.name)} reads about {tokens_of(draft.messages):,} tokens: "
                  f"{counted(len(draft.context.sources), 'passage')}.{away}")
    place = st.empty()
    if button.button("Write an answer", type="primary", key="write", width="stretch",
                     disabled=known is not None):
        try:
            known = _streamed(draft, model, place)
        except ModelError as error:
            st.error(said(f"{error} The quoted answer below needs no model."))
        place.empty()
    if known is not None:
        written = view.knowledge.written(draft, known, model.name)
        _shown(written, model)
        _judged(view, answer, written, model)
    with st.expander("What the model is shown"):
        st.caption(f"About {draft.context.tokens:,} of {draft.context.budget:,} tokens of data; "
                   f"{counted(draft.context.left_out, 'retrieved passage')} did not fit.")
        for message in draft.messages:
            st.caption(message.role.capitalize())
            st.code(message.content, language=None, wrap_lines=True)


def _streamed(draft: Draft, model: Metered, place: "DeltaGenerator") -> Reply:
    """The model's reply, drawn as it comes."""
    numbers = {source.number for source in draft.context.sources}
    text = ""
    for piece in model.stream(draft.messages, max_tokens=ANSWER_TOKENS):
        text += piece
        place.html(f"<div style='{_TEXT}'>{answer_html(text, numbers)}</div>")
    return model.stored(model.key(draft.messages, None, ANSWER_TOKENS)) or streamed(
        draft.messages, text)


def _shown(written: Written, model: Metered) -> None:
    cited = {citation.number for citation in written.citations}
    st.html(f"<div style='{_TEXT}'>{answer_html(written.text, cited)}</div>")
    st.caption(f"Written by {plain(written.model)} · {_cost(written.reply, model)}. A model can "
               "be wrong: check the marked sentences.")
    if written.unknown:
        st.caption(":material/warning: It cites sources that do not exist: "
                   f"{', '.join(map(str, written.unknown))}. They are struck out.")
    if not written.citations and not written.abstained:
        st.caption(":material/warning: It cites no source, so nothing here is proved.")
    _sources(written.citations, "source")


def _cost(spent: Reply | Verdict, model: Metered) -> str:
    """Tokens, and dollars where the price is known."""
    about = "~" if spent.estimated else ""
    dollars = (f", {about}${model.price.of(spent.tokens_in, spent.tokens_out):.4f}"
               if model.price else ", no price set")
    return f"{about}{spent.tokens_in:,} + {about}{spent.tokens_out:,} tokens{dollars}"


def _judged(view: View, answer: Answer, written: Written, model: Metered) -> None:
    """The written and the quoted answer graded by the same model, on request."""
    kept = session().verdicts
    with st.expander("Judge both answers", expanded=bool(kept)):
        st.caption(f"{plain(model.name)} grades the written and the quoted answer, without knowing "
                   "which is which, in several rounds with the order reversed from one to the "
                   "next. Grades are a model's opinion, also of itself.")
        choices, rounds, button = st.columns([3, 1, 1], vertical_alignment="bottom")
        rubric = choices.segmented_control(
            "Grades", list(RUBRICS), default=next(iter(RUBRICS)), required=True, key=keep("rubric"))
        repeats = rounds.number_input("Rounds", 1, 20, 4, key=keep("rounds"))
        criteria = RUBRICS[rubric or next(iter(RUBRICS))]
        judging = replace(model, purpose="judge", accepts=graded(2, criteria))
        texts = {"written": written.text, "quoted": " ".join(s.text for s in answer.sentences)}
        key = (view.question, tuple(texts.values()), model.name, rubric, repeats)
        if button.button("Judge", key="judge", width="stretch"):
            try:
                with st.spinner(f"{repeats} calls"):
                    kept[key] = judge(view.question, texts, judging, repeats=int(repeats),
                                      criteria=criteria)
            except ModelError as error:
                st.error(said(error))
        if key in kept:
            _verdict(kept[key], model)


def _verdict(verdict: Verdict, model: Metered) -> None:
    rows = [{"criterion": f"{grade.criterion}, 0 to {grade.highest:g}", **{
        f"{j.name}{part}": None if value is None else round(value, 1)
        for j in verdict.judgments for g in (*j.grades, j.total)
        if g.criterion == grade.criterion
        for part, value in (("", g.mean), (", deviation", g.deviation))}}
        for grade in (*verdict.judgments[0].grades, verdict.judgments[0].total)]
    st.dataframe(rows, hide_index=True)
    st.caption(f"Judged by {plain(verdict.model)} in {verdict.rounds} rounds · "
               f"{_cost(verdict, model)}")
    for failure in dict.fromkeys(verdict.failed):
        st.caption(f":material/warning: A round could not be read: {plain(failure)}")
