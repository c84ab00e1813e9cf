"""How good quoted answers are, beside ten lines that quote the nearest sentences.

    python benchmarks/answers.py NAME WORKSPACE QUESTIONS [NAME WORKSPACE QUESTIONS ...]

QUESTIONS is a file of JSON lines with question, answer and aliases; type is "unanswerable" or "Null"
where the documents have no answer. Beside it may be a score.py with `right_in` and `norm`, as
longdocs has one; else an answer is right that contains an accepted one word by word. Questions of
yes and no are left out there.

"first" is the share of answerable questions whose first sentence is right, "quoted" that of all that
is quoted, and "bold" counts those that are shown as the answer. Of all that is withheld (unlikely),
"precision" is unanswerable, and "recall" is withheld of what is. The rival quotes four sentences of
the first five passages of dense and BM25 together, by their cosine with the question, .3 of its rare
words, and -.03 a rank; it withholds nothing. "lead" is ours over the rival's, paired, with 95%
bootstrap intervals. Writes results/answers.json, where sets that are not measured keep their rows.
"""

import argparse
import importlib.util
import json
import re
from dataclasses import asdict
from pathlib import Path

import numpy as np
from results import ROOT, write

from qafd.evaluate.measures import intervals
from qafd.flow import kernel
from qafd.knowledge import KnowledgeGraph
from qafd.reading.text.bm25 import content_words, stem, stems

SEED, PASSAGES, SENTENCES = 0, 5, 4


class Containment:
    """Whether sentences contain an accepted answer, word by word."""

    @staticmethod
    def norm(text):
        return " ".join(["", *re.findall(r"[^\W_]+", text.casefold()), ""])

    def right_in(self, question, sentences):
        said = "".join(sentences)
        return any(self.norm(wanted) in said for wanted in accepted(question))


def accepted(question):
    """The answers that count, without yes and no."""
    all_of_them = [question.get("answer") or "", *question.get("aliases", ())]
    return [one for one in all_of_them if one.strip() and one.strip().lower() not in ("yes", "no")]


def scorer(questions):
    """The set's own scorer, else containment."""
    own = questions.parent / "score.py"
    if not own.exists():
        return Containment()
    spec = importlib.util.spec_from_file_location("score", own)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ten_lines(knowledge, plan):
    """The rival's sentences, best first."""
    with knowledge.store() as store:
        passages = knowledge.retrieve(plan, "fusion").passages[:PASSAGES]
        stored = store.passages.sentences(passage.chunk for passage in passages)
    rows = [(passage.text[start:end], rank, vector) for rank, passage in enumerate(passages)
            for start, end, vector in stored.get(passage.chunk, ())]
    if not rows:
        return []
    asked = [stem(word) for word in content_words(plan.words)]
    has = np.array([[word in stems(text) for word in asked] for text, _, _ in rows], float)
    rare = 1 / (1 + has.sum(axis=0))
    score = np.stack([vector for _, _, vector in rows]) @ plan.embedding
    score = score + 0.3 * (has @ rare) / rare.sum() - 0.03 * np.array([rank for _, rank, _ in rows])
    return [rows[i][0] for i in np.argsort(-score, kind="stable")[:SENTENCES]]


def ours(knowledge, plan):
    """Our sentences, the first one first, and the answer that they are of."""
    answer = knowledge.answer(knowledge.retrieve(plan), plan)
    return [sentence.text for sentence in answer.sentences], answer


def measure(name, knowledge, path):
    """A line for each way of answering."""
    score, rows, withheld, bold = scorer(path), [], [], []
    for line in path.read_text("utf-8").splitlines():
        question = json.loads(line)
        absent = question.get("type") in ("unanswerable", "Null")
        if not (absent or accepted(question)) and isinstance(score, Containment):
            continue
        plan = knowledge.plan(question["question"])
        quoted, answer = ours(knowledge, plan)
        withheld.append((absent, answer.abstained))
        if answer.answered:
            bold.append(not absent and judged(score, question, quoted)[0])
        if not absent:
            rows.append([right for some in (quoted, ten_lines(knowledge, plan))
                         for right in judged(score, question, some)])
    table, absent = np.array(rows, float), np.array(withheld, bool)
    both = float((absent[:, 0] & absent[:, 1]).sum())
    ahead = (table[:, :2] - table[:, 2:]).T
    lead = [asdict(each) for each in intervals(ahead, np.random.default_rng(SEED))]
    return {"set": name, "questions": len(table), "first": table[:, 0].mean(),
            "quoted": table[:, 1].mean(), "rival_first": table[:, 2].mean(),
            "rival_quoted": table[:, 3].mean(), "lead": dict(zip(("first", "quoted"), lead,
                                                                 strict=True)),
            "bold": len(bold), "bold_right": sum(bold),
            "unanswerable": int(absent[:, 0].sum()), "withheld": int(absent[:, 1].sum()),
            "precision": both / max(1, absent[:, 1].sum()),
            "recall": both / max(1, absent[:, 0].sum())}


def judged(score, question, sentences):
    """Whether the first sentence is right, and whether all of them are."""
    said = [score.norm(sentence) for sentence in sentences]
    return [bool(said) and score.right_in(question, said[:1]),
            bool(said) and score.right_in(question, said)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+", metavar="NAME WORKSPACE QUESTIONS")
    arguments = parser.parse_args()
    kernel.load()
    measured = []
    parts = iter(arguments.sets)
    for name, workspace, questions in zip(parts, parts, parts, strict=True):
        measured.append(measure(name, KnowledgeGraph.open(workspace), Path(questions)))
        print(measured[-1], flush=True)
    stored = json.loads((ROOT / "benchmarks" / "results" / "answers.json").read_text("utf-8"))["rows"]
    kept = [row for row in stored if row["set"] not in arguments.sets[::3]]
    write("answers", kept + measured, seed=SEED)


if __name__ == "__main__":
    main()
