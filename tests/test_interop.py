"""`import qafd`: what it offers to networkx, and that neither it nor a command loads more than needed."""

import os
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest
from conftest import free_port, wait_until_healthy

import qafd
from qafd.errors import ParameterError


def test_flow_in_minus_flow_out_is_the_mass_held_at_every_node():
    G = nx.les_miserables_graph()
    result = qafd.diffuse(G, seeds={"Valjean": 1.0, "Javert": 0.5}, mass=120, weight="value")
    for node, mass in result.mass.items():
        source = {"Valjean": 80.0, "Javert": 40.0}.get(node, 0.0)
        inflow = sum(result.flow.get((other, node), 0.0) for other in G[node])
        assert source + inflow == pytest.approx(mass, abs=1e-9)
        assert mass <= G.degree(node) * (1 + 1e-9)
    assert result.certificate.optimal
    assert result.support == [node for node, x in result.x.items() if x > 0]


def test_alignment_makes_edges_gates():
    G = nx.Graph([("hub", "near"), ("hub", "far")])
    result = qafd.diffuse(G, {"hub": 1}, 2.5, alignment={"far": 0.01})
    assert result.mass["near"] > result.mass["far"]


@pytest.mark.parametrize(("seeds", "mass", "message"), [
    ({}, 1, "at least one seed"), ({"z": 1}, 1, "'z' is not a node"), ({"a": -1}, 1, "shares"),
    ({"a": 1}, -1, "mass"), ({"a": 1}, float("nan"), "mass"), ({"a": "x"}, 1, "be numbers"),
    ({"a": 1}, 10**400, "below 1e308"), ({"a": 1e308, "b": 1e308}, 1, "to 1e300"),
    ({"a": 1}, None, "mass and rtol must be numbers"), ({"a": 1}, [1], "mass and rtol must be numbers"),
    ("a", 1, "into a list"), (7, 1, "into a list"),
    ([["a"]], 1, "cannot be a node")])
def test_impossible_arguments_are_refused(seeds, mass, message):
    with pytest.raises(ParameterError, match=message):
        qafd.diffuse(nx.Graph([("a", "b")]), seeds, mass)


def test_a_list_of_seeds_shares_the_mass_equally():
    G = nx.path_graph(9)
    assert qafd.diffuse(G, [0, 8], 8).mass == qafd.diffuse(G, {0: 2, 8: 2}, 8).mass


@pytest.mark.parametrize(("weight", "options", "message"), [
    ("heavy", {}, "'a' - 'b' has weight heavy"), (10**400, {}, "'a' - 'b' has weight 1000"),
    (1, {"weights": 5}, "weights is 5"), (1, {"weight": max}, "not a function"),
    (1, {"alignment": [1, 2]}, "mapping of nodes to numbers, not list"),
    (1, {"rtol": None}, "rtol must be numbers"), (1, {"capacity": {"a": 1}}, "is not a sink capacity")])
def test_weights_and_options_that_are_no_numbers_are_refused(weight, options, message):
    with pytest.raises(ParameterError, match=message):
        qafd.diffuse(nx.Graph([("a", "b", {"weight": weight})]), ["a"], 1, **options)
    with pytest.raises(ParameterError, match="not over dict"):
        qafd.diffuse({"a": ["b"]}, ["a"], 1)


HEAVY = ("numpy", "scipy", "numba", "spacy", "onnxruntime", "streamlit")


@pytest.mark.parametrize("statement", ["import qafd", *(
    f"from qafd.cli import main; main([{word!r}])" for word in ("--help", "--version", "nothing"))])
def test_neither_the_package_nor_its_list_of_commands_loads_a_heavy_one(statement):
    code = f"import sys\n{statement}\nprint('loaded', *sorted(set({HEAVY!r}) & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded"


def test_the_threads_of_the_app_share_the_memory_that_they_freed(tmp_path):
    port = free_port()
    app = subprocess.Popen([sys.executable, "-m", "qafd", "app", "--port", str(port)],
                           env={**os.environ, "QAFD_HOME": str(tmp_path)}, stderr=subprocess.DEVNULL)
    try:
        wait_until_healthy(f"http://127.0.0.1:{port}", app)
        assert b"\0MALLOC_ARENA_MAX=2\0" in Path(f"/proc/{app.pid}/environ").read_bytes()
    finally:
        app.terminate()
        app.wait(10)
