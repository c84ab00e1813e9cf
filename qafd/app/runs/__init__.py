"""The Runs page: the history, what can be done with a kept run, and which are shown."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from qafd import runs
from qafd.app.asking import empty_workspace
from qafd.app.compare import PREFIXES
from qafd.app.pages import page
from qafd.app.runs.drawn import compared, drawn, figures_of, question_of, settings
from qafd.app.session import exchange, forget_all_but
from qafd.knowledge import KnowledgeGraph
from qafd.retrieve.methods import label_of
from qafd.retrieve.qafd import PRESETS, FlowDiffusion
from qafd.runs import KeptRun, Run
from qafd.runs.bundle import bundled
from qafd.runs.report import report
from qafd.storage import Workspace, open_workspace
from qafd.view.panel import Drawing, clean
from qafd.wording import say
from qafd.wording.counts import count
from qafd.wording.runs import say_exact


@dataclass(frozen=True)
class History:
    """What the workspace has kept, and which of it are chosen."""

    knowledge: KnowledgeGraph
    rows: tuple[KeptRun, ...]
    chosen: tuple[str, ...] = ()


def history(knowledge: KnowledgeGraph) -> History:
    """The table of kept runs; the link names the chosen ones."""
    if exchange("workspace", knowledge.path) != knowledge.path:
        # Explore would take the controls of another workspace for what its link asks
        forget_all_but("contract", "thickness", "ramp")
    with knowledge.store() as store:
        rows, deleted = runs.kept(store), runs.deleted(store)
    if deleted:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(say("{runs} deleted.", runs=count(deleted, "run")))
            st.button(say("Undo"), on_click=partial(_change, knowledge, runs.undo), type="tertiary")
    if not rows and not len(knowledge.graph):
        empty_workspace(knowledge)
        return History(knowledge, rows)
    if not rows:
        st.write(say("No run is kept yet. Ask a question on Explore and press *Keep this run*: its "
                     "question, settings and result stay here as they were."))
        st.page_link(page("explore"), label=say("Ask a question"), icon=":material/hub:")
        return History(knowledge, rows)
    linked = st.query_params.get_all("run")
    places = {row.id: place for place, row in enumerate(rows)}
    table = [
        {"time (UTC)": row.made_at[:16].replace("T", " "), "question": clean(row.question, 120),
         "note": clean(row.note, runs.NOTE), "method": label_of(row.method),
         "settings": clean(settings(row.changed), 120), "nodes": row.nodes,
         "tokens": row.tokens, "exact": say_exact(row.exact)} for row in rows]
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
        st.caption(say("Choose a run to see it again, or two to see what differs."))
    return History(knowledge, rows, chosen)


def one_run(past: History, drawing: Drawing) -> None:
    """A run as it was: picture, reasons, answer, passages, certificate; nothing is recomputed."""
    run = _loaded(past, past.chosen[0])
    _status(past.knowledge, run)
    _actions(past, run)
    drawn(run, f"run-{run.id}", drawing)


def _status(knowledge: KnowledgeGraph, run: Run) -> None:
    question_of(run)
    figures_of(run)
    graph, made_on = knowledge.graph, run.retrieval.made_by.workspace
    now = knowledge.version(graph)
    if now == made_on:
        return
    gone, own = len(run.missing_from(graph)), now.split("-")[0] == made_on.split("-")[0]
    if own:
        made = say("Made on an earlier graph.")
    else:
        made = say("Made in another workspace.")
    if gone:
        left = say("Of its {nodes} this graph has all but {gone}.", gone=gone,
                   nodes=count(len(run.retrieved), "node"))
    else:
        left = say("This graph has all of its nodes.")
    st.caption(f":material/history: {made} {left}")


def _actions(past: History, run: Run) -> None:
    name = run.id
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        target, link = _link(past.knowledge, run)
        st.page_link(page(target), label=say("Open in {capitalize}",
                                             capitalize=target.capitalize()),
                     icon=":material/open_in_new:", query_params=link)
        st.download_button(say("Bundle"), lambda: bundled(run), f"run-{name}.zip", "application/zip",
                           on_click="ignore", icon=":material/download:", help=say("Settings, "
                               "subgraph, passages, report and certificate in one file; `qafd verify` "
                               "checks it and `qafd replay` asks it again."))
        st.download_button(say("Report"), lambda: report(run), f"run-{name}.md", "text/markdown",
                           on_click="ignore", icon=":material/description:")
        with st.popover("Note", icon=":material/edit:"), st.form(f"note {name}", border=False):
            note = st.text_input(say("Note"), run.note, max_chars=runs.NOTE, key=f"note of {name}")
            if st.form_submit_button(say("Save")):
                _change(past.knowledge, lambda store: runs.annotate(store, name, note))
                st.rerun()
        delete_button(past)


def delete_button(past: History) -> None:
    """Take the chosen runs out of the history; the page offers to bring them back."""
    many = len(past.chosen)
    st.button(say("Delete") if many == 1 else say("Delete these {many}", many=many), icon=":material/delete:",
              type="secondary" if many == 1 else "tertiary", on_click=partial(
        _change, past.knowledge, lambda store: runs.delete(store, past.chosen)))


def _change(knowledge: KnowledgeGraph, do: Callable[[Workspace], Any]) -> None:
    with knowledge.store() as store:
        do(store)


def _loaded(past: History, key: str) -> Run:
    row = next(row for row in past.rows if row.id == key)
    return replace(_read(past.knowledge.path, key), note=row.note)


@st.cache_resource(max_entries=16, show_spinner=False)
def _read(path: Path, key: str) -> Run:
    with open_workspace(path) as store:
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


def two_runs(past: History, drawing: Drawing) -> None:
    """What the later of two runs has otherwise than the earlier one."""
    both = [_loaded(past, key) for key in past.chosen]
    compared(both, f"runs-{'-'.join(past.chosen)}", drawing, [
        " · ".join(filter(None, [run.made_at[:16].replace("T", " "),
                                 run.note or clean(run.retrieval.query, 60)])) for run in both])
    delete_button(past)


def many_runs(past: History) -> None:
    """What can be done with more than two runs."""
    st.caption(say("{chosen} runs are chosen: one is shown again, two are compared.",
                   chosen=len(past.chosen)))
    delete_button(past)
