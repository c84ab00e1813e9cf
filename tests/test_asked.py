"""What a question asks for, and whether a sentence brings one."""

from pathlib import Path

import pytest

from qafd.answer.asked import Asked, asked_for, brings, unsaid
from qafd.knowledge import KnowledgeGraph
from qafd.storage.rows import SentenceName

PERSON = SentenceName("n1", "Ada Lovelace", "person")
FIRM = SentenceName("n2", "Acme", "org")
TOWN = SentenceName("n3", "Turin", "gpe")


@pytest.mark.parametrize(("question", "kind"), [
    ("Who wrote the first program?", "person"), ("Where is it?", "place"),
    ("In which town was she born?", "place"), ("When did it sink?", "time"),
    ("How do I act when it sinks?", "open"), ("In what year did the king die?", "time"),
    ("How many ships are there?", "number"), ("Introduce Steve Jobs's products.", "open"),
    ("谁创办了诊所？", "person"), ("诊所在哪里？", "place"), ("いつ開通しましたか", "time"),
    ("有多少人？", "number"), ("Wer war das?", "person"), ("¿Cuándo nació?", "time"),
    ("这是什么？", "open")])
def test_the_words_of_a_question_tell_what_it_asks_for(question: str, kind: str) -> None:
    assert asked_for(question) == kind


@pytest.mark.parametrize(("kind", "text", "names", "fit"), [
    ("person", "Ada Lovelace came.", [PERSON], 1), ("person", "Acme came.", [FIRM], 0.5),
    ("place", "Turin is warm.", [TOWN], 1), ("open", "Turin is warm.", [TOWN], 0.5),
    ("open", "It is warm.", [], 0), ("time", "It sank in 1912.", [], 1),
    ("time", "It sank on Monday.", [], 1), ("time", "It sank.", [], 0),
    ("time", "鉄道は1921年に開通した。", [], 1), ("number", "王德顺花了十一年。", [], 1),
    ("number", "It has seven decks.", [], 1), ("number", "It has decks.", [], 0)])
def test_a_sentence_fits_the_kind_of_what_it_has(
        kind: str, text: str, names: list[SentenceName], fit: float) -> None:
    assert brings(Asked(kind), text, names, frozenset()) == fit


def test_what_the_question_says_itself_is_no_answer() -> None:
    said = frozenset(("what", "happened", "to", "ada", "lovelace", "in", "1843"))
    assert unsaid([PERSON, TOWN], said) == [TOWN]
    assert brings(Asked.TIME, "In 1843 it rained.", [], said) == 0
    assert brings(Asked.TIME, "In 1844 it rained.", [], said) == 1


@pytest.fixture
def harbor(tmp_path: Path) -> KnowledgeGraph:
    knowledge = KnowledgeGraph(tmp_path / "harbor.db")
    knowledge.add_text("harbor.md", (
        "# Greta Holm\n\nGreta Holm was the captain of the ferry line. A captain is made, she "
        "said, and not born. Her mother had been a captain of ferries too. As a child she "
        "drew ships. As a child she lived in Trondheim."))
    return knowledge


def test_names_are_found_by_the_sentence_that_has_them(harbor: KnowledgeGraph) -> None:
    graph = harbor.graph
    chunk = next(p.chunk for p in harbor.retrieve("Who is Greta Holm?").passages)
    with harbor.store() as store:
        found = store.passages.names([chunk])
        ends = [end for _, end, _ in store.passages.sentences([chunk])[chunk]]
    assert {name.text for name in found[chunk, ends[-1]]} == {"Trondheim"}
    assert {graph.names[graph.row[name.node]] for name in found[chunk, ends[0]]} == {"Greta Holm"}
