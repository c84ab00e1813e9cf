"""Fit the chance that two names are one entity, and count the wrong ones among the first ten suggestions.

    python benchmarks/duplicates.py WORKSPACE [WORKSPACE ...] --pairs FILE
    python benchmarks/duplicates.py --judged FILE

The first form writes the suggestions of workspaces as JSON lines, to which a person adds "same", true or
false. The second fits their chance by three signs, with each workspace left out in turn, and prints the
weights of `qafd.curate.entities.CHANCE`.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from qafd.curate.entities import SMALL, suggestions
from qafd.knowledge import KnowledgeGraph
from qafd.reading.text.bm25 import stems
from qafd.records import GUESS

FIRST, RIDGE = 10, 0.3


def write_pairs(workspaces, file):
    """Write the suggestions of workspaces to be judged."""
    lines = []
    for path in workspaces:
        knowledge = KnowledgeGraph(path)
        with knowledge.store() as store:
            for pair in suggestions(store, knowledge.graph):
                lines.append(json.dumps({
                    "set": path.stem, "names": [pair.first.name, pair.second.name],
                    "types": [pair.first.type, pair.second.type], "cosine": pair.similarity}))
    file.write_text("\n".join(lines) + "\n", "utf-8")


def signs(pair):
    """The signs of a pair, with 1 for the intercept."""
    forms = [stems(name) - SMALL for name in pair["names"]]
    types = {kind.rstrip(GUESS) for kind in pair["types"]}
    return 1, pair["cosine"], forms[0] == forms[1], "NORP" in types and len(types) > 1


def fit(table, same):
    """The weights of the signs."""
    def loss(weights):
        likely = expit(table @ weights)
        agree = np.where(same, likely, 1 - likely)
        return -np.log(agree + 1e-12).sum() + RIDGE * weights[1:] @ weights[1:]

    return minimize(loss, np.zeros(table.shape[1])).x


def judge(file):
    """Print the wrong ones of the first ten of each set with the others' weights, and those of all."""
    pairs = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    table = np.array([signs(pair) for pair in pairs], float)
    same = np.array([pair["same"] for pair in pairs])
    sets = np.array([pair["set"] for pair in pairs])
    for name in dict.fromkeys(sets.tolist()):
        own = sets == name
        order = np.argsort(-(table[own] @ fit(table[~own], same[~own])), kind="stable")[:FIRST]
        print(name, int(own.sum()), "wrong", int((~same[own][order]).sum()), "of", len(order))
    print("weights", fit(table, same).round(1).tolist())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workspaces", nargs="*", type=Path)
    parser.add_argument("--pairs", type=Path)
    parser.add_argument("--judged", type=Path)
    chosen = parser.parse_args()
    if chosen.judged:
        judge(chosen.judged)
    else:
        write_pairs(chosen.workspaces, chosen.pairs)
