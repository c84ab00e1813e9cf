"""Settings: which workspace, which language model, what made it, and how to empty it."""

import streamlit as st

from qafd.ui.endpoint import endpoint_settings
from qafd.ui.settings import remake, versions, wipe, workspace_settings
from qafd.ui.shortcuts import keyboard_settings
from qafd.ui.signing import signing_settings
from qafd.ui.workspaces import workspace

knowledge = workspace()
st.title("Settings")
workspace_settings(knowledge)
endpoint_settings()
remake(knowledge)
keyboard_settings()
signing_settings()
versions()
wipe(knowledge)
