"""The Database page: a question to a SQLite file, the part of its schema that answers it, SQL and rows."""

import streamlit as st

from qafd.app.database.question import (
    asked_of,
    chosen_database,
    database_picture,
    method_controls,
    node_card,
    question_box,
    schema_tab,
    sql_tab,
    status_line,
)
from qafd.app.pages import draw_tabs, heading
from qafd.app.workspaces import workspace

TABS = {"SQL": sql_tab, "Schema": schema_tab}


def show() -> None:
    """Draw the page."""
    knowledge = workspace()
    heading("Database", "Find the tables and columns that a question needs, see why, and draft the SQL.")
    database = chosen_database()
    question = question_box(database)
    method = method_controls()
    if not question.strip():
        st.write("Ask a question to see which tables, columns and joins answer it.")
        schema_tab(knowledge, database, None)
        return
    asked = asked_of(database, question, method)
    left, right = st.columns([5, 2], gap="medium")
    with left:
        status_line(asked)
        selected = database_picture(asked)
    with right:
        node_card(asked, selected)
    draw_tabs(TABS, "dbtab", knowledge, database, asked)
