"""What a model's relations are worth: the main sample read by rules and by a model's records.

    python benchmarks/model_read.py [--json OUT]

The records of tests/data/model_read.json are what a strong model may give for each document of the
sample. Measured are gold nodes among the retrieved entities and gold passages, over the sample's
questions: the documents read by rules; read with the records while only mentions and synonyms carry
mass; and read with them as they are, where extracted relations carry it too.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from qafd.evaluate import evaluate
from qafd.evaluate.gold import read_questions
from qafd.ingest import index
from qafd.ingest.llm_extract import ModelExtractor
from qafd.knowledge import KnowledgeGraph
from qafd.models import Reply
from qafd.models.prompts import DONE, FIELD, RECORD
from qafd.reading.names import LocalExtractor
from qafd.records import Chunk, Extraction
from qafd.retrieve import qafd
from qafd.retrieve.methods import configured

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "assets" / "samples" / "apple-amazon"
RECORDS = json.loads((ROOT / "tests" / "data" / "model_read.json").read_text("utf-8"))
METHODS = "qafd,pagerank,ego"


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

    def __init__(self) -> None:
        self._local = LocalExtractor()
        self.name = ModelExtractor(_Says("")).name

    def extract_all(self, chunks: Iterable[Chunk]) -> Iterator[Extraction]:
        """One extraction per chunk, in order."""
        chunks = list(chunks)
        for chunk, local in zip(chunks, self._local.extract_all(chunks), strict=True):
            reply = records_of(RECORDS[chunk.document])
            yield ModelExtractor(_Says(reply)).read(chunk, local).extraction


class _Says:
    name = "records"

    def __init__(self, text: str) -> None:
        self._text = text

    def complete(self, *_: object, **__: object) -> Reply:
        return Reply(self._text, 0, 0)


def read_by(reader: type, folder: Path) -> KnowledgeGraph:
    """The sample in a new workspace, read by an extractor."""
    path = folder / f"{reader.__name__}.db"
    index(path, [(file.name, file.read_bytes()) for file in sorted(SAMPLE.glob("*.md"))],
          extractor=reader, processes=1)
    return KnowledgeGraph.open(path)


def measure(knowledge: KnowledgeGraph) -> dict[str, dict[str, float]]:
    """Means over the sample's questions, by method."""
    file = SAMPLE.with_name("apple-amazon.questions.jsonl")
    questions = read_questions(file.read_bytes()).questions
    result = evaluate(knowledge, questions, configured(METHODS, knowledge.graph))
    return {score.name: {
        "node_recall": score.intervals["node_recall"].mean,
        "node_precision": score.intervals["node_precision"].mean,
        "recall@2": score.recall[0], "recall@5": score.recall[1], "contains": score.contains or 0.0}
        for score in result.scores}


def main() -> None:
    """Print the table, and write it where --json says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    carried = qafd.LAYERS["passages"]
    rows = {}
    with TemporaryDirectory() as folder:
        rows["rules"] = measure(read_by(LocalExtractor, Path(folder)))
        knowledge = read_by(Reader, Path(folder))
        qafd.LAYERS["passages"] = carried - {"extracted"}
        rows["model, mentions carry"] = measure(knowledge)
        qafd.LAYERS["passages"] = carried
        rows["model, relations carry too"] = measure(knowledge)
    for name, scores in rows.items():
        for method, values in scores.items():
            print(f"{name:28} {method:10}", *(f"{key} {value:.3f}" for key, value in values.items()))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
