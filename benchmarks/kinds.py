"""Seven kinds of documents in one table: QAFD beside every rival, with paired intervals.

    python benchmarks/kinds.py DATA [DATA ...] [--cache DIR] [--methods NAME ...] [--check]

DATA is a folder with questions.jsonl and either passages.jsonl or documents (FOLDER=FILE names a
file of passages elsewhere), whose gold are ids, or files/ with real documents and score.py, whose
gold are quotes: what counts is a passage that holds one of a place's quotes, as score.py compares
them. Prints R@5, all gold in the first five and MRR of each set and method, and how far QAFD is
ahead of it, with 95% bootstrap intervals over questions. Writes results/kinds.json, where sets
that are not measured keep their rows.

With --check the weights of the ranking are chosen anew with one set left out at a time, by their
mean R@5 + MRR over the other sets; the left-out set is then measured with them. Writes
results/kinds_left_out.json.
"""

import argparse
import importlib.util
import itertools
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from results import ROOT, write
from retrieval_quality import METHODS, SEED, workspace

from qafd.evaluate.collection import gold_documents
from qafd.evaluate.gold import read_questions
from qafd.evaluate.measures import intervals
from qafd.flow import kernel
from qafd.knowledge import KnowledgeGraph, read_corpus
from qafd.records import node_id
from qafd.retrieve.qafd import importance_of
from qafd.retrieve.rank import Ranking, rank

RIVALS = ("qafd", "vector", "lexical", "fusion", "pagerank", "pagerank .95", "linear")
MEASURES = ("R@5", "all@5", "MRR")
CUT = 5
WEIGHTS = {"flow": (1.0, 1.5, 2.0), "lexical": (0.25, 0.5), "coverage": (0.3, 0.6),
           "unnamed_flow": (0.25, 0.5, 1.0),
           "unnamed_lexical": (0.25, 0.5)}
"""What --check chooses among: weights where names are sure, and where nothing is named."""


@dataclass(frozen=True)
class Judged:
    """A question and its needed places, each the ids of the units any of which will do."""

    text: str
    places: tuple[frozenset[str], ...]


class Kind:
    """A set of questions over its workspace; a unit is what a rank counts."""

    def __init__(self, given, cache, languages=False):
        folder, _, passages = str(given).partition("=")
        self.folder = Path(folder)
        self.name = self.folder.name
        if (self.folder / "files").is_dir():
            path = cache / f"{self.name}{'-languages' * languages}.db"
            self.knowledge = documents(self.folder / "files", path, languages)
            self.questions = self._by_quotes()
        else:
            file = Path(passages) if passages else self.folder / "passages.jsonl"
            self.knowledge = workspace(self.folder, cache, file, languages)
            self.questions = self._by_ids()

    def _by_ids(self):
        """Ranks count documents, as in `qafd eval retrieval`."""
        data = (self.folder / "questions.jsonl").read_bytes()
        asked = read_questions(data, self.name).questions
        found, _ = gold_documents(self.knowledge, asked)
        self.unit_of = {key: one.document for key, one in passages_of(self.knowledge)}
        judged = []
        for one in asked:
            judged.append(Judged(one.text, tuple(found[name] for name in one.gold)))
        return judged

    def _by_quotes(self):
        """Ranks count passages; questions without an answer in the documents are left out."""
        spec = importlib.util.spec_from_file_location("score", self.folder / "score.py")
        score = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(score)
        texts = {key: score.norm(one.text) for key, one in passages_of(self.knowledge)}
        self.unit_of = {one: one for one in texts}
        judged = []
        for line in (self.folder / "questions.jsonl").read_text().splitlines():
            question = json.loads(line)
            if question["type"] == "unanswerable":
                continue
            places = []
            for place in score.places(question):
                quotes = [score.norm(one["quote"]) for one in place]
                having = set()
                for quote in quotes:
                    having.update(one for one, text in texts.items() if quote in text)
                places.append(frozenset(having))
            judged.append(Judged(question["question"], tuple(places)))
        return judged

    def ranks(self, judged, passages):
        """The rank of the best unit of each place, None where none is ranked."""
        units = list(dict.fromkeys(self.unit_of[one] for one in passages))
        places = {unit: rank for rank, unit in enumerate(units, 1)}
        found = []
        for place in judged.places:
            known = [places[unit] for unit in place if unit in places]
            found.append(min(known, default=None))
        return found


def passages_of(knowledge):
    """All passages of a workspace, each with its node's id."""
    with knowledge.store() as store:
        for row in store.documents.all():
            for one in store.documents.passages(row.name, 0, row.passages):
                yield node_id("passage", one.id), one


def documents(folder, path, languages=False):
    """A workspace of the files of a folder, read once."""
    known = path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    knowledge = KnowledgeGraph.open(path, languages=languages)
    if not known:
        knowledge.add_files(folder)
    return knowledge


def measure(ranks):
    """R@5, whether all gold is in the first five, and the reciprocal of the best rank."""
    found = [rank is not None and rank <= CUT for rank in ranks]
    best = min((rank for rank in ranks if rank is not None), default=np.inf)
    return float(np.mean(found)), float(all(found)), 1.0 / best


def compare(kind, methods):
    """A line for each method: its figures on one set, and the lead of the first method."""
    kind.knowledge.build_layers(sorted({need for name in methods for need in METHODS[name].needs}))
    graph = kind.knowledge.graph
    figures = {name: [] for name in methods}
    for question in kind.questions:
        plan = kind.knowledge.plan(question.text, graph)
        for name in methods:
            found = kind.knowledge.retrieve(plan, METHODS[name], graph=graph)
            ranks = kind.ranks(question, [passage.id for passage in found.passages])
            figures[name].append(measure(ranks))
    ours = np.array(figures[methods[0]])
    lines = []
    for name, values in figures.items():
        rows = np.array(values)
        lead = {}
        for column, one in enumerate(MEASURES):
            gains = ours[:, column] - rows[:, column]
            lead[one] = asdict(intervals(gains[None], np.random.default_rng(SEED))[0])
        lines.append({"set": kind.name, "questions": len(rows), "passages": len(kind.unit_of),
                      "method": name, **dict(zip(MEASURES, rows.mean(axis=0).tolist(), strict=True)),
                      "ahead": lead})
        print(lines[-1]["set"], name, *(f"{figure:.3f}" for figure in rows.mean(axis=0)), flush=True)
    return lines


def settings():
    """All combinations of WEIGHTS."""
    for values in itertools.product(*WEIGHTS.values()):
        yield dict(zip(WEIGHTS, values, strict=True))


def ranking_of(chosen, certainty):
    """`Ranking.for_certainty` with chosen weights at its two ends."""
    named = Ranking(flow=chosen["flow"], lead=chosen["flow"], lexical=chosen["lexical"],
                    coverage=chosen["coverage"])
    unnamed = Ranking(flow=chosen["unnamed_flow"], lead=0, lexical=chosen["unnamed_lexical"], coverage=0)
    mixed = {name: certainty * weight + (1 - certainty) * getattr(unnamed, name)
             for name, weight in asdict(named).items()}
    return Ranking(**mixed)


def try_settings(kind):
    """R@5 and MRR of each of `settings` on one set, shape (settings, 2)."""
    method = METHODS["qafd"]
    graph = kind.knowledge.graph
    figures = []
    for question in kind.questions:
        plan = kind.knowledge.plan(question.text, graph)
        problem = method.problem(read_corpus(kind.knowledge, graph), plan)
        importance = importance_of(graph, problem.solve(), method.layer)
        rows = []
        for chosen in settings():
            order = rank(problem.corpus.passages, problem.found, importance,
                         ranking_of(chosen, problem.seeds.certainty))
            ids = [graph.ids[row] for row in order.rows[:method.top]]
            recall, _, reciprocal = measure(kind.ranks(question, ids))
            rows.append((recall, reciprocal))
        figures.append(rows)
    return np.mean(figures, axis=0)


def leave_out(kinds):
    """For each set: what the others choose, and the set's figures with it and with the best of all."""
    tried = list(settings())
    tables = {kind.name: try_settings(kind) for kind in kinds}
    ours = asdict(Ranking()) | {f"unnamed_{name}": weight
                                for name, weight in asdict(Ranking.for_certainty(0)).items()}
    shipped = [one.items() <= ours.items() for one in tried].index(True)
    lines = []
    for name, table in tables.items():
        others = np.mean([one.sum(axis=1) for other, one in tables.items() if other != name], axis=0)
        best = int(others.argmax())
        lines.append({"set": name, "chosen_by_others": tried[best],
                      "left_out": dict(zip(("R@5", "MRR"), table[best].tolist(), strict=True)),
                      "shipped": dict(zip(("R@5", "MRR"), table[shipped].tolist(), strict=True)),
                      "best_for_it": dict(zip(("R@5", "MRR"), table.max(axis=0).tolist(),
                                              strict=True))})
        print(json.dumps(lines[-1]), flush=True)
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "qafd-benchmarks")
    parser.add_argument("--methods", nargs="*", default=list(RIVALS), choices=list(METHODS))
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    kernel.load()
    kinds = [Kind(one, arguments.cache) for one in arguments.data]
    if arguments.check:
        write("kinds_left_out", leave_out(kinds), seed=SEED)
        return
    measured = []
    for kind in kinds:
        measured += compare(kind, arguments.methods)
    stored = json.loads((ROOT / "benchmarks" / "results" / "kinds.json").read_text("utf-8"))["rows"]
    names = {kind.name for kind in kinds}
    write("kinds", [row for row in stored if row["set"] not in names] + measured, seed=SEED)


if __name__ == "__main__":
    main()
