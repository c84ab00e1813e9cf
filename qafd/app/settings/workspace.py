"""The Settings page: workspaces, rebuilding the graph, removal."""

import streamlit as st

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
from qafd.app.workspaces import choose, is_at_home, is_sample, names, new_workspace
from qafd.ingest.jobs import enqueue
from qafd.knowledge import KnowledgeGraph, list_questions
from qafd.samples import SAMPLES
from qafd.storage import remove_workspace, size_of
from qafd.wording import count
from qafd.wording.documents import say_reader


def workspace_settings(knowledge: KnowledgeGraph) -> None:
    """Show the place and size of the workspace, and make a new one."""
    st.header("Workspace", anchor=False)
    with knowledge.store() as store:
        files = sum(file.deleted_at is None for file in store.files.all())
        revision, extractor = store.graph.revision, store.log.extractor
        embedder, dimension = store.vectors.embedder
    size = (size_of(knowledge.url) or 0) / 1e6
    st.write(f"{count(files, 'file')}, graph revision {revision}, {size:.1f} MB")
    st.code(knowledge.place.written, language=None, wrap_lines=True)
    if embedder:
        st.caption(f"Read by {brief(say_reader(extractor))}. Embeddings: {brief(embedder)}, "
                    f"{dimension} dimensions.")
    else:
        st.caption("Nothing is read or embedded yet.")
    if asked := len(list_questions(knowledge)):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption((f"{count(asked, 'question')} saved for follow-ups. Everyone who uses this "
                        "workspace can ask them again."), width="content")
            if st.button("Forget them", type="tertiary", key="forget_questions"):
                with knowledge.store() as store:
                    forget_turns(store)
                st.rerun()
    new_workspace("new_workspace")


def remake(knowledge: KnowledgeGraph) -> None:
    """Rebuild the graph from stored replies, or with new vectors, as a job."""
    with knowledge.store() as store:
        if not store.files.all():
            return
    st.header("Graph", anchor=False)
    st.write("Rebuilding the graph and computing its vectors again keep your documents and "
              "what was read from them. Both run in the background, and the graph is empty "
              "until then.")
    now = choice_of(knowledge)
    options = embedders(now)
    at = st.selectbox("Embedding model", range(len(options)), options.index(now), key="embedder",
                      format_func=lambda i: embedder_name(options[i]),
                      help="Name another one under Language models.")
    embedding_plan(knowledge, options[at])
    with st.container(horizontal=True):
        rebuild = st.button("Rebuild the graph", key="rebuild",
                            help="Rebuild nodes and edges, as qafd index --rebuild does.")
        embed = st.button("Compute all vectors again", key="re_embed",
                          help=("With this embedding model, as qafd index --re-embed does. If it is "
                                "interrupted, progress is saved."))
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


def wipe(knowledge: KnowledgeGraph) -> None:
    """Empty or remove the workspace, after its name was typed."""
    name = knowledge.name
    own = is_at_home(knowledge) and name not in SAMPLES
    st.header("Wipe or remove" if own else "Wipe", anchor=False)
    st.write("Wiping removes all documents, uploads and the graph of this workspace for good"
             + ("; removing deletes its file too." if own else "."))
    typed = st.text_input("Type the name of the workspace to confirm", key="wipe_name",
                          placeholder=name)
    with st.container(horizontal=True):
        empty = st.button("Wipe this workspace", disabled=typed != name)
        delete = own and st.button("Remove this workspace", disabled=typed != name)
    if empty:
        with knowledge.store() as store:
            store.wipe()
        st.toast(f"Wiped {plain(name)}: it is empty.", duration="long")
        st.rerun()
    if delete:
        remove_workspace(knowledge.url)
        st.toast(f"Removed {plain(name)} for good.", duration="long")
        choose(names()[0])
        st.rerun()
    if is_sample(knowledge):
        st.write("You can restore the sample to its original state. What you added to it is deleted.")
        if st.button("Restore the sample", disabled=typed != name,
                     help="Type the name of the workspace above first."):
            remove_workspace(knowledge.url)
            st.toast(f"Restored the sample {plain(name)}.", duration="long")
            st.rerun()
