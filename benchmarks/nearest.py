"""Algorithm 1 by sign codes: recall against the exact search, and time at 1e6 rows.

    python benchmarks/nearest.py [--texts FILE.jsonl ...] [--rows 1000000]

`--texts` takes JSONL files with a "text" field (and "title"), whose embeddings are searched for
each other; without them recall is measured on synthetic vectors only. Writes results/nearest.json.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
from results import write

from qafd.models.embedder import LocalEmbedder
from qafd.nearest import SignCodes, nearest

COUNT = 40


def recall(vectors, queries, codes, candidates):
    """Mean share of the exact top 40 that the coded search finds."""
    hits = []
    for query in queries:
        exact = nearest(vectors, query[None], COUNT)
        coded = nearest(vectors, query[None], COUNT, codes, candidates)
        hits.append(np.isin(coded.rows, exact.rows[exact.scores >= exact.scores[-1]]).mean())
    return float(np.mean(hits)), float(np.min(hits))


def real(paths, limit):
    """Unit embeddings of the texts of some JSONL files."""
    texts = []
    for path in paths:
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            texts.append((record.get("title", "") + "\n" + record["text"])[:600])
    texts = list(dict.fromkeys(texts))[:limit]
    return LocalEmbedder().embed(texts)


def synthetic(n, dimensions, rng):
    """Unit rows in clusters of about 150."""
    centers = rng.standard_normal((n // 150, dimensions), np.float32)
    vectors = np.empty((n, dimensions), np.float32)
    for first in range(0, n, 100_000):
        part = slice(first, min(first + 100_000, n))
        block = centers[rng.integers(0, len(centers), part.stop - first)]
        block += rng.standard_normal(block.shape, np.float32)
        vectors[part] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return vectors


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", nargs="*", default=[])
    parser.add_argument("--limit", type=int, default=6000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    rows = []
    if arguments.texts:
        vectors = real(arguments.texts, arguments.limit)
        order = rng.permutation(len(vectors))
        queries, rest = vectors[order[:200]], np.ascontiguousarray(vectors[order[200:]])
        codes = SignCodes.build(rest)
        for candidates in (5, 10, 25, 50):
            mean, worst = recall(rest, queries, codes, candidates)
            rows.append({"data": f"{len(rest)} real texts", "candidates": candidates,
                         "recall": mean, "worst": worst})
            print(rows[-1])
    with tempfile.TemporaryDirectory() as folder:
        vectors = synthetic(arguments.rows, 384, rng)
        queries = vectors[rng.integers(0, len(vectors), 20)]
        queries = queries + 0.03 * rng.standard_normal(queries.shape, np.float32)
        queries /= np.linalg.norm(queries, axis=1, keepdims=True)
        np.save(Path(folder) / "vectors.npy", vectors)
        SignCodes.build(vectors).save(Path(folder))
        del vectors
        vectors = np.load(Path(folder) / "vectors.npy", mmap_mode="r")
        codes = SignCodes.open(Path(folder))
        for candidates in (10, 25):
            mean, worst = recall(vectors, queries, codes, candidates)
            wall, cpu, exact = [], [], []
            for query in queries:
                began, used = time.perf_counter(), time.process_time()
                nearest(vectors, query[None], COUNT, codes, candidates)
                wall.append(time.perf_counter() - began)
                cpu.append(time.process_time() - used)
                began = time.perf_counter()
                nearest(vectors, query[None], COUNT)
                exact.append(time.perf_counter() - began)
            rows.append({"data": f"{len(vectors)} synthetic", "candidates": candidates,
                         "recall": mean, "worst": worst, "wall_ms": 1e3 * float(np.median(wall)),
                         "cpu_ms": 1e3 * float(np.median(cpu)),
                         "exact_wall_ms": 1e3 * float(np.median(exact))})
            print(rows[-1])
    write("nearest", rows, seed=0)


if __name__ == "__main__":
    main()
