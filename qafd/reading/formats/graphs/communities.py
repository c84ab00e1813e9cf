"""Communities of a graph and the reports on them, as the tables of GraphRAG give them."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from qafd.errors import ParseError
from qafd.reading.text.plaintext import clean, one_line

_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_KEY, _TITLE = 80, 200  # characters at most


@dataclass(frozen=True)
class ImportedCommunity:
    """A community; level 0 is the coarsest, `members` are ids of nodes.

    `parent` is the id of another community, "" for none. `text` is its report, and `rank` how
    much that matters, 0 if unknown.
    """

    id: str
    level: int
    parent: str = ""
    members: tuple[str, ...] = ()
    title: str = ""
    text: str = field(default="", repr=False)
    rank: float = 0.0


def communities_of(tables: Sequence[Mapping[str, Any]], reports: Sequence[Mapping[str, Any]],
                   node_of: Callable[[Any], str], notices: list[str]
                   ) -> tuple[ImportedCommunity, ...]:
    """Return the communities that have members, each with its report.

    Parameters
    ----------
    tables, reports : sequence of mapping
        Rows of communities and of reports. A row of a community may have its report itself.
    node_of : callable
        The id of the node that a value means, "" for none.

    Raises
    ------
    ParseError
        A parent is on no lower level, so that the levels are no hierarchy.
    """
    written: dict[str, Mapping[str, Any]] = {}
    for row in reports:
        written.setdefault(_key(row.get("community")), row)
    found: dict[str, ImportedCommunity] = {}
    for row in tables:
        key = _key(row.get("community", row.get("raw_community")))
        if key and key not in found:
            found[key] = _community(key, row, written.pop(key, row), node_of)
    kept = {key: one for key, one in found.items() if one.members}
    _check_levels(found)
    if empty := len(found) - len(kept):
        notices.append(f"Left out: {empty:,} communities that name no entity of the graph.")
    if written:
        notices.append(f"Left out: {len(written):,} reports on communities that no table has "
                       f"({', '.join(list(written)[:3])}{', …' if len(written) > 3 else ''}).")
    if kept:
        notices.append("Its communities and reports are used as they are while the workspace holds "
                       "this graph alone, without edits; else communities are computed.")
    if silent := sum(not one.text for one in kept.values()):
        notices.append(f"{silent:,} of {len(kept):,} communities have no report; the names of "
                       "their members stand for it.")
    return tuple(kept.values())


def as_list(value: Any, separator: str) -> list[Any]:
    """Return the items of a list, also of one that a table has as a text: "['a', 'b']"."""
    if isinstance(value, (list, tuple)):
        return list(value)
    text = str(value)
    if text.startswith("[") and (quoted := _QUOTED.findall(text)):
        return [one or other for one, other in quoted]
    return re.split(separator, text)


def _community(key: str, row: Mapping[str, Any], report: Mapping[str, Any],
               node_of: Callable[[Any], str]) -> ImportedCommunity:
    named = as_list(row.get("entity_ids") or row.get("entities") or (), r"<SEP>|[,;]")
    members = dict.fromkeys(map(node_of, named))
    members.pop("", None)
    parent = _key(row.get("parent"))
    title = one_line(str(report.get("title") or row.get("title") or ""), _TITLE)
    text = clean(str(report.get("full_content") or report.get("summary") or ""))
    return ImportedCommunity(key, int(_number(row.get("level"))), "" if parent == "-1" else parent,
                             tuple(members), title, text, _number(report.get("rank")))


def _check_levels(found: Mapping[str, ImportedCommunity]) -> None:
    for one in found.values():
        above = found.get(one.parent)
        if above is not None and above.level >= one.level:
            raise ParseError(f"Community {one.id} on level {one.level} lies in community "
                             f"{above.id} on level {above.level}, so the levels are no "
                             "hierarchy; export the index again.")


def _key(value: Any) -> str:
    """Return a number as it is counted, also where a table has made it 3.0."""
    text = one_line("" if value is None else str(value), _KEY)
    return text.removesuffix(".0")


def _number(value: Any) -> float:
    """Return a number of at least 0; 0 where there is none."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return number if 0 <= number < math.inf else 0.0
