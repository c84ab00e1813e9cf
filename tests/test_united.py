"""Several diffusions as one: parts add up, opposite flows cancel, and one from each seed as printed."""

import numpy as np
import pytest

from qafd.flow.solver import solve
from qafd.knowledge import read_corpus
from qafd.retrieve.base import RetrievedEdge
from qafd.retrieve.qafd import PRESETS, FlowDiffusion
from qafd.retrieve.rank import Ranking, rank
from qafd.retrieve.united import net_edges, unite
from qafd.wording.reasons import word_notice

QUESTION = "Introduce Steve Jobs's products in Apple."


def edge(source, target, flow, weight):
    return RetrievedEdge(source, target, "relation", flow, weight)


def test_opposite_flows_cancel_and_the_largest_weight_stays():
    found = net_edges([[edge("a", "b", 0.5, 1.0), edge("b", "c", 0.2, 2.0)],
                       [edge("b", "a", 0.8, 3.0), edge("b", "c", 0.1, 0.5)], [edge("d", "c", 0.0, 1.0)]])
    assert [(e.source, e.target, e.weight) for e in found] == [
        ("b", "a", 3.0), ("b", "c", 2.0), ("c", "d", 1.0)]
    assert [e.flow for e in found] == pytest.approx([0.3, 0.3, 0.0])


def test_mass_is_neither_made_nor_lost_and_numbers_are_sums(apple):
    parts = apple.retrieve(QUESTION, diffusions="each").parts
    whole = unite(parts)
    assert len(parts) > 3
    balance = {node.id: node.source for node in whole.nodes}
    for flowing in whole.edges:
        balance[flowing.source] -= flowing.flow
        balance[flowing.target] += flowing.flow
    for node in whole.nodes:
        own = [one for part in parts for one in part.nodes if one.id == node.id]
        assert balance[node.id] == pytest.approx(node.mass, abs=1e-9)
        assert node.mass == pytest.approx(sum(one.mass for one in own))
        assert node.capacity == sum(one.capacity for one in own)
        assert node.brought_by == tuple(
            number for number, part in enumerate(parts)
            if any(one.id == node.id and one.importance > 0 for one in part.nodes))
    assert whole.certificate["support"] == len(whole.retrieved)
    assert whole.certificate["rounds"] == sum((part.certificate or {})["rounds"] for part in parts)


BORN = "Where was the singer of Paper Lanterns born?"


@pytest.fixture(scope="module")
def each(songs):
    return songs.retrieve(BORN, diffusions="each", mass=20)


def test_the_union_is_the_sum_of_one_solve_for_each_seed(songs, each):
    plan = songs.plan(BORN)
    corpus = read_corpus(songs)
    joint = FlowDiffusion(mass=20).problem(corpus, plan)
    x = np.zeros(len(songs.graph))
    for at in range(len(joint.mass)):
        alone = solve(joint.layer, joint.gates, joint.seeds.rows[at:at + 1], joint.mass[at:at + 1],
                      joint.method.capacity)
        x[alone.rows] += alone.x
    found = {node.id: node.importance for node in each.nodes}
    assert len(each.parts) == len(joint.mass) > 1
    assert found == pytest.approx({id: x[songs.graph.row[id]] for id in found}, rel=1e-6, abs=1e-12)
    assert {id for id, value in found.items() if value > 0} == {
        songs.graph.ids[row] for row in np.flatnonzero(x > 0)}
    assert joint.seeds.certainty > 0
    order = rank(corpus.passages, joint.found, x, Ranking.for_certainty(joint.seeds.certainty)).rows
    assert tuple(passage.id for passage in each.ranking) == songs.graph.ids_of(
        order[:len(each.ranking)].tolist())


def test_the_seeds_share_the_mass_of_the_question(songs, each):
    together = songs.retrieve(BORN, mass=20)
    assert sum(node.source for node in each.nodes) == pytest.approx(
        sum(node.source for node in together.nodes))
    assert sorted(each.seeds) == sorted(together.seeds)


def test_more_mass_than_fits_is_told_once_for_all_seeds(songs):
    notices = songs.retrieve(BORN, PRESETS["paper"].method.fit_to(songs.graph)).notices
    assert notices
    assert len({notice.kind for notice in notices}) == len(notices)
    assert all(word_notice(notice) for notice in notices)
