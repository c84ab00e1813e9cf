"""Lemma 6 and Theorems 3 and 7 over repeated draws of Definition 5.

    python benchmarks/guarantees.py

Writes results/guarantees.json: for each separation and gamma, how often the planted set is covered,
the worst leakage against its bound, and how often the weights separate; then the same with the
source outside the planted set; then the convergence of Algorithm 2 against Theorem 3.
"""

from dataclasses import dataclass, replace

import numpy as np
from planted import planted
from results import write

from qafd.flow.guarantees import Model, measure_draw
from qafd.flow.reference import Pushing, push
from qafd.flow.solver import solve
from qafd.flow.sources import source_mass
from qafd.flow.weights import Gates, Weights

MODEL = Model(nodes=1000, relevant=50, dimensions=16)
DRAWS = 10
BETA = 0.2


def row(model, source_inside, rng):
    """One line of the table."""
    found = [measure_draw(model, rng, BETA, source_inside) for _ in range(DRAWS)]
    return {"separation": model.separation, "gamma": model.gamma, "source_inside": source_inside,
            "draws": DRAWS, "covered": sum(one.covered for one in found),
            "mean_share": float(np.mean([one.share for one in found])),
            "worst_leakage": max(one.leakage for one in found), "beta": BETA,
            "weights_separate": sum(one.separated for one in found)}


@dataclass(frozen=True, eq=False)
class Convergence:
    """F(x) - F(x*) after each push of Algorithm 2, next to the rate of Theorem 3 with constant 1.

    `bound[i]` is gap[0] exp(-(i + 1) eta / (|Delta|_1 gamma)).
    """

    gap: np.ndarray
    bound: np.ndarray
    gamma: float
    eta: float


def converge(graph, gates, source_rows, source_mass, capacity="degree", pushes=20_000):
    """Measure Theorem 3 on one problem: its curve and its bound, shape (pushes,) or shorter.

    gamma is the largest weighted degree in the support and eta the smallest weight
    that carries flow, as in the theorem.
    """
    exact = solve(graph, gates, source_rows, source_mass, capacity)
    epsilon = 1e-12 * max(float(np.sum(source_mass)), 1.0)
    trace = push(graph, gates, source_rows, source_mass, capacity,
                 Pushing(epsilon=epsilon, most_pushes=pushes))
    best = exact.certificate.objective
    start = -best
    gap = np.maximum(trace.objective - best, 0.0)
    weighted = np.bincount(exact.u, exact.weight, minlength=len(exact.rows))
    weighted = weighted + np.bincount(exact.v, exact.weight, minlength=len(exact.rows))
    retrieved = exact.x > 0
    gamma = float(weighted[retrieved].max(initial=0.0))
    carrying = exact.weight[exact.flow > 0]
    eta = float(carrying.min(initial=np.inf))
    step = np.arange(1, len(gap) + 1)
    rate = eta / (float(exact.source.sum()) * gamma) if len(carrying) else 0.0
    return Convergence(gap, start * np.exp(-rate * step), gamma, eta)


def main():
    rng = np.random.default_rng(0)
    rows = [row(replace(MODEL, separation=s, gamma=g), True, rng)
            for g in (0.0, 0.002, 0.02) for s in (0.0, 5.0, 10.0, 20.0, 40.0)]
    rows.append(row(MODEL, False, rng))
    data = planted(2000, queries=1)
    seeds = data.seeds[0]
    curve = converge(data.graph, Gates(Weights.of_variant("hybrid"), data.queries[0]), seeds,
                     source_mass(data.graph, seeds, "source-degree", 10.0, "degree"))
    places = np.unique(np.geomspace(1, len(curve.gap), 30).astype(int)) - 1
    rows.append({"theorem": 3, "pushes": (places + 1).tolist(), "gap": curve.gap[places].tolist(),
                 "bound": curve.bound[places].tolist(), "gamma": curve.gamma, "eta": curve.eta})
    for line in rows[:-1]:
        print(line)
    print(rows[-1]["gap"][-1], rows[-1]["bound"][-1], rows[-1]["pushes"][-1])
    write("guarantees", rows, seed=0)


if __name__ == "__main__":
    main()
