"""FlowRAG's flow and paths against numbers worked out by hand from its equations."""

from fractions import Fraction as F
from itertools import permutations

import numpy as np
import pytest
from oracles import toward

from qafd.graph import Graph
from qafd.reasons import ReasonKind
from qafd.records import QueryPlan
from qafd.retrieve.base import SATURATED, WET, Corpus
from qafd.retrieve.flow_path import FlowPaths, best_paths, spread
from qafd.retrieve.layers.sentences import Sentences
from qafd.retrieve.layers.summaries import Summaries
from qafd.retrieve.seeds import Passages

# Rows 0 to 2 are the entities a, b, c, rows 3 and 4 the passages p and r.
# p has a twice and b once, r has b once and c three times.
COUNTS = {(3, 0): 2, (3, 1): 1, (4, 1): 1, (4, 2): 3}
C = {(3, 0): F(2, 3), (3, 1): F(1, 3), (4, 1): F(1, 4), (4, 2): F(3, 4)}  # Eq. (2)
ONWARD = {(3, 0): F(1), (3, 1): F(4, 7), (4, 1): F(3, 7), (4, 2): F(1)}  # Eq. (6)
DECAY = F(4, 5)


@pytest.fixture
def corpus():
    """Sentence 0 of p has a and b, sentence 1 of r has c; the summary of r names b."""
    vectors = toward(1, 1, 1, 1, 1)
    graph = Graph.build("abcpr", kinds=["entity"] * 3 + ["passage"] * 2,
                        source_rows=[0, 1, 1, 2], target_rows=[3, 3, 4, 4],
                        edge_kinds="mention", vectors=vectors, name_vectors=vectors)
    sentences = Sentences(
        np.array([3, 4]), np.array([0, 0]), ("a b.", "c."), toward(0.5, 0.25),
        np.array([[0, 0], [0, 1], [1, 2]]),
        np.array([(*ends, count) for ends, count in COUNTS.items()]))
    summaries = Summaries(np.array([3, 4]), ("P", "R b"), toward(-0.5, 0.75), np.array([[1, 1]]))
    return Corpus(graph, Passages.build(graph, lambda ids: [""] * len(ids)),
                  {"sentences": sentences, "summaries": summaries})


def run(corpus, **knobs):
    nothing = np.zeros((0, 2), np.float32)
    return FlowPaths(**knobs).retrieve(  # type: ignore[arg-type]
        corpus, QueryPlan("q", (), np.array([1, 0], np.float32), nothing))


def energies(retrieval):
    return {n.id: n.importance for n in retrieval.nodes if n.kind in ("entity", "passage")}


def test_an_entity_is_activated_by_the_larger_of_sentence_and_summary(corpus):
    # b stands in a sentence of cosine 1/2 and in a summary of cosine 3/4, Eq. (3).
    flow = {(e.source, e.target): e.flow for e in run(corpus, hops=1, prune=0).edges
            if e.target in "abc"}
    assert sorted(flow.values()) == pytest.approx([0, 0.25, 0.5, 0.75])


def test_two_more_hops_go_back_to_the_entities_and_on(corpus):
    start = {0: F(1, 2), 1: F(3, 4), 2: F(1, 4)}
    first = {3: F(26, 35) + F(1, 1250), 4: F(37, 35)}
    second = {e: DECAY * sum(first[p] * C[p, e] for p in (3, 4) if (p, e) in C) for e in range(3)}
    third = {p: DECAY * sum(second[e] * ONWARD[p, e] for e in range(3) if (p, e) in C)
             for p in (3, 4)}
    expected = {**{"abc"[e]: start[e] + second[e] for e in range(3)},
                **{"pr"[p - 3]: first[p] + third[p] for p in (3, 4)}}
    retrieval = run(corpus, hops=3, prune=0)
    assert energies(retrieval) == pytest.approx({name: float(value) for name, value in expected.items()})
    flows = {edge.source + edge.target: edge.flow for edge in retrieval.edges}
    for (p, e), share in C.items():
        onward = float(DECAY * ((start[e] + second[e]) * ONWARD[p, e] - first[p] * share))
        ends = "abc"[e] + "pr"[p - 3]
        assert flows[ends if onward >= 0 else ends[::-1]] == pytest.approx(abs(onward))
    bindings = [edge.flow for edge in retrieval.edges if edge.kind == "binding"]
    assert sorted(bindings) == pytest.approx([8e-4, 0.6])


def test_energy_below_the_threshold_of_its_hop_is_cut_off_and_goes_no_further(corpus):
    # Without the binding p gets 26/35 and r 16/35 + ...; above that share of p, r is cut off.
    sentences = corpus.layers["sentences"]
    start = np.array([0.5, 0.75, 0.25, 0, 0])
    r = DECAY * (F(3, 4) * F(3, 7) + F(1, 4))
    share = float(r / F(26, 35))
    for prune, kept in ((share - 0.01, True), (share + 0.01, False)):
        flow = spread(sentences, start, np.zeros(5), hops=2, decay=0.8, prune=prune)
        assert (flow.energy[4] > 0) == kept
        assert (4 in flow.hops[0].target) == kept
        assert (4 in flow.hops[1].source) == kept


def test_the_best_paths_are_those_of_all_paths(corpus):
    flow = spread(corpus.layers["sentences"], np.array([0.5, 0.75, 0.25, 0, 0]), np.zeros(5),
                  hops=3, decay=0.8, prune=0.0)
    every = []
    for nodes in (*permutations(range(5), 2), *permutations(range(5), 4)):
        steps = [(v, u) if at % 2 == 0 else (u, v)
                 for at, (u, v) in enumerate(zip(nodes, nodes[1:], strict=False))]
        if all(step in C for step in steps):
            every.append((sum(flow.energy[v] for v in nodes) / len(nodes), nodes))
    assert len(every) == 6
    for count in (1, 3, 6, 9):
        best = best_paths(corpus.graph, flow, count)
        known = sorted(every, key=lambda path: (len(path[1]) > 2, path), reverse=True)[:count]
        assert [nodes for _, nodes in best] == [nodes for _, nodes in known]
        assert [score for score, _ in best] == pytest.approx([score for score, _ in known])


def test_path_nodes_and_activated_entities_are_retrieved_the_rest_is_touched(corpus):
    retrieval = run(corpus, breadth=1, paths=1, prune=0, hops=2)
    states = {n.id: n.state for n in retrieval.nodes if n.kind in ("entity", "passage")}
    # The best path is b to r; c is reached only through r.
    assert states == {"a": SATURATED, "b": SATURATED, "c": WET, "p": WET, "r": SATURATED}
    reasons = {n.id: n.reason for n in retrieval.nodes}
    assert reasons["r"].values["way"] == ("b", "r")
    assert (reasons["r"].values["place"], reasons["r"].values["count"]) == (1, 1)
    assert reasons["a"].values["cosine"] == pytest.approx(0.5)
    (on_path,) = reasons["b"].also
    assert on_path.kind is ReasonKind.ON_FLOW_PATH
    assert [on_path.values[key] for key in ("place", "first", "last")] == [1, "b", "r"]
    assert [p.id for p in retrieval.ranking] == ["r", "p"]
    # From one sentence r gets 12/70 and p 44/70, so half of the largest cuts r off.
    alone = run(corpus, breadth=1, macro="off", prune=0.5, hops=1)
    assert [(p.id, p.score) for p in alone.ranking] == [("p", pytest.approx(44 / 70))]
