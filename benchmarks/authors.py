"""The authors' own code of LinearRAG, HippoRAG 2 and PathRAG next to ours, on the same passages.

    git clone https://github.com/DEEP-PolyU/LinearRAG FOLDER/LinearRAG      (and HippoRAG, PathRAG)
    make bench-authors ARGS="--code FOLDER --data FOLDER [--limit N] [--json OUT]"

Nothing is fetched here, and each needs its own requirements. --data has passages.jsonl, questions.jsonl
and llm_triples.jsonl, the triples that a model read in the passages, which is the graph of all but
LinearRAG. Every system gets the embedder of this package. No language model is called: HippoRAG's filter
keeps all facts, PathRAG's keywords are those of our rules. Prints the share of gold passages among the
first five, and the difference to qafd with its paired 95 % interval. A system that is not in FOLDER is
left out, with a notice.
"""

import argparse
import importlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import model_read
import numpy as np

from qafd.evaluate import SEED, evaluate
from qafd.evaluate.measures import Interval, intervals
from qafd.knowledge import KnowledgeGraph
from qafd.models.embedder import local_embedder
from qafd.retrieve.methods import read_methods

BEST = 5
OURS = "qafd,pagerank,qafd:multihop,linear"
Retrieve = Callable[[str], Sequence[str]]
"""A question to texts of passages, best first."""


class Corpus:
    """The passages, their triples, and a workspace that was read with these."""

    def __init__(self, collection: model_read.Collection, knowledge: KnowledgeGraph) -> None:
        (_, body), = collection.files
        rows = [json.loads(line) for line in body.decode().splitlines()]
        self.texts = {f"{row['title']}\n{row['text']}": row["id"] for row in rows}
        self.triples = {text: collection.records[pid] for text, pid in self.texts.items()}
        self.knowledge = knowledge

    def find(self, answer: str) -> list[str]:
        """Return the passages in a text, in the order in which they begin there."""
        places = {text: answer.find(text.partition("\n")[2][:100]) for text in self.texts}
        return sorted((text for text in places if places[text] >= 0), key=lambda text: places[text])


def embed(texts: str | Sequence[str], *_: Any, **__: Any) -> Any:
    """Return unit rows, or one row for one text, whatever else a system asks for."""
    found = local_embedder().embed([texts] if isinstance(texts, str) else list(texts))
    return found[0] if isinstance(texts, str) else found


def linear(corpus: Corpus, work: Path) -> Retrieve:
    """LinearRAG, on the graph that its own tagger makes."""
    config = importlib.import_module("src.config").LinearRAGConfig(
        dataset_name="passages", working_dir=str(work), embedding_model=SimpleNamespace(encode=embed),
        spacy_model="en_core_web_sm", llm_model=None, max_workers=1)
    system = importlib.import_module("src.LinearRAG").LinearRAG(global_config=config)
    system.index([f"{number}:{text}" for number, text in enumerate(corpus.texts)])

    def retrieve(question: str) -> list[str]:
        (found,) = system.retrieve([{"question": question, "answer": ""}])
        return [text.partition(":")[2] for text in found["sorted_passage"]]
    return retrieve


class HippoEmbedder:
    """Our embedder in the place of HippoRAG's."""

    def __init__(self, **_: Any) -> None:
        self.embedding_dim = local_embedder().dimension

    batch_encode = staticmethod(embed)


def keep_facts(_: str, facts: Sequence[Any], numbers: Sequence[int], len_after_rerank: int | None = None
               ) -> tuple[Sequence[int], Sequence[Any], dict[str, Any]]:
    """Return the first facts in the place of a model's choice."""
    return numbers[:len_after_rerank], facts[:len_after_rerank], {"confidence": None}


def hippo(corpus: Corpus, work: Path) -> Retrieve:
    """HippoRAG 2 on the given triples, without a model."""
    module = importlib.import_module("hipporag.HippoRAG")
    module._get_llm_class = lambda _: None  # type: ignore[attr-defined]
    module._get_embedding_model_class = lambda **_: HippoEmbedder  # type: ignore[attr-defined]
    documents = []
    for text, triples in corpus.triples.items():
        facts = [triple[:3] for triple in triples]
        names = dict.fromkeys(name for source, _, target in facts for name in (source, target))
        documents.append({"idx": "", "passage": text, "extracted_entities": list(names),
                          "extracted_triples": facts})
    (work / "openie_results_ner_none.json").write_text(json.dumps({"docs": documents}), "utf-8")
    system = module.HippoRAG(save_dir=str(work), llm_model_name="none", embedding_model_name="ours")
    system.rerank_filter = keep_facts
    system.index(docs=list(corpus.texts))
    return lambda question: system.retrieve(queries=[question], num_to_retrieve=BEST)[0].docs


def path(corpus: Corpus, work: Path) -> Retrieve:
    """PathRAG on the given triples; passages in the order of its context."""
    module = importlib.import_module("PathRAG")

    async def complete(prompt: str, *_: Any, **__: Any) -> str:
        """Answer its prompt for reading with the triples, that for keywords by rules."""
        for text in corpus.find(prompt):
            return model_read.records_of(corpus.triples[text])
        plan = corpus.knowledge.plan(prompt.rpartition("Query:")[2].partition("\n")[0].strip() or prompt)
        words: dict[str, list[str]] = {"high": [], "low": []}
        for keyword in plan.keywords:
            words[keyword.level].append(keyword.text)
        return json.dumps({f"{level}_level_keywords": some for level, some in words.items()})

    async def vectors(texts: Sequence[str]) -> Any:
        return embed(texts)

    function = importlib.import_module("PathRAG.utils").EmbeddingFunc(
        embedding_dim=local_embedder().dimension, max_token_size=512, func=vectors)
    system = module.PathRAG(working_dir=str(work), llm_model_func=complete, embedding_func=function)
    system.insert(list(corpus.texts))
    asked = module.QueryParam(mode="hybrid", only_need_context=True)
    return lambda question: corpus.find(system.query(question, param=asked))


SYSTEMS: dict[str, tuple[str, Callable[[Corpus, Path], Retrieve]]] = {
    "LinearRAG": (".", linear), "HippoRAG": ("src", hippo), "PathRAG": (".", path)}


@contextmanager
def importing(folder: Path) -> Iterator[None]:
    """Import from a folder, and forget its modules afterwards: two systems have a package `src`."""
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            module = sys.modules[name]
            places = (getattr(module, "__file__", ""), *getattr(module, "__path__", ()))
            if any(str(folder) in str(place) for place in places):
                del sys.modules[name]


def version(folder: Path) -> str:
    """Return the commit of a clone, "" for a folder that is none."""
    command = ["git", "-C", folder, "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def measure(code: Path, data: Path, limit: int | None = None) -> dict[str, tuple[str, Interval, Interval]]:
    """Return version, recall of each system, and its difference to the first."""
    collection = model_read.triples(data)
    questions = collection.questions[:limit]
    found: dict[str, tuple[str, list[float]]] = {}
    with TemporaryDirectory() as folder:
        knowledge = model_read.read_by(model_read.Reader, collection, Path(folder, "ours.db"))
        corpus = Corpus(collection, knowledge)
        result = evaluate(knowledge, questions, read_methods(OURS, knowledge.graph))
        for score in result.scores:
            found[score.name] = "", [trial.recall(BEST) for trial in score.trials]
        for name, (inside, build) in SYSTEMS.items():
            if not (code / name).is_dir():
                print(f"{name} is left out: there is no folder {code / name}", file=sys.stderr)
                continue
            work = Path(folder, name)
            work.mkdir()
            with importing(code / name / inside):
                retrieve = build(corpus, work)
                recalls = []
                for question in questions:
                    first = {corpus.texts[text] for text in list(retrieve(question.text))[:BEST]}
                    recalls.append(len(first & set(question.gold)) / len(question.gold))
            found[f"authors' {name}"] = version(code / name), recalls
    first = next(iter(found.values()))[1]
    table = {}
    for name, (commit, values) in found.items():
        both = np.array([values, np.array(values) - first])
        table[name] = (commit, *intervals(both, np.random.default_rng(SEED)))
    return table


def main() -> None:
    """Print the table, and write it where --json says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--code", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    table = measure(options.code, options.data, options.limit)
    for name, (commit, mean, less) in table.items():
        interval = f"{less.mean:+.3f} [{less.low:+.3f}, {less.high:+.3f}]"
        print(f"{name:22} {commit:10} R@{BEST} {mean.mean:.3f}  {interval}")
    if options.json:
        rows = {name: {"commit": commit, "recall": vars(mean), "difference": vars(less)}
                for name, (commit, mean, less) in table.items()}
        options.json.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
