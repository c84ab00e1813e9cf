import json
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from panel_example import apple, hostile

from qafd.errors import ParameterError
from qafd.reasons import given_reason
from qafd.retrieve.base import Retrieval, RetrievedEdge, RetrievedNode
from qafd.view.contraction import Contraction, contract_passages, drawn_contracted
from qafd.view.panel import (
    PALE,
    RAMPS,
    Caption,
    Drawing,
    Scale,
    clean,
    panel_data,
    share_of,
)


def node(name: str, importance: float = 1.0, kind: str = "entity", state: str = "saturated",
         **more: float | bool) -> RetrievedNode:
    return RetrievedNode(name, name.upper(), kind, importance, 1.0, state, given_reason("because"), **more)


def edge(u: str, v: str, flow: float = 0.0, weight: float = 1.0, label: str = "") -> RetrievedEdge:
    return RetrievedEdge(u, v, "relation", flow, weight, label)


def retrieval(nodes: list[RetrievedNode], edges: list[RetrievedEdge]) -> Retrieval:
    return Retrieval("question", "qafd", {}, tuple(n.id for n in nodes if n.seed), tuple(nodes),
                     tuple(edges), ())


def spread(*retrievals: Retrieval) -> dict[str, tuple[float, float]]:
    """Any layout: nodes along a diagonal."""
    ids = sorted({n.id for r in retrievals for n in r.nodes})
    return {v: (1.45 * (i + 1) / (len(ids) + 1), (i + 1) / (len(ids) + 1))
            for i, v in enumerate(ids)}


def names(data: dict[str, object], panel: int = 0) -> list[str]:
    return [data["nodes"][n["n"]]["id"] for n in data["panels"][panel]["nodes"]]


# Contraction


def totals(edges: tuple[RetrievedEdge, ...]) -> tuple[Counter[str], Counter[str]]:
    out, into = Counter[str](), Counter[str]()
    for e in edges:
        out[e.source] += e.flow
        into[e.target] += e.flow
    return out, into


def unaccounted(before: Retrieval, after: Contraction) -> float:
    """The most flow out of or into an entity that is neither drawn nor told of."""
    (out, into), (drawn_out, drawn_into) = totals(before.edges), totals(after.retrieval.edges)
    return max(max(abs(drawn_out[v] + after.absorbed[v] + after.canceled[v] - out[v]),
                   abs(drawn_into[v] + after.injected[v] + after.canceled[v] - into[v]))
               for v in (n.id for n in after.retrieval.nodes))


def test_a_passage_hands_its_flow_on_in_proportion() -> None:
    # 3 + 1 come in, 2 and 1 go on, 1 is held: of the 3 from a, 3/4 of each share.
    before = retrieval([node("a"), node("b"), node("c"), node("d"), node("p", kind="passage")],
                       [edge("a", "p", 3), edge("b", "p", 1), edge("p", "c", 2),
                        edge("p", "d", 1)])
    after = contract_passages(before)
    assert {(e.source, e.target): e.flow for e in after.retrieval.edges} == pytest.approx({
        ("a", "c"): 1.5, ("a", "d"): 0.75, ("b", "c"): 0.5, ("b", "d"): 0.25})
    assert after.absorbed == pytest.approx({"a": 0.75, "b": 0.25, "c": 0, "d": 0})
    assert after.held == 0


def test_passages_that_are_the_only_seeds_are_drawn() -> None:
    source = replace(node("p", kind="passage"), seed=True, source=3.0)
    lines = [edge("p", "a", 2), edge("a", "q", 1), edge("q", "b", 1)]
    others = [node("a"), node("b"), node("q", kind="passage")]
    alone = drawn_contracted(retrieval([source, *others], lines))
    assert {(e.source, e.target): e.flow for e in alone.edges} == pytest.approx({
        ("p", "a"): 2, ("a", "b"): 1})


def test_a_passage_seed_is_drawn_beside_names_only_where_it_alone_feeds_one() -> None:
    named = replace(node("c"), seed=True, source=1.0)
    fed, hanging = (replace(node(p, kind="passage"), seed=True, source=3.0) for p in "pr")
    others = [node("a"), node("b"), node("d"), node("q", kind="passage")]
    lines = [edge("c", "q", 2), edge("q", "a", 1), edge("q", "b", 1), edge("p", "a", 2),
             edge("r", "d", 3), edge("r", "b", 1), edge("p", "d", 0)]
    both = drawn_contracted(retrieval([fed, hanging, named, *others], lines))
    assert {n.id for n in both.nodes} == {"a", "b", "c", "d", "r"}
    assert {(e.source, e.target): e.flow for e in both.edges} == pytest.approx({
        ("c", "a"): 1, ("c", "b"): 1, ("r", "d"): 3, ("r", "b"): 1})
    both = drawn_contracted(retrieval([fed, named, *others[:2], others[3]], lines[:4]))
    assert {n.id for n in both.nodes} == {"a", "b", "c"}


def test_a_passages_own_source_is_injected_into_its_neighbors() -> None:
    # 1 from a and 3 of its own; 2 go on to b, so half is held: .5 of a's, 1.5 of its own.
    before = retrieval([node("a"), node("b"), node("p", kind="passage", source=3.0)],
                       [edge("a", "p", 1), edge("p", "b", 2)])
    after = contract_passages(before)
    assert [(e.source, e.target, e.flow) for e in after.retrieval.edges] == [("a", "b", 0.5)]
    assert after.injected["b"] == pytest.approx(1.5)
    assert after.absorbed["a"] == pytest.approx(0.5)
    assert after.held == pytest.approx(1.5)


def test_flow_through_several_passages_and_directly_is_added() -> None:
    before = retrieval(
        [node("a"), node("b"), node("p", kind="passage"), node("q", kind="passage")],
        [edge("a", "p", 1), edge("p", "b", 1), edge("a", "q", 2), edge("q", "b", 2),
         edge("a", "b", 4, label="knows")])
    [line] = contract_passages(before).retrieval.edges
    assert (line.flow, line.label) == (pytest.approx(7), "knows")


def test_flow_from_passage_to_passage_is_followed_to_the_next_entity() -> None:
    before = retrieval(
        [node("a"), node("b"), node("p", kind="passage"), node("q", kind="passage")],
        [edge("a", "p", 8), edge("p", "q", 4), edge("q", "b", 1)])
    after = contract_passages(before)
    assert [(e.source, e.target, e.flow) for e in after.retrieval.edges] == [
        ("a", "b", pytest.approx(1))]
    assert after.absorbed["a"] == pytest.approx(7)


def test_opposite_flows_are_netted_and_the_rest_is_booked() -> None:
    before = retrieval([node("a"), node("b"), node("p", kind="passage")],
                       [edge("a", "b", 1), edge("b", "p", 3), edge("p", "a", 3)])
    after = contract_passages(before)
    assert [(e.source, e.target, e.flow) for e in after.retrieval.edges] == [
        ("b", "a", pytest.approx(2))]
    assert after.canceled == pytest.approx({"a": 1, "b": 1})
    assert unaccounted(before, after) < 1e-9


def test_an_edge_through_a_passage_is_named_after_it() -> None:
    before = retrieval(
        [node("a"), node("b"), node("c"), node("p", kind="passage"), node("q", kind="passage")],
        [edge("a", "p", 2), edge("p", "b", 1), edge("p", "c", 1), edge("a", "q", 1),
         edge("q", "c", 1)])
    assert {e.target: e.label for e in contract_passages(before).retrieval.edges} == {
        "b": "via P", "c": "via 2 passages"}


def test_the_weight_through_a_passage_is_that_of_its_elimination() -> None:
    # Springs of 2 and 6 in a row are one of 2 * 6 / 8; a direct one of 1 is added.
    before = retrieval([node("a"), node("b"), node("p", kind="passage")],
                       [edge("a", "p", 1, weight=2), edge("p", "b", 1, weight=6),
                        edge("a", "b", 0, weight=1)])
    [line] = contract_passages(before).retrieval.edges
    assert line.weight == pytest.approx(2.5)


def test_edges_without_flow_stay_between_entities_only() -> None:
    before = retrieval([node("a"), node("b"), node("p", kind="passage")],
                       [edge("a", "b", label="knows"), edge("a", "p"), edge("p", "b")])
    assert [(e.source, e.target, e.flow, e.label) for e in
            contract_passages(before).retrieval.edges] == [("a", "b", 0, "knows")]


def test_a_circle_among_passages_does_no_harm() -> None:
    before = retrieval(
        [node("a"), node("b"), node("p", kind="passage"), node("q", kind="passage")],
        [edge("a", "p", 1), edge("p", "q", 5), edge("q", "p", 5), edge("p", "b", 1)])
    assert unaccounted(before, contract_passages(before)) < 1e-9


@given(st.integers(0, 10**6))
@example(0)
@settings(max_examples=60, deadline=None)
def test_contraction_neither_makes_nor_loses_flow(seed: int) -> None:
    rng = random.Random(seed)
    nodes = [node(f"e{i}", source=rng.random()) for i in range(rng.randrange(1, 9))]
    nodes += [node(f"p{i}", kind="passage", source=rng.choice([0.0, rng.random()]))
              for i in range(rng.randrange(9))]
    edges = [edge(u.id, v.id, rng.choice([0.0, rng.expovariate(1)]), rng.random())
             for u in nodes for v in nodes if u is not v and rng.random() < 0.3]
    before = retrieval(nodes, edges)
    after = contract_passages(before)
    assert all(e.flow >= 0 for e in after.retrieval.edges)
    assert unaccounted(before, after) < 1e-9


def test_the_sample_balances_and_keeps_its_entities() -> None:
    before = apple(7)
    after = contract_passages(before)
    assert unaccounted(before, after) < 1e-9
    assert [n for n in before.nodes if n.kind != "passage"] == list(after.retrieval.nodes)
    assert not any(after.canceled.values()), "flow runs downhill"


# Choice of nodes


def test_what_one_panel_alone_retrieves_is_marked_when_asked_for() -> None:
    both = [apple(7), apple(7, "ego")]
    positions = {n.id: (0.5, 0.5) for r in both for n in r.nodes}
    full = [{n.id for n in r.nodes if n.state == "saturated"} for r in both]
    data = panel_data(both, positions=positions, lone=True)
    marked = [{data["nodes"][n["n"]]["id"] for n in panel["nodes"] if n["only"]}
              for panel in data["panels"]]
    assert marked == [full[0] - full[1], full[1] - full[0]]
    assert marked[0]
    plain = panel_data(both, positions=positions)
    assert not any(n["only"] for panel in plain["panels"] for n in panel["nodes"])


def test_what_another_panel_shows_is_a_ghost_here() -> None:
    one, two = retrieval([node("a")], []), retrieval([node("b")], [])
    data = panel_data([one, two], positions=spread(one, two), others=[node("c")])
    assert [n["id"] for n in data["nodes"]] == ["a", "b"]
    data = panel_data([one, two], positions=spread(one, two, retrieval([node("c")], [])),
                      others=[node("c")])
    assert [n["id"] for n in data["nodes"]] == ["a", "b", "c"]
    assert (names(data, 0), names(data, 1)) == (["a"], ["b"])


def test_the_order_of_nodes_in_a_panel_is_by_importance() -> None:
    drawn = apple(5)
    by_id = {n.id: n.importance for n in drawn.nodes}
    shown = [by_id[v] for v in names(panel_data([drawn], positions=spread(drawn)))]
    assert shown == sorted(shown, reverse=True)


# Scales and legend


def test_largest_importances_that_do_not_match_are_refused() -> None:
    drawn = retrieval([node("a", 4)], [])
    with pytest.raises(ParameterError, match="2 largest importances for 1 retrievals"):
        panel_data([drawn], positions=spread(drawn), largest=[1.0, 2.0])


def test_a_score_below_zero_is_no_share() -> None:
    assert (share_of(-2.0, 4.0), share_of(1.0, 4.0), share_of(1.0, 0.0)) == (0.0, 0.25, 0.0)


@pytest.mark.parametrize("ramp", [*RAMPS.values(), PALE], ids=[*RAMPS, "pale"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_ramps_grow_darker_all_the_way(ramp: dict[str, list[str]], theme: str) -> None:
    def lightness(color: str) -> float:
        line = [int(color[i:i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in line)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b
    stops = [lightness(color) for color in ramp[theme]]
    assert stops == sorted(stops, reverse=True)


# Words


@pytest.mark.parametrize(("text", "shown"), [
    ("a\u202egnp.exe\u202c", "agnp.exe"), ("\u2067x\u2069\u200f", "x"),
    ("tab\tand\nline", "tab and line"),
    ("\ud800lone", "lone"), ("  ", ""), ("\x00\x1b[0m", "[0m"), ("👩\u200d🚀", "👩\u200d🚀"),
    ("مرحبا", "مرحبا"), ("x" * 31, "x" * 29 + "…")], ids=ascii)
def test_names_become_one_harmless_line(text: str, shown: str) -> None:
    assert clean(text, 30) == shown


def test_hostile_names_survive_as_json_of_bounded_size() -> None:
    drawn = hostile(8)
    text = json.dumps(panel_data([drawn], positions=spread(drawn)), allow_nan=False)
    assert len(text.encode()) < 20_000


def test_nothing_retrieved_is_a_panel_too() -> None:
    data = panel_data([retrieval([], [])], positions={})
    assert data["nodes"] == []
    assert data["panels"][0]["alt"] == "qafd: no nodes."
    assert panel_data([], positions={})["panels"] == []


@pytest.mark.parametrize(("wrong", "message"), [
    ({"thickness": "width"}, "thickness is 'width'"), ({"ramp": "jet"}, "no color ramp 'jet'"),
    ({"limit": 0}, "limit is 0")], ids=str)
def test_impossible_drawings_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Drawing(**wrong)


def test_captions_that_do_not_match_the_retrievals_are_refused() -> None:
    drawn = retrieval([node("a")], [])
    with pytest.raises(ParameterError, match="2 captions for 1 retrievals"):
        panel_data([drawn], positions=spread(drawn), captions=[Caption(), Caption()])


# A scale for every mass


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_on_one_scale_equal_importance_and_flow_look_equal_at_any_mass(own: float,
                                                                       other: float) -> None:
    scale = Scale(100.0, 10.0, 20, 30)

    def look(most: float) -> tuple[float, float]:
        one = retrieval([node("a", own), node("b", most)], [edge("a", "b", own), edge("b", "a", most)])
        data = panel_data([one], positions=spread(one), scale=scale)
        panel, index = data["panels"][0], {n["id"]: i for i, n in enumerate(data["nodes"])}
        return (next(n["t"] for n in panel["nodes"] if n["n"] == index["a"]),
                next(e["w"] for e in panel["edges"] if e["u"] == index["a"]))

    assert look(other) == look(own)
    assert scale.colors(np.array([0.0, own, own + other, 1e9])).tolist() == sorted(
        scale.colors(np.array([0.0, own, own + other, 1e9])).tolist())
    assert scale.colors(np.array([0.0, 100.0])).tolist() == [0.0, 1.0]
