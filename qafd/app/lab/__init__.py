"""The Lab page: experiments on the diffusion behind a question, and on random graphs."""

import streamlit as st

from qafd.app.asking import ask_something, empty_workspace, question_box
from qafd.app.lab.experiments import (
    family_tab,
    guarantees_tab,
    robustness_tab,
    sweep_tab,
    timeline_tab,
)
from qafd.app.pages import heading
from qafd.app.result import explore_question, method_controls, reading_note, status_line
from qafd.app.session import keep_linked
from qafd.app.workspaces import workspace

ASKED = {"Sweep": sweep_tab, "Timeline": timeline_tab, "Robustness": robustness_tab,
         "Family": family_tab}
ALONE = "Guarantees"  # draws its own graphs: no question and no control of the diffusion acts on them


def show() -> None:
    """Draw the page."""
    knowledge = workspace()
    heading("Lab", "Experiments on the diffusion behind a question, and on random graphs.")
    above = st.container()
    titles = [*ASKED, ALONE]
    tabs = dict(zip(titles, st.tabs(titles, key="experiment", bind="query-params"), strict=True))
    name = next(name for name, tab in tabs.items() if tab.open)
    if name == ALONE:
        keep_linked("q")
        with tabs[name]:
            guarantees_tab()
        return
    view = None
    with above:
        question = question_box(knowledge)
        if len(knowledge.graph):
            method = method_controls(knowledge)
            if question.strip():
                view = explore_question(knowledge, question, method)
                reading_note(view)
                status_line(view)
    with tabs[name]:
        if view is not None:
            ASKED[name](view)
        elif len(knowledge.graph):
            ask_something(knowledge)
        else:
            empty_workspace(knowledge)
