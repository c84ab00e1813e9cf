"""The Documents page: adding, watching the work, and the list with delete, undo and retry."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import streamlit as st

from qafd.errors import ParseError
from qafd.folders import Given, numbered, told_apart
from qafd.imports import GRAPH_ENDINGS, ImportedGraph, name_of
from qafd.jobs import (
    Job,
    cancel,
    enqueue,
    go_on,
    jobs,
    needs_worker,
    open_jobs,
    retry,
    unparsed,
)
from qafd.knowledge import KnowledgeGraph
from qafd.pace import Pace
from qafd.parsing import parse_graph
from qafd.rows import Contents, File
from qafd.store import Store, clean_name
from qafd.ui.models import choice_of, meter, notices, start
from qafd.ui.pages import page
from qafd.ui.workspaces import plain
from qafd.view.panel import clean, counted

KINDS = ["txt", "md", "html", "htm", "pdf", "docx", "csv", "json", "jsonl", "epub", "graphml",
         "gexf"]
_STATUS = {"queued": "waiting", "parsing": "reading", "extracting": "extracting",
           "done": "done", "failed": "failed", "cancelled": "cancelled"}
TOLD = 5  # files whose trouble is also told below the table
_UNITS = {"parsing": "file", "embedding": "vector", "building layers": "text"}


def intake(knowledge: KnowledgeGraph) -> None:
    """Upload files, a folder or a graph, or paste text."""
    files, folder, paste, graph = st.tabs(["Files", "Folder", "Paste text", "Graph file"])
    with files, st.form("files", clear_on_submit=True, border=False):
        uploads = st.file_uploader(
            "Text, Markdown, HTML, PDF, Word, CSV, JSON, JSON lines, EPUB, GraphML, GEXF; "
            "50 MB each",
            KINDS, accept_multiple_files=True)
        if st.form_submit_button("Add to the graph", type="primary"):
            _add(knowledge, [(PurePosixPath(u.name).name, u.getvalue()) for u in uploads])
    with folder, st.form("folder", clear_on_submit=True, border=False):
        uploads = st.file_uploader("A folder with all its files; others than the known kinds "
                                   "are left out", KINDS, accept_multiple_files="directory")
        if st.form_submit_button("Add the folder", type="primary"):
            _add(knowledge, [(u.name, u.getvalue()) for u in uploads])
    with paste, st.form("paste", clear_on_submit=True, border=False):
        name = st.text_input("Name", "note.txt", max_chars=120)
        text = st.text_area("Text", height=160)
        if st.form_submit_button("Add the text", type="primary"):
            _add(knowledge, [(_free(knowledge, name.strip() or "note.txt"), text.encode())]
                 if text.strip() else [])
    with graph:
        _graph_file(knowledge)


def _graph_file(knowledge: KnowledgeGraph) -> None:
    """Upload a graph that exists, see what is in it, and add it."""
    uploads = st.file_uploader(
        "A graph you already have: GraphML, GEXF, node-link JSON, a CSV of edges, or what GraphRAG "
        "and LightRAG wrote; 50 MB each", GRAPH_ENDINGS, accept_multiple_files=True,
        key=f"graph{st.session_state.get('graphs', 0)}")
    st.caption(
        "A CSV needs the columns source and target (or from and to, head and tail, subject and "
        "object); weight, label and description are optional. Choose files together that make one "
        "graph: tables of edges and nodes, GraphRAG's entities, relationships and text_units "
        ".parquet, or LightRAG's .graphml and kv_store_text_chunks.json.")
    if not uploads:
        return
    try:
        graph = _graph_in(tuple(u.getvalue() for u in uploads))
    except ParseError as error:
        st.warning(plain(str(error)))
        return
    st.markdown(plain(clean(graph.summary, 400)))
    for notice in graph.notices:
        st.caption(plain(clean(notice, 400)))
    if st.button("Add the graph", type="primary"):
        _add(knowledge, [(name_of([PurePosixPath(u.name) for u in uploads]), graph.to_json())])
        # an uploader of another key is empty: the graph is not offered twice
        st.session_state["graphs"] = st.session_state.get("graphs", 0) + 1
        st.rerun()


@st.cache_data(max_entries=2, show_spinner="Reading the graph")
def _graph_in(files: tuple[bytes, ...]) -> ImportedGraph:
    return parse_graph(files)


def _free(knowledge: KnowledgeGraph, name: str) -> str:
    """The name, numbered when a file has it: pasted text never replaces anything."""
    name = clean_name(name)
    with knowledge.store() as store:
        taken = {file.name for file in store.files()}
    return numbered(name, taken) if name in taken else name


def _add(knowledge: KnowledgeGraph, files: list[tuple[str, bytes]]) -> None:
    if not files:
        st.warning("There is nothing to add yet; choose a file or write some text first.")
        return
    said: list[str] = []
    files = [(file.name, file.read()) for file in told_apart(
        [Given(name, name, partial(bytes, data)) for name, data in files], said.append)]
    for sentence in said:
        st.toast(plain(sentence), duration="long")
    choice = choice_of(knowledge)
    if choice.model or choice.embedder:  # what costs money waits for its plan to be read
        with knowledge.store() as store:
            store.hold(files)
        return
    with knowledge.store() as store:
        enqueue(store, files)
    start(knowledge)
    st.toast(f"{counted(len(files), 'file')} taken in; the graph grows as "
             f"{'it is' if len(files) == 1 else 'they are'} read.")


def jobs_panel(knowledge: KnowledgeGraph) -> None:
    """The running and waiting work; polls while there is any."""
    with knowledge.store() as store:
        busy = bool(open_jobs(store))
    st.fragment(_jobs, run_every=1.0 if busy else None)(knowledge, busy)


def _jobs(knowledge: KnowledgeGraph, busy: bool) -> None:
    with knowledge.store() as store:
        waiting = open_jobs(store)
        orphaned = needs_worker(store)
        revision = store.revision
        bars = [(job, *_bar(knowledge.path, store, job)) for job in waiting]
        last = next(iter(jobs(store, 1)), None)
        unfinished = last is not None and (
            last.state == "failed" or last.state == "cancelled" and store.stale)
    if unfinished and last is not None:
        _go_on(knowledge, last)
    if orphaned:
        start(knowledge)
    for job, share, label in bars:
        bar, stop = st.columns([6, 1], vertical_alignment="center")
        bar.progress(share, plain(label))
        meter(knowledge, job.id)
        if job.error:
            st.warning(plain(job.error))
        if job.state == "paused" and stop.button("Resume", key=f"resume{job.id}"):
            start(knowledge)
        if stop.button("Cancel", key=f"cancel{job.id}"):
            with knowledge.store() as store:
                cancel(store, job.id)
    if busy and (not waiting or revision != st.session_state.setdefault("seen", revision)):
        st.session_state["seen"] = revision
        st.rerun()


@st.cache_resource(max_entries=64, show_spinner=False)
def _pace(path: Path, job: int, stage: str) -> Pace:  # noqa: ARG001
    """The speed of a stage of a job, which all who look at it share."""
    return Pace()


def _bar(path: Path, store: Store, job: Job) -> tuple[float, str]:
    """How much of a job is done, 0 to 1, and its words: the file at work and the time left.

    Files are parsed one by one while passages are read: the bar is that of the passages, with
    those that are expected in the files not parsed yet.
    """
    if job.state != "running" or not job.stage:
        return 0.0, {"queued": "Waiting for the worker", "paused": "Paused"}.get(
            job.state, "Starting")
    reading = job.stage in ("parsing", "extracting")
    pace = _pace(path, job.id, "extracting" if reading else job.stage)
    total = counted(job.total, _UNITS.get(job.stage, "passage"))
    if job.stage == "extracting":
        ahead = unparsed(store, job.id)
        pace.note(job.done, job.total + ahead)
        if 0 < ahead < float("inf"):
            # two digits: each file that is parsed would change the others
            total = f"about {counted(int(float(f'{job.total + ahead:.2g}')), 'passage')}"
    elif not reading:
        pace.note(job.done, job.total)
    left = f", {pace.left}" if pace.left else ""
    at_work = f" {clean(job.current, 80)}" if job.current else ""
    return pace.share, f"{job.stage.capitalize()}{at_work}: {job.done:,} of {total}{left}"


def _go_on(knowledge: KnowledgeGraph, job: Job) -> None:
    """Why the last job ended early, and the way to go on."""
    words, button = st.columns([6, 1], vertical_alignment="center")
    words.warning(plain(job.error or "The last job was cancelled before the graph was up to date."))
    if button.button("Go on", key="go_on"):
        with knowledge.store() as store:
            go_on(store, job.id)
        start(knowledge)
        st.rerun()


def documents_table(knowledge: KnowledgeGraph) -> None:
    """All files with their state; the chosen ones can be deleted, brought back or retried."""
    with knowledge.store() as store:
        files = store.files()
        made_by = store.extractor
        working = bool(open_jobs(store))
        graph = knowledge.graph
    live = [f for f in files if f.deleted_at is None]
    said = notices(knowledge)
    if not files:
        st.info("No documents yet. Add one above: the graph can be used as soon as its first "
                "passages are read.")
        return
    held = [(len(live), "file"), (int((graph.kinds == "passage").sum()), "passage"),
            (int((graph.kinds == "entity").sum()), "entity"), (graph.edge_count, "edge")]
    st.caption(" · ".join(counted(*some) for some in held)
               + (f" · read by {plain(clean(made_by, 80))}" if made_by else ""))
    contents = _contents(knowledge, (knowledge.path, knowledge.version(graph),
                                     [(f.name, f.passages) for f in files]))
    rows = [_row(f, contents[f.name], said.get(f.name, ""), working) for f in files]
    event = st.dataframe(
        _telling(rows), hide_index=True, on_select="rerun", selection_mode="multi-row",
        key=f"files_table{st.session_state.get('acted', 0)}", column_config={
            "file": st.column_config.TextColumn(width=180),
            "state": st.column_config.TextColumn(width=80),
            "entities": _count("Entities that its passages mention, in the graph as it is now"),
            "relations": _count("Relations that its sentences state, in the graph as it is now"),
            "tokens": _count("Length of its passages"), "passages": _count("Pieces of text"),
            "pages": _count("Pages of its documents"), "documents": _count("Records in the file"),
            "size": st.column_config.NumberColumn(format="bytes"),
            "read": st.column_config.ProgressColumn(min_value=0, max_value=1, format="percent"),
            "what happened": st.column_config.TextColumn(width="large")})
    told = [f for f in live if f.error or f.name in said]
    for file in told[:TOLD]:
        mark = ":material/error: " if file.error else ""
        st.caption(f"{mark}**{plain(clean(file.name, 120))}**: "
                   f"{plain(file.error or said[file.name])}")
    if len(told) > TOLD:
        st.caption(f"{counted(len(told) - TOLD, 'file')} more, under “what happened” in the table; "
                   "a click on “state” sorts by it.")
    chosen = [files[i] for i in event["selection"]["rows"] if i < len(files)]
    gone = [f for f in files if f.deleted_at is not None]
    with st.container(horizontal=True):
        _button("Delete", [f for f in chosen if f.deleted_at is None], knowledge, "delete")
        failed = [f for f in live if f.status == "failed"]
        if chosen or not failed:
            _button("Retry", [f for f in chosen if f.status in ("failed", "cancelled")
                              or f.name in said], knowledge, "retry")
        else:
            _button("Retry failed", failed, knowledge, "retry")
        _button("Undo delete", [f for f in chosen if f.deleted_at is not None] or
                [f for f in gone if f.deleted_at == max(g.deleted_at or "" for g in gone)],
                knowledge, "undo")
    if len(graph):
        st.page_link(page("explore"), label="Explore the graph", icon=":material/hub:")
    st.caption("Choose rows to delete or retry. A deleted file leaves the graph as if it had "
               "never been there, and can be brought back.")


@st.cache_data(max_entries=4, show_spinner=False)
def _contents(_knowledge: KnowledgeGraph, state: object) -> dict[str, Contents]:  # noqa: ARG001
    """What each file brings, counted once for a state of graph and files."""
    with _knowledge.store() as store:
        return store.contents()


def _count(meaning: str) -> Any:
    return st.column_config.NumberColumn(help=meaning, format="localized")


def _telling(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows without columns that would say the same of every file: one document, all read."""
    dull = {"documents": (0, 1), "pages": (0,), "read": (None, 1.0), "what happened": ("",)}
    silent = {name for name, values in dull.items() if all(row[name] in values for row in rows)}
    return [{name: value for name, value in row.items() if name not in silent} for row in rows]


def _row(file: File, held: Contents, notice: str, working: bool) -> dict[str, Any]:
    state = "deleted" if file.deleted_at else _STATUS.get(file.status, file.status)
    if state in ("reading", "extracting") and not working:
        state = "interrupted"
    if state == "cancelled" and not file.passages:
        state = "not begun"
    return {"file": clean(file.name, 160), "state": state, "documents": file.documents,
            "pages": held.pages, "passages": file.passages, "entities": held.entities,
            "relations": held.relations, "tokens": held.tokens, "size": file.size,
            "read": None if file.deleted_at or state == "failed" and not file.passages
            else file.extracted / file.passages if file.passages
            else float(file.status == "done"),
            "what happened": clean(" ".join(
                filter(None, [file.error, notice, *file.notices])), 400)}


def _button(label: str, files: list[File], knowledge: KnowledgeGraph, action: str) -> None:
    many = f" {len(files)} files" if len(files) > 1 else ""
    if not st.button(label + many, disabled=not files, key=action):
        return
    apply(knowledge, action, [f.name for f in files])
    # A table of another key has no rows chosen: the next action is for rows chosen anew.
    st.session_state["acted"] = st.session_state.get("acted", 0) + 1
    st.rerun()


def apply(knowledge: KnowledgeGraph, action: str, names: Sequence[str]) -> None:
    """Delete, undo or retry files, and let a worker bring the graph up to date."""
    with knowledge.store() as store:
        if action == "retry":
            retry(store, names)
        else:
            for name in names:
                (store.delete if action == "delete" else store.undo)(name)
            enqueue(store)
    start(knowledge)
