"""How well retrieval ranks passages: recall on question sets, each against every rival.

    python benchmarks/retrieval_quality.py DATA [DATA ...] [--methods ...] [--json OUT]

DATA is a folder with passages.jsonl {pid, title, text} and questions.jsonl {qid, question,
gold_pids}; the three sets of the project's measurements are such folders. Passages are read
by the same modules as in an indexed workspace; what was read is kept in --cache.
"""

import argparse
import hashlib
import json
import pickle
import platform
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from qafd.assemble import Reading, assemble, read
from qafd.diffusion import solve
from qafd.extract import LocalExtractor
from qafd.graph import Graph
from qafd.models import LocalEmbedder
from qafd.plan import Planner
from qafd.rank import Ranking, rank
from qafd.records import Chunk, Document, Floats, QueryPlan, Vectors
from qafd.retrieve.base import Corpus
from qafd.retrieve.pagerank import entry_weights, pagerank
from qafd.retrieve.qafd import LAYERS, PRESETS
from qafd.seeds import Match, Passages, match, select_seeds
from qafd.sources import source_mass
from qafd.text import chunk
from qafd.weights import Gates, Weights

CUTS = (2, 5, 10, 20)
RESULTS = Path(__file__).parent / "results" / "retrieval_quality.json"
SEED = 20261121


@dataclass
class QuestionSet:
    """A graph with its questions, read and linked."""

    name: str
    graph: Graph
    passages: Passages
    document: dict[int, str]  # graph row of a passage to its pid
    plans: list[QueryPlan]
    gold: list[list[str]]


@dataclass(frozen=True)
class Method:
    """One line of the table."""

    variant: str = "product"
    damping: float = 0.0  # above 0: personalized PageRank instead of diffusion
    mass: float = 60.0
    entity_share: float = 0.75
    best: int = 5
    ranking: Ranking | None = Ranking()
    base: str = ""  # "dense", "bm25", "fusion": no graph
    preset: str = ""  # a key of PRESETS: what the app and the command line run


METHODS = {
    "bm25": Method(base="bm25"),
    "dense": Method(base="dense"),
    "fusion": Method(base="fusion"),
    "pagerank .5": Method(damping=0.5, variant="plain"),
    "pagerank .95": Method(damping=0.95),
    "pagerank .95, its best ranking": Method(damping=0.95, ranking=Ranking(flow=3)),
    "qafd": Method(),
    "preset best": Method(preset="best"),
    "preset paper": Method(preset="paper"),
    "qafd, plain weights": Method(variant="plain"),
    "qafd, mean": Method(variant="mean"),
    "qafd, hybrid": Method(variant="hybrid"),
    "qafd, x alone": Method(ranking=None),
    "pagerank .95, score alone": Method(damping=0.95, ranking=None),
    "qafd, no coverage": Method(ranking=Ranking(coverage=0)),
    "pagerank .95, no coverage": Method(damping=0.95, ranking=Ranking(coverage=0)),
    "fusion + coverage": Method(base="fusion", ranking=Ranking(lexical=0.5, flow=0)),
}


def read_lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def readings_of(folder: Path, cache: Path, tokens: int) -> list[Reading]:
    """The passages of a set, read by the local models; kept between runs."""
    passages = read_lines(folder / "passages.jsonl")
    extractor = LocalExtractor()
    code = "".join(Path(m.__code__.co_filename).read_text() for m in (chunk, LocalExtractor.extract,
                                                                     LocalEmbedder.embed))
    stamp = hashlib.sha256(f"{code}{tokens}{json.dumps(passages)}".encode()).hexdigest()[:16]
    kept = cache / f"{folder.name}-{stamp}.pickle"
    if not kept.exists():
        embedder = LocalEmbedder()
        chunks: list[Chunk] = []
        for p in passages:
            chunks += chunk(Document(p["pid"], p.get("title", ""), "txt", p["text"]), tokens)
        done = [read(c, e, embedder) for c, e in zip(chunks, extractor.extract_all(chunks),
                                                     strict=True)]
        cache.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(pickle.dumps(done))
    return pickle.loads(kept.read_bytes())  # noqa: S301 -- our own file, written above


class Names:
    """Name vectors, kept between runs."""

    def __init__(self, cache: Path) -> None:
        self._path = cache / "names.pickle"
        self._kept: dict[str, Vectors] = (
            pickle.loads(self._path.read_bytes()) if self._path.exists() else {})  # noqa: S301
        self._embedder = LocalEmbedder()

    def __call__(self, keys: Sequence[str]) -> Vectors:
        new = [key for key in keys if key not in self._kept]
        self._kept |= dict(zip(new, self._embedder.embed(new), strict=True))
        if new:
            self._path.write_bytes(pickle.dumps(self._kept))
        return np.stack([self._kept[key] for key in keys])


def load(folder: Path, cache: Path, tokens: int, limit: int | None = None) -> QuestionSet:
    """Assemble a set's graph and plan its questions."""
    readings = readings_of(folder, cache, tokens)
    assembly = assemble(readings, Names(cache))
    row = {node.id: i for i, node in enumerate(assembly.nodes)}
    graph = Graph.build(
        [node.id for node in assembly.nodes], [node.name for node in assembly.nodes],
        [node.kind for node in assembly.nodes], [row[e.source] for e in assembly.edges],
        [row[e.target] for e in assembly.edges], [e.similarity for e in assembly.edges],
        [e.kind for e in assembly.edges], assembly.alignment, assembly.names,
        [node.tokens for node in assembly.nodes])
    chunks = {reading.chunk.id: reading.chunk for reading in readings}
    key = {node.id: node.key for node in assembly.nodes}
    texts = {i: f"{chunks[key[i]].title}\n{chunks[key[i]].text}" for i in row
             if graph.kinds[row[i]] == "passage"}
    passages = Passages(graph, lambda ids: [texts[i] for i in ids])
    planner = Planner(graph, LocalEmbedder())
    asked = [q for q in read_lines(folder / "questions.jsonl") if q["gold_pids"]][:limit]
    return QuestionSet(
        folder.name, graph, passages,
        {row[i]: chunks[key[i]].document for i in texts},
        [planner.plan(q["question"]) for q in asked], [q["gold_pids"] for q in asked])


def importance(data: QuestionSet, plan: QueryPlan, found: Match, method: Method) -> Floats:
    """x of every row, or the score of personalized PageRank, on the layer qafd runs on."""
    graph = data.graph.layer(LAYERS["passages"])
    seeds = select_seeds(graph, data.passages, plan, found,
                         entity_share=method.entity_share, best=method.best)
    gates = Gates(Weights.named(method.variant),
                  None if method.variant == "plain" else plan.embedding)
    spread = np.zeros(len(graph))
    if method.damping:
        return pagerank(graph, entry_weights(graph, gates), seeds.rows, seeds.shares,
                        method.damping)[0]
    mass = source_mass(graph, seeds.rows, "budget", method.mass, "unit", seeds.shares)
    result = solve(graph, gates, seeds.rows, mass)
    spread[result.rows] = result.x
    return spread


def ranked(data: QuestionSet, plan: QueryPlan, method: Method) -> list[str]:
    """The pids of a question, best first."""
    if method.preset:
        found = PRESETS[method.preset].method.retrieve(Corpus(data.graph, data.passages), plan)
        return list(dict.fromkeys(data.document[data.graph.row[p.id]] for p in found.ranking))
    found = match(data.graph, data.passages, plan)
    if method.base and method.ranking and method.ranking.flow == 0:
        order, _ = rank(data.passages, found, np.zeros(len(data.graph)), method.ranking)
    elif method.base:
        scores = {"dense": found.dense, "bm25": found.lexical, "fusion": found.fusion()}
        order = data.passages.rows[np.argsort(-scores[method.base], kind="stable")]
    else:
        x = importance(data, plan, found, method)
        if method.ranking is None:
            own = x[data.passages.rows]
            order = data.passages.rows[np.lexsort((-found.dense, -own))]
        else:
            order, _ = rank(data.passages, found, x, method.ranking)
    return list(dict.fromkeys(data.document[row] for row in order[:200].tolist()))


def measures(order: list[str], gold: list[str]) -> list[float]:
    """Recall at each cut, all gold in the top 5, reciprocal rank."""
    places = [order.index(pid) if pid in order else 10**6 for pid in gold]
    return [*(float(np.mean([p < cut for p in places])) for cut in CUTS),
            float(all(p < 5 for p in places)), 1.0 / (1 + min(places))]


def evaluate(data: QuestionSet, method: Method) -> tuple[np.ndarray, float]:
    """One row of measures for each question, and the median milliseconds of a question."""
    rows, times = [], []
    for plan, gold in zip(data.plans, data.gold, strict=True):
        start = time.perf_counter()
        order = ranked(data, plan, method)
        times.append(time.perf_counter() - start)
        rows.append(measures(order, gold))
    return np.array(rows), 1e3 * float(np.median(times))


def interval(difference: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    """95% bootstrap interval of a mean paired difference."""
    picks = rng.integers(0, len(difference), (10_000, len(difference)))
    low, high = np.quantile(difference[picks].mean(axis=1), (0.025, 0.975))
    return float(low), float(high)


def table(sets: Sequence[QuestionSet], methods: dict[str, Method],
          say: Callable[[str], None] = print) -> dict[str, dict]:
    """Evaluate the methods on the sets; prints and returns one line each."""
    lines: dict[str, dict] = {}
    for name, method in methods.items():
        found = [evaluate(data, method) for data in sets]
        means = [rows.mean(axis=0) for rows, _ in found]
        mean = np.mean(means, axis=0)
        lines[name] = {
            "sets": {data.name: {
                **{f"recall@{cut}": round(float(m[i]), 4) for i, cut in enumerate(CUTS)},
                "all@5": round(float(m[4]), 4), "mrr": round(float(m[5]), 4),
                "ms": round(ms, 2)} for data, m, (_, ms) in zip(sets, means, found, strict=True)},
            "mean": {"recall@2": round(float(mean[0]), 4), "recall@5": round(float(mean[1]), 4),
                     "recall@10": round(float(mean[2]), 4), "all@5": round(float(mean[4]), 4)},
            "per_question": np.concatenate([rows[:, 1] for rows, _ in found]),
        }
        say(f"{name:28s}" + " | ".join(
            f"{m[0]:.3f} {m[1]:.3f}/{m[4]:.2f} {m[2]:.3f}" for m in means)
            + f" || R@2 {mean[0]:.3f} R@5 {mean[1]:.4f} all@5 {mean[4]:.4f} R@10 {mean[2]:.3f}"
            + f"  {np.mean([ms for _, ms in found]):.1f} ms")
    return lines


def main() -> None:
    """Print the table and write it with commit, machine and seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "qafd-benchmarks")
    parser.add_argument("--tokens", type=int, default=256, help="size of a passage")
    parser.add_argument("--json", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    sets = [load(folder, chosen.cache, chosen.tokens) for folder in chosen.data]
    for data in sets:
        print(f"{data.name}: {len(data.plans)} questions, {len(data.passages)} passages, "
              f"{len(data.graph)} nodes, {data.graph.edge_count} edges, "
              f"{data.graph.component.max() + 1} components")
    lines = table(sets, {name: METHODS[name] for name in chosen.methods})
    rng = np.random.default_rng(SEED)
    if "qafd" in lines:
        ours = lines["qafd"]["per_question"]
        for name, line in lines.items():
            gain = ours - line["per_question"]
            line["qafd_gain"] = [round(float(gain.mean()), 4),
                                 *(round(end, 4) for end in interval(gain, rng))]
            print(f"qafd - {name:28s} {line['qafd_gain']}")
    for line in lines.values():
        del line["per_question"]
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True,
                            text=True, check=True).stdout.strip()
    chosen.json.parent.mkdir(parents=True, exist_ok=True)
    chosen.json.write_text(json.dumps({
        "commit": commit, "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "seed": SEED, "passage_tokens": chosen.tokens, "methods": lines}, indent=1) + "\n")


if __name__ == "__main__":
    main()
