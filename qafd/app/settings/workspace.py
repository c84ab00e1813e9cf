"""The Settings page: workspaces, making the graph anew, versions, wiping."""

import platform
import sqlite3
from importlib.metadata import version

import streamlit as st

from qafd import __version__
from qafd.answer.conversation import forget_turns
from qafd.app.documents.models import (
    choice_of,
    embedder_name,
    embedders,
    embedding_plan,
    start,
    use_embedder,
)
from qafd.app.documents.work import jobs_panel
from qafd.app.escaping import brief, plain
from qafd.app.tables import table
from qafd.app.workspaces import choose, is_at_home, is_sample, names, new_workspace
from qafd.ingest.jobs import enqueue
from qafd.knowledge import KnowledgeGraph
from qafd.samples import SAMPLES
from qafd.storage import remove_workspace, size_of
from qafd.wording import say
from qafd.wording.counts import count
from qafd.wording.models import say_reader

LIBRARIES = ("streamlit", "numpy", "scipy", "networkx", "sqlite-utils", "spacy", "onnxruntime",
             "pyvis", "plotly", "openai")


def workspace_settings(knowledge: KnowledgeGraph) -> None:
    """Where the workspace is, and making a new one."""
    st.header(say("Workspace"), anchor=False)
    with knowledge.store() as store:
        files = sum(file.deleted_at is None for file in store.files.all())
        revision, extractor = store.graph.revision, store.log.extractor
        embedder, dimension = store.vectors.embedder
    size = (size_of(knowledge.url) or 0) / 1e6
    st.write(say("{files}, graph revision {revision}, {size} MB", files=count(files, "file"),
                 revision=revision, size=f"{size:.1f}"))
    st.code(knowledge.place.written, language=None, wrap_lines=True)
    if embedder:
        st.caption(say("Read by {extractor}. Embeddings: {embedder}, {dimension} dimensions.",
                       extractor=brief(say_reader(extractor)), dimension=dimension,
                       embedder=brief(embedder)))
    else:
        st.caption(say("Nothing is read or embedded yet."))
    if asked := len(knowledge.questions):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(say("{questions} kept, for follow-ups and to be asked again by all who use this "
                           "workspace.",
                           questions=count(asked, "question")), width="content")
            if st.button(say("Forget them"), type="tertiary", key="forget_questions"):
                with knowledge.store() as store:
                    forget_turns(store)
                st.rerun()
    new_workspace("new_workspace")


def remake(knowledge: KnowledgeGraph) -> None:
    """Make the graph anew from what was read, or with new vectors, as a job."""
    with knowledge.store() as store:
        if not store.files.all():
            return
    st.header(say("Graph"), anchor=False)
    st.write(say("Rebuilding the graph and computing its vectors anew keep your documents and what was "
                 "read from them. Both run in the background, and the graph is empty until then."))
    now = choice_of(knowledge)
    options = embedders(now)
    at = st.selectbox(say("Embedding model"), range(len(options)), options.index(now), key="embedder",
                      format_func=lambda i: embedder_name(options[i]),
                      help=say("Another one is named above, under Language models."))
    embedding_plan(knowledge, options[at])
    with st.container(horizontal=True):
        rebuild = st.button(say("Rebuild the graph"), key="rebuild",
                            help=say("Makes nodes and edges anew, as qafd index --rebuild does."))
        embed = st.button(say("Compute all vectors anew"), key="re_embed",
                          help=say("With this embedding model, as qafd index --re-embed does. What "
                              "is computed is kept if it is interrupted."))
    if embed:
        use_embedder(knowledge, options[at])
    if rebuild or embed:
        with knowledge.store() as store, store.transaction():
            if embed:
                store.vectors.forget()
            store.assembly.drop()
            enqueue(store)
        start(knowledge)
    jobs_panel(knowledge)


def versions() -> None:
    """What to name in a report."""
    st.header(say("Versions"), anchor=False)
    rows = {"qafd": __version__, "Python": platform.python_version(),
            "SQLite": sqlite3.sqlite_version} | {name: version(name) for name in LIBRARIES}
    with st.expander(say("qafd {version} on Python {python_version}", version=__version__,
                         python_version=platform.python_version())):
        table({"what": rows, "version": rows.values()})


def wipe(knowledge: KnowledgeGraph) -> None:
    """Empty or remove the workspace, after its name was typed."""
    name = knowledge.name
    own = is_at_home(knowledge) and name not in SAMPLES
    st.header(say("Wipe or remove") if own else say("Wipe"), anchor=False)
    st.write(say("Wiping removes all documents, uploads and the graph of this workspace for good")
             + (say("; removing deletes its file too.") if own else "."))
    typed = st.text_input(say("Type the name of the workspace to confirm"), key="wipe_name",
                          placeholder=name)
    with st.container(horizontal=True):
        empty = st.button(say("Wipe this workspace"), disabled=typed != name)
        delete = own and st.button(say("Remove this workspace"), disabled=typed != name)
    if empty:
        knowledge.wipe()
        st.toast(say("Wiped {name}: it is empty.", name=plain(name)), duration="long")
        st.rerun()
    if delete:
        remove_workspace(knowledge.url)
        st.toast(say("Removed {removed} for good.", removed=plain(name)), duration="long")
        choose(names()[0])
        st.rerun()
    if is_sample(knowledge):
        st.write(say("The sample can be made as it was bundled; what you added to it is gone then."))
        if st.button(say("Restore the sample"), disabled=typed != name,
                     help=say("Type the name of the workspace above first.")):
            remove_workspace(knowledge.url)
            st.toast(say("The sample {name} is as it was bundled.", name=plain(name)), duration="long")
            st.rerun()
