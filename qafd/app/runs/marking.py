"""The passages of a run, each with a button that marks it as one that answers."""

from functools import partial

import streamlit as st

from qafd.app.escaping import plain
from qafd.app.pages import way
from qafd.app.result import plan_of, retrieve_by
from qafd.evaluate.collection import name_passage
from qafd.knowledge import KnowledgeGraph, version_of
from qafd.reading.text.plaintext import one_line
from qafd.retrieve.base import RetrievedPassage
from qafd.retrieve.methods import is_method, label_of, method_of
from qafd.runs import Run
from qafd.runs.imported import FIRST, mark_answer, read_marks
from qafd.view.panel import clean
from qafd.wording import count

SHOWN = 240  # characters of a passage


def draw_marks(knowledge: KnowledgeGraph, run: Run) -> None:
    """Draw the first passages of a run and of the flow, and mark those that answer, for Evaluate."""
    question, own = run.retrieval.query, run.retrieval.method
    marks = read_marks(knowledge)
    chosen = marks.get(one_line(question), ())
    st.header("Which passage answers?", anchor=False)
    st.caption("One click marks it. Evaluate then measures all methods with the marked passages.")
    graph, version = knowledge.graph, version_of(knowledge.graph)
    plan = plan_of(knowledge, graph, version, question)
    flow = retrieve_by(knowledge, graph, version, method_of("qafd").fit_to(graph), plan)
    found: dict[str, tuple[RetrievedPassage, list[str]]] = {}
    for name, retrieval in ((label_of(own), run.retrieval), (label_of("qafd"), flow)):
        if name == label_of("qafd") and own == "qafd" and retrieval is flow:
            continue
        for place, passage in enumerate(retrieval.passages[:FIRST], 1):
            found.setdefault(passage.id, (passage, []))[1].append(f"{name}: {place}")
    for passage, places in found.values():
        # a question of a file has documents as its gold
        name = passage.document if passage.document in chosen else name_passage(passage)
        marked = name in chosen
        left, right = st.columns([1, 5], vertical_alignment="center")
        left.button("Answers" if marked else "This answers", key=f"mark {run.id} {passage.id}",
                    type="primary" if marked else "secondary",
                    icon=":material/check:" if marked else None,
                    on_click=partial(mark_answer, knowledge, question, name))
        right.markdown(f"**{plain(clean(passage.name, 120))}** · {plain(', '.join(places))}  \n"
                       f"{plain(clean(one_line(passage.text, SHOWN), SHOWN))}")
    if marks:
        methods = ["qafd", *([] if is_method(own) else [own])]
        way("evaluate", f"Measure {count(len(marks), 'marked question')}", gold="Write", measure=methods)
