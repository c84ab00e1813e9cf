"""Edits by hand: what they make of the graph, and that undoing leaves no trace."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from clicks import page, press
from hypothesis import given
from hypothesis import strategies as st

from qafd.cli import main
from qafd.curate import entities as curate
from qafd.curate.neighbors import connect
from qafd.curate.splitting import find_mixed, passages_of
from qafd.edits import Edit, entity_names, split_names
from qafd.errors import ParameterError
from qafd.ingest import index, refresh
from qafd.installation import check_workspace
from qafd.knowledge import KnowledgeGraph, find_evidence
from qafd.records import node_id

TEXTS = {
    "chess.md": "IBM built the Deep Blue computer in New York. Feng-hsiung Hsu worked at IBM on "
                "chess. Deep Blue beat Garry Kasparov.",
    "firm.md": "International Business Machines was founded by Charles Flint. Thomas Watson led "
               "International Business Machines for decades. Thomas Watson met Charles Flint.",
    "later.md": "Garri Kasparov wrote about the match. Apollo 11 and Apollo 12 flew to the Moon. "
                "Watson was named after him."}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    knowledge = KnowledgeGraph.open(tmp_path_factory.mktemp("built") / "edits.db")
    index(knowledge.url, [(name, text.encode()) for name, text in TEXTS.items()], processes=1)
    with knowledge.store() as store:
        store.compact()
    return Path(knowledge.place.written).read_bytes()


@pytest.fixture
def graph(built, tmp_path):
    (tmp_path / "edits.db").write_bytes(built)
    return KnowledgeGraph.open(tmp_path / "edits.db")


def entities(knowledge):
    with knowledge.store() as store:
        return {one.name: one for one in curate.entities(store)}


def call(knowledge, known, name):
    with knowledge.store() as store:
        number = curate.call(store, known, name)
    refresh(knowledge.url)
    return number


def digest(knowledge):
    with knowledge.store() as store:
        return store.graph.digest()


def same(*pairs):
    return [Edit(i, "same", key, name, "") for i, (key, name) in enumerate(pairs)]


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
              for sentence in find_evidence(graph, [one.id]) for start, end in sentence.mentions]
    assert marked == ["IBM", "IBM", *["International Business Machines"] * 2]


@pytest.mark.parametrize("character", ["\ud800", "\0"])
def test_a_character_that_no_database_can_hold_is_replaced_or_refused(graph, character):
    call(graph, "Deep Blue", f"Deep{character}er")
    assert "Deep?er" in entities(graph)
    assert [check for check in check_workspace(graph.url, deep=True) if not check.ok] == []
    with graph.store() as store:
        with pytest.raises(ParameterError, match="no entity"):
            connect(store, "IBM", f"{character}lone")
        with pytest.raises(ParameterError, match="cannot be a name"):
            curate.call(store, "IBM", character)


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


@pytest.fixture
def amazon(tmp_path):
    return KnowledgeGraph.sample("apple-amazon", tmp_path)


def split_amazon(knowledge):
    """Split the sample's Amazon as suggested: the edit, and the passages of company and river."""
    with knowledge.store() as store:
        (mixed,) = find_mixed(store, knowledge.graph)
        texts = {chunk.id: chunk.text for chunk in store.log.read().chunks}
    river, company = sorted(mixed.groups, key=lambda group: -sum("river" in texts[one] for one in group))
    return knowledge.split("Amazon", "Amazon stream", river), set(company), set(river)


def test_a_name_of_two_things_is_found_and_split_by_its_passages(amazon):
    before = digest(amazon)
    number, company, river = split_amazon(amazon)
    assert (len(company), len(river)) == (3, 3)
    known = entities(amazon)
    with amazon.store() as store:
        assert set(passages_of(store, known["Amazon"])) == company
        assert set(passages_of(store, known["Amazon stream"])) == river
        assert not find_mixed(store, amazon.graph)
    assert all(check.ok for check in check_workspace(amazon.place.written, deep=True))
    amazon.undo_edit(number)
    assert digest(amazon) == before


@pytest.mark.parametrize(("second", "cosine", "gap"), [
    (("jeff-bezos.md", "kindle.md"), 0.0, 1.0), (("jeff-bezos.md", "kindle.md"), 0.84, 0.16),
    (("jeff-bezos.md", "kindle.md"), 0.86, None), (("jeff-bezos.md",), 0.0, None),
    (("jeff-bezos.md", "amazon-river.md"), 0.0, None)],
    ids=["far", "far enough", "near", "one passage", "of the same entities"])
def test_two_groups_are_two_things_if_they_are_far_apart_and_share_few_entities(amazon, second, cosine, gap):
    graph = amazon.graph
    with amazon.store() as store:
        own = passages_of(store, entities(amazon)["Amazon"])
        documents = [store.passages.get([passage])[passage].document for passage in own]
        vectors = np.zeros((len(graph), 2), np.float32)
        for passage, document in zip(own, documents, strict=True):
            vectors[graph.row[node_id("passage", passage)]] = (
                (cosine, (1 - cosine**2) ** 0.5) if document in second else (1, 0))
        found = find_mixed(store, replace(graph, vectors=vectors))
    assert documents == sorted(documents)
    assert [mixed.gap for mixed in found] == ([] if gap is None else [pytest.approx(gap)])
    if found:
        assert found[0].groups[1] == tuple(own[documents.index(document)] for document in second)
        assert found[0].shared == pytest.approx(1 / 19)


def test_what_was_split_off_can_be_renamed_and_hidden(amazon):
    _, _, river = split_amazon(amazon)
    call(amazon, "Amazon stream", "Rio Amazonas")
    with amazon.store() as store:
        assert set(passages_of(store, entities(amazon)["Rio Amazonas"])) == river
    amazon.hide("Rio Amazonas")
    with pytest.raises(ParameterError, match="is hidden"):
        amazon.split("Amazon", "Rio Amazonas", river)
    assert entities(amazon).keys() & {"Rio Amazonas", "Amazon stream"} == set()
    assert entities(amazon)["Amazon"].passages == 3
    assert all(check.ok for check in check_workspace(amazon.place.written, deep=True))


def test_splits_follow_what_is_merged_and_what_was_split_before():
    edits = [Edit(1, "split", "a", "B", "", passages=("p", "q")),
             Edit(2, "split", "b", "C", "", passages=("q",)),
             Edit(3, "same", "a", "D", ""), Edit(4, "same", "b", "E", ""), Edit(5, "hide", "c", "", "")]
    assert split_names(edits[:2]) == {"p": {"a": "B"}, "q": {"a": "C", "b": "C"}}
    assert split_names(edits[:4])["p"] == {"d": "E"}
    assert split_names(edits)["q"] == {"d": "", "e": ""}


@pytest.mark.parametrize(("name", "passages", "words"), [
    ("Amazon (river)", 1, "the same name"), ("Amazon II", 0, "choose some"), ("Amazon II", 6, "choose some"),
    ("Amazon II", -1, "does not mention")])
def test_a_split_that_parts_nothing_is_refused(amazon, name, passages, words):
    with amazon.store() as store:
        own = passages_of(store, entities(amazon)["Amazon"])
        others = {chunk.id for chunk in store.log.read().chunks}.difference(own)
    chosen = own[:passages] if passages >= 0 else sorted(others)[:1]
    with pytest.raises(ParameterError, match=words):
        amazon.split("Amazon", name, chosen)
    assert not amazon.edits


def test_the_command_line_lists_what_may_be_two_and_splits_it(amazon, capsys):
    assert main(["entities", "--mixed", "--db", amazon.place.written]) == 0
    line, first, _ = capsys.readouterr().out.splitlines()
    assert "possibly two" in line
    passages = [option for passage in first.split()[2:] for option in ("--passage", passage)]
    assert main(["edit", "--split", "Amazon", "Amazon II", *passages, "--db", amazon.place.written]) == 0
    assert (entities(amazon)["Amazon II"].passages, entities(amazon)["Amazon"].passages) == (3, 3)


def test_what_cannot_be_edited_changes_nothing(graph):
    with graph.store() as store:
        for name, called in (("Nobody", "Somebody"), ("IBM", " … "), ("IBM", "IBM")):
            with pytest.raises(ParameterError):
                curate.call(store, name, called)
        assert not store.edits.all()
        curate.hide(store, "New York")
        with pytest.raises(ParameterError):
            curate.call(store, "IBM", "new york")


def test_a_pair_that_was_told_apart_is_not_suggested_again(graph):
    with graph.store() as store:
        number = curate.keep_apart(store, "IBM", "International Business Machines")
        names = {one.first.name for one in curate.suggestions(store, graph.graph)}
        assert "IBM" not in names
        store.edits.undo(number)
        names = {one.first.name for one in curate.suggestions(store, graph.graph)}
        assert "IBM" in names


def test_the_likeliest_pairs_come_first(tmp_path):
    knowledge = KnowledgeGraph.sample("apple-amazon", tmp_path)
    with knowledge.store() as store:
        found = curate.suggestions(store, knowledge.graph)
    chances = [one.chance for one in found]
    assert len(set(chances)) > 1
    assert chances == sorted(chances, reverse=True)


def test_forms_of_one_word_are_likelier_one_than_a_nationality_and_its_country():
    def rate(one, other, cosine=0.8):
        known = [curate.Entity("", name, "", kind, 1, 1, (), "") for name, kind in (one, other)]
        return curate.rate_pair(*known, cosine)

    plural = rate(("the Mill Cup", "EVENT?"), ("Mill Cups", ""))
    other = rate(("Mill", "EVENT?"), ("Mill Cups", ""))
    nationality = rate(("Danish", "NORP?"), ("Denmark", "GPE?"))
    assert plural > 0.8 > other > 0.4 > nationality
    assert rate(("Mill", ""), ("Mill Cup", ""), 0.9) > other


@pytest.mark.parametrize(("one", "other", "same"), [
    ("sherlock", "sherlock holmes", True), ("w. mozart", "wolfgang mozart", True),
    ("leopold mozart", "wolfgang mozart", False), ("apollo 11", "apollo 12", False)])
def test_a_family_and_what_is_numbered_are_several(one, other, same):
    assert curate.may_be_one(one, other) == curate.may_be_one(other, one) == same


def test_the_page_merges_a_pair_and_takes_it_back(graph, home):
    (home / "edits.db").write_bytes(Path(graph.place.written).read_bytes())
    knowledge = KnowledgeGraph.open(home / "edits.db")
    app = page("graph", ws="edits", part="Possible duplicates")
    press(app, "Both are International Business Machines")
    refresh(knowledge.url)
    assert "IBM" not in entities(knowledge)
    app = page("graph", ws="edits", part="Edits")
    press(app, "Undo")
    refresh(knowledge.url)
    assert "IBM" in entities(knowledge)
