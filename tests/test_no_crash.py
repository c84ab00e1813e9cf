"""Nothing that can be clicked or asked ends in an error that nobody words."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest
from clicks import page

from qafd.errors import ParameterError
from qafd.knowledge import KnowledgeGraph
from qafd.retrieve import METHODS
from qafd.retrieve.qafd import PRESETS
from qafd.samples import EXAMPLES, SAMPLES
from qafd.view.contraction import drawn_contracted
from qafd.wording.answers import say_status
from qafd.wording.explanations import say_along, say_path, say_why, say_why_not
from qafd.wording.reasons import word_reason

ROOT = Path(__file__).parents[1]
WHOLES = {"mass", "capacity", "total", "reached", "came", "went", "held", "top", "largest", "whole"}
LINTED = [path for folder in ("explain", "view", "app", "wording", "runs")
          for path in sorted((ROOT / "qafd" / folder).rglob("*.py"))]
STRANGE = (
    "?", "...", "a", "the of and", "  x  ", "0", "-1", "1e999", "NaN", "None", "null", "true", "\u00b6",
    "¶ a", "\u200b", "\u202eabc", "🦆", "🦆🦆🦆 who?", "ﬁ", "İstanbul", "ß", "東京", "夏目漱石は？", "من هو",
    "who who who who", "Who is who?", "not", "Who is not Ada?", "Ada Ada Ada Ada Ada", "ADA", "ada'",
    "'; DROP TABLE nodes; --", "<script>alert(1)</script>", "{name}", "%s %d", "\\", "*" * 300,
    "word " * 400, "Ada\tLovelace\nmet\r\nwhom", "https://example.org/?q=Ada")


def _guards(function):
    """What a function compares with a number, as source."""
    for node in ast.walk(function):
        if isinstance(node, ast.Compare) and isinstance(node.comparators[-1], ast.Constant):
            yield ast.unparse(node.left)


def _last_name(node):
    if isinstance(node, ast.Call):
        return _last_name(node.func)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def unguarded(source):
    """Divisions by a mass, capacity or total that the same function does not compare with 0."""
    found = []
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef):
            guards = set(_guards(function))
            for node in ast.walk(function):
                if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                    divisor = node.right
                    if _last_name(divisor) in WHOLES and ast.unparse(divisor) not in guards:
                        found.append(f"{function.name}: {ast.unparse(node)}")
    return found


def test_the_search_for_divisions_finds_the_two_that_crashed():
    assert unguarded("def nearness(found):\n return found.held / found.capacity") == [
        "nearness: found.held / found.capacity"]
    assert unguarded("def rows(found):\n return found.rest / found.total")
    assert not unguarded("def share(part, whole):\n return part / whole if whole > 0 else 0")


def test_no_part_is_divided_by_a_whole_that_may_be_nothing():
    found = [f"{path.relative_to(ROOT)}: {what}" for path in LINTED
             for what in unguarded(path.read_text("utf-8"))]
    assert not found, "use qafd.view.drawing.share_of, or compare the whole with 0 first"


@pytest.fixture(scope="module", params=SAMPLES)
def sample(request, tmp_path_factory):
    """Each bundled sample."""
    return KnowledgeGraph.sample(request.param, tmp_path_factory.mktemp(request.param))


@pytest.mark.parametrize("mass", [None, 0.0])
@pytest.mark.parametrize("preset", PRESETS)
def test_every_node_and_edge_of_every_preset_has_its_sentence(sample, preset, mass):
    graph, method = sample.graph, PRESETS[preset].method.fit_to(sample.graph)
    plan = sample.plan(EXAMPLES[sample.name][0])
    if mass is not None:
        method = replace(method, mass=mass)
    retrieval = sample.retrieve(plan, method)
    explanation = sample.explain(retrieval, plan=plan)
    empty = [node.id for node in retrieval.nodes if node.capacity == 0]
    # The search for the entry of a node takes up to a second.
    for id in [*empty[:2], *graph.ids[::11]]:
        if explanation.is_retrieved(id):
            assert say_why(explanation.why(id))
        else:
            assert say_why_not(explanation.why_not(id, 50))
    for contracted in (False, True):
        drawn = drawn_contracted(retrieval) if contracted else retrieval
        for edge in drawn.edges[::3]:
            assert say_along(explanation.along(edge.source, edge.target, contracted))
    assert all(say_path(path) for path in explanation.paths().paths)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_answers_and_gives_reasons_on_every_sample(sample, method):
    for question in EXAMPLES[sample.name][:1]:
        plan = sample.plan(question)
        retrieval = sample.retrieve(plan, method)
        assert all(word_reason(node.reason) for node in retrieval.nodes)
        assert sample.answer(retrieval, plan).sentences or say_status(sample.answer(retrieval, plan))


TEXTS = {"nothing": "", "one passage": "nothing here has a name, so it goes.",
         "one name": "yes, Ada was there."}


@pytest.fixture(scope="module", params=TEXTS)
def tiny(request, tmp_path_factory):
    """A workspace of nothing, of one passage without a name, or of one name."""
    knowledge = KnowledgeGraph.open(tmp_path_factory.mktemp("tiny") / "tiny.db")
    if TEXTS[request.param]:
        knowledge.add_text("a.txt", TEXTS[request.param])
    return knowledge


@pytest.mark.parametrize("method", sorted(METHODS))
def test_the_strangest_questions_have_an_answer_or_one_sentence(tiny, method):
    for question in STRANGE:
        try:
            plan = tiny.plan(question)
        except ParameterError:  # it has no word
            continue
        retrieval = tiny.retrieve(plan, method)
        tiny.answer(retrieval, plan)
        if method == "qafd" and retrieval.nodes:
            explanation = tiny.explain(retrieval, plan=plan)
            for id in tiny.graph.ids:
                ask = explanation.why if explanation.is_retrieved(id) else explanation.why_not
                assert ask(id).id == id


def test_the_page_shows_a_seed_without_neighbors(home):
    apple = KnowledgeGraph.sample("apple-amazon", home)
    question = EXAMPLES["apple-amazon"][0]
    retrieval = apple.retrieve(question, PRESETS["paper"].method.fit_to(apple.graph))
    seed = next(node for node in retrieval.nodes if node.capacity == 0)
    app = page("explore", q=question, preset="paper", node=seed.id)
    assert not app.error
