"""The ladder: what each part of seeds and ranking is worth, over all questions of several sets.

    python benchmarks/ladder.py DATA [DATA ...] [--cache DIR]

DATA as in benchmarks/kinds.py. Every part is taken out of the shipped retrieval alone, and added alone to
the bottom of the ladder: dense + BM25 and importance x. "without" is the change of R@5 and MRR when it
is taken out, "alone" when it is added, each over all questions, with paired 95% bootstrap intervals;
every set counts its questions. A part stays where taking it out surely loses: the upper end of
one of the two is below 0, and its mean at most -.005. Writes results/ladder.json.
"""

import argparse
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from kinds import Kind, measure
from results import write

from qafd.evaluate.measures import intervals
from qafd.flow import kernel
from qafd.knowledge import read_corpus
from qafd.retrieve.qafd import FlowDiffusion, importance_of
from qafd.retrieve.rank import Ranking, rank
from qafd.retrieve.seeds import Match

SEED, LEAST = 0, 0.005
PARTS = ("flow", "lead", "lexical", "coverage", "sentences")
BOTTOM = ("flow", "lexical")
METHOD = FlowDiffusion()


def read_with(problem, graph, importance, parts):
    """The ids of the best passages, with some of PARTS alone."""
    ranking = Ranking.for_certainty(problem.seeds.certainty)
    weights = {name: getattr(ranking, name) * (name in parts) for name in PARTS
               if hasattr(ranking, name)}
    found = problem.found
    match = Match(found.dense, found.by_word, found.sentences if "sentences" in parts else None)
    order = rank(problem.corpus.passages, match, importance, replace(ranking, **weights),
                 METHOD.top)
    return [graph.ids[row] for row in order.rows]


def rate_set(kind):
    """R@5 and MRR of every question for each choice of parts, shape (choices, q, 2)."""
    graph, rows = kind.knowledge.graph, []
    for question in kind.questions:
        plan = kind.knowledge.plan(question.text, graph)
        problem = METHOD.problem(read_corpus(kind.knowledge, graph), plan)
        importance = importance_of(graph, problem.solve(), METHOD.layer)
        figures = []
        for parts in choices():
            recall, _, reciprocal = measure(
                kind.ranks(question, read_with(problem, graph, importance, parts)))
            figures.append((recall, reciprocal))
        rows.append(figures)
    print(kind.name, np.mean(rows, axis=0)[0], flush=True)
    return np.array(rows).transpose(1, 0, 2)


def choices():
    """All parts, all but each, the bottom, and the bottom with each."""
    yield PARTS
    yield from (tuple(other for other in PARTS if other != part) for part in PARTS)
    yield BOTTOM
    yield from ((*BOTTOM, part) for part in PARTS)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "qafd-benchmarks")
    arguments = parser.parse_args()
    kernel.load()
    sets = {}
    for one in arguments.data:
        kind = Kind(one, arguments.cache)
        sets[kind.name] = rate_set(kind)
    table = np.concatenate(list(sets.values()), axis=1)
    lines, bottom = [], len(PARTS) + 1
    for place, part in enumerate(PARTS, 1):
        line = {"part": part, "questions": table.shape[1]}
        for key, base, changed in (("without", 0, place), ("alone", bottom, bottom + place)):
            gains = intervals((table[changed] - table[base]).T, np.random.default_rng(SEED))
            line[key] = {"R@5": asdict(gains[0]), "MRR": asdict(gains[1])}
        loss = line["without"].values()
        line["stays"] = any(one["high"] < 0 and one["mean"] <= -LEAST for one in loss)
        line["sets"] = {name: (rows[place] - rows[0]).mean(axis=0).tolist() for name, rows in sets.items()}
        lines.append(line)
        print(line, flush=True)
    write("ladder", lines, seed=SEED)


if __name__ == "__main__":
    main()
