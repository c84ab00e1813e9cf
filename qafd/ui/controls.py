"""Controls made from the parameters of any retrieval method."""

from collections.abc import Mapping
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any, TypeVar, cast

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from qafd.graph import Graph
from qafd.retrieve.qafd import FlowDiffusion
from qafd.ui.workspaces import keep

NEAREST = 20  # passages that may be seeds beside the names of the question
_LABELS = {"variant": "Edge weight", "rule": "Source mass rule", "layer": "Diffuse over",
           "capacity": "Sink capacity", "similarity": "Similarity map", "top": "Passages ranked"}
Method = TypeVar("Method")


def controls(method: Method, prefix: str, graph: Graph, basic: DeltaGenerator,
             advanced: DeltaGenerator, fixed: Mapping[str, Any] = MappingProxyType({}),
             ) -> Method:
    """The method with the values of its controls, which are drawn into two containers.

    `prefix` begins the keys of the widgets, in session and URL; parameters in `fixed` have the
    values given there and no control.
    """
    usual: Any = replace(cast("Any", method), **fixed)
    free = [spec for spec in fields(usual) if spec.name not in fixed]
    # Rule and seeding come before the controls whose meaning they decide.
    with advanced:
        chosen = {spec.name: _control(spec, usual, usual, prefix, graph)
                  for spec in free if spec.metadata["advanced"]}
    current = replace(usual, **chosen).fitted(graph)
    with basic:
        chosen = {spec.name: _control(spec, current, usual, prefix, graph)
                  for spec in free if not spec.metadata["advanced"]}
    changed: Method = replace(current, **chosen)
    return changed


def start_anew(method: Any, prefix: str, graph: Graph) -> None:
    """Set the controls of a method to what is suggested for a graph, before they are drawn."""
    fitted = method.fitted(graph)
    for spec in fields(fitted):
        st.session_state[f"{prefix}_{spec.name}"] = getattr(fitted, spec.name)


def _control(spec: Any, method: Any, usual: Any, prefix: str, graph: Graph) -> Any:
    """The control of one parameter, made from its range or options."""
    value, meta = getattr(method, spec.name), spec.metadata
    key, label = f"{prefix}_{spec.name}", _label(spec.name, method)
    high, whole = meta["high"], isinstance(value, int)
    if isinstance(method, FlowDiffusion):
        if spec.name == "mass":
            high, whole = method.highest(graph), method.rule in ("budget", "total")
            key += "" if method.rule == usual.rule else f"_{method.rule}"
        elif spec.name == "seeds" and method.seeding == "question":
            high = NEAREST
    if meta["options"]:
        return st.selectbox(label, meta["options"], index=meta["options"].index(value),
                            key=keep(key), bind="query-params", help=meta["help"])
    low, step = meta["low"], 1.0 if whole else 0.01 if high <= 2 else 0.1
    kind = type(spec.default)
    keep(key)
    suggested = st.session_state.setdefault("suggested", {})
    if key in st.session_state:
        # Graphs grow and shrink: an untouched control follows, and none stays out of range.
        if st.session_state[key] == suggested.get(key, value):
            st.session_state[key] = kind(value)
        st.session_state[key] = kind(min(max(st.session_state[key], low), high))
    suggested[key] = kind(value)
    number = st.slider(label, kind(low), kind(high), kind(value), kind(step), key=key,
                       format="%d" if whole else "%.2f", bind="query-params", help=meta["help"])
    if spec.name == "mass":
        # What enters where is known only when the question has been answered.
        st.session_state["under_mass"] = st.container()
    return number


def _label(name: str, method: Any) -> str:
    """What a parameter is called, in the words of the chosen rules."""
    if isinstance(method, FlowDiffusion):
        if name == "mass":
            return {"budget": ("Source mass (fills at most this many nodes)"
                               if method.capacity == "unit" else
                               "Source mass (in mean capacities)"),
                    "total": ("Token budget" if method.capacity == "tokens" else "Mass in all"),
                    }.get(method.rule, "Source mass alpha")
        if name == "seeds":
            return "Passage seeds" if method.seeding == "question" else "Seeds N"
    return _LABELS.get(name, name.replace("_", " ").capitalize())
