"""A saved run drawn from its own numbers, its passages to mark, and the difference of two runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from qafd.app import markup
from qafd.app.escaping import escape_sentence, plain, safe
from qafd.app.explore.card import draw_balance, heading, importances
from qafd.app.explore.tabs import both_tables, draw_ranking
from qafd.app.pages import fold_tabs, way
from qafd.app.picture import pick
from qafd.app.result import plan_of, retrieve_by
from qafd.app.session import compute_shared
from qafd.app.tables import columns_of, table
from qafd.evaluate.collection import name_passage
from qafd.knowledge import KnowledgeGraph, version_of
from qafd.reading.text.plaintext import one_line
from qafd.retrieve.base import RetrievedNode, RetrievedPassage
from qafd.retrieve.methods import is_method, label_of, method_of
from qafd.runs import Quote, Run, changed_params
from qafd.runs.difference import difference, settings_of
from qafd.runs.imported import FIRST, mark_answer, read_marks
from qafd.runs.verify import verify
from qafd.view.drawing import Caption, Drawing, Look
from qafd.view.panel import clean, panel_data
from qafd.view.placement import add_new, freeze
from qafd.wording import count
from qafd.wording.reasons import word_notice, word_reason
from qafd.wording.runs import (
    say_difference,
    say_exact,
    say_setting_name,
    say_settings,
    say_value,
    say_verification,
)

FOREMOST = 12  # names in the table next to a picture
NOTICES, QUOTES = 8, 40  # shown of a run, which may come from a stranger


def draw_question(run: Run) -> None:
    """Draw the question of a run as a heading."""
    st.html(markup.heading(clean(run.retrieval.query, 300)))


def draw_figures(run: Run) -> None:
    """Draw the time, size and unusual settings of a run in one line."""
    st.caption(plain(" · ".join([
        f"{clean(word_time(run.made_at, 19), 19)} UTC",
        f"{count(len(run.retrieved), 'node')} retrieved",
        count(run.tokens, "token"), say_exact(run.exact),
        clean(word_settings(changed_params(run.retrieval.method, run.retrieval.params)), 600)])))


def word_time(at: str, length: int = 16) -> str:
    """Word a time of ISO 8601, to the minute or the second."""
    return at[:length].replace("T", " ")


def word_settings(params: Mapping[str, Any]) -> str:
    """Word parameters: "mass 30, variant plain"."""
    return ", ".join(f"{name} {value}" for name, value in say_settings(params).items())


def draw_run(run: Run, key: str, drawing: Drawing) -> None:
    """Draw a run: picture, reasons, answer, passages, tables, certificate and settings."""
    for notice in run.retrieval.notices[:NOTICES]:
        st.caption(f":material/info: {escape_sentence(clean(word_notice(notice), 300))}")
    if not any(edge.flow for edge in run.retrieval.edges):
        drawing = replace(drawing, contract=False)  # only flow can be drawn without its passages
    left, right = st.columns([5, 2], gap="medium")
    with left:
        if run.layout:
            positions = add_new(run.layout, run.retrieval)
        else:
            ids = {node.id for node in run.retrieved}
            positions = compute_shared("frozen runs", key, lambda: freeze([run.retrieval], ids))[0]
        caption = Caption(label_of(run.retrieval.method), run.note)
        picked = pick(lambda chosen: panel_data([run.retrieval], drawing, positions=positions,
                                                look=Look([caption], (), chosen)), key)
    with right:
        _reasons(run, picked)
    views: dict[str, Callable[[Run], None]] = {
        "Answer": _answer, "Passages": _passages, "Table": _table,
        "Certificate": _certificate, "Settings": _settings}
    fold_tabs(views, run)


def _reasons(run: Run, picked: str | None) -> None:
    """Draw the reasons of the selected node, or the most important names."""
    node = run.retrieval.node(picked)
    if node is not None:
        reason = markup.paragraph(safe(word_reason(node.reason)))
        st.html(heading(node) + _texts_html(run, node) + reason)
        if node.capacity > 0:
            draw_balance(run.retrieval, node)
        return
    st.caption("The most important names. Click a node to see why it was retrieved.")
    names = [n for n in run.retrieved if n.kind != "passage"]
    st.html(importances(run.retrieval, names[:FOREMOST]))


def _texts_html(run: Run, node: RetrievedNode) -> str:
    """Return the sentences of a run that mention a node, or the text of a passage, as HTML."""
    if node.kind != "passage":
        return _quotes_html(run.quote_name(node.name))
    return "".join(markup.paragraph(safe(passage.text, 600))
                   for passage in run.retrieval.passages if passage.id == node.id)


def _quotes_html(quotes: Sequence[Quote]) -> str:
    html = ""
    for quote in quotes:
        source = markup.small(safe(f"{quote.title} · {quote.where}"))
        html += markup.paragraph(markup.lines(markup.best(quote.text, quote.best), source))
    return html


def _answer(run: Run) -> None:
    if run.absence:
        st.write(plain(run.absence))
    if run.quotes:
        st.html(_quotes_html(run.quotes[:QUOTES]))
    else:
        st.write("The run has no quoted sentence.")


def _passages(run: Run) -> None:
    draw_ranking(run.retrieval.passages)
    if not run.retrieval.passages:
        st.write("No passage was retrieved.")


def _table(run: Run) -> None:
    both_tables(run.retrieval)


def _settings(run: Run) -> None:
    known = settings_of(run) | {"graph": run.retrieval.revision, "graph SHA-256": run.graph}
    table(columns_of(("setting", "value"), list(say_settings(known).items())))


def _certificate(run: Run) -> None:
    if run.retrieval.certificate is None:
        st.write("The method gives no certificate: its result is not the optimum of a stated problem.")
        return
    checked = verify(run.retrieval.to_dict())
    st.write("The certificate was checked again from the stored numbers: it holds." if checked.ok else
             "The certificate was checked again from the stored numbers: it does not hold.")
    st.html(markup.bullets(say_verification(checked)))


def list_differences(first: Run, second: Run) -> None:
    """List the nodes, passages and settings in which two runs differ."""
    change = difference(first, second)
    for label, run in (("First", first), ("Second", second)):
        words = [f"{label}: {clean(run.retrieval.query, 200)}", run.note, word_time(run.made_at)]
        st.caption(plain(" · ".join(filter(None, words))))
    st.html(markup.paragraph(safe(" ".join(say_difference(change)), 2000), "lead"))
    st.caption(plain(f"{count(change.shared, 'node')} in both · tokens {change.tokens[0]:,} "
                     f"→ {change.tokens[1]:,}"))
    first_alone, second_alone = (
        [(node.kind, node.name, side) for node in nodes] + [("ranked passage", passage.title, side)
                                                            for passage in passages]
        for nodes, passages, side in ((change.lost, change.passages_lost, "the first"),
                                      (change.gained, change.passages_gained, "the second")))
    if first_alone or second_alone:
        table(columns_of(("kind", "name", "only in"), [*first_alone, *second_alone]))
    if change.settings:
        table(columns_of(("setting", "first", "second"), [
            (say_setting_name(name), *map(say_value, values)) for name, values in change.settings.items()]))


SHOWN = 240  # characters of a passage


def draw_marks(knowledge: KnowledgeGraph, run: Run) -> None:
    """Draw the first passages of a run and of the flow, and mark those that answer, for Evaluate."""
    question, own = run.retrieval.query, run.retrieval.method
    marks = read_marks(knowledge)
    chosen = marks.get(one_line(question), ())
    st.header("Which passage answers?", anchor=False)
    st.caption("One click marks it. Evaluate then measures all methods with the marked passages.")
    graph, version = knowledge.graph, version_of(knowledge.graph)
    plan = plan_of(knowledge, graph, version, question)
    flow = retrieve_by(knowledge, graph, version, method_of("qafd").fit_to(graph), plan)
    found: dict[str, tuple[RetrievedPassage, list[str]]] = {}
    for name, retrieval in ((label_of(own), run.retrieval), (label_of("qafd"), flow)):
        if name == label_of("qafd") and own == "qafd" and retrieval is flow:
            continue
        for place, passage in enumerate(retrieval.passages[:FIRST], 1):
            found.setdefault(passage.id, (passage, []))[1].append(f"{name}: {place}")
    for passage, places in found.values():
        # a question of a file has documents as its gold
        name = passage.document if passage.document in chosen else name_passage(passage)
        marked = name in chosen
        left, right = st.columns([1, 5], vertical_alignment="center")
        left.button("Answers" if marked else "This answers", key=f"mark {run.id} {passage.id}",
                    type="primary" if marked else "secondary",
                    icon=":material/check:" if marked else None,
                    on_click=partial(mark_answer, knowledge, question, name))
        right.markdown(f"**{plain(clean(passage.name, 120))}** · {plain(', '.join(places))}  \n"
                       f"{plain(clean(one_line(passage.text, SHOWN), SHOWN))}")
    if marks:
        methods = ["qafd", *([] if is_method(own) else [own])]
        way("evaluate", f"Measure {count(len(marks), 'marked question')}", gold="Write", measure=methods)
