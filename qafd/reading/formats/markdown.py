"""Markdown, rendered to an HTML page and read as such.

In Markdown a line break within a paragraph is a space. Here it stays a line break in a list of
fields, and it separates paragraphs if the upper line is short and does not end a sentence, or if a
clause begins.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from qafd.reading.formats.draft import DocumentDraft, Limits
from qafd.reading.formats.page import read_markup
from qafd.reading.text.lines import gap_between, is_field, typed_width
from qafd.reading.text.plaintext import clean

if TYPE_CHECKING:
    from markdown_it.token import Token

_FRONT_MATTER = re.compile(r"---\n(.*?)\n(?:---|\.\.\.)(?:\n|$)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:\s*[\"']?(.+?)[\"']?\s*$", re.MULTILINE)
_COMMENTS = 1000  # with more, looking for the end of each would take quadratic time


def looks_like_markdown(text: str) -> bool:
    """Return True if a heading, a code fence or a link is near the start."""
    return bool(re.search(r"^#{1,6} \S|^```|\]\(https?://", text[:20000], re.MULTILINE))


def read_markdown(text: str, limits: Limits) -> DocumentDraft:
    """Read a document without its markup; its title is that of the front matter, else a heading."""
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

    draft = DocumentDraft("md", limits)
    text = clean(text)
    front = _FRONT_MATTER.match(text[:20000])
    if front:
        text = text[front.end():]
        stated = _FRONT_TITLE.search(front[1])
        draft.title = stated[1] if stated else ""
    if text.count("<!--") > _COMMENTS:
        text = text.replace("<!--", "<!- -")
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    width = typed_width(text.split("\n"))
    tokens = parser.parse(text)
    for before, token in pairwise([Token("", "", 0), *tokens]):
        if token.type == "inline":
            wrapped = before.type == "paragraph_open"
            lines = list(_lines(token.children or ()))
            token.children = list(_join_lines(lines, width if wrapped and before.level == 0 else None))
    title = read_markup(parser.renderer.render(tokens, parser.options, {}), draft)
    draft.title = draft.title or title
    return draft


def read_notebook(notebook: dict[str, Any], limits: Limits) -> DocumentDraft:
    """Read the text, code and printed output of the cells of a Jupyter notebook."""
    parts: list[str] = []
    pictures = 0
    for cell in notebook["cells"]:
        if not isinstance(cell, dict):
            continue
        source = _source(cell.get("source"))
        parts.append(source if cell.get("cell_type") != "code" else _fence(source))
        for output in cell.get("outputs") or ():
            bundle = output.get("data") if isinstance(output.get("data"), dict) else {}
            parts.append(_fence(_source(output.get("text") or bundle.get("text/plain"))))
            pictures += any(kind.startswith("image/") for kind in bundle)
    draft = read_markdown("\n\n".join(filter(None, parts)), limits)
    draft.kind = "ipynb"
    draft.skip("picture", pictures)
    return draft


def _source(lines: Any) -> str:
    return "".join(map(str, lines)) if isinstance(lines, list) else str(lines or "")


def _fence(code: str) -> str:
    return f"~~~~~~\n{code}\n~~~~~~" if code.strip() else ""


def _lines(tokens: "Sequence[Token]") -> "Iterator[list[Token]]":
    """Yield the tokens of each line; a picture is its description, unless it is a link (a badge)."""
    line: list[Token] = []
    links = 0
    for token in tokens:
        links += (token.type == "link_open") - (token.type == "link_close")
        if token.type == "softbreak":
            yield line
            line = []
        elif token.type == "image":
            line += [] if links else [_text(token.content)]
        elif token.type != "html_inline" or token.content.lower().startswith("<br"):
            line.append(token)
    yield line


def _join_lines(lines: "Sequence[list[Token]]", width: float | None) -> "Iterator[Token]":
    """Yield the tokens of a paragraph with the breaks that its writer made."""
    from markdown_it.token import Token

    texts = ["".join(token.content for token in line) for line in lines]
    yield from lines[0]
    for (before, text), line in zip(pairwise(texts), lines[1:], strict=True):
        gap = " " if width is None else gap_between(before, text, width)
        if gap == "\n\n":
            yield from (Token("hardbreak", "br", 0), Token("hardbreak", "br", 0))
        elif width is not None and is_field(text):
            yield Token("hardbreak", "br", 0)
        else:
            yield _text(" ")
        yield from line


def _text(content: str) -> "Token":
    from markdown_it.token import Token

    return Token("text", "", 0, content=content)
