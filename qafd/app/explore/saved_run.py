"""The button that saves the run that Explore shows."""

import streamlit as st

from qafd.app.pages import way
from qafd.app.picture import place_nodes
from qafd.app.result import View
from qafd.app.session import recall, session
from qafd.knowledge import KnowledgeGraph
from qafd.runs import NOTE, Run, list_runs, save_run
from qafd.runs.replay import record_run

KEPT = "kept run"


def run_shown(view: View, note: str = "") -> Run:
    """Build the run of a view, with the places of its nodes."""
    places = place_nodes(view)[0]
    return record_run(view.knowledge, view.retrieval, view.plan, graph=view.graph, note=note,
                    layout={n.id: places[n.id] for n in view.retrieval.nodes if n.id in places})


def keep_button(view: View) -> None:
    """Draw the button that saves the shown run, with an optional note."""
    shown = view.version, view.question, view.method
    box = st.popover("Save this run", icon=":material/bookmark_add:", type="tertiary",
                     key="keeping", on_change="rerun",
                     help="Save the question, its settings and this result in the history.")
    if not box.open:  # a folded form need not be sent with every move of the mass
        return
    with box:
        key = recall(KEPT, shown)
        if key is None or not _is_kept(view.knowledge, key):
            key = _form(view)
            if key is None:
                return
            session().computed[KEPT] = shown, key  # also where a deleted run was
        st.caption(":material/bookmark_added: Saved. It will not change.")
        way("runs", "See it in Runs", run=key)


def _form(view: View) -> str | None:
    """Draw the form of the note, and return the id of the run once it is saved."""
    place = st.empty()
    with place.form("keep", border=False):
        note = st.text_input("Note", max_chars=NOTE, placeholder="Note")
        if not st.form_submit_button("Save", type="primary"):
            return None
    place.empty()
    with view.knowledge.store() as store:
        return save_run(store, run_shown(view, note))


def _is_kept(knowledge: KnowledgeGraph, key: str) -> bool:
    """Return True if a run is still in the history."""
    with knowledge.store() as store:
        return any(row.id == key for row in list_runs(store))
