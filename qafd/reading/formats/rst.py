"""reStructuredText with Sphinx's additions: docutils' tree becomes a page, and is read as one."""

import re
from typing import TYPE_CHECKING, Any

from qafd.reading.formats.draft import DocumentDraft, Limits
from qafd.reading.formats.page import read_page
from qafd.reading.text.plaintext import clean

if TYPE_CHECKING:
    from docutils import nodes
    from lxml.etree import _Element

_DIRECTIVE = re.compile(r"^[ \t]*\.\. (?:\|[^|\n]+\| )?([\w:.+-]+)::", re.MULTILINE)
_ROLE = re.compile(r":([\w:.+-]+):`")
_TARGET = re.compile(r"\s*<[^<>`]*>$")
_HIDDEN = ("toctree", "contents", "raw", "include", "literalinclude", "highlight")
_NOTES = ("note", "warning", "tip", "hint", "important", "caution", "attention", "danger", "error", "seealso")
_CODE = ("code", "code-block", "sourcecode", "parsed-literal", "prompt", "doctest", "testcode")
_SETTINGS = {"file_insertion_enabled": False, "raw_enabled": False, "report_level": 5, "halt_level": 6,
             "syntax_highlight": "none", "line_length_limit": 1_000_000}
_TAGS = {  # of docutils' nodes on a page; others are blocks, or a part of the line they are in
    "paragraph": "p", "bullet_list": "ul", "enumerated_list": "ol", "list_item": "li",
    "definition_list": "dl", "term": "dt", "definition": "dd", "field_list": "dl", "field_name": "dt",
    "field_body": "dd", "option_list": "dl", "option_group": "dt", "description": "dd",
    "block_quote": "blockquote", "literal_block": "pre", "doctest_block": "pre", "table": "table",
    "thead": "thead", "tbody": "tbody", "row": "tr", "entry": "td", "footnote": "dl", "citation": "dl",
}
_THROUGH = ("definition_list_item", "field", "option_list_item", "option", "option_string",
            "option_argument", "tgroup")
_BRACKETED = ("label", "footnote_reference", "citation_reference")
_GONE = ("comment", "substitution_definition", "target", "pending", "raw", "image", "colspec", "meta")


def looks_like_rst(text: str) -> bool:
    """Return True if a directive is near the start."""
    return re.search(r"^\.\. [\w-]+:: ?", text[:20000], re.MULTILINE) is not None


def read_rst(text: str, limits: Limits) -> DocumentDraft:
    """Read a document without its markup.

    Roles are unwrapped. Directives that docutils does not know keep their content, and their
    argument if it is more than one word. Comments, targets and options go.
    """
    from docutils.frontend import get_default_settings
    from docutils.parsers.rst import Parser
    from docutils.transforms.references import Footnotes, Substitutions
    from docutils.utils import new_document
    from lxml import etree

    draft = DocumentDraft("rst", limits)
    text = clean(text)
    _accept_unknown(text)
    settings = get_default_settings(Parser)
    vars(settings).update(_SETTINGS)
    tree = new_document("", settings)
    Parser().parse(text, tree)
    for transform in (Substitutions, Footnotes):
        transform(tree).apply()
    _restore_refused(tree)
    page = etree.Element("body")
    _write_nodes(tree, page)
    read_page(page, draft)
    return draft


def _write_nodes(node: "nodes.Node", page: "_Element") -> None:
    """Append the children of a node to an element of a page."""
    from docutils import nodes
    from lxml import etree

    for child in node.children:
        name = type(child).__name__
        if isinstance(child, nodes.Text):
            _write_text(str(child), page)
        elif name in _BRACKETED:
            _write_text(f"[{child.astext()}]", etree.SubElement(page, "dt") if name == "label" else page)
        elif isinstance(child, nodes.classifier):
            _write_text(f" ({child.astext()})", page[-1])
        elif isinstance(child, nodes.Inline) or name in _THROUGH:
            _write_nodes(child, page)
        elif name not in _GONE:
            titled = isinstance(child, nodes.title) and isinstance(node, nodes.section)
            block = etree.SubElement(page, "h1" if titled else _TAGS.get(name, "div"), _attributes(child))
            _write_nodes(child, block)
            if isinstance(child, nodes.field_name):
                _write_text(":", block)


def _attributes(node: Any) -> dict[str, str]:
    """Return the attributes of the element of a node: spans of cells, first numbers of lists."""
    found = {"start": str(node["start"])} if "start" in node else {}
    if "morecols" in node:
        found["colspan"] = str(node["morecols"] + 1)
    if "morerows" in node:
        found["rowspan"] = str(node["morerows"] + 1)
    letters = {"loweralpha": "a", "upperalpha": "A"}.get(node.get("enumtype", ""))
    return found | ({"type": letters} if letters else {})


def _write_text(text: str, page: "_Element") -> None:
    if len(page):
        page[-1].tail = (page[-1].tail or "") + text
    else:
        page.text = (page.text or "") + text


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
