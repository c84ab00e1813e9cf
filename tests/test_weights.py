"""Tests of qafd.flow.weights: every variant against its equation, worked out by hand."""

import numpy as np
import pytest

from qafd.errors import ParameterError
from qafd.flow.weights import TINY, Gates, Similarity, Weights, clip, rbf, shift
from qafd.graph import Graph

H, U, V = np.array([0.5]), np.array([0.8]), np.array([0.2])


@pytest.mark.parametrize(("weights", "expected"), [
    (Weights.of_variant("mean"), (0.5 + 0.8 + 0.2) / 3),
    (Weights.of_variant("product"), 0.5 * 0.8 * 0.2),
    (Weights.of_variant("hybrid"), 0.5 * (1 + 0.25 * (0.8 + 0.2))),
    (Weights.of_variant("hybrid", a=0.1, b=2.0), 0.5 * (0.1 + 2.0 * (0.8 + 0.2))),
    (Weights.of_variant("plain"), 0.5), (Weights(), 0.5 * (1 + 0.25 * (0.8 + 0.2))),
    (Weights("plus", "times", a=2.0, b=3.0, c=4.0), 4 * 0.5 + (2 + 3 * 0.8 * 0.2)),
    (Weights("times", "plus", a=2.0, b=3.0, c=4.0), 4 * 0.5 * (2 + 3 * (0.8 + 0.2))),
], ids=["2a", "2b", "2c", "2c with a and b", "plain", "usual", "1 plus times", "1 times plus"])
def test_a_weight_is_what_its_equation_says(weights, expected):
    assert weights(H, U, V)[0] == pytest.approx(expected, rel=1e-15)
    assert weights(H, V, U)[0] == weights(H, U, V)[0] == weights.of_edge(0.5, 0.8, 0.2)


def test_similarities_follow_their_formulas_and_never_reach_zero():
    cosine = np.array([-1.0, 0.0, 0.5, 1.0])
    assert clip(cosine).tolist() == [1e-3, 1e-3, 0.5, 1.0]
    assert shift(cosine).tolist() == [1e-3, 0.5, 0.75, 1.0]
    assert rbf(cosine, 2.0) == pytest.approx(np.exp([-8.0, -4.0, -2.0, 0.0]))
    assert rbf(cosine, 1e6).min() > 0


@pytest.mark.parametrize(("similarity", "expected"), [
    (Similarity("clip", floor=1.0), [1.0, 1.0]), (Similarity("clip", floor=0.3), [0.3, 0.5]),
    (Similarity("shift", floor=0.2), [0.2, 0.75]), (Similarity("rbf", gamma=0.5), np.exp([-2, -0.5])),
    (Similarity("rbf", gamma=0.0), [1.0, 1.0]), (Similarity("clip", floor=TINY), [TINY, 0.5])])
def test_a_similarity_takes_its_parameters_up_to_their_limits(similarity, expected):
    assert similarity(np.array([-1.0, 0.5])) == pytest.approx(expected, rel=1e-12, abs=0)


@pytest.mark.parametrize("make", [
    lambda: Weights.of_variant("median"), lambda: Weights("over", "plus"), lambda: Weights(a=-1.0),
    lambda: Weights(c=0.0), lambda: Weights(a=0.0, b=0.0), lambda: Weights(a=np.inf),
    lambda: Similarity("dot"), lambda: Similarity(floor=0.0), lambda: Similarity(gamma=-1.0),
    lambda: Similarity(gamma=np.nan), lambda: Similarity(gamma=np.inf),
    lambda: Similarity(floor=1e-320), lambda: Similarity(floor=1.5),
])
def test_parameters_out_of_range_are_refused(make):
    with pytest.raises(ParameterError):
        make()


def test_alignment_is_the_similarity_of_query_and_vector():
    vectors = np.array([[1, 0], [0.6, 0.8], [-1, 0]], np.float32)
    graph = Graph.build("abc", vectors=vectors)
    gates = Gates(Weights(), np.array([1, 0], np.float32))
    assert gates.align(graph, np.array([2, 1, 0])) == pytest.approx([1e-3, 0.6, 1.0])


def test_alignment_is_one_without_a_query_and_is_looked_at_only_where_it_is_needed():
    assert Gates(Weights()).align(Graph.build("ab"), np.array([0, 1])).tolist() == [1.0, 1.0]
    gates = Gates(Weights(), alignment=np.array([1.0, 0.0]))
    assert gates.align(Graph.build("ab"), np.array([0])).tolist() == [1.0]


@pytest.mark.parametrize(("given", "message"), [
    ({"query": np.ones(2, np.float32)}, "pass the alignment"),
    ({"query": np.array([np.nan, 1.0], np.float32)}, "not finite"),
    ({"alignment": np.array([0.0])}, "alignment is 0"),
    ({"alignment": np.array([np.inf])}, "alignment is inf")])
def test_an_alignment_that_is_missing_or_no_positive_number_is_refused(given, message):
    with pytest.raises(ParameterError, match=message):
        Gates(Weights(), **given).align(Graph.build("a"), np.array([0]))
