"""The button that keeps the run that Explore shows."""

import streamlit as st

from qafd.app.pages import way
from qafd.app.picture import placed
from qafd.app.result import View
from qafd.app.session import remember, remembered
from qafd.knowledge import KnowledgeGraph
from qafd.runs import NOTE, Run, keep
from qafd.runs.replay import recorded
from qafd.wording import say

KEPT = "kept run"


def run_shown(view: View, note: str = "") -> Run:
    """The run that the page shows, with the places of its nodes."""
    places = placed(view)[0]
    return recorded(view.knowledge, view.retrieval, view.plan, graph=view.graph, note=note,
                    layout={n.id: places[n.id] for n in view.retrieval.nodes if n.id in places})


def keep_button(view: View) -> None:
    """Keep what is shown, with a note if one is typed."""
    shown = view.version, view.question, view.method
    box = st.popover(say("Keep this run"), icon=":material/bookmark_add:", type="tertiary",
                     key="keeping", on_change="rerun",
                     help=say("Put the question, its settings and this result into the history."))
    if not box.open:  # what is folded need not be sent with every move of the mass
        return
    with box:
        with st.form("keep", border=False, clear_on_submit=True):
            note = st.text_input(say("Note"), max_chars=NOTE,
                                 placeholder=say("What is it for?"))
            if st.form_submit_button(say("Keep"), type="primary"):
                remember(KEPT, shown, lambda: _keep(view.knowledge, run_shown(view, note)))
        key = remembered(KEPT, shown)
        if key is not None:
            st.caption(say(":material/bookmark_added: Kept. Nothing of it will change."))
            way("runs", say("See it in Runs"), run=key)


def _keep(knowledge: KnowledgeGraph, run: Run) -> str:
    with knowledge.store() as store:
        return keep(store, run)
