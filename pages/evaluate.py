"""Evaluate: which method finds what answers need, on questions that say what that is."""

import streamlit as st

from qafd.app.asking import empty_workspace
from qafd.app.evaluate import (
    chart,
    chosen_methods,
    measured,
    numbers,
    questions_table,
    verdict,
)
from qafd.app.evaluate.gold import question_set
from qafd.app.evaluate.judged import judged
from qafd.app.workspaces import workspace

knowledge = workspace()
st.title("Evaluate")

if not len(knowledge.graph):
    empty_workspace(knowledge)
    st.stop()

asked = question_set(knowledge)
methods = chosen_methods(knowledge)
if asked is None or not methods:
    st.stop()

result = measured(knowledge, asked, methods)
if result is None:
    st.stop()

measure = verdict(result)
chart(result, measure)
numbers(result, measure)
questions_table(result, knowledge, measure)
judged(result, knowledge, methods)
