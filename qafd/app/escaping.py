"""Escaping of text from documents and errors, so that nothing in it is read as markup."""

import html
import re

from markdown_it import MarkdownIt

from qafd.errors import QafdError
from qafd.view.panel import clean

_MARKDOWN = MarkdownIt("commonmark", {"html": False})


def escape_sentence(error: QafdError | str) -> str:
    """Escape the sentence of an error or a notice for Streamlit's markdown, and capitalize it."""
    return plain(capitalize(str(error) if isinstance(error, QafdError) else error))


def capitalize(text: str) -> str:
    """Capitalize a sentence that begins with a plain word; another one may begin with a name."""
    return text[:1].upper() + text[1:] if re.match(r"[a-z]+( |$)", text) else text


def safe(text: str, length: int = 2000) -> str:
    """Escape text for st.html: one line, without direction characters or markup."""
    return html.escape(clean(text, length))


def render(text: str) -> str:
    """Render Markdown as HTML for st.html; tags in it are text."""
    return str(_MARKDOWN.render(text))


def brief(text: str, length: int = 120) -> str:
    """Shorten a text to one line of at most `length` characters of Streamlit's markdown."""
    return plain(clean(text, length))


def plain(text: str) -> str:
    """Escape text for Streamlit's markdown, so that nothing in it is read as markup."""
    # Addresses become links after escapes are read; an invisible word joiner prevents that.
    text = re.sub(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?<=[\w.+-])(?=@)", "\u2060", text, flags=re.I)
    return re.sub(r"([\\`*_{}\[\]()#+\-.!|~$:<>&])", r"\\\1", text)
