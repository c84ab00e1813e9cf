"""The family from PageRank to flow diffusion: its ends and its middle against other algorithms."""

from dataclasses import replace

import numpy as np
import pytest
from oracles import dense_weights

from qafd.errors import ParameterError
from qafd.evaluate.gold import Question
from qafd.knowledge import read_corpus
from qafd.lab.family import RESTART, SHARES, first_passages, measure_family, solve_member
from qafd.retrieve.qafd import FlowDiffusion

QUESTION = "Introduce Steve Jobs's products in Apple."


@pytest.fixture(scope="module")
def problem(apple):
    return FlowDiffusion(mass=20.0).problem(read_corpus(apple), apple.plan(QUESTION))


def weights_of(problem):
    weight = np.zeros((len(problem.layer),) * 2)
    for (u, v), value in dense_weights(problem.layer, problem.gates).items():
        weight[u, v] = weight[v, u] = value
    return weight


def source_of(problem):
    source = np.zeros(len(problem.layer))
    np.add.at(source, problem.seeds.rows, problem.mass)
    return source


def test_at_one_end_it_is_the_lazy_walk_that_returns_to_the_seeds(problem):
    member = solve_member(problem, 0.0)
    weight = weights_of(problem)
    degree = weight.sum(axis=1)
    source = source_of(problem) / problem.mass.sum()
    probability = source.copy()
    for _ in range(2000):
        step = weight @ (probability / np.where(degree > 0, degree, 1))
        probability = RESTART * source + (1 - RESTART) * (probability + step) / 2
    delta = 2 * RESTART / (1 - RESTART)
    assert delta * degree * member.x / problem.mass.sum() == pytest.approx(probability, abs=1e-5)
    assert member.damped == pytest.approx(1, abs=1e-4)
    assert member.certificate.optimal


def test_at_the_other_end_it_is_the_diffusion(problem):
    member, diffusion = solve_member(problem, 1.0), problem.solve()
    x = np.zeros(len(problem.layer))
    x[diffusion.rows] = diffusion.x
    assert member.x == pytest.approx(x, abs=1e-6 * x.max())
    assert set(np.flatnonzero(member.x)) == set(diffusion.support)
    assert member.damped == 0
    assert member.certificate.optimal


def test_between_them_it_is_l1_pagerank_by_proximal_steps(problem):
    """Capacities of degrees: gradient steps and soft thresholds, in the variables of that paper."""
    by_degree = replace(problem, method=replace(problem.method, capacity="degree"))
    share = 0.5
    weight = weights_of(problem)
    degree = weight.sum(axis=1)
    delta = (1 - share) * 2 * RESTART / (1 - RESTART)
    room = share * problem.layer.capacity("degree")
    x, step = np.zeros(len(degree)), 1 / ((2 + delta) * np.where(degree > 0, degree, 1))
    for _ in range(4000):
        gradient = (1 + delta) * degree * x - weight @ x - source_of(problem)
        x = np.maximum(x - step * (gradient + room), 0)
    member = solve_member(by_degree, share)
    assert member.x == pytest.approx(x, abs=1e-9 * x.max())
    assert 0 < member.damped < 1
    assert member.certificate.optimal


def test_every_member_is_certified_and_reaches_no_farther_than_the_one_before(problem):
    members = [solve_member(problem, share) for share in SHARES]
    assert all(member.certificate.optimal for member in members)
    assert [member.damped for member in members] == sorted((m.damped for m in members), reverse=True)
    assert (members[0].x > 0).sum() > (members[-1].x > 0).sum()
    best = [first_passages(problem, member) for member in members]
    assert all(len(rows) <= 5 for rows in best)
    assert {problem.layer.kinds[row] for row in np.concatenate(best)} == {"passage"}
    assert [float(x) for x in members[2].x[best[2]]] == sorted(members[2].x[best[2]], reverse=True)


def test_recall_along_the_family_is_counted_by_hand(apple):
    corpus, method = read_corpus(apple), FlowDiffusion(mass=20.0)
    asked = [Question("1", QUESTION, ("steve-jobs.md", "amazon-river.md")),
             Question("2", "What is cider?", ("cider.md",))]
    seen = []
    found = measure_family(apple, asked, method, (0.0, 1.0), seen.append)
    for share, recall in zip((0.0, 1.0), found, strict=True):
        hits = []
        for question in asked:
            problem = method.problem(corpus, apple.plan(question.text))
            rows = first_passages(problem, solve_member(problem, share))
            titles = {corpus.graph.names[row] for row in rows}
            names = {"steve-jobs.md": "Steve Jobs", "amazon-river.md": "Amazon River", "cider.md": "Cider"}
            hits.append(np.mean([names[gold] in titles for gold in question.gold]))
        assert recall == pytest.approx(np.mean(hits))
    assert seen == [0.5, 1.0]


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_what_is_no_member_is_refused(share, problem):
    with pytest.raises(ParameterError):
        solve_member(problem, share)
