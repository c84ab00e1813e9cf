"""Documents in many languages, with the embedding model of English and that of 100 languages.

    python benchmarks/languages.py DATA [DATA ...] [--cache DIR] [--model english languages]

DATA is a folder as `kinds.py` takes it. Prints R@5, all gold in the first five and MRR of each method
with each model, and how often the first quoted sentence, or any, contains the answer, letter by
letter without spaces and signs. Writes results/languages.json, where sets that are not measured keep
their rows.
"""

import argparse
import json
import time
from pathlib import Path

from answers import Containment, accepted, judged, ours, ten_lines
from kinds import Kind, compare
from results import ROOT, write
from retrieval_quality import SEED

from qafd.flow import kernel

METHODS = ["qafd", "vector", "lexical", "fusion", "pagerank .95"]


class Letters(Containment):
    """Return True if sentences contain an accepted answer, in scripts with or without spaces."""

    @staticmethod
    def norm(text):
        return "".join(letter for letter in text.casefold() if letter.isalnum())


def quotes(kind):
    """The share of questions whose first sentence is right, and any; ours, then the rival's."""
    score, rows = Letters(), []
    for line in (kind.folder / "questions.jsonl").read_text("utf-8").splitlines():
        question = json.loads(line)
        if not accepted(question):
            continue
        plan = kind.knowledge.plan(question["question"])
        quoted, answer = ours(kind.knowledge, plan)
        right = judged(score, question, quoted)
        rival = judged(score, question, ten_lines(kind.knowledge, plan))
        rows.append([*right, *rival, answer.answered, answer.answered and right[0]])
    names = ("first", "quoted", "rival_first", "rival_quoted", "bold", "bold_right")
    return {name: float(sum(column)) / len(rows)
            for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "qafd-benchmarks")
    parser.add_argument("--model", nargs="*", default=["english", "languages"])
    parser.add_argument("--methods", nargs="*", default=METHODS)
    arguments = parser.parse_args()
    kernel.load()
    measured = []
    for data in arguments.data:
        for model in arguments.model:
            began = time.process_time()
            kind = Kind(data, arguments.cache, model == "languages")
            seconds = time.process_time() - began
            found = {"model": model, "cpu_seconds": seconds, "rows": compare(kind, arguments.methods)}
            if not (kind.folder / "files").is_dir():
                found |= quotes(kind)
            measured.append({"set": kind.name, **found})
            print(kind.name, {name: value for name, value in found.items() if name != "rows"}, flush=True)
    file = ROOT / "benchmarks" / "results" / "languages.json"
    stored = json.loads(file.read_text("utf-8"))["rows"] if file.exists() else []
    names = {(row["set"], row["model"]) for row in measured}
    kept = [row for row in stored if (row["set"], row["model"]) not in names]
    write("languages", kept + measured, seed=SEED)


if __name__ == "__main__":
    main()
