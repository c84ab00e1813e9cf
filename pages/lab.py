"""Lab: experiments on the diffusion behind a question, and on synthetic graphs."""

import streamlit as st

from qafd.ui.bounds import guarantees_tab, scale_tab
from qafd.ui.embeddings import embeddings_tab
from qafd.ui.explore import (
    ask_something,
    empty_workspace,
    explored,
    method_controls,
    question_box,
    status_line,
)
from qafd.ui.lab import gates_tab, movie_tab, robustness_tab, sweep_tab, timeline_tab
from qafd.ui.workspaces import workspace

ASKED = {"Sweep": sweep_tab, "Timeline": timeline_tab, "Movie": movie_tab,
         "Gates": gates_tab, "Robustness": robustness_tab}
TABS = [*ASKED, "Embeddings", "Guarantees", "Scale"]

knowledge = workspace()
question = question_box(knowledge)
view = None
if len(knowledge.graph):
    method = method_controls(knowledge)
    if question.strip():
        view = explored(knowledge, question, method)
        status_line(view)

for name, tab in zip(TABS, st.tabs(TABS, key="experiment", bind="query-params"), strict=True):
    if not tab.open:
        continue
    with tab:
        if name == "Embeddings":
            embeddings_tab(knowledge, view)
        elif name == "Guarantees":
            guarantees_tab()
        elif name == "Scale":
            scale_tab()
        elif view is not None:
            ASKED[name](view)
        elif len(knowledge.graph):
            ask_something(knowledge)
        else:
            empty_workspace(knowledge)
