"""Settings: which workspace, which language model, what made it, and how to empty it."""

import streamlit as st

from qafd import ui

knowledge = ui.workspace()
st.title("Settings")
ui.workspace_settings(knowledge)
ui.endpoint_settings()
ui.remake(knowledge)
ui.versions()
ui.wipe(knowledge)
