"""Printed pages of a PDF, with the quoted sentences marked."""

from collections.abc import Sequence

import streamlit as st

from qafd.app.escaping import escape_sentence
from qafd.app.session import remember
from qafd.errors import QafdError, StoreError
from qafd.knowledge import KnowledgeGraph
from qafd.reading.parsing import draw_page
from qafd.records import mark_at


def show_page(knowledge: KnowledgeGraph, document: str, spans: Sequence[tuple[int, int]]) -> bool:
    """Draw the page on which some spans of a document begin; return False if there is none.

    Nothing is drawn of a document without pages, or whose file is not stored.
    """
    if not spans:
        return False
    try:
        with knowledge.store() as store:
            head = store.documents.head(document)
            if head.kind != "pdf" or not head.original:
                return False
            first, last = min(min(spans)), max(max(spans))
            text, marks = store.documents.part(document, first, last)
    except StoreError:  # it was deleted meanwhile
        return False
    page = mark_at(marks, spans[0][0]).page
    if page is None:
        return False
    quotes = tuple(text[start - first:end - first] for start, end in spans)
    try:
        image = remember("page", (knowledge.id, head.source, head.characters, page, quotes),
                         lambda: _draw(knowledge, head.source, page, quotes))
    except QafdError as error:
        st.caption(escape_sentence(error))
        return False
    st.image(image, caption=f"Page {page} of {head.pages}",
             width="stretch", alt="The page as it was printed, with the quoted sentences marked")
    return True


def _draw(knowledge: KnowledgeGraph, source: str, page: int, quotes: tuple[str, ...]) -> bytes:
    with knowledge.store() as store:
        data = store.files.original(source)
    if data is None:
        raise StoreError(f"The file {source} is no longer stored.")
    return draw_page(data, page, quotes)
