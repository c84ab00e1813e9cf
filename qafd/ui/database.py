"""The Database page: a SQLite file, a question, the part of the schema, SQL and its rows."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import streamlit as st

from qafd.cost import tokens_of
from qafd.errors import ModelError, ParameterError, QafdError
from qafd.explain import balance_sentence, mass_balance
from qafd.export import table_csv
from qafd.knowledge import KnowledgeGraph, local_embedder
from qafd.package import assets
from qafd.retrieve.base import SATURATED, RetrievedNode
from qafd.sql import box
from qafd.sql.box import Rows
from qafd.sql.database import Asked, Database
from qafd.sql.link import METHOD, SchemaDiffusion
from qafd.sql.write import SQL_TOKENS, has_sql, read_sql, sql_messages, write_sql
from qafd.ui.detail import STATES, STYLE, balance_table, read_table, relative
from qafd.ui.explore import ASPECT, DRAWN, chosen_drawing, pick
from qafd.ui.home import home
from qafd.ui.pages import page
from qafd.ui.provider import language_model, leaves_this_machine, preferences, why_no_model
from qafd.ui.tabs import proof
from qafd.ui.workspaces import forget, keep, plain, safe
from qafd.view.component import selected
from qafd.view.layout import Positions
from qafd.view.panel import Caption, clean, counted, number, panel_data
from qafd.view.placement import beside, freeze, prominent

SAMPLE = "ferries"
EXAMPLES = {SAMPLE: ("How many bookings did customers from Bergvik make?",
                     "Which ferry has the most sailings?",
                     "What is the average price of bookings per route?")}
MASS = 6.0  # the most for each seed


def databases() -> dict[str, Path]:
    """The bundled sample and the user's own databases, by name."""
    own = sorted((home() / "databases").glob("*.sqlite"))
    return {SAMPLE: assets() / "samples" / f"{SAMPLE}.sqlite", **{p.stem: p for p in own}}


def chosen_database() -> Database:
    """The database that is chosen in the sidebar, where others are added too."""
    found = databases()
    if "next_database" in st.session_state:
        st.session_state["database"] = st.session_state.pop("next_database")
        forget("dbq")
    asked = st.query_params.get("database")
    if st.session_state.get("database", SAMPLE) not in found:
        st.session_state["database"] = SAMPLE
    with st.sidebar:
        name = st.selectbox("Database", list(found), key=keep("database"), bind="query-params",
                            help="SQLite files; they are only read.")
        with st.expander("Add a SQLite file", icon=":material/upload_file:"):
            _upload(found)
        if name != SAMPLE and st.button("Remove this database", icon=":material/delete:",
                                        help="Deletes the app's copy; your file stays."):
            found[name].unlink(missing_ok=True)
            st.session_state["next_database"] = SAMPLE
            st.rerun()
    if asked is not None and asked not in found:
        raise ParameterError(f"there is no database {asked[:60]!r} here; choose one at the left, "
                             "or add it")
    state = found[name].stat()
    return _opened(found[name], state.st_mtime_ns, state.st_size)


def _upload(found: dict[str, Path]) -> None:
    given = st.file_uploader("A SQLite file", key=f"dbfile{st.session_state.get('dbfiles', 0)}",
                             label_visibility="collapsed")
    st.caption(f"At most {box.LARGEST >> 20} MB. It is checked and copied; your file stays as it "
               "is.")
    if given is None:
        return
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(given.name).stem).strip("-")[:60] or "database"
    while name in found:
        name += "-2"
    folder = home() / "databases"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with TemporaryDirectory(dir=folder) as aside:
            upload = Path(aside) / f"{name}.sqlite"
            upload.write_bytes(given.getbuffer())
            content = box.copy(upload)
            upload.write_bytes(content)
            box.read_schema(upload)
            upload.replace(folder / upload.name)
    except QafdError as error:
        st.warning(plain(str(error)))
        return
    st.session_state["next_database"] = name
    # an uploader of another key is empty: the file is not taken twice
    st.session_state["dbfiles"] = st.session_state.get("dbfiles", 0) + 1
    st.rerun()


@st.cache_resource(max_entries=4, show_spinner="Reading the schema")
def _opened(path: Path, changed: int, size: int) -> Database:  # noqa: ARG001
    return Database.open(path, local_embedder())


def question_box(database: Database) -> str:
    """The question, from the box, an example or the link."""
    examples = EXAMPLES.get(database.path.stem, ())
    if st.session_state.get("dbq_for", database.path) != database.path:
        st.session_state["dbq"] = examples[0] if examples else ""
        st.query_params.pop("node", None)
    st.session_state["dbq_for"] = database.path
    question = st.text_input(
        "Question", value=examples[0] if examples else "", key=keep("dbq"), bind="query-params",
        placeholder="Ask this database a question", label_visibility="collapsed",
        icon=":material/search:")
    with st.container(horizontal=True, gap="small"):
        for example in examples:
            st.button(example, type="tertiary", disabled=example == question,
                      on_click=st.session_state.update, kwargs={"dbq": example})
    return question or ""


def method_controls() -> SchemaDiffusion:
    """How much of the schema is retrieved, in the sidebar."""
    with st.sidebar:
        mass = st.slider("Mass for each seed", 0.5, MASS, METHOD.mass, 0.5, key=keep("dbmass"),
                         bind="query-params", help="Seeds are what the question names. Each table "
                         "and column holds 1 of mass: more mass retrieves more of the schema.")
        apart = st.toggle("Take the question apart", key=keep("dbparts"), bind="query-params",
                          help="One diffusion for each part of a complex question, united.")
        st.toggle("Mark the joins of the draft", True, key=keep("dbpath"), bind="query-params")
    return replace(METHOD, mass=mass, subqueries="on" if apart else "off")


def asked_of(database: Database, question: str, method: SchemaDiffusion) -> Asked:
    """What the question needs; repeats come from memory."""
    return _asked(database.path, database.path.stat().st_mtime_ns, question, method, database)


@st.cache_resource(max_entries=64, show_spinner="Reading the question")
def _asked(path: Path, changed: int, question: str, method: SchemaDiffusion,  # noqa: ARG001
           _database: Database) -> Asked:
    return _database.ask(question, method)


def status_line(asked: Asked) -> None:
    """The result in one line."""
    retrieval = asked.retrieval
    full = [n for n in retrieval.nodes if n.state == SATURATED]
    tables = sum(n.kind == "table" for n in full)
    optimal = retrieval.certificate is not None and retrieval.certificate["optimal"]
    st.caption(" · ".join([
        f"{len(full)} of {len(asked.database.graph):,} nodes retrieved "
        f"({counted(tables, 'table')}, {counted(len(full) - tables, 'column')})",
        "exact (checked)" if optimal else "not converged",
        f"{retrieval.work.milliseconds:.1f} ms"]))
    for number_, part in enumerate(retrieval.parts, 1):
        st.caption(f"**{number_}** {plain(clean(part.query, 200))}")
    for notice in (*asked.database.schema.notices, *retrieval.notices):
        st.caption(f":material/info: {plain(clean(notice, 300))}")


def database_picture(asked: Asked) -> str | None:
    """The retrieved part of the schema; returns the selected node."""
    positions, others = _frozen(asked.database.path, asked.plan.question,
                                asked.method.subqueries, asked)
    retrieval, drawing = asked.retrieval, chosen_drawing()
    edges = ((e.source, e.target) for e in retrieval.edges)
    key = f"schema-{asked.database.path.stem}"
    path = asked.path if st.session_state.get("dbpath", True) and asked.importance else ()
    return pick(panel_data(
        [retrieval], positions=beside(positions, prominent(retrieval, DRAWN), edges, ASPECT),
        others=others, thickness=drawing.thickness, ramp=drawing.ramp, path=path, limit=DRAWN,
        selected=selected(key) or st.query_params.get("node"), aspect=ASPECT,
        graph_size=len(asked.database.graph),
        captions=[Caption("Schema", "the joins of the draft are marked" if path else "")]), key)


@st.cache_resource(max_entries=32, show_spinner=False)
def _frozen(path: Path, question: str, subqueries: str,  # noqa: ARG001
            _asked: Asked) -> tuple[Positions, tuple[RetrievedNode, ...]]:
    """One layout for all masses, so that the control moves no node."""
    widest, usual = (replace(_asked.method, mass=mass).retrieve(_asked.corpus, _asked.plan)
                     for mass in (MASS, METHOD.mass))
    return freeze([widest], {n.id for n in usual.nodes if n.state == SATURATED}, DRAWN, ASPECT)


def node_card(asked: Asked, chosen: str | None) -> None:
    """The card beside the picture: why a table or column is here, and what it holds."""
    st.html(STYLE)
    retrieval, graph = asked.retrieval, asked.database.graph
    node = next((n for n in retrieval.nodes if n.id == chosen), None)
    with st.container(key="card"):
        if node is None and chosen in graph.row:
            name = graph.names[graph.row[chosen]]
            st.html(f"<h4 style='margin:0'>{safe(name)}</h4><p>{safe(why_line(asked, chosen))}</p>"
                    f"<p>{safe(_facts(asked, name))}</p>")
            return
        if node is None:
            st.caption("Click a table or column, or press Tab, arrow keys and Enter, to see why "
                       "it is there.")
            shares = relative(retrieval.nodes)
            st.html(read_table(("name", "importance"), [
                (clean(n.name, 80), f"{number(100 * shares[n.id])}%") for n in retrieval.nodes
                if n.state == SATURATED][:14]))
            return
        st.html(f"<h4 style='margin:0'>{safe(node.name)}</h4><small>{safe(node.kind)} · "
                f"{STATES[node.state]}{' · seed' if node.seed else ''}</small>"
                f"<p>{safe(why_line(asked, node.id))}</p><p>{safe(_facts(asked, node.name))}</p>")
        with st.expander("Mass balance"):
            balance = mass_balance(retrieval, node.id)
            names = {n.id: n.name for n in retrieval.nodes}
            st.html(f"<p>{safe(balance_sentence(balance, names))}</p>")
            balance_table(balance, names, 4)


def why_line(asked: Asked, node: str) -> str:
    """Why a node is retrieved, or not, in a few sentences."""
    explanation = asked.explanation
    return (explanation.why(node).summary if explanation.retrieved(node) else
            " ".join(explanation.why_not(node).sentences))


def _facts(asked: Asked, name: str) -> str:
    """What the file says of a table or column."""
    schema = asked.database.schema
    if name in schema.table:
        table = schema.table[name]
        return f"{_rows(table.rows)} rows, {counted(len(table.columns), 'column')}."
    column = schema.column[name]
    values = f" Values such as {', '.join(column.values)}." if column.values else ""
    joins = [f"{'refers to' if own == column.label else 'is referred to by'} "
             f"{other if own == column.label else own}{' (by its name)' * join.inferred}"
             for join in schema.joins for own, other in join.pairs if column.label in (own, other)]
    return f"{column.type or 'no type'}{', primary key' * column.key}.{values} " + (
        f"It {'; '.join(joins)}." if joins else "")


def _rows(rows: int | None) -> str:
    return "more than 1,000,000" if rows is None else f"{rows:,}"


def sql_tab(knowledge: KnowledgeGraph, database: Database, asked: Asked) -> None:
    """The SQL, by rules or by a model, to be edited and run."""
    draft = asked.draft
    if st.session_state.get("sql_for", draft.sql) != draft.sql or (
            "sql_for" not in st.session_state and "sql" not in st.query_params):
        st.session_state["sql"] = draft.sql
    st.session_state["sql_for"] = draft.sql
    if "next_sql" in st.session_state:
        st.session_state["sql"] = st.session_state.pop("next_sql")
    st.caption(f"The draft, made by rules without a language model, {plain(draft.said)}.")
    for notice in draft.notices:
        st.caption(f":material/warning: {plain(notice)}")
    sql = st.text_area("SQL", key=keep("sql"), bind="query-params", height=190) or ""
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button("Run", type="primary", icon=":material/play_arrow:"):
            st.session_state["ran"] = (database.path, sql)
        st.button("Back to the draft", disabled=sql == draft.sql,
                  on_click=st.session_state.update, kwargs={"sql": draft.sql})
        _model(knowledge, asked)
    st.caption(f"Read-only: one SELECT, at most {box.SECONDS:g} s and 1,000 rows.")
    if st.session_state.get("ran") == (database.path, sql):
        _result(database, sql)


def _model(knowledge: KnowledgeGraph, asked: Asked) -> None:
    """The button that lets the model of the settings write the SQL."""
    model = language_model(knowledge.path, "sql", asked.plan.question)
    if model is None:
        st.caption(plain(why_no_model().partition(";")[0].rstrip(".")) + ".")
        st.page_link(page("settings"), label="Language models", icon=":material/settings:")
        return
    model = replace(model, accepts=has_sql)
    messages = sql_messages(asked)
    if st.button(f"Let {plain(clean(model.name, 40))} write it"):
        try:
            with st.spinner("One call"):
                st.session_state["next_sql"] = write_sql(asked, model)
        except ModelError as error:
            st.error(plain(f"{error} The draft needs no model."))
        else:
            st.rerun()
    away = " leave this machine" if leaves_this_machine(preferences()) else " are sent"
    st.caption(f"About {tokens_of(messages):,} tokens: the question and the retrieved part of the "
               f"schema{away}, no rows.")
    with st.popover("What it is sent"):
        st.code(messages[1].content, language=None, wrap_lines=True)
    known = model.stored(model.key(messages, None, SQL_TOKENS))
    if known is not None:
        st.caption(f"Written by {plain(model.name)} before, {known.tokens_in:,} + "
                   f"{known.tokens_out:,} tokens.")
        if read_sql(known.text) == st.session_state.get("sql"):
            st.caption("A model can be wrong: read the SQL before you trust its rows.")


def _result(database: Database, sql: str) -> None:
    try:
        rows = _run(database.path, database.path.stat().st_mtime_ns, sql)
    except QafdError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    names = _distinct(rows.columns)
    st.dataframe([dict(zip(names, row, strict=True)) for row in rows.rows]
                 or {name: [] for name in names}, hide_index=True)
    st.caption(f"{counted(len(rows.rows), 'row')} · {rows.milliseconds:.1f} ms"
               + (f" · {rows.cut}" if rows.cut else ""))
    st.download_button("CSV", lambda: table_csv(names, rows.rows), "result.csv", "text/csv",
                       on_click="ignore", icon=":material/download:")


@st.cache_data(max_entries=16, show_spinner="Running")
def _run(path: Path, changed: int, sql: str) -> Rows:  # noqa: ARG001
    return box.run(path, sql)


def _distinct(columns: Sequence[str]) -> list[str]:
    """Names of columns on one line, numbered where one occurs again."""
    names: list[str] = []
    for column in columns:
        name = base = clean(column, 100) or "(no name)"
        while name in names:
            name = f"{base} ({names.count(base) + sum(n.startswith(f'{base} (') for n in names)})"
        names.append(name)
    return names


def why_tab(_: KnowledgeGraph, database: Database, asked: Asked) -> None:
    """Why a table or column is retrieved, or what would bring it in."""
    graph, explanation = database.graph, asked.explanation
    found = [n.id for n in sorted(asked.retrieval.nodes, key=lambda n: (
        n.state != SATURATED, n.seed, -n.importance, -n.mass))]
    options = list(dict.fromkeys([*found, *graph.ids]))
    if not found:
        st.write("Nothing was touched; raise the mass.")
        return
    picked = st.query_params.get("node")
    if picked in options and st.session_state.get("dbabout_for") != picked:
        st.session_state["dbabout"] = picked
    st.session_state["dbabout_for"] = picked
    node = st.selectbox("Why is this here, or not?", options, key=keep("dbabout"),
                        bind="query-params",
                        format_func=lambda i: clean(graph.names[graph.row[i]], 120))
    st.html(f"<p>{safe(why_line(asked, node))}</p>")
    if not explanation.touched(graph.row[node]):
        return
    left, right = st.columns(2, gap="medium")
    ways = explanation.paths(8, to=node)
    with left:
        st.caption("Whose mass it holds")
        st.html(read_table(("seed", "why it is a seed", "share"), [
            (s.name, s.reason, f"{s.share:.1%}") for s in explanation.seed_shares(node)]))
    with right:
        st.caption("The paths it came by, through the schema")
        st.html(read_table(("path", "mass"), [
            *((way.words, number(way.mass)) for way in ways.paths),
            ("all other ways", number(ways.rest))]))


def schema_tab(_: KnowledgeGraph, database: Database, asked: Asked | None) -> None:
    """All tables with their columns, keys and row counts."""
    schema = database.schema
    found = asked.importance if asked else {}
    st.caption(f"{counted(len(schema.tables), 'table')}, {counted(len(schema.columns), 'column')}, "
               f"{counted(sum(not j.inferred for j in schema.joins), 'declared reference')} and "
               f"{sum(j.inferred for j in schema.joins)} inferred from names."
               + " Retrieved ones are marked." * bool(found))
    keys = {label: f"→ {other}{' (by its name)' * join.inferred}"
            for join in schema.joins for label, other in join.pairs}
    st.dataframe([{
        "table": clean(t.name, 80), "column": clean(c.name, 80),
        **({"retrieved": c.label in found} if asked else {}), "type": clean(c.type, 40),
        "key": "primary" if c.key else clean(keys.get(c.label, ""), 120), "rows": t.rows,
        "values": clean(", ".join(c.values), 120)}
        for t in schema.tables for c in t.columns], hide_index=True, height=420, column_config={
            "column": st.column_config.TextColumn(width=150),
            "key": st.column_config.TextColumn(width=190)})


def certificate_tab(_: KnowledgeGraph, database: Database, asked: Asked) -> None:
    """The proof that the diffusion over the schema is optimal."""
    proof(asked.retrieval, database.graph)
