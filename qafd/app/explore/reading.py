"""How a question is read: by rules or by a model, whole or in parts, and what each part brings."""

from dataclasses import replace

import streamlit as st

from qafd.app.escaping import plain
from qafd.app.provider import language_model
from qafd.app.result import View
from qafd.app.session import keep
from qafd.errors import MalformedReplyError
from qafd.knowledge import KnowledgeGraph
from qafd.models import Reply
from qafd.models.cost import Metered
from qafd.models.prompts_answer import read_plan
from qafd.view.panel import clean
from qafd.wording import say
from qafd.wording.counts import count

MODEL_READS = "model_reads"


def reader(knowledge: KnowledgeGraph, question: str) -> Metered | None:
    """The model that shall read the question, in the sidebar; None for the local rules."""
    model = language_model(knowledge.url, "plan", question)
    if model is None:
        return None
    with st.sidebar:
        wanted = st.toggle(
            say("Let {model} read the question", model=plain(clean(model.name, 40))),
            key=keep(MODEL_READS), bind="query-params",
            help=say("It names the keywords, and the parts of a complex question when subqueries "
                     "are on (Advanced), and rewrites follow-ups. One call for each new question."))
    return replace(model, accepts=_names_keywords) if wanted else None


def _names_keywords(reply: Reply) -> bool:
    try:
        read_plan(reply.text)
    except (MalformedReplyError, ValueError, AttributeError):
        return False
    return True


def layered(view: View) -> View:
    """The view, or that of one subquery; says how the question was read where a choice was made."""
    if view.plan.planner != "local":
        st.caption(say("Read by {planner}. Things: {things}. Themes: {themes}.",
                       planner=plain(view.plan.planner), things=_keywords(view, "low"),
                       themes=_keywords(view, "high")))
    parts = view.retrieval.parts
    if parts and view.method.diffusions == "each":
        st.caption(say("{number} diffusions, one for each seed; what they retrieve is united.",
                       number=len(parts)))
        return view
    if not parts:
        if view.method.subqueries == "on":
            st.caption(say("The question was not taken apart: it has one part."))
        return view
    for number, part in enumerate(parts, 1):
        brought = [n for n in view.retrieval.nodes if number - 1 in n.brought_by]
        alone = sum(len(n.brought_by) == 1 for n in brought)
        st.caption(say("**{number}** {question} — {nodes}, {alone} of them by this part alone",
                       number=number, question=plain(clean(part.query, 200)), alone=alone,
                       nodes=count(len(brought), "node")))
    shown = st.segmented_control(
        say("Show"), range(len(parts) + 1), default=0, required=True, key=keep("shown_part"),
        bind="query-params", format_func=_part) or 0
    if not 0 < shown <= len(parts):
        return view
    plan = view.plan.subqueries[shown - 1]
    method = replace(view.method, **parts[shown - 1].params)
    if method.divided:
        st.caption(say("This part has {mass} of the {all} of mass, and the tabs below tell of it "
                       "alone.", mass=f"{method.mass:.4g}", all=f"{view.method.mass:.4g}"))
    # The question stays: it is what the layout was made for, and no node shall move.
    return replace(view, plan=plan, method=method, retrieval=view.knowledge.retrieve(
        plan, method, graph=view.graph))


def _keywords(view: View, level: str) -> str:
    words = [clean(keyword.text, 60) for keyword in view.plan.keywords if keyword.level == level]
    return plain(", ".join(words)) if words else say("none")


def _part(part: int) -> str:
    return say("Part {number}", number=part) if part else say("All parts")
