"""Markdown: headings become marks, what remains is the text.

A line break within a paragraph is a space to Markdown. Here it stays one in a list of fields, and parts
paragraphs where the upper line is short and no sentence ends it, or where a clause begins.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from qafd.reading.formats.draft import DocumentDraft
from qafd.reading.formats.limits import Limits
from qafd.reading.text.lines import gap_between, is_field, typed_width
from qafd.reading.text.plaintext import clean

if TYPE_CHECKING:
    from markdown_it.token import Token

_SOFT = "\v"  # stands for a line break within a paragraph; no text has it
_FRONT_MATTER = re.compile(r"---\n(.*?)\n(?:---|\.\.\.)(?:\n|$)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:\s*[\"']?(.+?)[\"']?\s*$", re.MULTILINE)
_TAG = re.compile(r"<!--.*?-->|</?[a-zA-Z][^<>]*>", re.DOTALL)


def looks_like_markdown(text: str) -> bool:
    """Whether a heading, a code fence or a link is near the start."""
    return bool(re.search(r"^#{1,6} \S|^```|\]\(https?://", text[:20000], re.MULTILINE))


def read_markdown(text: str, limits: Limits) -> DocumentDraft:
    """The document without its markup; the title is that of the front matter, else a heading."""
    from markdown_it import MarkdownIt

    draft = DocumentDraft("md", limits)
    text = clean(text)
    front = _FRONT_MATTER.match(text[:20000])
    if front:
        text = text[front.end():]
        title = _FRONT_TITLE.search(front[1])
        draft.title = title[1] if title else ""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    width = typed_width(text.split("\n"))
    rows: list[list[str]] = []
    block, gap = "", "\n\n"
    for token in parser.parse(text):
        if token.type == "list_item_open":
            block = "item"
        elif token.type == "tr_open":
            rows.append([])
        elif token.type == "table_close":
            draft.table(rows, headed=True)
            rows = []
        elif token.type in ("heading_open", "th_open", "td_open"):
            block = token.type
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            gap = "\n\n"
        elif token.type in ("fence", "code_block"):
            draft.add(token.content)
        elif token.type == "html_block":
            draft.add(_TAG.sub("", token.content))
        elif token.type == "inline":
            shown = _plain(token.children or ())
            shown = shown.replace(_SOFT, " ") if block else _joined(shown.split(_SOFT), width)
            if rows and block != "heading_open":
                rows[-1].append(shown)
            else:
                gap = _add(draft, shown, block, gap)
            block = ""
    return draft


def _add(draft: DocumentDraft, text: str, block: str, gap: str) -> str:
    """Append the text of a heading, an item or a paragraph; the gap before the next item."""
    if block == "heading_open":
        draft.head(text)
    elif block == "item":
        draft.add(f"- {text}", gap)
        return "\n"
    else:
        draft.add(text)
    return gap


def _joined(lines: Sequence[str], width: float) -> str:
    parts = list(lines[:1])
    for before, line in pairwise(lines):
        gap = gap_between(before, line, width)
        parts += [gap if gap == "\n\n" or is_field(line) else " ", line]
    return "".join(parts)


def _plain(tokens: Sequence["Token"]) -> str:
    """The text of inline tokens; a badge, which is a picture that is a link, has none."""
    shown = []
    linked = 0
    for token in tokens:
        linked += (token.type == "link_open") - (token.type == "link_close")
        if token.type in ("text", "code_inline"):
            shown.append(token.content)
        elif token.type == "softbreak":
            shown.append(_SOFT)
        elif token.type == "hardbreak":
            shown.append("\n")
        elif token.type == "image" and not linked:
            shown.append(token.content)
    return "".join(shown)
