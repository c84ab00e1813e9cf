"""How long every method takes at 100,000 nodes, and the layers that some of them need.

    python benchmarks/methods.py [NODES]

The planted graph of the solver's benchmarks; every fifth node is a passage, edges between passages
are left out. Keywords and names are those of entities near the query. A passage has three
sentences that share its mentions and lie around its vector; summaries have random vectors, which
changes what is found but not the work. As in the running app, BLAS has one thread.
"""

import os
import statistics
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when numpy is imported

import numpy as np
from planted import planted
from results import write

from qafd.flow import kernel
from qafd.graph import Graph, kind_bit
from qafd.records import Keyword, QueryPlan, node_id
from qafd.retrieve import METHODS
from qafd.retrieve.base import Corpus
from qafd.retrieve.layers import LAYERS, build
from qafd.retrieve.layers.texts import Texts
from qafd.retrieve.pagerank import PRESETS
from qafd.retrieve.seeds import passages_of

QUESTIONS = 6
SENTENCES = 3


class Random:
    """An embedder of random unit rows."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.rng = np.random.default_rng(0)

    def embed(self, texts):
        return unit(self.rng.standard_normal((len(texts), self.dimension), np.float32))


def unit(rows):
    """Rows of length 1."""
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def library(nodes: int) -> tuple[Corpus, list[QueryPlan]]:
    """A corpus of that many nodes without layers, and its questions."""
    made = planted(nodes, QUESTIONS)
    old, passages = made.graph, nodes // 5
    start = np.repeat(np.arange(nodes), old.degree)
    keep = (start < old.neighbors) & (old.neighbors >= passages)
    u, v = start[keep], old.neighbors[keep]
    ids = [f"passage {i:06}" if i < passages else node_id("entity", f"name {i}") for i in range(nodes)]
    graph = Graph.build(ids, u, v, old.similarity[keep],
                        np.where(u < passages, "mention", "relation").tolist(),
                        names=[f"name {i}" for i in range(nodes)],
                        kinds=np.where(np.arange(nodes) < passages, "passage", "entity"),
                        vectors=old.vectors, name_vectors=old.vectors)
    plans = []
    for query, seeds in zip(made.queries, made.seeds, strict=True):
        near = seeds[seeds >= passages][:3]
        plans.append(QueryPlan(
            "name and passage", tuple(Keyword(f"name {i}", "low") for i in near[:-1])
            + (Keyword(f"name {near[-1]}", "high"),), query, old.vectors[near],
            tuple(f"name {i}" for i in near)))
    texts = {node: f"{node} with name {i % 997}" for i, node in enumerate(graph.ids[:passages])}
    return Corpus(graph, passages_of(graph, lambda ids: [texts[i] for i in ids])), plans


def texts_of(graph: Graph) -> Texts:
    """The texts of the passages, which are the first rows."""
    count = int((graph.kinds == "passage").sum())
    ends = np.stack([graph.starts, graph.neighbors]).T
    mention = (graph.edge_kinds & kind_bit("mention")) > 0
    related = ends[~mention & (ends[:, 0] < ends[:, 1])]
    said = ends[mention & (ends[:, 0] < count)]
    owner = np.repeat(np.arange(count), SENTENCES)
    around = graph.vectors[owner]
    noise = np.random.default_rng(1).standard_normal(around.shape, np.float32)
    return Texts(
        np.arange(count), tuple(f"About name {i}." for i in range(count)),
        tuple(map(str, range(count))), owner,
        np.tile(np.arange(SENTENCES), count),
        tuple(f"Sentence {i} of it is about name {p}." for p in range(count)
              for i in range(SENTENCES)),
        unit(around + 0.05 * noise),
        np.column_stack([SENTENCES * said[:, 0] + np.arange(len(said)) % SENTENCES, said[:, 1]]),
        np.column_stack([said, np.ones(len(said), np.int64)]),
        np.column_stack([related, np.ones(len(related), np.int64)]), ("",) * len(related))


def built(corpus: Corpus) -> tuple[Corpus, list[dict]]:
    """The corpus with its layers, and the seconds of CPU that each took."""
    layers, rows = {}, []
    texts = texts_of(corpus.graph)
    for name in LAYERS:
        began = time.process_time()
        layers[name] = build(name, corpus.graph, texts, Random(corpus.graph.vectors.shape[1]))
        rows.append({"layer": name, "cpu_s": round(time.process_time() - began, 1),
                     "texts": len(layers[name])})
        print(rows[-1], flush=True)
    return Corpus(corpus.graph, corpus.passages, layers), rows


def main() -> None:
    """Measure and write benchmarks/results/methods.json."""
    kernel.load()
    bare, plans = library(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
    corpus, rows = built(bare)
    methods = {name: method() for name, method in METHODS.items()}
    for name, method in [*methods.items(), ("pagerank, follow", PRESETS["follow"])]:
        method.retrieve(corpus, plans[0])
        used, found = [], []
        for plan in plans[1:]:
            began = time.process_time()
            found.append(method.retrieve(corpus, plan))
            used.append(1000 * (time.process_time() - began))
        rows.append({"method": name, "median_cpu_ms": round(statistics.median(used), 1),
                     "worst_cpu_ms": round(max(used), 1),
                     "nodes": round(statistics.median(len(f.nodes) for f in found)),
                     "passages": round(statistics.median(len(f.ranking) for f in found))})
        print(rows[-1], flush=True)
    graph = corpus.graph
    write("methods", rows, 0, f"{len(graph):,} nodes, {graph.edge_count:,} edges, "
          f"{len(corpus.passages):,} passages; embedding the texts is not counted")


if __name__ == "__main__":
    main()
