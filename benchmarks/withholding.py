"""Whether a question is withheld where its answer is taken out of the documents.

    python benchmarks/withholding.py DATA [DATA ...] [--cache DIR]

DATA as in benchmarks/kinds.py. Each question with gold is answered twice: from the passages that
are retrieved, and from the same without its gold documents (in longdocs: passages with a quote of a
needed place), which must be withheld. "chance" is that of the question having more evidence than
itself without its gold, and any other's (area under the curve); "precision" and "recall" are those
of withholding over both halves, with 95% bootstrap intervals over questions. "learned" are the weights
of a logistic model of all signs but the last over the other sets, relative to that of the cosine,
and its chance on this one; the last, words that are in no document, is too rare to be learned.
"labeled" are the questions that the set says have no answer. Writes results/withholding.json.
"""

import argparse
import json
from dataclasses import astuple, fields, replace
from pathlib import Path

import numpy as np
from kinds import Kind
from results import write

from qafd.answer import NEEDED, SIGNS, AnswerSigns
from qafd.flow import kernel

SEED, DRAWS, STEPS = 0, 1000, 30
RIDGE = 3.0  # of the logistic model's weights, which are standardized


def signs_of(knowledge, retrieval, plan):
    """The signs of evidence in the order of SIGNS; without any sentence none."""
    signs = knowledge.answer(retrieval, plan).signs
    return [0.0] * len(SIGNS) if signs is None else list(astuple(signs))


def read_set(kind):
    """Signs with and without gold, shape (q, 5) each, and those of labeled questions, (u, 5)."""
    knowledge, graph = kind.knowledge, kind.knowledge.graph
    kept, removed, labeled = [], [], []
    for question in kind.questions:
        plan = knowledge.plan(question.text, graph)
        found = knowledge.retrieve(plan, "qafd", graph=graph)
        gold = frozenset().union(*question.places)
        others = tuple(one for one in found.passages if kind.unit_of[one.id] not in gold)
        kept.append(signs_of(knowledge, found, plan))
        removed.append(signs_of(knowledge, replace(found, passages=others), plan))
    for line in (kind.folder / "questions.jsonl").read_text("utf-8").splitlines():
        asked = json.loads(line)
        if asked.get("type") in ("unanswerable", "Null"):
            plan = knowledge.plan(asked["question"], graph)
            found = knowledge.retrieve(plan, "qafd", graph=graph)
            labeled.append(signs_of(knowledge, found, plan))
    return np.array(kept), np.array(removed), np.array(labeled).reshape(-1, len(SIGNS))


def chance(more, less):
    """That a draw of the first is larger than one of the second; half for equal ones."""
    above = (more[:, None] > less[None]).mean()
    return float(above + (more[:, None] == less[None]).mean() / 2)


def learn(sets):
    """Weights for SIGNS: those of a logistic model for "kept", and the shipped last one.

    Each set and half counts the same.
    """
    halves = []
    for kept, removed, _ in sets:
        halves += [(kept[:, :-1], 1.0), (removed[:, :-1], 0.0)]
    signs = np.concatenate([part for part, _ in halves])
    wanted = np.concatenate([np.full(len(part), answered) for part, answered in halves])
    counted = np.concatenate([np.full(len(part), 100 / len(part)) for part, _ in halves])
    spread = signs.std(axis=0)
    table = np.c_[np.ones(len(signs)), (signs - signs.mean(axis=0)) / spread]
    penalty = np.diag([1e-9] + [RIDGE] * signs.shape[1])
    weights = np.zeros(table.shape[1])
    for _ in range(STEPS):
        likely = 1 / (1 + np.exp(-table @ weights))
        slope = table.T @ (counted * (likely - wanted)) + penalty @ weights
        bend = (table.T * (counted * likely * (1 - likely))) @ table + penalty
        weights -= np.linalg.solve(bend, slope)
    learned = weights[1:] / spread
    return np.append(learned / learned[0], SIGNS[-1])


def withheld(kept, removed):
    """Precision and recall of withholding, over both halves."""
    right, wrong = float((removed < NEEDED).sum()), float((kept < NEEDED).sum())
    return right / max(1.0, right + wrong), right / len(removed)


def measure(name, sets):
    """A line for one set, with the weights that the others would choose."""
    kept, removed, labeled = sets[name]
    learned = learn([one for other, one in sets.items() if other != name])
    ours, without = kept @ SIGNS, removed @ SIGNS
    rng = np.random.default_rng(SEED)
    draws = []
    for _ in range(DRAWS):
        drawn = rng.integers(len(ours), size=len(ours))
        draws.append((*withheld(ours[drawn], without[drawn]), chance(ours[drawn], without[drawn])))
    low, high = np.quantile(draws, (0.025, 0.975), axis=0)
    line = {"set": name, "questions": len(kept), "kept_withheld": int((ours < NEEDED).sum())}
    figures = (*withheld(ours, without), chance(ours, without))
    for place, key in enumerate(("precision", "recall", "chance")):
        line[key] = [figures[place], float(low[place]), float(high[place])]
    names = [sign.name for sign in fields(AnswerSigns)]
    line["learned"] = dict(zip(names[:-1], learned[:-1].tolist(), strict=True))
    line["learned_chance"] = chance(kept @ learned, removed @ learned)
    if len(labeled):
        line |= {"labeled": len(labeled), "labeled_withheld": int((labeled @ SIGNS < NEEDED).sum()),
                 "labeled_chance": chance(ours, labeled @ SIGNS)}
    return line


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "qafd-benchmarks")
    arguments = parser.parse_args()
    kernel.load()
    sets = {}
    for one in arguments.data:
        kind = Kind(one, arguments.cache)
        sets[kind.name] = read_set(kind)
    lines = [measure(name, sets) for name in sets]
    for line in lines:
        print(json.dumps(line), flush=True)
    write("withholding", lines, seed=SEED)


if __name__ == "__main__":
    main()
