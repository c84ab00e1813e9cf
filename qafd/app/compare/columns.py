"""What the Compare page says of each method, side by side under the picture."""

from dataclasses import replace

import streamlit as st

from qafd.answer import Answer, Citation, where
from qafd.app.compare import Sides, compare_panels
from qafd.app.compare.written import written_answers
from qafd.app.escaping import capital, plain, safe, said
from qafd.app.evaluate.gold import with_gold
from qafd.app.links import in_document
from qafd.app.picture import chosen_drawing
from qafd.app.result import retrieved
from qafd.errors import ParameterError
from qafd.evaluate import MEASURES, trial_of
from qafd.evaluate.collection import gold_documents, gold_nodes
from qafd.retrieve.base import SATURATED
from qafd.retrieve.compare import Column
from qafd.runs.comparison import page, report, rows, rows_csv
from qafd.view.panel import clean, counted, shown_name
from qafd.wording import say_error
from qafd.wording.answers import say_absence, say_gap
from qafd.wording.comparison import word_missed
from qafd.wording.reasons import word_notice, word_reason


def _columns(cells: list[str], name: str = "columns") -> str:
    """HTML side by side, in the columns of the picture where they fit."""
    width = 3 if len(cells) in (3, 5, 6) else 2
    return (f"<div class='{name}' style='display:grid;gap:14px 22px;grid-template-columns:"
            f"repeat(auto-fit,minmax(max(260px,calc({100 // width}% - 22px)),1fr))'>"
            + "".join(f"<section>{cell}</section>" for cell in cells) + "</div>")


def node_reasons(sides: Sides, selected: str | None) -> None:
    """Why the selected node is there, in the words of each method."""
    nodes = {n.id: n for c in sides.comparison.columns if c.retrieval for n in c.retrieval.nodes}
    if selected not in nodes:
        return
    st.html(f"<h4 style='margin:0'>{safe(shown_name(nodes[selected]))}</h4>")
    st.html(_columns([f"<b>{safe(name)}</b><br>{_why(column, selected, sides.choice.blind)}"
                      for name, column in sides.pairs]))


def _why(column: Column, node_id: str, blind: bool) -> str:
    if column.retrieval is None:
        return "–"
    node = next((n for n in column.retrieval.nodes if n.id == node_id), None)
    if node is None:
        return "<span style='opacity:.7'>not retrieved</span>"
    state = "retrieved" if node.state == SATURATED else f"not retrieved, {node.state}"
    return f"{state}" + ("" if blind else f": {safe(word_reason(node.reason))}")


def _failure(column: Column) -> str:
    return capital(say_error(column.error)) if column.error else ""


def differences_tab(sides: Sides) -> None:
    """What one brings and another leaves out, in words."""
    if sides.choice.blind:
        st.write("The differences name the methods: reveal the names to read them.")
        return
    for difference in sides.comparison.differences():
        st.html(f"<p style='margin:0'>{safe(word_missed(difference))}</p>")
    if not sides.comparison.differences():
        st.write("All methods found the same nodes.")


def answers_tab(sides: Sides) -> None:
    """The extractive answer from each method's passages."""
    st.caption("Sentences of your documents, quoted, from the passages within the budget; no "
               "language model.")
    cells = []
    for name, column in sides.pairs:
        cell = f"<b>{safe(name)}</b>"
        if column.retrieval is None:
            cells.append(f"{cell}<p>{safe(_failure(column))}</p>")
            continue
        answer = sides.knowledge.answer(column.retrieval, sides.plan)
        for words in filter(None, [say_absence(answer), say_gap(answer),
                                   "The nearest sentences:" * answer.abstained]):
            cell += f"<p style='margin:0;opacity:.75'>{safe(words)}</p>"
        cell += "<p>" + " ".join(
            f"{'… ' * s.skips}{'<b>' * s.best}{safe(s.line)}{'</b>' * s.best} "
            f"<sup>[{s.cited}]</sup>" for s in answer.sentences) + "</p>"
        cells.append(cell + "".join(
            f"<small>[{c.number}] {_opens(c)} — {safe(c.where)}</small><br>"
            for c in answer.citations))
    st.html(_columns(cells))
    written_answers(sides.knowledge, sides.plan.question, sides.choice.budget, [
        (name, column.retrieval) for name, column in sides.pairs if column.retrieval is not None])


def _opens(citation: Citation) -> str:
    """The title of a source, which opens the quoted sentences in their document."""
    at = citation.passage
    return in_document(at.document, at.chunk, [(at.start + start, at.start + end)
                                               for start, end in citation.marks],
                       safe(citation.title))


def column_passages_tab(sides: Sides) -> None:
    """The passages within the budget, best first; those of one method alone are marked."""
    only = sides.comparison.only("passages")
    cells = []
    for name, column in sides.pairs:
        rows = [f"<b>{safe(name)}</b> <small>{column.tokens:,} of {sides.comparison.budget:,} "
                "tokens</small>"]
        rows += [f"<details><summary>{rank}. {safe(p.title)}"
                 f"{' · <b>only here</b>' * (p.id in only[column.name])}</summary>"
                 f"<p>{safe(p.text, 4000)}</p><small>{safe(where(p))}</small></details>"
                 for rank, p in enumerate(column.retrieval.passages, 1)] if column.retrieval else [
                     f"<p>{safe(_failure(column))}</p>"]
        cells.append("".join(rows))
    st.html(_columns(cells))


def overlap_tab(sides: Sides) -> None:
    """Jaccard overlap of every two methods that did not fail, as numbers on colors."""
    worked = [(name, column) for name, column in sides.pairs if not column.error]
    names = [name for name, _ in worked]
    comparison = replace(sides.comparison, columns=tuple(column for _, column in worked))
    st.caption("Jaccard index: what two methods share over what either found; 1 is the same.")
    tables = []
    for of, title in (("nodes", "Names"), ("passages", "Passages within the budget")):
        head = "".join(f"<th scope='col'>{safe(n)}</th>" for n in names)
        body = "".join(
            f"<tr><th scope='row'>{safe(name)}</th>" + "".join(
                f"<td style='background:rgb(52 163 84/{0.6 * v:.2f})'>{v:.2f}</td>" for v in row)
            + "</tr>" for name, row in zip(names, comparison.overlap(of), strict=True))
        tables.append(f"<table><caption>{title}</caption><tr><td></td>{head}</tr>{body}</table>")
    st.html("<style>.overlap section{overflow-x:auto}.overlap th{font-weight:500;font-size:.8rem;"
            "line-height:1.25;padding:4px;vertical-align:bottom}.overlap th[scope=row]{"
            "text-align:left;vertical-align:middle}.overlap td{text-align:center;"
            "font-variant-numeric:tabular-nums;padding:6px 4px}"
            ".overlap caption{text-align:left;font-weight:600;padding:0 4px}</style>"
            + _columns(tables, "overlap"))


def numbers_tab(sides: Sides) -> None:
    """Size, tokens, time and work of every method."""
    only = {of: sides.comparison.only(of) for of in ("nodes", "passages")}
    worked = [(name, c, r) for name, c in sides.pairs if (r := c.retrieval) is not None]
    # Two tables: all columns of one do not fit beside the sidebar.
    st.dataframe([{
        "method": name, "names": len(c.found), "names only here": len(only["nodes"][c.name]),
        "passages": len(r.passages), "passages only here": len(only["passages"][c.name]),
        "tokens": c.tokens} for name, c, r in worked], hide_index=True)
    st.dataframe([{
        "method": name, "time, ms": r.work.total_milliseconds,
        "nodes touched": r.work.nodes_touched, "edges touched": r.work.edges_touched,
        "rounds": r.work.rounds} for name, _, r in worked], hide_index=True,
        column_config={"time, ms": st.column_config.NumberColumn(format="%.1f")})
    _gold_table(sides)
    for name, c in sides.pairs:
        for notice in c.retrieval.notices if c.retrieval else ():
            st.caption(f":material/info: {plain(name)}: {plain(clean(word_notice(notice), 400))}")


def table_tab(sides: Sides) -> None:
    """What was found, node by node and method by method, and the comparison as files."""
    if sides.choice.blind:
        st.write("The table has the scores and reasons of the methods: reveal the names to read "
                 "it.")
        return
    comparison, drawing = sides.comparison, chosen_drawing()
    found = rows(comparison)
    if not found:
        st.write("No method found anything.")
    else:
        st.caption(f"{counted(len(found), 'row')}: names, then passages within the budget; what "
                   "most methods found comes first. A score is shown over the method's largest, of "
                   "a passage over that of its best; choose a row to read the reasons.")
        event = st.dataframe(
            [{"name": clean(row.name, 120), "kind": clean(row.kind, 40), "found by": row.times,
              **{name: one and one.share for name, one in zip(sides.names, row.found,
                                                              strict=True)}} for row in found],
            hide_index=True, on_select="rerun", selection_mode="single-row", key="compared rows",
            column_config={"name": st.column_config.TextColumn(width="medium")} | {
                # Short names, so that six methods fit beside the sidebar.
                name: st.column_config.NumberColumn(clean(column.name, 40), format="percent",
                                                    help=plain(name))
                for name, column in sides.pairs})
        chosen = [row for row in event["selection"]["rows"] if row < len(found)]
        for row in chosen:
            st.html("".join(
                f"<p style='margin:0 0 .4em'><b>{safe(name)}</b> "
                f"{safe(f'number {one.rank}: {word_reason(one.reason)}', 600) if one else 'not found'}</p>"
                for name, one in zip(sides.names, found[row].found, strict=True)))
    with st.container(horizontal=True):
        st.download_button("Table as CSV", lambda: rows_csv(comparison), "comparison.csv",
                           "text/csv", on_click="ignore",
                           help="With each method's own score, rank and reason.")
        st.download_button("Report", lambda: report(comparison, _quoted(sides)), "comparison.md",
                           "text/markdown", on_click="ignore",
                           help="Differences, answers, numbers, overlap and this table as "
                           "Markdown.")
        st.download_button(
            "Offline HTML",
            lambda: page(comparison, compare_panels(sides, drawing), _quoted(sides)),
            "comparison.html", "text/html", on_click="ignore",
            help="The same with the panels, in one file that needs no network.")


def _quoted(sides: Sides) -> dict[str, Answer]:
    return {name: sides.knowledge.answer(retrieval, sides.plan)
            for name, retrieval in sides.comparison.retrievals.items()}


def _gold_table(sides: Sides) -> None:
    """What each method finds of the passages and nodes that the question needs, where known."""
    asked = with_gold(sides.knowledge, sides.comparison.question)
    if asked is None:
        return
    try:
        known, _ = gold_documents(sides.knowledge, [asked])
    except ParameterError as error:
        st.caption(f":material/info: {said(error)}")
        return
    entities, unknown = gold_nodes(sides.knowledge, sides.graph, [asked])
    # Whatever fits the budget of tokens: the same numbers as on the page Evaluate.
    trials = [(name, trial_of(retrieved(
        sides.knowledge.path, sides.version, sides.comparison.question,
        sides.choice.methods[c.name], sides.knowledge, sides.graph, sides.plan), sides.graph,
        [known[gold] for gold in asked.gold], [entities.get(name, "") for name in asked.nodes]))
        for name, c in sides.pairs if c.retrieval]
    measures = {key: one for key, one in MEASURES.items()
                if any(one.of(trial) is not None for _, trial in trials)}
    st.dataframe([{
        "method": name, **{one.label: one.of(trial) for one in measures.values()},
        "needed, not among its first 5": "; ".join(
            clean(gold, 120) for gold, place in zip(asked.gold, trial.ranks, strict=True)
            if place is None or place > 5)} for name, trial in trials], hide_index=True,
        column_config={one.label: st.column_config.NumberColumn(format="%.2f", help=one.meaning)
                       for one in measures.values()})
    needs = [counted(len(asked.gold), "document"), *[counted(len(asked.nodes), "name")] * bool(
        asked.nodes)]
    st.caption(f"This question is known to need {' and '.join(needs)}; the page Evaluate measures "
               "many such questions.")
    for notice in unknown:
        st.caption(f":material/info: {said(clean(notice, 400))}")
