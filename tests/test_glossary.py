"""One name, one meaning: docs/glossary.md is the authority."""

import ast
from collections import Counter
from pathlib import Path

import qafd.explain

ROOT = Path(__file__).parents[1]
# What still means two things; this list only becomes shorter.
TWICE = {
    "Column", "Gate", "Line", "Meter", "Named", "Places", "Reply",
}


def test_no_class_name_means_two_things() -> None:
    count: Counter[str] = Counter()
    for path in (ROOT / "qafd").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                count[node.name] += 1
    assert {name for name, times in count.items() if times > 1} <= TWICE


def test_the_glossary_names_every_record_of_an_explanation() -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    records = [name for name in qafd.explain.__all__ if name[0].isupper()]
    assert [name for name in records if f"`{name}`" not in glossary] == []
