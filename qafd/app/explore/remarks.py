"""What models and imported graphs say of an entity or a relation, on the cards."""

from collections.abc import Sequence

import streamlit as st

from qafd.app.escaping import safe
from qafd.app.links import in_document
from qafd.app.markup import italic, lines, paragraph, small
from qafd.curate.descriptions import Remark, remarks
from qafd.knowledge import KnowledgeGraph
from qafd.wording import say
from qafd.wording.counts import count
from qafd.wording.entities import say_author, say_keywords, say_more_passages, say_place

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
        with st.expander(say("{descriptions} more", descriptions=count(len(more), "description"))):
            st.html("".join(map(remark, more[:MOST])))
            if len(more) > MOST:
                st.caption(say("The first {most} of them", most=MOST))


def remark(one: Remark) -> str:
    """A remark with who wrote it and of which passage, as HTML."""
    place = in_document(one.document, one.chunk, (), safe(say_place(one.document, one.page), 200))
    source = f"{safe(say_author(one), 200)} {place} {safe(say_more_passages(one))}"
    return paragraph(lines(italic(safe(one.text, 1200)),
                           small(lines(safe(say_keywords(one), 300), source))))
