"""HTML of document texts and links for st.html: the one place of the app that writes tags."""

import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote, urlencode

import streamlit as st

from qafd.app.escaping import safe


def paragraph(html: str, style: str = "") -> str:
    """Build a paragraph in a style of the page: lead, answer, quoted, source, quiet."""
    return f"<p class='{style}'>{html}</p>" if style else f"<p>{html}</p>"


def embolden(html: str) -> str:
    """Make words bold."""
    return f"<b>{html}</b>"


def italic(html: str) -> str:
    """Make words italic, as those of another author."""
    return f"<i>{html}</i>"


def small(html: str) -> str:
    """Make words small and pale."""
    return f"<small class='quiet'>{html}</small>"


def lines(*html: str) -> str:
    """Put lines below one another, without the empty ones."""
    return "<br>".join(line for line in html if line)


def heading(text: str, below: str = "") -> str:
    """Build a heading with a small line below it."""
    return f"<h2>{safe(text)}</h2>" + (f"<small>{safe(below)}</small>" if below else "")


def section(text: str) -> str:
    """Build the heading of a part of the card."""
    return f"<h2 class='part-of-card'>{safe(text)}</h2>"


def bullets(texts: Iterable[str]) -> str:
    """Build a list of sentences."""
    return "<ul>" + "".join(f"<li>{safe(text)}</li>" for text in texts) + "</ul>"


def best(text: str, is_best: bool, length: int = 2000) -> str:
    """Quote a sentence, bold if it is the best one."""
    return embolden(safe(text, length)) if is_best else safe(text, length)


def find_names(text: str, names: Mapping[str, str]) -> list[tuple[int, int, str]]:
    """Return start, end and name of each of some names in a text; the longest wins."""
    if not names:
        return []
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    pattern = "|".join(map(re.escape, longest_first))
    return [(found.start(), found.end(), found.group())
            for found in re.finditer(rf"(?<!\w)(?:{pattern})(?!\w)", text)]


def mark_names(html: str, names: Mapping[str, str]) -> str:
    """Link the names in an answer to their nodes, which the picture then highlights.

    `names` are names as text with their node ids.
    """
    escaped = {safe(name, 80): id for name, id in names.items()}
    parts = re.split(r"(<[^>]*>)", html)
    for place in range(0, len(parts), 2):  # every second part is a tag
        text, end, marked_text = parts[place], 0, ""
        for start, stop, name in find_names(text, escaped):
            marked_text += (f"{text[end:start]}<span class='name' role='button' tabindex='0' "
                            f"data-name='{safe(escaped[name], 200)}'>{name}</span>")
            end = stop
        parts[place] = marked_text + text[end:]
    return "".join(parts)


def cite(words: str) -> str:
    """Build the raised number of a source."""
    return f"<sup>{words}</sup>"


def style_words(words: Mapping[str, str]) -> str:
    """Define words for the style sheet, by the names of their variables."""
    variables = "".join(f"--{name}: {json.dumps(text)};" for name, text in words.items())
    return f"<style>:root {{{variables}}}</style>"


def jump(text: str, anchor: str) -> str:
    """Link to a place of the same page."""
    return f"<a href='#{anchor}'>{safe(text)} ↓</a>"


def anchor_source(html: str, anchor: str, number: int) -> str:
    """Build a source to which `cite` leads."""
    return f"<div id='{anchor}-{number}' class='source'>{html}</div>"


def keep_spaces(text: str, between: str = "<br>") -> str:
    """Escape text with the spaces at the ends of its lines; `between` replaces line breaks."""
    lines_html = []
    for line in text.split("\n"):
        before = " " if line[:1].isspace() else ""
        after = " " if line[-1:].isspace() else ""
        lines_html.append(before + safe(line, len(line) + 1) + after)
    return between.join(lines_html)


def mark_spans(text: str, marks: Iterable[tuple[int, int]], start: int = 0, end: int | None = None, *,
               between: str = "<br>") -> str:
    """Mark the spans in a stretch of a text; `between` replaces line breaks."""
    end = len(text) if end is None else end
    html, place = "", start
    for first, last in sorted(marks):
        first, last = max(first, place), min(last, end)
        if first < last:
            marked = keep_spaces(text[first:last], between)
            html += f"{keep_spaces(text[place:first], between)}<mark>{marked}</mark>"
            place = last
    return html + keep_spaces(text[place:end], between)


def fold(summary_html: str, html: str) -> str:
    """Build a part that opens when its summary is clicked."""
    return f"<details><summary>{summary_html}</summary>{html}</details>"


def add_hint(text: str, hint: str) -> str:
    """Build words with a hint for the pointer."""
    return f"<span title='{safe(hint)}'>{safe(text)}</span>"


def read_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Build a table whose cells wrap; the last column keeps its width."""
    return f"<table class='facts'>{_row('th', head)}{''.join(_row('td', row) for row in rows)}</table>"


def quote_row(cells: Iterable[tuple[str, str]], asked: int, number_html: str) -> str:
    """Build a table with a line for each column of a row: the asked cell marked, the source last."""
    rows = ""
    for place, (column, value) in enumerate(cells):
        html = f"<mark>{safe(value, 300)}</mark>" if place == asked else safe(value, 300)
        rows += f"<tr><th scope='row'>{safe(column, 80)}</th><td>{html}</td></tr>"
    return f"<div class='quoted'><table>{rows}</table>{number_html}</div>"


def _row(tag: str, texts: Sequence[str]) -> str:
    cells = []
    for text in texts:
        name = " class='number'" if re.fullmatch(r"[\d.,e%+-]+", text) else ""
        cells.append(f"<{tag}{name}>{safe(text, 600)}</{tag}>")
    return f"<tr>{''.join(cells)}</tr>"


def side_by_side(cells_html: Sequence[str], columns: int = 2) -> str:
    """Lay cells out in the columns of a picture if they fit, else below one another."""
    cells = "".join(f"<section>{cell}</section>" for cell in cells_html)
    return f"<div class='beside' style='--columns:{columns}'>{cells}</div>"


def ticks(places: Iterable[float], full: float, hint: str, label: str) -> str:
    """Draw ticks below a control at shares of its length; those up to the share `full` are long."""
    lines = "".join(f"M{1000 * place:.0f},0v1" for place in places)
    image = (f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1000 1' preserveAspectRatio='none'>"
             f"<path d='{lines}' stroke='black' vector-effect='non-scaling-stroke'/></svg>")
    return (f"<div role='img' class='ticks' title='{safe(hint)}' aria-label='{safe(label)}' "
            f"style='--full:{full:.1%};--ticks:url(\"data:image/svg+xml,{quote(image, safe=' ,/:=')}\")'>"
            "<b></b><i></i></div>")


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
