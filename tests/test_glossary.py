"""One name, one meaning: docs/glossary.md is the authority."""

import ast
import re
from collections import Counter
from pathlib import Path

import qafd.explain

ROOT = Path(__file__).parents[1]


def test_no_class_name_means_two_things() -> None:
    count: Counter[str] = Counter()
    for path in (ROOT / "qafd").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                count[node.name] += 1
    assert [name for name, times in count.items() if times > 1] == []


def test_the_glossary_names_only_classes_that_there_are() -> None:
    records = (ROOT / "docs" / "glossary.md").read_text("utf-8").partition("## Records")[2]
    source = "\n".join(path.read_text("utf-8") for path in (ROOT / "qafd").rglob("*.py"))
    names = re.findall(r"`([A-Z]\w+)`", "".join(re.findall(r"^\|[^|]*", records, re.MULTILINE)))
    missing = []
    for name in names:
        if not re.search(rf"^\s*(class {name}\b|{name}\s*(:|=))", source, re.MULTILINE):
            missing.append(name)
    assert missing == []


def test_the_glossary_names_every_record_of_an_explanation() -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    records = [name for name in qafd.explain.__all__ if name[0].isupper()]
    assert [name for name in records if f"`{name}`" not in glossary] == []
