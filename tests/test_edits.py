"""Edits by hand: what they make of the graph, and that undoing leaves no trace."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from clicks import page, press
from hypothesis import given
from hypothesis import strategies as st

from qafd.curate import entities as curate
from qafd.doctor import doctor
from qafd.edits import Edit, entity_names, entity_types
from qafd.errors import ParameterError, StoreError
from qafd.ingest import refresh
from qafd.knowledge import KnowledgeGraph

TEXTS = {
    "chess.md": "IBM built the Deep Blue computer in New York. Feng-hsiung Hsu worked at IBM on "
                "chess. Deep Blue beat Garry Kasparov.",
    "firm.md": "International Business Machines was founded by Charles Flint. Thomas Watson led "
               "International Business Machines for decades. Thomas Watson met Charles Flint.",
    "later.md": "Garri Kasparov wrote about the match. Apollo 11 and Apollo 12 flew to the Moon. "
                "Watson was named after him."}


@pytest.fixture
def graph(tmp_path: Path) -> KnowledgeGraph:
    knowledge = KnowledgeGraph.open(tmp_path / "edits.db")
    for name, text in TEXTS.items():
        knowledge.add_text(name, text)
    return knowledge


def entities(knowledge: KnowledgeGraph) -> dict[str, curate.Entity]:
    with knowledge.store() as store:
        return {one.name: one for one in curate.entities(store)}


def call(knowledge: KnowledgeGraph, known: str, name: str) -> int:
    with knowledge.store() as store:
        number = curate.call(store, known, name)
    refresh(knowledge.url)
    return number


def digest(knowledge: KnowledgeGraph) -> str:
    with knowledge.store() as store:
        return store.graph.digest()


def same(*pairs: tuple[str, str]) -> list[Edit]:
    return [Edit(i, "same", key, name, "") for i, (key, name) in enumerate(pairs)]


def test_an_edit_holds_for_all_names_that_earlier_ones_gave_to_the_entity():
    assert entity_names(same(("a", "B"), ("b", "C"))) == {"a": "C", "b": "C"}


def test_a_name_that_is_another_entity_s_leads_to_that_entity():
    assert entity_names(same(("a", "B"), ("c", "A"))) == {"a": "B", "c": "B"}


def test_an_entity_can_take_one_of_its_own_names():
    assert entity_names(same(("a", "B"), ("b", "A"))) == {"a": "A", "b": "A"}
    assert entity_names(same(("a", "A!"))) == {"a": "A!"}


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("ABCDE")), max_size=6))
def test_names_are_parted_as_by_merging_sets(changes):
    groups = {key: {key} for key in "abcd"}  # the entity's key: the names that mean it
    made = []
    for key, name in changes:
        if key not in groups:  # it is part of another entity already
            continue
        made.append((key, name))
        mine = groups.pop(key)
        target = name.lower()
        other = next((k for k, names in groups.items() if target in names), None)
        if other is None:
            groups[target] = mine | {target}
        else:
            groups[other] |= mine
    found = entity_names(same(*made))
    for key, names in groups.items():
        assert {found.get(name, name).lower() for name in names} == {key}


def test_two_names_become_one_entity_with_the_sentences_of_both(graph):
    call(graph, "IBM", "International Business Machines")
    known = entities(graph)
    assert "IBM" not in known
    one = known["International Business Machines"]
    assert (one.passages, one.also) == (2, ("IBM",))
    marked = [sentence.text[start - sentence.start:end - sentence.start]
              for sentence in graph.evidence([one.id]) for start, end in sentence.mentions]
    assert marked == ["IBM", "IBM", *["International Business Machines"] * 2]


def test_a_question_finds_an_entity_by_the_name_it_had(graph):
    assert graph.plan("Who founded IBM?").names == ("ibm",)
    call(graph, "IBM", "International Business Machines")
    assert graph.plan("Who founded IBM?").names == ("international business machines",)
    assert graph.retrieve("Who founded IBM?").passages[0].document == "firm.md"


def test_a_new_name_is_shown_and_found(graph):
    call(graph, "Deep Blue", "the chess machine")
    assert "the chess machine" in entities(graph)
    assert graph.plan("What did the chess machine do?").names == ("chess machine",)
    assert graph.plan("What did Deep Blue do?").names == ("chess machine",)


def test_undoing_an_edit_gives_back_the_graph_that_was(graph):
    before = digest(graph)
    number = call(graph, "IBM", "International Business Machines")
    assert digest(graph) != before
    with graph.store() as store:
        store.edits.undo(number)
    refresh(graph.url)
    assert digest(graph) == before
    with graph.store() as store, pytest.raises(StoreError, match="no edit 1"):
        store.edits.undo(number)


def test_a_hidden_entity_leaves_with_all_its_edges(graph):
    node = entities(graph)["New York"].id
    with graph.store() as store:
        curate.hide(store, "new york")
        assert "New York" not in {one.name for one in curate.entities(store)}  # at once
    refresh(graph.url)
    assert node not in graph.graph.row
    with graph.store() as store:
        assert not store.graph.edges([node])


def test_edits_outlive_deletions_and_new_documents(graph, tmp_path):
    call(graph, "IBM", "International Business Machines")
    with graph.store() as store:
        store.documents.delete("chess.md")
    refresh(graph.url)
    fresh = KnowledgeGraph.open(tmp_path / "fresh.db")
    for name in ("firm.md", "later.md"):
        fresh.add_text(name, TEXTS[name])
    assert digest(graph) == digest(fresh)
    with graph.store() as store:
        store.documents.undo("chess.md")
    refresh(graph.url)
    assert entities(graph)["International Business Machines"].passages == 2


def test_the_doctor_makes_an_edited_graph_anew(graph):
    call(graph, "IBM", "International Business Machines")
    assert all(check.ok for check in doctor(graph.place.written, deep=True))


def types(knowledge: KnowledgeGraph) -> dict[str, str]:
    return {name: one.type for name, one in entities(knowledge).items()}


def test_the_last_type_counts_and_follows_what_is_merged(graph):
    graph.retype("IBM", "place")
    graph.retype("IBM", "company")
    call(graph, "IBM", "International Business Machines")
    assert types(graph)["International Business Machines"] == "COMPANY"
    with graph.store() as store:
        assert entity_types(store.edits.all()) == {"international business machines": "COMPANY"}


@pytest.mark.parametrize(("name", "kind", "why"), [
    ("Nobody", "person", "no entity called 'Nobody'"), ("IBM", " \n", "cannot be a type"),
    ("IBM", "12", "cannot be a type"), ("IBM", "x" * 41, "at most 40")])
def test_a_type_that_cannot_be_says_why(graph, name, kind, why):
    with graph.store() as store, pytest.raises(ParameterError, match=why):
        curate.retype(store, name, kind)
    assert graph.edits == ()


def test_a_type_is_kept_as_the_tags_of_the_workspace_are(graph):
    tags = {"Organization": "ORG", "group of people": "NORP", "propn": "NAME",
            "work": "WORK_OF_ART", "chess_engine": "CHESS_ENGINE"}
    for said, kept in tags.items():
        graph.retype("New York", said)
        assert types(graph)["New York"] == kept


def test_what_cannot_be_edited_says_why(graph):
    with graph.store() as store:
        with pytest.raises(ParameterError, match="no entity called 'Nobody'"):
            curate.call(store, "Nobody", "Somebody")
        with pytest.raises(ParameterError, match="cannot be a name"):
            curate.call(store, "IBM", " … ")
        with pytest.raises(ParameterError, match="called already"):
            curate.call(store, "IBM", "IBM")
        curate.hide(store, "New York")
        with pytest.raises(ParameterError, match="is hidden"):
            curate.call(store, "IBM", "new york")


def test_pairs_that_may_be_one_are_suggested_with_the_reason(graph):
    with graph.store() as store:
        pairs = {frozenset((one.first.name, one.second.name)): one
                 for one in curate.suggestions(store, graph.graph)}
    why = {pair: one.why for pair, one in pairs.items()}
    assert why[frozenset(("IBM", "International Business Machines"))] == curate.Likeness.INITIALS
    assert frozenset(("Apollo 11", "Apollo 12")) not in why
    kasparov = next(pair for pair in pairs if any("Kasparov" in name for name in pair))
    assert {"Garry Kasparov", "Garri Kasparov"} == kasparov


@pytest.mark.parametrize(("one", "other", "may"), [
    ("leopold mozart", "wolfgang mozart", False), ("w a mozart", "wolfgang amadeus mozart", True),
    ("johann strauss", "johann strauss ii", False), ("henry ford", "henry ford jr", False),
    ("sherlock holmes", "mr sherlock holmes", True), ("sherlock holmes", "mycroft holmes", False),
    ("garry kasparov", "garri kasparov", True), ("holland", "netherlands", True),
    ("apollo 11", "apollo 12", False)])
def test_those_of_a_family_are_not_one(one: str, other: str, may: bool) -> None:
    assert curate.may_be_one(one, other) == curate.may_be_one(other, one) == may


def test_pairs_that_join_most_passages_come_first(graph):
    with graph.store() as store:
        pairs = curate.suggestions(store, graph.graph)
    assert all(pair.first.passages <= pair.second.passages for pair in pairs)
    impacts = [pair.impact for pair in pairs]
    assert impacts == sorted(impacts, reverse=True)


def test_a_pair_that_was_told_apart_is_not_suggested_again(graph):
    with graph.store() as store:
        number = curate.keep_apart(store, "IBM", "International Business Machines")
        names = {one.first.name for one in curate.suggestions(store, graph.graph)}
        assert "IBM" not in names
        store.edits.undo(number)
        names = {one.first.name for one in curate.suggestions(store, graph.graph)}
        assert "IBM" in names


def test_entities_are_found_by_the_beginnings_of_their_words(graph):
    with graph.store() as store:
        known = curate.entities(store)
    assert [one.name for one in curate.find(known, "kasp garr")] == [
        "Garri Kasparov", "Garry Kasparov"]
    assert not curate.find(known, "asparov")
    spelled = [replace(known[0], name="Jos\u00e9 Guimar\u00e3es-Brandt")]
    for words in ("guimaraes", "Jos\u00e9 brandt", "guimar\u00e3es\u2013brandt"):
        assert [*curate.find(spelled, words)] == spelled


def test_edits_of_two_processes_both_hold(graph):
    code = ("import sys; from qafd.storage import open_workspace; from qafd.curate import entities\n"
            "with open_workspace(sys.argv[1]) as store: entities.hide(store, sys.argv[2])")
    children = [subprocess.Popen([sys.executable, "-c", code, graph.place.written, name])
                for name in ("IBM", "New York")]
    assert [child.wait(60) for child in children] == [0, 0]
    refresh(graph.url)
    assert not {"IBM", "New York"} & entities(graph).keys()


def test_the_page_merges_a_pair_and_takes_it_back(graph, home):
    (home / "edits.db").write_bytes(Path(graph.place.written).read_bytes())
    knowledge = KnowledgeGraph.open(home / "edits.db")
    app = page("graph", ws="edits", part="Perhaps the same")
    press(app, "Both are International Business Machines")
    assert not app.exception
    refresh(knowledge.url)
    assert "IBM" not in entities(knowledge)
    app = page("graph", ws="edits", part="Edits")
    press(app, "Undo")
    refresh(knowledge.url)
    assert "IBM" in entities(knowledge)
