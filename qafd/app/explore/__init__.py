"""The Explore page: a question, the subgraph that flow diffusion retrieves for it, and why."""

from collections.abc import Callable

import streamlit as st

from qafd.app.asking import ask_something, empty_workspace, question_box
from qafd.app.error_display import contain_errors, with_errors_shown
from qafd.app.explore.card import edge_detail, node_detail
from qafd.app.explore.explanation import explanation_of, next_in
from qafd.app.explore.overview import overview_map
from qafd.app.explore.question import draw_reading, how_it_was_read, keep_asked
from qafd.app.explore.sources import best_names
from qafd.app.explore.tabs import (
    certificate_tab,
    code_tab,
    conditions_tab,
    keep_button,
    passages_tab,
    table_tab,
    whatif_tab,
)
from qafd.app.explore.why import chosen_path, paths_tab, why_tab
from qafd.app.pages import draw_tabs, heading
from qafd.app.picture import both_weights, deselect, drawing_controls, ends_of, picture
from qafd.app.result import (
    AWARE,
    BOTH,
    View,
    draw_mass,
    explore_question,
    method_controls,
    reader,
    reading_note,
    status_line,
)
from qafd.app.session import bound, is_private, value_of
from qafd.app.workspaces import workspace
from qafd.knowledge import KnowledgeGraph
from qafd.models import LLM
from qafd.retrieve.conditions import count_conditions
from qafd.retrieve.qafd import FlowDiffusion
from qafd.view.drawing import Drawing
from qafd.wording import join_words

TABS: dict[str, Callable[[View], None]] = {
    "Passages": passages_tab, "Why": why_tab, "Paths": paths_tab, "What if": whatif_tab,
    "Table": table_tab, "Certificate": certificate_tab, "Code": code_tab}


def show() -> None:
    """Draw the page."""
    knowledge = workspace()
    heading("QAFD Explorer", ("Ask your documents, and see which part of their graph answers, "
                              "and why."))
    question = question_box(knowledge)
    if not len(knowledge.graph):
        empty_workspace(knowledge)
        return
    method = method_controls(knowledge, mass_apart=True)
    drawing = drawing_controls()
    if not question.strip():
        ask_something(knowledge)
        overview_map(knowledge, asking=True)
        return
    how_it_was_read(question)
    client = reader(knowledge, question)
    # Moving the mass or selecting a node draws the result again, and nothing around it.
    st.fragment(with_errors_shown(_result))(knowledge, question, method, drawing, client)
    keep_asked(knowledge, question, is_private())  # last: a workspace that is being written may let it wait


def _result(knowledge: KnowledgeGraph, question: str, method: FlowDiffusion, drawing: Drawing,
            client: LLM | None) -> None:
    """Draw the picture with its controls, the card next to it and, on request, the tabs below."""
    notes = st.container(key="notes", gap="xxsmall")
    both = value_of("edges", AWARE) == BOTH
    # Two pictures take the width of the page; the card is then below them.
    left, right = (st.container(), st.container()) if both else st.columns([5, 2], gap="medium")
    # Where no connection stays open, each part would open and close the file again.
    with knowledge.store():
        with left:
            view = explore_question(knowledge, question, draw_mass(knowledge, method), client)
            with notes:
                reading_note(view)
            following, possible = "", frozenset[str]()
            with contain_errors("Sure and possible nodes"):
                explanation = explanation_of(view)
                if len(explanation.possible) < explanation.full:  # else no ring would tell one from another
                    possible = explanation.possible
            with contain_errors("The next node to fill"):
                following = next_in(view)
            if both:
                selected = both_weights(view, drawing)
            else:
                selected = picture(view, drawing, chosen_path(view), best_names(view), possible)
            draw_reading(view)
            status_line(view, following)
            keep_button(view)
        with right, st.container(key="card"), contain_errors("The card"):
            if selected:
                st.button("Back to the answer", icon=":material/arrow_back:", type="tertiary",
                          key="back", on_click=deselect, args=(view,))
            ends = ends_of(selected, view, drawing.contract)
            if ends:
                edge_detail(view, ends, drawing.contract)
            else:
                node_detail(view, selected)
        # Folded, they need not be drawn and sent with every move of the mass.
        tabs = _tabs(view)
        if st.toggle(f"More: {join_words([title.lower() for title in tabs])}",
                     "tab" in st.query_params, **bound("more")):
            draw_tabs(tabs, "tab", view)


def _tabs(view: View) -> dict[str, Callable[[View], None]]:
    """Draw the tabs; exact retrieval needs a question of two conditions or more."""
    if count_conditions(view.graph, view.plan) < 2:
        return TABS
    return TABS | {"Conditions": conditions_tab}
