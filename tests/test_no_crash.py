"""Nothing that can be clicked or asked ends in an error that nobody words."""

from contextlib import suppress
from dataclasses import replace

import pytest

from qafd.errors import ParameterError
from qafd.knowledge import KnowledgeGraph
from qafd.retrieve import METHODS
from qafd.retrieve.qafd import PRESETS
from qafd.samples import EXAMPLES, SAMPLES
from qafd.view.contraction import drawn_contracted
from qafd.wording.explanations import say_along, say_path, say_why, say_why_not

STRANGE = (
    "?", "...", "a", "the of and", "  x  ", "0", "-1", "1e999", "NaN", "None", "null", "true", "\u00b6",
    "¶ a", "\u200b", "\u202eabc", "🦆", "🦆🦆🦆 who?", "ﬁ", "İstanbul", "ß", "東京", "夏目漱石は？", "من هو",
    "who who who who", "Who is who?", "not", "Who is not Ada?", "Ada Ada Ada Ada Ada", "ADA", "ada'",
    "'; DROP TABLE nodes; --", "<script>alert(1)</script>", "{name}", "%s %d", "\\", "*" * 300,
    "word " * 400, "Ada\tLovelace\nmet\r\nwhom", "https://example.org/?q=Ada")


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


TEXTS = {"nothing": "", "one passage": "nothing here has a name, so it goes.",
         "one name": "yes, Ada was there."}


@pytest.fixture(scope="module", params=TEXTS)
def tiny(request, tmp_path_factory):
    """A workspace of nothing, of one passage without a name, or of one name; and plans of all questions."""
    knowledge = KnowledgeGraph.open(tmp_path_factory.mktemp("tiny") / "tiny.db")
    if TEXTS[request.param]:
        knowledge.add_text("a.txt", TEXTS[request.param])
    plans = []
    for question in STRANGE:
        with suppress(ParameterError):  # it has no word
            plans.append(knowledge.plan(question))
    return knowledge, plans


@pytest.mark.parametrize("method", sorted(METHODS))
def test_the_strangest_questions_have_an_answer(tiny, method):
    knowledge, plans = tiny
    for plan in plans:
        retrieval = knowledge.retrieve(plan, method)
        knowledge.answer(retrieval, plan)
        if method == "qafd" and retrieval.nodes:
            explanation = knowledge.explain(retrieval, plan=plan)
            for id in knowledge.graph.ids:
                ask = explanation.why if explanation.is_retrieved(id) else explanation.why_not
                assert ask(id).id == id
