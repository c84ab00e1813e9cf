"""How long the methods that need only the graph take at 100,000 nodes.

    python benchmarks/methods.py [NODES]

The planted graph of the solver's benchmarks; every fifth node is a passage, edges between passages
are left out. Keywords and names are those of entities near the query.
"""

import statistics
import sys
import time

import numpy as np
from planted import planted
from results import write

from qafd.assemble import node_id
from qafd.graph import Graph
from qafd.records import Keyword, QueryPlan
from qafd.retrieve import METHODS
from qafd.retrieve.base import Corpus
from qafd.retrieve.pagerank import PRESETS
from qafd.seeds import passages_of

QUESTIONS = 6


def library(nodes: int) -> tuple[Corpus, list[QueryPlan]]:
    """A corpus of that many nodes and its questions."""
    made = planted(nodes, QUESTIONS)
    old, passages = made.graph, nodes // 5
    start = np.repeat(np.arange(nodes), old.degree)
    keep = (start < old.neighbors) & (old.neighbors >= passages)
    u, v = start[keep], old.neighbors[keep]
    graph = Graph.build(
        [f"passage {i}" if i < passages else node_id("entity", f"name {i}") for i in range(nodes)],
        [f"name {i}" for i in range(nodes)],
        np.where(np.arange(nodes) < passages, "passage", "entity"), u, v, old.similarity[keep],
        np.where(u < passages, "mention", "relation").tolist(), old.vectors, old.vectors)
    plans = []
    for query, seeds in zip(made.queries, made.seeds, strict=True):
        near = seeds[seeds >= passages][:3]
        plans.append(QueryPlan(
            "name and passage", tuple(Keyword(f"name {i}", "low") for i in near[:-1])
            + (Keyword(f"name {near[-1]}", "high"),), query, old.vectors[near],
            tuple(f"name {i}" for i in near)))
    texts = {node: f"{node} with name {i % 997}" for i, node in enumerate(graph.ids[:passages])}
    return Corpus(graph, passages_of(graph, lambda ids: [texts[i] for i in ids])), plans


def main() -> None:
    """Measure and write benchmarks/results/methods.json."""
    corpus, plans = library(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
    methods = {name: method() for name, method in METHODS.items() if not method.needs}
    rows = []
    for name, method in [*methods.items(), ("pagerank, follow", PRESETS["follow"])]:
        method.retrieve(corpus, plans[0])
        used, found = [], []
        for plan in plans[1:]:
            began = time.process_time()
            found.append(method.retrieve(corpus, plan))
            used.append(1000 * (time.process_time() - began))
        rows.append({"method": name, "median_cpu_ms": round(statistics.median(used), 1),
                     "worst_cpu_ms": round(max(used), 1), "rounds": found[-1].work.rounds,
                     "nodes": round(statistics.median(len(f.nodes) for f in found))})
        print(rows[-1])
    graph = corpus.graph
    write("methods", rows, 0, f"{len(graph):,} nodes, {graph.edge_count:,} edges, "
          f"{len(corpus.passages):,} passages")


if __name__ == "__main__":
    main()
