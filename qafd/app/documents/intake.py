"""Adding to the documents: files, folders, text and graphs."""

from functools import partial
from pathlib import PurePosixPath

import streamlit as st

from qafd.app.documents.models import choice_of, start
from qafd.app.escaping import brief, escape_sentence, plain
from qafd.app.provider import keys
from qafd.app.session import empty, fresh_key
from qafd.app.workspaces import is_sample, new_workspace
from qafd.errors import ParseError
from qafd.ingest.folders import Given, number_name, told_apart
from qafd.ingest.imports import GRAPH_ENDINGS, ImportedGraph, name_of, note_missing
from qafd.ingest.jobs import enqueue
from qafd.knowledge import KnowledgeGraph
from qafd.reading.parsing import ENDINGS, parse_graph
from qafd.storage.rows import clean_name
from qafd.view.panel import clean
from qafd.wording import count, join_words

MANY = 6  # names that a sentence has at most


def intake(knowledge: KnowledgeGraph) -> None:
    """Upload files, a folder or a graph, or paste text."""
    if is_sample(knowledge):
        with st.container(border=True):
            st.markdown(plain(f"{knowledge.name} is a sample: what you add here becomes part "
                               "of your copy of it. Make a workspace for your own documents:"))
            new_workspace("own_workspace")
    files, folder, paste, graph = st.tabs(["Files", "Folder", "Paste text", "Graph file"])
    with files:
        uploads = st.file_uploader(
            ("Text, Markdown, reStructuredText, HTML, PDF, Word, Excel, PowerPoint, CSV, JSON, "
             "JSON lines, EPUB, mails and mailboxes, GraphML, GEXF; 50 MB each. Reading starts at once."),
            # Other kinds are refused by the reader with a reason; the uploader's own would vanish with it.
            accept_multiple_files=True, key=fresh_key("files"))
        _take_in(knowledge, "files", [(PurePosixPath(u.name).name, u.getvalue()) for u in uploads])
    with folder:
        uploads = st.file_uploader(
            "A folder with all its files; unknown kinds are left out. Reading starts at once.",
            ENDINGS, accept_multiple_files="directory", key=fresh_key("folder"))
        _take_in(knowledge, "folder", [(u.name, u.getvalue()) for u in uploads])
    with paste, st.form("paste", clear_on_submit=True, border=False):
        name = st.text_input("Name", "note.txt", max_chars=120)
        text = st.text_area("Text", height=160)
        if st.form_submit_button("Add the text", type="primary"):
            _add(knowledge, [(_free(knowledge, name.strip() or "note.txt"), text.encode())]
                 if text.strip() else [])
    with graph:
        _graph_file(knowledge)


def _take_in(knowledge: KnowledgeGraph, key: str, files: list[tuple[str, bytes]]) -> None:
    """Add the dropped files, and empty the uploader so that they are not added twice."""
    if files:
        _add(knowledge, files)
        empty(key)
        st.rerun()


def _graph_file(knowledge: KnowledgeGraph) -> None:
    """Upload a graph, list its contents, and add it."""
    uploads = st.file_uploader(
        ("A graph you already have: GraphML, GEXF, node-link JSON, a CSV of edges, or what "
         "GraphRAG and LightRAG wrote; 50 MB each"), GRAPH_ENDINGS, accept_multiple_files=True,
        key=fresh_key("graph"))
    st.caption(
        "A CSV needs the columns source and target (or from and to, head and tail, subject "
         "and object); weight, label and description are optional. Choose files together "
         "that make one graph: tables of edges and nodes, GraphRAG's entities, "
         "relationships and text_units (Parquet, JSON lines, JSON or CSV), or LightRAG's .graphml "
         "and kv_store_text_chunks.json.")
    if not uploads:
        return
    try:
        graph = _graph_in(tuple(u.getvalue() for u in uploads))
    except ParseError as error:
        st.warning(escape_sentence(error))
        return
    graph = note_missing([u.name for u in uploads], graph)
    st.markdown(brief(graph.summary, 400))
    for notice in graph.notices:
        st.caption(escape_sentence(clean(notice, 400)))
    if st.button("Add the graph", type="primary"):
        _add(knowledge, [(name_of([PurePosixPath(u.name) for u in uploads]), graph.to_json())])
        empty("graph")  # so that it is not offered twice
        st.rerun()


@st.cache_data(max_entries=2, show_spinner="Reading the graph")
def _graph_in(files: tuple[bytes, ...]) -> ImportedGraph:
    return parse_graph(files)


def _free(knowledge: KnowledgeGraph, name: str) -> str:
    """Return the name, numbered if a file has it: pasted text never replaces anything."""
    name = clean_name(name)
    with knowledge.store() as store:
        taken = {file.name for file in store.files.all()}
    return number_name(name, taken) if name in taken else name


def _leave_out_twins(knowledge: KnowledgeGraph, files: list[tuple[str, bytes]],
                     sentences: list[str]) -> list[tuple[str, bytes]]:
    """Return the files whose bytes the workspace does not have under another name, and report the others."""
    first: dict[bytes, str] = {}
    new = []
    with knowledge.store() as store:
        for name, data in files:
            twin = store.files.find_twin(name, data) or first.setdefault(data, name)
            if twin == name:
                new.append((name, data))
            else:
                sentences.append(f"{clean(name, 80)} has the content of {clean(twin, 80)}; not added twice.")
    return new


def _add(knowledge: KnowledgeGraph, files: list[tuple[str, bytes]]) -> None:
    if not files:
        st.warning("There is nothing to add yet. Choose a file of at most 50 MB, or write some text.")
        return
    sentences: list[str] = []
    given = [Given(name, name, partial(bytes, data)) for name, data in files]
    files = [(file.name, file.read()) for file in told_apart(given, sentences.append)]
    files = _leave_out_twins(knowledge, files, sentences)
    with knowledge.store() as store:
        taken = {file.name for file in store.files.all() if file.deleted_at is None}
    if again := sorted(taken.intersection(clean_name(name) for name, _ in files)):
        listed = join_words([clean(name, 80) for name in again[:MANY]])
        sentences.append(f"Replaced by the files you added: {listed}. To keep both, add the new file under "
                         "another name.")
    for sentence in sentences:
        st.toast(plain(sentence), duration="long")
    if not files:
        return
    choice = choice_of(knowledge)
    if choice.model or choice.embedder:  # what costs money waits for its plan to be read
        with knowledge.store() as store:
            store.files.hold(files)
        return
    with knowledge.store() as store:
        enqueue(store, files, keys=keys())
    start(knowledge)
    st.toast(f"{count(len(files), 'file')} added. The graph grows while passages are read.")
