"""Links into documents and to other pages of the app, each in a tab of its own."""

import html
from collections.abc import Iterable
from urllib.parse import urlencode

import streamlit as st

from qafd.app.escaping import safe


def in_document(document: str, chunk: str, spans: Iterable[tuple[int, int]] = (),
                words: str = "") -> str:
    """Return a link that opens a passage in its document, as HTML like its `words`.

    Parameters
    ----------
    spans : iterable of (int, int)
        Offsets in the document of the sentences to mark there.
    """
    address = {"ws": st.session_state.get("ws", ""), "doc": document, "passage": chunk,
               "at": [f"{start}-{end}" for start, end in spans]}
    return link("documents", address, words or safe("open in document"))


def link(to: str, address: dict[str, str | list[str]], words: str) -> str:
    """Return a link to a page of the app, as HTML."""
    # a new tab keeps this page as it is, and a key typed in Settings
    return (f"<a href='{to}?{html.escape(urlencode(address, doseq=True))}' target='_blank'>{words}</a>")
