"""Tests of assets/mass.js: at any mass the browser draws what the solver would find."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import playwright
import pytest

from qafd.knowledge import KnowledgeGraph, read_corpus
from qafd.resources import assets
from qafd.retrieve.qafd import FlowDiffusion
from qafd.view.contraction import drawn_contracted
from qafd.view.drawing import Drawing, scale_of
from qafd.view.panel import mass_data

NODE = Path(playwright.__file__).parent / "driver" / "node"
RUN = """
import { readFileSync } from "node:fs";
const { walk, solution, lines, panel } = await import(process.argv[2]);
const { problem, masses } = JSON.parse(readFileSync(0, "utf8"));
const pieces = walk(problem);
console.log(JSON.stringify(masses.map((at) => {
  const found = solution(problem, pieces, at), { drawn } = lines(problem, found, true);
  const [x, mass, flow] = [found.x, found.mass, found.flow].map((values) => [...values]);
  return { x, mass, flow, drawn, panel: panel(problem, pieces, at) };
})));
"""
QUESTIONS = {
    "apple-amazon": "Which company did Steve Jobs found?",
    "songbook": "Who wrote the song that won the prize?",
    "elements": "Which elements did Marie Curie discover?",
}
METHODS = {
    "budget": FlowDiffusion(mass=60.0),
    "tokens": FlowDiffusion(mass=1500.0, rule="total", capacity="tokens"),
    "paper": FlowDiffusion(mass=20.0, seeds=8, variant="hybrid", rule="source-degree",
                           capacity="degree", seeding="keywords", layer="entities"),
    "plain": FlowDiffusion(mass=40.0, variant="plain"),
}


def in_browser(tmp_path, data, masses):
    """What the script of the page finds for some masses, run by the browser's engine."""
    script, module = tmp_path / "run.mjs", tmp_path / "mass.mjs"
    script.write_text(RUN)
    module.write_text((assets() / "mass.js").read_text("utf-8"))
    done = subprocess.run([NODE, script, module], input=json.dumps({"problem": data, "masses": masses}),
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.fixture(scope="module", params=QUESTIONS)
def asked(request, tmp_path_factory):
    knowledge = KnowledgeGraph.sample(request.param, tmp_path_factory.mktemp(request.param))
    return knowledge, knowledge.plan(QUESTIONS[request.param], knowledge.graph)


@pytest.mark.parametrize("name", METHODS)
def test_the_browser_agrees_with_the_solver_at_100_masses(asked, name, tmp_path):
    """Mass and flow to a millionth of the capacity, states exactly, and what passages carry."""
    knowledge, plan = asked
    method = METHODS[name].fit_to(knowledge.graph)
    corpus = read_corpus(knowledge, knowledge.graph, method.needs)
    problem, graph = method.problem(corpus, plan), knowledge.graph
    widest = method.retrieve(corpus, plan)
    drawing, everywhere = Drawing(contract=True), dict.fromkeys(graph.ids, (0.5, 0.5))
    data = mass_data(problem, drawing, scale_of(widest, drawing), everywhere)
    rows = [graph.row[place["id"]] for place in data["places"]]
    masses = np.random.default_rng(7).uniform(0, method.mass, 100).tolist()
    for place, (mass, found) in enumerate(zip(masses, in_browser(tmp_path, data, masses), strict=True)):
        diffusion = problem.at(mass, rtol=1e-12)
        expected = dict(zip(diffusion.rows.tolist(), zip(
            diffusion.x.tolist(), diffusion.mass.tolist(), strict=True), strict=True))
        sink = np.array(data["sink"])
        held = np.array([expected.get(row, (0.0, 0.0))[1] for row in rows])
        assert np.abs(np.array(found["mass"]) - held).max() <= 1e-6 * sink.max()
        assert [x > 0 for x in found["x"]] == [expected.get(row, (0.0,))[0] > 0 for row in rows]
        flow = {}
        for u, v, amount in zip(diffusion.rows[diffusion.u].tolist(), diffusion.rows[diffusion.v].tolist(),
                                diffusion.flow.tolist(), strict=True):
            flow[u, v], flow[v, u] = amount, -amount
        for u, v, amount in zip(data["u"], data["v"], found["flow"], strict=True):
            assert amount == pytest.approx(flow.get((rows[u], rows[v]), 0.0), abs=1e-6 * sink.max())
        if place % 10 == 0:
            assert_drawn_alike(replace(method, mass=mass).retrieve(corpus, plan), found, data, sink.max())


def assert_drawn_alike(retrieval, found, data, largest):
    """The contracted picture: its edges with their flow, and the nodes with their states."""
    drawn = drawn_contracted(retrieval)
    ids = [place["id"] for place in data["places"]]
    here = {(ids[u], ids[v]): flow for u, v, flow in found["drawn"] if flow > 2e-6 * largest}
    there = {(edge.source, edge.target): edge.flow for edge in drawn.edges if edge.flow > 0}
    assert {pair for pair, flow in there.items() if flow > 3e-6 * largest} <= here.keys()
    for pair, flow in here.items():
        assert flow == pytest.approx(there.get(pair, 0.0), abs=1e-6 * largest)
    states = {node.id: node.state for node in drawn.nodes if node.mass > 0 or node.seed}
    shown = {node["id"]: node["state"] for node in found["panel"]["nodes"]}
    assert shown.items() <= states.items()
    assert len(shown) == min(len(states), Drawing().limit)
    names = sum(node.state == "saturated" and (node.kind != "passage" or not data["contract"])
                for node in drawn.nodes)
    assert found["panel"]["footer"].split()[0] == str(names)


def test_a_path_that_is_too_long_is_left_to_the_server(asked):
    knowledge, plan = asked
    method = FlowDiffusion().fit_to(knowledge.graph)
    problem = method.problem(read_corpus(knowledge, knowledge.graph, method.needs), plan)
    widest = problem.retrieval(problem.solve())
    full, scale = len(widest.retrieved), scale_of(widest, Drawing())
    assert mass_data(problem, Drawing(), scale, {}, longest=full - 1) is None
    assert mass_data(problem, Drawing(), scale, {}, longest=full)["size"] == full
