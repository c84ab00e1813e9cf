"""The parts of the Database page: the file, the question, its picture, its card, SQL and rows."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import streamlit as st

from qafd.app.asking import asked_among
from qafd.app.escaping import brief, escape_sentence, plain
from qafd.app.explore.card import draw_balance, heading
from qafd.app.explore.explanation import why_line
from qafd.app.pages import way
from qafd.app.picture import chosen_drawing, pick
from qafd.app.provider import language_model, leaves_this_machine, preferences, why_no_model
from qafd.app.session import (
    bound,
    compute_shared,
    empty,
    exchange,
    forget,
    fresh_key,
    keep,
    put,
    put_next,
    remember,
    value_of,
)
from qafd.app.tables import columns_of, table
from qafd.app.workspaces import offer_instead
from qafd.errors import ModelError, QafdError
from qafd.knowledge import KnowledgeGraph
from qafd.models import calls_of
from qafd.models.cost import tokens_of
from qafd.models.embedder import local_embedder
from qafd.resources import assets, home
from qafd.retrieve.base import RetrievedNode
from qafd.sql import box
from qafd.sql.box import QueryRows
from qafd.sql.database import DDL, Database, DatabaseQuestion, read_source
from qafd.sql.dialect import dialect_name
from qafd.sql.diffusion import METHOD, SchemaDiffusion
from qafd.sql.tables import TABLES, make_database
from qafd.sql.write import has_sql, read_sql, sql_messages, write_sql
from qafd.view.drawing import Caption, Look
from qafd.view.layout import Positions
from qafd.view.panel import clean, panel_data
from qafd.view.placement import add_new, freeze
from qafd.wording import count
from qafd.wording.databases import describe_draft, say_facts, say_key, word_gap
from qafd.wording.reasons import word_notice

SAMPLE = "ferries"
EXAMPLES = {SAMPLE: ("How many bookings did customers from Bergvik make?",
                     "What is the average price of bookings?",
                     "Which ferry has the most sailings?")}
MASS = 6.0  # the most for each seed


def databases() -> dict[str, Path]:
    """Return the bundled sample and the user's databases, by name."""
    own = sorted(path for path in (home() / "databases").glob("*.*") if path.suffix in KINDS)
    return {SAMPLE: assets() / "samples" / f"{SAMPLE}.sqlite", **{p.stem: p for p in own}}


CHOSEN = "database"
SQLITE_FILE = ".sqlite"
KINDS = (SQLITE_FILE, *DDL)
"""How the names of files end that are kept here; another ending is taken for a SQLite file."""


def chosen_database() -> Database:
    """Draw the choice of a database in the sidebar, and open it."""
    found = databases()
    asked = st.query_params.get("database")
    keep(CHOSEN)
    if value_of(CHOSEN, SAMPLE) not in found:
        put(CHOSEN, SAMPLE)
    with st.sidebar:
        name = st.selectbox("Database", list(found), key=CHOSEN, bind="query-params",
                            help="SQLite files, tables and schemas. They are never changed.")
        with st.expander("Add a database"):
            _upload(found)
        if name != SAMPLE and st.button("Remove this database", icon=":material/delete:",
                                        help="Deletes the app's copy; your file stays."):
            found[name].unlink(missing_ok=True)
            _choose(SAMPLE)
            st.rerun()
    if asked is not None and asked not in found:
        offer_instead((f"There is no database {repr(asked[:60])} here; choose another, or add it at the "
                       "left."), list(found), _choose)
        st.stop()
    file, state = found[name], found[name].stat()
    return compute_shared("database", (file, state.st_mtime_ns, state.st_size),
                  lambda: Database.open(file, local_embedder()))


def _choose(name: str) -> None:
    """Choose another database for the next run."""
    forget("dbq")
    put_next(CHOSEN, name)


def _upload(found: dict[str, Path]) -> None:
    given = st.file_uploader("A SQLite file, a table or a schema", key=fresh_key("database file"),
                             label_visibility="collapsed")
    st.caption(f"A SQLite file of at most {box.LARGEST >> 20} MB, a table (.csv, .tsv, .xlsx), or a schema "
                "without rows: DDL (.sql), as pg_dump --schema-only and mysqldump --no-data write it. It is "
                "checked and copied; your file stays as it is.")
    if given is None:
        return
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(given.name).stem).strip("-")[:60] or "database"
    while name in found:
        name += "-2"
    folder = home() / "databases"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with TemporaryDirectory(dir=folder) as aside:
            ending = Path(given.name).suffix.lower()
            upload = Path(aside) / f"{name}{ending if ending in KINDS else SQLITE_FILE}"
            if ending in TABLES:
                made = make_database(given.name, given.getvalue())
                upload.write_bytes(made.content)
                for notice in made.notices:
                    st.toast(escape_sentence(notice))
            else:
                upload.write_bytes(given.getbuffer())
            if upload.suffix == SQLITE_FILE:
                content = box.copy(upload)
                upload.write_bytes(content)
            read_source(upload)
            upload.replace(folder / upload.name)
    except QafdError as error:
        st.warning(escape_sentence(error))
        return
    forget("dbq")
    put_next(CHOSEN, name)
    empty("database file")
    st.rerun()


def question_box(database: Database) -> str:
    """Draw the box of the question, with its examples."""
    examples = EXAMPLES.get(Path(database.source).stem, ())
    if exchange("database", database.source) != database.source:
        put("dbq", examples[0] if examples else "")
        st.query_params.pop("node", None)
    return asked_among(examples, "dbq", "Ask this database a question")


def method_controls() -> SchemaDiffusion:
    """Draw the controls of the diffusion in the sidebar."""
    with st.sidebar:
        mass = st.slider("Mass for each seed", 0.5, MASS, METHOD.mass, 0.5, **bound("dbmass"),
                         help=("Seeds are what the question names. Each table and column holds "
                               "1 of mass: more mass retrieves more of the schema."))
    return replace(METHOD, mass=mass)


def asked_of(database: Database, question: str, method: SchemaDiffusion) -> DatabaseQuestion:
    """Ask the question, or return the remembered result."""
    asked = database.source, changed_at(database), question, method
    return compute_shared("asked", asked, lambda: database.ask(question, method))


def status_line(asked: DatabaseQuestion) -> None:
    """Write the result in one line, and the notices."""
    retrieval = asked.retrieval
    full = retrieval.retrieved
    tables = sum(n.kind == "table" for n in full)
    optimal = retrieval.certificate is not None and retrieval.certificate["optimal"]
    st.caption(" · ".join([
        (f"{len(full)} of {len(asked.database.graph):,} nodes retrieved "
         f"({count(tables, 'table')}, {count(len(full) - tables, 'column')})"),
        "exact (checked)" if optimal else "not converged",
        f"{retrieval.work.milliseconds:.1f} ms"]))
    for notice in (*asked.database.schema.notices, *map(word_notice, retrieval.notices)):
        st.caption(f":material/info: {escape_sentence(clean(notice, 300))}")


def database_picture(asked: DatabaseQuestion) -> str | None:
    """Draw the retrieved part of the schema, and return the selected node."""
    positions, others = compute_shared("frozen schema", (
        asked.database.source, asked.plan.question, asked.plan.planner),
        lambda: _freeze(asked))
    drawing = replace(chosen_drawing(), contract=False)
    key = f"schema-{Path(asked.database.source).stem}"
    path = asked.path if asked.importance else ()
    return pick(lambda chosen: panel_data(
        [asked.retrieval], drawing,
        positions=add_new(positions, asked.retrieval), look=Look(
            [Caption("Schema", "the joins of the draft are marked" if path else "")],
            others, selected=chosen, path=path, graph_size=len(asked.database.graph))), key)


def _freeze(asked: DatabaseQuestion) -> tuple[Positions, tuple[RetrievedNode, ...]]:
    """Lay out the largest result once, so that the control moves no node."""
    widest, usual = (replace(asked.method, mass=mass).retrieve(asked.corpus, asked.plan)
                     for mass in (MASS, METHOD.mass))
    return freeze([widest], {n.id for n in usual.retrieved})


def node_card(asked: DatabaseQuestion, chosen: str | None) -> None:
    """Draw the card of the selected node, or of the draft."""
    retrieval, graph = asked.retrieval, asked.database.graph
    node = retrieval.node(chosen)
    with st.container(key="card"):
        if node is None and chosen is not None and chosen in graph.row:
            name = graph.names[graph.row[chosen]]
            st.markdown(f"## {brief(name)}")
            _explain(asked, chosen, name)
            return
        if node is None:
            _draft_card(asked)
            return
        st.html(heading(node))
        _explain(asked, node.id, node.name)
        draw_balance(retrieval, node)


def _draft_card(asked: DatabaseQuestion) -> None:
    """Draw the linked tables, the draft with its gaps, and its rows if it is complete."""
    draft, linked, schema = asked.draft, asked.linked, asked.database.schema
    lines = []
    for name in linked.tables:
        columns = [column.name for column in schema.table[name].columns if column.label in linked.columns]
        lines.append(f"- **{brief(name)}**" + (f": {brief(', '.join(columns), 300)}" if columns else ""))
    st.markdown("\n".join(["The question needs:", "", *lines]))
    if draft.complete:
        st.caption(f"The draft, made by rules without a language model, {plain(describe_draft(draft))}.")
        if schema.has_rows:
            rows_of(asked.database, draft.sql, "drafted_rows")
    else:
        st.caption("No complete draft. The SQL below is a start that "
                   f"{plain(describe_draft(draft))}; complete it, or let a model write it.")
        for gap in draft.gaps:
            st.caption(f":material/info: {plain(word_gap(gap))}")
    st.caption("Click a table or column, or press Tab, arrow keys and Enter, to see why it is "
               "retrieved.")


def _explain(asked: DatabaseQuestion, node: str, name: str) -> None:
    """Write why a node is retrieved or not, and the facts of its table or column."""
    st.write(brief(why_line(asked.explanation, node), 2000))
    st.caption(brief(say_facts(asked.database.schema, name), 2000))


def rows_of(database: Database, sql: str, key: str) -> None:
    """Return the rows that a statement selects, or its error; `key` names their place on the page."""
    try:
        rows: QueryRows = remember(key, (database.source, changed_at(database), sql),
                                   lambda: box.run(Path(database.source), sql))
    except QafdError as error:
        st.error(escape_sentence(error), icon=":material/error:")
        return
    names = _distinct(rows.columns)
    table(columns_of(names, rows.rows), key=key)
    facts = [count(len(rows.rows), "row"),
             f"{rows.milliseconds:.1f} ms", rows.cut]
    st.caption(" · ".join(filter(None, facts)))


def changed_at(database: Database) -> int:
    """Return the time of the last change of a database file, in nanoseconds."""
    return Path(database.source).stat().st_mtime_ns


def _distinct(columns: Sequence[str]) -> list[str]:
    """Return names of columns on one line, numbered if one occurs again."""
    names: list[str] = []
    for column in columns:
        name = base = clean(column, 100) or "(no name)"
        number = 1
        while name in names:
            name, number = f"{base} ({number})", number + 1
        names.append(name)
    return names


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
    with st.popover("Show the prompt"):
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
    st.caption(f"{words} The retrieved ones are marked." if found else words)
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
