"""CPU time of one diffusion against graph size, in compiled code and on numpy and scipy.

    python benchmarks/solver.py [--sizes 10000 100000 1000000]

Hybrid weights, 40 seeds, source mass alpha * degree, capacity = degree, rtol 1e-6, on planted
power-law graphs with 384-dimensional vectors. Each query's time covers source mass, fitting, the
alignment of every touched node, the solve and the edges with their flow. The certificate
is timed beside it. `ms_cold` is the same after other work has filled the processor's caches, as
before a question in an app; without that, a graph of 10,000 nodes stays in them from one question
to the next and one of 1,000,000 cannot. Writes results/solver.json.
"""

import argparse
import os
import subprocess
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from planted import planted
from results import ROOT, write

from qafd.flow import kernel
from qafd.flow.homotopy import entry_alphas
from qafd.flow.solver import solve
from qafd.flow.sources import source_mass
from qafd.flow.weights import Gates, Weights

RTOL = 1e-6
OTHER_WORK = np.ones(20_000_000)  # 160 MB, more than any cache of the machine holds
FIRST = """
import time, sys
sys.path.insert(0, "benchmarks")
import numpy as np
from planted import planted
from qafd.flow import kernel
from qafd.flow.solver import solve
from qafd.flow.sources import source_mass
from qafd.flow.weights import Gates, Weights
data = planted(10000, queries=1)
if sys.argv[1] == "compiled":
    kernel.load()
began = time.process_time()
mass = source_mass(data.graph, data.seeds[0], "source-degree", 50.0, "degree")
solve(data.graph, Gates(Weights.of_variant("hybrid"), data.queries[0]), data.seeds[0], mass, "degree")
print(1e3 * (time.process_time() - began))
"""


def measure(data, alpha, repeats):
    """Medians over queries: CPU ms of a solve, cold and of its certificate, sizes, bytes read."""
    graph = data.graph
    solves, cold, certificates, sizes = [], [], [], []
    for turn in range(2 * repeats):
        for query, seeds in zip(data.queries, data.seeds, strict=True):
            gates = Gates(Weights.of_variant("hybrid"), query)
            if turn >= repeats:
                OTHER_WORK.sum()
            began = time.process_time()
            mass = source_mass(graph, seeds, "source-degree", alpha, "degree")
            solution = solve(graph, gates, seeds, mass, "degree", RTOL)
            ended = time.process_time()
            assert solution.certificate.optimal, solution.certificate
            if turn >= repeats:
                cold.append(ended - began)
                continue
            certificates.append(time.process_time() - ended)
            solves.append(ended - began)
            entries = int(graph.degree_of(solution.support).sum())
            sizes.append((len(solution.support), len(solution.rows), solution.rounds,
                          12 * entries + 4 * graph.vectors.shape[1] * len(solution.rows)))
    support, touched, rounds, read = np.median(sizes, axis=0)
    return {"ms": 1e3 * float(np.median(solves)), "ms_p10": 1e3 * float(np.quantile(solves, 0.1)),
            "ms_cold": 1e3 * float(np.median(cold)),
            "certificate_ms": 1e3 * float(np.median(certificates)), "support": float(support),
            "touched": float(touched), "rounds": float(rounds), "megabytes": float(read) / 1e6}


def bandwidth():
    """Bytes a second of one core reading 400 MB in order."""
    block = np.ones(50_000_000)
    times = []
    for _ in range(5):
        began = time.process_time()
        block.sum()
        times.append(time.process_time() - began)
    return block.nbytes / float(np.median(times))


def first_query(path):
    """CPU ms of the first solve of a fresh process, alpha 50 on 1e4 nodes, median of five."""
    runs = [float(subprocess.run([sys.executable, "-c", FIRST, path], capture_output=True,
                                 text=True, check=True, cwd=ROOT).stdout) for _ in range(5)]
    return float(np.median(runs))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    arguments = parser.parse_args()
    rate = bandwidth()
    rows = []
    for n in arguments.sizes:
        data = planted(n)
        for path in ("numpy", "compiled"):
            kernel.unload()
            if path == "compiled" and not kernel.load():
                continue
            for alpha in (10.0, 50.0):
                row = {"nodes": n, "edges": data.graph.edge_count, "path": path, "alpha": alpha,
                       **measure(data, alpha, 5)}
                row["one_read_ms"] = row["megabytes"] * 1e9 / rate
                rows.append(row)
                print(row)
        if n <= 100_000:
            times, sizes = [], []
            for query, seeds in zip(data.queries, data.seeds, strict=True):
                direction = source_mass(data.graph, seeds, "source-degree", 1.0, "degree")
                began = time.process_time()
                path = entry_alphas(data.graph, Gates(Weights.of_variant("hybrid"), query), seeds,
                                    direction, "degree", 10.0)
                times.append(time.process_time() - began)
                sizes.append(len(path.rows))
            rows.append({"nodes": n, "path": "entry alphas to 10", "support": float(
                np.median(sizes)), "ms": 1e3 * float(np.median(times))})
            print(rows[-1])
        del data
    for path in ("numpy", "compiled"):
        rows.append({"path": f"first query of a process, {path}", "ms": first_query(path)})
        print(rows[-1])
    write("solver", rows, seed=0, notes=f"one core reads {rate / 1e9:.1f} GB/s in order")


if __name__ == "__main__":
    main()
