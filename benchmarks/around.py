"""What greetings, thanks and other words around each question cost, with all read and with what asks.

    python benchmarks/around.py NAME WORKSPACE QUESTIONS [NAME WORKSPACE QUESTIONS ...]

Sets are as for benchmarks/answers.py, answerable questions alone. "first" is the share of questions
whose sentence in bold is right, "quoted" that of all that is quoted; what is withheld is wrong.
Writes results/around.json.
"""

import argparse
import json
from pathlib import Path
from unittest.mock import patch

import numpy as np
from answers import accepted, judged, ours, scorer
from results import write

from qafd.flow import kernel
from qafd.knowledge import KnowledgeGraph
from qafd.plan.asking import find_asking

AROUND = {
    "nothing": "{}",
    "a greeting and thanks": "Hi! {} Thanks!",
    "a polite mail": "Hello, I hope you are well. I have a quick question. {} Many thanks in advance for "
                     "your help.",
    "how it came": "I was reading this over coffee this morning and got curious. {} I could not find it "
                   "anywhere.",
    "please tell me": "Could you please tell me: {}",
    "a request": "{} Please answer in one sentence.",
}
READERS = {"what asks": find_asking, "all": lambda doc, _: doc.text}


def measure(name, workspace, path):
    """A line for each thing that stands around, by what is read."""
    score = scorer(path)
    asked = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    asked = [one for one in asked if accepted(one) and one.get("type") not in ("unanswerable", "Null")]
    knowledge = KnowledgeGraph.open(workspace)
    for around, template in AROUND.items():
        for read, reader in READERS.items():
            right, withheld = [], 0
            with patch("qafd.plan.find_asking", reader):
                for question in asked:
                    plan = knowledge.plan(template.format(question["question"]))
                    quoted, abstained = ours(knowledge, plan)
                    right.append(judged(score, question, [] if abstained else quoted))
                    withheld += abstained
            first, all_quoted = np.mean(right, axis=0).tolist()
            yield {"set": name, "around": around, "read": read, "questions": len(asked), "first": first,
                   "quoted": all_quoted, "withheld": withheld}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+", metavar="NAME WORKSPACE QUESTIONS")
    parts = iter(parser.parse_args().sets)
    kernel.load()
    rows = []
    for name, workspace, questions in zip(parts, parts, parts, strict=True):
        for row in measure(name, workspace, Path(questions)):
            print(row, flush=True)
            rows.append(row)
    write("around", rows, seed=0)


if __name__ == "__main__":
    main()
