"""Compare: what several retrieval methods bring for one question, side by side."""

import streamlit as st

from qafd import ui

TABS = {"Differences": ui.differences_tab, "Answers": ui.answers_tab,
        "Passages": ui.column_passages_tab, "Overlap": ui.overlap_tab, "Numbers": ui.numbers_tab}

knowledge = ui.workspace()
st.title("Compare")
st.caption("What eleven retrieval methods bring for the same question from the same graph. They "
           "are re-implementations of the papers' ideas.")
question = ui.question_box(knowledge)

if not len(knowledge.graph):
    ui.empty_workspace(knowledge)
    st.stop()

choice = ui.compare_controls(knowledge)
drawing = ui.drawing_controls()

if not question.strip():
    ui.ask_something(knowledge)
    st.stop()
if not ui.enough(choice):
    st.stop()

ui.ready(knowledge, choice)
sides = ui.compared(knowledge, question, choice)
selected = ui.compare_picture(sides, drawing)
ui.node_reasons(sides, selected)

for tab, draw in zip(st.tabs(list(TABS), key="view", bind="query-params"), TABS.values(),
                     strict=True):
    if tab.open:
        with tab:
            draw(sides)
