"""Text from documents and errors as text alone: nothing in it is taken for markup."""

import html
import re

from markdown_it import MarkdownIt

from qafd.errors import QafdError
from qafd.view.panel import clean

_MARKDOWN = MarkdownIt("commonmark", {"html": False})


def said(error: QafdError | str) -> str:
    """The sentence of an error or a notice for Streamlit's markdown, beginning with a capital."""
    return plain(capital(str(error) if isinstance(error, QafdError) else error))


def capital(text: str) -> str:
    """A sentence with its capital; what does not begin with a word may begin with a name."""
    return text[:1].upper() + text[1:] if re.match(r"[a-z]+( |$)", text) else text


def safe(text: str, length: int = 2000) -> str:
    """Text for st.html: one line, without direction characters, with nothing taken for markup."""
    return html.escape(clean(text, length))


def render(text: str) -> str:
    """Markdown as HTML for st.html; tags in it are text."""
    return str(_MARKDOWN.render(text))


def brief(text: str, length: int = 120) -> str:
    """The beginning of a text for Streamlit's markdown: one line of at most `length` characters."""
    return plain(clean(text, length))


def plain(text: str) -> str:
    """Text for Streamlit's markdown in which nothing is taken for markup."""
    # Addresses become links after escapes are read; a word joiner, which nobody sees, keeps them.
    text = re.sub(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?<=[\w.+-])(?=@)", "\u2060", text, flags=re.I)
    return re.sub(r"([\\`*_{}\[\]()#+\-.!|~$:<>&])", r"\\\1", text)
