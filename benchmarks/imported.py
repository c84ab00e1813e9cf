"""Seconds to import and measure questions that another system recorded.

    .venv/bin/python benchmarks/imported.py [--count 1000]
"""

import argparse
import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from qafd.evaluate import evaluate
from qafd.evaluate.gold import Question
from qafd.knowledge import KnowledgeGraph
from qafd.retrieve.recorded import read_recording
from qafd.runs.imported import import_recording, read_columns
from qafd.wording.comparison import say_missed
from qafd.wording.runs import say_imported


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    count = parser.parse_args().count
    with TemporaryDirectory() as folder:
        knowledge = KnowledgeGraph.sample("apple-amazon", Path(folder))
        graph = knowledge.graph
        names = [name for name, kind in zip(graph.names, graph.kinds, strict=True) if kind == "entity"]
        with knowledge.store() as store:
            passages = [store.documents.get(row.name) for row in store.documents.all()]
        lines, asked = [], []
        for number in range(count):
            name, other = names[number % len(names)], names[number // len(names)]
            question = f"What does {name} have to do with {other}?"
            gold = next((each for each in passages if name in each.text), passages[0])
            found = [passages[(number + step) % len(passages)].text for step in range(5)]
            lines.append(json.dumps({"question": question, "results": found}))
            asked.append(Question(str(number), question, (gold.name,)))
        start, begun = time.perf_counter(), time.process_time()
        done = import_recording(knowledge, read_recording("\n".join(lines).encode(), "made"), "mine")
        middle, read = time.perf_counter(), time.process_time()
        result = evaluate(knowledge, asked, read_columns(knowledge, "qafd,mine"))
        end, done_at = time.perf_counter(), time.process_time()
    print(" ".join(say_imported(done, "mine")), *say_missed(result.scores), sep="\n")
    print(f"imported in {middle - start:.1f} s ({read - begun:.1f} s of CPU), measured in "
          f"{end - middle:.1f} s ({done_at - read:.1f} s of CPU)")


if __name__ == "__main__":
    main()
