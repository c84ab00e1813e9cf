"""The Documents page: adding files and watching the work on them."""

from functools import partial
from pathlib import Path, PurePosixPath

import streamlit as st

from qafd.app.documents.models import choice_of, meter, start
from qafd.app.escaping import plain, said
from qafd.app.workspaces import is_sample, new_workspace
from qafd.errors import ParseError
from qafd.ingest.folders import Given, numbered, told_apart
from qafd.ingest.imports import GRAPH_ENDINGS, ImportedGraph, name_of
from qafd.ingest.jobs import (
    Job,
    cancel,
    enqueue,
    go_on,
    jobs,
    needs_worker,
    open_jobs,
    unparsed,
)
from qafd.knowledge import KnowledgeGraph
from qafd.pace import Pace
from qafd.reading.parsing import parse_graph
from qafd.storage import Workspace
from qafd.storage.rows import clean_name
from qafd.view.panel import clean
from qafd.wording import say
from qafd.wording.counts import count

KINDS = ["txt", "md", "html", "htm", "pdf", "docx", "csv", "json", "jsonl", "epub", "graphml",
         "gexf"]
_UNITS = {"parsing": "file", "embedding": "vector", "comparing names": "name",
          "building layers": "text"}


def intake(knowledge: KnowledgeGraph) -> None:
    """Upload files, a folder or a graph, or paste text."""
    if is_sample(knowledge.path):
        with st.container(border=True):
            st.markdown(plain(say("{stem} is a sample: what you add here becomes part "
                                  "of your copy of it. Make a workspace for your own documents:",
                                  stem=knowledge.path.stem)))
            new_workspace("own_workspace", labelled=False)
    files, folder, paste, graph = st.tabs([say("Files"), say("Folder"), say("Paste text"), say("Graph file")])
    with files, st.form("files", clear_on_submit=True, border=False):
        uploads = st.file_uploader(
            say("Text, Markdown, HTML, PDF, Word, CSV, JSON, JSON lines, EPUB, GraphML, GEXF; "
                "50 MB each"),
            KINDS, accept_multiple_files=True)
        if st.form_submit_button(say("Add to the graph"), type="primary"):
            _add(knowledge, [(PurePosixPath(u.name).name, u.getvalue()) for u in uploads])
    with folder, st.form("folder", clear_on_submit=True, border=False):
        uploads = st.file_uploader(say("A folder with all its files; others than the known kinds "
                                       "are left out"), KINDS, accept_multiple_files="directory")
        if st.form_submit_button(say("Add the folder"), type="primary"):
            _add(knowledge, [(u.name, u.getvalue()) for u in uploads])
    with paste, st.form("paste", clear_on_submit=True, border=False):
        name = st.text_input(say("Name"), "note.txt", max_chars=120)
        text = st.text_area(say("Text"), height=160)
        if st.form_submit_button(say("Add the text"), type="primary"):
            _add(knowledge, [(_free(knowledge, name.strip() or "note.txt"), text.encode())]
                 if text.strip() else [])
    with graph:
        _graph_file(knowledge)


def _graph_file(knowledge: KnowledgeGraph) -> None:
    """Upload a graph that exists, see what is in it, and add it."""
    uploads = st.file_uploader(
        say("A graph you already have: GraphML, GEXF, node-link JSON, a CSV of edges, or what GraphRAG "
            "and LightRAG wrote; 50 MB each"), GRAPH_ENDINGS, accept_multiple_files=True,
        key=f"graph{st.session_state.get('graphs', 0)}")
    st.caption(
        say("A CSV needs the columns source and target (or from and to, head and tail, subject and "
            "object); weight, label and description are optional. Choose files together that make one "
            "graph: tables of edges and nodes, GraphRAG's entities, relationships and text_units "
            ".parquet, or LightRAG's .graphml and kv_store_text_chunks.json."))
    if not uploads:
        return
    try:
        graph = _graph_in(tuple(u.getvalue() for u in uploads))
    except ParseError as error:
        st.warning(said(error))
        return
    st.markdown(plain(clean(graph.summary, 400)))
    for notice in graph.notices:
        st.caption(said(clean(notice, 400)))
    if st.button(say("Add the graph"), type="primary"):
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
        taken = {file.name for file in store.files.all()}
    return numbered(name, taken) if name in taken else name


def _add(knowledge: KnowledgeGraph, files: list[tuple[str, bytes]]) -> None:
    if not files:
        st.warning(say("There is nothing to add yet; choose a file or write some text first."))
        return
    said: list[str] = []
    files = [(file.name, file.read()) for file in told_apart(
        [Given(name, name, partial(bytes, data)) for name, data in files], said.append)]
    for sentence in said:
        st.toast(plain(sentence), duration="long")
    choice = choice_of(knowledge)
    if choice.model or choice.embedder:  # what costs money waits for its plan to be read
        with knowledge.store() as store:
            store.files.hold(files)
        return
    with knowledge.store() as store:
        enqueue(store, files)
    start(knowledge)
    st.toast(say("{files} taken in; the graph grows while passages are read.",
                 files=count(len(files), "file")))


def jobs_panel(knowledge: KnowledgeGraph) -> None:
    """The running and waiting work; polls while there is any."""
    with knowledge.store() as store:
        busy = bool(open_jobs(store))
    st.fragment(_jobs, run_every=1.0 if busy else None)(knowledge, busy)


def _jobs(knowledge: KnowledgeGraph, busy: bool) -> None:
    with knowledge.store() as store:
        waiting = open_jobs(store)
        orphaned = needs_worker(store)
        revision = store.graph.revision
        bars = [(job, *_bar(knowledge.path, store, job)) for job in waiting]
        last = next(iter(jobs(store, 1)), None)
        unfinished = last is not None and (
            last.state == "failed" or last.state == "cancelled" and store.graph.stale)
    if unfinished and last is not None:
        _go_on(knowledge, last)
    if orphaned:
        start(knowledge)
    for job, share, label in bars:
        bar, stop = st.columns([6, 1], vertical_alignment="center")
        bar.progress(share, plain(label))
        meter(knowledge, job.id)
        if job.error:
            st.warning(said(job.error))
        if job.state == "paused" and stop.button(say("Resume"), key=f"resume{job.id}"):
            start(knowledge)
        if stop.button(say("Cancel"), key=f"cancel{job.id}"):
            with knowledge.store() as store:
                cancel(store, job.id)
    if busy and (not waiting or revision != st.session_state.setdefault("seen", revision)):
        st.session_state["seen"] = revision
        st.rerun()


@st.cache_resource(max_entries=64, show_spinner=False)
def _pace(path: Path, job: int, stage: str) -> Pace:  # noqa: ARG001
    """The speed of a stage of a job, which all who look at it share."""
    return Pace()


def _bar(path: Path, store: Workspace, job: Job) -> tuple[float, str]:
    """How much of a job is done, 0 to 1, and its words: the file at work and the time left.

    Files are parsed one by one while passages are read: the bar is that of the passages, with
    those that are expected in the files not parsed yet.
    """
    if job.state != "running" or not job.stage:
        return 0.0, {"queued": "Waiting for the worker", "paused": "Paused"}.get(
            job.state, "Starting")
    reading = job.stage in ("parsing", "extracting")
    pace = _pace(path, job.id, "extracting" if reading else job.stage)
    total = count(job.total, _UNITS.get(job.stage, "passage"))
    if job.stage == "extracting":
        ahead = unparsed(store, job.id)
        pace.note(job.done, job.total + ahead)
        if 0 < ahead < float("inf"):
            # two digits: each file that is parsed would change the others
            total = say("about {passages}", passages=count(
                int(float(f"{job.total + ahead:.2g}")), "passage"))
    elif not reading:
        pace.note(job.done, job.total)
    left = f", {pace.left}" if pace.left else ""
    at_work = f" {clean(job.current, 80)}" if job.current else ""
    return pace.share, f"{job.stage.capitalize()}{at_work}: {job.done:,} of {total}{left}"


def _go_on(knowledge: KnowledgeGraph, job: Job) -> None:
    """Why the last job ended early, and the way to go on."""
    words, button = st.columns([6, 1], vertical_alignment="center")
    words.warning(plain(job.error or say("The last job was cancelled before the graph was up to date.")))
    if button.button(say("Go on"), key="go_on"):
        with knowledge.store() as store:
            go_on(store, job.id)
        start(knowledge)
        st.rerun()
