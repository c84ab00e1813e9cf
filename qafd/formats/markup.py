"""HTML and Markdown: headings become marks, hidden text stays out."""

import re
from typing import TYPE_CHECKING

from qafd.errors import ParseError
from qafd.formats.draft import Draft, Limits, worthy_title
from qafd.plaintext import clean

if TYPE_CHECKING:
    from lxml.etree import _Element

_HIDDEN = frozenset((
    "script", "style", "noscript", "template", "svg", "iframe", "object", "embed", "nav",
    "button", "select", "textarea", "input", "head", "canvas", "audio", "video", "map",
    "datalist",
))  # fmt: skip
_BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd",
    "details", "dialog", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer",
    "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html", "legend", "li",
    "main", "ol", "p", "pre", "section", "summary", "table", "tbody", "tfoot", "thead",
    "tr", "ul",
))  # fmt: skip
_TIGHT = frozenset(("br", "dd", "dt", "li", "tr"))
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_SELF_CLOSED = re.compile(r"<(script|title|style|iframe|textarea|[a-z]{1,4})\b([^<>]*)/>")


def read_html(text: str, limits: Limits) -> Draft:
    """The document on a page."""
    draft = Draft("html", limits)
    draft.title = read_markup(text, draft)
    return draft


def read_markup(text: str, draft: Draft) -> str:
    """Append what a page shows to `draft`; its own title, or ""."""
    from lxml import etree

    if "<!ENTITY" in text[:100_000]:
        raise ParseError("The page declares XML entities, which are not read; save it without.")
    if re.match(r"\s*<\?xml", text):
        text = _SELF_CLOSED.sub(r"<\1\2></\1>", text)
    parser = etree.HTMLParser(
        encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(text.encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError as error:
        if error.msg == "unknown error":  # what libxml2 calls running out of memory
            raise MemoryError from None
        raise
    if root is None:
        return ""
    title = "".join(next(root.iter("title"), etree.Element("none")).itertext())
    headed = draft.title
    line: list[str] = []
    gap, preformatted = "\n\n", 0
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        tag, starts = element.tag, event == "start"
        hidden = starts and (tag in _HIDDEN or _is_hidden(element))
        if hidden:
            walk.skip_subtree()
        if tag in _BLOCKS:
            shown = "".join(line)
            line.clear()
            if tag in _HEADINGS and not starts:
                draft.head(shown)
            else:
                draft.add(re.sub(r"[\s|]+$", "", shown) if tag == "tr" else shown, gap)
            own = "\n" if tag in _TIGHT else "\n\n"
            gap = own if shown.strip() else max(gap, own)
        elif tag in ("td", "th") and not starts:
            line.append(" | ")
        if tag == "pre":
            preformatted += 1 if starts else -1
        piece = ("" if hidden else element.text) if starts else element.tail
        if piece:
            line.append(piece if preformatted else re.sub(r"\s+", " ", piece))
    draft.add("".join(line), gap)
    return worthy_title(title) or ("" if headed else draft.title)


def _is_hidden(element: "_Element") -> bool:
    style = element.get("style") or ""
    return (
        element.get("hidden") is not None
        or element.get("aria-hidden") == "true"
        or re.search(r"display\s*:\s*none|visibility\s*:\s*hidden", style) is not None
    )


_FENCE = re.compile(r"^\s{0,3}(```|~~~)")
_ATX = re.compile(r"^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_INLINE = (
    (re.compile(r"<!--.*?-->"), ""),
    (re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)"), r"\1"),
    (re.compile(r"!?\[([^\[\]]+)\]\[[^\[\]]*\]"), r"\1"),
    (re.compile(r"<(https?://[^<>\s]+)>"), r"\1"),
    (re.compile(r"</?[a-zA-Z][^<>]*>"), ""),
    (re.compile(r"`+"), ""),
    (re.compile(r"(?<!\\)(\*{1,3}|~~)(?=\S)(.+?)(?<=\S)\1"), r"\2"),
    (re.compile(r"(?<![\w\\])(_{1,3})(?=\S)(.+?)(?<=\S)\1(?!\w)"), r"\2"),
    (re.compile(r"\\([!-/:-@\[-`{-~])"), r"\1"),
)


def looks_like_markdown(text: str) -> bool:
    """Whether a heading, a code fence or a link is near the start."""
    return bool(re.search(r"^#{1,6} \S|^```|\]\(https?://", text[:20000], re.MULTILINE))


def read_markdown(text: str, limits: Limits) -> Draft:
    """The document without its markup; headings of both kinds, title from the front matter."""
    draft = Draft("md", limits)
    text = clean(text)
    if front := re.match(r"---\n(.*?)\n(---|\.\.\.)(\n|$)", text[:20000], re.DOTALL):
        text = text[front.end() :]
        if title := re.search(r"^title:\s*[\"']?(.+?)[\"']?\s*$", front[1], re.MULTILINE):
            draft.title = title[1]
    block: list[str] = []
    code = False
    for line in text.split("\n"):
        if _FENCE.match(line):
            code = not code
        elif code:
            block.append(line)
        elif atx := _ATX.match(line):
            draft.add("\n".join(block))
            block.clear()
            draft.head(_inline(atx[2]))
        elif block and block[-1] and re.fullmatch(r" {0,3}(=+|-{2,})\s*", line):
            heading = block.pop()
            draft.add("\n".join(block))
            block.clear()
            draft.head(heading)
        elif not re.fullmatch(r"\s*\|?(\s*:?-+:?\s*\|)+\s*:?-*:?\s*|\s*\[[^\]]+\]:\s+\S+.*", line):
            quoted = re.sub(r"^\s*(>\s?)+", "", line)
            row = re.fullmatch(r"\s*\|(.*)\|\s*", quoted)
            block.append(_inline(row[1].strip() if row else quoted))
    draft.add("\n".join(block))
    return draft


def _inline(line: str) -> str:
    if len(line) > 100_000:  # the patterns take quadratic time on one endless line
        return line
    for pattern, replacement in _INLINE:
        line = pattern.sub(replacement, line)
    return line
