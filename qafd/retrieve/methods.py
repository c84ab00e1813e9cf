"""Retrieval methods by the names that people write: aliases, presets and parameters."""

import json
import re
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from qafd.errors import ParameterError
from qafd.graph import Graph
from qafd.retrieve import METHODS
from qafd.retrieve.base import Retriever
from qafd.retrieve.external import ForeignMethod
from qafd.retrieve.multihop import MultiHop
from qafd.retrieve.pagerank import PRESETS as PAGERANK
from qafd.retrieve.qafd import PRESETS

PAPER = "qafd-paper"
ALIASES = {"lightrag": "ego", "graphrag": "community", "flowrag": "flow_path",
           "hipporag": "pagerank", "linearrag": "linear", "pathrag": "path", "raptor": "tree",
           "sg-rag": "exact",
           "qafd-rag": "qafd", "qafd-multihop": "multihop"}
_PRESETS: dict[str, dict[str, Retriever]] = {
    "qafd": {**{name: preset.method for name, preset in PRESETS.items()}, "multihop": MultiHop()},
    "pagerank": {**PAGERANK}}
_SPEC = re.compile(r"(?P<method>[\w-]+)(:(?P<preset>\w+))?(\((?P<params>[^()]*)\))?")


def canonical(name: str) -> str:
    """Return the name of a method in `qafd.retrieve.METHODS`, or PAPER, for any of its names.

    Raises
    ------
    ParameterError
        When there is no such method.
    """
    key = name.strip().lower()
    if not is_method(name):
        raise ParameterError(f"there is no method {name[:60]!r}; choose "
                             f"{', '.join((*METHODS, PAPER))}")
    return ALIASES.get(key, key)


def is_method(name: str) -> bool:
    """Return True for a name that `canonical` knows."""
    key = name.strip().lower()
    return ALIASES.get(key, key) in (*METHODS, PAPER)


def method_of(name: str) -> Retriever:
    """Return the method of a canonical name, with its default parameters."""
    return PRESETS["paper"].method if name == PAPER else METHODS[name]()


def name_of(method: Retriever) -> str:
    """Return the name of a configured method in `METHODS`, or of a retriever from outside."""
    if isinstance(method, ForeignMethod):
        return method.name
    exact = (name for name, kind in METHODS.items() if type(method) is kind)
    return next(exact, "") or next(name for name, kind in METHODS.items() if isinstance(method, kind))


def tune(method: Retriever, given: Mapping[str, Any], graph: Graph) -> Retriever:
    """Return the method with some parameters; the others are fitted to the graph.

    Raises
    ------
    ParameterError
        The method has no such parameter, or the value is out of its range.
    """
    own = [spec.name for spec in fields(method)]  # type: ignore[arg-type]
    for name in given:
        if name not in own:
            raise ParameterError(f"this method has no parameter {name[:40]!r}; it has "
                                 f"{', '.join(own)}")
    if not given:
        return method.fit_to(graph)
    changed: Retriever = replace(method, **given)  # type: ignore[type-var]
    return replace(changed.fit_to(graph), **given)  # type: ignore[type-var]


def method_by(method: str | Retriever, params: Mapping[str, Any], graph: Graph) -> Retriever:
    """Return the method that a name and its parameters mean on a graph; a configured one is as it is.

    `alpha=50` is short for rule "source-degree" with mass 50.

    Raises
    ------
    ParameterError
        There is no such method or parameter, or a value is out of its range.
    """
    if not isinstance(method, str):
        if not hasattr(method, "retrieve"):
            raise ParameterError(f"{str(method)[:40]} is not a method; give a name or a method of "
                                 "qafd.retrieve.METHODS")
        return method
    given = dict(params)
    if "alpha" in given:
        alpha = given.pop("alpha")
        try:
            mass = float(alpha)
        except (TypeError, ValueError, OverflowError):
            raise ParameterError(f"alpha is {str(alpha)[:40]!r}; give a number") from None
        given = {"rule": "source-degree", **given, "mass": mass}
    return tune(method_of(canonical(method)), given, graph)


def label_of(text: str) -> str:
    """Return the label of a method written as for `read_methods`; the text itself if it names none."""
    spec = _SPEC.fullmatch(text)
    try:
        name = canonical(spec["method"] if spec else text)
    except ParameterError:
        return text
    label = f"{METHODS['qafd'].label} as in the paper" if name == PAPER else METHODS[name].label
    own = ", ".join(filter(None, spec.group("preset", "params"))) if spec else ""
    own = re.sub(r",(?=\w)", ", ", own)
    return f"{label} ({own})" if own else label


def read_methods(specs: str, graph: Graph) -> dict[str, Retriever]:
    """Return methods from text such as ``qafd,qafd:paper,qafd(mass=30,variant=plain)``, by that text.

    After the colon comes a preset, in parentheses parameters. Unless `mass` is given, it is the
    one suggested for the graph.

    Raises
    ------
    ParameterError
        On an unknown method, preset or parameter, or a value that is out of range.
    """
    texts = ("".join(part.split()) for part in re.split(r",(?![^()]*\))", specs))
    return {text: _read_method(text, graph) for text in texts}


def _read_method(text: str, graph: Graph) -> Retriever:
    spec = _SPEC.fullmatch(text)
    if spec is None:
        raise ParameterError(f"{text!r} is not a method; write a name, name:preset or "
                             "name(parameter=value,...)")
    name = canonical(spec["method"])
    method = method_of(name)
    if spec["preset"]:
        presets = _PRESETS.get(name, {})
        if spec["preset"] not in presets:
            raise ParameterError(f"{name} has no preset {spec['preset']!r}; it has "
                                 f"{', '.join(presets) or 'none'}")
        method = presets[spec["preset"]]
    return tune(method, given_params(method, spec["params"] or ""), graph)


_KINDS = {float: "a number", int: "a whole number", bool: "true or false"}


def given_params(method: Any, text: str) -> dict[str, Any]:
    """Return parameters written as name=value, of the types that the method's fields have."""
    kinds: dict[str, type] = {spec.name: type(getattr(method, spec.name))
                              for spec in fields(method)}
    given: dict[str, Any] = dict(part.partition("=")[::2] for part in text.split(",") if part)
    for name, value in given.items():
        if name not in kinds:
            raise ParameterError(f"{method.label} has no parameter {name!r}; "
                                 f"choose {', '.join(kinds)}")
        try:
            given[name] = (json.loads(value.lower()) if kinds[name] is bool
                           else kinds[name](value))
        except ValueError:
            raise ParameterError(f"{name} is {value[:40]!r}; give {_KINDS[kinds[name]]}") from None
    return given
