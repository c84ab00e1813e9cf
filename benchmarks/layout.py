"""Stress and time of our layouts against those of networkx, on three kinds of graph.

    python benchmarks/layout.py [--largest 2000]

Stress is the mean of ((wanted - drawn) / wanted)^2 over pairs at the best scale, where wanted
is the shortest path with edges as long as the square root of the mean degree of their ends;
all layouts are told these lengths as far as they can use them. "ours" is
`qafd.view.layout.layout` with packing, stretching to the frame and separation of nodes (which
cost stress), "majorize" the step before. Kamada-Kawai is left out above 150 nodes, where it
takes seconds. Writes results/layout.json.
"""

import argparse
import time

import networkx as nx
import numpy as np
from results import write

from qafd.view.layout import layout, majorize, stress

SEED = 1
SIZES = (20, 40, 80, 150, 300, 600, 2000)
KINDS = {
    "clustered": lambda n: nx.powerlaw_cluster_graph(n, 2, 0.5, seed=SEED),
    "tree": lambda n: nx.random_labeled_tree(n, seed=SEED),
    "communities": lambda n: nx.connected_caveman_graph(n // 10, 10),
}


def timed(run):
    """What `run` returns, and the best of three times in milliseconds (one if slow)."""
    best = np.inf
    for _ in range(3):
        start = time.perf_counter()
        value = run()
        best = min(best, 1000 * (time.perf_counter() - start))
        if best > 500:
            break
    return value, round(best, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=2000)
    rows = []
    for size in (n for n in SIZES if n <= parser.parse_args().largest):
        for kind, make in KINDS.items():
            graph = make(size)
            for u, v in graph.edges:
                graph[u][v]["length"] = ((graph.degree[u] + graph.degree[v]) / 2) ** 0.5
                graph[u][v]["pull"] = 1 / graph[u][v]["length"]
            lengths = dict(nx.all_pairs_dijkstra_path_length(graph, weight="length"))
            wanted = np.array([[lengths[u][v] for v in graph] for u in graph])
            ids = [f"n{v}" for v in graph]
            edges = [(f"n{u}", f"n{v}") for u, v in graph.edges]
            circle = np.array(list(nx.circular_layout(graph).values()))
            ways = {
                "ours": lambda ids=ids, edges=edges: layout(ids, edges),
                "spring": lambda graph=graph: nx.spring_layout(graph, weight="pull", seed=SEED),
            }
            if size <= 400:
                ways["majorize"] = lambda wanted=wanted, circle=circle: majorize(wanted, circle)
            if size <= 150:
                ways["kamada_kawai"] = lambda graph=graph: nx.kamada_kawai_layout(
                    graph, weight="length")
            for name, way in ways.items():
                placed, milliseconds = timed(way)
                points = placed if isinstance(placed, np.ndarray) else np.array(
                    list(placed.values()) if name != "ours" else [placed[v] for v in ids])
                rows.append({"kind": kind, "nodes": len(ids), "edges": len(edges), "layout": name,
                             "stress": round(stress(wanted, points), 4), "ms": milliseconds})
                print(rows[-1])
    write("layout", rows, SEED, " ".join(__doc__.split("\n\n")[2].split()))


if __name__ == "__main__":
    main()
