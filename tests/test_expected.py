"""What a question asks for, and whether a sentence brings one."""

from pathlib import Path

import pytest

from qafd.answer.expected import Name, asked_for, brings, names_in, unsaid
from qafd.knowledge import KnowledgeGraph

PERSON = Name("n1", "Ada Lovelace", "person")
FIRM = Name("n2", "Acme", "org")
TOWN = Name("n3", "Turin", "gpe")


@pytest.mark.parametrize(("question", "kind"), [
    ("Who wrote the first program?", "person"), ("Which Italian composer lived here?", "person"),
    ("Where is it?", "place"), ("In which town was she born?", "place"),
    ("What is the place of birth of Ada?", "place"), ("When did it sink?", "time"),
    ("In what year did the king die?", "time"), ("How many ships are there?", "number"),
    ("What is the population of the town where he lived?", "number"),
    ("Introduce Steve Jobs's products in Apple.", None), ("Is whole milk fat?", None)])
def test_the_words_of_a_question_tell_what_it_asks_for(question: str, kind: str | None) -> None:
    assert asked_for(question) == kind


@pytest.mark.parametrize(("kind", "text", "names", "fit"), [
    ("person", "Ada Lovelace came.", [PERSON], 1), ("person", "Acme came.", [FIRM], 0.5),
    ("person", "Turin is warm.", [TOWN], 0), ("place", "Turin is warm.", [TOWN], 1),
    ("place", "Ada Lovelace came.", [PERSON], 0), (None, "Turin is warm.", [TOWN], 0.5),
    (None, "It is warm.", [], 0), ("time", "It sank in 1912.", [], 1),
    ("time", "It sank in May.", [], 1), ("time", "It may sink 300 times.", [], 0),
    ("number", "It has seven decks.", [], 1), ("number", "It has 2,400 berths.", [], 1),
    ("number", "It has decks.", [], 0)])
def test_a_sentence_fits_the_kind_of_what_it_has(
        kind: str | None, text: str, names: list[Name], fit: float) -> None:
    assert brings(kind, text, names, frozenset()) == fit


def test_what_the_question_says_itself_is_no_answer() -> None:
    said = frozenset(("what", "happened", "to", "ada", "lovelace", "in", "1843"))
    assert unsaid([PERSON, TOWN], said) == [TOWN]
    assert brings("time", "In 1843 it rained.", [], said) == 0
    assert brings("time", "In 1844 it rained.", [], said) == 1


@pytest.fixture
def harbor(tmp_path: Path) -> KnowledgeGraph:
    knowledge = KnowledgeGraph(tmp_path / "harbor.db")
    knowledge.add_text("harbor.md", (
        "# Greta Holm\n\nGreta Holm was the captain of the ferry line. A captain is made, she "
        "said, and not born. Her mother had been a captain of ferries too. As a child she "
        "drew ships. As a child she lived in Trondheim."))
    return knowledge


def test_the_sentence_with_a_place_is_quoted_where_one_is_asked_for(
        harbor: KnowledgeGraph) -> None:
    answer = harbor.answer(harbor.retrieve("Where was the captain of the ferry line born?"))
    assert "lived in Trondheim." in " ".join(s.text for s in answer.sentences)


def test_names_are_found_by_the_sentence_that_has_them(harbor: KnowledgeGraph) -> None:
    graph = harbor.graph
    chunk = next(p.chunk for p in harbor.retrieve("Who is Greta Holm?").passages)
    with harbor.store() as store:
        found = names_in(store, [chunk])
        ends = [end for _, end, _ in store.passages.sentences([chunk])[chunk]]
    assert {name.text for name in found[chunk, ends[-1]]} == {"Trondheim"}
    assert {graph.names[graph.row[name.node]] for name in found[chunk, ends[0]]} == {"Greta Holm"}
