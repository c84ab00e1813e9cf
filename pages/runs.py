"""Runs: what was kept, one run drawn again as it was, and what differs between two."""

import streamlit as st

from qafd.ui.explore import drawing_controls
from qafd.ui.runs import history, many_runs, one_run, two_runs
from qafd.ui.workspaces import workspace

knowledge = workspace()
st.title("Runs")
st.caption("Runs that were kept, as they were: nothing is computed anew to show them.")
past = history(knowledge)

if past.chosen:
    drawing = drawing_controls()
    if len(past.chosen) == 1:
        one_run(past, drawing)
    elif len(past.chosen) == 2:
        two_runs(past, drawing)
    else:
        many_runs(past)
