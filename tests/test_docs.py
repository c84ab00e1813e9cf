"""Examples in the documents run, what they must name is there, and words have one meaning."""

import contextlib
import importlib
import importlib.util
import io
import json
import re
import shlex
import shutil
from collections import Counter
from pathlib import Path

import click
import networkx
import pytest
from files import pdf

from qafd.app.pages import PAGES as PAGES_OF_THE_APP
from qafd.cli import DONE, NOTHING_FOUND, USAGE, main
from qafd.cli.commands import qafd
from qafd.export.formats import FORMATS
from qafd.retrieve import METHODS
from qafd.retrieve.qafd import PRESETS

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"```python\n(.*?)```\n+```\n(.*?)```", re.S)
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
TEXT = "\n".join(page.read_text("utf-8") for page in PAGES)


def examples():
    return [pytest.param(code, output, id=f"{page.name}-{i}") for page in PAGES
            for i, (code, output) in enumerate(BLOCK.findall(page.read_text("utf-8")))]


@pytest.mark.parametrize(("code", "output"), examples())
def test_an_example_prints_what_the_document_says(code, output, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "example", "exec"), {})
    assert printed.getvalue().strip() == output.strip()


OUTSIDE = re.compile(r"postgresql:|dask:|--model|--endpoint|hotpot|mix\.jsonl|facts\.db|mine=FILE|--add FILE|"
                     r"rag_|ragtest|3f2a|^(demo|app|mcp|serve|worker)\b")
"""Commands that need a server, a model or data that are not here; their options are checked."""


def commands():
    """Return page, arguments and output file of each command line of the documents, in order."""
    found = []
    for page in (ROOT / "docs" / "tutorial.md", *PAGES):
        text = re.sub(r"\\\n\s+", " ", page.read_text("utf-8"))
        for line in re.findall(r"^    [^\n]*?\bqafd ([a-z][^\n;]*)", text, re.MULTILINE):
            words = shlex.split(line, comments=True)
            target = ""
            if ">" in words:
                target = words.pop()
                words.remove(">")
            found.append((page.name, words, target))
    return list({" ".join(words): (page, words, target) for page, words, target in found}.values())


@pytest.mark.parametrize("words", [words for _, words, _ in commands()], ids=" ".join)
def test_the_options_of_a_command_in_the_documents_exist(words):
    group = qafd
    with click.Context(group) as context:
        while isinstance(group, click.Group):
            name, group, words = group.resolve_command(context, words)
            assert group is not None, name
        group.make_parser(context).parse_args(list(words))


@pytest.mark.slow
def test_the_commands_of_the_documents_run(alone, monkeypatch, capsysbinary):
    monkeypatch.chdir(alone)
    samples = ROOT / "assets" / "samples"
    shutil.copy(samples / "apple-amazon.db", "my.db")
    shutil.copy(samples / "apple-amazon.questions.jsonl", "my.questions.jsonl")
    shutil.copy(samples / "ferries.sqlite", "my.sqlite")
    Path("notes").mkdir()
    Path("notes/letter.pdf").write_bytes(pdf(["Ada Brenner wrote to Lindau."]))
    Path("report.pdf").write_bytes(pdf(["The mill of Lindau was sold."]))
    Path("dump.sql").write_text("CREATE TABLE ports (id INT PRIMARY KEY, name TEXT);\n"
                                "CREATE TABLE ferries (id INT, port_id INT REFERENCES ports (id));")
    Path("sales.csv").write_text("Region,Amount\nNorth,3\nSouth,5\n")
    Path("facts.jsonl").write_text('{"question": "Who founded Apple?", "answer": "Steve Jobs"}')
    Path("nodes.csv").write_text("id,label\n1,Ada\n2,Bob\n")
    Path("edges.csv").write_text("source,target,label\n1,2,met\n")
    networkx.write_graphml(networkx.path_graph(3), "graph.graphml")
    for page, words, target in commands():
        if OUTSIDE.search(" ".join(words)):
            continue
        code = main(words)
        printed = capsysbinary.readouterr()
        asks_back = "--erase" in words and "--yes" not in words
        assert code in ((USAGE,) if asks_back else (DONE, NOTHING_FOUND)), (page, words, printed.err)
        if target:
            Path(target).write_bytes(printed.out)


def test_every_page_command_method_and_format_is_described():
    titles = [name.capitalize() for name in PAGES_OF_THE_APP]
    assert titles
    missing = [name for name in (*titles, *qafd.commands, *METHODS) if name not in TEXT]
    missing += [name for name in FORMATS if f"`{name}`" not in TEXT]
    assert not missing


def test_the_table_of_all_commands_has_these_alone():
    table = (ROOT / "docs" / "tutorial.md").read_text("utf-8").partition("| task | commands |")[2]
    listed = re.findall(r"`(\w+)`", table.partition("\n\n")[0])
    assert sorted(listed) == sorted(qafd.commands)


def test_every_variable_that_places_data_is_described():
    read = {name for file in (ROOT / "qafd").rglob("*.py")
            for name in re.findall(r'environ\S*[(\[]"(QAFD_(?:HOME|DB))"', file.read_text("utf-8"))}
    assert read == {"QAFD_HOME", "QAFD_DB"}
    assert not {name for name in read if name not in (ROOT / "README.md").read_text("utf-8")}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_inside_the_repository_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


def test_files_named_in_the_map_exist():
    for name in re.findall(r"`((?:qafd|pages|assets|benchmarks|tests|docs)/[\w/.]*)`", TEXT):
        assert (ROOT / name).exists(), name


def test_the_quality_beside_each_preset_is_the_measured_one():
    stored = json.loads((ROOT / "benchmarks/results/retrieval_quality.json").read_text("utf-8"))
    for key, preset in PRESETS.items():
        recall = stored["methods"][f"preset {key}"]["mean"]["recall@5"]
        assert preset.quality.startswith(f"{recall:.0%} of the passages that answer ")


def test_the_table_of_measurements_is_made_from_the_results():
    spec = importlib.util.spec_from_file_location("table", ROOT / "benchmarks" / "table.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.short() in (ROOT / "README.md").read_text("utf-8"), "run benchmarks/table.py"


def rows_of_papers():
    """The tables that map parts of the papers to functions."""
    method = (ROOT / "docs" / "method.md").read_text("utf-8").partition("## 10.")[2]
    return method + (ROOT / "docs" / "experiments.md").read_text("utf-8")


def named_functions():
    """Return the dotted names and scripts in the second column of these tables."""
    names = []
    for line in re.findall(r"^\|[^|]*\|([^|]*)\|", rows_of_papers(), re.MULTILINE):
        names += re.findall(r"`((?:qafd\.|benchmarks/)[\w./]+)`", line)
    return sorted(set(names))


@pytest.mark.parametrize("name", named_functions())
def test_what_implements_a_row_of_a_paper_exists(name):
    if name.startswith("benchmarks/"):
        assert (ROOT / name).is_file()
        return
    parts = name.split(".")
    module = next(".".join(parts[:end]) for end in range(len(parts), 0, -1)
                  if find_module(".".join(parts[:end])))
    found = importlib.import_module(module)
    for part in parts[module.count(".") + 1:]:
        found = getattr(found, part)


def find_module(name):
    """Return True if a dotted name is a module of the package."""
    path = ROOT / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


def test_every_row_of_a_paper_is_implemented_or_says_why_not():
    without = re.findall(r"^\|[^|]*\| - \|([^|]*)\|", rows_of_papers(), re.MULTILINE)
    assert len(without) > 3
    assert all(reason.strip() for reason in without)


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
