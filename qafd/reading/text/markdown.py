"""A model's Markdown as harmless HTML, and the numbers of the sources it cites.

A reply may hold anything that a poisoned document talked the model into: an image that the browser
fetches, a link that carries the conversation away, a script. So nothing of it is passed on. What is
known is rebuilt from ten tags without attributes, everything else is shown as text, and the only
links are those to our own sources.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from html import escape
from os.path import commonprefix
from typing import TYPE_CHECKING

from qafd.reading.text.plaintext import clean

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LONGEST = 40_000  # characters of a reply that are shown
WIDEST = 20  # numbers of a range such as "[1-3]"

# "[1]:" defines a link at the begin of a line, and cites elsewhere
CITED = re.compile(r"(?:(?<=[^\n])|(?=\[[^\]]*\](?!:)))\[(\d{1,3}(?:\s*[,;–-]\s*\d{1,3}){0,19})\](?!\()")
_NUMBERS = r"\d{1,3}(?:\s*(?:[,;&–-]|and)\s*\d{1,3}){0,19}"
_OTHER_BRACKETS = re.compile(rf"【\s*({_NUMBERS})\s*(?:†[^】\n]{{0,60}})?】")
_IN_WORDS = re.compile(rf"([(\[]?)\b(passages?)\s+({_NUMBERS})\b([)\]]?)", re.I)
_OPEN_CITATION = re.compile(
    r"(?:[\[【][\d\s,;–-]{0,100}(?:†[^】\n]{0,60})?\]?|[(\[]?\bp\w{0,7}[\s\d,;&andAND]{0,40}[)\]]?)$", re.I)
_TAGS = {"paragraph": "p", "heading": "p", "bullet_list": "ul", "ordered_list": "ol",
         "list_item": "li", "strong": "b", "em": "i"}
_CODE = {"fence": "<pre><code>{}</code></pre>", "code_inline": "<code>{}</code>"}
_UNKNOWN = ("link", "autolink", "reference", "code", "entity")  # what stays as it is written


def numbers(citation: str) -> list[int]:
    """Return the numbers in the brackets of a citation, e.g. 2, 3 and 4 of "2-4"."""
    found: list[int] = []
    for first, last in re.findall(r"(\d+)(?:\s*[–-]\s*(\d+))?", citation):
        start, end = int(first), int(last or first)
        found += range(start, end + 1) if 0 <= end - start < WIDEST else (start, end)
    return found


def bracket_citations(text: str) -> str:
    """Return the reply with all citations in square brackets, also "【2】", "(passage 2)" and "passage 2"."""
    def alone(found: re.Match[str]) -> str:
        return f"[{', '.join(map(str, numbers(found[1])))}]"

    def in_words(found: re.Match[str]) -> str:
        cited = f"[{', '.join(map(str, numbers(found[3])))}]"
        return cited if found[1] and found[4] else f"{found[1]}{found[2]} {cited}{found[4]}"

    return _IN_WORDS.sub(in_words, _OTHER_BRACKETS.sub(alone, text))


def answer_html(text: str, sources: Collection[int], anchor: str = "source") -> str:
    """Return the HTML of a model's Markdown: paragraphs, lists, bold, italics, code and citations.

    Headings become bold lines, images their description; links, HTML and all the rest are text.
    A citation of one of `sources` links to the id `anchor`-number on the page; any other number is
    struck out.
    """
    return "".join(_rebuild(_parser().parse(bracket_citations(clean(text[:LONGEST]))), sources, anchor))


def plain_text(text: str, sources: Collection[int]) -> str:
    """Return the reply for a terminal: without control characters, unknown citations marked."""
    def mark(found: re.Match[str]) -> str:
        return "[" + ", ".join(str(n) if n in sources else f"{n}: no such source"
                               for n in numbers(found[1])) + "]"
    return CITED.sub(mark, bracket_citations(clean(text[:LONGEST])))


def plain_pieces(pieces: Iterable[str], sources: Collection[int]) -> Iterator[str]:
    """Yield a reply for a terminal as it comes; a possible citation waits for its last bracket."""
    text = shown = ""
    for piece in pieces:
        text += piece
        if len(text) <= LONGEST:
            now = plain_text(_OPEN_CITATION.sub("", text), sources)
            yield now[len(commonprefix((now, shown))):]
            shown = now
    now = plain_text(text, sources)
    yield now[len(commonprefix((now, shown))):]


@cache
def _parser() -> "MarkdownIt":
    # takes as long to import as an answer to write
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).disable(list(_UNKNOWN))


def _rebuild(tokens: Iterable["Token"], sources: Collection[int], anchor: str) -> Iterator[str]:
    """Yield the tags of known elements, the text of all others."""
    for token in tokens:
        name, _, side = token.type.rpartition("_")
        if token.type == "inline":
            yield from _rebuild(token.children or (), sources, anchor)
        elif token.type == "text":
            yield _cite(token.content, sources, anchor)
        elif token.type == "image":
            yield escape(token.content)
        elif token.type in _CODE:
            yield _CODE[token.type].format(escape(token.content.removesuffix("\n")))
        elif token.type in ("softbreak", "hardbreak"):
            yield "<br>"
        elif name in _TAGS and not token.hidden:
            bold = name == "heading"
            if side == "open":
                yield f"<{_TAGS[name]}>{'<b>' if bold else ''}"
            else:
                yield f"{'</b>' if bold else ''}</{_TAGS[name]}>"


def _cite(text: str, sources: Collection[int], anchor: str) -> str:
    """Return a text with its citations as links."""
    parts, at = [], 0
    for found in CITED.finditer(text):
        parts += [escape(text[at:found.start()]), _citation(found[1], sources, anchor)]
        at = found.end()
    return "".join([*parts, escape(text[at:])])


def _citation(cited: str, sources: Collection[int], anchor: str) -> str:
    links = (f'<a href="#{anchor}-{n}">{n}</a>' if n in sources else
             f'<s title="There is no source {n}.">{n}</s>' for n in numbers(cited))
    return f"<sup>[{', '.join(links)}]</sup>"
