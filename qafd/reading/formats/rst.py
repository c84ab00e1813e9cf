"""reStructuredText with Sphinx's additions, through docutils to the reader of pages."""

import re
from typing import TYPE_CHECKING, Any

from qafd.reading.formats.draft import DocumentDraft
from qafd.reading.formats.limits import Limits
from qafd.reading.formats.page import read_markup
from qafd.reading.text.plaintext import clean

if TYPE_CHECKING:
    from docutils import nodes

_DIRECTIVE = re.compile(r"^[ \t]*\.\. (?:\|[^|\n]+\| )?([\w:.+-]+)::", re.MULTILINE)
_ROLE = re.compile(r":([\w:.+-]+):`")
_TARGET = re.compile(r"\s*<[^<>`]*>$")
_HIDDEN = ("toctree", "contents", "raw", "include", "literalinclude", "highlight")
_NOTES = ("note", "warning", "tip", "hint", "important", "caution", "attention", "danger", "error", "seealso")
_CODE = ("code", "code-block", "sourcecode", "parsed-literal", "prompt", "doctest", "testcode")
_SETTINGS = {
    "_disable_config": True, "file_insertion_enabled": False, "raw_enabled": False,
    "report_level": 5, "halt_level": 6, "doctitle_xform": False, "docinfo_xform": False,
    "syntax_highlight": "none", "smart_quotes": False, "embed_stylesheet": False,
    "stylesheet_path": "", "math_output": "LaTeX", "section_self_link": False, "initial_header_level": 1,
    "table_style": "", "toc_backlinks": False, "id_prefix": "", "line_length_limit": 1_000_000,
}


def looks_like_rst(text: str) -> bool:
    """Return True if a directive is near the start."""
    return re.search(r"^\.\. [\w-]+:: ?", text[:20000], re.MULTILINE) is not None


def read_rst(text: str, limits: Limits) -> DocumentDraft:
    """Read a document without its markup.

    Roles are unwrapped. Directives that docutils does not know keep their content, and their
    argument if it is more than one word. Comments, targets and options go.
    """
    from docutils.core import publish_doctree, publish_from_doctree

    draft = DocumentDraft("rst", limits)
    text = clean(text)
    _accept_unknown(text)
    tree = publish_doctree(text, settings_overrides=_SETTINGS)
    _restore_refused(tree)
    page = publish_from_doctree(tree, writer="html5", settings_overrides=_SETTINGS)
    read_markup(page.decode(), draft)
    return draft


def _accept_unknown(text: str) -> None:
    """Let docutils accept the directives and roles of a text that it does not know."""
    from docutils import nodes
    from docutils.parsers.rst import Directive, directives, roles
    from docutils.parsers.rst.directives.body import CodeBlock
    from docutils.parsers.rst.languages import en

    class Anything(dict[str, Any]):
        """Options of any name."""

        def __getitem__(self, name: str) -> Any:
            return directives.unchanged

    class Content(Directive):
        """A directive that is its content."""

        optional_arguments, final_argument_whitespace, has_content = 1, True, True
        option_spec: Any = Anything(any=directives.unchanged)

        def run(self) -> list["nodes.Node"]:
            node = nodes.container()
            argument = " ".join(self.arguments)
            if " " in argument:
                node += nodes.paragraph("", "", *self.state.inline_text(argument, self.lineno)[0])
            self.state.nested_parse(self.content, self.content_offset, node)
            return node.children

    class Code(CodeBlock):
        """Code with options of any name."""

        option_spec: Any = Anything(any=directives.unchanged)

    class Hidden(Content):
        """A directive that is left out."""

        def run(self) -> list["nodes.Node"]:
            return []

    def unwrap(*found: Any, **_: Any) -> tuple[list["nodes.Node"], list[Any]]:
        return [nodes.inline("", _TARGET.sub("", found[2]).lstrip("~!"))], []

    for name in set(_DIRECTIVE.findall(text)):
        if name in _HIDDEN:
            directives.register_directive(name, Hidden)
        elif name in _CODE:
            directives.register_directive(name, Code)
        elif name in _NOTES or name.lower() not in en.directives:
            directives.register_directive(name, Content)
    for name in set(_ROLE.findall(text)):
        if name.lower() not in en.roles:
            roles.register_local_role(name, unwrap)


def _restore_refused(tree: "nodes.document") -> None:
    """Put back as text the blocks that docutils refused, and the marks of markup that has no end."""
    from docutils import nodes

    for message in list(tree.findall(nodes.system_message)):
        refused = [nodes.paragraph("", block.astext()) for block in message.findall(nodes.literal_block)]
        message.parent.replace(message, refused)
    for problem in list(tree.findall(nodes.problematic)):
        problem.parent.replace(problem, nodes.Text(problem.astext().strip("|_")))
