"""The Documents page: the files of the workspace, uploads, and the work on them."""

import streamlit as st

from qafd.app.documents.document import search, show_document
from qafd.app.documents.intake import intake
from qafd.app.documents.listing import documents_table
from qafd.app.documents.models import ledger, plan_card, reading_controls
from qafd.app.documents.work import jobs_panel
from qafd.app.pages import heading
from qafd.app.workspaces import workspace


def show() -> None:
    """Draw the page, or the document that the link names."""
    knowledge = workspace()
    heading("Documents", ("The files that the graph is built from. Add your own: they are read on this "
                          "machine unless you choose a language model."))
    search(knowledge)
    if show_document(knowledge):
        return
    top = st.container()
    intake(knowledge)
    reading_controls(knowledge)
    plan_card(knowledge)
    jobs_panel(knowledge, top)
    documents_table(knowledge)
    ledger(knowledge)
