"""The card next to the picture: the selected node or edge, or the answer with its sources."""

from collections.abc import Iterable, Sequence

import streamlit as st

from qafd.app import markup
from qafd.app.escaping import plain, safe
from qafd.app.explore.answer import draw_answer, find_written
from qafd.app.explore.explanation import explanation_of, why_line
from qafd.app.markup import embolden, in_document, italic, lines, paragraph, read_table, small
from qafd.app.page_images import show_page
from qafd.app.pages import way
from qafd.app.result import View
from qafd.app.session import session
from qafd.curate.neighbors import Remark, find_added, remarks
from qafd.explain.edges import Along, Balance, Strand, mass_balance
from qafd.knowledge import KnowledgeGraph, find_evidence
from qafd.reading.text.lines import is_row
from qafd.retrieve.base import Retrieval, RetrievedNode
from qafd.storage.rows import Evidence
from qafd.view.drawing import largest_of, share_of
from qafd.view.panel import clean, shown_name
from qafd.wording import count
from qafd.wording.documents import (
    say_author,
    say_by_hand,
    say_keywords,
    say_more_passages,
    say_place,
)
from qafd.wording.explanations import say_along, say_balance, say_unquoted
from qafd.wording.panels import say_number, say_percent, say_state
from qafd.wording.reasons import word_reason

TITLES = 3
MOST = 20  # remarks behind the first


def node_detail(view: View, selected: str | None) -> None:
    """Draw the selected node, or the answer and the most important names."""
    node = view.retrieval.node(selected)
    if node is not None:
        _card(view, node)
    elif selected and selected in view.graph.row:
        st.html(markup.heading(view.graph.names[view.graph.row[selected]], "not retrieved"))
        draw_sentences(view.knowledge, selected)
        remarks_on(view.knowledge, selected)
        st.html(paragraph(safe(why_line(explanation_of(view), selected))))
    elif not open_source(view):
        draw_answer(view, open_passage)


def _card(view: View, node: RetrievedNode) -> None:
    st.html(heading(node))
    draw_sentences(view.knowledge, node.id)
    remarks_on(view.knowledge, node.id)
    with view.knowledge.store() as store:
        for edges in find_added(store, node.id).values():
            st.html(word_by_hand(say_by_hand(edges)))
    st.html(paragraph(safe(why_line(explanation_of(view), node.id) or word_reason(node.reason))))
    draw_balance(view.retrieval, node)
    if node.kind == "entity":
        way("graph", "Rename, connect or hide it", find=node.name)


def heading(node: RetrievedNode) -> str:
    """Return the name of a node with its kind and state, as HTML."""
    facts = [node.kind, say_state(node.state)]
    if node.seed:
        facts.append("seed")
    return markup.heading(shown_name(node), " · ".join(facts))


def draw_balance(retrieval: Retrieval, node: RetrievedNode) -> None:
    """Draw the mass balance of a node, folded."""
    balance = mass_balance(retrieval, node.id)
    rows = [(clean(words, 80), f"{mass:.4f}") for words, mass in balance_rows(balance)]
    st.html(markup.fold(safe("Mass balance"), paragraph(safe(say_balance(balance)))
                          + read_table(("what", "mass"), rows)
                          + small(safe("Mass in minus mass out is the mass held, up to rounding."))))


def balance_rows(balance: Balance) -> list[tuple[str, float]]:
    """Return the inflows, outflows and mass of a node as rows."""
    rows = []
    if balance.injected:
        rows.append(("injected by the question", balance.injected))
    for node, flow in balance.inflows:
        rows.append((f"from {balance.names[node]}", flow))
    for node, flow in balance.outflows:
        rows.append((f"to {balance.names[node]}", -flow))
    return [*rows, ("held", balance.node.mass)]


def draw_sentences(knowledge: KnowledgeGraph, node_id: str, first: int = 3, most: int = 20) -> None:
    """Draw the `first` sentences that name a node, and at most `most` of the others folded."""
    sentences = find_evidence(knowledge, [node_id])
    if not sentences:
        _draw_unnamed(knowledge, node_id)
        return
    st.html("".join(map(quote, sentences[:first])))
    if more := sentences[first:]:
        with st.expander(count(len(more), "more sentence")):
            st.html("".join(map(quote, more[:most])))
            if len(more) > most:
                st.caption(f"The first {most} of them")


def _draw_unnamed(knowledge: KnowledgeGraph, node_id: str) -> None:
    """Draw the beginning of a passage without names, or of passages that an entity titles."""
    with knowledge.store() as store:
        near = {end for edge in store.graph.edges([node_id]) for end in (edge.source, edge.target)}
        known = store.graph.nodes({*near, node_id})
    itself = known.pop(node_id, None)
    if itself is not None and itself.kind == "passage":
        st.caption("No name was found in this passage:")
        begun = [itself]
    else:
        begun = [node for node in known.values() if node.kind == "passage"][:TITLES]
        st.caption("No sentence mentions it. It is in the title of:" if begun else
                   "No sentence mentions it.")
    for node in begun:
        st.html(paragraph(markup.lines(embolden(safe(node.name, 300)), safe(node.text, 300))))


def quote(evidence: Evidence) -> str:
    """Return a sentence with its names marked and its place; a row of a table on one line."""
    marks = [(start - evidence.start, end - evidence.start) for start, end in evidence.mentions]
    between = " · " if is_row(evidence.text) else " "
    where = evidence.document
    if evidence.page is not None:
        where = f"{where}, page {evidence.page}"
    hint = f"characters {evidence.start:,} to {evidence.end:,}"
    link = in_document(evidence.document, evidence.chunk, [(evidence.start, evidence.end)],
                       markup.add_hint(where, hint))
    return paragraph(markup.lines(markup.mark_spans(evidence.text, marks, between=between), small(link)))


def word_by_hand(words: str) -> str:
    """Return the words for an edge that was added by hand, in place of a sentence."""
    return paragraph(safe(words, 1000))


def importances(retrieval: Retrieval, nodes: Iterable[RetrievedNode]) -> str:
    """Return nodes with their importances as shares of the largest, as an HTML table."""
    shares = relative(retrieval.nodes)
    return read_table(("name", "importance"), [
        (clean(n.name, 80), say_percent(shares[n.id])) for n in nodes])


def relative(nodes: Sequence[RetrievedNode]) -> dict[str, float]:
    """Divide importances by the largest, by node id: in [0, 1], all 0 when that is 0."""
    top = largest_of(nodes)
    return {n.id: share_of(n.importance, top) for n in nodes}


def edge_detail(view: View, ends: Sequence[str], contracted: bool) -> None:
    """Draw the edge between two nodes, given by id."""
    along = explanation_of(view).along(ends[0], ends[1], contracted)
    arrow = "→" if along.flow > 0 else "–"
    st.html(markup.heading(f"{along.source} {arrow} {along.target}", along.label)
            + markup.paragraph(safe(say_along(along), 600)))
    if along.question:
        st.caption(plain(f"Most of it for the question “{along.question}”:"))
    for strand in along.strands:
        if strand.passage:
            st.write(f"**{say_number(strand.flow)}** through **{plain(strand.passage)}**")
        draw_strand(strand)
    remarks_on(view.knowledge, ends[0], ends[1])
    if along.rest > 0:
        st.caption(f"{say_number(along.rest)} more through other passages.")
    _widths(along)


def draw_strand(strand: Strand) -> None:
    """Draw the sentences of a part of an edge, or why there is none."""
    if strand.added:
        st.html(word_by_hand(say_by_hand(strand.added)))
    if strand.sentences:
        st.html("".join(map(quote, strand.sentences)))
    elif not strand.added:
        st.caption(say_unquoted(strand.kind))


def _widths(along: Along) -> None:
    rows = []
    for strand in along.strands:
        for gate in strand.gates:
            factors = (gate.structure, gate.alignment_source, gate.alignment_target, gate.weight)
            rows.append((f"{gate.source_name} – {gate.target_name}", *map(say_number, factors)))
    head = ("edge", "strength", "start", "end", "weight")
    with st.expander("Why this edge is wide"):
        st.html(markup.read_table(list(head), rows))
        st.caption("The weight combines the edge's strength in the graph with the similarity of both its "
                   "ends to the question.")


def open_source(view: View) -> bool:
    """Draw the open source; False without one, or if the answer does not cite it any more."""
    if not session().source:
        return False
    written = find_written(view)
    citations = (*(written.citations if written else ()), *view.answer.citations)
    citation = next((c for c in citations if c.passage.chunk == session().source), None)
    if citation is None:
        return False
    st.button("The answer", icon=":material/arrow_back:", type="tertiary", on_click=open_passage, args=("",))
    text = citation.passage.text
    st.html(markup.heading(clean(citation.title, 120), clean(citation.where, 200))
            + markup.paragraph(markup.mark_spans(text, citation.marks), "source"))
    spans = [(citation.passage.start + start, citation.passage.start + end)
             for start, end in citation.marks]
    show_page(view.knowledge, citation.passage.document, spans)
    way("documents", "Read on in the document", doc=citation.passage.document,
        passage=citation.passage.chunk, at=[f"{start}-{end}" for start, end in spans])
    return True


def open_passage(chunk: str) -> None:
    """Show a passage in place of the answer in the next run; "" shows the answer again."""
    session().source = chunk


def remarks_on(knowledge: KnowledgeGraph, node: str, other: str = "") -> None:
    """Draw the remarks on an entity, or on its relation to `other`; nothing without any.

    The first remark is shown, at most `MOST` others folded. Both are ids of nodes.
    """
    with knowledge.store() as store:
        entries = remarks(store, node).get(other, ())
    draw_remarks(entries)


def draw_remarks(entries: Sequence[Remark], first: int = 1) -> None:
    """Draw remarks: the first `first` open, the rest folded."""
    if entries:
        st.html("".join(map(remark, entries[:first])))
    if more := entries[first:]:
        with st.expander(f"{count(len(more), 'description')} more"):
            st.html("".join(map(remark, more[:MOST])))
            if len(more) > MOST:
                st.caption(f"The first {MOST} of them")


def remark(one: Remark) -> str:
    """Return a remark with its author and passage, as HTML."""
    place = in_document(one.document, one.chunk, (), safe(say_place(one.document, one.page), 200))
    source = f"{safe(say_author(one), 200)} {place} {safe(say_more_passages(one))}"
    return paragraph(lines(italic(safe(one.text, 1200)),
                           small(lines(safe(say_keywords(one), 300), source))))
