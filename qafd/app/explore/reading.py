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
from qafd.view.panel import clean, counted


def reader(knowledge: KnowledgeGraph, question: str) -> Metered | None:
    """The model that shall read the question, in the sidebar; None for the local rules."""
    model = language_model(knowledge.path, "plan", question)
    if model is None:
        return None
    with st.sidebar:
        wanted = st.toggle(
            f"Let {plain(clean(model.name, 40))} read the question", key=keep("model_reads"),
            bind="query-params", help="It names the keywords, and the parts of a complex question "
            "when subqueries are on (Advanced). One call for each new question.")
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
        named = {level: ", ".join(clean(k.text, 60) for k in view.plan.keywords
                                  if k.level == level) or "none" for level in ("low", "high")}
        st.caption(f"Read by {plain(view.plan.planner)}. Things: {plain(named['low'])}. "
                   f"Themes: {plain(named['high'])}.")
    parts = view.retrieval.parts
    if not parts:
        if view.method.subqueries == "on":
            st.caption("The question was not taken apart: it has one part.")
        return view
    for number, part in enumerate(parts, 1):
        brought = [n for n in view.retrieval.nodes if number - 1 in n.brought_by]
        alone = sum(len(n.brought_by) == 1 for n in brought)
        st.caption(f"**{number}** {plain(clean(part.query, 200))} — "
                   f"{counted(len(brought), 'node')}, {alone} of them by this part alone")
    shown = st.segmented_control(
        "Show", range(len(parts) + 1), default=0, required=True, key=keep("shown_part"),
        bind="query-params", format_func=lambda part: f"Part {part}" if part else "All parts") or 0
    if not 0 < shown <= len(parts):
        return view
    plan = view.plan.subqueries[shown - 1]
    method = replace(view.method, **parts[shown - 1].params)
    if method.divided:
        st.caption(f"This part has {method.mass:.4g} of the {view.method.mass:.4g} of mass, and "
                   "the tabs below tell of it alone.")
    # The question stays: it is what the layout was made for, and no node shall move.
    return replace(view, plan=plan, method=method, retrieval=view.knowledge.retrieve(
        plan, method, graph=view.graph))
