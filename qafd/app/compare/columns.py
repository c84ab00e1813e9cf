"""The tabs of the Compare page under the picture, one column for each method."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from qafd.answer import Answer, Citation, where
from qafd.app import markup
from qafd.app.compare.comparison import Sides, answers_of
from qafd.app.escaping import capitalize, plain, safe
from qafd.app.explore.answer import quote_html
from qafd.app.markup import embolden, in_document, paragraph, small
from qafd.app.tables import table
from qafd.knowledge import read_layer_states
from qafd.retrieve.base import SATURATED, Retrieval, StructureKind
from qafd.retrieve.compare import ComparedMethod, Comparison
from qafd.retrieve.methods import is_method
from qafd.runs.imported import FIRST, compare_node
from qafd.view.drawing import largest_of, share_of
from qafd.view.panel import clean, shown_name
from qafd.wording import count
from qafd.wording.answers import say_heading, say_status
from qafd.wording.comparison import say_compared, word_missed
from qafd.wording.documents import say_origin
from qafd.wording.panels import say_state
from qafd.wording.reasons import word_reason


def _draw_cells(cells_html: Sequence[str]) -> None:
    """Lay cells out in the columns of the picture."""
    st.html(markup.side_by_side(cells_html, 3 if len(cells_html) in (3, 5, 6) else 2))


def node_reasons(sides: Sides, selected: str | None) -> None:
    """Draw each method's reason for the selected node."""
    nodes = {}
    for retrieval in sides.comparison.retrievals.values():
        nodes.update({node.id: node for node in retrieval.nodes})
    if selected not in nodes:
        return
    st.html(markup.heading(shown_name(nodes[selected])))
    _draw_cells([markup.lines(embolden(safe(name)), safe(_say_why(column, selected)))
             for name, column in sides.pairs])


def _say_why(column: ComparedMethod, node_id: str) -> str:
    if column.retrieval is None:
        return "–"
    node = column.retrieval.node(node_id)
    if node is None:
        return "not retrieved"
    state = "retrieved"
    if node.state != SATURATED:
        state = f"not retrieved, {say_state(node.state)}"
    return f"{state}: {word_reason(node.reason)}"


def _failure(column: ComparedMethod) -> str:
    return capitalize(str(column.error)) if column.error else ""


def differences_tab(sides: Sides) -> None:
    """Draw the passages and names that only some methods find."""
    differences = sides.comparison.differences()
    for difference in differences:
        st.html(paragraph(safe(word_missed(difference))))
    if not differences:
        st.write("All methods found the same nodes.")
    for name, column in sides.pairs:
        if column.retrieval is not None and not is_method(column.name):
            _foreign_differences(sides, name, column.retrieval)


def _foreign_differences(sides: Sides, name: str, theirs: Retrieval) -> None:
    """Draw the way of the flow to each of its first passages that a retriever from outside misses."""
    flow = sides.comparison.retrievals.get("qafd")
    if flow is None:
        return
    known = {passage.id for passage in theirs.passages}
    missed = [passage.id for passage in flow.passages[:FIRST] if passage.id not in known]
    if missed:
        st.subheader(f"Passages that {plain(name)} misses", anchor=False)
    explanation = sides.knowledge.explain(flow, graph=sides.graph, plan=sides.plan)
    for passage in missed:
        st.html(paragraph(safe(say_compared(compare_node(explanation, passage, theirs)))))


def answers_tab(sides: Sides) -> None:
    """Draw the extractive answer from each method's passages."""
    st.caption("Sentences of your documents, quoted, from the passages within the budget. With a language "
               "model, `qafd answer --method` writes from the passages of any method.")
    answers = answers_of(sides)
    cells = []
    for name, column in sides.pairs:
        below = paragraph(safe(_failure(column)))
        if column.name in answers:
            below = _answer(answers[column.name])
        cells.append(embolden(safe(name)) + below)
    _draw_cells(cells)


def _answer(answer: Answer) -> str:
    html = ""
    for words in (say_status(answer), say_heading(answer)):
        html += paragraph(safe(words), "quiet")
    sources = [small(f"[{citation.number}] {_open(citation)} — {safe(citation.where)}")
               for citation in answer.citations]
    return html + quote_html(answer) + markup.lines(*sources)


def _open(citation: Citation) -> str:
    """Link the name of a source to the quoted sentences in their document."""
    at = citation.passage
    spans = [(at.start + start, at.start + end) for start, end in citation.marks]
    return in_document(at.document, at.chunk, spans, safe(at.name))


def column_passages_tab(sides: Sides) -> None:
    """Draw the passages within the budget, best first. Those of one method alone are marked.

    The reports and summaries of a method precede them.
    """
    only = sides.comparison.only("passages")
    origin = ""
    for layer in read_layer_states(sides.knowledge):
        if layer.name == "communities":
            origin = say_origin(layer.model, layer.written, layer.texts)
    cells = []
    for name, column in sides.pairs:
        tokens = f"{column.tokens:,} of {sides.comparison.budget:,} tokens"
        html = f"{embolden(safe(name))} {small(safe(tokens))}"
        if column.retrieval is None:
            cells.append(html + paragraph(safe(_failure(column))))
            continue
        html += _reports(column.retrieval, origin)
        for rank, passage in enumerate(column.retrieval.passages, 1):
            title = safe(f"{rank}. {passage.name}")
            if passage.id in only[column.name]:
                title += f" · {embolden(safe('only here'))}"
            html += markup.fold(title, paragraph(safe(passage.text, 4000))
                                  + small(safe(where(passage))))
        cells.append(html)
    _draw_cells(cells)


def _reports(retrieval: Retrieval, origin: str) -> str:
    """Return the reports and summaries of a method, folded, with their origin, as HTML."""
    html = ""
    for one in retrieval.structures:
        if one.kind == StructureKind.REPORT:
            title = f"Report: {one.title}"
            from_where = small(safe(capitalize(origin)))
        elif one.kind == StructureKind.SUMMARY:
            title, from_where = f"Summary: {one.title}", ""
        else:
            continue
        html += markup.fold(safe(title), paragraph(safe(one.text, 4000)) + from_where)
    return html


def table_tab(sides: Sides) -> None:
    """Draw all nodes with the methods that found them."""
    found = rows(sides.comparison)
    if not found:
        st.write("No method found anything.")
        return
    st.caption(f"{count(len(found), 'row')}: names, then passages within the budget. What most methods "
               "found is first. Each score is divided by the highest of its method, for names and passages "
               "apart.")
    columns: dict[str, list[object]] = {
        "name": [clean(row.name, 120) for row in found],
        "kind": [clean(row.kind, 40) for row in found],
        "found by": [row.times for row in found]}
    config = {"name": st.column_config.TextColumn(width="medium")}
    for at, (name, _) in enumerate(sides.pairs):
        columns[name] = [row.shares[at] for row in found]
        # Short names, so that six methods fit next to the sidebar.
        config[name] = st.column_config.NumberColumn(clean(name.split()[0], 40), format="percent",
                                                     help=plain(name))
    table(columns, column_config=config)


@dataclass(frozen=True)
class Row:
    """A name or passage and, column by column, its share of the best score; None where it was not found."""

    name: str
    kind: str
    shares: tuple[float | None, ...]

    @property
    def times(self) -> int:
        """Number of methods that found it."""
        return sum(share is not None for share in self.shares)


def rows(comparison: Comparison) -> tuple[Row, ...]:
    """List everything that a method found: names first, then passages within the budget.

    Rows that most methods found come first, then those of the largest shares.
    """
    named: dict[str, tuple[str, str]] = {}
    for retrieval in comparison.retrievals.values():
        named |= {node.id: (node.name, node.kind) for node in retrieval.nodes if node.id not in named}
        named |= {passage.id: (passage.name, "passage") for passage in retrieval.passages}
    columns = list(map(_share_scores, comparison.columns))
    table = [Row(name, kind, tuple(found.get(key) for found in columns))
             for key, (name, kind) in named.items()]
    return tuple(sorted((row for row in table if row.times), key=lambda row: (
        row.kind == "passage", -row.times, -sum(filter(None, row.shares)), row.name)))


def _share_scores(column: ComparedMethod) -> dict[str, float]:
    """Return the score of each node and passage over the method's largest of its kind, by id."""
    if column.retrieval is None:
        return {}
    nodes, passages = column.retrieval.nodes, column.retrieval.passages
    best = max((passage.score for passage in passages), default=0.0)
    found = {node.id: share_of(node.importance, largest_of(nodes)) for node in column.found}
    return found | {passage.id: share_of(passage.score, best) for passage in passages}
