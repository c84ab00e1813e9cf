"""Answers to questions typed in other ways: what slips.py and around.py share.

Sets are as for benchmarks/answers.py, answerable questions alone. "first" is the share of questions
whose sentence in bold is right, "quoted" that of all that is quoted; what is withheld is wrong.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from answers import accepted, judged, ours, scorer
from results import write

from qafd.flow import kernel
from qafd.knowledge import KnowledgeGraph


class TypedSet:
    """The answerable questions of a set, over its workspace."""

    def __init__(self, workspace, path):
        self.knowledge = KnowledgeGraph.open(workspace)
        self._score = scorer(path)
        asked = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        self._asked = [one for one in asked
                       if accepted(one) and one.get("type") not in ("unanswerable", "Null")]
        self.questions = [one["question"] for one in self._asked]

    def rate(self, texts):
        """How often answers are right when each question is typed as one of `texts`."""
        right, withheld = [], 0
        for question, text in zip(self._asked, texts, strict=True):
            quoted, answer = ours(self.knowledge, self.knowledge.plan(text))
            right.append(judged(self._score, question, quoted))
            withheld += answer.abstained
        first, all_quoted = np.mean(right, axis=0).tolist()
        return {"questions": len(texts), "first": first, "quoted": all_quoted, "withheld": withheld}


def measure_sets(name, description, measure, seed=0):
    """Measure each set of the command line, print its rows, and write results/<name>.json."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("sets", nargs="+", metavar="NAME WORKSPACE QUESTIONS")
    parts = iter(parser.parse_args().sets)
    kernel.load()
    rows = []
    for one, workspace, questions in zip(parts, parts, parts, strict=True):
        for row in measure(TypedSet(workspace, Path(questions))):
            rows.append({"set": one, **row})
            print(rows[-1], flush=True)
    write(name, rows, seed=seed)
