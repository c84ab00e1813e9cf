"""The Database page: a SQLite file, a question, and the part of the schema that it needs."""

import re
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import streamlit as st

from qafd.app import markup
from qafd.app.asking import asked_among
from qafd.app.database.rows import changed_at, rows_of
from qafd.app.escaping import brief, plain, safe, said
from qafd.app.explore.card import heading, held, importances
from qafd.app.home import home
from qafd.app.picture import chosen_drawing, pick
from qafd.app.session import (
    bound,
    empty,
    exchange,
    forget,
    fresh_key,
    keep,
    put,
    put_next,
    session,
    shared,
    value_of,
)
from qafd.app.workspaces import offer_instead
from qafd.errors import QafdError
from qafd.models.embedder import local_embedder
from qafd.resources import assets
from qafd.retrieve.base import RetrievedNode
from qafd.sql import box
from qafd.sql.database import Database, DatabaseQuestion
from qafd.sql.link import METHOD, SchemaDiffusion
from qafd.sql.sources import DDL, JSON, schema_from
from qafd.view.drawing import Caption, Look
from qafd.view.layout import Positions
from qafd.view.panel import clean, panel_data
from qafd.view.placement import freeze, with_new
from qafd.wording import join_words
from qafd.wording.counts import count
from qafd.wording.databases import describe_draft, say_facts, say_label, word_doubt
from qafd.wording.explanations import say_why, say_why_not
from qafd.wording.reasons import word_notice

SAMPLE = "ferries"
EXAMPLES = {SAMPLE: ("How many bookings did customers from Bergvik make?",
                     "Which ferry has the most sailings?",
                     "What is the average price of bookings per route?")}
MASS = 6.0  # the most for each seed
FOREMOST = 14  # names in the table beside the picture


def databases() -> dict[str, Path]:
    """The bundled sample and the user's own databases, by name."""
    own = sorted(path for path in (home() / "databases").glob("*.*") if path.suffix in KINDS)
    return {SAMPLE: assets() / "samples" / f"{SAMPLE}.sqlite", **{p.stem: p for p in own}}


CHOSEN = "database"
SQLITE_FILE = ".sqlite"
KINDS = (SQLITE_FILE, *DDL, *JSON)
"""How the names of files end that are kept here; another ending is taken for a SQLite file."""


def chosen_database() -> Database:
    """The database that is chosen in the sidebar, where others are added too."""
    found = databases()
    asked = st.query_params.get("database")
    keep(CHOSEN)
    if value_of(CHOSEN, SAMPLE) not in found:
        put(CHOSEN, SAMPLE)
    with st.sidebar:
        name = st.selectbox("Database", list(found), key=CHOSEN, bind="query-params",
                            help="SQLite files and schemas; they are only read.")
        with st.expander("Add a database"):
            _upload(found)
        if name != SAMPLE and st.button("Remove this database", icon=":material/delete:",
                                        help="Deletes the app's copy; your file stays."):
            found[name].unlink(missing_ok=True)
            _choose(SAMPLE)
            st.rerun()
    if asked is not None and asked not in found:
        offer_instead((f"There is no database {repr(asked[:60])} here; choose one that is, or "
                       "add it at the left."), list(found), _choose)
        st.stop()
    file, state = found[name], found[name].stat()
    return shared("database", (file, state.st_mtime_ns, state.st_size),
                  lambda: Database.open(file, local_embedder()))


def _choose(name: str) -> None:
    """Let the next run begin with another database."""
    forget("dbq")
    put_next(CHOSEN, name)


def _upload(found: dict[str, Path]) -> None:
    given = st.file_uploader("A SQLite file or a schema", key=fresh_key("database file"),
                             label_visibility="collapsed")
    st.caption(f"A SQLite file of at most {box.LARGEST >> 20} MB, or a schema without rows: "
                "DDL (.sql) or JSON. It is checked and copied; your file stays as it is. "
                "`qafd schema` writes the JSON of a PostgreSQL, MySQL or DuckDB database.")
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
            upload.write_bytes(given.getbuffer())
            if upload.suffix == SQLITE_FILE:
                content = box.copy(upload)
                upload.write_bytes(content)
            schema_from(upload)
            upload.replace(folder / upload.name)
    except QafdError as error:
        st.warning(said(error))
        return
    forget("dbq")
    put_next(CHOSEN, name)
    empty("database file")
    st.rerun()


def question_box(database: Database) -> str:
    """The question, from the box, an example or the link."""
    examples = EXAMPLES.get(Path(database.source).stem, ())
    if exchange("database", database.source) != database.source:
        put("dbq", examples[0] if examples else "")
        st.query_params.pop("node", None)
    return asked_among(examples, "dbq", "Ask this database a question")


def method_controls() -> SchemaDiffusion:
    """How much of the schema is retrieved, in the sidebar."""
    with st.sidebar:
        mass = st.slider("Mass for each seed", 0.5, MASS, METHOD.mass, 0.5, **bound("dbmass"),
                         help=("Seeds are what the question names. Each table and column holds "
                               "1 of mass: more mass retrieves more of the schema."))
        apart = st.toggle("Take the question apart", **bound("dbparts"),
                          help="One diffusion for each part of a complex question, united.")
        st.toggle("Mark the joins of the draft", True, **bound("dbpath"))
    return replace(METHOD, mass=mass, subqueries="on" if apart else "off")


def asked_of(database: Database, question: str, method: SchemaDiffusion) -> DatabaseQuestion:
    """What the question needs; repeats come from memory."""
    chosen = session().chosen_seeds.get((database.source, question))
    asked = database.source, changed_at(database), question, method, chosen
    return shared("asked", asked, lambda: database.ask(question, method, chosen))


def status_line(asked: DatabaseQuestion) -> None:
    """The result in one line."""
    retrieval = asked.retrieval
    full = retrieval.retrieved
    tables = sum(n.kind == "table" for n in full)
    optimal = retrieval.certificate is not None and retrieval.certificate["optimal"]
    st.caption(" · ".join([
        (f"{len(full)} of {len(asked.database.graph):,} nodes retrieved "
         f"({count(tables, 'table')}, {count(len(full) - tables, 'column')})"),
        "exact (checked)" if optimal else "not converged",
        f"{retrieval.work.milliseconds:.1f} ms"]))
    for number, part in enumerate(retrieval.parts, 1):
        st.caption(f"**{number}** {brief(part.query)}")
    for notice in (*asked.database.schema.notices, *map(word_notice, retrieval.notices)):
        st.caption(f":material/info: {said(clean(notice, 300))}")


def database_picture(asked: DatabaseQuestion) -> str | None:
    """The retrieved part of the schema; returns the selected node."""
    positions, others = shared("frozen schema", (
        asked.database.source, asked.plan.question, asked.method.subqueries, asked.plan.planner),
        lambda: _freeze(asked))
    edges = tuple(replace(edge, label=say_label(edge.label)) for edge in asked.retrieval.edges)
    retrieval, drawing = replace(asked.retrieval, edges=edges), replace(chosen_drawing(), contract=False)
    key = f"schema-{Path(asked.database.source).stem}"
    path = asked.path if value_of("dbpath", True) and asked.importance else ()
    return pick(lambda chosen: panel_data(
        [retrieval], drawing,
        positions=with_new(positions, retrieval), look=Look(
            [Caption("Schema", "the joins of the draft are marked" if path else "")],
            others, selected=chosen, path=path, graph_size=len(asked.database.graph))), key)


def _freeze(asked: DatabaseQuestion) -> tuple[Positions, tuple[RetrievedNode, ...]]:
    """One layout for all masses, so that the control moves no node."""
    widest, usual = (replace(asked.method, mass=mass).retrieve(asked.corpus, asked.plan)
                     for mass in (MASS, METHOD.mass))
    return freeze([widest], {n.id for n in usual.retrieved})


def node_card(asked: DatabaseQuestion, chosen: str | None) -> None:
    """The card beside the picture: why a table or column is here, and what it holds."""
    retrieval, graph = asked.retrieval, asked.database.graph
    node = retrieval.node(chosen)
    with st.container(key="card"):
        if node is None and chosen is not None and chosen in graph.row:
            name = graph.names[graph.row[chosen]]
            st.markdown(f"## {brief(name)}")
            _tell(asked, chosen, name)
            return
        if node is None:
            full = retrieval.retrieved
            if full:
                _drafted(asked)
            hint = ("Click a table or column, or press Tab, arrow keys and Enter, to see why "
                    "it is there.")
            st.html(markup.paragraph(markup.small(safe(hint)), "foremost")
                    + importances(retrieval, full[:FOREMOST]))
            if set(asked.path).isdisjoint(n.id for n in full):
                return
            spare = [n.name for n in full[:FOREMOST] if n.id not in asked.path]
            if spare:
                st.caption(f"Retrieved, but not in the draft: {join_words(spare)}.")
            return
        st.html(heading(node))
        _tell(asked, node.id, node.name)
        held(retrieval, node)


def _drafted(asked: DatabaseQuestion) -> None:
    """What the draft does, what may make it wrong, and its rows where the file has any."""
    draft = asked.draft
    st.caption("The draft, made by rules without a language model, "
                f"{plain(describe_draft(draft))}.")
    for doubt in draft.doubts:
        st.caption(f":material/warning: {plain(word_doubt(doubt))}")
    if asked.database.schema.has_rows:
        rows_of(asked.database, draft.sql, "drafted_rows")


def _tell(asked: DatabaseQuestion, node: str, name: str) -> None:
    """Why a node is retrieved or not, and what the file says of it."""
    st.write(brief(why_line(asked, node), 2000))
    st.caption(brief(say_facts(asked.database.schema, name), 2000))


def why_line(asked: DatabaseQuestion, node: str) -> str:
    """Why a node is retrieved, or not, in a few sentences."""
    explanation = asked.explanation
    return (say_why(explanation.why(node)) if explanation.retrieved(node) else
            " ".join(say_why_not(explanation.why_not(node))))
