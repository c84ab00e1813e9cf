"""Derived layers: pure functions of the graph, kept, brought up to date, refused when stale."""

import shutil
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from qafd.errors import MissingLayerError, StoreError
from qafd.graph import Graph
from qafd.ingest import jobs
from qafd.knowledge import KnowledgeGraph, read_layer_states
from qafd.retrieve.layers import LAYERS, bring_up_to_date, build, pack, texts_of, unpack
from qafd.retrieve.layers.communities import Communities, partition
from qafd.retrieve.layers.writing import Extracts
from qafd.storage import open_workspace
from tests.tiny import TinyEmbedder, tiny_index, tiny_texts, tiny_work

RAIN = "while the long and winding river carried all the old boats down to a distant harbor"
FIRST = [(f"{name}.txt",
          f"{name} met {other}. {other} met Zed. Rain fell on {name} {RAIN}.".encode())
         for name, other in combinations(["Ada", "Bob", "Cyd", "Dan", "Eve", "Fay"], 2)]
FIRST = [(f"{at}-{name}", data) for at, (name, data) in enumerate(FIRST)]
MORE = [("new.txt", b"Gil met Ada. Gil met Hal. Snow fell on Hal.")]


class Counting(TinyEmbedder):
    """Remembers what it was asked to embed."""

    def __init__(self):
        super().__init__()
        self.asked: list[str] = []

    def embed(self, texts):
        self.asked += texts
        return super().embed(texts)


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    path = tmp_path_factory.mktemp("indexed") / "work.db"
    tiny_index(path, FIRST)
    return path


@pytest.fixture
def path(indexed, tmp_path):
    return Path(shutil.copyfile(indexed, tmp_path / "work.db"))


def kept(path):
    with open_workspace(path) as store:
        return {name: store.layers.body(name) for name in store.layers.rows()}


def states(path):
    return {layer.state for layer in read_layer_states(KnowledgeGraph(path, TinyEmbedder()))}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_survives_its_bytes(path, name):
    with open_workspace(path) as store:
        graph = store.graph.read()
        layer = build(name, graph, texts_of(graph, store), TinyEmbedder())
    again = unpack(name, pack(layer))
    assert len(layer.texts) > 1 or name == "descriptions"  # which only models write
    assert again.texts == layer.texts
    assert np.array_equal(again.vectors, layer.vectors)
    assert pack(again) == pack(layer)


def test_layers_brought_up_to_date_have_the_bytes_of_layers_built_anew(path, tmp_path):
    old = Counting()
    with open_workspace(path) as store:
        assert bring_up_to_date(store, old) == tuple(LAYERS)
    tiny_index(path, MORE)
    assert states(path) == {"stale"}
    fresh, scratch = Counting(), Counting()
    with open_workspace(path) as store:
        assert bring_up_to_date(store, fresh) == tuple(LAYERS)
        assert bring_up_to_date(store, fresh) == ()
    tiny_index(tmp_path / "other.db", [*FIRST, *MORE])
    with open_workspace(tmp_path / "other.db") as store:
        bring_up_to_date(store, scratch)
    assert kept(path) == kept(tmp_path / "other.db")
    assert set(fresh.asked) == set(scratch.asked) - set(old.asked)
    assert any("Gil" in text for text in fresh.asked)


def test_a_method_builds_its_layers_where_no_version_of_the_graph_is_named(path):
    knowledge = KnowledgeGraph(path, TinyEmbedder())
    assert knowledge.retrieve("Who met Ada?", "linear").nodes
    assert states(path) == {"built", "missing"}
    tiny_index(path, MORE)
    assert knowledge.retrieve("Whom did Gil meet?", "linear").nodes
    assert "stale" not in states(path)


def test_a_method_without_its_layer_says_how_to_build_it(path):
    knowledge = KnowledgeGraph(path, TinyEmbedder())
    with pytest.raises(MissingLayerError, match="qafd layers --build sentences"):
        knowledge.retrieve("Who met Ada?", "linear", graph=knowledge.graph)
    reports = []
    knowledge.build_layers(["summaries", "sentences"],
                           lambda *report: reports.append(report))
    assert reports[0] == ("summaries", 0, len(FIRST))
    assert knowledge.retrieve("Who met Ada?", "linear", graph=knowledge.graph).nodes
    tiny_index(path, MORE)
    with pytest.raises(MissingLayerError):
        knowledge.retrieve("Who met Ada?", "linear", graph=knowledge.graph)


@pytest.mark.parametrize("forget", ["purge", "wipe", "forget", "drop"])
def test_nothing_of_a_removed_text_stays_in_a_layer(path, forget):
    with open_workspace(path) as store:
        bring_up_to_date(store, TinyEmbedder())
        {"purge": lambda: store.documents.purge(FIRST[0][0]), "wipe": store.wipe,
         "forget": store.vectors.forget, "drop": store.assembly.drop}[forget]()
        assert not store.layers.rows()


def test_a_damaged_layer_is_refused(path):
    with open_workspace(path) as store:
        bring_up_to_date(store, TinyEmbedder(), ["sentences"])
        with store.transaction() as connection:
            connection.execute("UPDATE layers SET body = substr(body, 1, 99)")
        with pytest.raises(StoreError, match="qafd layers --build sentences"):
            store.layers.body("sentences")


def test_a_job_builds_layers_and_later_jobs_keep_them_up_to_date(path):
    with open_workspace(path) as store:
        jobs.enqueue(store, layers=["communities"])
    tiny_work(path)
    assert set(kept(path)) == {"communities"}
    with open_workspace(path) as store:
        jobs.enqueue(store, MORE)
    tiny_work(path)
    with open_workspace(path) as store:
        assert {job.state for job in store.queue.latest()} == {"done"}
        assert store.layers.rows()["communities"].version == store.graph.version


def cliques(*sizes):
    """Cliques of entities in a row, each joined to the next by one edge; one passage."""
    starts = np.cumsum([0, *sizes])
    pairs = [pair for a, b in zip(starts, starts[1:], strict=False)
             for pair in combinations(range(a, b), 2)]
    pairs += [(int(b) - 1, int(b)) for b in starts[1:-1]]
    n = int(starts[-1])
    vectors = TinyEmbedder().embed([str(i) for i in range(n + 1)])
    return Graph.build([f"e{i:02}" for i in range(n)] + ["p"], [u for u, _ in pairs] + [0],
                       [v for _, v in pairs] + [n], names=[f"Name{i}" for i in range(n)] + ["P"],
                       kinds=["entity"] * n + ["passage"],
                       edge_kinds=["relation"] * len(pairs) + ["mention"], vectors=vectors,
                       name_vectors=vectors)


def test_cliques_are_the_communities_of_a_chain_of_cliques():
    graph = cliques(4, 5, 6)
    layer = Communities.build(graph, tiny_texts(graph, ["Name0 met Name1. Rain."]), TinyEmbedder(),
                              Extracts())
    found = {frozenset(layer.members[layer.members[:, 0] == c, 1].tolist())
             for c in range(len(layer))}
    assert found == {frozenset(range(4)), frozenset(range(4, 9)), frozenset(range(9, 15))}
    assert layer.cut(0, len(graph)).tolist().count(-1) == 1  # the passage
    report = layer.texts[layer.cut(0, len(graph))[0]]
    # Name3 has the most neighbors, for it is joined to the next clique.
    assert report.startswith("Name3, Name0, Name1, Name2. ")
    assert report.endswith("Name0 met Name1.")
    assert "Rain" not in report


def test_communities_do_not_depend_on_the_order_of_relations():
    graph = cliques(4, 5, 6)
    relations = tiny_texts(graph, ["Name0."]).relations
    one = partition(graph, relations)
    other = partition(graph, relations[::-1][:, [1, 0, 2]])
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
