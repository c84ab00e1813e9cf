"""A model's Markdown as harmless HTML, and the numbers of the sources it cites.

A reply may hold anything that a poisoned document talked the model into: an image that the browser
fetches, a link that carries the conversation away, a script. So nothing of it is passed on. What is
known is rebuilt from ten tags without attributes, everything else is shown as text, and the only
links are those to our own sources.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from html import escape
from os.path import commonprefix

from qafd.reading.text.plaintext import clean

LONGEST = 40_000  # characters of a reply that are shown

CITED = re.compile(r"\[(\d{1,3}(?:\s*[,;]\s*\d{1,3}){0,19})\](?!\(|:)")
_OPEN_CITATION = re.compile(r"\[[\d\s,;]{0,100}\]?$")
_INLINE = re.compile(
    r"`([^`\n]{1,2000})`"
    r"|!\[([^\]\n]{0,300})\](?:\([^)\n]{0,2000}\)|\[[^\]\n]{0,300}\])?"
    r"|\*\*(?=\S)([^\n]{1,2000}?)(?<=\S)\*\*"
    r"|(?<![\w*])\*(?=\S)([^*\n]{1,2000}?)(?<=\S)\*(?![\w*])"
    r"|" + CITED.pattern)
_ITEM = re.compile(r"\s{0,8}(?:[-*+•]|(\d{1,3})[.)])\s+(.*)")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(.*?)\s*#*\s*$")
_FENCE = re.compile(r"\s{0,3}(```|~~~)")


def numbers(citation: str) -> list[int]:
    """The numbers in the brackets of a citation, e.g. 2 and 3 of "2, 3"."""
    return [int(number) for number in re.findall(r"\d+", citation)]


def answer_html(text: str, sources: Collection[int], anchor: str = "source") -> str:
    """HTML of a model's Markdown: paragraphs, lists, bold, italics, code and citations.

    Headings become bold lines, images their description; links, HTML and all the rest are text.
    A citation of one of `sources` links to the id `anchor`-number on the page; any other number is
    struck out.
    """
    return "".join(_blocks(clean(text[:LONGEST]), sources, anchor))


def plain_text(text: str, sources: Collection[int]) -> str:
    """The reply for a terminal: without control characters, unknown citations marked."""
    def marked(found: re.Match[str]) -> str:
        return "[" + ", ".join(str(n) if n in sources else f"{n}: no such source"
                               for n in numbers(found[1])) + "]"
    return CITED.sub(marked, clean(text[:LONGEST]))


def plain_pieces(pieces: Iterable[str], sources: Collection[int]) -> Iterator[str]:
    """A reply for a terminal as it comes; what may be a citation waits for its last bracket."""
    text = shown = ""
    for piece in pieces:
        text += piece
        if len(text) <= LONGEST:
            now = plain_text(_OPEN_CITATION.sub("", text), sources)
            yield now[len(commonprefix((now, shown))):]
            shown = now
    now = plain_text(text, sources)
    yield now[len(commonprefix((now, shown))):]


def _blocks(text: str, sources: Collection[int], anchor: str) -> Iterator[str]:
    paragraph: list[str] = []
    listed = ""  # the list that is open

    def closed() -> Iterator[str]:
        nonlocal paragraph, listed
        if paragraph:
            yield f"<p>{'<br>'.join(paragraph)}</p>"
        if listed:
            yield f"</{listed}>"
        paragraph, listed = [], ""

    lines = iter(text.split("\n"))
    for line in lines:
        item, heading = _ITEM.match(line), _HEADING.match(line)
        if fence := _FENCE.match(line):
            yield from closed()
            code = []
            for inner in lines:
                if inner.strip().startswith(fence[1]):
                    break
                code.append(escape(inner))
            yield f"<pre><code>{chr(10).join(code)}</code></pre>"
        elif item:
            kind = "ol" if item[1] else "ul"
            if listed != kind:
                yield from closed()
                listed = kind
                yield f"<{kind}>"
            yield f"<li>{_inline(item[2], sources, anchor)}</li>"
        elif heading:
            yield from closed()
            yield f"<p><b>{_inline(heading[1], sources, anchor)}</b></p>"
        elif not line.strip():
            # a list goes on behind an empty line
            if not listed:
                yield from closed()
        else:
            if listed:
                yield from closed()
            paragraph.append(_inline(line.strip(), sources, anchor))
    yield from closed()


def _inline(text: str, sources: Collection[int], anchor: str) -> str:
    parts, at = [], 0
    for found in _INLINE.finditer(text):
        code, image, bold, italic, cited = found.groups()
        parts.append(escape(text[at:found.start()]))
        at = found.end()
        if code is not None:
            parts.append(f"<code>{escape(code)}</code>")
        elif image is not None:
            parts.append(escape(image))
        elif cited is not None:
            parts.append(_citation(cited, sources, anchor))
        else:
            tag = "b" if bold is not None else "i"
            parts.append(f"<{tag}>{_inline(bold or italic, sources, anchor)}</{tag}>")
    return "".join([*parts, escape(text[at:])])


def _citation(cited: str, sources: Collection[int], anchor: str) -> str:
    links = (f'<a href="#{anchor}-{n}">{n}</a>' if n in sources else
             f'<s title="There is no source {n}.">{n}</s>' for n in numbers(cited))
    return f"<sup>[{', '.join(links)}]</sup>"
