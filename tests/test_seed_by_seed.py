"""Algorithm 2 as it is printed: one diffusion from each seed, and the union of what they retrieve."""

import numpy as np
import pytest

from qafd.flow.solver import solve
from qafd.knowledge import read_corpus
from qafd.retrieve.qafd import PRESETS, FlowDiffusion
from qafd.retrieve.rank import Ranking, rank
from qafd.wording.reasons import word_notice

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
