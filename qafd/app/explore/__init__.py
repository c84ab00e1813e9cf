"""The Explore page: a question, the subgraph that flow diffusion retrieves for it, and why."""

import streamlit as st

from qafd.app.asking import ask_something, empty_workspace, question_box
from qafd.app.explore.answer import answer_tab
from qafd.app.explore.contrast import contrast_tab
from qafd.app.explore.edge import edge_detail
from qafd.app.explore.explained import next_in
from qafd.app.explore.keeping import keep_button
from qafd.app.explore.node import card, node_detail
from qafd.app.explore.overview import overview_map
from qafd.app.explore.paths import chosen_path, paths_tab
from qafd.app.explore.reading import layered, reader
from qafd.app.explore.tabs import certificate_tab, code_tab, passages_tab, table_tab
from qafd.app.explore.whatif import whatif_tab
from qafd.app.explore.why import why_tab
from qafd.app.pages import draw_tabs, heading
from qafd.app.picture import drawing_controls, ends_of, picture
from qafd.app.result import explored, method_controls, status_line
from qafd.app.workspaces import workspace
from qafd.wording import say

TABS = {"Answer": answer_tab, "Why": why_tab, "Paths": paths_tab,
        "Passages": passages_tab, "What if": whatif_tab, "Contrast": contrast_tab,
        "Table": table_tab, "Certificate": certificate_tab, "Code": code_tab}


def show() -> None:
    """Draw the page."""
    knowledge = workspace()
    heading(say("Explore"), say("Ask your documents, and see which part of their graph answers, "
                                "and why."))
    question = question_box(knowledge)
    if not len(knowledge.graph):
        empty_workspace(knowledge)
        return
    left, right = st.columns([5, 2], gap="medium")
    with left:
        upon = st.container(gap="small")
    method = method_controls(knowledge, question, upon)
    drawing = drawing_controls()
    if not question.strip():
        ask_something(knowledge)
        overview_map(knowledge, asking=True)
        return
    view = explored(knowledge, question, method, reader(knowledge, question))
    with upon:
        view = layered(view)
        status_line(view, next_in(view))
    with left:
        selected = picture(view, drawing, chosen_path(view))
        keep_button(view)
    with right, card():
        ends = ends_of(selected, view, drawing.contract)
        if ends:
            edge_detail(view, ends, drawing.contract)
        else:
            node_detail(view, selected)
    draw_tabs(TABS, "tab", view)
