"""Explore: a question, the subgraph that flow diffusion retrieves for it, and why."""

import streamlit as st

from qafd import ui

TABS = {"Answer": ui.answer_tab, "Why": ui.why_tab, "Paths": ui.paths_tab,
        "Passages": ui.passages_tab, "What if": ui.whatif_tab, "Contrast": ui.contrast_tab,
        "Table": ui.table_tab, "Certificate": ui.certificate_tab, "Code": ui.code_tab}

knowledge = ui.workspace()
question = ui.question_box(knowledge)

if not len(knowledge.graph):
    ui.empty_workspace(knowledge)
    st.stop()

method = ui.method_controls(knowledge)
drawing = ui.drawing_controls()

if not question.strip():
    ui.ask_something(knowledge)
    st.stop()

view = ui.explored(knowledge, question, method, ui.reader(knowledge, question))
picture, detail = st.columns([5, 2], gap="medium")
with picture:
    view = ui.layered(view)
    ui.status_line(view, ui.next_in(view))
    selected = ui.picture(view, drawing, ui.chosen_path(view))
with detail:
    ui.node_detail(view, selected)

for tab, draw in zip(st.tabs(list(TABS), key="tab", bind="query-params"), TABS.values(),
                     strict=True):
    if tab.open:
        with tab:
            draw(view)
