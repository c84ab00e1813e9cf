"""Evaluate: which method finds the passages that answers need, on questions that say which."""

import streamlit as st

from qafd import ui

knowledge = ui.workspace()
st.title("Evaluate")

if not len(knowledge.graph):
    ui.empty_workspace(knowledge)
    st.stop()

asked = ui.question_set(knowledge)
methods = ui.chosen_methods(knowledge)
if asked is None or not methods:
    st.stop()

result = ui.measured(knowledge, asked, methods)
if result is None:
    st.stop()

ui.verdict(result)
ui.numbers(result)
ui.recall_chart(result)
ui.questions_table(result, knowledge)
