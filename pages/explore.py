"""Explore: a question, the subgraph that flow diffusion retrieves for it, and why."""

import streamlit as st

from qafd import ui

knowledge = ui.workspace()
question = ui.question_box(knowledge)
method = ui.method_controls(knowledge)
drawing = ui.drawing_controls()

if not len(knowledge.graph):
    ui.empty_workspace(knowledge)
    st.stop()

if not question.strip():
    ui.ask_something(knowledge)
    st.stop()

view = ui.explored(knowledge, question, method)
picture, detail = st.columns([5, 2], gap="medium")
with picture:
    ui.status_line(view)
    selected = ui.picture(view, drawing)
with detail:
    ui.node_detail(view, selected)

answer, passages, table, certificate, code = st.tabs(
    ["Answer", "Passages", "Table", "Certificate", "Code"], key="tab", bind="query-params")
with answer:
    ui.answer_tab(view)
with passages:
    ui.passages_tab(view)
with table:
    ui.table_tab(view)
with certificate:
    ui.certificate_tab(view)
with code:
    ui.code_tab(view)
