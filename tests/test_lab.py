"""Tests of qafd.lab: each experiment against a direct solve, exact fractions or a hand count."""

from dataclasses import replace

import numpy as np
import pytest
from clicks import page, shown
from oracles import dense_weights, random_graph, rational_solution, states

from qafd.errors import ParameterError
from qafd.flow.guarantees import Model
from qafd.flow.reference import Pushing
from qafd.flow.weights import PLAIN
from qafd.knowledge import read_corpus
from qafd.lab.movie import film
from qafd.lab.planted import run_experiment
from qafd.lab.robustness import returns
from qafd.lab.sweep import Grid, reach, sweep
from qafd.retrieve.qafd import FlowDiffusion

QUESTION = "Introduce Steve Jobs's products in Apple."
METHOD = FlowDiffusion(mass=20.0)


@pytest.fixture(scope="module")
def corpus(apple):
    return read_corpus(apple)


@pytest.fixture(scope="module")
def plan(apple):
    return apple.plan(QUESTION)


def test_a_cell_of_a_sweep_is_a_retrieval_of_its_own(apple, corpus, plan):
    cells = sweep(corpus, plan, METHOD, Grid((5.0, 40.0), (0, 5), ("plain", "product")))
    assert len(cells) == 8
    graph = corpus.graph
    for cell in cells:
        alone = apple.retrieve(plan, replace(METHOD, mass=cell.mass, seeds=cell.seeds,
                                                 variant=cell.variant))
        full = [n for n in alone.nodes if n.importance > 0]
        assert cell.size == len(full)
        assert cell.tokens == sum(graph.tokens[graph.row[n.id]] for n in full)


def test_a_sweep_reports_its_progress_and_refuses_what_makes_no_sense(corpus, plan):
    shares = []
    sweep(corpus, plan, METHOD, Grid((1.0, 2.0), (5,), ("plain",)), progress=shares.append)
    assert shares == [0.5, 1.0]
    with pytest.raises(ParameterError, match="at least one mass"):
        sweep(corpus, plan, METHOD, Grid((), (5,), ("plain",)))


def test_a_timeline_ends_where_few_nodes_fill(corpus, plan, monkeypatch):
    problem = METHOD.problem(corpus, plan)
    assert reach(problem, 30.0) == 30.0
    monkeypatch.setattr("qafd.lab.sweep.QUICK", 10)
    most = reach(problem, 30.0)
    assert len(problem.at(most).support) <= 10 < len(problem.at(2 * most).support)


@pytest.mark.parametrize("seed", range(3))
def test_a_movie_conserves_mass_in_every_frame_and_ends_at_the_rational_solution(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 12, 14)
    rows, mass = np.array([0, 5]), np.array([3.5, 1.25])
    movie = film(graph, PLAIN, rows, mass, pushing=Pushing(epsilon=1e-9, most_pushes=20_000))
    source = [0.0] * 12
    source[0], source[5] = 3.5, 1.25
    x, held = rational_solution(dense_weights(graph, PLAIN), source, [1] * 12)
    place = {row: i for i, row in enumerate(movie.rows.tolist())}
    assert [t.order for t in movie.takes] == ["random", "fifo", "largest"]
    for take in movie.takes:
        assert take.converged
        frames = list(states(movie, take))
        assert len(frames) == len(take.pushed) + 1
        for frame in frames:
            assert frame.mass.sum() == pytest.approx(4.75, abs=1e-12)
        for earlier, later in zip(frames, frames[1:], strict=False):
            assert later.objective <= earlier.objective
            assert later.excess <= earlier.excess + 1e-12
        for row, i in place.items():
            assert frames[-1].x[i] == pytest.approx(float(x[row]), abs=1e-6)
            assert frames[-1].mass[i] == pytest.approx(float(held[row]), abs=1e-6)
            assert movie.x[i] == pytest.approx(float(x[row]), abs=1e-9)
        assert frames[-1].objective == pytest.approx(movie.objective, rel=1e-6)


def test_without_noise_every_retrieved_node_always_returns(corpus, plan):
    found = returns(corpus, plan, METHOD, 0.0, 3, np.random.default_rng(0))
    assert {(r.share, r.usual) for r in found} == {(1.0, True)}
    assert {corpus.graph.row[r.id] for r in found} == set(
        METHOD.problem(corpus, plan).solve().support.tolist())


def test_noise_reaches_the_vectors_that_choose_the_passages(corpus, plan):
    seen = []

    class Watched(FlowDiffusion):
        def problem(self, corpus, plan):
            seen.append(corpus)
            return super().problem(corpus, plan)

    returns(corpus, plan, Watched(mass=20.0), 0.5, 2, np.random.default_rng(0))
    for each in seen:
        near = each.passages.vectors @ plan.embedding
        assert np.allclose(near, each.graph.vectors[each.passages.rows] @ plan.embedding, atol=1e-6)
    usual = corpus.passages.vectors @ plan.embedding
    assert not np.allclose(seen[1].passages.vectors @ plan.embedding, usual, atol=1e-3)


SMALL = {"nodes": 300, "relevant": 30}


def test_covered_draws_never_leak_more_than_beta():
    found = run_experiment(Model(**SMALL), 8, 3, 0.1, source_inside=True)
    assert found.covered
    assert all(t.within_bound for t in found.trials if t.covered)
    assert found.needed == pytest.approx(np.sqrt(16 * np.log(300)))


def quiet(name, **query):
    """A page that shows no error."""
    app = page(name, **query)
    assert not app.error
    return app


@pytest.mark.parametrize("tab", ["Timeline", "Robustness"])
def test_an_experiment_says_its_chart_in_words_and_gives_its_data(tab, home):
    app = quiet("lab", experiment=tab)
    [chart] = app.get("plotly_chart")
    assert any(letter.isdigit() for letter in chart.proto.alt)
    assert [button.proto.label for button in app.get("download_button")
                               if button.proto.label == "Data as CSV"] == ["Data as CSV"]


def test_the_timeline_over_pushes_is_the_movie(home):
    app = quiet("lab", experiment="Timeline", over="Pushes")
    assert not app.get("plotly_chart")
    assert "after 500 pushes" in shown(app)


def test_a_link_has_the_settings_of_an_experiment(home):
    app = page("lab", experiment="Guarantees", planted_relevant="40", planted_draws="3",
               planted_source="false")
    assert app.slider(key="planted_relevant").value == 40
    assert not app.toggle(key="planted_source").value
    assert "of 3 draws" in shown(app)


def test_the_family_leads_from_pagerank_to_flow_and_is_measured(home):
    app = quiet("lab", experiment="Family", family="0.25")
    assert "at 0.25" in shown_html(app)
    assert "all proved optimal" in shown(app)
    next(button for button in app.button if button.label == "Measure the bundled questions").click().run()
    assert not app.exception
    assert "mean of 24 questions" in shown_html(app)


def shown_html(app):
    return " ".join(html.proto.body for html in app.get("html"))
