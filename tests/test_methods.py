"""The retrieval methods that need only the graph, each against its paper's equations by hand."""

from dataclasses import fields
from fractions import Fraction
from itertools import pairwise, permutations
from math import log

import networkx
import numpy as np
import pytest

from qafd.errors import ParameterError
from qafd.flow.weights import PLAIN, Gates, Weights
from qafd.graph import Graph
from qafd.reasons import NoticeKind, ReasonKind, reason
from qafd.records import Keyword, QueryPlan, node_id
from qafd.retrieve import METHODS
from qafd.retrieve.base import Corpus
from qafd.retrieve.by_score import DensePassages, FusedPassages, LexicalPassages
from qafd.retrieve.ego import EgoNet
from qafd.retrieve.pagerank import PRESETS, PageRank, entry_weights, pagerank
from qafd.retrieve.path import RelationalPaths, flow_paths
from qafd.retrieve.qafd import FlowDiffusion
from qafd.retrieve.rank import Ranking, rank
from qafd.retrieve.seeds import Passages, match, select_seeds
from tests.oracles import random_graph


def corpus(names, texts, edges, vectors, name_vectors=None):
    """Entities by name, then passages by text; `edges` has (end, end, kind) with ends as rows."""
    kinds = ["entity"] * len(names) + ["passage"] * len(texts)
    ids = [node_id("entity", name.lower()) for name in names]
    ids += [f"passage {i}" for i in range(len(texts))]
    rows = np.array(vectors, np.float32)
    graph = Graph.build(ids, [u for u, _, _ in edges], [v for _, v, _ in edges], None,
                        [kind for _, _, kind in edges],
                        names=[*names, *(f"title {i}" for i in range(len(texts)))], kinds=kinds,
                        vectors=rows,
                        name_vectors=rows if name_vectors is None else np.array(name_vectors, np.float32))
    said = dict(zip(ids[len(names):], texts, strict=True))
    return Corpus(graph, Passages.build(graph, lambda asked: [said[i] for i in asked]))


def asked(question="q", vector=(1, 0), keywords=(), names=()):
    """A plan; `keywords` has (text, level, vector)."""
    return QueryPlan(question, tuple(Keyword(text, level) for text, level, _ in keywords),
                     np.array(vector, np.float32),
                     np.array([v for _, _, v in keywords], np.float32).reshape(-1, len(vector)),
                     tuple(names))


def by_name(retrieval):
    return {node.name: node for node in retrieval.nodes}


def titles(retrieval):
    return [int(p.id.split()[1]) for p in retrieval.ranking]


# vector, lexical, fusion

SHELF = corpus(
    ["Ada", "Bob", "Cyd"], ["mill mill", "mill river", "ship"],
    [(0, 3, "mention"), (1, 3, "mention"), (1, 4, "mention"), (2, 5, "mention"),
     (0, 1, "relation")],
    [[1, 0]] * 3 + [[0.6, 0.8], [0.8, 0.6], [0, 1]])


def test_vector_ranks_by_cosine_and_draws_the_names_of_the_best():
    found = DensePassages(passages=1).retrieve(SHELF, asked())
    assert titles(found) == [1, 0, 2]
    assert [p.score for p in found.ranking] == pytest.approx([0.8, 0.6, 0], abs=1e-7)
    assert {name: node.importance for name, node in by_name(found).items()} == pytest.approx(
        {"title 1": 0.8, "Bob": 0.8})
    assert by_name(found)["title 1"].reason.values == pytest.approx(
        {"place": 1, "count": 3, "score": 0.8})
    assert by_name(found)["Bob"].reason == reason(
        ReasonKind.MENTIONED_BY, title="title 1", place=1)
    assert [(e.kind, e.flow) for e in found.edges] == [("mention", 0)]


def test_lexical_is_bm25_by_hand():
    # Lengths 2, 2, 1, mean 5/3; "mill" is in 2 of 3 passages: idf log(1 + 1.5/2.5).
    found = LexicalPassages().retrieve(SHELF, asked("mill"))
    norm = 0.25 + 0.75 * 2 / (5 / 3)
    idf = log(1 + 1.5 / 2.5)
    twice, once = (idf * f * 2.2 / (f + 1.2 * norm) for f in (2, 1))
    assert titles(found) == [0, 1]
    assert [p.score for p in found.ranking] == pytest.approx([twice, once])
    assert by_name(found)["title 0"].reason.values["words"] == ("mill",)


def test_fusion_adds_the_scaled_scores():
    # Cosines .6, .8, 0 scale to .75, 1, 0; "ship" scales to 0, 0, 1.
    found = FusedPassages(lexical=2).retrieve(SHELF, asked("ship"))
    assert titles(found) == [2, 1, 0]
    assert [p.score for p in found.ranking] == pytest.approx([2, 1, 0.75])
    assert by_name(found)["title 2"].reason.values == pytest.approx(
        {"place": 1, "count": 3, "meaning": 0, "weight": 2, "lexical": 1})


# pagerank

@pytest.mark.parametrize("damping", [0.0, 0.5, 0.95])
def test_pagerank_agrees_with_networkx(damping):
    rng = np.random.default_rng(4)
    graph = random_graph(rng, 40, 60)
    alone = Graph.build([*graph.ids, "x", "y"], source_rows=np.repeat(np.arange(40), graph.degree),
                        target_rows=graph.neighbors, similarity=graph.similarity)
    weight = entry_weights(alone, PLAIN)
    rows, shares = np.array([3, 7, 41]), np.array([0.5, 0.3, 0.2])
    other = networkx.Graph()
    other.add_nodes_from(range(42))
    start = np.repeat(np.arange(42), alone.degree)
    other.add_weighted_edges_from(zip(start.tolist(), alone.neighbors.tolist(), weight.tolist(),
                                      strict=True))
    sources = dict(zip(rows.tolist(), shares.tolist(), strict=True))
    oracle = networkx.pagerank(other, damping, sources, weight="weight", tol=1e-13,
                               max_iter=10_000, dangling=sources)
    score = pagerank(alone, weight, rows, shares, damping)
    assert score == pytest.approx([oracle[i] for i in range(42)], abs=1e-7)
    assert score.sum() == pytest.approx(1)


@pytest.mark.parametrize("damping", [0.0, 0.05, 0.1, 0.9])
def test_pagerank_is_the_solution_of_its_linear_system_and_its_reasons_follow_from_it(damping):
    """p = (1 - c) s + c W D^-1 p, dense; of the passages, which are all sources, one is shown as such.

    Ada is in one passage, Bob in two; the cosines .6, .8, 0 scale to .75, 1, 0.
    """
    found = PageRank(damping=damping, passage_weight=0.2, seeds=1, nodes=500).retrieve(
        SHELF, asked(names=("ada", "bob")))
    joined = np.zeros((6, 6))
    for u, v in ((0, 3), (1, 3), (1, 4), (2, 5), (0, 1)):
        joined[u, v] = joined[v, u] = 1
    arrives = joined / joined.sum(axis=0) * damping
    restart = (1 - damping) * np.array([1, 1 / 2, 0, 0.2 * 0.75, 0.2, 0]) / 1.85
    score = np.linalg.solve(np.eye(6) - arrives, restart)
    shown = {0: ReasonKind.NAMED, 1: ReasonKind.NAMED, 4: ReasonKind.NEAR_BY_MEANING}
    row = {node.id: SHELF.graph.row[node.id] for node in found.nodes}
    assert set(found.seeds) == {SHELF.graph.ids[at] for at in shown}
    for node in found.nodes:
        at, why = row[node.id], node.reason
        came = arrives[at] * score
        assert node.importance == pytest.approx(score[at])
        (share,) = why.also
        assert share.values == pytest.approx({"share": score[at], "place": 1 + (score > score[at]).sum()})
        if at in shown or restart[at] >= came.max():
            assert why.kind is shown.get(at, ReasonKind.WALK_FROM_QUESTION)
        else:
            assert why.kind is (ReasonKind.WALK_FROM_PASSAGE if came.argmax() > 2 else ReasonKind.WALK_FROM)
            assert why.values["name"] == SHELF.graph.names[came.argmax()]
    for edge in found.edges:
        u, v = row[edge.source], row[edge.target]
        assert edge.flow == pytest.approx(arrives[v, u] * score[u] - arrives[u, v] * score[v])
    assert titles(found) == (np.argsort(-score[3:], kind="stable")).tolist()


@pytest.mark.parametrize(("method", "kind"), [
    (PageRank(passage_weight=0.0), NoticeKind.NO_SOURCE), (EgoNet(cutoff=0.9), NoticeKind.NO_SEED)])
def test_a_question_that_nothing_starts_from_is_noted(method, kind):
    nothing = method.retrieve(SHELF, asked(vector=(0, 1)))
    assert (nothing.nodes, [each.kind for each in nothing.notices]) == ((), [kind])
    assert method.retrieve(SHELF, asked(names=("ada",))).notices == ()


def test_the_preset_follow_ranks_like_qafd_with_the_walk_in_the_place_of_x():
    plan = asked("mill", names=("bob",))
    graph = SHELF.graph
    found = PRESETS["follow"].retrieve(SHELF, plan)
    layer = graph.layer({"mention", "synonym"})
    seeds = FlowDiffusion().retrieve(SHELF, plan).seeds
    assert found.seeds == seeds
    weight = entry_weights(layer, Gates(Weights.of_variant("product"), plan.embedding))
    start = np.repeat(np.arange(len(graph)), layer.degree)
    s = np.maximum(graph.vectors @ plan.embedding, 1e-3)
    assert weight == pytest.approx(s[start] * s[layer.neighbors])
    score = np.zeros(len(graph))
    for node in found.nodes:
        score[graph.row[node.id]] = node.importance
    matched = match(SHELF.passages, plan)
    sure = select_seeds(graph, SHELF.passages, plan, matched).certainty
    order, scores, _ = rank(SHELF.passages, matched, score, Ranking.for_certainty(sure))
    assert [p.id for p in found.ranking] == [graph.ids[row] for row in order]
    assert [p.score for p in found.ranking] == pytest.approx(scores)


# ego

# Names on the unit circle; the keyword "low" is at 0 degrees, "high" at 90.
NET = corpus(
    ["Near", "Close", "Hub", "Leaf", "Top", "Peak"],
    ["of near and hub", "of near", "of top and peak", "of leaf"],
    [(0, 2, "relation"), (0, 3, "relation"), (1, 2, "relation"), (2, 5, "relation"),
     (4, 5, "relation"), (0, 6, "mention"), (2, 6, "mention"), (0, 7, "mention"),
     (4, 8, "mention"), (5, 8, "mention"), (3, 9, "mention")],
    [[1, 0], [0.8, 0.6], [0.8, -0.6], [0.6, -0.8], [0, 1], [0.6, 0.8], *[[1, 0]] * 4])
LOW, HIGH = ("low", "low", (1, 0)), ("high", "high", (0, 1))


def test_local_brings_the_nearest_entities_and_their_neighbors():
    found = EgoNet(mode="local", entities=1).retrieve(NET, asked(keywords=[LOW, HIGH]))
    nodes = by_name(found)
    assert {name: node.importance for name, node in nodes.items()} == pytest.approx(
        {"Near": 1.0, "Hub": 0.5, "Leaf": 0.5})
    assert nodes["Near"].reason.values["word"] == "low"
    assert nodes["Hub"].reason == reason(ReasonKind.ONE_HOP, name="Near")
    assert [node.name for node in found.nodes if node.seed] == ["Near"]
    # Passage 0 mentions Near and its neighbor Hub, passage 1 Near alone.
    assert titles(found) == [0, 1]


def test_global_brings_the_relations_whose_ends_are_nearest():
    # Means with (0, 1): Top-Peak .9, Hub-Peak .1, Close-Hub 0, Near-Hub -.3, Near-Leaf -.4.
    found = EgoNet(mode="global", relations=2, cutoff=0.0).retrieve(NET, asked(keywords=[LOW, HIGH]))
    nodes = by_name(found)
    assert {name: node.importance for name, node in nodes.items()} == pytest.approx(
        {"Top": 0.9, "Peak": 0.9, "Hub": 0.1})
    end = nodes["Top"].reason
    assert (end.kind, end.values["place"], end.values["word"]) == (
        ReasonKind.RELATION_END, 1, "high")
    assert end.also == (reason(ReasonKind.OTHER_END, name="Peak"),)
    assert titles(found) == [2]
    assert len(found.edges) == 2


# path

def brute_force(graph, seeds, decay, threshold):
    """Reliability of every path by walking all simple paths of at most 3 steps."""
    g = networkx.Graph()
    g.add_edges_from(zip(np.repeat(np.arange(len(graph)), graph.degree).tolist(),
                         graph.neighbors.tolist(), strict=True))
    best = {}
    for a, b in permutations([s for s in seeds if s in g], 2):
        routes = list(networkx.all_simple_paths(g, a, b, cutoff=3))
        after = {}
        for route in routes:
            for u, v in pairwise(route):
                after.setdefault(u, set()).add(v)
        carried, alive = {}, {(a,): Fraction(1)}
        arrived = []
        for step in range(3):
            following = {}
            for route, held in alive.items():
                for v in after.get(route[-1], ()):
                    amount = held * (decay if step else 1) / len(after[route[-1]])
                    edge = route[-1], v
                    carried[edge] = carried.get(edge, 0) + amount
                    if v == b:
                        arrived.append((*route, v))
                    elif amount > threshold and v not in route:
                        following[(*route, v)] = amount
            alive = following
        for route in arrived:
            value = sum(carried[edge] for edge in pairwise(route)) / (len(route) - 1)
            key = min(route, route[::-1])
            best[key] = max(best.get(key, 0), value)
    return best


@pytest.mark.parametrize("threshold", [Fraction(3, 10), Fraction(1, 20)])
def test_paths_agree_with_all_simple_paths(threshold):
    rng = np.random.default_rng(8)
    for _ in range(10):
        graph = random_graph(rng, 14, 14)
        seeds = rng.choice(14, 5, replace=False)
        found = flow_paths(graph, seeds, 0.8, float(threshold))
        oracle = brute_force(graph, seeds.tolist(), Fraction(4, 5), threshold)
        assert {min(p.rows, p.rows[::-1]): p.reliability for p in found} == pytest.approx(
            {route: float(value) for route, value in oracle.items()})
        values = [p.reliability for p in found]
        assert values == pytest.approx(sorted(values, reverse=True))


TRAIL = corpus(
    ["A", "X", "B", "Far"], ["a and x", "a", "x and b"],
    [(0, 1, "relation"), (1, 2, "relation"), (0, 4, "mention"), (1, 4, "mention"),
     (0, 5, "mention"), (1, 6, "mention"), (2, 6, "mention")],
    [[1, 0], [0, 1], [0.8, 0.6], [0.6, 0.8], *[[1, 0]] * 3])


def test_edges_carry_the_resource_and_passages_support_the_paths():
    found = RelationalPaths(seeds=2).retrieve(TRAIL, asked(keywords=[LOW]))
    nodes = by_name(found)
    names = {node.id: node.name for node in found.nodes}
    assert {(names[e.source], names[e.target]): e.flow for e in found.edges} == pytest.approx(
        {("A", "X"): 1.0, ("X", "B"): 0.8})
    assert {name: node.importance for name, node in nodes.items()} == pytest.approx(
        {"A": 0.9, "X": 0.9, "B": 0.9})
    assert nodes["X"].reason.values["way"] == ("A", "X", "B")
    assert nodes["X"].reason.values["score"] == pytest.approx(0.9)
    # A is the nearer seed; of its passages the one that has A and X supports the path.
    assert titles(found) == [0, 1, 2]


KNOBS = """
qafd: mass 60 0-1e+09, seeds 5 0-200, variant product, rule* budget, capacity* unit, seeding* question, layer* passages, similarity* clip, gamma* 1 0-20, a* 1 0-4, b* 0.25 0-4, entity_share* 0.75 0-1, diffusions* joint
community: selection local, communities 3 1-50, level 2 0-6, entities 10 1-200
ego: mode hybrid, entities 10 1-200, relations 10 1-200, neighbors 60 0-1000, cutoff* 0.2 0-1
flow_path: breadth 5 1-50, decay 0.8 0.05-0.99, paths 5 1-50, hops* 3 1-7, prune* 0.05 0-0.5, macro* on, frequency* on
pagerank: damping 0.5 0-0.99, nodes 60 1-500, seeding* names, seeds* 5 0-200, passage_weight* 0.05 0-1, variant* plain, layer* relations, ranking* score
linear: breadth 1 1-20, threshold 0.5 0-1, damping 0.5 0-0.99, nodes 60 1-500, levels* 3 1-10, ratio* 1.5 0-10, passage_weight* 0.05 0-1
path: seeds 40 2-100, paths 15 1-100, decay 0.8 0.01-1, threshold 0.3 0.01-1
tree: budget 2000 50-20000
multihop: alpha 2 0.01-9.9, facts 5 1-50, variant hybrid, filter names, passage_weight* 0.05 0-1, pushes* 500 0-100000, nodes 60 1-500
"""  # noqa: E501


@pytest.mark.parametrize("line", KNOBS.split("\n")[1:-1], ids=lambda line: line.partition(":")[0])
def test_a_method_starts_with_these_values(line):
    """A star is for a parameter among the advanced ones; a number has its range."""
    name, _, knobs = line.partition(": ")
    found = []
    for spec in fields(METHODS[name]):
        meta, default = spec.metadata, spec.default
        value = default if meta["options"] else f"{default:g} {meta['low']:g}-{meta['high']:g}"
        found.append(f"{spec.name}{'*' * meta['advanced']} {value}")
    assert ", ".join(found) == f"{knobs}, top* 20 1-100"


@pytest.mark.parametrize("wrong", [
    lambda: PageRank(damping=1.0), lambda: EgoNet(mode="naive"), lambda: DensePassages(passages=0),
    lambda: RelationalPaths(seeds=1), lambda: FusedPassages(lexical=-1)],
    ids=["damping", "mode", "passages", "seeds", "lexical"])
def test_parameters_outside_their_range_are_refused(wrong):
    with pytest.raises(ParameterError, match=r"give a number|choose"):
        wrong()
