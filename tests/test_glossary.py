"""One name, one meaning: docs/glossary.md is the authority."""

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_no_class_name_means_two_things():
    count = Counter(name for path in (ROOT / "qafd").rglob("*.py") for name in re.findall(
        r"^\s*class (\w+)", path.read_text("utf-8"), re.MULTILINE))
    assert [name for name, times in count.items() if times > 1] == []


def test_the_glossary_names_only_classes_that_there_are():
    records = (ROOT / "docs" / "glossary.md").read_text("utf-8").partition("## Records")[2]
    named = re.findall(r"`([A-Z]\w+)`", "".join(re.findall(r"^\|[^|]*", records, re.MULTILINE)))
    there = {name for path in (ROOT / "qafd").rglob("*.py") for name in re.findall(
        r"^\s*(?:class )?([A-Z]\w+)\s*(?:\(|:|=)", path.read_text("utf-8"), re.MULTILINE)}
    assert set(named) - there == set()


def test_the_glossary_names_every_record_of_an_explanation():
    glossary = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    records = []
    for path in (ROOT / "qafd" / "explain").glob("*.py"):
        records += re.findall(r"^class ([A-Z]\w+)", path.read_text("utf-8"), re.MULTILINE)
    assert [name for name in records if f"`{name}`" not in glossary] == []
