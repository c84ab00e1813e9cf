"""The Settings page: workspaces, making the graph anew, versions, wiping."""

import platform
import sqlite3
from importlib.metadata import version

import streamlit as st

from qafd import __version__
from qafd.app.documents import jobs_panel
from qafd.app.documents.models import (
    choice_of,
    embedder_name,
    embedders,
    embedding_plan,
    start,
    use_embedder,
)
from qafd.app.escaping import plain
from qafd.app.home import home
from qafd.app.pages import page
from qafd.app.session import session
from qafd.app.workspaces import choose, is_sample, named_file, names, new_workspace
from qafd.ingest.jobs import enqueue
from qafd.knowledge import KnowledgeGraph
from qafd.samples import SAMPLES
from qafd.storage import remove_workspace
from qafd.view.panel import clean, counted

LIBRARIES = ("streamlit", "numpy", "scipy", "networkx", "sqlite-utils", "spacy", "onnxruntime",
             "pyvis", "plotly", "openai")


def workspace_settings(knowledge: KnowledgeGraph) -> None:
    """Where the workspace is, and making a new one."""
    st.subheader("Workspace")
    with knowledge.store() as store:
        files = sum(file.deleted_at is None for file in store.files.all())
        revision, extractor = store.graph.revision, store.log.extractor
        embedder, dimension = store.vectors.embedder
    size = knowledge.path.stat().st_size / 1e6
    st.write(f"{counted(files, 'file')}, graph revision {revision}, {size:.1f} MB")
    st.code(str(knowledge.path), language=None)
    st.caption(f"Entities: {plain(clean(extractor, 80)) or 'none yet'}. Embeddings: "
               + plain(f"{clean(embedder, 80)}, {dimension} dimensions." if embedder else
                       "none yet."))
    new_workspace("new_workspace")
    if removed := session().removed:
        session().removed = ""
        st.success(f"Removed {plain(removed)} for good.")
    if not files and session().created == knowledge.path.stem:
        st.success(f"Made {plain(knowledge.path.stem)}; it is the chosen workspace.")
        st.page_link(page("documents"), label="Add documents", icon=":material/upload_file:")


def remake(knowledge: KnowledgeGraph) -> None:
    """Make the graph anew from what was read, or with new vectors, as a job."""
    with knowledge.store() as store:
        if not store.files.all():
            return
    st.subheader("Graph")
    st.write("Both keep your documents and what was read from them. They run in the background, "
             "and the graph is empty until they are done.")
    now = choice_of(knowledge)
    options = embedders(now)
    at = st.selectbox("Embedding model", range(len(options)), options.index(now), key="embedder",
                      format_func=lambda i: embedder_name(options[i]),
                      help="Another one is named above, under Language models.")
    embedding_plan(knowledge, options[at])
    with st.container(horizontal=True):
        rebuild = st.button("Rebuild the graph", key="rebuild",
                            help="Makes nodes and edges anew, as qafd index --rebuild does.")
        embed = st.button("Compute all vectors anew", key="re_embed",
                          help="With this embedding model, as qafd index --re-embed does. What "
                          "is computed is kept if it is interrupted.")
    if embed:
        use_embedder(knowledge, options[at])
    if rebuild or embed:
        with knowledge.store() as store, store.transaction():
            if embed:
                store.vectors.forget()
            store.graph.drop()
            enqueue(store)
        start(knowledge)
    jobs_panel(knowledge)


def versions() -> None:
    """What to name in a report."""
    st.subheader("Versions")
    rows = {"qafd": __version__, "Python": platform.python_version(),
            "SQLite": sqlite3.sqlite_version} | {name: version(name) for name in LIBRARIES}
    with st.expander(f"qafd {__version__} on Python {platform.python_version()}"):
        st.dataframe({"what": list(rows), "version": list(rows.values())}, hide_index=True)


def wipe(knowledge: KnowledgeGraph) -> None:
    """Empty or remove the workspace, after its name was typed."""
    name = knowledge.path.stem
    at_home = knowledge.path == home() / f"{name}.db"
    own = at_home and name not in SAMPLES and knowledge.path != named_file()
    st.subheader("Wipe or remove" if own else "Wipe")
    st.write("Wiping removes all documents, uploads and the graph of this workspace for good"
             + ("; removing deletes its file too." if own else "."))
    typed = st.text_input("Type the name of the workspace to confirm", key="wipe_name",
                          placeholder=name)
    with st.container(horizontal=True):
        empty = st.button("Wipe this workspace", disabled=typed != name)
        delete = own and st.button("Remove this workspace", disabled=typed != name)
    if empty:
        knowledge.wipe()
        st.rerun()
    if delete:
        remove_workspace(knowledge.path)
        session().removed = name
        choose(names()[0])
        st.rerun()
    if is_sample(knowledge.path) and st.button(
            "Restore the sample", help="As it was bundled; what you added to it is gone."):
        remove_workspace(knowledge.path)
        st.rerun()
