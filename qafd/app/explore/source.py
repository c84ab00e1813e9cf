"""The source of an answer beside it: the passage of a cited sentence, with the sentence marked."""

import streamlit as st

from qafd.answer import Citation
from qafd.app import markup
from qafd.app.escaping import plain, safe
from qafd.app.page_images import show_page
from qafd.app.pages import page
from qafd.app.result import View
from qafd.app.session import session
from qafd.view.panel import clean
from qafd.wording import say


def source_button(citation: Citation) -> None:
    """The title of a source, which opens its passage in the place of the answer."""
    st.button(plain(clean(citation.title, 60)), key=f"source {citation.number}", type="tertiary",
              icon=":material/format_quote:", help=plain(clean(citation.where, 200)),
              on_click=_open, args=(citation.passage.chunk,))


def open_source(view: View) -> bool:
    """Draw the source that is open; False without one, or where the answer cites it no longer."""
    citation = next((c for c in view.answer.citations
                     if c.passage.chunk == session().source), None)
    if citation is None:
        return False
    st.button(say("The answer"), icon=":material/arrow_back:", type="tertiary", on_click=_open,
              args=("",))
    text = citation.passage.text
    st.html(markup.heading(clean(citation.title, 120), clean(citation.where, 200))
            + markup.paragraph(markup.marked(text, citation.marks), "source"))
    spans = [(citation.passage.start + start, citation.passage.start + end)
             for start, end in citation.marks]
    show_page(view.knowledge, citation.passage.document, spans)
    st.page_link(page("documents"), label=say("Read on in the document"), icon=":material/menu_book:",
                 query_params={"ws": view.knowledge.name, "doc": citation.passage.document,
                               "passage": citation.passage.chunk,
                               "at": [f"{start}-{end}" for start, end in spans]})
    return True


def _open(chunk: str) -> None:
    session().source = chunk


def titled(citation: Citation) -> str:
    """A source by its title, as HTML."""
    return markup.small(safe(citation.title, 60))
