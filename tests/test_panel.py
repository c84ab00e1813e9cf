import json
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from panel_example import apple, hostile, large

from qafd.errors import ParameterError
from qafd.reasons import given_reason
from qafd.retrieve.base import Retrieval, RetrievedEdge, RetrievedNode
from qafd.view.contraction import Contraction, contract_passages, drawn_contracted
from qafd.view.panel import (
    RAMPS,
    Caption,
    Drawing,
    clean,
    panel_data,
    rank_scale,
    root_scale,
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


def test_seeds_come_first_then_saturated_by_importance_then_wet_by_mass() -> None:
    nodes = [node("dry", 0, state="dry"), node("low", 1), node("high", 2),
             node("a wet", 0, state="wet"), node("wetter", 0, state="wet"),
             node("seed", 0.1, seed=True)]
    drawn = retrieval([replace(n, mass=0.5) if n.id == "a wet" else n for n in nodes], [])
    kept = [set(names(panel_data([drawn], Drawing(limit=k), positions=spread(drawn))))
            for k in range(1, 7)]
    order = [(b - a).pop() for a, b in zip([set(), *kept], kept, strict=False)]
    assert order == ["seed", "high", "low", "wetter", "a wet", "dry"]


def test_the_selected_node_is_always_shown() -> None:
    drawn = retrieval([node(f"n{i}", 9 - i) for i in range(9)], [])
    assert "n8" in names(panel_data([drawn], Drawing(limit=3), positions=spread(drawn),
                                    selected="n8"))


def test_the_footer_says_how_much_is_hidden() -> None:
    drawn = large(300, 10)
    data = panel_data([drawn], Drawing(limit=12), positions=spread(drawn), graph_size=4311)
    assert len(data["panels"][0]["nodes"]) == 12
    assert "12 of 4,311 nodes shown" in data["panels"][0]["footer"]


def test_a_picture_of_everything_hides_nothing_and_says_nothing() -> None:
    drawn = retrieval([node("a", seed=True), node("b", 0, state="wet")], [edge("a", "b", 1)])
    assert panel_data([drawn], positions=spread(drawn))["panels"][0]["footer"] == (
        "1 node retrieved, 1 touched · 1 edge")


def test_nodes_outside_of_the_layout_are_not_drawn_but_counted() -> None:
    drawn = retrieval([node("a"), node("b")], [edge("a", "b", 1)])
    data = panel_data([drawn], positions={"a": (0.5, 0.5)})
    assert names(data) == ["a"]
    assert data["panels"][0]["edges"] == []
    assert "1 of 2 nodes shown" in data["panels"][0]["footer"]


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


def test_half_as_many_ghosts_as_nodes_are_drawn_at_most_the_most_important_ones() -> None:
    one, others = retrieval([node("a")], []), [node(f"g{i}", float(i)) for i in range(9)]
    data = panel_data([one], Drawing(limit=4), others=others,
                      positions=spread(retrieval([node("a"), *others], [])))
    assert [n["id"] for n in data["nodes"]] == ["a", "g7", "g8"]


def test_contracted_passages_are_not_even_ghosts() -> None:
    drawn = apple(7)
    data = panel_data([drawn], Drawing(contract=True), positions=spread(drawn), others=drawn.nodes)
    assert {n["kind"] for n in data["nodes"]}.isdisjoint({"passage"})
    assert len(data["nodes"]) == sum(n.kind != "passage" for n in drawn.nodes)


def test_the_order_of_nodes_in_a_panel_is_by_importance() -> None:
    drawn = apple(5)
    by_id = {n.id: n.importance for n in drawn.nodes}
    shown = [by_id[v] for v in names(panel_data([drawn], positions=spread(drawn)))]
    assert shown == sorted(shown, reverse=True)


# Scales and legend


def test_color_is_the_root_of_the_share_of_the_largest_importance() -> None:
    drawn = retrieval([node("a", 4), node("b", 1), node("c", 0, state="wet")], [])
    data = panel_data([drawn], positions=spread(drawn))
    assert [n["t"] for n in data["panels"][0]["nodes"]] == [1, 0.5, 0]
    assert (data["legend"]["high"], data["legend"]["note"]) == (
        "100% of the largest", "square-root scale")


def test_importance_is_a_share_of_the_largest_of_all_nodes_in_picture_and_legend() -> None:
    # A passage that is drawn as flow is the largest: 4 of 8 is 50%, 0.0001 of 8 next to nothing.
    drawn = retrieval([node("p", 8, kind="passage"), node("a", 4), node("b", 0.0001)], [])
    data = panel_data([drawn], Drawing(contract=True), positions=spread(drawn))
    assert [n["value"] for n in data["panels"][0]["nodes"]] == ["50%", "<0.01%"]
    assert (data["legend"]["low"], data["legend"]["high"]) == ("0%", "50% of the largest")
    halved = panel_data([drawn], positions=spread(drawn), largest=[16.0])
    assert [n["value"] for n in halved["panels"][0]["nodes"]] == ["50%", "25%", "<0.01%"]


def test_where_nothing_is_retrieved_the_legend_has_no_scale() -> None:
    drawn = retrieval([node("a", 0, state="wet")], [])
    legend = panel_data([drawn], positions=spread(drawn))["legend"]
    assert (legend["low"], legend["high"], legend["note"]) == ("", "", "")


def test_largest_importances_that_do_not_match_are_refused() -> None:
    drawn = retrieval([node("a", 4)], [])
    with pytest.raises(ParameterError, match="2 largest importances for 1 retrievals"):
        panel_data([drawn], positions=spread(drawn), largest=[1.0, 2.0])


def test_a_score_below_zero_is_no_share() -> None:
    assert (share_of(-2.0, 4.0), share_of(1.0, 4.0), share_of(1.0, 0.0)) == (0.0, 0.25, 0.0)


def test_skewed_importances_are_colored_by_rank_and_the_legend_says_so() -> None:
    drawn = retrieval([node(f"n{i}", 10.0 ** (-2 * i)) for i in range(5)], [])
    data = panel_data([drawn], positions=spread(drawn))
    assert [n["t"] for n in data["panels"][0]["nodes"]] == [1, 0.8, 0.6, 0.4, 0.2]
    assert data["legend"]["color"] == "importance by rank"


def test_equal_importances_share_a_rank() -> None:
    assert rank_scale(np.array([1.0, 3, 1, 2])).tolist() == [0.5, 1, 0.5, 0.75]


def test_importances_of_zero_have_no_color() -> None:
    assert root_scale(np.zeros(3)).tolist() == [0, 0, 0]


def test_thickness_is_the_root_of_the_share_of_the_largest_flow() -> None:
    drawn = retrieval([node("a"), node("b"), node("c")], [edge("a", "b", 9), edge("b", "c", 1),
                                                          edge("a", "c")])
    panel = panel_data([drawn], positions=spread(drawn))["panels"][0]
    assert [(e["w"], e["arrow"]) for e in panel["edges"]] == [
        (1, True), (0.333, True), (0, False)]


def test_thickness_by_weight_has_no_arrows_and_its_own_legend() -> None:
    drawn = retrieval([node("a"), node("b"), node("c")],
                      [edge("a", "b", 9, weight=1), edge("b", "c", 0, weight=4)])
    data = panel_data([drawn], Drawing(thickness="weight"), positions=spread(drawn))
    assert [(e["w"], e["arrow"]) for e in data["panels"][0]["edges"]] == [(1, False), (0.5, False)]
    assert data["legend"]["thickness"] == "edge weight"


@pytest.mark.parametrize(("top", "reference"), [(0.83, "0.5"), (2.0, "2"), (17.0, "10"),
                                                (0.0021, "0.002")], ids=str)
def test_the_legend_has_a_reference_width_of_a_round_flow(top: float, reference: str) -> None:
    drawn = retrieval([node("a"), node("b")], [edge("a", "b", top)])
    width, text = panel_data([drawn], positions=spread(drawn))["legend"]["widths"][-1]
    assert text == reference
    assert width == pytest.approx(np.sqrt(float(reference) / top), abs=1e-3)


def test_without_flow_the_legend_has_no_widths() -> None:
    drawn = retrieval([node("a"), node("b")], [edge("a", "b")])
    assert panel_data([drawn], positions=spread(drawn))["legend"]["widths"] == []


@pytest.mark.parametrize("ramp", RAMPS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_ramps_grow_darker_all_the_way(ramp: str, theme: str) -> None:
    def lightness(color: str) -> float:
        line = [int(color[i:i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in line)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b
    stops = [lightness(color) for color in RAMPS[ramp][theme]]
    assert stops == sorted(stops, reverse=True)


# Words


def test_the_picture_is_told_in_words() -> None:
    drawn = retrieval([node("a", 3), node("b", 2), node("c", 0, state="wet")],
                      [edge("a", "b", 0.25)])
    caption = Caption("QAFD", "flow", "11 of 24")
    panel = panel_data([drawn], positions=spread(drawn), captions=[caption])["panels"][0]
    assert panel["alt"] == ("QAFD: 2 of 3 touched nodes retrieved; most important: A, B and C. "
                            "The largest flow, 0.25, runs from A to B.")
    assert panel["footer"] == "11 of 24"


def test_tooltips_state_numbers_and_leave_out_what_a_method_has_not() -> None:
    full = node("a", 0.8311, capacity=5.0, source=2.0, alignment=0.84)
    drawn = retrieval([replace(full, mass=3.14159), node("b", 0.5)], [])
    shown = panel_data([drawn], positions=spread(drawn))["panels"][0]["nodes"]
    assert shown[0]["facts"] == [["importance", "100%"], ["mass", "3.14 of 5"], ["source", "2"],
                                 ["similarity to question", "0.84"]]
    assert shown[1]["facts"] == [["importance", "60.2%"]]


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
