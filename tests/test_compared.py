"""A comparison as table, report and page: all that methods found, and no name does anything."""

import csv
import io
import re
from pathlib import Path

import pytest
from hostile import STRINGS
from lxml import html as lxml_html

from qafd.cli import main
from qafd.errors import QafdError
from qafd.knowledge import KnowledgeGraph
from qafd.reasons import given_reason
from qafd.retrieve.base import (
    Imprint,
    Retrieval,
    RetrievedEdge,
    RetrievedNode,
    RetrievedPassage,
)
from qafd.retrieve.compare import ComparedMethod, Comparison
from qafd.runs.comparison import page, report, rows, rows_csv
from qafd.wording.reasons import word_reason


def node(i: str, x: float, state: str = "saturated", **fields: str) -> RetrievedNode:
    return RetrievedNode(**{"id": i, "name": i.upper(), "kind": "entity", "importance": x,
                            "mass": 1.0, "state": state, "reason": given_reason(f"{i} is near."), **fields})


def passage(i: str, score: float) -> RetrievedPassage:
    return RetrievedPassage(i, i, f"{i}.txt", f"On {i}", "Text.", score, 0, 5)


@pytest.fixture
def comparison() -> Comparison:
    """Method one finds a, b and passage p; method two a, c and p, q; method three fails."""
    one = Retrieval("Who?", "one", {}, (), (
        node("a", 4.0), node("b", 2.0), node("w", 0.0, "wet"),
        node("p", 1.0, kind="passage", reason=given_reason("p is full."))),
        (RetrievedEdge("a", "b", "relation", 1.0, 1.0, "founded"),), (), (passage("p", 0.9),),
        made_by=Imprint("f00-7"))
    two = Retrieval("Who?", "two", {}, (), (node("c", 0.5), node("a", 0.25)), (), (),
                    (passage("q", 0.8), passage("p", 0.7)), made_by=Imprint("f00-7"))
    return Comparison("Who?", 500, (ComparedMethod("one", "Method one", one, 40),
                                    ComparedMethod("two", "Method two", two, 80),
                                    ComparedMethod("three", "Method three",
                                                   error=QafdError("It needs a layer."))))


def test_the_table_has_every_node_with_each_methods_own_score(comparison: Comparison) -> None:
    table = [(row.name, row.times, *(one and (one.score, one.rank) for one in row.found))
             for row in rows(comparison)]
    assert table == [
        ("A", 2, (4.0, 1), (0.25, 2), None), ("C", 1, None, (0.5, 1), None),
        ("B", 1, (2.0, 2), None, None),
        ("On p", 2, (0.9, 1), (0.7, 2), None), ("On q", 1, None, (0.8, 1), None)]
    assert [row.found[0] and word_reason(row.found[0].reason) for row in rows(comparison)] == [
        "a is near.", None, "b is near.", "p is full.", None]


def test_the_page_has_a_panel_for_each_method_and_loads_nothing(comparison: Comparison) -> None:
    text = page(comparison)
    root = lxml_html.fromstring(text)
    assert "default-src 'none'; script-src 'none'" in text
    assert not root.xpath("//script | //link | //img | //iframe | //a")
    assert [c.text for c in root.xpath("//figcaption/b")] == ["Method one", "Method two"]
    names = [[t.text for t in figure.xpath(".//*[local-name()='text']")]
             for figure in root.xpath("//figure")]
    assert [sorted(some) for some in names] == [["A", "B", "W"], ["A", "C"]]
    assert "A; importance 100%" in text
    assert len(root.xpath("//h2")) == 7


def test_hostile_texts_stay_text_in_report_and_page() -> None:
    short = [s[:300] for s in STRINGS]
    nodes = tuple(RetrievedNode(f"{i}", s, s, 1.0, 1.0, "saturated", given_reason(s)) for i, s in
                  enumerate(short))
    retrieval = Retrieval(short[0], "m", {}, (), nodes, tuple(
        RetrievedEdge("0", n.id, "relation", 1.0, 1.0, n.name) for n in nodes[1:]), ())
    columns = (ComparedMethod("a", short[1], retrieval), ComparedMethod("b", short[2], retrieval),
               ComparedMethod("c", short[3], error=QafdError(short[4])))
    comparison = Comparison(short[5], 100, columns)
    text = page(comparison)
    root = lxml_html.fromstring(text.encode())
    assert not root.xpath("//script | //img | //iframe | //a | //*[@onerror] | //*[@onload]")
    assert not re.search(r"(?<!\\)<", report(comparison))
    for row in csv.reader(io.StringIO(rows_csv(comparison), newline="")):
        assert not [cell for cell in row if cell.startswith(("=", "+", "-", "@"))]


def test_the_command_writes_report_page_and_table(
        tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    knowledge = KnowledgeGraph.sample("apple-amazon", tmp_path)
    ask = ["compare", "Who founded Apple?", "--methods", "qafd,lexical", "--db",
           knowledge.place.written]
    assert main([*ask, "--format", "markdown"]) == 0
    text = capfd.readouterr().out
    assert text.startswith("# Who founded Apple?")
    assert "## Answers" in text
    assert main([*ask, "--format", "html", "--out", str(tmp_path / "c.html")]) == 0
    assert (tmp_path / "c.html").read_text("utf-8").count("<figure>") == 2
    assert main([*ask, "--format", "csv"]) == 0
    assert "qafd: score" in capfd.readouterr().out
    assert main([*ask, "--out", str(tmp_path / "x")]) == 2
    assert main([*ask, "--format", "csv", "--json"]) == 2
    assert main([*ask, "--format", "csv", "--out", knowledge.place.written]) == 2
