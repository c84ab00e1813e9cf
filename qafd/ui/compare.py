"""The Compare page: the same question, several methods, one layout."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, cast

import streamlit as st

from qafd.answer import where
from qafd.compare import (
    BUDGET,
    DEFAULT,
    FEWEST,
    MOST,
    Column,
    Comparison,
    listed,
    make_column,
)
from qafd.errors import StoreError
from qafd.graph import Graph
from qafd.jobs import enqueue, open_jobs
from qafd.knowledge import KnowledgeGraph
from qafd.methods import PAPER, canonical, label_of, method_of
from qafd.records import QueryPlan
from qafd.retrieve import METHODS
from qafd.retrieve.base import SATURATED, Retrieval, RetrievedNode, Retriever
from qafd.ui.controls import controls, start_anew
from qafd.ui.documents import jobs_panel
from qafd.ui.explore import Drawing, plan_of, retrieved
from qafd.ui.models import start
from qafd.ui.workspaces import forget_all_but, keep, plain, safe
from qafd.view.component import panels, selected
from qafd.view.contraction import contract_passages
from qafd.view.layout import Positions
from qafd.view.panel import Caption, clean, panel_data, shown_name
from qafd.view.placement import beside, foremost, freeze

DRAWN = 40  # nodes per panel
ASPECT = 1.45
PREFIXES = {"qafd": "best", PAPER: "paper"}  # Explore's controls of the same method
AT_ONCE = 60  # passages up to which missing layers are built without asking
LETTERS = "ABCDEF"
SEEDING = {"own": "Own", "question": "Question", "keywords": "Keywords"}


@dataclass(frozen=True)
class Choice:
    """What is to be compared, and how it is to be shown."""

    methods: Mapping[str, Retriever]
    budget: int
    lone: bool
    blind: bool
    order: int


@dataclass(frozen=True)
class Sides:
    """A comparison as the page shows it; `names` and `ideas` per column, letters when blind."""

    knowledge: KnowledgeGraph
    graph: Graph
    version: str
    plan: QueryPlan
    comparison: Comparison
    names: tuple[str, ...]
    ideas: tuple[str, ...]
    choice: Choice

    @property
    def pairs(self) -> list[tuple[str, Column]]:
        """The columns with the names they are shown under."""
        return list(zip(self.names, self.comparison.columns, strict=True))


def compare_controls(knowledge: KnowledgeGraph) -> Choice:
    """Methods, budget and the parameters of each method, in the sidebar."""
    graph, options = knowledge.graph, [*METHODS, PAPER]
    with st.sidebar:
        names = _methods(options)
        budget = st.slider("Tokens of passages for each", 200, 8000, BUDGET, 100,
                           key=keep("budget"), bind="query-params")
        seeding = st.segmented_control(
            "Seeds", list(SEEDING), default="own", required=True, format_func=SEEDING.__getitem__,
            key=keep("seeding"), bind="query-params",
            help="Where methods begin: as each prefers, or for all that can at what the question "
            "names and the nearest passages, or at what is nearest to its keywords.") or "own"
        lone = st.toggle("Found only by one", key=keep("lone"), bind="query-params",
                         help="Color what one method alone retrieves.")
        blind = st.toggle("Blind", key=keep("blind"), bind="query-params",
                          help="Columns in random order, without names, reasons and flows.")
        order = 0
        if blind:
            order = st.number_input("Order", 1, 999, 1, key=keep("order"), bind="query-params",
                                    help="The seed of the random order.")
            blind = not st.toggle("Reveal the names", key=keep("reveal"), bind="query-params")
        if st.session_state.pop("anew", False):
            forget_all_but("ws", "q", "methods", "budget", "seeding", "lone", "blind", "order",
                           "reveal", "contract", "thickness", "ramp")
            for name in options:
                start_anew(method_of(name), PREFIXES.get(name, name), graph)
        methods = {}
        for name in names:
            method = method_of(name)
            shared = {spec.name: seeding for spec in fields(cast("Any", method))
                      if spec.name == "seeding" and seeding in spec.metadata["options"]}
            with st.expander(label_of(name)):
                methods[name] = controls(method, PREFIXES.get(name, name), graph, st.container(),
                                         st.container(), shared)
    return Choice(methods, int(budget), lone, blind, int(order))


def _methods(options: list[str]) -> list[str]:
    """The chosen methods; the link has their short names, or those of the systems."""
    keep("methods")
    if "methods" not in st.session_state:
        linked = [canonical(name) for name in st.query_params.get_all("methods")]
        st.session_state["methods"] = linked[:MOST] or list(DEFAULT)
    names = st.multiselect(
        "Methods", options, format_func=label_of, max_selections=MOST, key="methods",
        help="Two to six. All are re-implementations of the ideas, on this graph.")
    if tuple(names) == DEFAULT:
        st.query_params.pop("methods", None)
    else:
        st.query_params["methods"] = names
    return names


def ready(knowledge: KnowledgeGraph, choice: Choice) -> None:
    """Build the layers that the methods need: at once in a small graph, else by a button."""
    needs = {need: label_of(name) for name, method in choice.methods.items()
             for need in method.needs}
    missing = [layer.name for layer in knowledge.layers()
               if layer.name in needs and layer.state != "built"]
    if not missing:
        return
    if (knowledge.graph.kinds == "passage").sum() <= AT_ONCE:
        try:
            with st.spinner(f"Building {listed(missing, len(missing))}"):
                knowledge.build_layers(missing)
        except StoreError as error:
            st.caption(f":material/info: {plain(str(error))}")
        return
    methods = list(dict.fromkeys(needs[name] for name in missing))
    st.write(f"{listed(methods, len(methods))} need{'s' * (len(methods) == 1)} "
             f"{listed(missing, len(missing))}, which this graph does not have yet.")
    with knowledge.store() as store:
        if not open_jobs(store) and st.button("Build", type="primary"):
            enqueue(store, layers=missing)
            start(knowledge)
    jobs_panel(knowledge)


def compared(knowledge: KnowledgeGraph, question: str, choice: Choice) -> Sides:
    """The question answered by every chosen method on the graph as it is now."""
    graph = knowledge.graph
    version = knowledge.version(graph)
    plan = plan_of(knowledge.path, version, question, knowledge, graph)
    names = list(choice.methods)
    if choice.order:
        Random(choice.order).shuffle(names)
    columns = tuple(
        make_column(name, label_of(name), partial(
            retrieved, knowledge.path, version, question, choice.methods[name], knowledge, graph,
            plan), graph, choice.budget) for name in names)
    shown = tuple(LETTERS[:len(names)]) if choice.blind else tuple(map(label_of, names))
    ideas = ("",) * len(names) if choice.blind else tuple(
        choice.methods[n].idea.split(";")[0] for n in names)
    return Sides(knowledge, graph, version, plan, Comparison(question, choice.budget, columns),
                 shown, ideas, choice)


def enough(choice: Choice) -> bool:
    """Whether there are methods to compare; says so when not."""
    if len(choice.methods) < FEWEST:
        st.write(f"Choose {FEWEST} to {MOST} methods at the left.")
    return len(choice.methods) >= FEWEST


def compare_picture(sides: Sides, drawing: Drawing) -> str | None:
    """One panel per method on one layout; returns the selected node."""
    columns = sides.comparison.columns
    empty = Retrieval(sides.plan.question, "", {}, (), (), ())
    retrievals = [c.retrieval or empty for c in columns]
    # Without its passages, a method that finds nothing else would have no picture.
    contract = drawing.contract and all(c.found for c in columns if c.retrieval)
    if contract:
        retrievals = [contract_passages(r).retrieval for r in retrievals]
    if sides.choice.blind:
        retrievals = [_anonymous(r) for r in retrievals]
    frozen, others = _frozen(sides.knowledge.path, sides.version, sides.plan.question,
                             _drawable(sides), sides)
    positions = beside(frozen, [n for r in retrievals for n in foremost(r, DRAWN)],
                       _near(sides.graph, retrievals), ASPECT)
    key = f"compare-{sides.knowledge.path.stem}"
    picked = panels(panel_data(
        retrievals, positions=positions, limit=DRAWN, aspect=ASPECT,
        others=[n for n in others if not (contract and n.kind == "passage")],
        captions=[Caption(name, idea, _footer(column, len(r.nodes), sides.choice.blind))
                  for name, idea, column, r in zip(sides.names, sides.ideas, columns, retrievals,
                                                   strict=True)],
        thickness="weight" if sides.choice.blind else drawing.thickness, ramp=drawing.ramp,
        lone=sides.choice.lone, selected=selected(key) or st.query_params.get("node")), key=key)
    if picked:
        st.query_params["node"] = picked
    else:
        st.query_params.pop("node", None)
    return picked


def _anonymous(retrieval: Retrieval) -> Retrieval:
    """A retrieval without what tells the method: reasons, masses, flows and what was touched."""
    kept = {n.id for n in retrieval.nodes if n.state == SATURATED}
    return replace(
        retrieval, nodes=tuple(replace(n, reason="", mass=0.0, capacity=0.0, source=0.0)
                               for n in retrieval.nodes if n.id in kept),
        edges=tuple(replace(e, flow=0.0) for e in retrieval.edges
                    if e.source in kept and e.target in kept))


def _near(graph: Graph, retrievals: list[Retrieval]) -> list[tuple[str, str]]:
    """Edges of the graph at the drawn nodes, and those a method drew to nodes of its own."""
    own = [(e.source, e.target) for r in retrievals for e in r.edges
           if e.source not in graph.row or e.target not in graph.row]
    return own + [
        (n.id, graph.ids[v]) for r in retrievals for n in foremost(r, DRAWN) if n.id in graph.row
        for v in graph.around(graph.row[n.id]).tolist()]


def _footer(column: Column, size: int, blind: bool) -> str:
    if column.retrieval is None:
        return column.error
    parts = [f"{len(column.found):,} nodes",
             f"{len(column.retrieval.passages)} passages, {column.tokens:,} tokens"]
    parts += [] if blind else [f"{column.retrieval.work.total_milliseconds:.0f} ms"]
    parts += [f"{DRAWN} of {size:,} drawn"] if size > DRAWN else []
    return " · ".join(parts)


def _drawable(sides: Sides) -> tuple[str, ...]:
    """The default methods whose layers are built."""
    built = {layer.name for layer in sides.knowledge.layers() if layer.state == "built"}
    return tuple(name for name in DEFAULT if built.issuperset(METHODS[name].needs))


@st.cache_resource(max_entries=32, show_spinner=False)
def _frozen(path: Path, version: str, question: str, names: tuple[str, ...],
            _sides: Sides) -> tuple[Positions, tuple[RetrievedNode, ...]]:
    """One layout for what the default methods show: no parameter or choice moves a node."""
    columns = [make_column(name, name, partial(
        retrieved, path, version, question, method_of(name).fitted(_sides.graph),
        _sides.knowledge, _sides.graph, _sides.plan), _sides.graph, BUDGET) for name in names]
    retrievals = [column.retrieval for column in columns if column.retrieval is not None]
    first = {n.id for r in retrievals[:1] for n in r.nodes if n.state == SATURATED}
    return freeze(retrievals, first, DRAWN, ASPECT)


def _columns(cells: list[str], name: str = "columns") -> str:
    """HTML side by side, in the columns of the picture where they fit."""
    width = 3 if len(cells) in (3, 5, 6) else 2
    return (f"<div class='{name}' style='display:grid;gap:14px 22px;grid-template-columns:"
            f"repeat(auto-fit,minmax(max(260px,calc({100 // width}% - 22px)),1fr))'>"
            + "".join(f"<section>{cell}</section>" for cell in cells) + "</div>")


def node_reasons(sides: Sides, selected: str | None) -> None:
    """Why the selected node is there, in the words of each method."""
    nodes = {n.id: n for c in sides.comparison.columns if c.retrieval for n in c.retrieval.nodes}
    if selected not in nodes:
        return
    st.html(f"<h4 style='margin:0'>{safe(shown_name(nodes[selected]))}</h4>")
    st.html(_columns([f"<b>{safe(name)}</b><br>{_why(column, selected, sides.choice.blind)}"
                      for name, column in sides.pairs]))


def _why(column: Column, node_id: str, blind: bool) -> str:
    node = next((n for n in column.retrieval.nodes if n.id == node_id), None) if (
        column.retrieval) else None
    if node is None:
        return "<span style='opacity:.7'>not retrieved</span>"
    state = "retrieved" if node.state == SATURATED else f"not retrieved, {node.state}"
    return f"{state}" + ("" if blind else f": {safe(node.reason)}")


def differences_tab(sides: Sides) -> None:
    """What one brings and another leaves out, in words."""
    if sides.choice.blind:
        st.write("The differences name the methods: reveal the names to read them.")
        return
    for difference in sides.comparison.differences():
        st.html(f"<p style='margin:0'>{safe(difference.sentence)}</p>")
    if not sides.comparison.differences():
        st.write("All methods found the same nodes.")


def answers_tab(sides: Sides) -> None:
    """The extractive answer from each method's passages."""
    st.caption("Sentences of your documents, quoted, from the passages within the budget; no "
               "language model.")
    cells = []
    for name, column in sides.pairs:
        cell = f"<b>{safe(name)}</b>"
        if column.retrieval is None:
            cells.append(f"{cell}<p>{safe(column.error)}</p>")
            continue
        answer = sides.knowledge.answer(column.retrieval, sides.plan)
        if answer.abstained:
            cell += f"<p>Not in these passages: best similarity {answer.best:.2f}.</p>"
        cell += "<p>" + " ".join(
            f"{safe(s.text)} <sup>[{s.citation}]</sup>" for s in answer.sentences) + "</p>"
        cells.append(cell + "".join(
            f"<small>[{c.number}] {safe(c.title)} — {safe(c.where)}</small><br>"
            for c in answer.citations))
    st.html(_columns(cells))


def column_passages_tab(sides: Sides) -> None:
    """The passages within the budget, best first; those of one method alone are marked."""
    only = sides.comparison.only("passages")
    cells = []
    for name, column in sides.pairs:
        rows = [f"<b>{safe(name)}</b> <small>{column.tokens:,} of {sides.comparison.budget:,} "
                "tokens</small>"]
        rows += [f"<details><summary>{rank}. {safe(p.title)}"
                 f"{' · <b>only here</b>' * (p.id in only[column.name])}</summary>"
                 f"<p>{safe(p.text, 4000)}</p><small>{safe(where(p))}</small></details>"
                 for rank, p in enumerate(column.retrieval.passages, 1)] if column.retrieval else [
                     f"<p>{safe(column.error)}</p>"]
        cells.append("".join(rows))
    st.html(_columns(cells))


def overlap_tab(sides: Sides) -> None:
    """Jaccard overlap of every two methods, as numbers on colors."""
    st.caption("Jaccard index: what two methods share over what either found; 1 is the same.")
    tables = []
    for of, title in (("nodes", "Nodes"), ("passages", "Passages within the budget")):
        head = "".join(f"<th scope='col'>{safe(n)}</th>" for n in sides.names)
        body = "".join(
            f"<tr><th scope='row'>{safe(name)}</th>" + "".join(
                f"<td style='background:rgb(52 163 84/{0.6 * v:.2f})'>{v:.2f}</td>" for v in row)
            + "</tr>" for name, row in zip(sides.names, sides.comparison.overlap(of), strict=True))
        tables.append(f"<table><caption>{title}</caption><tr><td></td>{head}</tr>{body}</table>")
    st.html("<style>.overlap th{font-weight:500;font-size:.85rem;padding:4px 6px;"
            "vertical-align:bottom}.overlap th[scope=row]{text-align:left;vertical-align:middle}"
            ".overlap td{text-align:center;font-variant-numeric:tabular-nums;padding:4px 10px}"
            ".overlap caption{text-align:left;font-weight:600;padding:0 6px}</style>"
            + _columns(tables, "overlap"))


def numbers_tab(sides: Sides) -> None:
    """Size, tokens, time and work of every method."""
    only = {of: sides.comparison.only(of) for of in ("nodes", "passages")}
    st.dataframe([{
        "method": name, "nodes": len(c.found), "nodes only here": len(only["nodes"][c.name]),
        "passages": len(r.passages), "passages only here": len(only["passages"][c.name]),
        "tokens": c.tokens, "time, ms": r.work.total_milliseconds,
        "nodes touched": r.work.nodes_touched, "edges touched": r.work.edges_touched,
        "rounds": r.work.rounds}
        for name, c in sides.pairs if (r := c.retrieval) is not None], hide_index=True,
        column_config={"time, ms": st.column_config.NumberColumn(format="%.1f")})
    for name, c in sides.pairs:
        for notice in c.retrieval.notices if c.retrieval else ():
            st.caption(f":material/info: {plain(name)}: {plain(clean(notice, 400))}")
