"""The Lab's sweep of any method's own parameters, beside that of the diffusion."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, cast

import streamlit as st

from qafd.app import figures
from qafd.app.escaping import said
from qafd.app.lab.experiments import chart, compute_once
from qafd.app.result import View
from qafd.app.session import keep
from qafd.errors import ParameterError, StoreError
from qafd.lab.sweep import Variation, values_for, vary
from qafd.retrieve import METHODS
from qafd.retrieve.base import Retriever
from qafd.wording import say

LINES = 6  # values of the second parameter, at most


def vary_tab(view: View) -> None:
    """How a method's result follows one of its parameters, and a second one as several lines."""
    left, middle, right = st.columns(3, gap="medium")
    labels = {kind.label: name for name, kind in METHODS.items()}
    name = left.selectbox(say("Method"), list(METHODS), key=keep("vary_method", labels),
                          bind="query-params", format_func=lambda one: say(METHODS[one].label))
    method: Retriever = METHODS[name]().fitted(view.graph)
    own = [spec.name for spec in fields(cast("Any", method)) if spec.name != "top"]
    across = middle.selectbox(say("Parameter"), own, key=keep(f"vary_{name}"), bind="query-params",
                              format_func=_say_name)
    others = ["", *(one for one in own if one != across)]
    beside = right.selectbox(say("One line for each"), others, key=keep(f"vary_{name}_by"),
                             bind="query-params", format_func=lambda one: _say_name(one) or say("none"))
    values = {across: values_for(method, across)}
    if beside:
        values[beside] = values_for(method, beside)[:LINES]
    try:
        with st.spinner(say("Building layers")):
            view.knowledge.build_layers(method.needs)
        found: tuple[Variation, ...] = compute_once(
            "vary", (view.knowledge.id, view.version, view.question, method, repr(values)),
            lambda progress: vary(view.knowledge.corpus(view.graph), view.plan, method, values,
                                  progress=progress))
    except (ParameterError, StoreError) as error:
        st.caption(f":material/info: {said(error)}")
        return
    _drawn(found, across, list(values))


def _drawn(found: Sequence[Variation], across: str, names: Sequence[str]) -> None:
    metrics = ["size", "tokens", "milliseconds"]
    metric = st.segmented_control(
        say("Shown"), metrics, default="size", required=True, key=keep("vary_metric"),
        bind="query-params", format_func=lambda m: say(figures.METRICS[m][0])) or "size"
    amounts = [getattr(one, metric) for one in found]
    rows = [(*(str(one.params[name]) for name in names), one.size, one.tokens, one.milliseconds)
            for one in found]
    ink = "#f0efea" if st.context.theme.type == "dark" else "#23231f"
    chart(figures.sweep_lines(found, across, metric, ink),
          say("Lines of {what} over {parameter}: from {least} to {most}.",
              what=figures.METRICS[metric][1], parameter=across, least=f"{min(amounts):.3g}",
              most=f"{max(amounts):.3g}"), "vary", (*names, *metrics), rows)


def _say_name(name: str) -> str:
    return say(name.replace("_", " ").capitalize()) if name else ""
