"""Retrieval systems on the same passages and questions in one run: what they cost and what they find.

    pip install python-igraph lightrag-hku      (in an environment of its own, with qafd)
    python benchmarks/peers.py --passages P.jsonl --questions Q.jsonl [--limit 100] [--lightrag 100 200 400]

Every system has the bundled embedding model and no language model: LightRAG is told by a stand-in which
of our names a passage has. Times are CPU of this process, medians over the questions.
"""

import asyncio
import json
import re
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import median

import igraph
import numpy as np

from qafd.evaluate.collection import collection
from qafd.evaluate.gold import read_passages, read_questions
from qafd.flow import kernel
from qafd.models.embedder import local_embedder

K1, B, DAMPING, FIRST = 1.2, 0.75, 0.5, 5


class Dense:
    """Cosine and BM25 in numpy, each scaled to [0, 1] and added."""

    def __init__(self, passages):
        self.ids = [one.id for one in passages]
        texts = [f"{one.title}\n{one.text}" for one in passages]
        self.vectors = local_embedder().embed(texts)
        counts = [Counter(re.findall(r"\w+", text.lower())) for text in texts]
        self.sizes = np.array([sum(count.values()) for count in counts])
        self.found = {}
        for at, count in enumerate(counts):
            for word, many in count.items():
                self.found.setdefault(word, []).append((at, many))

    def scores(self, question):
        """Cosines and BM25 of all passages."""
        near = self.vectors @ local_embedder().embed([question])[0]
        words = np.zeros(len(self.ids))
        for word in set(re.findall(r"\w+", question.lower())) & self.found.keys():
            places, many = np.array(self.found[word]).T
            weight = np.log1p((len(self.ids) - len(places) + 0.5) / (len(places) + 0.5))
            length = 1 - B + B * self.sizes[places] / self.sizes.mean()
            words[places] += weight * many * (K1 + 1) / (many + K1 * length)
        return near, words

    def ask(self, question):
        near, words = self.scores(question)
        both = (near - near.min()) / np.ptp(near) + words / max(words.max(), 1e-9)
        return [self.ids[at] for at in np.argsort(-both, kind="stable")[:FIRST]]


class Walk:
    """Personalized PageRank by igraph over our graph, from the names and the five nearest passages."""

    def __init__(self, knowledge, dense):
        self.knowledge, self.dense, self.graph = knowledge, dense, knowledge.graph
        start = np.repeat(np.arange(len(self.graph)), self.graph.degree)
        once = start < self.graph.neighbors
        self.weights = self.graph.similarity[once].tolist()
        self.whole = igraph.Graph(n=len(self.graph), edges=np.column_stack(
            [start[once], self.graph.neighbors[once]]))
        with knowledge.store() as store:
            chunks = store.passages.of_nodes(self.graph.ids)
        self.documents = {row: passage_of(chunks[key].document)
                          for row, key in enumerate(self.graph.ids) if key in chunks}
        self.rows = {document: row for row, document in self.documents.items()}

    def ask(self, question):
        named = set(self.knowledge.plan(question).names)
        seeds = [row for row, name in enumerate(self.graph.names) if name.lower() in named]
        seeds += [self.rows[found] for found in self.dense.ask(question)]
        reached = self.whole.personalized_pagerank(
            reset_vertices=seeds, damping=DAMPING, weights=self.weights)
        best = sorted(self.documents, key=lambda row: -reached[row])[:FIRST]
        return [self.documents[row] for row in best]


def passage_of(document):
    """The id of a passage, which its document is called after: passages.jsonl#ID."""
    return document.partition("#")[2]


class Ours:
    """`KnowledgeGraph.retrieve` as it is."""

    def __init__(self, knowledge):
        self.knowledge = knowledge

    def ask(self, question):
        return [passage_of(passage.document)
                for passage in self.knowledge.retrieve(question).passages[:FIRST]]


class Tokens:
    """A tokenizer of words for LightRAG, whose own is downloaded."""

    def __init__(self):
        self.known, self.pieces = {}, []

    def encode(self, content):
        tokens = []
        for piece in re.findall(r"\s*\S+", content):
            if piece not in self.known:
                self.known[piece] = len(self.pieces)
                self.pieces.append(piece)
            tokens.append(self.known[piece])
        return tokens

    def decode(self, tokens):
        return "".join(self.pieces[token] for token in tokens)


def stand_in(names):
    """Return a model for LightRAG that finds known names in a text, and relates the first to the others."""
    async def complete(prompt, system_prompt=None, **_):
        if "<|#|>" not in f"{prompt}{system_prompt}":
            found = [name for name in names if name in prompt.rpartition("Query")[2]]
            return json.dumps({"high_level_keywords": [], "low_level_keywords": found[:10]})
        text = prompt.rpartition("Input Text")[2]
        found = [name for name in names if name in text][:20]
        lines = [f"entity<|#|>{name}<|#|>thing<|#|>{name} is named." for name in found]
        lines += [f"relation<|#|>{found[0]}<|#|>{name}<|#|>named<|#|>Both are named." for name in found[1:]]
        return "\n".join([*lines, "<|COMPLETE|>"])
    return complete


async def run_lightrag(folder, passages, questions, names):
    """CPU seconds of indexing, and of each question with the ids of what it found."""
    from lightrag import LightRAG, QueryParam
    from lightrag.utils import EmbeddingFunc, Tokenizer

    async def embed(texts, **_):
        return np.asarray(local_embedder().embed(texts), np.float32)

    rag = LightRAG(working_dir=folder, llm_model_func=stand_in(names), tokenizer=Tokenizer("words", Tokens()),
                   embedding_func=EmbeddingFunc(embedding_dim=local_embedder().dimension, func=embed))
    await rag.initialize_storages()
    try:
        began = time.process_time()
        await rag.ainsert([f"{one.title}\n{one.text}" for one in passages],
                          ids=[one.id for one in passages], file_paths=[one.id for one in passages])
        indexing, asked = time.process_time() - began, []
        for question in questions:
            began = time.process_time()
            found = await rag.aquery_data(question.text, QueryParam(mode="mix", enable_rerank=False))
            chunks = found.get("data", {}).get("chunks", [])
            asked.append((time.process_time() - began, [one["file_path"] for one in chunks[:FIRST]]))
    finally:
        await rag.finalize_storages()
    return indexing, asked


def recall(found, question):
    return len(set(found) & set(question.gold)) / len(question.gold)


def row(system, passages, indexing, times, recalls):
    """A line of the table."""
    return {"system": system, "passages": passages,
            "indexing_ms_a_passage": round(1e3 * indexing / passages, 1),
            "question_ms": round(1e3 * median(times), 1),
            "recall@5": round(sum(recalls) / len(recalls), 3) if recalls else None}


def measure(passage_file, question_file, limit, sizes):
    """Yield a row for each system."""
    passages = read_passages(passage_file.read_bytes(), passage_file.name)
    questions = read_questions(question_file.read_bytes(), question_file.name, limit).questions
    local_embedder().embed(["warm"])
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        knowledge = collection(Path(folder, "own.db"), "passages.jsonl", passages, processes=1)
        indexing = time.process_time() - began
        began = time.process_time()
        dense = Dense(passages)
        embedding = time.process_time() - began
        kernel.load()
        systems = [("qafd", Ours(knowledge), indexing), ("dense + BM25 in numpy", dense, embedding),
                   ("PageRank by igraph on our graph", Walk(knowledge, dense), indexing)]
        for name, system, cost in systems:
            system.ask(questions[0].text)
            times, recalls = [], []
            for question in questions:
                began = time.process_time()
                found = system.ask(question.text)
                times.append(time.process_time() - began)
                recalls.append(recall(found, question))
            yield row(name, len(passages), cost, times, recalls)
        nodes = zip(knowledge.graph.names, knowledge.graph.kinds, strict=True)
        names = sorted({name for name, kind in nodes if kind == "entity" and len(name) > 3})
        wanted = {key for question in questions for key in question.gold}
        ordered = sorted(passages, key=lambda one: one.id not in wanted)  # gold first, to be found
        for size in sizes:
            some = ordered[:size]
            cost, asked = asyncio.run(run_lightrag(f"{folder}/rag{size}", some, questions[:20], names))
            recalls = [recall(found, question)
                       for (_, found), question in zip(asked, questions, strict=False)]
            yield row("LightRAG, a stand-in for its model", len(some), cost, [took for took, _ in asked],
                      recalls if size == len(passages) else [])
