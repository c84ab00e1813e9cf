"""Documents: what the workspace holds, adding to it, and the work on it."""

import streamlit as st

from qafd import ui

knowledge = ui.workspace()
st.title("Documents")
ui.intake(knowledge)
ui.reading_controls(knowledge)
ui.plan_card(knowledge)
ui.jobs_panel(knowledge)
ui.documents_table(knowledge)
ui.ledger(knowledge)
