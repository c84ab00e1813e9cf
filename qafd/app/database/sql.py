"""The tabs of the Database page: SQL with its rows, and the schema."""

from dataclasses import replace

import streamlit as st

from qafd.app.database.question import rows_of
from qafd.app.escaping import brief, escape_sentence, plain
from qafd.app.pages import way
from qafd.app.provider import language_model, leaves_this_machine, preferences, why_no_model
from qafd.app.session import bound, exchange, put, put_next, value_of
from qafd.app.tables import columns_of, table
from qafd.errors import ModelError
from qafd.knowledge import KnowledgeGraph
from qafd.models import calls_of
from qafd.models.cost import tokens_of
from qafd.sql import box
from qafd.sql.database import Database, DatabaseQuestion
from qafd.sql.dialect import dialect_name
from qafd.sql.write import has_sql, read_sql, sql_messages, write_sql
from qafd.wording import count
from qafd.wording.databases import say_key

RAN = "ran"


def sql_tab(knowledge: KnowledgeGraph, database: Database, asked: DatabaseQuestion) -> None:
    """Draw the draft, or the model's SQL, to be edited and run."""
    draft = asked.draft
    drafted = exchange("drafted", "")
    if drafted != draft.sql and (drafted or "sql" not in st.query_params):
        put("sql", draft.sql)
    exchange("drafted", draft.sql)
    sql = st.text_area("SQL", **bound("sql"), height=190) or ""
    with st.container(horizontal=True, vertical_alignment="center"):
        if database.schema.has_rows and st.button("Run", type="primary",
                                                  icon=":material/play_arrow:"):
            put(RAN, (database.source, sql))
        st.button("Back to the draft", disabled=sql == draft.sql,
                  on_click=put, args=("sql", draft.sql))
        _model(knowledge, asked)
    if database.schema.has_rows:
        st.caption(f"Read-only: one SELECT, at most {box.SECONDS:g} s and 1,000 rows.")
    else:
        st.caption(f"SQL of {dialect_name(database.schema.dialect)}. Only the schema is known "
                    "here: copy it and run it where the rows are.")
    if value_of(RAN, None) == (database.source, sql):
        rows_of(database, sql, "rows")


def _model(knowledge: KnowledgeGraph, asked: DatabaseQuestion) -> None:
    """Draw the button that lets the model of the settings write the SQL."""
    model = language_model(knowledge.url, "sql", asked.plan.question)
    if model is None:
        st.caption(plain(why_no_model().partition(";")[0].rstrip(".")) + ".")
        way("settings", "Language models")
        return
    model = replace(model, accepts=has_sql)
    messages = sql_messages(asked)
    if st.button(f"Let {brief(model.name, 40)} write it"):
        try:
            with st.spinner("One call, or two if its SQL cannot be run"):
                put_next("sql", write_sql(asked, model))
        except ModelError as error:
            st.error(escape_sentence(f"{error} The draft needs no model."))
        else:
            st.rerun()
    about = f"{tokens_of(messages):,}"
    st.caption((f"About {about} tokens: the question and the retrieved part of the schema leave "
                "this machine, no rows.") if leaves_this_machine(preferences()) else
               (f"About {about} tokens: the question and the retrieved part of the schema are "
                "sent, no rows."))
    with st.popover("What it is sent"):
        st.code(messages[1].content, language=None, wrap_lines=True)
    known = model.find_stored(model.key(messages, None, calls_of(model).reply_tokens))
    if known is not None:
        st.caption(f"Written by {plain(model.name)} before, {known.tokens_in:,} + "
                    f"{known.tokens_out:,} tokens.")
        if read_sql(known.text) == value_of("sql", ""):
            st.caption("A model can be wrong: read the SQL before you trust its rows.")


def schema_tab(_: KnowledgeGraph, database: Database, asked: DatabaseQuestion | None) -> None:
    """Draw all tables with their columns, keys and row counts."""
    schema = database.schema
    found = asked.importance if asked else {}
    inferred = sum(join.inferred for join in schema.joins)
    words = (f"{count(len(schema.tables), 'table')}, {count(len(schema.columns), 'column')}, "
             f"{count(len(schema.joins) - inferred, 'declared reference')} and {inferred} inferred "
             "from names.")
    st.caption(f"{words} Retrieved ones are marked." if found else words)
    keys = {}
    for join in schema.joins:
        for label, other in join.pairs:
            keys[label] = say_key(other, join.inferred)
    rows = []
    for one in schema.tables:
        for column in one.columns:
            key = "primary" if column.key else keys.get(column.label, "")
            rows.append((one.name, column.name, column.label in found, column.type, key, one.rows,
                         ", ".join(column.values)))
    cells = columns_of(("table", "column", "retrieved", "type", "key", "rows", "values"), rows)
    if not asked:
        del cells["retrieved"]
    table(cells, height=420, column_config={"column": st.column_config.TextColumn(width=150),
                                            "key": st.column_config.TextColumn(width=190)})
