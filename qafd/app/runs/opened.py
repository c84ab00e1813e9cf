"""A bundle that somebody sent, opened on the Runs page: checked, drawn, compared, asked again."""

import hashlib
from dataclasses import dataclass
from functools import partial

import streamlit as st

from qafd import runs
from qafd.app import markup
from qafd.app.escaping import brief, plain, said
from qafd.app.runs.drawn import compared, drawn, figures_of, made, question_of
from qafd.app.session import empty, forget, fresh_key, remember, session
from qafd.errors import QafdError
from qafd.knowledge import KnowledgeGraph
from qafd.runs import KeptRun, Run, bundle
from qafd.runs.bundle import Examined, check_size, examined
from qafd.runs.replay import replayed
from qafd.view.drawing import Drawing
from qafd.view.panel import clean
from qafd.wording.counts import count
from qafd.wording.findings import say_verification
from qafd.wording.runs import say_replay

UPLOAD = 50  # MB, as the app's configuration has it
VIEWS = ("As it was", "Compare with a kept run", "Ask again here")


@dataclass(frozen=True, eq=False)
class Sent:
    """An opened bundle; `key` names its bytes."""

    name: str
    key: str
    found: Examined


def open_bundle() -> Sent | None:
    """The bundle that is open in this session, or the box to drop one."""
    if session().bundle is not None:
        return session().bundle
    place = st.empty()
    key = fresh_key("bundle")
    dropped = st.session_state.get(key) is not None
    with place.container(), st.expander("Open a bundle", expanded=dropped):
        upload = st.file_uploader(
            "The .zip of a run that was sent to you", type="zip", key=key,
            help="Bundle on Explore and Runs writes such a file.")
        st.caption(
            f"At most {UPLOAD} MB, {bundle.LARGEST // 2**20} MB unpacked; "
             f"{bundle.NODES_DRAWN:,} nodes and {bundle.EDGES_DRAWN:,} edges. It is checked "
             "and drawn from its own numbers; nothing of it goes into the workspace unless "
             "you keep it.")
        if upload is None:
            return None
        try:
            data = upload.getvalue()
            found = examined(data)
            check_size(found.run.retrieval)
        except QafdError as error:
            st.error(said(error), icon=":material/error:")
            return None
    place.empty()
    sent = Sent(upload.name, hashlib.sha256(data).hexdigest()[:16], found)
    session().bundle = sent
    return sent


def bundle_view(sent: Sent, knowledge: KnowledgeGraph, drawing: Drawing) -> None:
    """All that can be done with an opened bundle."""
    run = sent.found.run
    question_of(run)
    if run.note:
        st.write(plain(clean(run.note, runs.NOTE)))
    figures_of(run)
    _here(run, knowledge)
    _verdict(sent)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button("Keep", icon=":material/bookmark_add:", disabled=not sent.found.keepable,
                  on_click=partial(_keep, knowledge, run),
                  help="Put it into the history of this workspace, as it is." if sent.found.keepable
                  else "What does not hold is not kept.")
        st.button("Close", icon=":material/close:", on_click=_close)
        st.caption(brief(sent.name))
    view = st.segmented_control("View", VIEWS, default=VIEWS[0], required=True,
                                label_visibility="collapsed", key="bundle_view")
    if view == VIEWS[1]:
        _beside_kept(sent, knowledge, drawing)
    elif view == VIEWS[2]:
        _asked_again(sent, knowledge, drawing)
    else:
        drawn(run, f"bundle-{sent.key}", drawing, sent.found.checked)


def _here(run: Run, knowledge: KnowledgeGraph) -> None:
    """How much of the run the present workspace has."""
    many = len(run.retrieved)
    here = many - len(run.missing_from(knowledge.graph))
    st.caption(f":material/folder_zip: From a bundle of {count(many, 'node')}; in this "
                f"workspace: {here:,}.")


def _verdict(sent: Sent) -> None:
    """What the check found, in words."""
    found = sent.found
    if found.sound:
        said, icon = "It holds.", ":material/verified:"
    elif found.keepable:
        said, icon = ("Its files are as they were written; it has no certificate, so its numbers "
                      "are not proved."), ":material/check:"
    else:
        said, icon = "It does not hold.", ":material/gpp_bad:"
    (st.write if found.keepable else st.error)(f"{icon} **{said}**")
    with st.expander("What was checked", expanded=not found.sound):
        st.html(markup.bullets(say_verification(found.checked)))
        st.caption("Checked without a solver, from the numbers in the file: that they agree "
                    "with each other and with their digests. Who made the file is not part "
                    "of it: anybody can write a bundle that agrees with itself.")


def _keep(knowledge: KnowledgeGraph, run: Run) -> None:
    with knowledge.store() as store:
        key = runs.keep(store, run)
    _close()
    st.query_params["run"] = key


def _close() -> None:
    session().bundle = None
    forget("bundle_view")
    empty("bundle")
    st.query_params.pop("node", None)


def _beside_kept(sent: Sent, knowledge: KnowledgeGraph, drawing: Drawing) -> None:
    with knowledge.store() as store:
        rows = runs.kept(store)
    if not rows:
        st.write("No run is kept in this workspace to compare it with; press *Keep this run* "
                  "on Explore to keep one.")
        return
    by_id = {row.id: row for row in rows}
    chosen = st.selectbox("Kept run", list(by_id), key="bundle_beside",
                          format_func=lambda key: _line(by_id[key]))
    with knowledge.store() as store:
        run = runs.load(store, chosen)
    compared((sent.found.run, run), f"bundle-{sent.key}-{chosen}", drawing,
             ("the bundle", f"kept here, {made(run.made_at)}"))


def _line(row: KeptRun) -> str:
    return clean(" · ".join(filter(None, [made(row.made_at), row.note, row.question])), 100)


def _asked_again(sent: Sent, knowledge: KnowledgeGraph, drawing: Drawing) -> None:
    if not len(knowledge.graph):
        st.write("This workspace is empty: there is nothing to ask. Choose another one at the "
                  "left, or add documents.")
        return
    asked = sent.key, knowledge.id, knowledge.version(knowledge.graph)
    with st.spinner("Asking again"):
        result = remember("bundle again", asked, lambda: replayed(sent.found.run, knowledge))
    compared((sent.found.run, result.run), f"again-{'-'.join(map(str, asked))}", drawing,
             ("the bundle", "asked again here"), say_replay(result))
