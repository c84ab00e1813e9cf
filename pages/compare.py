"""Compare: what several retrieval methods bring for one question, side by side."""

import streamlit as st

from qafd.app.asking import ask_something, empty_workspace, question_box
from qafd.app.compare import compare_controls, compare_picture, compared, enough, ready
from qafd.app.compare.columns import (
    answers_tab,
    column_passages_tab,
    differences_tab,
    node_reasons,
    numbers_tab,
    overlap_tab,
    table_tab,
)
from qafd.app.pages import heading
from qafd.app.picture import drawing_controls
from qafd.app.workspaces import workspace

TABS = {"Differences": differences_tab, "Answers": answers_tab,
        "Passages": column_passages_tab, "Overlap": overlap_tab, "Numbers": numbers_tab,
        "Table": table_tab}

knowledge = workspace()
heading("Compare")
st.caption("What twelve retrieval methods bring for the same question from the same graph. They "
           "are re-implementations of the papers' ideas.")
question = question_box(knowledge)

if not len(knowledge.graph):
    empty_workspace(knowledge)
    st.stop()

choice = compare_controls(knowledge, question)
drawing = drawing_controls()

if not question.strip():
    ask_something(knowledge)
    st.stop()
if not enough(choice):
    st.stop()

ready(knowledge, choice)
sides = compared(knowledge, question, choice)
selected = compare_picture(sides, drawing)
node_reasons(sides, selected)

for tab, draw in zip(st.tabs(list(TABS), key="view", bind="query-params"), TABS.values(),
                     strict=True):
    if tab.open:
        with tab:
            draw(sides)
