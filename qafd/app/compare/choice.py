"""The controls of the Compare page, in the sidebar."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, cast

import streamlit as st

from qafd.app.controls import ControlPlaces, controls, set_suggested
from qafd.app.escaping import escape_sentence
from qafd.app.session import bound, choose_option, forget_all_but, keep, put, session
from qafd.errors import ParameterError
from qafd.graph import Graph
from qafd.knowledge import KnowledgeGraph
from qafd.retrieve import METHODS
from qafd.retrieve.base import Retriever
from qafd.retrieve.compare import BUDGET, DEFAULT, FEWEST, MOST
from qafd.retrieve.methods import PAPER, canonical, label_of, method_of
from qafd.runs.imported import list_foreign

PREFIXES = {"qafd": "best", PAPER: "paper"}  # Explore's controls of the same method
SEEDING = {"own": "Own", "question": "Question", "keywords": "Keywords"}


@dataclass(frozen=True)
class Choice:
    """The methods to compare, and how to show them."""

    methods: Mapping[str, Retriever]
    budget: int
    lone: bool
    blind: bool
    order: int


def compare_controls(knowledge: KnowledgeGraph) -> Choice:
    """Draw methods, budget and parameters in the sidebar, and return the choice."""
    with st.sidebar:
        foreign = list_foreign(knowledge)
        names = _methods([*METHODS, PAPER, *foreign])
        budget = st.slider("Tokens of passages for each", 200, 8000, BUDGET, 100,
                           **bound("budget"))
        seeding = choose_option(
            "Seeds", SEEDING, "seeding",
            help=("Where methods begin: as each prefers, or for all that can at what the "
                  "question names and the nearest passages, or at what is nearest to its "
                  "keywords."))
        lone = st.toggle("Found by one method", **bound("lone"),
                         help="Color only the nodes that one method alone retrieves.")
        blind = st.toggle("Blind", **bound("blind"),
                          help="Columns in random order, without names, reasons and flows.")
        order = 0
        if blind:
            order = st.number_input("Order", 1, 999, 1, **bound("order"),
                                    help="The seed of the random order.")
            blind = not st.toggle("Reveal the names", **bound("reveal"))
        if session().restart_controls:
            _set_all_suggested(knowledge.graph)
        methods = {name: foreign[name] if name in foreign else _method_controls(
            name, seeding, knowledge.graph) for name in names}
    return Choice(methods, int(budget), lone, blind, int(order))


def _set_all_suggested(graph: Graph) -> None:
    session().restart_controls = False
    forget_all_but("ws", "q", "methods", "budget", "seeding", "lone", "blind", "order", "reveal",
                   "passages", "thickness", "ramp")
    for name in (*METHODS, PAPER):
        set_suggested(method_of(name), PREFIXES.get(name, name), graph)


def _method_controls(name: str, seeding: str, graph: Graph) -> Retriever:
    """Return the method with the values of its controls. Shared parameters have no control here."""
    method = method_of(name)
    shared = {}
    for spec in fields(cast("Any", method)):
        if spec.name == "seeding" and seeding in spec.metadata["options"]:
            shared["seeding"] = seeding
    with st.expander(label_of(name)):
        mass, basic, advanced = st.container(), st.container(), st.container()
        return controls(method, PREFIXES.get(name, name), graph, ControlPlaces(basic, advanced, mass),
                        shared)


def _methods(options: list[str]) -> list[str]:
    """Return the chosen methods; the link has their short names, or those of the systems."""
    if keep("methods") not in st.session_state:
        linked = []
        for name in st.query_params.get_all("methods"):
            try:
                linked.append(name if name in options else canonical(name))
            except ParameterError as error:
                st.caption(f":material/info: {escape_sentence(error)}")
        put("methods", list(dict.fromkeys(linked))[:MOST] or list(DEFAULT))
        keep("methods")
    names = st.multiselect(
        "Methods", options, format_func=lambda name: label_of(name),
        max_selections=MOST, key="methods",
        help="Two to six, on this graph. Ours are re-implementations of the ideas; retrievals of "
             "your own system are imported on Runs.")
    if tuple(names) == DEFAULT:
        st.query_params.pop("methods", None)
    else:
        st.query_params["methods"] = names
    return names


def enough(choice: Choice) -> bool:
    """Return True if there are methods to compare; otherwise show a notice."""
    if len(choice.methods) < FEWEST:
        st.write(f"Choose {FEWEST} to {MOST} methods in the sidebar.")
    return len(choice.methods) >= FEWEST
