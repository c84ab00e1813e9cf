"""Tests of qafd.retrieve.seeds: Algorithm 1 against a plain loop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qafd.retrieve.seeds import first, nearest


def unit(rng, *shape):
    vectors = rng.standard_normal(shape).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def test_the_score_is_the_largest_similarity_to_any_keyword():
    vectors = np.array([[1, 0], [0, 1], [0.6, 0.8], [-1, 0]], np.float32)
    found = nearest(vectors, np.array([[1, 0], [0, 1]], np.float32), 3)
    assert found.rows.tolist() == [0, 1, 2]
    assert found.scores == pytest.approx([1.0, 1.0, 0.8])
    assert found.keyword.tolist() == [0, 1, 1]


def test_it_finds_what_a_plain_loop_finds():
    rng = np.random.default_rng(1)
    vectors, keywords = unit(rng, 500, 16), unit(rng, 3, 16)
    scores = [max(float(np.dot(v, k)) for k in keywords) for v in vectors]
    expected = sorted(range(500), key=lambda i: -scores[i])[:25]
    assert nearest(vectors, keywords, 25).rows.tolist() == expected


def test_ties_go_to_the_lower_row():
    vectors = np.ones((50, 1), np.float32)
    assert nearest(vectors, vectors[:1], 4).rows.tolist() == [0, 1, 2, 3]


def test_only_the_rows_among_which_is_sought_are_found():
    vectors = np.array([[1, 0], [0.6, 0.8], [0.8, 0.6]], np.float32)
    found = nearest(vectors, vectors[[0]], 2, among=np.array([1, 2]))
    assert found.rows.tolist() == [2, 1]
    assert found.scores == pytest.approx([0.8, 0.6])


@given(st.integers(0, 2**32), st.integers(0, 3000), st.integers(0, 20), st.integers(1, 1000))
def test_the_first_are_those_of_a_whole_order(seed, many, count, distinct):
    scores = np.random.default_rng(seed).integers(0, distinct, many).astype(np.float64)
    assert first(scores, count).tolist() == np.argsort(-scores, kind="stable")[:count].tolist()
