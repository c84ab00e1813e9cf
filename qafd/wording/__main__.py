"""Print every template of the interface as JSON: the beginning of a language file.

``python -m qafd.wording > assets/languages/xx.json`` gives an object whose keys are the English templates and
whose values are to be translated. With the file of a language, ``python -m qafd.wording de.json`` prints it
again with the templates that it lacks, empty, and without those that are no longer said.
"""

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from qafd.wording import read_catalog

SAYING = {"say": 1, "say_count": 3, "Provider": 1, "Shortcut": 2, "ExportFormat": 2}
"""How many of the first arguments of a function may be templates."""
TABLES = ("qafd/wording", "qafd/learn/cards.py", "qafd/learn/lesson.py")
"""Where every text is one that people read."""


def templates(folder: Path) -> list[str]:
    """The templates in the Python files below a folder, each once, in the order of the alphabet.

    They are the literal arguments of `say` and `say_count`, the first one of an error, the help of a
    parameter, what a method or a format is called, and the texts of tables.
    """
    found: set[str] = set()
    for file in sorted(folder.rglob("*.py")):
        tree = ast.parse(file.read_text("utf-8"))
        is_table = any(part in file.as_posix() for part in TABLES)
        found.update(_texts_of_a_table(tree) if is_table else _said_texts(tree))
    return sorted(found)


def _said_texts(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _texts_of_a_call(node)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            names = {target.id for target in node.targets if isinstance(target, ast.Name)}
            if names & {"label", "idea"}:
                yield str(node.value.value)


def _texts_of_a_call(call: ast.Call) -> Iterator[str]:
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    count = SAYING.get(name, 1 if name.endswith("Error") else 0)
    arguments = list(call.args[:count])
    if name == "knob":
        arguments += [keyword.value for keyword in call.keywords if keyword.arg == "help"]
    for argument in arguments:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str) and argument.value:
            yield argument.value


def _texts_of_a_table(tree: ast.AST) -> Iterator[str]:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    parents = [node for node in ast.walk(tree) if isinstance(node, documented)]
    docstrings = {ast.get_docstring(node, clean=False) for node in parents}
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and " " in text and text not in docstrings:
            yield text


def main(arguments: list[str]) -> None:
    """Print the catalog; an argument is the file of a language that is to be brought up to date."""
    known = read_catalog(Path(arguments[0])) if arguments else {}
    catalog = {template: known.get(template, "") for template in templates(Path(__file__).parents[1])}
    print(json.dumps(catalog, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
