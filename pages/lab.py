"""Lab: experiments on the diffusion behind a question, and on synthetic graphs."""

import streamlit as st

from qafd import ui

ASKED = {"Sweep": ui.sweep_tab, "Timeline": ui.timeline_tab, "Movie": ui.movie_tab,
         "Gates": ui.gates_tab, "Robustness": ui.robustness_tab}
TABS = [*ASKED, "Embeddings", "Guarantees", "Scale"]

knowledge = ui.workspace()
question = ui.question_box(knowledge)
view = None
if len(knowledge.graph):
    method = ui.method_controls(knowledge)
    if question.strip():
        view = ui.explored(knowledge, question, method)
        ui.status_line(view)

for name, tab in zip(TABS, st.tabs(TABS, key="experiment", bind="query-params"), strict=True):
    if not tab.open:
        continue
    with tab:
        if name == "Embeddings":
            ui.embeddings_tab(knowledge, view)
        elif name == "Guarantees":
            ui.guarantees_tab()
        elif name == "Scale":
            ui.scale_tab()
        elif view is not None:
            ASKED[name](view)
        elif len(knowledge.graph):
            ui.ask_something(knowledge)
        else:
            ui.empty_workspace(knowledge)
