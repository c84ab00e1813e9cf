"""One run, or two side by side, drawn from nothing but what they hold."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from qafd import export
from qafd.app.escaping import plain, safe, said
from qafd.app.explore.node import heading, held, importances
from qafd.app.explore.tabs import EXPORTED, edges_table, nodes_table, ranked
from qafd.app.picture import ASPECT, DRAWN, pick
from qafd.app.tables import download_csv
from qafd.flow.verify import Verification, verify
from qafd.retrieve.base import RetrievedNode
from qafd.retrieve.methods import label_of
from qafd.runs import Quote, Run
from qafd.runs.difference import NodeChange, RunDifference, difference, settings_of
from qafd.view.layout import Positions
from qafd.view.panel import Caption, Drawing, clean, panel_data
from qafd.view.placement import freeze, with_new
from qafd.wording import say
from qafd.wording.counts import count
from qafd.wording.findings import say_verification
from qafd.wording.reasons import word_notice, word_reason
from qafd.wording.runs import say_difference, say_exact, say_setting_name, say_settings, say_value

FOREMOST = 12  # names in the table beside a picture
NOTICES, QUOTES = 8, 40  # shown of a run, which a stranger may have made


def question_of(run: Run) -> None:
    """The question of a run, as a heading."""
    st.html(f"<h3 style='margin:0'>{safe(run.retrieval.query, 300)}</h3>")


def figures_of(run: Run) -> None:
    """When a run was made, how much it retrieved and with what settings, in one line."""
    st.caption(plain(" · ".join([
        f"{clean(run.made_at[:19].replace('T', ' '), 19)} UTC",
        f"{len(run.retrieved):,} nodes retrieved", f"{run.tokens:,} tokens", say_exact(run.exact),
        clean(settings(run.retrieval.params), 600)])))


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
        positions = (with_new(run.layout, run.retrieval, DRAWN, ASPECT)
                     if run.layout else _frozen((key,), [run])[0])
        caption = Caption(label_of(run.retrieval.method), run.note)
        picked = _picture([run], positions, drawing, [caption], key)
    with right:
        _reasons(run, picked)
    views: dict[str, Callable[[Run], None]] = {
        "Answer": _answer, "Passages": _passages, "Table": _table,
        "Certificate": partial(_certificate, checked=checked), "Settings": _settings}
    for tab, draw in zip(st.tabs(list(views)), views.values(), strict=True):
        with tab:
            draw(run)


def _picture(shown: Sequence[Run], positions: Positions, drawing: Drawing,
             captions: Sequence[Caption], key: str,
             others: Sequence[RetrievedNode] = ()) -> str | None:
    return pick(lambda chosen: panel_data(
        [run.retrieval for run in shown], drawing, positions=positions, others=others,
        captions=captions, selected=chosen), key)


@st.cache_resource(max_entries=16, show_spinner=False)
def _frozen(keys: tuple[str, ...],  # noqa: ARG001
            _shown: Sequence[Run]) -> tuple[Positions, tuple[RetrievedNode, ...]]:
    first = {n.id for run in _shown for n in run.retrieved}
    return freeze([run.retrieval for run in _shown], first, DRAWN, ASPECT)


def _reasons(run: Run, picked: str | None) -> None:
    """The selected node's reasons as they were then, or the most important names."""
    node = next((n for n in run.retrieval.nodes if n.id == picked), None)
    if node is not None:
        st.html(heading(node) + _said(run, node) + f"<p>{safe(word_reason(node.reason))}</p>")
        if node.capacity > 0:
            held(run.retrieval, node)
        return
    st.caption(say("The most important names. Click a node to see why it was there."))
    names = [n for n in run.retrieved if n.kind != "passage"]
    st.html(importances(run.retrieval, names[:FOREMOST]))


def _said(run: Run, node: RetrievedNode) -> str:
    """What the passages of a run say of a node, as HTML."""
    if node.kind != "passage":
        return _quoted(run.naming(node.name))
    return "".join(f"<p style='margin:0 0 .6em'>{safe(passage.text, 600)}</p>"
                   for passage in run.retrieval.passages if passage.id == node.id)


def _quoted(quotes: Sequence[Quote]) -> str:
    return "".join(
        f"<p style='margin:0 0 .6em'>{'<b>' * q.best}{safe(q.text)}{'</b>' * q.best}<br>"
        f"<small style='opacity:.7'>{safe(q.title)} · {safe(q.where)}</small></p>" for q in quotes)


def _answer(run: Run) -> None:
    if run.absence:
        st.write(plain(run.absence))
    st.html(_quoted(run.quotes[:QUOTES]) or "<p>No sentence was quoted.</p>")


def _passages(run: Run) -> None:
    ranked(run.retrieval.passages)
    if not run.retrieval.passages:
        st.write(say("No passage was retrieved."))


def _table(run: Run) -> None:
    retrieval = run.retrieval
    nodes, edges = st.tabs([count(len(retrieval.nodes), "node"),
                            count(len(retrieval.edges), "edge")])
    with nodes:
        nodes_table(retrieval)
        st.download_button(say("Nodes CSV"), lambda: export.nodes_csv(retrieval), "nodes.csv",
                           "text/csv", on_click="ignore", help=EXPORTED)
    with edges:
        edges_table(retrieval)
        st.download_button(say("Edges CSV"), lambda: export.edges_csv(retrieval), "edges.csv",
                           "text/csv", on_click="ignore")


def _settings(run: Run) -> None:
    rows = [*say_settings(settings_of(run)).items(), ("graph revision", str(run.retrieval.revision)),
            ("graph SHA-256", run.graph or "unknown")]
    st.dataframe([{"setting": clean(name, 80), "value": clean(value, 300)} for name, value in rows],
                 hide_index=True)


def _certificate(run: Run, checked: Verification | None) -> None:
    if run.retrieval.certificate is None:
        st.write(say("The method gives no certificate: what it retrieves is not the optimum of a "
                     "stated problem."))
        return
    checked = checked or verify(run.retrieval.to_dict())
    st.write(say("Checked again just now from the stored numbers, without a solver: it holds.")
             if checked.ok else
             say("Checked again just now from the stored numbers, without a solver: it does not "
                 "hold."))
    st.html("<ul>" + "".join(f"<li>{safe(sentence)}</li>" for sentence in say_verification(checked))
            + "</ul>")


def compared(both: Sequence[Run], key: str, drawing: Drawing, words: Sequence[str]) -> None:
    """What run B has otherwise than run A, in words, picture and tables.

    `key` names the two among what this app has drawn, `words` are beside their letters.
    """
    found = difference(*both)
    st.html(f"<p style='font-size:1.1rem;margin:0'>{safe(say_difference(found))}</p>")
    st.caption(plain(say("{nodes} in both · tokens "
                         "{before} → {after}", nodes=count(len(found.shared), "node"),
                         before=f"{found.tokens[0]:,}", after=f"{found.tokens[1]:,}")))
    positions, others = _frozen((key,), both)
    _picture(both, positions, drawing,
             [Caption(letter, said) for letter, said in zip("AB", words, strict=True)], key, others)
    nodes, passages, differing = st.tabs([say("Nodes"), say("Passages"), say("Settings")])
    with nodes:
        _changes(found)
    with passages:
        _table_of(("passage", "document", "only in"), [
            (clean(p.title, 120), p.document, letter)
            for letter, some in (("A", found.passages_lost), ("B", found.passages_gained))
            for p in some], "passages", "Both have the same passages.")
    with differing:
        _table_of(("setting", "A", "B"), [
            (say_setting_name(s.name), say_value(s.before), say_value(s.after))
            for s in found.settings],
                  "settings", "Both have the same settings.")


def _changes(found: RunDifference) -> None:
    def row(change: NodeChange, where: str) -> tuple[Any, ...]:
        return (change.name, change.kind, where,
                None if change.before is None else round(100 * change.share_before, 1),
                None if change.after is None else round(100 * change.share_after, 1),
                round(100 * change.difference, 1))

    _table_of(("name", "kind", "retrieved by", "importance in A, %", "importance in B, %",
               "change, points"),
              [*(row(c, "B only") for c in found.gained), *(row(c, "A only") for c in found.lost),
               *(row(c, "both") for c in found.shared)], "nodes", "Neither retrieved a node.")
    st.caption(say("100% is the largest importance of a run."))


def _table_of(columns: Sequence[str], rows: Sequence[tuple[Any, ...]], name: str,
              nothing: str) -> None:
    if not rows:
        st.write(nothing)
        return
    st.dataframe([{column: clean(value, 200) if isinstance(value, str) else value
                   for column, value in zip(columns, row, strict=True)} for row in rows],
                 hide_index=True, placeholder="")
    download_csv(say("Data as CSV"), columns, lambda: rows, f"difference-{name}.csv",
                 key=f"difference-{name}")
