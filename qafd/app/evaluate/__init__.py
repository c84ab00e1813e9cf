"""The Evaluate page: methods measured on questions with known passages and answers."""

from qafd.app.asking import empty_workspace
from qafd.app.evaluate.gold import question_set
from qafd.app.evaluate.measuring import choose_methods, measure_methods
from qafd.app.evaluate.results import chart, numbers, questions_table, verdict
from qafd.app.pages import heading
from qafd.app.workspaces import workspace


def show() -> None:
    """Draw the page."""
    knowledge = workspace()
    heading("Evaluate", "How often each method finds what is known to answer a question.")
    if not len(knowledge.graph):
        empty_workspace(knowledge)
        return
    asked = question_set(knowledge)
    methods = choose_methods(knowledge)
    if asked is None or not methods:
        return
    result = measure_methods(knowledge, asked, methods)
    if result is None:
        return
    measure = verdict(result)
    chart(result, measure)
    numbers(result, measure)
    questions_table(result, measure)
