"""CPU time per passage and memory of `qafd index` on one table in each format.

    python benchmarks/formats.py [ROWS]

The whole command counts, with its start and its child processes. To compare with another version, put
its folder first in PYTHONPATH; the files are the same.
"""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from email.message import EmailMessage
from pathlib import Path
from tempfile import TemporaryDirectory

COLUMNS = ("Pump", "Town", "Head", "Sold", "Remark")
TOWNS = ("Bodo", "Asker", "Mandal", "Lillesand", "Karlsoy")
ROUNDS = 2

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
    cells = ["".join(map("<td>{}</td>".format, row)) for row in rows]
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


def _mail(rows: Rows) -> bytes:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "per@example.org", "una@example.org", "Sales"
    mail.set_content(_text(rows).decode())
    return mail.as_bytes()


def _pdf(rows: Rows) -> bytes:
    from files import pdf

    lines = _text(rows).decode().replace("\n\n", "\n").split("\n")
    return pdf(*(lines[first:first + 45] for first in range(0, len(lines), 45)))


MAKERS: dict[str, Callable[[Rows], bytes]] = {
    "txt": _text, "csv": _csv, "json": _json, "html": _html, "md": _markdown, "rst": _rst,
    "xlsx": _xlsx, "docx": _docx, "pptx": _pptx, "pdf": _pdf, "eml": _mail,
}


def measure(file: Path) -> tuple[float, float, int]:
    """Return the least CPU seconds of some runs of the command, the megabytes of its largest process,
    and the passages."""
    times, sizes = [], []
    passages = 0
    for number in range(ROUNDS):
        command = [sys.executable, "-m", "qafd", "index", str(file), "--json", "--engine", "serial",
                   "--db", str(file.parent / f"{file.suffix[1:]}{number}.db")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
            assert run.stdout is not None
            passages = json.loads(run.stdout.read())["passages"]
            usage = os.wait4(run.pid, 0)[2]
            run.returncode = 0
        times.append(usage.ru_utime + usage.ru_stime)
        sizes.append(usage.ru_maxrss / 1000)
    return min(times), max(sizes), passages


def main() -> None:
    """Print a line for each format."""
    sys.path.append(str(Path(__file__).parents[1] / "tests"))  # for its writer of PDF
    rows = make_rows(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
    with TemporaryDirectory() as folder:
        for ending, make in MAKERS.items():
            file = Path(folder, f"table.{ending}")
            file.write_bytes(make(rows))
            seconds, size, passages = measure(file)
            print(f"{ending:5} {passages:5} passages {1000 * seconds / passages:7.1f} ms each "
                  f"{seconds:6.2f} s {size:5.0f} MB", flush=True)


if __name__ == "__main__":
    main()
