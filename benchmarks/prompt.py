"""Gold passages in the prompt of a model, by tokens, and what further questions add to a ranking.

    python benchmarks/prompt.py DATA [--further QUESTIONS] [--cache DIR]

DATA as in benchmarks/kinds.py. For each method and token budget the share of questions all of whose gold
passages are sent, and their mean recall. QUESTIONS is a file of JSON lines with question and further, the
questions that a model asked after it read the first five passages: R@5 and R@10 without and with them.
Writes results/prompt.json.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from kinds import Kind
from results import write
from retrieval_quality import METHODS, SEED

from qafd.flow import kernel
from qafd.knowledge import draft_answer

BUDGETS = (600, 1000, 1500, 3000)
RIVALS = ("qafd", "fusion", "pagerank", "ego")


def recall_at(ranks, most):
    """The share of gold ranks that are at most so high."""
    return np.mean([rank is not None and rank <= most for rank in ranks])


def fill_prompts(kind, name):
    """The rows of one method: what each budget holds of the gold passages."""
    found = {budget: [] for budget in BUDGETS}
    for question in kind.questions:
        plan = kind.knowledge.plan(question.text)
        retrieval = kind.knowledge.retrieve(plan, METHODS[name])
        for budget in BUDGETS:
            sources = draft_answer(kind.knowledge, retrieval, plan, budget=budget).context.sources
            ranks = kind.ranks(question, [source.passage.id for source in sources])
            found[budget].append(recall_at(ranks, len(sources)))
    for budget, shares in found.items():
        yield {"set": kind.name, "method": name, "tokens": budget, "questions": len(shares),
               "recall": float(np.mean(shares)), "all": float(np.mean(np.array(shares) == 1))}


def follow(kind, name, further):
    """The row of one method: R@5 and R@10 without and with further questions."""
    figures = []
    for question in kind.questions:
        if question.text in further:
            row = []
            for asked in ((), further[question.text]):
                plan = kind.knowledge.plan(question.text, further=asked)
                found = kind.knowledge.retrieve(plan, METHODS[name])
                ranks = kind.ranks(question, [passage.id for passage in found.passages])
                row += [recall_at(ranks, 5), recall_at(ranks, 10)]
            figures.append(row)
    means = np.mean(figures, axis=0).tolist()
    return {"set": kind.name, "method": name, "questions": len(figures), "one step": means[:2],
            "two steps": means[2:]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--further", type=Path)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "qafd-benchmarks")
    arguments = parser.parse_args()
    kernel.load()
    kind = Kind(arguments.data, arguments.cache)
    rows = []
    further = {}
    if arguments.further:
        for line in arguments.further.read_text("utf-8").splitlines():
            asked = json.loads(line)
            further[asked["question"]] = asked["further"]
    for name in RIVALS:
        if further:
            rows.append(follow(kind, name, further))
            print(rows[-1], flush=True)
    for name in RIVALS:
        for row in fill_prompts(kind, name):
            rows.append(row)
            print(row, flush=True)
    write("prompt", rows, seed=SEED)


if __name__ == "__main__":
    main()
