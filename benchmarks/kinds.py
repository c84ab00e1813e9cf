"""Seven kinds of documents in one table: QAFD beside every rival, with paired intervals.

    python benchmarks/kinds.py DATA DATA [DATA ...] [--cache DIR] [--methods NAME ...]

DATA is a folder with questions.jsonl and passages.jsonl, as for retrieval_quality.py. Prints R@2,
R@5, all gold in the first five and MRR of each set and method, and how far QAFD is ahead of it in R@5
and MRR, with 95% bootstrap intervals over questions. Writes results/kinds.json.
"""

import argparse
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from results import write
from retrieval_quality import METHODS, SEED, workspace

from qafd.evaluate import evaluate
from qafd.evaluate.gold import read_questions
from qafd.evaluate.measures import interval
from qafd.flow import kernel

RIVALS = ("qafd", "vector", "lexical", "fusion", "pagerank", "pagerank .95", "linear")


def compare(folder, cache, methods):
    """A line for each method: its figures on one set, and the lead of the first method."""
    questions = read_questions((folder / "questions.jsonl").read_bytes(), folder.name).questions
    result = evaluate(workspace(folder, cache), [replace(q, answers=()) for q in questions],
                      {name: METHODS[name] for name in methods})
    ours = result.scores[0]
    lines = []
    for score in result.scores:
        lead = {}
        for measure in ("recall_at_5", "reciprocal"):
            gains = np.array([value(one, measure) - value(other, measure)
                              for one, other in zip(ours.trials, score.trials, strict=True)])
            lead[measure] = asdict(interval(gains, np.random.default_rng(SEED)))
        lines.append({"set": folder.name, "method": score.name, "R@2": score.recall[0],
                      "R@5": score.recall[1], "all@5": score.complete, "MRR": score.reciprocal,
                      "ahead": lead})
        print(lines[-1], flush=True)
    return lines


def value(trial, measure):
    """R@5 of a trial, or the reciprocal of its best rank."""
    if measure == "recall_at_5":
        return trial.recall(5)
    ranks = [rank for rank in trial.ranks if rank is not None]
    return 1 / min(ranks) if ranks else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "qafd-benchmarks")
    parser.add_argument("--methods", nargs="*", default=list(RIVALS), choices=list(METHODS))
    arguments = parser.parse_args()
    kernel.load()
    found = []
    for folder in arguments.data:
        found += compare(folder, arguments.cache, arguments.methods)
    write("kinds", found, seed=SEED)


if __name__ == "__main__":
    main()
