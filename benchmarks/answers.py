"""How good quoted answers are: do they hold the answer, and are they withheld where there is none?

    python benchmarks/answers.py DATA DATA [DATA ...] [--cache DIR]

DATA is a folder with passages.jsonl and questions.jsonl (with answers), as for
retrieval_quality.py, whose workspaces it shares. "holds" is the share of questions whose quoted
sentences contain an accepted answer (yes and no left out), "bold" that of the one in bold;
"withheld" is the share answered by "Not in these documents", of the set's own questions and of
forty of each other set, which it cannot answer. Writes results/answers.json.
"""

import argparse
import re
from pathlib import Path

import numpy as np
from results import write
from retrieval_quality import workspace

from qafd.evaluate.gold import read_questions
from qafd.flow import kernel

FOREIGN = 40


def plain(text):
    """Words only, casefolded."""
    return " ".join(["", *re.findall(r"[^\W_]+", text.casefold()), ""])


def asked(knowledge, questions):
    """For each question: holds, bold (None without an answer to look for), withheld, sentences."""
    rows = []
    for question in questions:
        plan = knowledge.plan(question.text)
        answer = knowledge.answer(knowledge.retrieve(plan), plan)
        wanted = [plain(a) for a in question.answers if plain(a).strip() not in ("yes", "no")]
        quoted = plain(" ".join(s.text for s in answer.sentences))
        bold = plain(" ".join(s.text for s in answer.sentences if s.best))
        rows.append((any(w in quoted for w in wanted) if wanted else None,
                     any(w in bold for w in wanted) if wanted else None,
                     answer.abstained, len(answer.sentences)))
    return rows


def share(rows, column):
    """The mean of a column where it is known, None where it never is."""
    known = [row[column] for row in rows if row[column] is not None]
    return float(np.mean(known)) if known else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "qafd-benchmarks")
    arguments = parser.parse_args()
    kernel.load()
    questions = {folder.name: read_questions(
        (folder / "questions.jsonl").read_bytes(), folder.name, None).questions
        for folder in arguments.data}
    found = []
    for folder in arguments.data:
        knowledge = workspace(folder, arguments.cache)
        own = asked(knowledge, questions[folder.name])
        foreign = asked(knowledge, [q for name, some in questions.items()
                                    if name != folder.name for q in some[:FOREIGN]])
        found.append({"set": folder.name, "holds": share(own, 0), "bold": share(own, 1),
                      "sentences": share(own, 3), "withheld": share(own, 2),
                      "withheld_foreign": share(foreign, 2)})
        print(found[-1])
    write("answers", found, seed=0)


if __name__ == "__main__":
    main()
