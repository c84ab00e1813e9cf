"""reStructuredText: titles become headings, the text of directives stays, options go."""

import re
from collections.abc import Callable, Sequence

from qafd.reading.formats.draft import DocumentDraft, row_text
from qafd.reading.formats.limits import Limits
from qafd.reading.formats.rst_tables import GRID, SIMPLE, read_drawn, read_listed, read_separated
from qafd.reading.text.lines import has_ended
from qafd.reading.text.plaintext import clean

_RULE = re.compile(r"([!-/:-@\[-`{-~])\1+")  # below a title, and above some
_DIRECTIVE = re.compile(r"\.\.(?: |$)(?:(?:\|[^|]+\| )?([\w:.+-]+)::(?: +(.*))?$)?")
_FIELD = re.compile(r":(?!`)([^:`\n]+):(?!`)(?: +|$)")
_ITEM = re.compile(r"(?:[-*+•]|\(?(?:\d{1,3}|#|[a-z])[.)])\s+(?=\S)")
_HIDDEN = ("toctree", "contents", "raw", "include", "literalinclude", "highlight")
_TABLES = {"list-table": read_listed, "csv-table": read_separated}
_CODE = ("code", "code-block", "sourcecode", "parsed-literal")
_LITERAL = re.compile(r"``(.+?)``")
_INLINE = (
    (re.compile(r":[\w:.+-]+:`~?([^`<]*?)(?:\s*<[^`>]*>)?`"), r"\1"),  # :role:`text <target>`
    (re.compile(r"`([^`<]+?)\s*(?:<[^`>]*>)?`__?"), r"\1"),  # `text <target>`_
    (re.compile(r"`([^`]+)`"), r"\1"),
    (re.compile(r"(?<![\w*\\])(\*{1,2})(?=\S)([^*]+?)(?<=\S)\1(?![\w*])"), r"\2"),
    (re.compile(r"(?<![\w|])\|([^|\s][^|]*)\|_{0,2}(?!\w)"), r"\1"),
    (re.compile(r"(?<=\w)__?(?=[\s.,;:!?)]|$)"), ""),  # target_
    (re.compile(r"\\ |\\(?=\S)"), ""),
)
ReadRows = Callable[[Sequence[str]], tuple[list[list[str]], bool]]

_LONGEST = 100_000  # characters of a paragraph from which patterns would take too long
_NOWHERE = -1


def looks_like_rst(text: str) -> bool:
    """Whether a directive is near the start."""
    return re.search(r"^\.\. [\w-]+:: ?", text[:20000], re.MULTILINE) is not None


def read_rst(text: str, limits: Limits) -> DocumentDraft:
    """The document without its markup. Roles are unwrapped; of directives the content stays, and
    their argument where it is more than one word; comments, targets and options go. The fields of a
    document are a row, and those of a term that is defined one with it, as the rows of tables are."""
    draft = DocumentDraft("rst", limits)
    reader = _RstReader(draft)
    for line in clean(text).split("\n"):
        reader.read(line)
    reader.end_block()
    return draft


class _RstReader:
    """Reads lines one after another; a block is a paragraph, an item of a list, or code.

    `_term` is the indentation of a line that is a term if the next one is deeper. `_code` and `_hidden` are
    that below which lines are shown as they are or left out. `_rows` reads the lines of a table,
    which is at `_indent`.
    """

    def __init__(self, draft: DocumentDraft) -> None:
        self._draft = draft
        self._block: list[str] = []
        self._fields: list[tuple[str, str]] = []
        self._item = self._after_item = False
        self._code = self._hidden = self._indent = self._term = _NOWHERE
        self._rows: ReadRows | None = None
        self._borders = 0  # of a simple table, so far

    def read(self, line: str) -> None:
        """Take in the next line."""
        body = line.strip()
        indent = len(line) - len(line.lstrip())
        if self._rows is not None:
            if self._is_in_table(body, indent):
                self._block.append(line[self._indent:])
                self._borders += SIMPLE.fullmatch(body) is not None
                return
            self.end_block()
        if not body:
            if self._code == _NOWHERE:
                self.end_block()
            elif self._block:
                self._block.append("")
            return
        if indent <= self._hidden:
            self._hidden = _NOWHERE
        if indent <= self._code:
            self.end_block()
            self._code = _NOWHERE
        if self._hidden != _NOWHERE:
            return
        if self._code == _NOWHERE:
            self._read_text(body, indent)
        elif self._block or not _FIELD.match(body):
            self._block.append(line)

    def end_block(self) -> None:
        """Write the block into the document."""
        block, self._block = self._block, []
        self._term = _NOWHERE
        if self._rows is not None:
            rows, headed = self._rows(block)
            self._rows = None
            self._draft.table([list(map(_plain, row)) for row in rows], headed)
        elif self._code != _NOWHERE:
            self._draft.add("\n".join(block))
        elif self._fields:
            names, values = zip(*self._fields, strict=True)
            self._fields = []
            self._draft.add(row_text(["", *names], list(map(_plain, [" ".join(block), *values]))))
        elif block:
            self._draft.add(_plain(" ".join(block)),
                            "\n" if self._item and self._after_item else "\n\n")
            self._after_item, self._item = self._item, False

    def _is_in_table(self, body: str, indent: int) -> bool:
        """Whether the next line is of the open table."""
        if self._rows is not read_drawn:
            return not body or indent > self._indent
        if body or GRID.fullmatch(self._block[0]):
            return bool(body)
        return self._borders < 2 or SIMPLE.fullmatch(self._block[-1].strip()) is None

    def _read_text(self, body: str, indent: int) -> None:
        if self._fields and not indent and not _FIELD.match(body):
            self.end_block()  # a field goes on indented
        directive = _DIRECTIVE.match(body)
        if directive:
            self.end_block()
            self._open(directive[1], directive[2] or "", indent)
        elif _RULE.fullmatch(body) and len(self._block) == 1 and not self._item:
            self._draft.head(_plain(self._block.pop()))
        elif GRID.fullmatch(body) or SIMPLE.fullmatch(body):
            self.end_block()
            self._rows, self._indent, self._borders = read_drawn, indent, 1
            self._block.append(body)
        elif _RULE.fullmatch(body):
            self.end_block()
        elif indent and _FIELD.match(body) and not self._block:  # of a directive
            self._hidden = indent
        elif field := _FIELD.match(body):
            self._fields.append((field[1], body[field.end():]))
        elif self._fields:
            name, value = self._fields.pop()
            self._fields.append((name, f"{value} {body}"))
        else:
            self._add_line(body, indent)

    def _add_line(self, body: str, indent: int) -> None:
        """Append a line of prose to the block, or begin an item or code below it."""
        if item := _ITEM.match(body):
            self.end_block()
            self._item = True
            body = f"- {body[item.end():]}" if "#" in item[0] else body
        elif not self._block:
            self._term = indent
        elif len(self._block) == 1 and _NOWHERE < self._term < indent and not has_ended(self._block[0]):
            self._block[0] += ":"
        literal = body.endswith("::")
        if body != "::":
            self._block.append(body[:-1] if literal else body.removeprefix("| "))
        if literal:
            self.end_block()
            self._code = indent

    def _open(self, name: str | None, argument: str, indent: int) -> None:
        """Begin a directive; a comment or a target has no name."""
        if name is None or name in _HIDDEN:
            self._hidden = indent
        elif name in _CODE:
            self._code = indent
        elif name in _TABLES:
            if argument:
                self._draft.add(_plain(argument))
            self._rows, self._indent = _TABLES[name], indent
        elif " " in argument:
            self._block.append(argument)


def _plain(text: str) -> str:
    """A paragraph without inline markup; what stands in ``literals`` is left as it is."""
    if len(text) > _LONGEST:
        return text
    parts = _LITERAL.split(text)
    for at in range(0, len(parts), 2):
        for pattern, replacement in _INLINE:
            parts[at] = pattern.sub(replacement, parts[at])
    return "".join(parts)
