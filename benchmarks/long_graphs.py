"""Long, thin and hollow graphs that fill from one node to 99.9%: rounds and CPU seconds.

    python benchmarks/long_graphs.py [--nodes 20000]

Such graphs are the hardest for a method that grows its support from the seed: mass has to go
through all of them. Capacities are 1, weights 1 or spread over several orders of magnitude. Writes
results/long_graphs.json.
"""

import argparse
import itertools
import time

import networkx as nx
import numpy as np
from results import write

from qafd.flow import kernel
from qafd.flow.solver import solve
from qafd.flow.weights import PLAIN
from qafd.graph import Graph

SEED, FILLED = 0, 0.999


def comb(teeth, length):
    """A path whose every node begins a path of its own."""
    graph = nx.path_graph(teeth)
    for tooth in range(teeth):
        nx.add_path(graph, [tooth, *((tooth, i) for i in range(length - 1))])
    return graph


def necklace(beads, size):
    """Cliques in a row, each joined to the next by one edge."""
    graph = nx.disjoint_union_all(nx.complete_graph(size) for _ in range(beads))
    graph.add_edges_from((size * i - 1, size * i) for i in range(1, beads))
    return graph


def families(n):
    """(name, graph, orders of magnitude of the weights, smallest to largest)."""
    side = round(n ** 0.5)
    community = nx.gnm_random_graph(n // 10, 2 * n // 5, SEED)
    nx.add_path(community, [0, *(("chain", i) for i in range(n - n // 10))])
    yield from itertools.product(["path"], [nx.path_graph(n)], (0, 2, 7, 15))
    yield "cycle", nx.cycle_graph(n), 0
    yield "star", nx.star_graph(n - 1), 0
    yield "binary tree", nx.full_rary_tree(2, n), 0
    yield "random tree", nx.random_labeled_tree(n, seed=SEED), 0
    yield "ladder", nx.ladder_graph(n // 2), 0
    yield f"comb of {n // 20:,} teeth", comb(n // 20, 20), 0
    yield f"comb of {side} teeth", comb(side, side), 0
    yield "cliques of ten in a row", necklace(n // 10, 10), 0
    yield "community with a chain", community, 0
    yield from itertools.product([f"grid {side} x {side}"], [nx.grid_2d_graph(side, side)], (0, 7))


def graph_of(drawn, orders):
    rows = {node: row for row, node in enumerate(drawn)}
    ends = np.array([(rows[u], rows[v]) for u, v in drawn.edges])
    weight = 10.0 ** np.random.default_rng(SEED).uniform(-orders, 0, len(ends))
    return Graph.build([str(row) for row in range(len(rows))], source_rows=ends[:, 0],
                       target_rows=ends[:, 1], similarity=weight)


def measured(graph):
    """Seconds, rounds and certificate of a solve from the first node."""
    began = time.process_time()
    diffusion = solve(graph, PLAIN, np.array([0]), np.array([FILLED * len(graph)]))
    seconds = time.process_time() - began
    certificate = diffusion.certificate
    return {"seconds": round(seconds, 3), "rounds": diffusion.rounds,
            "support": len(diffusion.support), "optimal": certificate.optimal,
            "residual": certificate.residual, "flaws": [str(flaw.kind) for flaw in certificate.flaws]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=20_000)
    n = parser.parse_args().nodes
    rows = []
    for path in ("numpy", "compiled"):
        kernel.unload()
        if path == "compiled" and not kernel.load():
            raise SystemExit("The compiled kernel does not load; see 'qafd doctor --quick'.")
        for name, drawn, orders in families(n):
            row = {"path": path, "graph": name, "nodes": len(drawn), "orders": orders}
            rows.append(row | measured(graph_of(drawn, orders)))
            print(f"{path:9} {name:26} {orders:3} orders {rows[-1]['seconds']:7.2f} s "
                  f"{rows[-1]['rounds']:4} rounds {'' if rows[-1]['optimal'] else 'NOT OPTIMAL '}"
                  f"{rows[-1]['flaws']}", flush=True)
    write("long_graphs", rows, SEED, "CPU seconds; filled to 99.9% from one node, unit capacities")


if __name__ == "__main__":
    main()
