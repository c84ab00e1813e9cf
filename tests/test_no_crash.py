"""Nothing that can be clicked or asked ends in an error that nobody words."""

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
from qafd.wording.explanations import say_along, say_path, say_why, say_why_not

STRANGE = (
    "a", "the of and", "-1", "1e999", "None", "¶ a", "\u202eabc", "🦆🦆🦆 who?", "İstanbul", "夏目漱石は？",
    "من هو", "who who who who", "Who is not Ada?", "Ada Ada Ada Ada Ada", "'; DROP TABLE nodes; --",
    "<script>alert(1)</script>", "{name} %s", "word " * 400, "Ada\tLovelace\nmet\r\nwhom")


@pytest.fixture(scope="module", params=SAMPLES)
def sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> KnowledgeGraph:
    """Each bundled sample."""
    return KnowledgeGraph.sample(request.param, tmp_path_factory.mktemp(request.param))


@pytest.mark.parametrize("mass", [None, 0.0])
@pytest.mark.parametrize("preset", PRESETS)
def test_every_node_and_edge_of_every_preset_has_its_sentence(
        sample: KnowledgeGraph, preset: str, mass: float | None) -> None:
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


TEXTS = {"nothing": "", "one passage": "nothing here has a name, so it goes.",
         "one name": "yes, Ada was there."}


@pytest.fixture(scope="module", params=TEXTS)
def tiny(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> KnowledgeGraph:
    """A workspace of nothing, of one passage without a name, or of one name."""
    knowledge = KnowledgeGraph.open(tmp_path_factory.mktemp("tiny") / "tiny.db")
    if TEXTS[request.param]:
        knowledge.add_text("a.txt", TEXTS[request.param])
    return knowledge


@pytest.mark.parametrize("method", sorted(METHODS))
def test_the_strangest_questions_have_an_answer_or_one_sentence(tiny: KnowledgeGraph, method: str) -> None:
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


def test_the_page_shows_a_seed_without_neighbors(home: Path) -> None:
    apple = KnowledgeGraph.sample("apple-amazon", home)
    question = EXAMPLES["apple-amazon"][0]
    retrieval = apple.retrieve(question, PRESETS["paper"].method.fit_to(apple.graph))
    seed = next(node for node in retrieval.nodes if node.capacity == 0)
    app = page("explore", q=question, preset="paper", node=seed.id)
    assert not app.error
