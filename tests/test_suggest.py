"""The first questions about a graph; expected ones are read off small graphs by hand."""

from pathlib import Path

import pytest

from qafd.assemble import node_id
from qafd.curate.entities import Entity
from qafd.graph import Graph
from qafd.knowledge import KnowledgeGraph
from qafd.plan.suggest import LONGEST, questions, questions_about, questions_of


def graph(names: list[str], edges: list[tuple[int, int, str]], passages: tuple[str, ...] = ()
          ) -> Graph:
    """Entities of these names, passages with these titles after them, edges by place."""
    ids = [node_id("entity", name.casefold()) for name in names]
    ids += [f"p{i}" for i in range(len(passages))]
    u, v, kinds = zip(*edges, strict=True) if edges else ((), (), ())
    return Graph.build(ids, [*names, *passages],
                       ["entity"] * len(names) + ["passage"] * len(passages), u, v, None,
                       list(kinds) or "relation")


def test_titles_come_before_better_connected_names() -> None:
    # American has four edges, the titles two and one.
    made = graph(["American", "Ada Byron", "Engine", "Luigi Menabrea"], [
        (0, 1, "relation"), (0, 2, "relation"), (0, 3, "relation"), (0, 4, "mention"),
        (1, 4, "mention"), (2, 5, "mention")], ("Engine", "Ada Byron"))
    assert questions(made) == (
        "What is said about Ada Byron?", "How are Ada Byron and American connected?",
        "What is said about Engine?")


def test_without_titles_long_names_come_first_then_the_best_connected() -> None:
    made = graph(["Rome", "Nile", "Lake Como"], [
        (0, 3, "mention"), (1, 3, "mention"), (1, 4, "mention")], ("one", "two"))
    assert questions(made) == ("What is said about Lake Como?", "What is said about Nile?")


def test_a_name_too_long_for_a_question_is_left_out() -> None:
    made = graph(["x" * (LONGEST + 1), "Nile"], [(0, 1, "relation")])
    assert questions(made) == ("What is said about Nile?",)


def test_an_empty_graph_suggests_nothing() -> None:
    assert questions(graph([], [])) == ()


def known(name: str, kind: str, passages: int) -> Entity:
    return Entity(node_id("entity", name.casefold()), name, name.casefold(), kind, passages, 1, (),
                  "")


SOME = (known("Storfjell news", "", 9), known("Olav Dahl", "PERSON", 5), known("Boreal", "ORG", 4),
        known("Bergen", "GPE", 4), known("Tuesday", "DATE", 7))
ENGLISH = "The wind farm is owned by the firm, and it was built in the north of the country."


def test_persons_organizations_and_places_are_asked_about_and_no_titles() -> None:
    # Two in the most passages; Olav Dahl and Boreal share a sentence, Bergen and the title too.
    made = graph([one.name for one in SOME], [(1, 2, "relation"), (0, 3, "relation"),
                                              (1, 5, "mention")], ("Storfjell news",))
    assert questions_about(made, SOME, ENGLISH) == (
        "What is said about Olav Dahl?", "How are Olav Dahl and Boreal connected?",
        "What is said about Bergen?")


@pytest.mark.parametrize(("passages", "first"), [(9, "Olav Dahl"), (11, "Tinfoil")])
def test_a_name_without_a_type_is_asked_about_where_it_is_in_twice_as_many_passages(
        passages: int, first: str) -> None:
    some = (*SOME, known("Tinfoil", "PROPN", passages))
    made = graph([one.name for one in some], [])
    assert questions_about(made, some, ENGLISH)[0] == f"What is said about {first}?"


@pytest.mark.parametrize(("text", "asked"), [
    ("Die Membranen der Firma zeigten nach vier Monaten Risse, und sie waren nicht mehr dicht.",
     "Was steht hier über Olav Dahl?"),
    ("Het water is nog niet schoon, maar de mensen zeggen dat het ook zo wel kan.", "")])
def test_questions_are_in_the_language_of_the_texts_or_not_at_all(text: str, asked: str) -> None:
    made = graph([one.name for one in SOME], [])
    assert questions_about(made, SOME, text)[:1] == ((asked,) if asked else ())


def test_a_heading_of_a_workspace_is_not_asked_about(tmp_path: Path) -> None:
    knowledge = KnowledgeGraph(tmp_path / "news.db")
    knowledge.add_text("news.md", "# Storfjell news\n\nIngrid Solheim left the harbour in July. "
                       "She had met Tomas Berglund there.\n")
    knowledge.add_text("more.md", "# Storfjell news today\n\nIngrid Solheim hired Tomas Berglund "
                       "in London.\n")
    with knowledge.store() as store:
        asked = questions_of(store, knowledge.graph)
    assert asked[0] == "What is said about Ingrid Solheim?"
    assert not any("Storfjell" in question for question in asked)
