"""A comparison to be kept: its nodes as one table, a report as Markdown, a page with its panels."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from qafd import __version__
from qafd.answer import Answer
from qafd.export import PANELS, head, imprint, panel_script, panel_styles, table_csv, table_row
from qafd.reading.text.plaintext import one_line
from qafd.reasons import UNSTATED, Reason
from qafd.retrieve.base import Retrieval
from qafd.retrieve.compare import ComparedMethod, Comparison
from qafd.runs.report import said
from qafd.view.drawing import Caption, Drawing, Look, largest_of, share_of
from qafd.view.panel import panel_data
from qafd.view.placement import freeze
from qafd.wording.answers import say_status
from qafd.wording.comparison import word_missed
from qafd.wording.counts import count
from qafd.wording.panels import say_percent, say_retrieved
from qafd.wording.reasons import word_reason

LISTED = 60  # rows of the table of nodes in a report
DRAWN = 40  # nodes of a panel
ASPECT = 1.45


@dataclass(frozen=True)
class FoundNode:
    """How one method found a node: its own score, the place that this gives, and its reason.

    `share` is the score over the method's largest of names, or of passages.
    """

    score: float
    share: float
    rank: int
    reason: Reason


@dataclass(frozen=True)
class Row:
    """A name or passage and, column by column, how it was found; None where it was not."""

    id: str
    name: str
    kind: str
    found: tuple[FoundNode | None, ...]

    @property
    def times(self) -> int:
        """How many methods found it."""
        return sum(one is not None for one in self.found)


def rows(comparison: Comparison) -> tuple[Row, ...]:
    """Everything that a method found: names first, then passages within the budget.

    What most methods found comes first, then what they rank best.
    """
    named: dict[str, tuple[str, str]] = {}
    columns = []
    for column in comparison.columns:
        found: dict[str, FoundNode] = {}
        if column.retrieval is not None:
            for node in column.retrieval.nodes:
                named.setdefault(node.id, (node.name, node.kind))
            for passage in column.retrieval.passages:
                named[passage.id] = passage.name, "passage"
            found = _found(column, column.retrieval)
        columns.append(found)
    table = []
    for key, (name, kind) in named.items():
        row = Row(key, name, kind, tuple(found.get(key) for found in columns))
        if row.times:
            table.append(row)
    return tuple(sorted(table, key=_order))


def _order(row: Row) -> tuple[bool, int, float, str, str]:
    places = sum(1 / one.rank for one in row.found if one is not None)
    return row.kind == "passage", -row.times, -places, row.name, row.id


def _found(column: ComparedMethod, retrieval: Retrieval) -> dict[str, FoundNode]:
    """How each node and passage was found, by id."""
    found = {}
    top = largest_of(retrieval.nodes)
    for rank, node in enumerate(column.found, 1):
        share = share_of(node.importance, top)
        found[node.id] = FoundNode(node.importance, share, rank, node.reason)
    why = {node.id: node.reason for node in retrieval.nodes}
    best = max((passage.score for passage in retrieval.passages), default=0.0)
    for rank, passage in enumerate(retrieval.passages, 1):
        found[passage.id] = FoundNode(passage.score, share_of(passage.score, best), rank,
                                      why.get(passage.id, UNSTATED))
    return found


def rows_csv(comparison: Comparison) -> str:
    """The table of `rows`, with score, rank and reason of each method; no text is a formula."""
    made = f"qafd {__version__}"
    for retrieval in list(comparison.retrievals.values())[:1]:
        made = f"qafd {retrieval.made_by.qafd}, workspace {retrieval.made_by.workspace}"
    names = ["id", "name", "kind", "found by"]
    for column in comparison.columns:
        names += [f"{column.name}: {what}" for what in ("score", "rank", "reason")]
    lines = []
    for row in rows(comparison):
        cells: list[object] = [row.id, row.name, row.kind, row.times]
        for one in row.found:
            cells += [one.score, one.rank, word_reason(one.reason)] if one else ["", "", ""]
        lines.append([*cells, made])
    return table_csv([*names, "made_by"], lines)


@dataclass(frozen=True)
class _Section:
    """A part of a report: lines, then a table."""

    title: str
    lines: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def report(comparison: Comparison, answers: Mapping[str, Answer] = {}) -> str:  # noqa: B006
    """The comparison as Markdown; text of documents is shown as text, whatever it holds.

    Parameters
    ----------
    answers : mapping of str to Answer, optional
        What `KnowledgeGraph.answer` quotes from the retrieval of a column, by its name.
    """
    lines = [f"# {said(comparison.question)}\n", f"{said(_about(comparison), 2000)}\n"]
    for section in _sections(comparison, answers):
        lines.append(f"## {said(section.title)}\n")
        lines += [f"- {said(line, 2000)}" for line in section.lines]
        if section.rows:
            lines += [_row(section.head), "|" + "---|" * len(section.head)]
            lines += [_row(row) for row in section.rows]
        lines.append("")
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(said(cell, 200) for cell in cells)} |"


def page(comparison: Comparison, data: Mapping[str, Any] | None = None,
         answers: Mapping[str, Answer] = {}) -> str:  # noqa: B006
    """The comparison as one page that needs no network, with the picture of the app itself.

    Its content security policy admits only the script it was written with.

    Parameters
    ----------
    data : mapping, optional
        The panels as the app draws them (`qafd.view.panel.panel_data`); by default made here.
    answers : mapping of str to Answer, optional
        As in `report`.
    """
    script = panel_script(data or panels(comparison))
    title = escape(one_line(comparison.question, 300) or "Comparison")
    records = {c.name: c.retrieval.record for c in comparison.columns if c.retrieval}
    styles = panel_styles() + _STYLE
    return "\n".join([
        *head(title, [script], styles, __version__, json.dumps(records, default=str)), "</head>",
        "<body>", f"<h1>{title}</h1>", f"<p>{escape(_about(comparison))}</p>", PANELS,
        *(_block(section) for section in _sections(comparison, answers)),
        f"<script>{script}</script>", "</body>", "</html>", ""])


def panels(comparison: Comparison) -> dict[str, Any]:
    """Panels of the methods that did not fail, on one layout."""
    retrievals, captions = [], []
    for column in comparison.columns:
        if column.retrieval is not None:
            retrievals.append(column.retrieval)
            found = say_retrieved(len(column.found))
            ranked = count(len(column.list_ids("passages")), "passage")
            captions.append(Caption(column.label, "", f"{found} · {ranked} ranked"))
    first = set()
    if retrievals:
        first = {node.id for node in retrievals[0].retrieved}
    positions, others = freeze(retrievals, first, DRAWN, ASPECT)
    return panel_data(retrievals, Drawing(limit=DRAWN, aspect=ASPECT), positions=positions,
                      look=Look(captions, others))


def _about(comparison: Comparison) -> str:
    labels = ", ".join(c.label for c in comparison.columns)
    return (f"{len(comparison.columns)} methods on one graph: {labels}; at most "
            f"{comparison.budget:,} tokens of passages for each. All are re-implementations of "
            "the papers' ideas.")


def _sections(comparison: Comparison, answers: Mapping[str, Answer]) -> Iterator[_Section]:
    columns = [c for c in comparison.columns if c.retrieval is not None]
    labels = tuple(c.label for c in columns)
    sentences = tuple(word_missed(d) for d in comparison.differences())
    yield _Section("Differences", sentences or ("All methods found the same nodes.",))
    yield from _answers(columns, answers)
    yield _Section("Numbers", (), (
        "method", "names", "only here", "passages", "only here", "tokens", "time, ms"),
        tuple(_numbers(comparison, columns)))
    kept = [i for i, c in enumerate(comparison.columns) if c.retrieval is not None]
    for of, title in (("nodes", "Names"), ("passages", "Passages")):
        shares = comparison.overlap(of)[kept][:, kept]
        in_common = []
        for label, row in zip(labels, shares, strict=True):
            in_common.append((label, *(f"{share:.2f}" for share in row)))
        yield _Section(f"{title} in common (Jaccard index)", (), ("", *labels), tuple(in_common))
    yield _listed(rows(comparison), labels, kept)
    failed = tuple(f"{c.label}: {str(c.error)}" for c in comparison.columns if c.error)
    if failed:
        yield _Section("Methods that failed", failed)
    yield _Section("Made by", tuple(imprint(c.retrieval) for c in columns if c.retrieval))


def _numbers(comparison: Comparison, columns: Sequence[ComparedMethod]) -> Iterator[tuple[str, ...]]:
    names, passages = comparison.only("nodes"), comparison.only("passages")
    for column in columns:
        if column.retrieval is not None:
            yield (column.label, str(len(column.found)), str(len(names[column.name])),
                   str(len(column.list_ids("passages"))), str(len(passages[column.name])),
                   f"{column.tokens:,}", f"{column.retrieval.work.total_milliseconds:.1f}")


def _listed(table: Sequence[Row], labels: Sequence[str], kept: Sequence[int]) -> _Section:
    """The first rows, with the columns that did not fail."""
    more: tuple[str, ...] = ()
    if len(table) > LISTED:
        more = (f"{len(table) - LISTED:,} more are in the table as CSV.",)
    lines = []
    for row in table[:LISTED]:
        found = [row.found[i] for i in kept]
        lines.append((row.name, row.kind, *(say_percent(one.share) if one else "–" for one in found)))
    return _Section("Nodes and passages, each method's score over its largest", more,
                    ("name", "kind", *labels), tuple(lines))


def _answers(columns: Sequence[ComparedMethod], answers: Mapping[str, Answer]) -> Iterator[_Section]:
    if not answers:
        return
    lines = []
    for column in columns:
        answer = answers[column.name]
        quoted = " ".join(f"{s.text} [{answer.citations[s.citation - 1].passage.name}]"
                          for s in answer.sentences)
        lines.append(f"{column.label}: {say_status(answer)} {quoted}")
    yield _Section("Answers: sentences of the documents, quoted", tuple(lines))


def _block(section: _Section) -> str:
    parts = [f"<h2>{escape(section.title)}</h2>"]
    if section.lines:
        lines = [f"<li>{escape(one_line(line, 2000))}</li>" for line in section.lines]
        parts += ["<ul>", *lines, "</ul>"]
    if section.rows:
        parts += ['<div class="wide"><table>', table_row(section.head, "th")]
        for row in section.rows:
            parts.append(table_row([one_line(cell, 200) for cell in row]))
        parts.append("</table></div>")
    return "".join(parts)


_STYLE = """
body > h2 { font-size: 1.05rem; }
.wide { overflow-x: auto; }
.wide table { font-variant-numeric: tabular-nums; }
.wide :is(td, th) { border-bottom: 1px solid var(--st-border-color); }
"""
