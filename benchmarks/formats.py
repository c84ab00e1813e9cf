"""CPU time per passage of reading the rows of one table in each format.

    python benchmarks/formats.py [ROWS]

Runs the readers and the cutting of passages in this process, so that the start of a child does not
count. To compare with another version, run it there with this file's path.
"""

import io
import json
import sys
import time
from collections.abc import Callable, Sequence

from qafd.reading.formats import Limits, read
from qafd.reading.text import cut
from qafd.records import Document, Mark

COLUMNS = ("Pump", "Town", "Head", "Sold", "Remark")
TOWNS = ("Bodo", "Asker", "Mandal", "Lillesand", "Karlsoy")
ROUNDS = 3

Rows = Sequence[Sequence[str]]


def make_rows(count: int) -> list[list[str]]:
    """Return the rows of a table of sales."""
    return [[f"HX{number}", TOWNS[number % 5], f"Person{number % 97} Lund", str(number * 7 % 400),
             f"The seal was replaced in week {number % 52} and the pump runs quietly."]
            for number in range(count)]


def _csv(rows: Rows) -> bytes:
    return "\n".join(map(",".join, [COLUMNS, *rows])).encode()


def _json(rows: Rows) -> bytes:
    return json.dumps([dict(zip(COLUMNS, row, strict=True)) for row in rows]).encode()


def _html(rows: Rows) -> bytes:
    cells = ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
    head = "".join(f"<th>{name}</th>" for name in COLUMNS)
    body = "\n".join(f"<tr>{row}</tr>" for row in cells)
    return f"<html><body><table><tr>{head}</tr>\n{body}</table></body></html>".encode()


def _markdown(rows: Rows) -> bytes:
    table = [COLUMNS, ["---"] * len(COLUMNS), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in table).encode()


def _rst(rows: Rows) -> bytes:
    widths = [max(map(len, column)) for column in zip(COLUMNS, *rows, strict=True)]
    rule = "  ".join("=" * width for width in widths)
    lines = []
    for row in (COLUMNS, *rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join([rule, lines[0], rule, *lines[1:], rule, ""]).encode()


def _xlsx(rows: Rows) -> bytes:
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    for row in (COLUMNS, *rows):
        sheet.append([int(cell) if cell.isdigit() else cell for cell in row])
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def _docx(rows: Rows) -> bytes:
    from docx import Document as Word

    word = Word()
    table = word.add_table(1 + len(rows), len(COLUMNS))
    cells = iter(table._cells)
    for row in (COLUMNS, *rows):
        for text in row:
            next(cells).text = text
    stream = io.BytesIO()
    word.save(stream)
    return stream.getvalue()


def _pptx(rows: Rows) -> bytes:
    from pptx import Presentation
    from pptx.util import Inches

    show = Presentation()
    for first in range(0, len(rows), 50):
        part = (COLUMNS, *rows[first:first + 50])
        slide = show.slides.add_slide(show.slide_layouts[6])
        table = slide.shapes.add_table(len(part), len(COLUMNS), 0, 0, Inches(9), Inches(7)).table
        for place, row in zip(table.rows, part, strict=True):
            for cell, text in zip(place.cells, row, strict=True):
                cell.text = text
    stream = io.BytesIO()
    show.save(stream)
    return stream.getvalue()


def _text(rows: Rows) -> bytes:
    return "\n\n".join(f"{row[0]} was sold in {row[1]} by {row[2]}, {row[3]} times. {row[4]}"
                       for row in rows).encode()


MAKERS: dict[str, Callable[[Rows], bytes]] = {
    "txt": _text, "csv": _csv, "json": _json, "html": _html, "md": _markdown, "rst": _rst,
    "xlsx": _xlsx, "docx": _docx, "pptx": _pptx,
}


def measure(name: str, data: bytes) -> tuple[float, int]:
    """Return the least CPU seconds of some readings of a file, and its passages."""
    times = []
    passages = 0
    for _ in range(ROUNDS):
        begun = time.process_time()
        drafts, _ = read(name, data, Limits(cpu_seconds=1000))
        passages = 0
        for draft in drafts:
            marks = tuple(Mark(*mark) for mark in draft.marks)
            passages += len(cut(Document(draft.name, draft.title, draft.kind, draft.text, marks)))
        times.append(time.process_time() - begun)
    return min(times), passages


def main() -> None:
    """Print a line for each format."""
    rows = make_rows(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
    for ending, make in MAKERS.items():
        seconds, passages = measure(f"table.{ending}", make(rows))
        print(f"{ending:5} {passages:5} passages {1000 * seconds / passages:7.2f} ms each "
              f"{seconds:6.2f} s", flush=True)


if __name__ == "__main__":
    main()
