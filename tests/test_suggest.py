"""Suggested questions: what they ask about, and in which order."""

from dataclasses import replace

import pytest

from qafd.curate.entities import Entity, entities
from qafd.knowledge import KnowledgeGraph
from qafd.plan.suggest import questions_about, questions_of
from qafd.records import Chunk, Edge

TEXT = ("Ada Brenner founded Lindau Mill in 1931. Ada Brenner married Hugo Lind. Lindau Mill is by the lake. "
        "Ada Brenner sold Lindau Mill to Hugo Lind.")


def passage(text, title="", heading=""):
    return Chunk(text, title, title, text, 0, len(text), heading=heading)


@pytest.fixture(scope="module")
def mill(tmp_path_factory):
    knowledge = KnowledgeGraph(tmp_path_factory.mktemp("mill") / "mill.db")
    knowledge.add_text("mill.md", TEXT)
    return knowledge


def test_what_was_done_is_asked_about_first_and_each_name_once(mill):
    with mill.store() as store:
        asked = questions_of(store, mill.graph)
    assert asked[0] in ("Who founded Lindau Mill?", "Who sold Lindau Mill?", "Who married Hugo Lind?")
    assert 1 <= len(asked) <= 3
    for name in ("Ada Brenner", "Lindau Mill", "Hugo Lind"):
        assert sum(name in question for question in asked) <= 1


def test_questions_are_in_the_language_of_the_passages(mill):
    with mill.store() as store:
        known = entities(store)
    german = questions_about(known, [passage("Die Mühle ist am See und sie wurde verkauft.")])
    assert german[0].startswith("Was ")
    russian = [passage("Мельница стоит на озере, и она была продана семьёй.")]
    assert questions_about(known, russian) == ()


def test_without_relations_the_commonest_name_is_asked_about_last(tmp_path):
    knowledge = KnowledgeGraph(tmp_path / "towns.db")
    for town in ("Leer", "Sneek"):
        knowledge.add_text(f"{town}.md", f"In Amsterdam. In {town}.")
    with knowledge.store() as store:
        asked = questions_of(store, knowledge.graph)
    assert ["Amsterdam" in question for question in asked] == [False, True]


def test_after_related_names_headings_are_asked_about_once_a_document():
    text = "The hotel may cost this much and it is paid for."
    passages = [passage(text, "Travel", "Travel"), passage(text, "Travel", "Travel / Hotels"),
                passage(text, "Travel", "Travel / Taxis"), passage(text, "Pump", "Faults"),
                passage(text, "Roof", "x" * 61), passage(text, "Cellar", "Why is it wet?")]
    ada, hugo = (Entity(name[0].lower(), name, name, "person", 3, 1, (), "") for name in ("Ada", "Hugo"))
    joined = [Edge(source, target, "relation", 1.0) for source, target in ("hx", "za", "ha")]
    asked = questions_about([ada, hugo, replace(ada, id="z", name="Zoe")], passages, joined)
    assert asked == ("How is Hugo related to Ada?", "What does “Travel” say about “Hotels”?",
                     "What does “Pump” say about “Faults”?")
    assert "Why is it wet?" in questions_about([ada, hugo], passages[-1:], joined)
