"""The tabs of the Database page: SQL and its rows, why, the schema, and the certificate."""

from dataclasses import replace

import streamlit as st

from qafd.app.database.chosen import why_line
from qafd.app.database.rows import rows_of
from qafd.app.escaping import brief, plain, said
from qafd.app.explore.explained import node_choice
from qafd.app.explore.tabs import proof
from qafd.app.explore.why import seeds_and_ways
from qafd.app.pages import way
from qafd.app.provider import language_model, leaves_this_machine, preferences, why_no_model
from qafd.app.session import bound, exchange, put, put_next, session, value_of
from qafd.app.tables import columns_of, table
from qafd.errors import ModelError
from qafd.knowledge import KnowledgeGraph
from qafd.models.cost import Metered, tokens_of
from qafd.models.instructions import instructions_of
from qafd.sql import box
from qafd.sql.database import Database, DatabaseQuestion
from qafd.sql.dialect import dialect_name
from qafd.sql.plan import choose_seeds, seed_messages
from qafd.sql.write import has_sql, read_sql, sql_messages, write_sql
from qafd.wording import say
from qafd.wording.counts import count
from qafd.wording.databases import say_key

RAN = "ran"


def sql_tab(knowledge: KnowledgeGraph, database: Database, asked: DatabaseQuestion) -> None:
    """The draft, or what a model wrote, to be edited and run."""
    draft = asked.draft
    drafted = exchange("drafted", "")
    if drafted != draft.sql and (drafted or "sql" not in st.query_params):
        put("sql", draft.sql)
    exchange("drafted", draft.sql)
    sql = st.text_area(say("SQL"), **bound("sql"), height=190) or ""
    with st.container(horizontal=True, vertical_alignment="center"):
        if database.schema.has_rows and st.button(say("Run"), type="primary",
                                                  icon=":material/play_arrow:"):
            put(RAN, (database.source, sql))
        st.button(say("Back to the draft"), disabled=sql == draft.sql,
                  on_click=put, args=("sql", draft.sql))
        _model(knowledge, asked)
    if database.schema.has_rows:
        st.caption(say("Read-only: one SELECT, at most {SECONDS} s and 1,000 rows.",
                       SECONDS=f"{box.SECONDS:g}"))
    else:
        st.caption(say("SQL of {dialect}. Only the schema is known here: copy it and run it where the rows "
                       "are.", dialect=dialect_name(database.schema.dialect)))
    if value_of(RAN, None) == (database.source, sql):
        rows_of(database, sql, "rows")


def _model(knowledge: KnowledgeGraph, asked: DatabaseQuestion) -> None:
    """The button that lets the model of the settings write the SQL."""
    model = language_model(knowledge.url, "sql", asked.plan.question)
    if model is None:
        st.caption(plain(why_no_model().partition(";")[0].rstrip(".")) + ".")
        way("settings", say("Language models"))
        return
    _seeds(asked, model)
    model = replace(model, accepts=has_sql)
    told = instructions_of(model)
    messages = sql_messages(asked, told.prompt("sql"))
    if st.button(say("Let {name} write it", name=brief(model.name, 40))):
        try:
            with st.spinner(say("One call, or two if its SQL cannot be run")):
                put_next("sql", write_sql(asked, model))
        except ModelError as error:
            st.error(said(say("{error} The draft needs no model.", error=error)))
        else:
            st.rerun()
    about = f"{tokens_of(messages):,}"
    st.caption(say("About {tokens} tokens: the question and the retrieved part of the schema leave this "
                   "machine, no rows.", tokens=about) if leaves_this_machine(preferences()) else
               say("About {tokens} tokens: the question and the retrieved part of the schema are sent, "
                   "no rows.", tokens=about))
    with st.popover(say("What it is sent")):
        st.code(messages[1].content, language=None, wrap_lines=True)
    known = model.stored(model.key(messages, None, told.calls.sql_tokens))
    if known is not None:
        st.caption(say("Written by {name} before, {tokens_in} + "
                       "{tokens_out} tokens.", name=plain(model.name),
                       tokens_in=f"{known.tokens_in:,}", tokens_out=f"{known.tokens_out:,}"))
        if read_sql(known.text) == value_of("sql", ""):
            st.caption(say("A model can be wrong: read the SQL before you trust its rows."))


def _seeds(asked: DatabaseQuestion, model: Metered) -> None:
    """The button that lets the model choose where the diffusion starts, Prompt 5 of the paper."""
    chosen = session().chosen_seeds
    key = (asked.database.source, asked.plan.question)
    if key in chosen:
        if st.button(say("Seeds by rules again"), help=say("{name} chose the seeds.",
                                                           name=brief(model.name, 40))):
            del chosen[key]
            st.rerun()
        return
    messages = seed_messages(asked.plan.question, asked.database.schema,
                             instructions_of(model).prompt("seeds"))
    about = say("About {tokens} tokens: it is shown all tables and columns, and names the parts of the "
                "question and where their diffusions start.", tokens=f"{tokens_of(messages):,}")
    if st.button(say("Let it choose the seeds"), help=about):
        try:
            with st.spinner(say("One call")):
                chosen[key] = choose_seeds(asked.plan.question, asked.database.schema, model)
        except ModelError as error:
            st.error(said(error))
        else:
            st.rerun()


def why_tab(_: KnowledgeGraph, database: Database, asked: DatabaseQuestion) -> None:
    """Why a table or column is retrieved, or what would bring it in."""
    graph, explanation = database.graph, asked.explanation
    node = node_choice(graph, explanation, "dbabout")
    if not node:
        st.write(say("Nothing was touched; raise the mass."))
        return
    st.write(brief(why_line(asked, node), 2000))
    if not explanation.touched(graph.row[node]):
        return
    seeds_and_ways(explanation.seed_shares(node), explanation.paths(8, to=node))


def schema_tab(_: KnowledgeGraph, database: Database, asked: DatabaseQuestion | None) -> None:
    """All tables with their columns, keys and row counts."""
    schema = database.schema
    found = asked.importance if asked else {}
    inferred = sum(join.inferred for join in schema.joins)
    words = say("{tables}, {columns}, {references} and {inferred} inferred from names.",
                tables=count(len(schema.tables), "table"), columns=count(len(schema.columns), "column"),
                references=count(len(schema.joins) - inferred, "declared reference"),
                inferred=inferred)
    st.caption(f"{words} {say('Retrieved ones are marked.')}" if found else words)
    keys = {}
    for join in schema.joins:
        for label, other in join.pairs:
            keys[label] = say_key(other, join.inferred)
    rows = []
    for one in schema.tables:
        for column in one.columns:
            key = say("primary") if column.key else keys.get(column.label, "")
            rows.append((one.name, column.name, column.label in found, column.type, key, one.rows,
                         ", ".join(column.values)))
    cells = columns_of(("table", "column", "retrieved", "type", "key", "rows", "values"), rows)
    if not asked:
        del cells["retrieved"]
    table(cells, height=420, column_config={"column": st.column_config.TextColumn(width=150),
                                            "key": st.column_config.TextColumn(width=190)})


def certificate_tab(_: KnowledgeGraph, database: Database, asked: DatabaseQuestion) -> None:
    """The proof that the diffusion over the schema is optimal."""
    proof(asked.retrieval, database.graph)
