"""How well retrieval ranks passages: every method, every ablation, on question sets.

    python benchmarks/retrieval_quality.py DATA [DATA ...] [--methods ...] [--json OUT]

DATA is a folder with passages.jsonl and questions.jsonl, as `qafd eval retrieval` reads them; the
three sets of the project's measurements are such folders. The passages are indexed into workspaces
in --cache, whose graphs are made anew at every start. Methods are measured by `qafd.evaluate`; what
is no method of the app, because it is only worth a line in this table, is a `Variant` here.
"""

import argparse
import hashlib
import json
import platform
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from qafd import retrieve
from qafd.evaluate import Evaluation, Score, evaluate
from qafd.evaluate.collection import collection
from qafd.evaluate.gold import read_passages, read_questions
from qafd.evaluate.measures import intervals
from qafd.flow import kernel
from qafd.flow.reference import RELEASED, push
from qafd.flow.solver import solve
from qafd.ingest import refresh
from qafd.knowledge import KnowledgeGraph
from qafd.models.embedder import LocalEmbedder
from qafd.reading.names import LocalExtractor
from qafd.reading.text import chunk
from qafd.records import Floats, QueryPlan
from qafd.retrieve.base import Corpus, RankedPassage, Retrieval, Retriever, Work, params_of
from qafd.retrieve.pagerank import PRESETS as PAGERANK
from qafd.retrieve.pagerank import entry_weights, pagerank
from qafd.retrieve.qafd import PRESETS, FlowDiffusion, Problem, importance_of
from qafd.retrieve.rank import Ranking, rank

RESULTS = Path(__file__).parent / "results" / "retrieval_quality.json"
SEED = 20261121
DAMPING = 0.95
ALPHAS, SEEDS = (5.0, 10.0, 20.0, 50.0, 100.0), (20, 30, 40, 50, 60)  # Figure 3 of the paper

QAFD, PAPER = FlowDiffusion(), PRESETS["paper"].method


def exact(problem: Problem) -> Floats:
    """x of the joint diffusion."""
    return importance_of(problem.corpus.graph, problem.solve(), problem.method.layer)


def per_seed(problem: Problem) -> Floats:
    """The sum of x over one diffusion for each seed, with its part of the mass."""
    graph, method = problem.corpus.graph, problem.method
    return sum((importance_of(graph, solve(
        problem.layer, problem.gates, problem.seeds.rows[i:i + 1], problem.mass[i:i + 1],
        method.capacity), method.layer) for i in range(len(problem.seeds.rows))),
        np.zeros(len(graph)))


def released(problem: Problem) -> Floats:
    """x where Algorithm 2 stands after the released code's 500 pushes."""
    trace = push(problem.layer, problem.gates, problem.seeds.rows, problem.mass,
                 problem.method.capacity, replace(RELEASED, seed=SEED))
    x = np.zeros(len(problem.corpus.graph))
    x[trace.rows] = trace.x
    if problem.method.layer == "entities":
        np.add.at(x, *_passages_of_entities(problem, x))
    return x


def _passages_of_entities(problem: Problem, x: Floats) -> tuple[np.ndarray, Floats]:
    """What entities alone give their passages, as `importance_of` does."""
    rows = np.flatnonzero(x > 0)
    reached = problem.corpus.graph.layer({"mention"}).expand(rows)
    return reached.neighbors, np.repeat(x[rows], reached.counts) * reached.similarity


def walk(problem: Problem) -> Floats:
    """Personalized PageRank with damping .95 on the same graph, weights and sources."""
    weight = entry_weights(problem.layer, problem.gates)
    return pagerank(problem.layer, weight, problem.seeds.rows, problem.seeds.shares, DAMPING)


def nothing(problem: Problem) -> Floats:
    """No spreading: passages are ranked by meaning and words."""
    return np.zeros(len(problem.corpus.graph))


@dataclass(frozen=True)
class Variant:
    """QAFD with another way to spread, or to rank; `ranking` None ranks by importance alone."""

    label: ClassVar[str] = "variant"
    idea: ClassVar[str] = ""
    source: ClassVar[str] = ""
    needs: ClassVar[tuple[str, ...]] = ()
    spread: Callable[[Problem], Floats] = exact
    method: FlowDiffusion = QAFD
    ranking: Ranking | None = Ranking()

    def fit_to(self, _):
        return self

    def retrieve(self, corpus: Corpus, plan: QueryPlan) -> Retrieval:
        started = time.perf_counter()
        problem = self.method.problem(corpus, plan)
        x = self.spread(problem)
        if self.ranking is None:
            own = x[corpus.passages.rows]
            best = np.lexsort((-problem.found.dense, -own))
            order, scores = corpus.passages.rows[best], own[best]
        else:
            order, scores, _ = rank(corpus.passages, problem.found, x,
                                    self.ranking)
        top = self.method.top
        return Retrieval(
            plan.question, self.label, {}, (), (), (),
            tuple(RankedPassage(corpus.graph.ids[row], float(score))
                  for row, score in zip(order[:top], scores[:top], strict=True)),
            work=Work(total_milliseconds=1000 * (time.perf_counter() - started)))


METHODS: dict[str, Retriever] = {
    "qafd": QAFD,
    **{name: kind() for name, kind in retrieve.METHODS.items() if name != "qafd"},
    "pagerank .95": PAGERANK["follow"],
    "pagerank .95, its best ranking": Variant(walk, ranking=Ranking(flow=3)),
    **{f"preset {name}": preset.method for name, preset in PRESETS.items()},
    "qafd, plain weights": replace(QAFD, variant="plain"),
    "qafd, mean": replace(QAFD, variant="mean"),
    "qafd, hybrid": replace(QAFD, variant="hybrid"),
    "qafd, shift": replace(QAFD, similarity="shift"),
    "qafd, rbf": replace(QAFD, similarity="rbf"),
    "qafd, per seed": Variant(per_seed),
    "qafd, 500 pushes": Variant(released),
    "preset paper, 500 pushes": Variant(released, PAPER),
    "qafd, x alone": Variant(ranking=None),
    "pagerank .95, score alone": Variant(walk, ranking=None),
    "qafd, no coverage": Variant(ranking=Ranking(coverage=0)),
    "pagerank .95, no coverage": Variant(walk, ranking=Ranking(coverage=0)),
    "fusion + coverage": Variant(nothing, ranking=Ranking(lexical=0.5, flow=0)),
    **{f"preset paper, alpha {alpha:g}": Variant(exact, replace(PAPER, mass=alpha))
       for alpha in ALPHAS},
    **{f"preset paper, {seeds} seeds": Variant(exact, replace(PAPER, seeds=seeds))
       for seeds in SEEDS},
}


def workspace(folder: Path, cache: Path, file: Path | None = None,
              languages: bool = False) -> KnowledgeGraph:
    """A set's passages, read once by this version of the local models, its graph made anew.

    They are in `file`, or in passages.jsonl of the folder.
    """
    code = "".join(Path(m.__code__.co_filename).read_text() for m in (
        chunk, LocalExtractor.extract, LocalEmbedder.embed))
    data = (file or folder / "passages.jsonl").read_bytes()
    stamp = hashlib.sha256(code.encode() + data).hexdigest()[:16]
    cache.mkdir(parents=True, exist_ok=True)
    path = cache / f"{folder.name}-{stamp}{'-languages' * languages}.db"
    known = path.exists()
    KnowledgeGraph.open(path, languages=languages)
    knowledge = collection(path, "passages.jsonl", read_passages(data, folder.name))
    if known:
        with knowledge.store() as store:
            store.assembly.drop()
        refresh(path)
    return knowledge


def measure(knowledge: KnowledgeGraph, folder: Path, methods: dict[str, Retriever],
            limit: int | None) -> Evaluation:
    """All methods on one set; answers are not compared."""
    asked = read_questions((folder / "questions.jsonl").read_bytes(), folder.name, limit)
    result = evaluate(knowledge, [replace(q, answers=()) for q in asked.questions], methods)
    print(f"{folder.name}: {len(result.questions)} questions, {result.passages} passages, "
          f"{len(knowledge.graph)} nodes, {knowledge.graph.edge_count} edges")
    return result


def line(name: str, results: dict[str, Evaluation]) -> dict:
    """One method over all sets, and what `qafd` finds more, question by question."""
    scores = {data: _score(result, name) for data, result in results.items()}
    sets = {data: {
        "recall@2": score.recall[0], "recall@5": score.recall[1], "recall@10": score.recall[2],
        "recall@5_interval": [score.recall_5.low, score.recall_5.high],
        "all@5": score.complete, "mrr": score.reciprocal, "nodes": score.nodes,
        "tokens": score.tokens, "ms": score.milliseconds} for data, score in scores.items()}
    found = {"params": _shown(METHODS[name]), "sets": sets, "mean": {
        key: float(np.mean([values[key] for values in sets.values()]))
        for key in ("recall@2", "recall@5", "recall@10", "all@5")}}
    if "qafd" in {score.name for result in results.values() for score in result.scores}:
        gains = np.array([
            ours.recall(5) - theirs.recall(5) for data, result in results.items()
            for ours, theirs in zip(_score(result, "qafd").trials, scores[data].trials,
                                    strict=True)])
        gain = intervals(gains[None], np.random.default_rng(SEED))[0]
        found["qafd_gain"] = [gain.mean, gain.low, gain.high]
    return found


def _score(result: Evaluation, name: str) -> Score:
    return next(score for score in result.scores if score.name == name)


def _shown(method: Retriever) -> dict:
    """The parameters as JSON: functions by name."""
    if not isinstance(method, Variant):
        return params_of(method)
    return {"spread": method.spread.__name__, "ranking": repr(method.ranking),
            **params_of(method.method)}


def rounded(value):
    """The JSON value with four decimals."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return round(value, 4) if isinstance(value, float) else value


def earlier(path: Path) -> dict:
    """The methods of a stored result, each with the commit that it was measured with."""
    if not path.exists():
        return {}
    stored = json.loads(path.read_text("utf-8"))
    return {name: {"commit": stored["commit"]} | found
            for name, found in stored["methods"].items()}


def say(name: str, found: dict) -> None:
    mean, gain = found["mean"], found.get("qafd_gain")
    ms = np.mean([values["ms"] for values in found["sets"].values()])
    print(f"{name:32}" + " | ".join(
        f"{s['recall@2']:.3f} {s['recall@5']:.3f}/{s['all@5']:.2f} {s['recall@10']:.3f}"
        for s in found["sets"].values())
        + f" || R@2 {mean['recall@2']:.3f} R@5 {mean['recall@5']:.4f} all@5 {mean['all@5']:.4f}"
        f" R@10 {mean['recall@10']:.3f}  {ms:.1f} ms"
        + (f"  qafd {gain[0]:+.3f} ({gain[1]:+.3f} to {gain[2]:+.3f})" if gain else ""))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table and write it with commit, machine and seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS),
                        help="the others keep the rows and the commit that the result has")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "qafd-benchmarks")
    parser.add_argument("--limit", type=int, help="only the first questions of each set")
    parser.add_argument("--json", type=Path, default=RESULTS)
    chosen = parser.parse_args(arguments)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True,
                            text=True, check=True).stdout.strip()
    kernel.load()
    methods = {name: METHODS[name] for name in chosen.methods}
    results = {folder.name: measure(workspace(folder, chosen.cache), folder, methods, chosen.limit)
               for folder in chosen.data}
    lines = {name: line(name, results) for name in methods}
    for name, found in lines.items():
        say(name, found)
    lines = {name: found | {"commit": commit} for name, found in rounded(lines).items()}
    lines = earlier(chosen.json) | lines
    chosen.json.parent.mkdir(parents=True, exist_ok=True)
    chosen.json.write_text(json.dumps({
        "commit": commit, "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "seed": SEED,
        "questions": {name: len(result.questions) for name, result in results.items()},
        "methods": {name: lines[name] for name in METHODS if name in lines}}, indent=1) + "\n")


if __name__ == "__main__":
    main()
