"""Controls made from the parameters of any retrieval method."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, TypeVar, cast

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from qafd.app.session import bound, exchange, keep, put, session, value_of
from qafd.graph import Graph
from qafd.retrieve.qafd import WHOLE, FlowDiffusion

NEAREST = 20  # passages that may be seeds next to the names of the question
_LABELS = {"a": "Constant a (hybrid)", "b": "Factor b (hybrid)",
           "variant": "Edge weight", "rule": "Source mass rule", "layer": "Diffuse over",
           "capacity": "Sink capacity", "similarity": "Similarity map", "top": "Passages ranked"}
_MASS = {("budget", "unit"): "Source mass: each tick below fills one more node",
         ("budget", ""): "Source mass (in mean capacities)",
         ("total", "tokens"): "Token budget", ("total", ""): "Total mass"}
Method = TypeVar("Method")

@dataclass(frozen=True)
class ControlPlaces:
    """The containers of the controls: basic ones, advanced ones, and the mass."""

    basic: DeltaGenerator
    advanced: DeltaGenerator
    mass: DeltaGenerator


def controls(method: Method, prefix: str, graph: Graph, places: ControlPlaces,
             fixed: Mapping[str, Any] = MappingProxyType({})) -> Method:
    """Draw the controls of a method into their places, and return it with their values.

    `prefix` begins the keys of the widgets, in session and URL; parameters in `fixed` have the
    values given there and no control.
    """
    usual: Any = replace(cast("Any", method), **fixed)
    free = [spec for spec in fields(usual) if spec.name not in fixed]
    # Rule and seeding precede the controls that depend on them, and the mass follows the
    # seeds, which decide how much is enough.
    chosen = {}
    with places.advanced:
        for spec in free:
            if spec.metadata["advanced"]:
                chosen[spec.name] = _control(spec, usual, usual, prefix, graph)
    current = replace(usual, **chosen).fit_to(graph)
    for spec in sorted(free, key=lambda spec: spec.name == "mass"):
        if not spec.metadata["advanced"]:
            with places.mass if spec.name == "mass" else places.basic:
                value = _control(spec, current, usual, prefix, graph)
            current = replace(current, **{spec.name: value})
    changed: Method = current
    return changed


def mass_control(method: FlowDiffusion, usual: FlowDiffusion, prefix: str, graph: Graph) -> FlowDiffusion:
    """Draw the control of the mass alone, and return the method with its value."""
    spec = next(spec for spec in fields(method) if spec.name == "mass")
    return replace(method, mass=_control(spec, method, usual, prefix, graph))


def set_suggested(method: Any, prefix: str, graph: Graph) -> None:
    """Set the controls of a method to the values suggested for a graph, before they are drawn."""
    fitted = method.fit_to(graph)
    for spec in fields(fitted):
        put(f"{prefix}_{spec.name}", getattr(fitted, spec.name))


def _control(spec: Any, method: Any, usual: Any, prefix: str, graph: Graph,
) -> Any:
    """Draw the control of a parameter from its range or options, and return its value."""
    value, meta = getattr(method, spec.name), spec.metadata
    key, label = f"{prefix}_{spec.name}", label_of_control(spec.name, method)
    if meta["options"]:
        return st.selectbox(label, meta["options"], index=meta["options"].index(value),
                            **bound(key),
                            help=meta["help"])
    high, whole = meta["high"], isinstance(value, int)
    step = 1.0 if whole else 0.01 if high <= 2 else 0.1
    if isinstance(method, FlowDiffusion):
        if spec.name == "mass":
            key += "" if method.rule == usual.rule else f"_{method.rule}"
            whole = method.rule in WHOLE
            high = max(method.highest(graph), value)
            step = 1.0 if whole else 0.01 if high <= 2 else 0.1
        elif spec.name == "seeds":
            most = NEAREST if method.seeding == "question" else high
            high = max(most_seeds(method, graph), value, min(int(set_to(key)), most))
    low, kind = meta["low"], type(spec.default)
    keep(key)
    suggested = exchange(f"suggested {key}", kind(value))
    if key in st.session_state:
        # Graphs grow and shrink: an untouched control follows, and none stays out of range.
        if st.session_state[key] == suggested:
            put(key, kind(value))
        put(key, kind(min(max(st.session_state[key], low), high)))
    digits = 0 if whole else max(2, math.ceil(-math.log10(step)))
    number = st.slider(label, kind(low), kind(high), kind(value), kind(step), key=key,
                       format=f"%.{digits}f", bind="query-params", help=meta["help"])
    if spec.name == "mass":
        session().highest_mass = float(high)
    return number


def set_to(key: str) -> float:
    """Return the number that a control was set to, or that the link asks for; 0 for none."""
    try:
        number = float(value_of(key, 0.0))
    except ValueError:
        return 0.0
    untouched = session().results.get(f"suggested {key}") == number
    return number if math.isfinite(number) and not untouched else 0.0


def most_seeds(method: FlowDiffusion, graph: Graph) -> int:
    """Return the largest number of seeds: passages next to the names, or nodes of the layer."""
    if method.seeding == "question":
        return min(NEAREST, max(1, graph.count("passage")))
    most = int(FlowDiffusion.__dataclass_fields__["seeds"].metadata["high"])
    return min(most, max(1, method.among(graph)))


def label_of_control(name: str, method: Any) -> str:
    """Return the label of a parameter under the chosen rules."""
    if isinstance(method, FlowDiffusion):
        if name == "mass":
            return _MASS.get((method.rule, method.capacity), _MASS.get((method.rule, ""),
                                                                           "Source mass alpha"))
        if name == "seeds":
            return "Passage seeds" if method.seeding == "question" else "Seeds N"
    return _LABELS.get(name, name.replace("_", " ").capitalize())
