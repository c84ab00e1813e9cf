from dataclasses import astuple
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qafd.errors import ParameterError
from qafd.graph import Graph
from qafd.records import node_id
from qafd.retrieve.rank import PARTS, Ranking, log_scale, rank, within_budget, word_parts
from qafd.retrieve.seeds import Match, Passages

TEXTS = ["mill corn", "river flood", "ship river", "town"]


# Rows 1 to 4 are passages, row 0 is the entity that is the title of row 4.
GRAPH = Graph.build([node_id("entity", "town"), *"abcd"], names=["Town", "A", "B", "C", "Town"],
                    kinds=["entity"] + ["passage"] * 4)


@pytest.fixture(scope="module")
def passages():
    return Passages.build(GRAPH, lambda _: TEXTS)


def found(dense, by_word=None):
    return Match(np.array(dense, float), np.zeros((4, 1)) if by_word is None
                 else np.array(by_word, float))


def x(*values):
    return np.array(values, float)


def test_meaning_alone_orders_when_nothing_else_speaks(passages):
    order, scores, _ = rank(passages, found([0.1, 0.4, 0.3, 0.2]), np.zeros(5))
    assert order.tolist() == [2, 3, 4, 1]
    assert scores == pytest.approx([1, 2 / 3, 1 / 3, 0])


def test_every_part_of_a_score_is_stated(passages):
    by_word = [[2, 0], [1, 0], [0, 1], [0, 0]]
    order, scores, parts = rank(passages, found([0.5, 1, 0.25, 0], by_word),
                                 x(0, 9, 0, 0, 0))
    terms = [dict(zip(PARTS, row, strict=True)) for row in parts.tolist()]
    assert terms[0] == pytest.approx({"importance": 1.5, "meaning": 0.5, "words": 0.25,
                                      "words the first lacks": 0, "kept first": 0})
    # c has the second word, which a lacks; BM25 of 2, 1, 1 and 0 is 1, .5, .5 and 0 of its range.
    assert terms[2] == pytest.approx({"importance": 0, "meaning": 0.25, "words": 0.125,
                                      "words the first lacks": 0.6, "kept first": 0})
    assert word_parts(terms[2]) == "meaning 0.25 + words 0.12 + words the first lacks 0.60"


def test_the_first_stays_before_one_of_its_score_in_an_earlier_row(passages):
    by_word = [[0, 2], [2, 0], [0, 0], [0, 0]]
    order, scores, _ = rank(passages, found([0.9, 1, 0, 0], by_word), np.zeros(5))
    assert scores[0] == scores[1]
    assert order.tolist()[:2] == [2, 1]


@pytest.mark.parametrize(("importance", "order"), [
    ((9, 0, 4, 0, 1), [4, 2, 1, 3]), ((3, 0, 4, 0, 1), [2, 4, 1, 3]), ((3, 0, 4, 0, 9), [4, 2, 1, 3])])
def test_a_passage_is_as_important_as_itself_or_the_name_in_its_title(passages, importance, order):
    assert rank(passages, found([0] * 4), x(*importance)).rows.tolist() == order


@pytest.mark.parametrize(("certainty", "weights"), [
    (1, (0.25, 1.5, 1.5, 0.6, 1e-3)), (0, (0.5, 0.5, 0, 0, 1e-3)), (0.5, (0.375, 1, 0.75, 0.3, 1e-3))])
def test_the_surer_the_names_the_more_the_importance_counts(certainty, weights):
    assert astuple(Ranking.for_certainty(certainty)) == pytest.approx(weights)


@pytest.mark.parametrize("wrong", [{"flow": -1.0}, {"floor": 0.0}, {"floor": 1.0}])
def test_weights_below_zero_and_a_floor_out_of_range_are_refused(wrong):
    with pytest.raises(ParameterError, match="A ranking needs"):
        Ranking(**wrong)


def test_equal_passages_keep_the_order_of_the_graph(passages):
    order, _, _ = rank(passages, found([0.5] * 4), np.zeros(5))
    assert order.tolist() == [1, 2, 3, 4]


@given(st.lists(st.floats(-1, 1), min_size=4, max_size=4),
       st.lists(st.floats(0, 1e6), min_size=5, max_size=5),
       st.lists(st.lists(st.floats(0, 9), min_size=2, max_size=2), min_size=4, max_size=4))
def test_every_passage_is_ranked_once_with_scores_that_never_rise(passages, dense, xs, words):
    order, scores, parts = rank(passages, found(dense, words), x(*xs))
    assert sorted(order.tolist()) == [1, 2, 3, 4]
    assert np.all(np.diff(scores) <= 0)
    assert parts.sum(axis=1) == pytest.approx(scores)
    assert parts.min() >= 0


def test_the_logarithmic_scale_runs_from_zero_to_one():
    scaled = log_scale(np.array([0, 0.05, 50]), 1e-3)
    assert scaled == pytest.approx([0, log(2) / log(1001), 1])
    assert log_scale(np.array([0, 0.05, 50]) / 1000, 1e-3) == pytest.approx(scaled)
    assert log_scale(np.zeros(3), 1e-3).tolist() == [0, 0, 0]


@pytest.mark.parametrize(("budget", "kept"), [(0, ""), (9, ""), (10, "a"), (29, "a"), (30, "ab"),
                                              (34, "ab"), (135, "abcd")])
def test_the_first_passage_over_the_budget_ends_the_list(budget, kept):
    assert within_budget("abcd", [10, 20, 100, 5], budget) == tuple(kept)
