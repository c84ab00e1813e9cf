"""What the pages are made of; with the component, the only place that uses Streamlit."""

from qafd.ui.compare import (
    answers_tab,
    column_passages_tab,
    compare_controls,
    compare_picture,
    compared,
    differences_tab,
    enough,
    node_reasons,
    numbers_tab,
    overlap_tab,
    ready,
)
from qafd.ui.detail import node_detail
from qafd.ui.documents import documents_table, intake, jobs_panel
from qafd.ui.evaluate import (
    chosen_methods,
    measured,
    numbers,
    question_set,
    questions_table,
    recall_chart,
    verdict,
)
from qafd.ui.explore import (
    ask_something,
    drawing_controls,
    empty_workspace,
    explored,
    method_controls,
    picture,
    question_box,
    status_line,
)
from qafd.ui.pages import pages
from qafd.ui.settings import versions, wipe, workspace_settings
from qafd.ui.tabs import answer_tab, certificate_tab, code_tab, passages_tab, table_tab
from qafd.ui.workspaces import keep_workers_going, run, workspace

__all__ = [
    "chosen_methods", "measured", "numbers", "question_set", "questions_table", "recall_chart",
    "verdict",
    "answer_tab", "answers_tab", "ask_something", "certificate_tab", "code_tab",
    "column_passages_tab", "compare_controls", "compare_picture", "compared", "differences_tab",
    "documents_table", "drawing_controls", "empty_workspace", "enough", "explored", "intake",
    "jobs_panel", "keep_workers_going", "method_controls", "node_detail", "node_reasons",
    "numbers_tab", "overlap_tab", "pages", "passages_tab", "picture", "question_box", "ready",
    "run", "status_line", "table_tab", "versions", "wipe", "workspace", "workspace_settings",
]
