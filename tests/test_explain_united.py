"""Explanations of questions with further ones, against the diffusions of each solved anew."""

import pytest

from qafd.errors import ParameterError
from qafd.explain.whynot import why_not
from qafd.flow.solver import solve

BOTH = "Where was the singer of Paper Lanterns born?", "Who founded the prize that Salt Road won?"
ALIKE = "When was Paper Lanterns released?", "When was Salt Road released?"


@pytest.fixture(scope="module", params=[BOTH, ALIKE], ids=["two things", "one of two"])
def told(songs, request):
    return songs.explain(songs.plan(request.param[0], further=request.param[1:]), mass=12.0)


def test_a_node_is_explained_by_the_diffusion_that_left_most_mass_there(told):
    assert len(told.runs) == 2
    poured = sum(n.source for n in told.retrieval.nodes)
    for node in told.retrieval.nodes:
        why = told.why(node.id)
        masses = [sum(n.mass for n in part.nodes if n.id == node.id) for part in told.retrieval.parts]
        part = told.retrieval.parts[why.part - 1]
        assert masses[why.part - 1] == max(masses)
        assert why.question == part.query
        assert why.balance.node.mass == max(masses)
        inflow = sum(e.flow for e in part.edges if e.target == node.id)
        assert why.balance.came == pytest.approx(inflow, abs=1e-12)
        assert abs(why.balance.error) <= 1e-9 * poured
        assert sum(p.mass for p in why.ways.paths) + why.ways.rest == pytest.approx(max(masses))
        assert [s.flow for s in why.inflows] == [flow for _, flow in why.balance.inflows[:3]]
        if node.mass > 0:
            assert sum(s.share for s in why.seeds) == pytest.approx(1.0)


def test_paths_are_all_the_mass_of_all_parts(told):
    found = told.paths(4000)
    held = sum(n.mass for part in told.retrieval.parts for n in part.nodes)
    assert found.total == pytest.approx(held)
    assert sum(p.mass for p in found.paths) + found.rest == pytest.approx(held)
    assert [p.mass for p in found.paths] == sorted((p.mass for p in found.paths), reverse=True)
    for path in found.paths[:20]:  # each runs where its own part has flow
        flows = {(e.source, e.target) for e in told.retrieval.parts[path.part - 1].edges
                 if e.flow > 0}
        assert set(zip(path.nodes, path.nodes[1:], strict=False)) <= flows


def test_what_if_solves_every_part_anew(told):
    seed = told.retrieval.parts[1].seeds[0]
    found = told.without(seeds=[seed])
    assert found.before is told.retrieval
    full, mass = set(), 0.0
    for part in told.runs:
        rows = part.problem.seeds.rows
        keep = rows != told.graph.row[seed]
        diffusion = solve(part.problem.layer, part.problem.gates, rows[keep],
                          part.problem.mass[keep])
        full |= {told.graph.ids[row] for row in diffusion.support.tolist()}
        mass += float(diffusion.mass.sum())
    assert {n.id for n in found.after.nodes if n.state == "saturated"} == full
    assert sum(n.mass for n in found.after.nodes) == pytest.approx(mass)


def test_why_not_names_the_mass_of_the_control_at_which_a_part_fills_the_node(songs, told):
    wet = next(n.id for n in told.retrieval.nodes
               if n.state == "wet" and told.why_not(n.id).entry.mass is not None)
    not_in = told.why_not(wet)
    assert not_in.question == told.retrieval.parts[not_in.part - 1].query
    found = [why_not(run.problem, run.diffusion, told.graph.row[wet]).entry.mass for run in told.runs]
    enters = min(mass for mass in found if mass is not None)
    for factor, inside in ((1 + 1e-6, True), (1 - 1e-6, False)):
        again = songs.retrieve(told.plan, mass=enters * factor)
        assert ({n.id for n in again.nodes if n.state == "saturated"} >= {wet}) == inside


def test_a_plan_of_another_question_is_refused(songs):
    other = songs.plan("Who is the singer of Paper Lanterns?")
    with pytest.raises(ParameterError, match="by another plan"):
        songs.explain(songs.retrieve("Who founded the prize that Salt Road won?"), plan=other)
