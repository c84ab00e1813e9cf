"""`make bench-authors` with stand-ins that have the interface of the authors' code."""

import json
import sys
from pathlib import Path

import pytest

LINEAR = """
class LinearRAG:
    def __init__(self, global_config):
        self.encode = global_config.embedding_model.encode
    def index(self, passages):
        self.passages, self.rows = passages, self.encode([p.partition(":")[2] for p in passages])
    def retrieve(self, questions):
        scores = [self.rows @ self.encode(q["question"], normalize_embeddings=True) for q in questions]
        return [{"sorted_passage": [self.passages[i] for i in s.argsort()[::-1]]} for s in scores]
"""
HIPPO = """
import json, pathlib
from types import SimpleNamespace
_get_llm_class = _get_embedding_model_class = None
class HippoRAG:
    def __init__(self, save_dir, llm_model_name, embedding_model_name):
        _get_llm_class(None)
        self.model = _get_embedding_model_class(embedding_model_name=embedding_model_name)()
        file = pathlib.Path(save_dir, f"openie_results_ner_{llm_model_name}.json")
        self.docs = json.loads(file.read_text())["docs"]
    def index(self, docs):
        assert docs == [doc["passage"] for doc in self.docs]
    def retrieve(self, queries, num_to_retrieve):
        facts = [(" ".join(t), doc["passage"]) for doc in self.docs for t in doc["extracted_triples"]]
        encode = self.model.batch_encode
        scores = encode([fact for fact, _ in facts], norm=True) @ encode(queries[0])
        order, kept, _ = self.rerank_filter(queries[0], facts, scores.argsort()[::-1].tolist(), 3)
        return [SimpleNamespace(docs=list(dict.fromkeys(facts[i][1] for i in order))[:num_to_retrieve])]
"""
PATHS = """
import asyncio
from dataclasses import dataclass
@dataclass
class QueryParam:
    mode: str = "global"
    only_need_context: bool = False
class PathRAG:
    def __init__(self, working_dir, llm_model_func, embedding_func):
        self.complete = llm_model_func
    def run(self, prompt):
        return asyncio.run(self.complete(prompt))
    def insert(self, texts):
        self.read = {text: self.run("Extract from: " + text) for text in texts}
    def query(self, question, param):
        words = self.run("Give keywords. Query: " + question + "\\n")
        assert param.only_need_context and "low_level_keywords" in words
        names = [name for name in ("Ada Brenner", "Lindau", "Karl Voss") if name in question]
        return "Sources: " + " ".join(t for t, r in self.read.items() if any(n in r for n in names))
"""
FILES = {
    "LinearRAG/src/config.py": "from types import SimpleNamespace as LinearRAGConfig",
    "LinearRAG/src/LinearRAG.py": LINEAR,
    "HippoRAG/src/hipporag/__init__.py": "", "HippoRAG/src/hipporag/HippoRAG.py": HIPPO,
    "PathRAG/PathRAG/__init__.py": PATHS,
    "PathRAG/PathRAG/utils.py": "from types import SimpleNamespace as EmbeddingFunc"}
TEXTS = ["Ada Brenner founded the Lindau Mill.", "Karl Voss was born in Ulm.", "Bread is baked from rye.",
         "The river Argen floods in May.", "Boats carry apples.", "Trains reach Zurich."]
TRIPLES = [[["Ada Brenner", "founded", "Lindau Mill"]], [["Karl Voss", "born in", "Ulm"]],
           [["Bread", "baked from", "rye"]], [["Argen", "floods in", "May"]], [["Boats", "carry", "apples"]],
           [["Trains", "reach", "Zurich"]]]


@pytest.fixture
def folder(tmp_path):
    for name, text in FILES.items():
        file = tmp_path / "code" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    rows = {
        "passages": [{"pid": str(at), "title": f"T{at}", "text": text} for at, text in enumerate(TEXTS)],
        "llm_triples": [{"pid": str(at), "triples": some} for at, some in enumerate(TRIPLES)],
        "questions": [
            {"qid": "1", "question": "What did Ada Brenner found?", "gold_pids": ["0"], "answer": "x"},
            {"qid": "2", "question": "Where was Karl Voss born?", "gold_pids": ["1", "5"], "answer": "Ulm"}]}
    for name, records in rows.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    return tmp_path


def test_each_system_ranks_the_same_passages_and_a_missing_one_is_named(
        folder, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    import authors

    monkeypatch.setattr(authors, "BEST", 1)
    table = authors.measure(folder / "code", folder)
    theirs = {name: mean.mean for name, (_, mean, _) in table.items() if name.startswith("authors")}
    # of the second question one of two gold passages can be first
    assert theirs == {f"authors' {name}": 0.75 for name in ("LinearRAG", "HippoRAG", "PathRAG")}
    assert table["qafd"][1].mean == 0.75
    assert all(less.mean == mean.mean - 0.75 for _, mean, less in table.values())
    assert not {"src", "hipporag", "PathRAG"} & sys.modules.keys()
    (folder / "code" / "PathRAG").rename(folder / "elsewhere")
    assert "authors' PathRAG" not in authors.measure(folder / "code", folder, limit=1)
    assert "PathRAG is left out" in capsys.readouterr().err
