"""The worth of a model's reading: passages read by rules, and by rules and the triples of a real model.

    python benchmarks/model_read.py FOLDER [--json OUT]

FOLDER has passages.jsonl, questions.jsonl and llm_triples.jsonl. Measured are the passages that have
triples, over the questions whose gold passages they are. Of each method it prints recall@2 and recall@5, and
the difference of recall@5 to the rules with its paired 95 % interval.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np

from qafd.evaluate import SEED, Score, evaluate
from qafd.evaluate.gold import Question
from qafd.evaluate.measures import Interval, intervals
from qafd.ingest import index
from qafd.ingest.llm_extract import ModelExtractor
from qafd.knowledge import KnowledgeGraph
from qafd.models import Reply
from qafd.models.prompts import DONE, FIELD, RECORD
from qafd.reading.names import LocalExtractor
from qafd.records import Chunk, Extraction
from qafd.retrieve.methods import read_methods

Records = Mapping[str, Sequence[tuple[str, str, str, int]]]
METHODS = "qafd,qafd(layer=entities),qafd:paper,qafd:multihop,pagerank"


def records_of(relations: Iterable[tuple[str, str, str, int]]) -> str:
    """The reply of a model to Prompt 1 with these relations and the entities that they join."""
    relations = list(relations)
    names = dict.fromkeys(name for source, _, target, _ in relations for name in (source, target))
    lines = [f'("entity"{FIELD}{name}{FIELD}concept{FIELD})' for name in names]
    lines += [FIELD.join(('("relationship"', source, target, f"{source} {verb} {target}", verb,
                          f"{strength})")) for source, verb, target, strength in relations]
    return f"{RECORD}\n".join(lines) + DONE


class Reader:
    """Extracts with the stored records, over the local reading."""

    records: ClassVar[Records] = {}

    def __init__(self) -> None:
        self._local = LocalExtractor()
        self.name = ModelExtractor(_Says("")).name

    def extract_all(self, chunks: Iterable[Chunk]) -> Iterator[Extraction]:
        """One extraction per chunk, in order."""
        chunks = list(chunks)
        for chunk, local in zip(chunks, self._local.extract_all(chunks), strict=True):
            reply = records_of(self.records[chunk.document.partition("#")[2]])
            yield ModelExtractor(_Says(reply)).read(chunk, local).extraction


class _Says:
    name = "records"

    def __init__(self, text: str) -> None:
        self._text = text

    def complete(self, *_: object, **__: object) -> Reply:
        return Reply(self._text, 0, 0)


@dataclass(frozen=True)
class Collection:
    """Documents, questions about them, and the records of a model."""

    files: Sequence[tuple[str, bytes]]
    questions: Sequence[Question]
    records: Records


def triples(folder: Path) -> Collection:
    """The passages of a folder that a real model read, and the questions that they answer."""
    read = {row["pid"]: row["triples"] for row in _rows(folder / "llm_triples.jsonl")}
    passages = [row for row in _rows(folder / "passages.jsonl") if row["pid"] in read]
    lines = [json.dumps({"id": row["pid"], "title": row["title"], "text": row["text"]}) for row in passages]
    questions = [Question(row["qid"], row["question"], tuple(row["gold_pids"]), (row["answer"],))
                 for row in _rows(folder / "questions.jsonl") if read.keys() >= set(row["gold_pids"])]
    records = {pid: [(*map(str, triple), 5) for triple in some if len(triple) == 3]
               for pid, some in read.items()}
    return Collection([("passages.jsonl", "\n".join(lines).encode())], questions, records)


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def read_by(reader: type, collection: Collection, path: Path) -> KnowledgeGraph:
    """A collection in a new workspace, read by an extractor."""
    Reader.records = collection.records
    index(path, collection.files, extractor=reader, processes=1)
    return KnowledgeGraph.open(path)


def measure(knowledge: KnowledgeGraph, collection: Collection) -> tuple[Score, ...]:
    """Return the scores of the methods."""
    return evaluate(knowledge, collection.questions, read_methods(METHODS, knowledge.graph)).scores


def compare(own: Score, rules: Score) -> Interval:
    """Return the difference of recall@5, question by question."""
    pairs = zip(own.trials, rules.trials, strict=True)
    less = np.array([[trial.recall(5) - other.recall(5) for trial, other in pairs]])
    return intervals(less, np.random.default_rng(SEED))[0]


def main() -> None:
    """Print the table, and write it where --json says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    collection = triples(options.folder)
    rows: dict[str, dict[str, dict[str, float]]] = {"rules": {}, "model": {}}
    with TemporaryDirectory() as folder:
        rules = measure(read_by(LocalExtractor, collection, Path(folder, "rules.db")), collection)
        model = measure(read_by(Reader, collection, Path(folder, "model.db")), collection)
    for name, scores in (("rules", rules), ("model", model)):
        for score, first in zip(scores, rules, strict=True):
            less = compare(score, first)
            rows[name][score.name] = {
                "recall@2": score.recall[0], "recall@5": score.recall[1], "less": less.mean, "low": less.low,
                "high": less.high}
            print(f"{name:8} {score.name:24}",
                  *(f"{key} {value:.3f}" for key, value in rows[name][score.name].items()))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
