"""Comparisons of hand-made retrievals and of real ones, and what is written of them."""

import json
from fractions import Fraction

import numpy as np
import pytest

from qafd.app.compare.columns import rows
from qafd.cli import main
from qafd.errors import ParameterError, QafdError
from qafd.graph import Graph
from qafd.knowledge import KnowledgeGraph
from qafd.reasons import ReasonKind, given_reason, reason
from qafd.retrieve.base import Imprint, Retrieval, RetrievedEdge, RetrievedNode, RetrievedPassage
from qafd.retrieve.compare import MOST, ComparedMethod, Comparison, choose_columns, make_column
from qafd.retrieve.qafd import FlowDiffusion
from qafd.wording.comparison import word_missed

QUESTION = "Introduce Steve Jobs's products in Apple."
HOP = reason(ReasonKind.ONE_HOP, name="Apple")
FAILED = ParameterError("It failed.")


def node(name, state="saturated", why=HOP, kind="entity"):
    return RetrievedNode(name.lower(), name, kind, 1.0, 1.0, state, why)


def passage(name):
    return RetrievedPassage(name, "chunk " + name, "a.txt", "A", "Text.", 1.0, 0, 5, name=name)


def column(label, nodes, passages=""):
    edges = (RetrievedEdge(nodes[0].id, nodes[-1].id, "relation", 0.0, 1.0),) if nodes else ()
    return ComparedMethod(label.lower(), label, Retrieval(
        "q", label.lower(), {}, (), tuple(nodes), edges, passages=tuple(map(passage, passages))))


def comparison(*columns):
    return Comparison("q", 100, columns)


def test_overlap_is_the_jaccard_index_of_what_was_retrieved():
    one = column("One", [node("A"), node("B"), node("C", "wet"), node("P", kind="passage"),
                         node("S", kind="summary")], "xyz")
    two = column("Two", [node("B"), node("C"), node("D"), node("P", kind="passage")], "yw")
    both = comparison(one, two)
    # {A, B} and {B, C, D} share one of four; {x, y, z} and {y, w} share one of four too.
    assert both.overlap().tolist() == [[1, Fraction(1, 4)], [Fraction(1, 4), 1]]
    assert both.overlap("passages").tolist() == [[1, Fraction(1, 4)], [Fraction(1, 4), 1]]
    assert both.only() == {"one": ("a",), "two": ("c", "d")}
    assert both.only("passages") == {"one": ("x", "z"), "two": ("w",)}


@pytest.mark.parametrize("of", ["nodes", "passages"])
def test_a_method_that_failed_has_no_overlap_rather_than_none(of):
    three = comparison(column("One", [node("A")], "x"), ComparedMethod("two", "Two", error=FAILED),
                       column("Three", [node("A")], "x"))
    printed = json.loads(json.dumps(three.to_dict(), allow_nan=False))
    assert printed["overlap"][of] == [[1, None, 1], [None, None, None], [1, None, 1]]
    assert np.isnan(three.overlap(of)).tolist() == [
        [value is None for value in row] for row in printed["overlap"][of]]


@pytest.mark.parametrize(("budget", "kept", "tokens"), [
    (9, "", 0), (10, "a", 10), (29, "a", 10), (30, "ab", 30), (1000, "abc", 35)])
def test_passages_fit_the_budget_best_first(budget, kept, tokens):
    graph = Graph.build(["c", "b", "a"], kinds=["passage"] * 3, tokens=[5, 20, 10])
    made = make_column("x", "X", lambda: column("X", [], "abc").retrieval or Retrieval(
        "", "", {}, (), (), ()), graph, budget)
    assert "".join(p.id for p in made.retrieval.passages) == kept
    assert made.tokens == tokens


def test_a_method_that_fails_keeps_its_column_and_harms_no_other():
    def fail():
        raise ParameterError("50 units of source mass cannot fit into 14.")

    graph = Graph.build([])
    made = make_column("x", "X", fail, graph, 100)
    assert made.retrieval is None
    assert isinstance(made.error, ParameterError)
    with pytest.raises(ParameterError, match="budget is 0"):
        make_column("x", "X", fail, graph, 0)


def test_names_that_mean_one_method_are_one_column():
    graph = Graph.build([])
    assert list(choose_columns(["qafd", "LightRAG", "ego"], graph)) == ["qafd", "ego"]
    with pytest.raises(ParameterError, match="1 different method cannot be compared; choose 2"):
        choose_columns(["ego", "lightrag"], graph)
    with pytest.raises(ParameterError, match="there is no method 'oracle'; choose qafd"):
        choose_columns(["qafd", "oracle"], graph)
    with pytest.raises(ParameterError, match=f"{MOST + 1} different methods"):
        choose_columns([FlowDiffusion(seeds=i) for i in range(MOST + 1)], graph)


def test_all_methods_read_the_question_once_and_answer_alone_as_they_do_together(apple):
    compared = apple.compare(QUESTION, ["qafd", "LightRAG"], budget=300)
    alone = apple.retrieve(QUESTION, "ego")
    together = compared.retrievals["ego"]
    graph = apple.graph
    tokens = [int(graph.tokens[graph.row[p.id]]) for p in together.passages]
    assert together.nodes == alone.nodes
    assert together.passages == alone.passages[:len(together.passages)]
    assert compared.columns[1].tokens == sum(tokens) <= 300
    assert np.diag(compared.overlap()).tolist() == [1, 1]


def test_large_workspaces_say_which_layer_is_missing_and_fail(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("qafd.knowledge.BUILT_FOR", 0)
    large = KnowledgeGraph.open(tmp_path / "large.db")
    large.add_text("a.txt", "Ada Lovelace met Charles Babbage in London.")
    code = main(["compare", "Whom did Ada Lovelace meet?", "--methods", "community,qafd,ego",
                 "--db", large.url.removeprefix("sqlite:///")])
    printed = capsys.readouterr()
    table = printed.out.split("(Jaccard)\n")[1].split("\n\n")[0]
    assert code == 1
    assert "qafd layers --build all" in printed.err
    rows = [line.split() for line in table.splitlines()]
    assert [row[0] for row in rows] == ["qafd", "ego"]
    assert rows[0][1] == rows[1][2] == "1.00"
    assert "community" not in printed.out


def test_the_command_prints_the_comparison_as_json(apple, capsys):
    code = main(["compare", QUESTION, "--methods", "qafd,lightrag", "--budget", "400", "--json",
                 "--db", apple.place.written])
    printed = json.loads(capsys.readouterr().out)
    compared = apple.compare(QUESTION, ["qafd", "ego"], budget=400)
    assert code == 0
    assert [c["name"] for c in printed["columns"]] == ["qafd", "ego"]
    assert printed["overlap"]["nodes"] == compared.overlap().tolist()
    assert [d["sentence"] for d in printed["differences"]] == [
        word_missed(d) for d in compared.differences()]


def scored(i, x, state="saturated", **fields):
    return RetrievedNode(**{"id": i, "name": i.upper(), "kind": "entity", "importance": x,
                            "mass": 1.0, "state": state, "reason": given_reason(f"{i} is near."), **fields})


def ranked(i, score):
    return RetrievedPassage(i, i, f"{i}.txt", "On all", "Text.", score, 0, 5, name=f"On {i}")


@pytest.fixture
def three():
    """Method one finds a, b and ranked p; method two a, c and p, q; method three fails."""
    one = Retrieval("Who?", "one", {}, (), (
        scored("a", 4.0), scored("b", 2.0), scored("w", 0.0, "wet"),
        scored("p", 1.0, kind="passage", reason=given_reason("p is full."))),
        (RetrievedEdge("a", "b", "relation", 1.0, 1.0, "founded"),), (), (ranked("p", 0.9),),
        made_by=Imprint("f00-7"))
    two = Retrieval("Who?", "two", {}, (), (scored("c", 0.5), scored("a", 0.25)), (), (),
                    (ranked("q", 0.8), ranked("p", 0.7)), made_by=Imprint("f00-7"))
    return Comparison("Who?", 500, (ComparedMethod("one", "Method one", one, 40),
                                    ComparedMethod("two", "Method two", two, 80),
                                    ComparedMethod("three", "Method three",
                                                   error=QafdError("It needs a layer."))))


def test_the_table_has_every_node_with_each_methods_own_score(three):
    assert [(row.name, row.times, row.shares) for row in rows(three)] == [
        ("A", 2, (1.0, 0.5, None)), ("C", 1, (None, 1.0, None)), ("B", 1, (0.5, None, None)),
        ("On p", 2, (1.0, 0.7 / 0.8, None)), ("On q", 1, (None, 1.0, None))]


def test_passages_of_one_document_have_names_of_their_own(tmp_path):
    knowledge = KnowledgeGraph.open(tmp_path / "mine.db")
    parts = [f"## {place}\n\n" + f"Ada Lovelace met Charles Babbage in {place}. " * 40
             for place in ("London", "Turin", "Paris")]
    knowledge.add_text("ada.md", "# Ada\n\n" + "\n\n".join(parts))
    compared = knowledge.compare("Where did Ada Lovelace meet Charles Babbage?", ["qafd", "ego"])
    named = [row.name for row in rows(compared) if row.kind == "passage"]
    assert len(set(named)) == len(named) > 3
