"""Tests of qafd.learn: what a card says is what the solver finds."""

from dataclasses import replace
from fractions import Fraction
from importlib.util import module_from_spec, spec_from_file_location

import numpy as np
import pytest
from oracles import dense_weights, rational_solution, states

from qafd.learn.card import film_card, problem, promise, proof
from qafd.learn.cards import CARDS
from qafd.resources import root

BY_KEY = {card.key: card for card in CARDS}
EACH = pytest.mark.parametrize("card", CARDS, ids=lambda card: card.key)


def at(key, **settings):
    card = BY_KEY[key]
    return card, replace(card.start, **settings)


@EACH
def test_the_picture_of_a_card_is_the_rational_solution(card):
    p = problem(card, card.start)
    n = len(p.graph)
    source = [Fraction(0)] * n
    source[int(p.rows[0])] = Fraction(float(p.mass[0]))
    sink = [Fraction(int(t)) for t in p.graph.capacity(p.capacity)]
    x, mass = rational_solution(dense_weights(p.graph, p.gates), source, sink)
    movie = film_card(card, card.start)
    assert movie.rows.tolist() == list(range(n))
    assert len(movie.u) == p.graph.edge_count
    assert movie.x == pytest.approx(np.array(x, float), rel=1e-6, abs=1e-9)
    assert movie.mass == pytest.approx(np.array(mass, float), abs=1e-8)


def test_all_orders_of_pushing_end_alike():
    card = BY_KEY["buckets"]
    movie = film_card(card, card.start)
    ends = [list(states(movie, take))[-1].x for take in movie.takes]
    for end in ends:
        assert end == pytest.approx(movie.x, abs=0.02)


def test_the_certificate_passes_until_it_is_spoiled():
    card = BY_KEY["certificate"]
    right = proof(card, card.start)
    assert right.optimal
    assert right.gap == pytest.approx(0, abs=1e-12)
    # A - B, A - C, B - D, D - E of width 1, C - D of width 1/2; 3.5 units at A, T = 1.
    assert {line.name: line.importance for line in right.lines if line.importance} == (
        pytest.approx({"A": 1.6, "B": 0.3, "C": 0.4}))
    for factor in (0.8, 1.2):
        wrong = proof(*at("certificate", spoil=factor))
        assert not wrong.optimal
        assert wrong.objective > right.objective
        assert wrong.gap == pytest.approx(sum(line.product for line in wrong.lines))
        assert sum(line.mass for line in wrong.lines) == pytest.approx(3.5)


@pytest.mark.parametrize(("variant", "source", "kept"), [
    ("product", "r1", True), ("plain", "r1", False), ("product", "o5", False)])
def test_the_promise_holds_inside_behind_gates_and_breaks_otherwise(variant, source, kept):
    said = promise(*at("guarantee", variant=variant, source=source))
    assert (not said.missing) is kept
    if kept:
        assert said.leaked <= said.beta


@EACH
def test_the_site_has_a_film_for_every_setting_and_begins_with_the_cards_own(card):
    spec = spec_from_file_location("hooks", root() / "docs" / "hooks.py")
    hooks = module_from_spec(spec)
    spec.loader.exec_module(hooks)
    toy = hooks.film_toy(card)
    assert len(toy["films"]) == np.prod([len(choice["options"]) for choice in toy["choices"]])
    begun = toy["films"]["|".join(str(choice["start"]) for choice in toy["choices"])]
    assert [node["X"] for node in begun["nodes"]] == film_card(card, card.start).x.tolist()


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.75])
def test_between_walk_and_flow_a_node_keeps_its_capacity_and_what_damping_takes(share):
    card, settings = at("family", share=share)
    movie, flow = film_card(card, settings), film_card(card, card.start)
    weight = np.zeros((6, 6))
    weight[movie.u, movie.v] = weight[movie.v, movie.u] = movie.weight
    degree = weight.sum(axis=1)
    damped = (1 - share) * 2 * 0.15 / 0.85 * degree * movie.x
    reached = movie.x > 0
    assert movie.mass == pytest.approx(movie.source - degree * movie.x + weight @ movie.x)
    assert movie.mass[reached] == pytest.approx((share + damped)[reached], abs=1e-5)
    assert (movie.mass <= share + damped + 1e-5).all()
    assert set(np.flatnonzero(flow.x)) < set(np.flatnonzero(reached))
    assert bool(movie.x[-1]) is (share == 0)
