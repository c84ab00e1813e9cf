"""Edits by hand: what they make of the graph, and that undoing leaves no trace."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from clicks import page, press, shown
from hypothesis import given
from hypothesis import strategies as st

from qafd.cli import main
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
    refresh(knowledge.path)
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


def test_one_entity_is_told_of_as_among_all(graph):
    call(graph, "IBM", "International Business Machines")
    with graph.store() as store:
        for one in curate.entities(store):
            assert curate.entity(store, one.name) == one
        assert curate.entity(store, "IBM").also == ("IBM",)


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
    refresh(graph.path)
    assert digest(graph) == before
    with graph.store() as store, pytest.raises(StoreError, match="no edit 1"):
        store.edits.undo(number)


def test_a_hidden_entity_leaves_with_all_its_edges(graph):
    node = entities(graph)["New York"].id
    with graph.store() as store:
        curate.hide(store, "new york")
        assert "New York" not in {one.name for one in curate.entities(store)}  # at once
    refresh(graph.path)
    assert node not in graph.graph.row
    with graph.store() as store:
        assert not store.graph.edges([node])


def test_edits_outlive_deletions_and_new_documents(graph, tmp_path):
    call(graph, "IBM", "International Business Machines")
    with graph.store() as store:
        store.documents.delete("chess.md")
    refresh(graph.path)
    fresh = KnowledgeGraph.open(tmp_path / "fresh.db")
    for name in ("firm.md", "later.md"):
        fresh.add_text(name, TEXTS[name])
    assert digest(graph) == digest(fresh)
    with graph.store() as store:
        store.documents.undo("chess.md")
    refresh(graph.path)
    assert entities(graph)["International Business Machines"].passages == 2


def test_the_doctor_makes_an_edited_graph_anew(graph):
    call(graph, "IBM", "International Business Machines")
    assert all(check.ok for check in doctor(graph.path, deep=True))


def types(knowledge: KnowledgeGraph) -> dict[str, str]:
    return {name: one.type for name, one in entities(knowledge).items()}


def test_a_type_by_hand_is_that_of_the_entity_everywhere_and_is_kept(graph):
    before = types(graph)
    assert before["New York"] == "GPE?"  # the tagger's guess
    number = graph.retype("new york", "space  station")
    assert types(graph) == before | {"New York": "SPACE_STATION"}
    exported = {data["name"]: data.get("type") for _, data in graph.to_networkx().nodes(data=True)}
    assert exported["New York"] == "SPACE_STATION"
    graph.add_text("more.md", "Ada Lovelace moved to New York.")
    assert types(graph)["New York"] == "SPACE_STATION"
    graph.undo_edit(number)
    assert types(graph)["New York"] == "GPE?"


def test_an_edit_of_a_type_is_written_down_and_leaves_no_trace_once_undone(graph):
    before = digest(graph)
    number = graph.retype("Charles Flint", "organization")
    (edit,) = graph.edits
    assert (edit.action, edit.key, edit.name) == ("type", "charles flint", "ORG")
    assert all(check.ok for check in doctor(graph.path, deep=True))
    graph.undo_edit(number)
    assert digest(graph) == before
    assert graph.edits[0].undone_at


def test_the_last_type_counts_and_follows_what_is_merged(graph):
    graph.retype("IBM", "place")
    graph.retype("IBM", "company")
    call(graph, "IBM", "International Business Machines")
    assert types(graph)["International Business Machines"] == "COMPANY"
    with graph.store() as store:
        assert entity_types(store.edits.all()) == {"international business machines": "COMPANY"}


def test_the_last_name_of_what_is_a_person_by_now_means_that_person(tmp_path):
    knowledge = KnowledgeGraph.open(tmp_path / "names.db")
    knowledge.add_text("a.md", "Deep Blue beat Garry Kasparov. Kasparov was angry. Kasparov left.")
    both = {"Garry Kasparov", "Kasparov"}
    assert both & entities(knowledge).keys() == {"Garry Kasparov"}  # a person, says the tagger
    number = knowledge.retype("Garry Kasparov", "product")
    assert both <= entities(knowledge).keys()
    knowledge.undo_edit(number)
    assert both & entities(knowledge).keys() == {"Garry Kasparov"}


def test_who_is_answered_by_those_that_somebody_says_are_persons(graph):
    graph.retype("Deep Blue", "person")
    with graph.store() as store:
        chunks = [chunk.id for chunk in store.log.read().chunks]
        found = {(name.text, name.type) for names in store.passages.names(chunks).values()
                 for name in names}
    assert ("Deep Blue", "person") in found


def test_a_title_that_somebody_says_is_a_person_is_one_where_a_sentence_has_it(tmp_path):
    knowledge = KnowledgeGraph.open(tmp_path / "titles.db")
    texts = ["It rained. Then the zorblat grex was seen.", "Nobody saw the zorblat grex. It left."]
    knowledge.add_text("a.md", f"# Zorblat Grex\n\n{texts[0]}")
    knowledge.add_text("b.md", texts[1])
    with knowledge.store() as store:
        kinds = {mention.kind for extraction in store.log.read().extractions
                 for mention in extraction.mentions if mention.key == "zorblat grex"}
    assert kinds <= {"title", "heading", "term"}
    knowledge.retype("Zorblat Grex", "person")
    with knowledge.store() as store:
        chunks = store.log.read().chunks
        found = {next(c.text for c in chunks if c.id == chunk)[:end].rpartition(". ")[2]
                 for (chunk, end), names in store.passages.names(c.id for c in chunks).items()
                 for name in names if (name.text, name.type) == ("Zorblat Grex", "person")}
    assert found == {"Then the zorblat grex was seen.", "Nobody saw the zorblat grex."}


@pytest.mark.parametrize(("name", "kind", "why"), [
    ("Nobody", "person", "no entity called 'Nobody'"), ("IBM", " \n", "cannot be a type"),
    ("IBM", "12", "cannot be a type"), ("IBM", "x" * 41, "at most 40")])
def test_a_type_that_cannot_be_says_why(graph, name, kind, why):
    with graph.store() as store, pytest.raises(ParameterError, match=why):
        curate.retype(store, name, kind)
    assert graph.edits == ()


def test_a_guess_is_confirmed_by_hand_but_not_twice(graph):
    graph.retype("New York", "Place")
    assert types(graph)["New York"] == "GPE"
    with pytest.raises(ParameterError):
        graph.retype("New York", "gpe")


def test_a_type_is_kept_as_the_tags_of_the_workspace_are(graph):
    tags = {"Organization": "ORG", "group of people": "NORP", "propn": "NAME",
            "work": "WORK_OF_ART", "chess_engine": "CHESS_ENGINE"}
    for said, kept in tags.items():
        graph.retype("New York", said)
        assert types(graph)["New York"] == kept


def test_the_command_line_says_the_type_of_an_entity(graph, capsys):
    db = ["--db", str(graph.path)]
    assert main(["edit", "--type", "Deep Blue", "chess computer", *db]) == 0
    assert "type    deep blue  ->  CHESS_COMPUTER" in capsys.readouterr().out
    assert main(["entities", "deep blue", "--json", *db]) == 0
    assert json.loads(capsys.readouterr().out)[0]["type"] == "CHESS_COMPUTER"
    assert main(["edit", "--type", "Deep Blue", "!", *db]) == 2
    assert "cannot be a type" in capsys.readouterr().err


def test_the_page_sets_a_type_and_takes_it_back(graph, home):
    (home / "edits.db").write_bytes(graph.path.read_bytes())
    knowledge = KnowledgeGraph.open(home / "edits.db")
    app = page("graph", ws="edits", entity=entities(knowledge)["Deep Blue"].id)
    kind = next(box for box in app.selectbox if box.label == "Type" and box.key is None)
    kind.set_value("place")
    press(app, "Set type")
    assert not app.exception
    assert types(knowledge)["Deep Blue"] == "GPE"
    app = page("graph", ws="edits", part="Edits")
    assert any("\u201cDeep Blue\u201d is of type \u201cplace\u201d" in html.body
               for html in app.get("html"))
    press(app, "Undo")
    assert types(knowledge)["Deep Blue"] != "GPE"


@pytest.mark.parametrize("empty", ["_", "___"])
def test_the_card_of_an_imported_type_without_letters_offers_others(home, empty):
    knowledge = KnowledgeGraph.open(home / "imported.db")
    knowledge.add_text("g.json", json.dumps({
        "nodes": [{"id": name, "name": name, "type": empty} for name in ("Ada", "Bob")],
        "edges": [{"source": "Ada", "target": "Bob", "label": "met"}]}))
    app = page("graph", ws="imported", entity=entities(knowledge)["Ada"].id)
    kind = next(box for box in app.selectbox if box.label == "Type" and box.key is None)
    assert kind.value is None
    kind.set_value("place")
    press(app, "Set type")
    assert types(knowledge)["Ada"] == "GPE"


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
    assert why[frozenset(("IBM", "International Business Machines"))] == "initials of the other"
    assert frozenset(("Apollo 11", "Apollo 12")) not in why
    kasparov = next(pair for pair in pairs if any("Kasparov" in name for name in pair))
    assert {"Garry Kasparov", "Garri Kasparov"} == kasparov


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


def test_the_command_line_lists_edits_and_undoes(graph, capsys):
    db = ["--db", str(graph.path)]
    assert main(["edit", "--call", "IBM", "International Business Machines", *db]) == 0
    capsys.readouterr()
    assert main(["entities", "intern", *db, "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)
    assert (one["passages"], one["also"]) == (2, ["IBM"])
    assert main(["edit", "--undo", "1", *db]) == 0
    assert "undone  ibm  ->  International Business Machines" in capsys.readouterr().out
    assert main(["entities", "--alike", "intern", *db]) == 0
    assert "IBM  =  International Business Machines?" in capsys.readouterr().out
    assert main(["entities", "nobody", *db]) == 3
    assert main(["edit", "--hide", "Nobody", *db]) == 2


def test_edits_of_two_processes_both_hold(graph):
    code = ("import sys; from qafd.storage import open_workspace; from qafd.curate import entities\n"
            "with open_workspace(sys.argv[1]) as store: entities.hide(store, sys.argv[2])")
    children = [subprocess.Popen([sys.executable, "-c", code, str(graph.path), name])
                for name in ("IBM", "New York")]
    assert [child.wait(60) for child in children] == [0, 0]
    refresh(graph.path)
    assert not {"IBM", "New York"} & entities(graph).keys()


def test_the_page_merges_a_pair_and_takes_it_back(graph, home):
    (home / "edits.db").write_bytes(graph.path.read_bytes())
    knowledge = KnowledgeGraph.open(home / "edits.db")
    app = page("graph", ws="edits", part="Perhaps the same")
    press(app, "Both are International Business Machines")
    assert not app.exception
    refresh(knowledge.path)
    assert "IBM" not in entities(knowledge)
    app = page("graph", ws="edits", part="Edits")
    press(app, "Undo")
    refresh(knowledge.path)
    assert "IBM" in entities(knowledge)


def test_the_page_lists_edits_with_the_names_of_entities(graph, home):
    (home / "edits.db").write_bytes(graph.path.read_bytes())
    with KnowledgeGraph.open(home / "edits.db").store() as store:
        curate.keep_apart(store, "garri kasparov", "garry kasparov")
    app = page("graph", ws="edits", part="Edits")
    assert any("\u201cGarri Kasparov\u201d is not \u201cGarry Kasparov\u201d" in html.body
               for html in app.get("html"))


def test_hubs_come_first_and_orphans_connect_nothing(graph):
    graph.add_text("alone.md", "It snowed in Tromsø.")
    with graph.store() as store:
        known = curate.entities(store)
        ends = [end for e in store.graph.edges([one.id for one in known]) if e.kind == "relation"
                for end in (e.source, e.target)]
    counts = [ends.count(one.id) for one in curate.hubs(known)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1] == 0
    assert [one.name for one in curate.orphans(known) if "Troms" in one.name] == ["Tromsø"]
    assert "IBM" not in {one.name for one in curate.orphans(known)}


def test_a_link_to_the_graph_page_shows_the_entity_that_was_chosen(graph, home):
    (home / "edits.db").write_bytes(graph.path.read_bytes())
    one = entities(graph)["Charles Flint"]
    app = page("graph", ws="edits", entity=one.id, show="Hubs first", type="person?")
    assert any("Charles Flint</h4>" in html.body for html in app.get("html"))
    listed = app.dataframe[0].value
    assert set(listed["type"]) == {"person?"}
    assert list(listed["relations"]) == sorted(listed["relations"], reverse=True)


def test_names_like_what_was_typed_come_the_likest_first(graph):
    with graph.store() as store:
        known = curate.entities(store)
    assert [one.name for one in curate.similar(known, "gary kasparov")][:2] == [
        "Garry Kasparov", "Garri Kasparov"]
    assert curate.similar(known, "Zzyzx") == ()
    # " i", "ib", "bm", "m " of both, and " i", "ib", "bx", "x " of the typed one: 2 * 2 / 8
    assert "IBM" in [one.name for one in curate.similar(known, "IBX")]


def test_in_a_large_graph_names_are_typed_and_near_ones_named(graph, home, monkeypatch):
    monkeypatch.setattr("qafd.app.graph.LISTED", 3)
    (home / "edits.db").write_bytes(graph.path.read_bytes())
    knowledge = KnowledgeGraph.open(home / "edits.db")
    app = page("graph", ws="edits", find="IBM")
    assert {box.label for box in app.selectbox} == {"Workspace", "Type", "Show"}

    def submit(label, text, button):
        next(box for box in app.text_input if box.label == label).set_value(text)
        press(app, button)

    submit("Connect to", "Gary Kasparov", "Connect")
    assert "names like it: Garry Kasparov" in shown(app).replace("\\", "")
    submit("Call it", "Internatonal Business Machines", "Rename or merge")
    assert "Names like it: International Business Machines" in shown(app)
    assert not knowledge.edits
    submit("Call it", "international business machines", "Rename or merge")
    assert [(edit.action, edit.key) for edit in knowledge.edits] == [("same", "ibm")]


def test_a_new_name_like_another_is_given_when_pressed_again(graph, home, monkeypatch):
    monkeypatch.setattr("qafd.app.graph.LISTED", 3)
    (home / "edits.db").write_bytes(graph.path.read_bytes())
    app = page("graph", ws="edits", find="IBM")
    next(box for box in app.text_input if box.label == "Call it").set_value("Business Machines")
    press(app, "Rename or merge")
    assert not KnowledgeGraph.open(home / "edits.db").edits
    press(app, "Rename or merge")
    (edit,) = KnowledgeGraph.open(home / "edits.db").edits
    assert (edit.key, edit.name) == ("ibm", "Business Machines")
