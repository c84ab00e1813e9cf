"""The Runs page: the history, what can be done with a kept run, and which are shown."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import streamlit as st

from qafd import runs
from qafd.app.asking import empty_workspace
from qafd.app.compare.choice import PREFIXES
from qafd.app.pages import page, way
from qafd.app.runs.drawn import compared, drawn, figures_of, made, question_of, settings
from qafd.app.session import exchange, forget_all_but, in_store, shared
from qafd.app.tables import columns_of, format_button, table
from qafd.knowledge import KnowledgeGraph
from qafd.retrieve.methods import label_of
from qafd.retrieve.qafd import PRESETS, FlowDiffusion
from qafd.runs import KeptRun, Run
from qafd.runs.formats import RUN_FORMATS
from qafd.storage import Workspace
from qafd.view.drawing import Drawing
from qafd.view.panel import clean
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
    if exchange("workspace", knowledge.id) != knowledge.id:
        # Explore would take the controls of another workspace for what its link asks
        forget_all_but("contract", "thickness", "ramp")
    with knowledge.store() as store:
        rows, deleted = runs.kept(store), store.runs.list_deleted()
    if deleted:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{count(deleted, 'run')} deleted.")
            st.button("Undo", on_click=partial(
                _change, knowledge, lambda store: store.runs.undo()), type="tertiary")
    chosen = _choose(knowledge, rows) if rows else ()
    if not rows and not len(knowledge.graph):
        empty_workspace(knowledge)
    elif not rows:
        st.write("No run is kept yet. Ask a question on Explore and press *Keep this run*: "
                  "its question, settings and result stay here as they were.")
        way("explore", "Ask a question")
    return History(knowledge, rows, chosen)


def _choose(knowledge: KnowledgeGraph, rows: Sequence[KeptRun]) -> tuple[str, ...]:
    """The table of kept runs; those that are chosen in it, the newest last."""
    places = {row.id: place for place, row in enumerate(rows)}
    linked = [places[key] for key in st.query_params.get_all("run") if key in places]
    columns = columns_of(
        ("kept (UTC)", "question", "note", "method", "settings", "nodes", "tokens", "exact"),
        [(made(row.made_at), row.question, row.note, label_of(row.method), settings(row.changed),
          row.nodes, row.tokens, say_exact(row.exact)) for row in rows])
    widths = {"question": 260, "note": 110, "method": 120, "settings": 130}
    if not any(columns["note"]):
        del columns["note"]
    event = table(
        columns, formats={"tokens": "localized"}, on_select="rerun", selection_mode="multi-row",
        # other rows are another table, which begins with what is chosen still
        key=f"runs {knowledge.name} {rows[0].id} {len(rows)}",
        selection_default={"selection": {"rows": linked}},
        column_config={name: st.column_config.TextColumn(width=width)
                       for name, width in widths.items()})
    chosen = tuple(rows[place].id for place in sorted(event["selection"]["rows"], reverse=True))
    if chosen:
        st.query_params["run"] = list(chosen)
    else:
        st.query_params.pop("run", None)
        st.caption("Choose a run to see it again, or two to see what differs.")
    return chosen


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
    gone = len(run.missing_from(graph))
    if now.split("-")[0] == made_on.split("-")[0]:
        origin = "Made on an earlier graph."
    else:
        origin = "Made in another workspace."
    if gone:
        left = f"Of its {count(len(run.retrieved), 'node')} this graph has all but {gone}."
    else:
        left = "This graph has all of its nodes."
    st.caption(f":material/history: {origin} {left}")


def _actions(past: History, run: Run) -> None:
    name = run.id
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        target, link = _link(past.knowledge, run)
        st.page_link(page(target), label=f"Open in {page(target).title}",
                     icon=":material/open_in_new:", query_params=link)
        for form in RUN_FORMATS.values():
            format_button(form, partial(form.write, run), form.file_named(f"run-{name}"))
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


def _change(knowledge: KnowledgeGraph, do: Callable[[Workspace], Any]) -> None:
    with knowledge.store() as store:
        do(store)


def _loaded(past: History, key: str) -> Run:
    row = next(row for row in past.rows if row.id == key)
    run = shared("run", (past.knowledge.id, key), lambda: in_store(
        past.knowledge, lambda store: runs.load(store, key)))
    return replace(run, note=row.note)


def _link(knowledge: KnowledgeGraph, run: Run) -> tuple[str, dict[str, Any]]:
    """The page that asks the question of a run again, and its controls in the address."""
    name, params = run.retrieval.method, run.retrieval.params
    link: dict[str, Any] = {"ws": knowledge.name, "q": run.retrieval.query}
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
    questions = {run.retrieval.query for run in both}
    words = []
    for run in both:
        asked = clean(run.retrieval.query, 60) if len(questions) > 1 else ""
        words.append(" · ".join(filter(None, (asked, run.note, made(run.made_at)))))
    compared(both, f"runs-{'-'.join(past.chosen)}", drawing, words)
    delete_button(past)


def many_runs(past: History) -> None:
    """What can be done with more than two runs."""
    st.caption(f"{len(past.chosen)} runs are chosen: one is shown again, two are compared.")
    delete_button(past)
