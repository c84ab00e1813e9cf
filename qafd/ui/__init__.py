"""What the pages are made of; with the component, the only place that uses Streamlit."""

from qafd.ui.answer import answer_tab
from qafd.ui.bounds import guarantees_tab, scale_tab
from qafd.ui.columns import (
    answers_tab,
    column_passages_tab,
    differences_tab,
    node_reasons,
    numbers_tab,
    overlap_tab,
)
from qafd.ui.compare import compare_controls, compare_picture, compared, enough, ready
from qafd.ui.contrast import contrast_tab
from qafd.ui.detail import node_detail
from qafd.ui.documents import documents_table, intake, jobs_panel
from qafd.ui.embeddings import embeddings_tab
from qafd.ui.endpoint import endpoint_settings
from qafd.ui.evaluate import (
    chosen_methods,
    measured,
    numbers,
    questions_table,
    recall_chart,
    verdict,
)
from qafd.ui.explained import next_in
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
from qafd.ui.gold import question_set
from qafd.ui.lab import (
    gates_tab,
    movie_tab,
    robustness_tab,
    sweep_tab,
    timeline_tab,
)
from qafd.ui.learn import chosen_card, show, taught
from qafd.ui.models import ledger, plan_card, reading_controls
from qafd.ui.pages import pages
from qafd.ui.paths import chosen_path, paths_tab
from qafd.ui.reading import layered, reader
from qafd.ui.settings import remake, versions, wipe, workspace_settings
from qafd.ui.tabs import certificate_tab, code_tab, passages_tab, table_tab
from qafd.ui.whatif import whatif_tab
from qafd.ui.why import why_tab
from qafd.ui.workspaces import keep_workers_going, run, workspace

__all__ = [
    "answer_tab", "answers_tab", "ask_something", "certificate_tab", "chosen_card",
    "chosen_methods", "chosen_path", "code_tab", "column_passages_tab", "compare_controls",
    "compare_picture", "compared", "contrast_tab", "differences_tab", "documents_table",
    "drawing_controls", "embeddings_tab", "empty_workspace", "endpoint_settings", "enough",
    "explored", "gates_tab", "guarantees_tab", "intake", "jobs_panel", "keep_workers_going",
    "layered", "ledger", "measured", "method_controls", "movie_tab", "next_in", "node_detail",
    "node_reasons", "numbers", "numbers_tab", "overlap_tab", "pages", "passages_tab",
    "paths_tab", "picture", "plan_card", "question_box", "question_set", "questions_table",
    "reader", "reading_controls", "ready", "recall_chart", "remake", "robustness_tab", "run",
    "scale_tab", "show", "status_line", "sweep_tab", "table_tab", "taught", "timeline_tab",
    "verdict", "versions", "whatif_tab", "why_tab", "wipe", "workspace", "workspace_settings",
]
