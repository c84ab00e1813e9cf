"""A walk over pages, tabs, nodes and choices that looks for what no page may show."""

import json
import re
import shutil
from pathlib import Path

import pytest
from clicks import page
from streamlit.testing.v1.element_tree import Block

from qafd.cli import main
from qafd.knowledge import KnowledgeGraph

ASKED = "Who met Ada Lovelace?"
WORKSPACES = {
    "nothing": "",
    "edgeless": "nothing here has a name, so it goes.",
    "one": "yes, Ada was there.",
    "few": "Ada Lovelace met Charles Babbage in London. Ada King met Mary Somerville in Bath.",
}
QUESTIONS = {
    "nothing": ASKED, "edgeless": "who goes there?", "few": ASKED}
TABS = {
    "explore": ("tab", ("Passages", "Why", "Paths", "What if", "Table",
                        "Certificate", "Code")),
    "compare": ("view", ("Differences", "Answers", "Passages", "Table")),
    "lab": ("experiment", ("Sweep", "Timeline", "Robustness", "Family")),
    "graph": ("part", ("Entities", "Map", "Possible duplicates", "Edits")),
    "evaluate": ("gold", ("Write", "Upload")),
    "learn": ("card", ("mass", "gates", "certificate", "guarantee"))}
WRONG = re.compile(  # a value of Python instead of words, or one of many
    r"(?<![\w/.-])(nan|-?inf|None(?! of [1-9])|Traceback|NoneType|<class|object at 0x|"
    r"1 (?:passages|nodes|names|files|edges|entities|documents))(?![\w-])")
HEADINGS = ("title", "header", "subheader", "markdown", "caption", "html")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with workspaces of a document or two, or none."""
    folder = tmp_path_factory.mktemp("made")
    for name, text in WORKSPACES.items():
        knowledge = KnowledgeGraph.open(folder / f"{name}.db")
        if text:
            knowledge.add_text("a.txt", text)
        if name == "edgeless":
            knowledge.add_text("b.txt", "here it goes again without any of them.")
    return folder


@pytest.fixture
def small(made, home):
    """The home of the pages, with copies of the small workspaces."""
    return Path(shutil.copytree(made, home, dirs_exist_ok=True))


def elements(block):
    """All elements of a page, in its order."""
    for child in block.children.values():
        if isinstance(child, Block):
            yield from elements(child)
        else:
            yield child


def ugly(app):
    """What a page shows that it may not: exceptions, values of Python, nothing under a heading."""
    for element in elements(app._tree):
        if element.type == "exception":
            yield f"exception {element.value}"
        elif element.type in ("arrow_data_frame", "arrow_table") and not len(element.value):
            yield f"a table without rows: {list(element.value.columns)}"
        elif element.type in HEADINGS:
            body = str(getattr(element, "body", None) or element.value)
            words = re.sub(r"<style>.*?</style>|<[^>]+>|\\", " ", body, flags=re.S)
            if not body.strip():
                yield f"an empty {element.type}"
            elif found := WRONG.search(words):
                yield f"“{found[0]}” in: {words[:200]}"


def seen(name, **query):
    """What is ugly on a page with this link."""
    return [f"{name} {query}: {what}" for what in ugly(page(name, **query))]


@pytest.mark.parametrize("ws", ["nothing", "edgeless", "few"])
def test_every_tab_of_every_page_shows_words_on_a_small_workspace(ws, small):
    found = []
    for name, (key, tabs) in TABS.items():
        for tab in tabs:
            found += seen(name, ws=ws, q=QUESTIONS[ws], **{key: tab})
    for name in ("documents", "settings"):
        found += seen(name, ws=ws)
    found += seen("lab", ws=ws, q=QUESTIONS[ws], experiment="Timeline", over="Pushes")
    assert not found


@pytest.mark.parametrize("command", [
    ["docs"], ["entities"], ["entities", "--alike"], ["edit"], ["ledger"], ["status"], ["layers"],
    ["query", ASKED], ["answer", ASKED], ["compare", ASKED], ["paths", ASKED],
    ["why", ASKED, "Ada"], ["query", "🍎"], ["answer", "???"]],
    ids=" ".join)
@pytest.mark.parametrize("ws", ["nothing", "one"])
def test_every_command_answers_in_words_or_in_json(command, ws, small, capsys):
    where = ["--db", str(small / f"{ws}.db")]
    code = main([*command, *where])
    told = "".join(capsys.readouterr())
    assert told.strip()
    assert not WRONG.search(told), told
    assert not re.search(r":\s*$", told), "it ends with a heading that has nothing below it"
    assert main([*command, *where, "--json"]) == code
    said = capsys.readouterr()
    if said.out or not code:
        json.loads(said.out)
    else:
        assert said.err.startswith("qafd: ")


def test_a_row_chosen_in_a_larger_graph_is_none_in_a_smaller(small):
    app = page("graph", ws="few")
    key = next(key for key in app.session_state._state.filtered_state if key.startswith("entiti"))
    app.session_state[key] = {"selection": {"rows": [3], "columns": [], "cells": []}}
    app.run()
    assert app.query_params["entity"]
    app.selectbox(key="ws").set_value("one").run()
    assert not list(ugly(app))
