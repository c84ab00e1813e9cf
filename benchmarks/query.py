"""How long a question takes on a warm graph: reading it, diffusion, ranking, texts.

    python benchmarks/query.py WORKSPACE.db QUESTIONS.jsonl

QUESTIONS has one {"question": ...} a line. Goals at 1,000 passages: median of the whole within
60 ms, of the diffusion within 10 ms.
"""

import json
import statistics
import sys
import time
from pathlib import Path

from results import write

from qafd.knowledge import KnowledgeGraph


def main():
    """Measure and write benchmarks/results/query.json."""
    knowledge = KnowledgeGraph.open(sys.argv[1])
    questions = [json.loads(line)["question"]
                 for line in Path(sys.argv[2]).read_text("utf-8").splitlines()]
    graph = knowledge.graph.prepare()
    for question in questions[:3]:
        knowledge.retrieve(question)
    whole, planning, diffusion, cpu = [], [], [], []
    for question in questions:
        began, used = time.perf_counter(), time.process_time()
        plan = knowledge.plan(question)
        planned = time.perf_counter()
        retrieval = knowledge.retrieve(plan)
        whole.append(1000 * (time.perf_counter() - began))
        planning.append(1000 * (planned - began))
        diffusion.append(retrieval.work.milliseconds)
        cpu.append(1000 * (time.process_time() - used))
    rows = [{"what": name, "median_ms": round(statistics.median(times), 1),
             "p90_ms": round(statistics.quantiles(times, n=10)[8], 1),
             "worst_ms": round(max(times), 1)}
            for name, times in (("whole question", whole), ("reading the question", planning),
                                ("diffusion", diffusion), ("CPU of the whole", cpu))]
    print(*rows, sep="\n")
    write("query", rows, 0, f"{len(questions)} questions, {len(graph):,} nodes, "
          f"{graph.edge_count:,} edges, {int((graph.kinds == 'passage').sum()):,} passages")


if __name__ == "__main__":
    main()
