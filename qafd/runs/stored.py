"""Records as plain JSON values and back; values of a file are checked field by field."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from qafd.errors import ParseError
from qafd.reading.text.plaintext import storable
from qafd.retrieve.base import Retrieval
from qafd.wording.reasons import word_cause, word_notice, word_reason

LARGEST = 1e150  # beyond, products of two numbers leave the range of floats
DEEPEST = 40  # levels of a value
VALUES = 2_000_000  # of a JSON text at most: a small text of empty lists would fill the memory


def plain_of(value: Any) -> Any:
    """Return a record as JSON values."""
    if is_dataclass(value):
        return {f.name: plain_of(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(k): plain_of(v) for k, v in value.items()}
    listed = isinstance(value, Sequence) and not isinstance(value, str)
    return [plain_of(v) for v in value] if listed else value


def record_of(kind: Any, value: Any, where: str) -> Any:
    """Build a value of this type from JSON values; `where` names it in errors.

    Unknown fields are ignored, missing ones take their defaults.

    Raises
    ------
    ParseError
        A field is missing or of another type, or a number is not finite.
    """
    from pydantic import ValidationError  # loading it takes as long as a question

    text = json.dumps(_clean(value, where))
    try:
        return _adapter(kind).validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join([where, *map(str, first["loc"])])
        raise ParseError(f"{place[:200]}: {first['msg'][:200]}.") from error


@cache
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def check_wording(retrieval: Retrieval) -> None:
    """Raise ParseError if a reason or notice of a retrieval lacks a value that its sentence names."""
    for part in (retrieval, *retrieval.parts):
        try:
            for node in part.nodes:
                word_reason(node.reason)
                word_cause([node.reason])
            for notice in part.notices:
                word_notice(notice)
        except (LookupError, ValueError, TypeError) as error:
            raise ParseError(f"A reason in the run lacks a value or has one of another type: {error!r}."
                             ) from error


def json_of(data: bytes, name: str) -> Any:
    """Parse a JSON text.

    Raises
    ------
    ParseError
        It is not JSON, holds NaN or infinity, is nested too deeply, or has more than two million
        values.
    """
    many = sum(data.count(mark) for mark in (b",", b"[", b"{"))
    if many > VALUES:
        raise ParseError(f"{name} has up to {many:,} values, and at most {VALUES:,} are read.")

    def refuse(constant: str) -> Any:
        raise ParseError(f"{name} holds {constant}, which is not a number of JSON; it was damaged or "
                         "made by another program.")

    try:
        return json.loads(data.decode("utf-8"), parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise ParseError(f"{name} is not JSON ({str(error)[:80]}); it was damaged or made by "
                         "another program.") from error


def _clean(value: Any, where: str, left: int = DEEPEST) -> Any:
    """Return a value with texts that can be stored; raise ParseError for numbers that are not finite."""
    if not left:
        raise ParseError(f"{where[:200]} is nested more than {DEEPEST} levels deep.")
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(str(key)): _clean(inner, f"{where}.{key}", left - 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(inner, f"{where}.{place}", left - 1) for place, inner in enumerate(value)]
    if isinstance(value, int | float) and not abs(value) < LARGEST:
        raise ParseError(f"{where[:200]} is not a finite number.")
    return value
