"""Algorithm 2 as it is printed: one diffusion from each seed, and the union of what they retrieve."""

import numpy as np
import pytest

from qafd.flow.solver import solve
from qafd.knowledge import read_corpus
from qafd.retrieve.qafd import PRESETS, FlowDiffusion
from qafd.runs.verify import seal, verify
from qafd.wording.reasons import word_notice

BORN = "Where was the singer of Paper Lanterns born?"


@pytest.fixture(scope="module")
def each(songs):
    return songs.retrieve(BORN, diffusions="each", mass=20)


def test_the_union_is_the_sum_of_one_solve_for_each_seed(songs, each):
    plan = songs.plan(BORN)
    joint = FlowDiffusion(mass=20).problem(read_corpus(songs), plan)
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


def test_the_seeds_share_the_mass_of_the_question(songs, each):
    together = songs.retrieve(BORN, mass=20)
    assert sum(node.source for node in each.nodes) == pytest.approx(
        sum(node.source for node in together.nodes))
    assert sorted(each.seeds) == sorted(together.seeds)


def test_every_part_and_their_sum_can_be_verified(each):
    assert verify(seal(each.to_dict())).ok
    assert all(len(part.seeds) == 1 for part in each.parts)


def test_balances_and_paths_of_the_union_add_up(songs, each):
    told = songs.explain(each)
    assert len(told.runs) == len(each.parts)
    best = each.nodes[0]
    why = told.why(best.id)
    masses = [sum(node.mass for node in part.nodes if node.id == best.id) for part in each.parts]
    assert why.balance.node.mass == pytest.approx(max(masses)) == pytest.approx(masses[why.part - 1])
    assert sum(masses) == pytest.approx(best.mass)
    assert sum(seed.share for seed in why.seeds) == pytest.approx(1)
    paths = told.paths()
    assert sum(path.mass for path in paths.paths) + paths.rest == pytest.approx(paths.total)
    assert {path.nodes[0] for path in paths.paths} <= set(each.seeds)


def test_more_mass_than_fits_is_told_once_for_all_seeds(songs):
    notices = songs.retrieve(BORN, PRESETS["paper"].method.fit_to(songs.graph)).notices
    assert notices
    assert len({notice.kind for notice in notices}) == len(notices)
    assert all(word_notice(notice) for notice in notices)
