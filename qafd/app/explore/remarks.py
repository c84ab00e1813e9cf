"""What models and imported graphs say of an entity or a relation, on the cards."""

from collections.abc import Sequence

import streamlit as st

from qafd.app.escaping import safe
from qafd.app.links import in_document
from qafd.curate.descriptions import Remark, remarks
from qafd.knowledge import KnowledgeGraph
from qafd.view.panel import counted

MOST = 20


def remarks_on(knowledge: KnowledgeGraph, node: str, other: str = "", first: int = 1) -> None:
    """Draw what is said of an entity, or of its relation to `other`; nothing where nothing is.

    The `first` of it is shown, at most `MOST` of the rest folded. Both are ids of nodes.
    """
    with knowledge.store() as store:
        some = remarks(store, node).get(other, ())
    drawn(some, first)


def drawn(some: Sequence[Remark], first: int = 1) -> None:
    """Draw remarks; the `first` shown, the rest folded."""
    if some:
        st.html("".join(map(remark, some[:first])))
    if more := some[first:]:
        with st.expander(counted(len(more), "more description")):
            st.html("".join(map(remark, more[:MOST])))
            if len(more) > MOST:
                st.caption(f"The first {MOST} of them")


def remark(one: Remark) -> str:
    """A remark with who wrote it and of which passage, as HTML."""
    facts = f"{safe(one.facts, 300)}<br>" if one.facts else ""
    return (f"<p style='margin:0 0 .6em'><i>{safe(one.text, 1200)}</i><br>"
            f"<small style='opacity:.75'>{facts}{safe(one.author, 200)} "
            f"{in_document(one.document, one.chunk, (), safe(one.place, 200))} "
            f"{safe(one.others)}</small></p>")
