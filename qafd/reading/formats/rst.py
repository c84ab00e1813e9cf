"""reStructuredText: titles become headings, the text of directives stays, fields go."""

import re

from qafd.reading.formats.draft import DocumentDraft
from qafd.reading.formats.limits import Limits
from qafd.reading.text.plaintext import clean

_RULE = re.compile(r"([!-/:-@\[-`{-~])\1+")  # below a title, and above some
_BORDER = re.compile(r"\+[-=+]+\+|[=-]+(?: +[=-]+)+")  # of a table
_DIRECTIVE = re.compile(r"\.\.(?: |$)(?:(?:\|[^|]+\| )?([\w:.+-]+)::(?: +(.*))?$)?")
_FIELD = re.compile(r":(?!`)[^:`\n]+:(?!`)(?: |$)")
_ITEM = re.compile(r"(?:[-*+•]|\(?(?:\d{1,3}|#|[a-z])[.)])\s+(?=\S)")
_HIDDEN = ("toctree", "contents", "raw", "include", "literalinclude", "highlight")
_CODE = ("code", "code-block", "sourcecode", "parsed-literal")
_INLINE = (
    (re.compile(r":[\w:.+-]+:`~?([^`<]*?)(?:\s*<[^`>]*>)?`"), r"\1"),  # :role:`text <target>`
    (re.compile(r"``(.+?)``"), r"\1"),
    (re.compile(r"`([^`<]+?)\s*(?:<[^`>]*>)?`__?"), r"\1"),  # `text <target>`_
    (re.compile(r"`([^`]+)`"), r"\1"),
    (re.compile(r"(?<![\w*\\])(\*{1,2})(?=\S)([^*]+?)(?<=\S)\1(?![\w*])"), r"\2"),
    (re.compile(r"(?<![\w|])\|([^|\s][^|]*)\|_{0,2}(?!\w)"), r"\1"),
    (re.compile(r"(?<=\w)__?(?=[\s.,;:!?)]|$)"), ""),  # target_
    (re.compile(r"\\ |\\(?=\S)"), ""),
)
_LONGEST = 100_000  # characters of a paragraph from which patterns would take too long
_NOWHERE = -1


def looks_like_rst(text: str) -> bool:
    """Whether a directive is near the start."""
    return re.search(r"^\.\. [\w-]+:: ?", text[:20000], re.MULTILINE) is not None


def read_rst(text: str, limits: Limits) -> DocumentDraft:
    """The document without its markup. Roles are unwrapped; of directives the content stays, and
    their argument where it is more than one word; comments, targets and fields go."""
    draft = DocumentDraft("rst", limits)
    reader = _RstReader(draft)
    for line in clean(text).split("\n"):
        reader.read(line)
    reader.end_block()
    return draft


class _RstReader:
    """Reads lines one after another; a block is a paragraph, an item of a list, or code.

    `_code` and `_hidden` are the indentation below which lines are shown as they are or left out.
    """

    def __init__(self, draft: DocumentDraft) -> None:
        self._draft = draft
        self._block: list[str] = []
        self._item = self._after_item = False
        self._code = self._hidden = _NOWHERE

    def read(self, line: str) -> None:
        """Take in the next line."""
        body = line.strip()
        indent = len(line) - len(line.lstrip())
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
        if self._code != _NOWHERE:
            self._draft.add("\n".join(block))
        elif block:
            self._draft.add(_plain(" ".join(block)),
                            "\n" if self._item and self._after_item else "\n\n")
            self._after_item, self._item = self._item, False

    def _read_text(self, body: str, indent: int) -> None:
        directive = _DIRECTIVE.match(body)
        if directive:
            self.end_block()
            self._open(directive[1], directive[2] or "", indent)
        elif _RULE.fullmatch(body) and len(self._block) == 1 and not self._item:
            self._draft.head(_plain(self._block.pop()))
        elif _RULE.fullmatch(body) or _BORDER.fullmatch(body):
            self.end_block()
        elif _FIELD.match(body) and not self._block:
            self._hidden = indent
        else:
            if _ITEM.match(body):
                self.end_block()
                self._item = True
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
        elif " " in argument:
            self._block.append(argument)


def _plain(text: str) -> str:
    """A paragraph without inline markup."""
    if len(text) > _LONGEST:
        return text
    for pattern, replacement in _INLINE:
        text = pattern.sub(replacement, text)
    return text
