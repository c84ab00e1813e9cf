"""Explore: a question, the subgraph that flow diffusion retrieves for it, and why."""

import streamlit as st

from qafd.app.explore import (
    ask_something,
    drawing_controls,
    empty_workspace,
    ends_of,
    explored,
    method_controls,
    picture,
    question_box,
    status_line,
)
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
from qafd.app.pages import heading
from qafd.app.workspaces import workspace

TABS = {"Answer": answer_tab, "Why": why_tab, "Paths": paths_tab,
        "Passages": passages_tab, "What if": whatif_tab, "Contrast": contrast_tab,
        "Table": table_tab, "Certificate": certificate_tab, "Code": code_tab}

knowledge = workspace()
heading("Explore")
question = question_box(knowledge)

if not len(knowledge.graph):
    empty_workspace(knowledge)
    st.stop()

method = method_controls(knowledge, question)
drawing = drawing_controls()

if not question.strip():
    ask_something(knowledge)
    overview_map(knowledge, asking=True)
    st.stop()

view = explored(knowledge, question, method, reader(knowledge, question))
left, right = st.columns([5, 2], gap="medium")
with left:
    view = layered(view)
    status_line(view, next_in(view))
    selected = picture(view, drawing, chosen_path(view))
    keep_button(view)
with right, card():
    if ends := ends_of(selected, view, drawing.contract):
        edge_detail(view, ends, drawing.contract)
    else:
        node_detail(view, selected)

for tab, draw in zip(st.tabs(list(TABS), key="tab", bind="query-params"), TABS.values(),
                     strict=True):
    if tab.open:
        with tab:
            draw(view)
