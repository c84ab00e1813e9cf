"""Documents: what the workspace holds, adding to it, and the work on it."""

import streamlit as st

from qafd.ui.document import opened
from qafd.ui.documents import intake, jobs_panel
from qafd.ui.listing import documents_table
from qafd.ui.models import ledger, plan_card, reading_controls
from qafd.ui.search import search
from qafd.ui.workspaces import workspace

knowledge = workspace()
st.title("Documents")
search(knowledge)
if opened(knowledge):
    st.stop()
intake(knowledge)
reading_controls(knowledge)
plan_card(knowledge)
jobs_panel(knowledge)
documents_table(knowledge)
ledger(knowledge)
