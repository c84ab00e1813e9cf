"""The Runs page: the history, one run drawn again as it was, two runs side by side."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from qafd import export, runs
from qafd.bundle import bundled
from qafd.difference import Change, Difference, difference
from qafd.knowledge import KnowledgeGraph
from qafd.methods import label_of
from qafd.report import report
from qafd.retrieve.base import RetrievedNode
from qafd.retrieve.qafd import PRESETS, FlowDiffusion
from qafd.runs import Kept, Run
from qafd.store import Store
from qafd.ui.compare import PREFIXES
from qafd.ui.detail import heading, held, importances
from qafd.ui.explore import ASPECT, DRAWN, Drawing, empty_workspace, pick
from qafd.ui.pages import page
from qafd.ui.tabs import nodes_table, ranked
from qafd.ui.workspaces import forget_all_but, plain, safe
from qafd.verify import verify
from qafd.view.component import selected
from qafd.view.layout import Positions
from qafd.view.panel import Caption, clean, counted, panel_data
from qafd.view.placement import freeze

FOREMOST = 12  # names in the table beside a picture


@dataclass(frozen=True)
class History:
    """What the workspace has kept, and which of it are chosen."""

    knowledge: KnowledgeGraph
    rows: tuple[Kept, ...]
    chosen: tuple[str, ...] = ()


def history(knowledge: KnowledgeGraph) -> History:
    """The table of kept runs; the link names the chosen ones."""
    if st.session_state.get("asked_in", knowledge.path) != knowledge.path:
        # Explore would take the controls of another workspace for what its link asks
        forget_all_but("contract", "thickness", "ramp")
        st.session_state["asked_in"] = knowledge.path
    with knowledge.store() as store:
        rows, deleted = runs.kept(store), runs.deleted(store)
    if deleted:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{counted(deleted, 'run')} deleted.")
            st.button("Undo", on_click=partial(_change, knowledge, runs.undo), type="tertiary")
    if not rows and not len(knowledge.graph):
        empty_workspace(knowledge)
        return History(knowledge, rows)
    if not rows:
        st.write("No run is kept yet. Ask a question on Explore and press *Keep this run*: its "
                 "question, settings and result stay here as they were.")
        st.page_link(page("explore"), label="Ask a question", icon=":material/hub:")
        return History(knowledge, rows)
    linked = st.query_params.get_all("run")
    places = {row.id: place for place, row in enumerate(rows)}
    table = [
        {"time (UTC)": row.made_at[:16].replace("T", " "), "question": clean(row.question, 120),
         "note": clean(row.note, runs.NOTE), "method": label_of(row.method),
         "settings": clean(settings(row.changed), 120), "nodes": row.nodes,
         "tokens": row.tokens, "exact": runs.EXACT[row.exact]} for row in rows]
    event = st.dataframe(
        table, column_order=[name for name in table[0] if any(line[name] != "" for line in table)],
        hide_index=True, on_select="rerun", selection_mode="multi-row",
        # other rows are another table, which begins with what is chosen still
        key=f"runs {knowledge.path.stem} {rows[0].id} {len(rows)}",
        selection_default={"selection": {"rows": [places[k] for k in linked if k in places]}},
        column_config={name: st.column_config.TextColumn(width=width) for name, width in
                       (("question", 260), ("note", 110), ("method", 120), ("settings", 130))})
    chosen = tuple(rows[place].id for place in sorted(event["selection"]["rows"], reverse=True))
    if chosen:
        st.query_params["run"] = list(chosen)
    else:
        st.query_params.pop("run", None)
        st.caption("Choose a run to see it again, or two to see what differs.")
    return History(knowledge, rows, chosen)


def settings(params: Mapping[str, Any]) -> str:
    """Parameters in words: "mass 30, variant plain"."""
    return ", ".join(f"{name} {value}" for name, value in runs.worded(params).items())


def one_run(past: History, drawing: Drawing) -> None:
    """A run as it was: picture, reasons, answer, passages, certificate; nothing is recomputed."""
    run = _loaded(past, past.chosen[0])
    st.html(f"<h3 style='margin:0'>{safe(run.retrieval.query, 300)}</h3>")
    _status(past.knowledge, run)
    _actions(past, run)
    left, right = st.columns([5, 2], gap="medium")
    with left:
        positions = dict(run.layout) or _frozen(past.knowledge.path, (run.id,), [run])[0]
        caption = Caption(label_of(run.retrieval.method), run.note)
        picked = _picture([run], positions, drawing, [caption], f"run-{run.id}")
    with right:
        _reasons(run, picked)
    views = {"Answer": _answer, "Passages": _passages, "Table": _table, "Certificate": _certificate}
    for tab, draw in zip(st.tabs(list(views)), views.values(), strict=True):
        with tab:
            draw(run)


def _status(knowledge: KnowledgeGraph, run: Run) -> None:
    retrieval, full = run.retrieval, run.retrieved
    st.caption(plain(" · ".join([
        f"{run.made_at[:19].replace('T', ' ')} UTC", f"{len(full):,} nodes retrieved",
        f"{run.tokens:,} tokens", runs.EXACT[run.exact], settings(retrieval.params)])))
    graph = knowledge.graph
    if knowledge.version(graph) == retrieval.made_by.workspace:
        return
    gone = len(run.missing_from(graph))
    st.caption(f":material/history: Made on an earlier graph: {gone} of "
               f"{counted(len(full), 'node')} no longer exist." if gone else
               ":material/history: Made on an earlier graph; all of its nodes still exist.")


def _actions(past: History, run: Run) -> None:
    name = run.id
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        target, link = _link(past.knowledge, run)
        st.page_link(page(target), label=f"Open in {target.capitalize()}",
                     icon=":material/open_in_new:", query_params=link)
        st.download_button("Bundle", lambda: bundled(run), f"run-{name}.zip", "application/zip",
                           on_click="ignore", icon=":material/download:", help="Settings, "
                           "subgraph, passages, report and certificate in one file; `qafd verify` "
                           "checks it and `qafd replay` asks it again.")
        st.download_button("Report", lambda: report(run), f"run-{name}.md", "text/markdown",
                           on_click="ignore", icon=":material/description:")
        with st.popover("Note", icon=":material/edit:"), st.form(f"note {name}", border=False):
            note = st.text_input("Note", run.note, max_chars=runs.NOTE, key=f"note of {name}")
            if st.form_submit_button("Save"):
                _change(past.knowledge, lambda store: runs.annotate(store, name, note))
                st.rerun()
        delete_button(past)


def delete_button(past: History) -> None:
    """Take the chosen runs out of the history; the page offers to bring them back."""
    many = len(past.chosen)
    st.button("Delete" if many == 1 else f"Delete these {many}", icon=":material/delete:",
              type="secondary" if many == 1 else "tertiary", on_click=partial(
        _change, past.knowledge, lambda store: runs.delete(store, past.chosen)))


def _change(knowledge: KnowledgeGraph, do: Callable[[Store], Any]) -> None:
    with knowledge.store() as store:
        do(store)


def _loaded(past: History, key: str) -> Run:
    row = next(row for row in past.rows if row.id == key)
    return replace(_read(past.knowledge.path, key), note=row.note)


@st.cache_resource(max_entries=16, show_spinner=False)
def _read(path: Path, key: str) -> Run:
    with Store.open(path) as store:
        return runs.load(store, key)


def _link(knowledge: KnowledgeGraph, run: Run) -> tuple[str, dict[str, Any]]:
    """The page that asks the question of a run again, and its controls in the address."""
    name, params = run.retrieval.method, run.retrieval.params
    link: dict[str, Any] = {"ws": knowledge.path.stem, "q": run.retrieval.query}
    if name != "qafd":
        prefix = PREFIXES.get(name, name)
        return "compare", {**link, "methods": ["qafd", name],
                           **{f"{prefix}_{key}": str(value) for key, value in params.items()}}
    preset = next((key for key, one in PRESETS.items()
                   if one.method.rule == params.get("rule")), next(iter(PRESETS)))
    # the control of the mass belongs to its rule
    rule = "" if PRESETS[preset].method.rule == params.get("rule") else f"_{params.get('rule')}"
    known = {spec.name for spec in fields(FlowDiffusion)}
    return "explore", {**link, "preset": PRESETS[preset].label, **{
        f"{preset}_{key}{rule if key == 'mass' else ''}": str(value)
        for key, value in params.items() if key in known}}


def _picture(shown: Sequence[Run], positions: Positions, drawing: Drawing,
             captions: Sequence[Caption], key: str,
             others: Sequence[RetrievedNode] = ()) -> str | None:
    return pick(panel_data(
        [run.retrieval for run in shown], positions=positions, others=others, limit=DRAWN,
        aspect=ASPECT, contract=drawing.contract, thickness=drawing.thickness, ramp=drawing.ramp,
        captions=captions, selected=selected(key) or st.query_params.get("node")), key)


@st.cache_resource(max_entries=16, show_spinner=False)
def _frozen(path: Path, keys: tuple[str, ...],  # noqa: ARG001
            _shown: Sequence[Run]) -> tuple[Positions, tuple[RetrievedNode, ...]]:
    first = {n.id for run in _shown for n in run.retrieved}
    return freeze([run.retrieval for run in _shown], first, DRAWN, ASPECT)


def _reasons(run: Run, picked: str | None) -> None:
    """The selected node's reasons as they were then, or the most important names."""
    node = next((n for n in run.retrieval.nodes if n.id == picked), None)
    if node is not None:
        st.html(f"{heading(node)}<p>{safe(node.reason)}</p>")
        if node.capacity > 0:
            held(run.retrieval, node)
        return
    st.caption("The most important names. Click a node to see why it was there.")
    names = [n for n in run.retrieved if n.kind != "passage"]
    st.html(importances(run.retrieval, names[:FOREMOST]))


def _answer(run: Run) -> None:
    if run.absence:
        st.write(plain(run.absence))
    st.html("".join(
        f"<p style='margin:0 0 .6em'>{'<b>' * q.best}{safe(q.text)}{'</b>' * q.best}<br>"
        f"<small style='opacity:.7'>{safe(q.title)} · {safe(q.where)}</small></p>"
        for q in run.quotes) or "<p>No sentence was quoted.</p>")


def _passages(run: Run) -> None:
    ranked(run.retrieval.passages)
    if not run.retrieval.passages:
        st.write("No passage was retrieved.")


def _table(run: Run) -> None:
    nodes_table(run.retrieval)
    st.download_button("Nodes CSV", lambda: export.nodes_csv(run.retrieval), f"run-{run.id}.csv",
                       "text/csv", on_click="ignore")


def _certificate(run: Run) -> None:
    if run.retrieval.certificate is None:
        st.write("The method gives no certificate: what it retrieves is not the optimum of a "
                 "stated problem.")
        return
    checked = verify(run.retrieval.to_dict())
    st.write("Checked again just now from the stored numbers, without a solver: "
             f"{'it holds' if checked.ok else 'it does not hold'}.")
    st.html("<ul>" + "".join(f"<li>{safe(sentence)}</li>" for sentence in checked.sentences)
            + "</ul>")


def two_runs(past: History, drawing: Drawing) -> None:
    """What the later of two runs has otherwise than the earlier one, in words, picture, tables."""
    both = [_loaded(past, key) for key in past.chosen]
    found = difference(*both)
    st.html(f"<p style='font-size:1.1rem;margin:0'>{safe(found.sentence())}</p>")
    st.caption(plain(f"{counted(len(found.shared), 'node')} in both · tokens "
                     f"{found.tokens[0]:,} → {found.tokens[1]:,}"))
    delete_button(past)
    positions, others = _frozen(past.knowledge.path, past.chosen, both)
    _picture(both, positions, drawing, [
        Caption(letter, " · ".join(filter(None, [
            run.made_at[:16].replace("T", " "), run.note or clean(run.retrieval.query, 60)])))
        for letter, run in zip("AB", both, strict=True)], f"runs-{'-'.join(past.chosen)}", others)
    nodes, passages, differing = st.tabs(["Nodes", "Passages", "Settings"])
    with nodes:
        _changes(found)
    with passages:
        _table_of(("passage", "document", "only in"), [
            (clean(p.title, 120), p.document, letter)
            for letter, some in (("A", found.passages_lost), ("B", found.passages_gained))
            for p in some], "passages", "Both have the same passages.")
    with differing:
        _table_of(("setting", "A", "B"), [(s.name, s.before, s.after) for s in found.settings],
                  "settings", "Both have the same settings.")


def _changes(found: Difference) -> None:
    def row(change: Change, where: str) -> tuple[Any, ...]:
        return (change.name, change.kind, where, change.before, change.after,
                round(change.difference, 4))

    _table_of(("name", "kind", "retrieved by", "x in A", "x in B", "change of share"),
              [*(row(c, "B only") for c in found.gained), *(row(c, "A only") for c in found.lost),
               *(row(c, "both") for c in found.shared)], "nodes", "Neither retrieved a node.")
    st.caption("Importance x, and how its share of the run's largest x changed, between -1 and 1.")


def _table_of(columns: Sequence[str], rows: Sequence[tuple[Any, ...]], name: str,
              nothing: str) -> None:
    if not rows:
        st.write(nothing)
        return
    st.dataframe([{column: clean(value, 200) if isinstance(value, str) else value
                   for column, value in zip(columns, row, strict=True)} for row in rows],
                 hide_index=True, placeholder="")
    st.download_button(f"{name.capitalize()} CSV", lambda: export.table_csv(columns, rows),
                       f"difference-{name}.csv", "text/csv", on_click="ignore")


def many_runs(past: History) -> None:
    """What can be done with more than two runs."""
    st.caption(f"{len(past.chosen)} runs are chosen: one is shown again, two are compared.")
    delete_button(past)
