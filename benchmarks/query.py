"""How long a question takes on warm graphs: reading it, diffusion, ranking, texts.

    python benchmarks/query.py QUESTIONS.jsonl WORKSPACE.db [WORKSPACE.db ...]

QUESTIONS has one {"question": ...} a line. Goals for the medians: the whole within 60 ms, at 6,000
passages too, the diffusion within 5 ms. As in the running app, the compiled solver is loaded and
BLAS has one thread.
"""

import json
import os
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when numpy is imported

from results import write

from qafd.flow import kernel
from qafd.knowledge import KnowledgeGraph
from qafd.plan.question import parse_question

WARM = 3  # questions


def diffusions(knowledge, questions):
    """Milliseconds of each diffusion on numpy, for those without numba."""
    return [knowledge.retrieve(question).work.milliseconds for question in questions]


def phases(knowledge, questions):
    """Milliseconds of each question by phase."""
    times = defaultdict(list)
    for question in questions:
        parse_question.cache_clear()  # each is asked twice here
        began, used = time.perf_counter(), time.process_time()
        plan = knowledge.plan(question)
        planned = time.perf_counter()
        work = knowledge.retrieve(plan).work
        done = time.perf_counter()
        times["whole question"].append(1000 * (done - began))
        times["CPU of the whole"].append(1000 * (time.process_time() - used))
        times["reading the question"].append(1000 * (planned - began))
        times["seeds, ranking and reasons"].append(work.total_milliseconds - work.milliseconds)
        times["diffusion"].append(work.milliseconds)
        times["opening the file, texts"].append(
            1000 * (done - planned) - work.total_milliseconds)
    return times


def main():
    """Measure and write benchmarks/results/query.json."""
    questions = [json.loads(line)["question"]
                 for line in Path(sys.argv[1]).read_text("utf-8").splitlines()]
    opened = [KnowledgeGraph.open(path) for path in sys.argv[2:]]
    slow = []
    for knowledge in opened:
        knowledge.graph.prepare()
        slow.append(diffusions(knowledge, questions[:WARM] + questions)[WARM:])
    kernel.load()
    rows = []
    for knowledge, uncompiled in zip(opened, slow, strict=True):
        graph = knowledge.graph
        phases(knowledge, questions[:WARM])
        size = {"passages": int((graph.kinds == "passage").sum()), "nodes": len(graph),
                "edges": graph.edge_count}
        for name, times in (phases(knowledge, questions)
                            | {"diffusion without numba": uncompiled}).items():
            rows.append({**size, "what": name, "median_ms": round(statistics.median(times), 1),
                         "p90_ms": round(statistics.quantiles(times, n=10)[8], 1),
                         "worst_ms": round(max(times), 1)})
            print(rows[-1])
    write("query", rows, 0, f"{len(questions)} questions")


if __name__ == "__main__":
    main()
