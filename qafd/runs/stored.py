"""Records as plain JSON values and back; values of a file are checked field by field."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from functools import cache
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from qafd.errors import ParseError
from qafd.reading.text.plaintext import storable
from qafd.reasons import Notice, NoticeKind, Reason, ReasonKind, Value, notice, reason
from qafd.wording.reasons import word_cause, word_notice, word_reason

Kind = TypeVar("Kind", bound=StrEnum)
LARGEST = 1e150  # beyond, products of two numbers leave the range of floats
DEEPEST = 20  # levels of a value of any type
FURTHER = 20  # sentences of a reason after the first
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
    if kind is Any:
        return _finite(value, where)
    if kind is Reason:
        return _reason(value, where)
    if kind is Notice:
        return _notice(value, where)
    if is_dataclass(kind):
        return _record(kind, value, where)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return None if value is None else record_of(inner[0], value, where)
    if origin is tuple:
        return _tuple(inner, value, where)
    if origin is Sequence:
        return _tuple((*inner, ...), value, where)
    if origin in (dict, Mapping):
        return {key: record_of(inner[1], v, f"{where}[{key[:40]!r}]")
                for key, v in _of(dict, value, where).items()}
    return _scalar(kind, value, where)


def _tuple(inner: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    items = _of(list, value, where)
    kinds = inner[:1] * len(items) if inner[-1] is Ellipsis else inner
    if len(items) != len(kinds):
        raise ParseError(f"{where} has {len(items)} values instead of {len(kinds)}.")
    return tuple(record_of(k, v, f"{where}[{i}]")
                 for i, (k, v) in enumerate(zip(kinds, items, strict=True)))


def _scalar(kind: Any, value: Any, where: str) -> Any:
    if kind is str:
        return storable(_of(str, value, where))
    if kind is bool:
        return _of(bool, value, where)
    number = _number(value, where)
    if kind is int and number % 1:
        raise ParseError(f"{where} is {number:g} and not a whole number.")
    return int(number) if kind is int else number


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


@cache
def _types(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _record(kind: Any, value: Any, where: str) -> Any:
    given, made = _of(dict, value, where), {}
    for spec in fields(kind):
        if spec.name in given:
            made[spec.name] = record_of(_types(kind)[spec.name], given[spec.name],
                                        f"{where}.{spec.name}")
        elif spec.default is MISSING and spec.default_factory is MISSING:
            raise ParseError(f"{where} has no {spec.name!r}.")
    return kind(**made)


def _reason(value: Any, where: str) -> Reason:
    """Build a reason that can be worded; in old runs it is its text."""
    if isinstance(value, str):
        return reason(ReasonKind.GIVEN, text=storable(value))
    kind, values = _kind_and_values(ReasonKind, value, where)
    listed = _of(list, value.get("also", []), where)[:FURTHER]
    found = Reason(kind, values, tuple(_reason(item, where) for item in listed))
    _check_wording(lambda: (word_reason(found), word_cause([found])), where)
    return found


def _notice(value: Any, where: str) -> Notice:
    if isinstance(value, str):
        return notice(NoticeKind.GIVEN, text=storable(value))
    found = Notice(*_kind_and_values(NoticeKind, value, where))
    _check_wording(lambda: word_notice(found), where)
    return found


def _kind_and_values(
        kinds: type[Kind], value: Any, where: str) -> tuple[Kind, dict[str, Value]]:
    given = _of(dict, value, where)
    name = _of(str, given.get("kind"), f"{where}.kind")
    if name not in [str(kind) for kind in kinds]:
        raise ParseError(f"{where} is of an unknown kind, {name[:40]!r}.")
    values = _of(dict, given.get("values", {}), f"{where}.values")
    return kinds(name), {key: _value(item, where) for key, item in values.items()}


def _value(value: Any, where: str) -> Value:
    """Return a text, a number, or a tuple of either."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        if all(isinstance(item, str) for item in value):
            return tuple(storable(item) for item in value)
        return tuple(int(_number(item, where)) for item in value)
    _number(value, where)
    number: int | float = value
    return number


def _check_wording(say: Callable[[], object], where: str) -> None:
    try:
        say()
    except (LookupError, ValueError, TypeError) as error:
        raise ParseError(f"{where} lacks a value or has one of another type.") from error


_WRONG = {list: "{where} is not a list.", dict: "{where} is not an object.",
          str: "{where} is not text.", bool: "{where} is not true or false."}


def _of(kind: Any, value: Any, where: str) -> Any:
    if not isinstance(value, kind):
        raise ParseError(_WRONG[kind].format(where=where))
    return value


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < LARGEST:
        raise ParseError(f"{where} is not a finite number.")
    return float(value)


def _finite(value: Any, where: str, left: int = DEEPEST) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise ParseError(f"{where} is not a finite number.")
    if not left:
        raise ParseError(f"{where} is nested more than {DEEPEST} levels deep.")
    if isinstance(value, dict):
        return {key: _finite(v, where, left - 1) for key, v in value.items()}
    return [_finite(v, where, left - 1) for v in value] if isinstance(value, list) else value
