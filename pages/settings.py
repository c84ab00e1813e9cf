"""Settings: which workspace, which language model, what made it, and how to empty it."""

import streamlit as st

from qafd.errors import StoreError
from qafd.knowledge import KnowledgeGraph
from qafd.ui.endpoint import endpoint_settings
from qafd.ui.settings import remake, versions, wipe, workspace_settings
from qafd.ui.shortcuts import keyboard_settings
from qafd.ui.signing import signing_settings
from qafd.ui.workspaces import path_of, said, workspace

st.title("Settings")
knowledge = KnowledgeGraph(path_of(st.session_state["ws"]))
try:
    knowledge = workspace()
    workspace_settings(knowledge)
    endpoint_settings()
    remake(knowledge)
except StoreError as error:
    # a damaged workspace can still be removed
    st.error(said(error), icon=":material/error:")
keyboard_settings()
signing_settings()
versions()
wipe(knowledge)
