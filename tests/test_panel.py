import random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from qafd.errors import ParameterError
from qafd.reasons import given_reason
from qafd.retrieve.base import Retrieval, RetrievedEdge, RetrievedNode
from qafd.view.contraction import contract_passages, drawn_contracted
from qafd.view.drawing import Drawing, Look, Scale, place_on_ramp
from qafd.view.panel import clean, panel_data


def node(name, importance=1.0, kind="entity", state="saturated", **more):
    return RetrievedNode(name, name.upper(), kind, importance, 1.0, state, given_reason("because"), **more)


def edge(u, v, flow=0.0, weight=1.0, label=""):
    return RetrievedEdge(u, v, "relation", flow, weight, label)


def retrieval(nodes, edges):
    return Retrieval("question", "qafd", {}, tuple(n.id for n in nodes if n.seed), tuple(nodes),
                     tuple(edges), ())


def spread(*retrievals):
    """Any layout: nodes along a diagonal."""
    ids = sorted({n.id for r in retrievals for n in r.nodes})
    return {v: (1.45 * (i + 1) / (len(ids) + 1), (i + 1) / (len(ids) + 1))
            for i, v in enumerate(ids)}


def names(data, panel=0):
    return [data["nodes"][n["n"]]["id"] for n in data["panels"][panel]["nodes"]]


def flows_between(before):
    """What passes between entities when the passages are eliminated one after the other."""
    passages = {n.id: n.source for n in before.nodes if n.kind == "passage"}
    flows = {(e.source, e.target): e.flow for e in before.edges}
    shares = dict(flows)
    for p, source in passages.items():
        into = sum(flow for (_, v), flow in flows.items() if v == p)
        out = sum(flow for (u, _), flow in flows.items() if u == p)
        for ends in flows:
            if ends[0] == p:
                shares[ends] /= max(source + into, out) or 1.0
    for p in passages:
        leaves = {v: share for (u, v), share in shares.items() if u == p and v != p}
        again = 1 - shares.get((p, p), 0.0)
        enters = {u: share for (u, v), share in shares.items() if v == p and u != p}
        for u, amount in enters.items():
            for v, share in leaves.items():
                shares[u, v] = shares.get((u, v), 0.0) + amount * share / again
        shares = {ends: share for ends, share in shares.items() if p not in ends}
    return {(u, v): flow for (u, v), flow in shares.items() if u != v}


def difference(after, between):
    """The most by which a drawn flow is not what passes between two entities less what comes back."""
    drawn = {(e.source, e.target): e.flow for e in after.edges}
    left = [0.0]
    for u, v in drawn.keys() | between.keys():
        net = between.get((u, v), 0.0) - between.get((v, u), 0.0)
        left.append(abs(drawn.get((u, v), 0.0) - max(0.0, net)))
    return max(left)


def test_a_passage_hands_its_flow_on_in_proportion():
    # 3 + 1 come in, 2 and 1 go on, 1 is held: of the 3 from a, 3/4 of each share.
    before = retrieval([node("d"), node("c"), node("b"), node("a"), node("p", kind="passage")],
                       [edge("a", "p", 3), edge("b", "p", 1), edge("p", "c", 2),
                        edge("p", "d", 1)])
    after = contract_passages(before)
    assert [(e.source, e.target, e.flow, e.label) for e in after.edges] == [
        ("a", "c", pytest.approx(1.5), "via P"), ("a", "d", pytest.approx(0.75), "via P"),
        ("b", "c", pytest.approx(0.5), "via P"), ("b", "d", pytest.approx(0.25), "via P")]


@pytest.mark.parametrize(("seed", "flow", "shown"), [
    (False, 0.0, "abp"), (True, 0.0, "abp"), (True, 0.1, "ab")],
    ids=["no name is a seed", "a name has no other source", "a name has another source"])
def test_a_passage_that_is_a_seed_is_drawn_if_mass_would_have_no_visible_source(seed, flow, shown):
    passage = node("p", kind="passage", source=0.5, seed=True)
    before = retrieval([node("a"), node("b", source=0.5 * seed, seed=seed), passage],
                       [edge("p", "a", 0.3), edge("b", "a", flow)])
    assert "".join(n.id for n in drawn_contracted(before).nodes) == shown


def test_the_weight_through_a_passage_is_that_of_its_elimination():
    # Springs of 2 and 6 in a row are one of 2 * 6 / 8; a direct one of 1 is added.
    before = retrieval([node("a"), node("b"), node("p", kind="passage")],
                       [edge("a", "p", 1, weight=2), edge("p", "b", 1, weight=6),
                        edge("a", "b", 0, weight=1)])
    [line] = contract_passages(before).edges
    assert line.weight == pytest.approx(2.5)


@given(st.integers(0, 10**6))
@example(0)
@settings(max_examples=60, deadline=None)
def test_contraction_is_the_elimination_of_one_passage_after_the_other(seed):
    rng = random.Random(seed)
    nodes = [node(f"e{i}", source=rng.random()) for i in range(rng.randrange(1, 9))]
    nodes += [node(f"p{i}", kind="passage", source=rng.choice([0.0, rng.random()]))
              for i in range(rng.randrange(9))]
    edges = [edge(u.id, v.id, rng.choice([0.0, rng.expovariate(1)]), rng.random())
             for u in nodes for v in nodes if u is not v and rng.random() < 0.3]
    before = retrieval(nodes, edges)
    after = contract_passages(before)
    assert all(e.flow >= 0 for e in after.edges)
    assert [n for n in before.nodes if n.kind != "passage"] == list(after.nodes)
    assert difference(after, flows_between(before)) < 1e-8


def test_what_another_panel_shows_is_a_ghost_here():
    one, two = retrieval([node("a")], []), retrieval([node("b")], [])
    data = panel_data([one, two], positions=spread(one, two), look=Look(others=[node("c")]))
    assert [n["id"] for n in data["nodes"]] == ["a", "b"]
    data = panel_data([one, two], positions=spread(one, two, retrieval([node("c")], [])),
                      look=Look(others=[node("c")]))
    assert [n["id"] for n in data["nodes"]] == ["a", "b", "c"]
    assert (names(data, 0), names(data, 1)) == (["a"], ["b"])


@pytest.mark.parametrize(("text", "shown"), [
    ("a\u202egnp.exe\u202c", "agnp.exe"), ("\u2067x\u2069\u200f", "x"),
    ("tab\tand\nline", "tab and line"),
    ("\ud800lone", "lone"), ("  ", ""), ("\x00\x1b[0m", "[0m"), ("👩\u200d🚀", "👩\u200d🚀"),
    ("مرحبا", "مرحبا"), ("x" * 31, "x" * 29 + "…")], ids=ascii)
def test_names_become_one_harmless_line(text, shown):
    assert clean(text, 30) == shown


@pytest.mark.parametrize(("wrong", "message"), [
    ({"thickness": "width"}, "thickness is 'width'"),
    ({"limit": 0}, "limit is 0")], ids=str)
def test_impossible_drawings_are_refused(wrong, message):
    with pytest.raises(ParameterError, match=message):
        Drawing(**wrong)


def test_without_a_scale_colors_are_square_roots_of_shares():
    one = retrieval([node("a", 4.0), node("b", 1.0)], [])
    panel = panel_data([one], positions=spread(one))["panels"][0]
    assert [n["t"] for n in panel["nodes"]] == [1.0, 0.5]


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_on_one_scale_equal_importance_and_flow_look_equal_at_any_mass(own, other):
    scale = Scale(100.0, 10.0, 20, 30)

    def look(most):
        one = retrieval([node("a", own), node("b", most)], [edge("a", "b", own), edge("b", "a", most)])
        data = panel_data([one], positions=spread(one), look=Look(scale=scale))
        panel, index = data["panels"][0], {n["id"]: i for i, n in enumerate(data["nodes"])}
        return (next(n["t"] for n in panel["nodes"] if n["n"] == index["a"]),
                next(e["w"] for e in panel["edges"] if e["u"] == index["a"]))

    assert look(other) == look(own)
    places = place_on_ramp(np.array([0.0, own, own + other, 100.0, 1e9]), 100.0).tolist()
    assert places[:3] == sorted(places[:3])
    assert (places[0], *places[3:]) == (0.0, 1.0, 1.0)
