"""Passages that the flow reached, how each was found, and what the graph added to search."""

from dataclasses import replace

import pytest
from clicks import page, shown

from qafd.explain.reach import (
    Moved,
    Signal,
    compare_first,
    find_reached,
    put_reached_first,
    signal_shares,
)
from qafd.retrieve.base import RankedPassage
from qafd.retrieve.compare import find_off_topic
from qafd.wording.explanations import OUTSIDE

ASKED = "Introduce Steve Jobs's products in Apple."


def test_the_shares_of_the_evidence_add_up_without_the_lead_of_the_first():
    parts = {"words": 0.25, "words the first lacks": 0.25, "meaning": 1.0, "importance": 1.5, "kept first": 9}
    assert signal_shares(parts) == ((Signal.FLOW, 0.5), (Signal.MEANING, pytest.approx(1 / 3)),
                                    (Signal.WORDS, pytest.approx(1 / 6)))
    assert signal_shares({"kept first": 1.0}) == ()


@pytest.mark.parametrize("layer", ["passages", "entities"])
def test_passages_that_the_flow_reached_are_read_first(apple, layer):
    found = apple.retrieve(ASKED, layer=layer, mass=4)
    retrieval = replace(found, ranking=found.ranking[::-1], passages=found.passages[::-1])
    ordered, reached = put_reached_first(retrieval), find_reached(retrieval)
    inside = [passage.id in reached for passage in ordered.passages]
    assert 0 < sum(inside) < len(inside)
    assert inside == sorted(inside, reverse=True)
    assert [p.id for p in ordered.ranking if p.id in reached] == [
        p.id for p in retrieval.ranking if p.id in reached]
    assert [p.id for p in ordered.passages] == [p.id for p in ordered.ranking]


def test_more_mass_reaches_more_passages_and_the_answer_reads_them(apple):
    plan = apple.plan(ASKED)
    little, much = (apple.retrieve(plan, mass=mass) for mass in (8, 60))
    assert find_reached(little) < find_reached(much)
    for retrieval in (little, much):
        reached = find_reached(retrieval)
        cited = [c.passage.id in reached for c in apple.answer(retrieval, plan).citations]
        assert any(cited)
    other = apple.retrieve(plan, "fusion")
    assert put_reached_first(other) == other


def test_what_the_graph_added_has_the_places_of_both_rankings():
    found = [RankedPassage(id, 1.0) for id in "abcdefg"]
    searched = [RankedPassage(id, 1.0) for id in "abcxgfd"]
    added = compare_first(found, searched)
    assert added.gained == (Moved("d", 4, 7), Moved("e", 5, None))
    assert added.lost == (Moved("x", 4, None), Moved("g", 5, 7))
    assert compare_first(found, found).gained == ()


def test_the_page_says_how_each_source_was_found_and_from_which_mass_on(home):
    usual = shown(page("explore", q=ASKED))
    assert OUTSIDE not in usual
    assert "flow " in usual
    assert OUTSIDE in shown(page("explore", q=ASKED, best_mass="1"))


def test_plain_weights_flood_the_article_of_the_fruit_and_query_aware_ones_do_not(apple):
    plan = apple.plan(ASKED)
    plain, aware = (apple.retrieve(plan, variant=variant) for variant in ("plain", "product"))
    full = {node.id for node in aware.retrieved}
    assert [node.name for node in plain.retrieved if node.id not in full] == ["Malus domestica"]
    assert [node.name for node in find_off_topic(plain, aware)] == ["Malus domestica"]
    assert find_off_topic(aware, aware) == ()


@pytest.mark.parametrize("apostrophe", ["'", "\u2019"])
def test_the_ending_of_a_genitive_is_no_word_that_the_documents_lack(apple, apostrophe):
    assert apple.answer(f"Introduce Steve Jobs{apostrophe}s products in Apple.").unknown == ()
    assert apple.answer("Introduce Zorbik products in Apple.").unknown == ("Zorbik",)
