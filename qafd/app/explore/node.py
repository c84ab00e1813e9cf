"""The selected node: what the documents say of it, why it is here, and its mass balance."""

import re
from collections.abc import Iterable, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from qafd.answer import Citation, Confidence, Sentence
from qafd.app.escaping import plain, safe
from qafd.app.explore.explained import why_line
from qafd.app.explore.remarks import remarks_on
from qafd.app.links import in_document
from qafd.app.pages import page
from qafd.app.result import View
from qafd.curate.neighbors import added
from qafd.explain import Balance, mass_balance
from qafd.knowledge import KnowledgeGraph
from qafd.reading.text.table_rows import is_row
from qafd.retrieve.base import DRY, SATURATED, WET, Retrieval, RetrievedNode
from qafd.storage.rows import Evidence
from qafd.view.panel import clean, counted, largest_of, percent, share_of, shown_name
from qafd.wording import say
from qafd.wording.answers import say_absence, say_gap
from qafd.wording.explanations import say_balance
from qafd.wording.reasons import word_reason

TITLES, NAMES = 3, 10
STATES = {SATURATED: "full: retrieved", WET: "touched, not full", DRY: "not touched"}
# Beside the picture the card is as high as the picture and scrolls; below it, it flows. What goes
# on below its lower edge fades out there; at the end only the empty padding does.
STYLE = ("<style>mark{background:rgba(240,180,0,.3);color:inherit}@media (min-width:641px){"
         "[data-testid=stColumn]:has(.st-key-card){position:relative;align-self:stretch}"
         ".st-key-card{position:absolute;inset:0;overflow-y:auto;padding:0 .4rem 4rem 0;"
         "mask-image:linear-gradient(to top,transparent,#000 3.5rem)}}</style>")


def card() -> DeltaGenerator:
    """The card beside the picture."""
    st.html(STYLE)
    return st.container(key="card")


def node_detail(view: View, selected: str | None) -> None:
    """The selected node, or the most important ones."""
    node = next((n for n in view.retrieval.nodes if n.id == selected), None)
    if node is not None:
        _card(view, node)
    elif selected and selected in view.graph.row:
        st.html(f"<b>{safe(view.graph.names[view.graph.row[selected]])}</b>")
        said_of(view.knowledge, selected)
        remarks_on(view.knowledge, selected)
        st.write(say("This node was not touched: no mass reached it."))
        st.html(f"<p>{safe(why_line(view, selected))}</p>")
    else:
        _foremost(view)


def _card(view: View, node: RetrievedNode) -> None:
    st.html(heading(node))
    said_of(view.knowledge, node.id)
    remarks_on(view.knowledge, node.id)
    with view.knowledge.store() as store:
        for words in added(store, node.id).values():
            st.html(by_hand(words))
    st.html(f"<p>{safe(why_line(view, node.id) or word_reason(node.reason))}</p>")
    held(view.retrieval, node)
    if node.kind == "entity":
        st.page_link(page("graph"), label=say("Rename, connect or hide it"),
                     icon=":material/account_tree:",
                     query_params={"ws": view.knowledge.path.stem, "find": node.name})


def heading(node: RetrievedNode) -> str:
    """The name of a node with its kind and state, as HTML."""
    return (f"<h4 style='margin:0'>{safe(shown_name(node))}</h4><small>{safe(node.kind)} · "
            f"{STATES[node.state]}{' · seed' * node.seed}</small>")


def held(retrieval: Retrieval, node: RetrievedNode) -> None:
    """The mass balance of a node, folded."""
    with st.expander(say("Mass balance")):
        balance = mass_balance(retrieval, node.id)
        st.html(f"<p>{safe(say_balance(balance))}</p>")
        balance_table(balance, 4)
        st.caption(say("In minus out is what it holds, to rounding."))


def balance_table(balance: Balance, digits: int) -> None:
    """What came to a node, what went on, and what it holds."""
    rows = [("injected by the question", balance.injected)] if balance.injected else []
    rows += [(f"from {balance.names[v]}", flow) for v, flow in balance.inflows]
    rows += [(f"to {balance.names[v]}", -flow) for v, flow in balance.outflows]
    rows.append(("held", balance.node.mass))
    st.dataframe({"what": [r[0] for r in rows], "mass": [r[1] for r in rows]}, hide_index=True,
                 column_config={"mass": st.column_config.NumberColumn(format=f"%.{digits}f")})


def said_of(knowledge: KnowledgeGraph, node_id: str, first: int = 3, most: int = 20) -> None:
    """The `first` sentences that name a node, and at most `most` of the others folded."""
    sentences = knowledge.evidence([node_id])
    if not sentences:
        _unnamed(knowledge, node_id)
        return
    st.html("".join(quoted(e) for e in sentences[:first]))
    if more := sentences[first:]:
        with st.expander(counted(len(more), "more sentence")):
            st.html("".join(quoted(e) for e in more[:most]))
            if len(more) > most:
                st.caption(f"The first {most} of them")


def _unnamed(knowledge: KnowledgeGraph, node_id: str) -> None:
    """A passage without names, or an entity that only titles name: how their texts begin."""
    with knowledge.store() as store:
        near = {end for edge in store.graph.edges([node_id]) for end in (edge.source, edge.target)}
        known = store.graph.nodes({*near, node_id})
    itself = known.pop(node_id, None)
    if itself is not None and itself.kind == "passage":
        st.caption(say("No name was found in this passage:"))
        begun = [itself]
    else:
        begun = [node for node in known.values() if node.kind == "passage"][:TITLES]
        st.caption("No sentence names it" + ("; it stands in the title of:" if begun else "."))
    for node in begun:
        st.html(f"<p style='margin:0 0 .6em'><b>{safe(node.name, 300)}</b><br>"
                f"{safe(node.text, 300)}</p>")


def quoted(evidence: Evidence) -> str:
    """A sentence with the names in it marked, and where it stands; a row of a table on one line."""
    text, at, parts = evidence.text, 0, []
    between = " · " if is_row(text) else " "
    for start, end in evidence.mentions:
        start, end = start - evidence.start, end - evidence.start
        if at <= start < end <= len(text):
            parts += [_quote(text[at:start].replace("\n", between)),
                      f"<mark>{_quote(text[start:end])}</mark>"]
            at = end
    page = "" if evidence.page is None else f", page {evidence.page}"
    where = evidence.document + page
    link = in_document(evidence.document, evidence.chunk, [(evidence.start, evidence.end)],
                       f"<span title='characters {evidence.start:,} to {evidence.end:,}'>"
                       f"{safe(where)}</span>")
    return (f"<p style='margin:0 0 .6em'>{''.join(parts)}"
            f"{_quote(text[at:].replace(chr(10), between))}<br>"
            f"<small style='opacity:.7'>{link}</small></p>")


def by_hand(words: str) -> str:
    """What stands in the place of a sentence where an edge was added by hand."""
    return f"<p style='margin:0 0 .6em'>{safe(words, 1000)}</p>"


def _quote(text: str) -> str:
    """A part of a sentence, with the spaces at its ends."""
    inner = safe(text)
    return f"{' ' * text[:1].isspace()}{inner}{' ' * text[-1:].isspace()}" if inner else " "


def _lead(view: View) -> None:
    """The sentences that answer the question or may, or that none does; the tab has their sources.
    """
    answer = view.answer
    perhaps = answer.confidence == Confidence.PERHAPS
    if words := say_absence(answer) or say_gap(answer):
        st.caption(plain(words + " The nearest sentences:" * perhaps))
    if perhaps or not answer.abstained:
        st.html("".join(
            f"<p style='margin:0 0 .5em;line-height:1.45'>{'<b>' * s.best}{safe(s.line, 300)}"
            f"{'</b>' * s.best} <small style='opacity:.7'>"
            f"{source(answer.citations[s.citation - 1], s)}</small></p>"
            for s in answer.sentences))


def source(citation: Citation, sentence: Sentence) -> str:
    """The title of a source, which opens the sentence in its document."""
    return in_document(citation.passage.document, citation.passage.chunk,
                       [(sentence.start, sentence.end)], safe(citation.title, 60))


def _foremost(view: View) -> None:
    _lead(view)
    full = [n for n in view.retrieval.nodes if n.state == SATURATED and n.kind != "passage"][:NAMES]
    if not full:
        st.caption(say("No name is full. Click a node, or press Tab, arrow keys and Enter, to "
                       "see why."))
        return
    st.caption(say("The most important names. Click a node or an edge, or press Tab, arrow keys "
                   "and Enter, to see why it is there."),
               help=say("Importance is the dual variable x of the diffusion, which is above 0 on "
                        "full nodes. Only the order and the ratio of two of them matter: 100% is "
                        "the largest of all nodes, passages too. The Table tab has x itself."))
    st.html(importances(view.retrieval, full))


def importances(retrieval: Retrieval, nodes: Iterable[RetrievedNode]) -> str:
    """Some nodes with their importances, as shares of the largest, as an HTML table."""
    shares = relative(retrieval.nodes)
    return read_table((say("name"), say("importance")), [
        (clean(n.name, 80), percent(shares[n.id])) for n in nodes])


def relative(nodes: Sequence[RetrievedNode]) -> dict[str, float]:
    """Importances over the largest by node id, in [0, 1]; all 0 when that is 0."""
    top = largest_of(nodes)
    return {n.id: share_of(n.importance, top) for n in nodes}


def read_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose cells wrap, so that all of it can be read; the last column keeps its width."""
    cell = "padding:.3em .6em .3em 0;text-align:left;vertical-align:top;overflow-wrap:anywhere"
    last = "padding:.3em 0;text-align:right;vertical-align:top;font-variant-numeric:tabular-nums"
    style = [cell + ";min-width:6rem", *[cell] * (len(head) - 2), last]

    def line(tag: str, texts: Sequence[str]) -> str:
        # a browser would break "1.1e-16" after its sign
        one = ["white-space:nowrap" * bool(re.fullmatch(r"[\d.,e%+-]+", text)) for text in texts]
        return "".join(f"<{tag} style='{css};{whole}'>{safe(text, 600)}</{tag}>"
                       for css, whole, text in zip(style, one, texts, strict=True))

    body = "".join(f"<tr style='border-top:1px solid rgba(128,128,128,.3)'>{line('td', row)}</tr>"
                   for row in rows)
    return (f"<table style='width:100%;border-collapse:collapse;font-size:.875rem'>"
            f"<tr style='opacity:.75'>{line('th', head)}</tr>{body}</table>")
