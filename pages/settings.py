"""Settings: which workspace, what made it, and how to empty it."""

import streamlit as st

from qafd import ui

knowledge = ui.workspace()
st.title("Settings")
ui.workspace_settings(knowledge)
ui.versions()
ui.wipe(knowledge)
