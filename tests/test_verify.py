"""Stored retrievals: the honest pass, and every number that is changed is noticed."""

import copy
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qafd.flow.solver import solve
from qafd.flow.weights import PLAIN
from qafd.graph import Graph
from qafd.reasons import given_reason
from qafd.retrieve.base import Retrieval, RetrievedEdge, RetrievedNode, RetrievedPassage, Work
from qafd.runs.verify import FindingKind, seal, verify
from qafd.wording.runs import say_verification


def stored(graph, seeds, mass, capacity="unit"):
    """A diffusion as the JSON that a retrieval of it prints."""
    result = solve(graph, PLAIN, np.array(seeds), np.full(len(seeds), mass / len(seeds)),
                   capacity)
    ids = [f"n{row}" for row in result.rows]
    nodes = [RetrievedNode(
        ids[i], f"node {row}", "entity", result.x[i].item(), result.mass[i].item(),
        result.state[i], given_reason("because"), result.capacity[i].item(), result.source[i].item(),
        len(graph.expand(np.array([row])).neighbors), row in seeds, 0.5)
        for i, row in enumerate(result.rows.tolist())]
    edges = [RetrievedEdge(ids[u], ids[v], "relation", f, w) for u, v, f, w in zip(
        result.u, result.v, result.flow.tolist(), result.weight.tolist(), strict=True)]
    passages = [RetrievedPassage("p1", "c1", "a.txt", "A", "some text", 0.9, 10, 19,
                                 parts={"meaning": 0.7, "words": 0.2}),
                RetrievedPassage("p2", "c2", "a.txt", "A", "more", 0.5, 20, 24, page=2)]
    retrieval = Retrieval(
        "question", "qafd", {"alpha": 4.0}, tuple(f"n{row}" for row in seeds),
        tuple(sorted(nodes, key=lambda n: (-n.importance, n.id))), tuple(edges), (),
        tuple(passages), result.certificate.to_dict(), Work(0.4), (), 3)
    return json.loads(retrieval.to_json())


def grid(width, seed=0):
    rng = np.random.default_rng(seed)
    cell = np.arange(width * width).reshape(width, width)
    u = np.concatenate([cell[:, :-1].ravel(), cell[:-1].ravel()])
    v = np.concatenate([cell[:, 1:].ravel(), cell[1:].ravel()])
    return Graph.build([str(i) for i in range(width * width)], source_rows=u, target_rows=v,
                       similarity=rng.uniform(0.01, 1, len(u)))


@pytest.fixture(scope="module")
def honest():
    return stored(grid(8), [9, 27], 12.0)


def leaves(value, path=()):
    """Paths of all numbers in a JSON value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from leaves(inner, (*path, i))
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path


def changed(obj, path, change):
    obj = copy.deepcopy(obj)
    place = obj
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = change(place[path[-1]])
    return obj


def test_an_honest_retrieval_passes_and_says_what_is_not_proved(honest):
    result = verify(honest)
    assert result.ok, result.findings
    assert [finding.kind for finding in result.findings] == [
        FindingKind.FLOWS_RIGHT, FindingKind.OPTIMAL, FindingKind.NO_DIGEST,
        FindingKind.RELEVANCE_OPEN]
    assert result.findings[0].values == {
        "edges": len(honest["edges"]), "nodes": len(honest["nodes"])}


@pytest.mark.parametrize("capacity", ["unit", "degree"])
@pytest.mark.parametrize("seed", range(5))
def test_retrievals_of_other_graphs_pass_after_a_round_trip(seed, capacity):
    obj = seal(stored(grid(12, seed), [5, 77, 100], 40.0, capacity))
    assert verify(json.loads(json.dumps(obj, sort_keys=True, indent=1))).ok


K = FindingKind
BY_NUMBERS = [
    ("nodes", 0, "importance"), ("nodes", 0, "mass"), ("nodes", -1, "mass"), ("nodes", 0, "capacity"),
    ("nodes", 0, "source"), ("nodes", 0, "degree"), ("edges", 0, "weight"), ("edges", -1, "flow"),
    *[("certificate", key) for key in (
        "residual", "overfull", "unfilled", "negative", "gap", "relative_gap", "objective",
        "volume", "source", "rounding", "support", "touched", "edges", "rtol")],
    ("certificate", "balance", 0),
]


@pytest.mark.parametrize("path", BY_NUMBERS, ids=lambda path: ".".join(map(str, path)))
def test_a_changed_number_is_noticed_without_a_digest(honest, path):
    result = verify(changed(honest, path, lambda value: value * 1.001 + 1))
    assert not result.ok
    assert {finding.kind for finding in result.findings} <= {K.DIFFERS, K.NOT_OPTIMAL, K.MALFORMED}
    if path[0] == "certificate":
        words = " ".join(say_verification(result))
        assert str(path[-1]) in words or str(path[-2]) in words


@pytest.mark.parametrize("path", [
    ("nodes", 0, "importance"), ("nodes", 0, "mass"), ("edges", 0, "weight"), ("edges", 0, "flow"),
    ("certificate", "objective"), ("certificate", "volume")], ids=lambda p: p[-1])
def test_a_change_in_the_seventh_digit_is_noticed_without_a_digest(honest, path):
    assert not verify(changed(honest, path, lambda value: value * (1 + 1e-7))).ok


def test_every_changed_number_is_noticed_with_a_digest(honest):
    obj = seal(honest)
    paths = list(leaves(obj))
    assert {path[-1] for path in paths} >= {
        "alignment", "score", "milliseconds", "revision", "alpha", "page", "rounds", "importance"}
    accepted = [path for path in paths if verify(changed(obj, path, lambda v: v * 1.01 + 1e-9)).ok]
    assert accepted == []


def test_the_imprint_is_sealed_and_a_file_without_it_passes(honest):
    older = {key: value for key, value in honest.items() if key != "made_by"}
    assert len(older) < len(honest)
    for obj in (seal(honest), seal(older), older):
        assert verify(obj).ok, verify(obj).findings
    assert not verify(changed(seal(honest), ("made_by", "qafd"), lambda it: it + "1")).ok


def test_a_deeply_nested_object_is_refused(honest):
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert verify({**seal(honest), "params": deep}).findings[0].kind is K.MALFORMED


def without(key, index):
    def change(obj):
        del obj[key][index]
    return change


STRUCTURE = {
    "edge left out": (without("edges", 0), K.NOT_OPTIMAL),
    "node left out": (without("nodes", 0), K.MALFORMED),
    "edge twice": (lambda o: o["edges"].append(o["edges"][0]), K.NOT_OPTIMAL),
    "node twice": (lambda o: o["nodes"].append(o["nodes"][0]), K.MALFORMED),
    "state": (lambda o: o["nodes"][0].update(state="wet"), K.DIFFERS),
    "negative weight": (lambda o: o["edges"][0].update(weight=-1.0), K.MALFORMED),
    "claim": (lambda o: o["certificate"].update(optimal=False), K.DIFFERS),
    "flaw": (lambda o: o["certificate"].update(flaws=[{"kind": "off"}]), K.DIFFERS),
    "unknown end": (lambda o: o["edges"][0].update(source="nobody"), K.MALFORMED),
    "nan": (lambda o: o["nodes"][0].update(mass=math.nan), K.MALFORMED),
    "infinite": (lambda o: o["nodes"][0].update(importance=10**400), K.MALFORMED),
    "truth value": (lambda o: o["edges"][0].update(flow=True), K.MALFORMED),
    "no certificate": (lambda o: o.update(certificate=None), K.NO_CERTIFICATE),
    "no nodes": (lambda o: o.pop("nodes"), K.MALFORMED),
}


@pytest.mark.parametrize(("change", "why"), STRUCTURE.values(), ids=STRUCTURE)
def test_a_changed_structure_is_noticed(honest, change, why):
    obj = copy.deepcopy(honest)
    change(obj)
    result = verify(obj)
    assert not result.ok
    assert why in {finding.kind for finding in result.findings}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner,
                                                                max_size=3), max_leaves=10)


@given(json_values, st.sampled_from(["nodes", "edges", "passages", "seeds", "certificate", None]))
def test_any_json_value_is_judged_and_none_is_raised(value, key):
    obj = stored(grid(3), [4], 3.0)
    verdict = verify(value if key is None else {**obj, key: value})
    assert not verdict.ok or key in ("passages", "seeds") and isinstance(value, list)
    assert all(say_verification(verdict))
