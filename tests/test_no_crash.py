"""Nothing that can be clicked or asked ends in an error that nobody words."""

from contextlib import suppress

import pytest

from qafd.errors import ParameterError
from qafd.knowledge import KnowledgeGraph
from qafd.retrieve import METHODS

STRANGE = (
    "?", "...", "a", "the of and", "  x  ", "0", "-1", "1e999", "NaN", "None", "null", "true", "\u00b6",
    "¶ a", "\u200b", "\u202eabc", "🦆", "🦆🦆🦆 who?", "ﬁ", "İstanbul", "ß", "東京", "夏目漱石は？", "من هو",
    "who who who who", "Who is who?", "not", "Who is not Ada?", "Ada Ada Ada Ada Ada", "ADA", "ada'",
    "'; DROP TABLE nodes; --", "<script>alert(1)</script>", "{name}", "%s %d", "\\", "*" * 300,
    "word " * 400, "Ada\tLovelace\nmet\r\nwhom", "https://example.org/?q=Ada")


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
