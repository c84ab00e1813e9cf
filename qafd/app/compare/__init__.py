"""The Compare page: the results of several retrieval methods for one question, side by side."""

from qafd.app.asking import ask_something, empty_workspace, question_box
from qafd.app.compare.columns import (
    answers_tab,
    column_passages_tab,
    differences_tab,
    node_reasons,
    table_tab,
)
from qafd.app.compare.comparison import (
    compare_controls,
    compare_methods,
    enough,
    prepare_layers,
    verdict_line,
)
from qafd.app.compare.picture import compare_picture
from qafd.app.pages import draw_tabs, heading
from qafd.app.picture import drawing_controls
from qafd.app.workspaces import workspace
from qafd.retrieve import METHODS

TABS = {"Differences": differences_tab, "Answers": answers_tab,
        "Passages": column_passages_tab, "Table": table_tab}


def show() -> None:
    """Draw the page."""
    knowledge = workspace()
    heading("Compare", (f"Compare what {len(METHODS)} methods of papers and your own retrievers find for "
                        "one question on one graph."))
    question = question_box(knowledge)
    if not len(knowledge.graph):
        empty_workspace(knowledge)
        return
    choice = compare_controls(knowledge)
    drawing = drawing_controls(contracted=True)
    if not question.strip():
        ask_something(knowledge)
        return
    if not enough(choice):
        return
    prepare_layers(knowledge, choice)
    sides = compare_methods(knowledge, question, choice)
    verdict_line(sides)
    selected = compare_picture(sides, drawing)
    node_reasons(sides, selected)
    draw_tabs(TABS, "view", sides)
