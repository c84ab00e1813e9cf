"""The Runs page: the saved runs, one drawn as it was, the difference of two."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import streamlit as st

from qafd import runs
from qafd.app.asking import empty_workspace
from qafd.app.compare.comparison import PREFIXES
from qafd.app.escaping import escape_sentence
from qafd.app.pages import heading, page, way
from qafd.app.picture import drawing_controls
from qafd.app.runs.run import (
    draw_figures,
    draw_marks,
    draw_question,
    draw_run,
    list_differences,
    word_settings,
    word_time,
)
from qafd.app.session import (
    compute_shared,
    empty,
    exchange,
    forget_all_but,
    fresh_key,
    in_store,
    keep,
    recall,
    session,
)
from qafd.app.tables import columns_of, download, table
from qafd.app.workspaces import workspace
from qafd.errors import QafdError
from qafd.ingest.engine import Progress
from qafd.knowledge import KnowledgeGraph, version_of
from qafd.reading.text.plaintext import one_line
from qafd.retrieve.methods import label_of
from qafd.retrieve.qafd import PRESETS, FlowDiffusion
from qafd.runs import Run
from qafd.runs.file import write_run
from qafd.runs.imported import AGREEMENT, add_file, put_disagreements_first, read_marks
from qafd.storage import Workspace
from qafd.storage.rows import RunRow
from qafd.wording import count
from qafd.wording.runs import say_exact, say_imported


@dataclass(frozen=True)
class History:
    """The saved runs of a workspace, and the ids of the selected ones, oldest first."""

    knowledge: KnowledgeGraph
    rows: tuple[RunRow, ...]
    chosen: tuple[str, ...] = ()


def show() -> None:
    """Draw the page."""
    knowledge = workspace()
    heading("Runs", "Saved runs, shown as they were when they were saved.")
    past = _history(knowledge)
    _upload(knowledge)
    if not past.chosen:
        return
    both = [_load(past, key) for key in past.chosen[:2]]
    if len(past.chosen) == 1:
        drawing = drawing_controls()
        _status(knowledge, both[0])
        _actions(past, both[0])
        draw_run(both[0], f"run-{both[0].id}", drawing)
        draw_marks(knowledge, both[0])
        return
    if len(past.chosen) == 2:
        list_differences(*both)
    else:
        st.caption(f"{len(past.chosen)} runs are selected. Select one to see it, or two to compare.")
    _delete_button(past)


def _history(knowledge: KnowledgeGraph) -> History:
    """Draw the table of saved runs; the link names the selected ones."""
    if exchange("workspace", knowledge.id) != knowledge.id:
        # Explore would take the controls of another workspace for those of its link
        forget_all_but("passages", "thickness")
    with knowledge.store() as store:
        rows, deleted = runs.list_runs(store), store.runs.list_deleted()
    marks = read_marks(knowledge)
    rows = put_disagreements_first(rows, marks)
    if deleted:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{count(deleted, 'run')} deleted.")
            st.button("Undo", on_click=partial(
                _change, knowledge, lambda store: store.runs.undo()), type="tertiary")
    chosen = _choose(knowledge, rows, marks) if rows else ()
    if not rows and not len(knowledge.graph):
        empty_workspace(knowledge)
    elif not rows:
        st.write("No run is saved yet. Ask a question on Explore and press *Save this run*: "
                 "its question, settings and result are kept here.")
        way("explore", "Ask a question")
    return History(knowledge, rows, chosen)


def _choose(knowledge: KnowledgeGraph, rows: Sequence[RunRow], marks: Collection[str]) -> tuple[str, ...]:
    """Draw the table of saved runs and return the selected ids, oldest first."""
    places = {row.id: place for place, row in enumerate(rows)}
    linked = [places[key] for key in st.query_params.get_all("run") if key in places]
    columns = columns_of(
        ("saved (UTC)", "question", "note", "method", "settings", "nodes", "tokens", "certificate"),
        [(word_time(row.made_at), row.question, row.note, label_of(row.method),
          word_settings(runs.changed_params(row.method, row.params)), row.nodes, row.tokens,
          say_exact(row.exact)) for row in rows])
    widths = {"question": 260, "note": 110, "method": 120, "settings": 130}
    if not any(columns["note"]):
        del columns["note"]
    formats = {"tokens": "localized"}
    if any(AGREEMENT in row.params for row in rows):
        columns["same as the flow"] = [row.params.get(AGREEMENT) for row in rows]
        columns["answer marked"] = [one_line(row.question) in marks for row in rows]
        formats["same as the flow"] = "percent"
        st.caption("Imported questions without a marked answer come first, those on which the other system "
                   "differs most from the flow at the top.")
    event = table(
        columns, formats=formats, on_select="rerun", selection_mode="multi-row",
        # other rows make another table, which begins with the same selection
        key=f"runs {knowledge.name} {rows[0].id} {len(rows)}",
        selection_default={"selection": {"rows": linked}},
        column_config={name: st.column_config.TextColumn(width=width)
                       for name, width in widths.items()})
    chosen = tuple(rows[place].id for place in sorted(event["selection"]["rows"], reverse=True))
    if chosen:
        st.query_params["run"] = list(chosen)
    else:
        st.query_params.pop("run", None)
        st.caption("Select a run to see it again, or two to compare them.")
    return chosen


def _upload(knowledge: KnowledgeGraph) -> None:
    """Save the run of an uploaded file, or what another system recorded, and select it if it is one."""
    key = fresh_key("run file")
    for sentence in recall("imported", knowledge.id) or ():
        st.caption(f":material/info: {escape_sentence(sentence)}")
    with st.expander("Open a run, or retrievals of another system",
                     expanded=st.session_state.get(key) is not None):
        name = st.text_input("Name of the other system", "mine", key=keep("foreign name"), max_chars=40)
        upload = st.file_uploader(
            "JSON or JSON lines", type=["json", "jsonl"], key=key,
            help="A run that this page saved; or lines with question and results; or retrievals traced by "
                 "OpenTelemetry (OpenInference); or outputs of LightRAG and GraphRAG.")
        if upload is None:
            return
        bar = st.progress(0.0)

        def show_progress(at: Progress) -> None:
            bar.progress(at.done / max(at.total, 1), f"{at.done:,} of {at.total:,} questions")

        try:
            done = add_file(knowledge, upload.getvalue(), name.strip(), show_progress)
        except QafdError as error:
            st.error(escape_sentence(error), icon=":material/error:")
            return
    if len(done.ids) == 1:
        st.query_params["run"] = done.ids[0]
    session().results["imported"] = knowledge.id, say_imported(done, name.strip()) if done.results else ()
    empty("run file")
    st.rerun()


def _status(knowledge: KnowledgeGraph, run: Run) -> None:
    """Draw the question and figures, and how far the graph has changed since."""
    draw_question(run)
    draw_figures(run)
    graph, made_on = knowledge.graph, run.retrieval.made_by.workspace
    now = version_of(graph)
    if now == made_on:
        return
    gone = len(run.missing_from(graph))
    if now.split("-")[0] == made_on.split("-")[0]:
        origin = "Made on an earlier graph."
    else:
        origin = "Made in another workspace."
    if gone:
        left = f"{gone} of its {count(len(run.retrieved), 'node')} are not in this graph."
    else:
        left = "This graph has all of its nodes."
    st.caption(f":material/history: {origin} {left}")


def _actions(past: History, run: Run) -> None:
    name = run.id
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        target, link = _link(past.knowledge, run)
        st.page_link(page(target), label=f"Open in {page(target).title}",
                     icon=":material/open_in_new:", query_params=link)
        download("JSON", partial(write_run, run), f"run-{name}.json", "application/json",
                 help="`qafd verify` checks this file, `qafd replay` asks its question again.")
        with st.popover("Note", icon=":material/edit:"), st.form(f"note {name}", border=False):
            note = st.text_input("Note", run.note, max_chars=runs.NOTE, key=f"note of {name}")
            if st.form_submit_button("Save"):
                _change(past.knowledge, lambda store: runs.annotate_run(store, name, note))
                st.rerun()
        _delete_button(past)


def _delete_button(past: History) -> None:
    """Draw the button that deletes the selected runs; the page then offers to undo it."""
    many = len(past.chosen)
    st.button("Delete" if many == 1 else f"Delete these {many}", icon=":material/delete:",
              type="secondary" if many == 1 else "tertiary", on_click=partial(
        _change, past.knowledge, lambda store: runs.delete_runs(store, past.chosen)))


def _change(knowledge: KnowledgeGraph, do: Callable[[Workspace], Any]) -> None:
    with knowledge.store() as store:
        do(store)


def _load(past: History, key: str) -> Run:
    row = next(row for row in past.rows if row.id == key)
    run = compute_shared("run", (past.knowledge.id, key), lambda: in_store(
        past.knowledge, lambda store: runs.load_run(store, key)))
    return replace(run, note=row.note)


def _link(knowledge: KnowledgeGraph, run: Run) -> tuple[str, dict[str, Any]]:
    """Return the page that asks the question of a run again, and its controls in the address."""
    name, params = run.retrieval.method, run.retrieval.params
    link: dict[str, Any] = {"ws": knowledge.name, "q": run.retrieval.query}
    if name != "qafd":
        prefix = PREFIXES.get(name, name)
        return "compare", {**link, "methods": ["qafd", name],
                           **{f"{prefix}_{key}": str(value) for key, value in params.items()}}
    preset = next((key for key, each in PRESETS.items()
                   if each.method.rule == params.get("rule")), next(iter(PRESETS)))
    # the control of the mass belongs to its rule
    rule = "" if PRESETS[preset].method.rule == params.get("rule") else f"_{params.get('rule')}"
    known = {spec.name for spec in fields(FlowDiffusion)}
    return "explore", {**link, "preset": PRESETS[preset].label, **{
        f"{preset}_{key}{rule if key == 'mass' else ''}": str(value)
        for key, value in params.items() if key in known}}
