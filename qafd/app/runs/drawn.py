"""One run, or two side by side, drawn from nothing but what they hold."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from qafd.app import markup
from qafd.app.escaping import capital, plain, safe, said
from qafd.app.explore.card import heading, held, importances
from qafd.app.explore.tabs import both_tables, csv_buttons, ranked
from qafd.app.pages import fold_tabs
from qafd.app.picture import pick
from qafd.app.session import shared
from qafd.app.tables import columns_of, download_csv, table
from qafd.flow.verify import Verification, verify
from qafd.retrieve.base import RetrievedNode
from qafd.retrieve.methods import label_of
from qafd.runs import Quote, Run, changed
from qafd.runs.difference import RunDifference, difference, settings_of
from qafd.view.drawing import Caption, Drawing, Look
from qafd.view.layout import Positions
from qafd.view.panel import clean, panel_data
from qafd.view.placement import freeze, with_new
from qafd.wording.counts import count
from qafd.wording.findings import say_verification
from qafd.wording.panels import say_kind
from qafd.wording.reasons import word_notice, word_reason
from qafd.wording.runs import say_difference, say_exact, say_setting_name, say_settings, say_value

FOREMOST = 12  # names in the table beside a picture
NOTICES, QUOTES = 8, 40  # shown of a run, which a stranger may have made


def question_of(run: Run) -> None:
    """The question of a run, as a heading."""
    st.html(markup.heading(clean(run.retrieval.query, 300)))


def figures_of(run: Run) -> None:
    """When a run was made, how much it retrieved and which settings are not the usual, in one line."""
    st.caption(plain(" · ".join([
        f"{clean(made(run.made_at, 19), 19)} UTC",
        f"{count(len(run.retrieved), 'node')} retrieved",
        count(run.tokens, "token"), say_exact(run.exact),
        clean(settings(changed(run.retrieval.method, run.retrieval.params)), 600)])))


def made(at: str, length: int = 16) -> str:
    """A time of ISO 8601 as people read it, to the minute or the second."""
    return at[:length].replace("T", " ")


def settings(params: Mapping[str, Any]) -> str:
    """Parameters in words: "mass 30, variant plain"."""
    return ", ".join(f"{name} {value}" for name, value in say_settings(params).items())


def drawn(run: Run, key: str, drawing: Drawing, checked: Verification | None = None) -> None:
    """All that a run holds; `key` names it among those that this app has drawn.

    `checked` is what its check found, where it was checked as it was sent.
    """
    for notice in run.retrieval.notices[:NOTICES]:
        st.caption(f":material/info: {said(clean(word_notice(notice), 300))}")
    left, right = st.columns([5, 2], gap="medium")
    with left:
        positions = (with_new(run.layout, run.retrieval)
                     if run.layout else _frozen(key, [run])[0])
        caption = Caption(label_of(run.retrieval.method), run.note)
        picked = _picture([run], positions, drawing, [caption], key)
    with right:
        _reasons(run, picked)
    views: dict[str, Callable[[Run], None]] = {
        "Answer": _answer, "Passages": _passages, "Table": _table,
        "Certificate": partial(_certificate, checked=checked), "Settings": _settings}
    fold_tabs(views, run)


def _picture(shown: Sequence[Run], positions: Positions, drawing: Drawing,
             captions: Sequence[Caption], key: str,
             others: Sequence[RetrievedNode] = ()) -> str | None:
    return pick(lambda chosen: panel_data(
        [run.retrieval for run in shown], drawing, positions=positions,
        look=Look(captions, others, chosen)), key)


def _frozen(key: str, shown: Sequence[Run]) -> tuple[Positions, tuple[RetrievedNode, ...]]:
    first = set[str]()
    for run in shown:
        first.update(node.id for node in run.retrieved)
    return shared("frozen runs", key, lambda: freeze([run.retrieval for run in shown], first))


def _reasons(run: Run, picked: str | None) -> None:
    """The selected node's reasons as they were then, or the most important names."""
    node = run.retrieval.node(picked)
    if node is not None:
        reason = markup.paragraph(safe(word_reason(node.reason)))
        st.html(heading(node) + _said(run, node) + reason)
        if node.capacity > 0:
            held(run.retrieval, node)
        return
    st.caption("The most important names. Click a node to see why it was there.")
    names = [n for n in run.retrieved if n.kind != "passage"]
    st.html(importances(run.retrieval, names[:FOREMOST]))


def _said(run: Run, node: RetrievedNode) -> str:
    """What the passages of a run say of a node, as HTML."""
    if node.kind != "passage":
        return _quoted(run.naming(node.name))
    return "".join(markup.paragraph(safe(passage.text, 600))
                   for passage in run.retrieval.passages if passage.id == node.id)


def _quoted(quotes: Sequence[Quote]) -> str:
    html = ""
    for quote in quotes:
        source = markup.small(safe(f"{quote.title} · {quote.where}"))
        html += markup.paragraph(markup.lines(markup.best(quote.text, quote.best), source))
    return html


def _answer(run: Run) -> None:
    if run.absence:
        st.write(plain(run.absence))
    if run.quotes:
        st.html(_quoted(run.quotes[:QUOTES]))
    else:
        st.write("No sentence was quoted.")


def _passages(run: Run) -> None:
    ranked(run.retrieval.passages)
    if not run.retrieval.passages:
        st.write("No passage was retrieved.")


def _table(run: Run) -> None:
    retrieval = run.retrieval
    both_tables(retrieval)
    with st.container(horizontal=True):
        csv_buttons(retrieval)


def _settings(run: Run) -> None:
    known = settings_of(run) | {"graph": run.retrieval.revision, "graph SHA-256": run.graph}
    table(columns_of(("setting", "value"), list(say_settings(known).items())))


def _certificate(run: Run, checked: Verification | None) -> None:
    if run.retrieval.certificate is None:
        st.write("The method gives no certificate: what it retrieves is not the optimum of a "
                  "stated problem.")
        return
    checked = checked or verify(run.retrieval.to_dict())
    st.write("Checked again just now from the stored numbers, without a solver: it holds."
             if checked.ok else
             "Checked again just now from the stored numbers, without a solver: it does not hold.")
    st.html(markup.bullets(say_verification(checked)))


def say_two(found: RunDifference) -> str:
    """What the second of two runs has otherwise; their questions stand above the pictures."""
    settings = tuple(setting for setting in found.settings if setting.name != "question")
    return capital(say_difference(replace(found, settings=settings), "the first", "the second"))


def compared(both: Sequence[Run], key: str, drawing: Drawing, words: Sequence[str],
             lead: Sequence[str] = ()) -> None:
    """What the second run has otherwise than the first, in words, picture and tables.

    `key` names the two among what this app has drawn, `words` are beside their titles; `lead` are
    the sentences above, in the place of those that say what differs.
    """
    found = difference(*both)
    for sentence in lead or (say_two(found),):
        st.html(markup.paragraph(safe(sentence, 2000), "lead"))
    st.caption(plain(f"{count(len(found.shared), 'node')} in both · tokens {found.tokens[0]:,} "
                      f"→ {found.tokens[1]:,}"))
    first, second = both
    others: Sequence[RetrievedNode] = ()
    if first.layout and first.retrieval.query == second.retrieval.query:
        known = with_new(first.layout, first.retrieval)
        positions = with_new(known, second.retrieval)
    else:
        positions, others = _frozen(key, both)
    _picture(both, positions, drawing,
             [Caption("First", words[0]), Caption("Second", words[1])], key, others)
    fold_tabs({"Nodes": _changes, "Passages": _changed_passages, "Settings": _changed_settings}, found)


def _changes(found: RunDifference) -> None:
    rows = []
    for changes, where in ((found.gained, "second only"), (found.lost, "first only"),
                           (found.shared, "both")):
        for change in changes:
            before = None if change.before is None else round(100 * change.share_before, 1)
            after = None if change.after is None else round(100 * change.share_after, 1)
            rows.append((change.name, say_kind(change.kind), where, before, after,
                         round(100 * change.difference, 1)))
    columns = ("name", "kind", "retrieved by", "importance in the first, %",
               "importance in the second, %", "change, points")
    _table_of(columns, rows, "nodes", "Neither retrieved a node.")
    st.caption("100% is the largest importance of a run.")


def _changed_passages(found: RunDifference) -> None:
    rows = [(p.title, p.document, "the first") for p in found.passages_lost]
    rows += [(p.title, p.document, "the second") for p in found.passages_gained]
    _table_of(("passage", "document", "only in"), rows, "passages", "Both have the same passages.")


def _changed_settings(found: RunDifference) -> None:
    rows = [(say_setting_name(s.name), say_value(s.before), say_value(s.after)) for s in found.settings]
    _table_of(("setting", "first", "second"), rows, "settings", "Both have the same settings.")


def _table_of(columns: Sequence[str], rows: Sequence[tuple[Any, ...]], name: str,
              nothing: str) -> None:
    if not rows:
        st.write(nothing)
        return
    table(columns_of(columns, rows))
    download_csv("Data as CSV", columns, lambda: rows, f"difference-{name}.csv",
                 key=f"difference-{name}")
