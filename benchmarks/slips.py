"""What one slip of the keyboard in each question costs, with words put right and without.

    python benchmarks/slips.py NAME WORKSPACE QUESTIONS [NAME WORKSPACE QUESTIONS ...]

Sets are as for benchmarks/answers.py, answerable questions alone. A word in small letters of six
letters or more, chosen by lot, gets one letter left out, changed or exchanged with the next, not its
last; a question without such a word stays. "first" is the share of questions whose sentence in bold
is right, "quoted" that of all that is quoted; what is withheld is wrong. Writes results/slips.json.
"""

import argparse
import json
import random
from pathlib import Path
from string import ascii_lowercase
from unittest.mock import patch

import numpy as np
from answers import accepted, judged, ours, scorer
from results import write

from qafd.flow import kernel
from qafd.knowledge import KnowledgeGraph
from qafd.plan.spelling import right_word

SEED, LONG = 0, 6


def with_a_slip(question, rng):
    """The question with one slip in one of its long words."""
    typed = question.split(" ")
    may = [at for at, word in enumerate(typed)
           if len(word) >= LONG and word.isascii() and word.isalpha() and word.islower()]
    if not may:
        return question
    at = rng.choice(may)
    word = typed[at]
    i = rng.randrange(1, len(word) - 2)
    typed[at] = rng.choice((word[:i] + word[i + 1:],
                            word[:i] + rng.choice(ascii_lowercase) + word[i + 1:],
                            word[:i] + word[i + 1] + word[i] + word[i + 2:]))
    return " ".join(typed)


def measure(name, workspace, path):
    """A line for the questions as they are, with slips, and with slips that stay."""
    score = scorer(path)
    asked = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    asked = [one for one in asked if accepted(one) and one.get("type") not in ("unanswerable", "Null")]
    rng = random.Random(SEED)
    slipped = [with_a_slip(one["question"], rng) for one in asked]
    knowledge = KnowledgeGraph.open(workspace)
    for told, typed, put_right in (("as they are", [one["question"] for one in asked], right_word),
                                   ("with a slip", slipped, right_word),
                                   ("with a slip, not put right", slipped, lambda *_: "")):
        right, withheld = [], 0
        with patch("qafd.plan.linking.right_word", put_right):
            for question, text in zip(asked, typed, strict=True):
                quoted, abstained = ours(knowledge, knowledge.plan(text))
                right.append(judged(score, question, [] if abstained else quoted))
                withheld += abstained
        first, all_quoted = np.mean(right, axis=0).tolist()
        yield {"set": name, "typed": told, "questions": len(asked), "first": first,
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
    write("slips", rows, seed=SEED)


if __name__ == "__main__":
    main()
