"""AND by flow: one certified diffusion a condition, against graphs that are solved by hand."""

import numpy as np
import pytest

from qafd.flow.weights import PLAIN
from qafd.graph import Graph
from qafd.reasons import ReasonKind
from qafd.records import QueryCondition, QueryGraph, QueryNode, QueryPlan, node_id
from qafd.retrieve.base import Corpus
from qafd.retrieve.conditions import link_conditions
from qafd.retrieve.flow_and import AllConditions, hold_conditions
from qafd.retrieve.seeds import Passages
from qafd.view.drawing import Drawing
from qafd.view.panel import panel_data
from qafd.view.placement import freeze
from qafd.wording.reasons import word_reason

NAMES = ["Kiln", "Quay", "Ada", "Bob", "Cyd", "Dan", "Eve"]
KILN, QUAY, ADA, BOB, CYD, DAN, EVE = range(7)
# Ada meets both; Bob is beside Kiln and two steps from Quay over Dan; Cyd is beside Kiln alone.
EDGES = [(KILN, ADA), (QUAY, ADA), (KILN, BOB), (BOB, DAN), (DAN, QUAY), (KILN, CYD), (CYD, EVE)]


def build(edges, passages=()):
    """Entities and passages; a passage is a list of the rows that it mentions."""
    texts = [" and ".join(NAMES[row] for row in rows) for rows in passages]
    mentions = [(row, len(NAMES) + i) for i, rows in enumerate(passages) for row in rows]
    ids = [node_id("entity", name.lower()) for name in NAMES] + [f"p{i}" for i in range(len(texts))]
    graph = Graph.build(ids, [u for u, _ in (*edges, *mentions)], [v for _, v in (*edges, *mentions)], None,
                        ["relation"] * len(edges) + ["mention"] * len(mentions), names=[*NAMES, *texts],
                        kinds=["entity"] * 7 + ["passage"] * len(texts),
                        vectors=np.ones((len(ids), 2), np.float32) / 2 ** 0.5)
    known = dict(zip(ids[7:], texts, strict=True))
    return Corpus(graph, Passages.build(graph, lambda asked: [known[i] for i in asked]))


def ask(*wanted, refused=()):
    """A plan with these names as conditions of the answer."""
    names = [NAMES[row] for row in (*wanted, *refused)]
    nodes = [QueryNode("who", ""), *(QueryNode(name, name.lower()) for name in names)]
    conditions = [QueryCondition(0, place, negated=place > len(wanted)) for place in range(1, len(nodes))]
    return QueryPlan("q", (), np.ones(2, np.float32) / 2 ** 0.5, np.zeros((0, 2), np.float32), (),
                     conditions=QueryGraph(tuple(nodes), tuple(conditions)))


def hold(corpus, plan):
    layer = corpus.graph.layer({"relation"})
    return hold_conditions(layer, PLAIN, link_conditions(corpus.graph, plan), 1.5)


def answers(corpus, plan, **params):
    found = AllConditions(variant="plain", **params).retrieve(corpus, plan)
    return found, [node.name for node in found.nodes if not node.seed]


def test_who_is_filled_by_all_comes_first_then_who_holds_most_of_what_is_missing():
    found, names = answers(build(EDGES), ask(KILN, QUAY))
    assert names[0] == "Ada"
    assert names.index("Bob") < names.index("Cyd")
    told = {node.name: node.reason for node in found.nodes}
    assert told["Ada"].kind == ReasonKind.HELD_BY
    assert (told["Ada"].values["filled"], told["Ada"].values["wanted"]) == (2, 2)
    assert told["Bob"].values["filled"] == 1
    shares = {part.values["name"]: part.values["share"] for part in told["Bob"].also}
    assert shares["Kiln"] == 1
    assert 0 < shares["Quay"] < 1
    assert told["Bob"].values["least"] == shares["Quay"]
    assert told["Cyd"].values["least"] < shares["Quay"]
    assert "Kiln: 100%" in word_reason(told["Bob"])
    assert {node.name for node in found.nodes if node.state == "saturated"} == {"Kiln", "Quay", "Ada"}


def test_the_masses_of_one_condition_are_those_of_a_chain_solved_by_hand():
    """Quay - Ada - Kiln ..., 1.5 times the 3 of Quay and its two neighbors is 4.5 in a star of two arms.

    Each arm gets 1.75: Ada and Dan are full and hand .75 on, to Kiln and to Bob.
    """
    edges = [(QUAY, ADA), (ADA, KILN), (QUAY, DAN), (DAN, BOB)]
    corpus = build(edges)
    held = hold(corpus, ask(QUAY))
    assert held.share[0, :6] == pytest.approx([0.75, 1, 1, 0.75, 0, 1])
    assert held.filled.tolist()[:6] == [0, 1, 1, 0, 0, 1]
    assert all(diffusion.certificate.optimal for diffusion in held.diffusions)


def test_a_missing_relation_costs_the_first_place_only_where_another_has_all():
    without = [edge for edge in EDGES if edge != (QUAY, ADA)]
    names = answers(build(without), ask(KILN, QUAY))[1]
    assert names.index("Bob") < names.index("Ada")
    by_dan = answers(build([*without, (ADA, DAN)]), ask(KILN, QUAY))[1]
    assert by_dan.index("Ada") < by_dan.index("Cyd")


def test_what_a_refused_name_is_related_to_and_the_names_themselves_are_no_answers():
    names = answers(build(EDGES), ask(KILN, refused=[QUAY]))[1]
    assert set(names).isdisjoint({"Ada", "Dan", "Kiln", "Quay"})
    assert {"Bob", "Cyd"} <= set(names)


def test_flow_is_netted_over_the_conditions_and_passages_follow_the_answers():
    corpus = build(EDGES, [[CYD], [ADA, KILN], [EVE]])
    found, _ = answers(corpus, ask(KILN, QUAY))
    assert found.ranking[0].id == "p1"
    flows = {(edge.source, edge.target): edge.flow for edge in found.edges}
    ids, net = corpus.graph.ids, 0.0
    for diffusion in hold(corpus, ask(KILN, QUAY)).diffusions:
        starts, ends = diffusion.rows[diffusion.u], diffusion.rows[diffusion.v]
        for u, v, flow in zip(starts, ends, diffusion.flow, strict=True):
            net += float(flow) * (int((u, v) == (KILN, ADA)) - int((u, v) == (ADA, KILN)))
    assert net > 0
    assert flows[ids[KILN], ids[ADA]] == pytest.approx(net)


def test_the_picture_has_a_bar_a_condition_for_each_answer_and_none_for_a_name():
    found, _ = answers(build(EDGES), ask(KILN, QUAY))
    drawn = panel_data([found], Drawing(), positions=freeze([found], ())[0])
    shares = {drawn["nodes"][node["n"]]["name"]: node.get("shares") for node in drawn["panels"][0]["nodes"]}
    assert shares["Ada"] == [1.0, 1.0]
    assert shares["Quay"] is None
    assert shares["Cyd"][0] == 1.0
    assert shares["Cyd"][1] < 1.0


def test_no_condition_gives_no_answer_and_the_number_of_answers_is_kept():
    found, names = answers(build(EDGES), ask())
    assert (names, found.nodes, found.edges, found.ranking) == ([], (), (), ())
    assert len(answers(build(EDGES), ask(KILN, QUAY), answers=2)[1]) == 2
