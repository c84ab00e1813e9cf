"""The Settings page: the workspace, language models, and removal."""

import streamlit as st

from qafd import __version__
from qafd.app.access import access_settings
from qafd.app.escaping import escape_sentence
from qafd.app.frame import keyboard_settings
from qafd.app.pages import heading
from qafd.app.session import WORKSPACE, value_of
from qafd.app.settings.endpoint import endpoint_settings
from qafd.app.settings.workspace import remake, wipe, workspace_settings
from qafd.app.workspaces import location_of, workspace
from qafd.errors import StoreError
from qafd.knowledge import KnowledgeGraph

GROUPS = ("Workspace", "Language models", "This app")


def show() -> None:
    """Draw the page."""
    heading("Settings", "The workspace, language models and what they may cost.")
    here, models, app = st.tabs(GROUPS, key="group", bind="query-params")
    knowledge = KnowledgeGraph(location_of(value_of(WORKSPACE, "")))
    try:
        knowledge = workspace()
        with here:
            workspace_settings(knowledge)
            remake(knowledge)
        with models:
            endpoint_settings()
    except StoreError as error:
        # a damaged workspace can still be removed
        st.error(escape_sentence(error), icon=":material/error:")
    with here:
        wipe(knowledge)
    with app:
        keyboard_settings()
        access_settings()
        st.caption(f"qafd {__version__}; `pip list` names the versions of its libraries.")
