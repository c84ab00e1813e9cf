"""The solver against other ways to diffuse from seeds, on the same graphs in the same run.

    pip install numba python-igraph scikit-network osqp clarabel   (in an environment of its own)
    python benchmarks/peers.py [--sizes 10000 100000 1000000] [--acl libacl.so]

`--acl` is the library of LocalGraphClustering 0.6.1 (GPL, never a dependency of this project),
built from its source distribution:

    pip download --no-deps --no-binary :all: localgraphclustering==0.6.1
    cd localgraphclustering-0.6.1/localgraphclustering/src/lib
    g++ -O3 -march=native -fPIC -shared -o libacl.so aclpagerank.cpp aclpagerank_weighted.cpp

Peers solve other problems unless the column `computes` says otherwise. Writes results/peers.json.
With `--passages` and `--questions` whole systems are measured instead: see `systems.py`, which writes
results/systems.json.
"""

import argparse
import ctypes
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numba import njit
from planted import planted
from results import write
from scipy import sparse

from qafd.flow import kernel
from qafd.flow.solver import solve
from qafd.flow.sources import fit, source_mass
from qafd.flow.weights import Gates, Weights

RTOL = 1e-6
CAP = 100_000_000


@njit
def push(indptr, neighbors, similarity, vectors, query, sink, seeds, delta, x, m, s, w, total,
         read, random, rtol, cap):
    """Algorithm 2 until m <= (1 + rtol) T: u.a.r. or first in first out, weights kept once known.

    x, m, s, w, total and read are of size n or 2 |E|, zero before and after; returns the pushes
    and the touched rows.
    """
    touched = [0 for _ in range(0)]
    line = np.empty(1024, np.int64)
    waiting, head = 0, 0
    for i in range(len(seeds)):
        v = seeds[i]
        m[v] = delta[i]
        s[v] = max(np.dot(vectors[v], query), 1e-3)
        touched.append(v)
        if m[v] > sink[v] * (1 + rtol):
            line[waiting] = v
            waiting += 1
    pushes = 0
    while waiting > head and pushes < cap:
        if random:
            k = head + np.random.randint(waiting - head)  # noqa: NPY002  numba has no Generator
            v = line[k]
            waiting -= 1
            line[k] = line[waiting]
        else:
            v = line[head % len(line)]
            head += 1
        if not read[v]:
            read[v] = True
            for e in range(indptr[v], indptr[v + 1]):
                u = neighbors[e]
                if s[u] == 0.0:
                    s[u] = max(np.dot(vectors[u], query), 1e-3)
                    touched.append(u)
                w[e] = similarity[e] * (1.0 + 0.25 * (s[v] + s[u]))
                total[v] += w[e]
        pushes += 1
        step = (m[v] - sink[v]) / total[v]
        m[v] = sink[v]
        x[v] += step
        for e in range(indptr[v], indptr[v + 1]):
            u = neighbors[e]
            bar = sink[u] * (1 + rtol)
            before = m[u]
            m[u] += step * w[e]
            if before <= bar < m[u]:
                if waiting - head == len(line):
                    longer = np.empty(2 * len(line), np.int64)
                    for k in range(waiting - head):
                        longer[k] = line[(head + k) % len(line)]
                    line, waiting, head = longer, waiting - head, 0
                line[waiting % len(line)] = u
                waiting += 1
    return pushes, touched


@njit
def clear(touched, indptr, x, m, s, w, total, read):
    for v in touched:
        x[v] = m[v] = s[v] = total[v] = 0.0
        if read[v]:
            w[indptr[v]: indptr[v + 1]] = 0.0
        read[v] = False


class Push:
    """`push` with its arrays, allocated once per graph."""

    def __init__(self, graph, random):
        n = len(graph)
        self.graph, self.random = graph, random
        self.arrays = [np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(len(graph.neighbors)),
                       np.zeros(n), np.zeros(n, np.bool_)]

    def __call__(self, query, seeds, delta, rtol=RTOL):
        g = self.graph
        began = time.process_time()
        pushes, touched = push(g.indptr, g.neighbors, g.similarity, g.vectors, query,
                               g.capacity("degree"), seeds, delta, *self.arrays, self.random,
                               rtol, CAP)
        used = time.process_time() - began
        x = self.arrays[0][touched]
        rows = np.array(touched)[x > rtol * x.max()]
        clear(touched, g.indptr, *self.arrays)
        return used, set(rows.tolist()), pushes


class Acl:
    """LocalGraphClustering's approximate PageRank, with epsilon set for a wanted support."""

    def __init__(self, library, graph, weighted):
        functions = ctypes.CDLL(library)
        self.function = (functions.aclpagerank_weighted32_64 if weighted
                         else functions.aclpagerank32_64)
        self.function.restype = ctypes.c_uint32
        self.weights = [graph.similarity.copy()] if weighted else []
        self.indptr = graph.indptr.copy()
        self.neighbors = graph.neighbors.astype(np.uint32)
        self.n = len(graph)
        self.ids = np.empty(self.n, np.uint32)
        self.values = np.empty(self.n)

    def run(self, seeds, epsilon):
        seeds = np.ascontiguousarray(seeds, np.uint32)
        u32, p = ctypes.c_uint32, ctypes.c_void_p
        began = time.process_time()
        length = self.function(
            u32(self.n), self.indptr.ctypes.data_as(p), self.neighbors.ctypes.data_as(p),
            *(weights.ctypes.data_as(p) for weights in self.weights), u32(0),
            ctypes.c_double(0.15), ctypes.c_double(epsilon), seeds.ctypes.data_as(p),
            u32(len(seeds)), u32(2**31), self.ids.ctypes.data_as(p), u32(self.n),
            self.values.ctypes.data_as(p))
        used = time.process_time() - began
        return used, int(np.count_nonzero(self.values[:length]))

    def __call__(self, seeds, wanted):
        low, high = 1e-9, 1.0
        for _ in range(22):
            middle = (low * high) ** 0.5
            if self.run(seeds, middle)[1] > wanted:
                low = middle
            else:
                high = middle
        return self.run(seeds, high)


def laplacian(graph, gates, rows):
    """L and T on some rows, whose edges to others are kept as leaks."""
    keep = np.zeros(len(graph), np.bool_)
    keep[rows] = True
    start = np.repeat(np.arange(len(graph)), graph.degree)
    s = gates.align(graph, np.arange(len(graph)))
    w = gates.weights(graph.similarity, s[start], s[graph.neighbors])
    full = sparse.csr_matrix((w, graph.neighbors, graph.indptr), shape=(len(graph),) * 2)
    return sparse.diags(np.asarray(full.sum(axis=1)).ravel()) - full


def general(data, alpha):
    """OSQP and Clarabel on the whole of a small graph: same problem, times and objectives."""
    import clarabel
    import osqp

    graph, query, seeds = data.graph, data.queries[0], data.seeds[0]
    gates = Gates(Weights.of_variant("hybrid"), query)
    mass = source_mass(graph, seeds, "source-degree", alpha, "degree")
    fitted = fit(graph, seeds, mass, "degree")
    q = graph.capacity("degree").copy()
    q[fitted.rows] -= fitted.mass
    matrix = laplacian(graph, gates, np.arange(len(graph))).tocsc()
    n = len(graph)
    rows = []
    began = time.process_time()
    ours = solve(graph, gates, seeds, mass, "degree", RTOL)
    rows.append({"peer": "qafd", "ms": 1e3 * (time.process_time() - began),
                 "objective": ours.certificate.objective})
    began = time.process_time()
    solver = osqp.OSQP()
    solver.setup(sparse.triu(matrix).tocsc(), q, sparse.eye(n).tocsc(), np.zeros(n),
                 np.full(n, np.inf), verbose=False, eps_abs=1e-6, eps_rel=1e-6, max_iter=100_000)
    x = np.maximum(solver.solve().x, 0)
    rows.append({"peer": "OSQP", "ms": 1e3 * (time.process_time() - began),
                 "objective": float(x @ matrix @ x / 2 + q @ x)})
    began = time.process_time()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    x = np.maximum(np.array(clarabel.DefaultSolver(
        sparse.triu(matrix).tocsc(), q, -sparse.eye(n).tocsc(), np.zeros(n),
        [clarabel.NonnegativeConeT(n)], settings).solve().x), 0)
    rows.append({"peer": "Clarabel", "ms": 1e3 * (time.process_time() - began),
                 "objective": float(x @ matrix @ x / 2 + q @ x)})
    return [{"nodes": n, "alpha": alpha, "computes": "the same problem, globally", **row}
            for row in rows]


def local(data, alpha, library, count):
    """Every local peer and the global PageRanks, medians over `count` queries."""
    import igraph
    from sknetwork.ranking import PageRank

    graph = data.graph
    peers = {"literal": Push(graph, True), "fifo": Push(graph, False)}
    acls = {name: Acl(library, graph, name == "acl, weighted")
            for name in ("acl", "acl, weighted") if library}
    times = {}

    def add(peer, seconds, support, same):
        times.setdefault(peer, []).append((1e3 * seconds, support, same))

    for query, seeds in list(zip(data.queries, data.seeds, strict=True))[:count]:
        gates = Gates(Weights.of_variant("hybrid"), query)
        for _ in range(3):
            began = time.process_time()
            mass = source_mass(graph, seeds, "source-degree", alpha, "degree")
            solution = solve(graph, gates, seeds, mass, "degree", RTOL)
            used = time.process_time() - began
        support = set(solution.support.tolist())
        add("qafd", used, len(support), 1.0)
        plain = Gates(Weights.of_variant("plain"))
        for _ in range(3):
            began = time.process_time()
            unaware = solve(graph, plain, seeds, mass, "degree", RTOL)
            used = time.process_time() - began
        add("qafd, plain weights", used, len(unaware.support), np.nan)
        fitted = fit(graph, seeds, mass, "degree")
        for name, peer in peers.items():
            used, found, _ = peer(query, fitted.rows, fitted.mass)
            add(name, used, len(found), len(found & support) / len(found | support))
        for name, acl in acls.items():
            add(name, *acl(seeds, len(support)), np.nan)
    if len(graph) <= 200_000:
        start = np.repeat(np.arange(len(graph)), graph.degree)
        once = start < graph.neighbors
        whole = igraph.Graph(n=len(graph), edges=np.column_stack(
            [start[once], graph.neighbors[once]]))
        matrix = sparse.csr_matrix((graph.similarity, graph.neighbors, graph.indptr),
                                   shape=(len(graph),) * 2)
        for seeds in data.seeds[:3]:
            began = time.process_time()
            whole.personalized_pagerank(reset_vertices=seeds.tolist(), damping=0.5,
                                        weights=graph.similarity[once].tolist())
            add("igraph", time.process_time() - began, len(graph), np.nan)
            began = time.process_time()
            PageRank(0.5).fit_predict(matrix, dict.fromkeys(seeds.tolist(), 1.0))
            add("scikit-network", time.process_time() - began, len(graph), np.nan)
    ours = float(np.median([t[0] for t in times["qafd"]]))
    computes = {
        "qafd": "problem (5), exact to 1e-6 of each capacity, with edges and flow",
        "qafd, plain weights": "the same without reading vectors",
        "literal": "Algorithm 2, uniformly random pushes, to the same tolerance",
        "fifo": "Algorithm 2, first in first out, to the same tolerance",
        "acl": "approximate PageRank, unweighted, no query, epsilon set to match the support",
        "acl, weighted": "approximate PageRank on the edge weights, no query, same epsilon rule; "
                         "sums the weights of every node of the graph first",
        "igraph": "personalized PageRank of the whole graph, PRPACK: global against local",
        "scikit-network": "personalized PageRank of the whole graph: global against local"}
    return [{"nodes": len(graph), "alpha": alpha, "peer": peer,
             "ms": float(np.median([t[0] for t in rows])),
             "times_ours": float(np.median([t[0] for t in rows])) / ours,
             "support": float(np.median([t[1] for t in rows])),
             "jaccard": None if np.isnan(rows[0][2]) else float(np.median([t[2] for t in rows])),
             "computes": computes[peer]} for peer, rows in times.items()]


def measure_systems(given):
    """Print and write a row for each system as it is measured."""
    from systems import measure

    rows = []
    for row in measure(given.passages, given.questions, given.limit, given.lightrag):
        rows.append(row)
        print(row, flush=True)
        write("systems", rows, seed=0, notes=f"{given.limit} questions of {given.passages.parent.name}")


def main():
    """Measure, or say which package is missing."""
    try:
        _measure()
    except ModuleNotFoundError as error:
        sys.exit(f"{error.name} is not installed; pip install python-igraph scikit-network osqp clarabel "
                 "lightrag-hku in an environment of its own")


def _measure():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=Path)
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--lightrag", type=int, nargs="*", default=[100, 200, 400])
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--acl")
    arguments = parser.parse_args()
    if arguments.passages:
        measure_systems(arguments)
        return
    kernel.load()
    warm = planted(3000, queries=2)
    local(warm, 10.0, arguments.acl, 1)
    rows = general(planted(2000, queries=1), 5.0)
    for n in arguments.sizes:
        data = planted(n)
        for alpha in (10.0, 50.0):
            rows += local(data, alpha, arguments.acl, 7)
        for row in rows:
            print({k: v for k, v in row.items() if k != "computes"})
        write("peers", rows, seed=0)
        del data


if __name__ == "__main__":
    main()
