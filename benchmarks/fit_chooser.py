"""Fit the model that chooses quoted sentences, and report each set left out.

    python benchmarks/fit_chooser.py DATA [DATA ...] [--cache DIR]

DATA as in benchmarks/kinds.py, or as benchmarks/check, which has twelve short documents of six kinds and
60 questions written before their answers were looked at; type is "unanswerable" or "Null" where the
documents have no answer. A set's score.py marks sentences, else an answer is right that contains an
accepted one word by word; questions are left out whose accepted answers are in no document in these words.
Sentences are those of the passages that are shown: the ones that the flow reached come first. Where
questions have a "decomposition", as in MuSiQue, its steps are a set of their own, of simple questions.

The order of sentences is fitted listwise: the probability of the right ones among all considered. The
chance is fitted to whether the first is right where the order comes from the other sets. Each set
counts the same. The rival are the ten lines of benchmarks/answers.py; "lead" is ours over it, paired,
with 95% bootstrap intervals over questions. Writes results/chooser.json with each set left out in turn,
and assets/chooser.json fitted to all.
"""

import argparse
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from answers import Containment, accepted, judged, scorer, ten_lines
from kinds import Kind, documents, passages_of
from results import ROOT, _git, write
from scipy.optimize import minimize
from scipy.special import expit

from qafd.answer import LIKELY
from qafd.answer.chooser import FEATURES, ChoiceModel, names_of_chunk, rate_sentences
from qafd.answer.quote import PASSAGES, SENTENCES, read_candidates
from qafd.evaluate.measures import intervals
from qafd.explain.reach import put_reached_first
from qafd.flow import kernel
from qafd.graph_cache import corpus_of
from qafd.reading.text.scripts import length

SEED, RIDGE, BINS = 0, 3.0, 10
SHORTEST = 5  # words of a step that is a question


@dataclass(frozen=True)
class Case:
    """A question: its words, the features of its sentences, (s, k), which of them are right, (s,), and the
    rival's."""

    words: int
    table: np.ndarray
    right: np.ndarray
    absent: bool
    rival: tuple[bool, bool]


def open_set(given, cache):
    """Name, folder and workspace of a set."""
    folder = Path(str(given).partition("=")[0])
    if (folder / "files").is_dir():
        return folder.name, folder, documents(folder / "files", cache / f"{folder.name}.db")
    kind = Kind(given, cache)
    return kind.name, folder, kind.knowledge


def read_questions(path):
    """The questions of a file, and the simple ones that they consist of, with the answers filled in."""
    questions = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    steps = {}
    for question in questions:
        parts = question.get("decomposition", ())
        for part in parts:
            text = re.sub(r"#(\d)", lambda found: parts[int(found[1]) - 1]["answer"], part["question"])  # noqa: B023
            if ">>" not in text and len(text.split()) >= SHORTEST:
                text = f"{text[0].upper()}{text[1:]}".strip(" ?") + "?"
                steps[text] = {"question": text, "answer": part["answer"]}
    return questions, list(steps.values())


def read_cases(path, questions, knowledge):
    """The questions that have an accepted answer, or none in the documents."""
    graph = knowledge.graph
    score, cases = scorer(path), []
    judge = _hold_answers(knowledge) if isinstance(score, Containment) else bool
    with knowledge.store() as store:
        passages = corpus_of(graph, store, ()).passages
        for question in questions:
            absent = question.get("type") in ("unanswerable", "Null")
            if not (absent or judge(question)):
                continue
            plan = knowledge.plan(question["question"], graph)
            found = put_reached_first(knowledge.retrieve(plan, graph=graph))
            candidates = read_candidates(found.passages[:PASSAGES], store)
            if not candidates:
                continue
            names = store.passages.names({each.passage.chunk for each in candidates})
            right = [not absent and judged(score, question, [_show(each, names)])[0] for each in candidates]
            rival = (False, False) if absent else tuple(judged(score, question, ten_lines(knowledge, plan)))
            cases.append(Case(length(plan.words), rate_sentences(candidates, plan, found, passages, store),
                              np.array(right, bool), absent, rival))
    return cases


def _show(candidate, names):
    """A sentence with the speaker that is shown before it."""
    speaker = candidate.find_speaker(names_of_chunk(names, candidate.passage.chunk))
    return f"{speaker.text}: {candidate.text}" if speaker else candidate.text


def _hold_answers(knowledge):
    """A function that tells whether any passage has an accepted answer of a question."""
    texts = "".join(Containment.norm(passage.text) for _, passage in passages_of(knowledge))
    return lambda question: any(Containment.norm(answer) in texts for answer in accepted(question))


def fit_order(sets):
    """The weights of the features, shape (k,)."""
    tables, rights, starts, counts = [], [], [0], []
    for cases in sets:
        cases = [case for case in cases if case.right.any() and not case.right.all()]
        for case in cases:
            tables.append(case.table)
            rights.append(case.right)
            starts.append(starts[-1] + len(case.right))
            counts.append(100 / len(cases))
    table, right = np.concatenate(tables), np.concatenate(rights)
    starts, counts = starts[:-1], np.array(counts)
    owner = np.repeat(np.arange(len(starts)), [len(one) for one in rights])
    spread = table.std(axis=0) + 1e-9
    table = table / spread

    def loss(weights):
        scores = table @ weights
        raised = np.exp(scores - np.maximum.reduceat(scores, starts)[owner])
        total, good = np.add.reduceat(raised, starts), np.add.reduceat(raised * right, starts)
        slope = counts[owner] * (raised / total[owner] - raised * right / good[owner])
        return (counts @ np.log(total / good) + RIDGE * weights @ weights,
                table.T @ slope + 2 * RIDGE * weights)

    return minimize(loss, np.zeros(table.shape[1]), jac=True, method="L-BFGS-B").x / spread


def fit_chance(sets):
    """The weights of the chance that the first sentence is right, see `ChoiceModel`.

    Sentences of a set are ordered by what the other sets say, as those of new documents are.
    """
    signs, rights, counts = [], [], []
    for place, cases in enumerate(sets):
        model = ChoiceModel(fit_order(sets[:place] + sets[place + 1:]), np.zeros(3))
        for case in cases:
            signs.append((1, model.log_probability(case.table), case.words))
            rights.append(case.right[model.weigh(case.table, case.words).order[0]])
            counts.append(100 / len(cases))
    table, rights, counts = np.array(signs, float), np.array(rights, float), np.array(counts)

    def loss(weights):
        likely = expit(table @ weights)
        agree = np.where(rights > 0, likely, 1 - likely)
        return -counts @ np.log(agree + 1e-12), table.T @ (counts * (likely - rights))

    return minimize(loss, np.zeros(3), jac=True, method="L-BFGS-B").x


def fit(sets):
    return ChoiceModel(fit_order(sets), fit_chance(sets))


def report(name, model, cases):
    """A line for a set, and the chance and truth of each of its questions, shape (q, 2)."""
    rows, chances = [], []
    for case in cases:
        choice = model.weigh(case.table, case.words)
        order = list(choice.order[:SENTENCES])
        chances.append((choice.chance, case.right[order[0]], case.absent))
        if not case.absent:
            rows.append((case.right[order[0]], case.right[order].any(), *case.rival))
    rows, chances = np.array(rows, float), np.array(chances, float)
    bold = chances[:, 0] >= LIKELY
    lead = intervals((rows[:, :2] - rows[:, 2:]).T, np.random.default_rng(SEED))
    line = {"set": name, "questions": len(rows), "first": rows[:, 0].mean(), "quoted": rows[:, 1].mean(),
            "rival_first": rows[:, 2].mean(), "rival_quoted": rows[:, 3].mean(),
            "lead_first": asdict(lead[0]), "lead_quoted": asdict(lead[1]),
            "auc": auc(chances[:, 0], chances[:, 1] > 0), "calibration": calibration(chances),
            "bold": int(bold.sum()), "bold_right": int(chances[bold, 1].sum()),
            "absent": int(chances[:, 2].sum()), "absent_bold": int(chances[bold, 2].sum())}
    print(" ".join(f"{key} {value:.3f}" if isinstance(value, float) else f"{key} {value}"
                   for key, value in line.items() if not key.startswith("lead")), flush=True)
    return line, chances


def auc(chances, right):
    """The chance that a right first sentence has a higher chance than a wrong one."""
    above = chances[right][:, None] - chances[~right][None]
    return float(((above > 0) + (above == 0) / 2).mean()) if above.size else None


def calibration(chances):
    """Expected calibration error over bins of as many questions each."""
    gaps = [len(part) * abs(part[:, 0].mean() - part[:, 1].mean()) for part in bins(chances)]
    return float(sum(gaps) / len(chances))


def bins(chances):
    """The chances in order, in parts of as many questions each."""
    ordered = chances[np.argsort(chances[:, 0])]
    return np.array_split(ordered, min(BINS, max(1, len(ordered) // 20)))


def coverage(chances):
    """Precision of the first sentence over the share of questions with the highest chances."""
    ordered = chances[np.argsort(-chances[:, 0])]
    curve = {}
    for share in (0.05, 0.1, 0.2, 0.3, 0.5, 1.0):
        part = ordered[:max(1, round(share * len(ordered)))]
        curve[f"{share:g}"] = [float(part[:, 1].mean()), float(part[-1, 0])]
    return curve


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "qafd-benchmarks")
    arguments = parser.parse_args()
    kernel.load()
    sets = {}
    for one in arguments.data:
        name, folder, knowledge = open_set(one, arguments.cache)
        questions, steps = read_questions(folder / "questions.jsonl")
        sets[name] = read_cases(folder / "questions.jsonl", questions, knowledge)
        if steps:
            sets[f"{name} steps"] = read_cases(folder / "questions.jsonl", steps, knowledge)
        print(name, len(questions), len(steps), flush=True)
    write("chooser", report_left_out(sets), seed=SEED)
    write_model(sets, _git("rev-parse", "HEAD"))


def report_left_out(sets):
    """A line for each set with what the others say, and one over all questions."""
    lines, pooled = [], []
    for name, cases in sets.items():
        line, chances = report(name, fit([other for key, other in sets.items() if key != name]), cases)
        lines.append(line)
        pooled.append(chances)
    chances = np.concatenate(pooled)
    bold = chances[:, 0] >= LIKELY
    lines.append({"set": "all, each left out", "questions": len(chances), "calibration": calibration(chances),
                  "auc": auc(chances[:, 0], chances[:, 1] > 0), "bold": int(bold.sum()),
                  "bold_right": int(chances[bold, 1].sum()), "coverage": coverage(chances),
                  "bins": [part[:, :2].mean(axis=0).tolist() for part in bins(chances)]})
    print(lines[-1])
    return lines


def write_model(sets, commit):
    """Write what all sets say to assets/chooser.json."""
    fitted = asdict(fit(list(sets.values())))
    model = {key: np.round(weights, 4).tolist() for key, weights in fitted.items()}
    model |= {"features": FEATURES, "made_by": "benchmarks/fit_chooser.py", "sets": list(sets),
              "commit": commit}
    (ROOT / "assets" / "chooser.json").write_text(json.dumps(model, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
