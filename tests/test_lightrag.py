"""LightRAG's own package indexes and answers; what it retrieved is imported, drawn and measured."""

import asyncio
import json
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from qafd.knowledge import KnowledgeGraph
from qafd.models.embedder import local_embedder
from qafd.retrieve.recorded import read_recording
from qafd.runs import load_run
from qafd.runs.imported import import_recording
from qafd.view.drawing import Drawing
from qafd.view.panel import panel_data
from qafd.view.placement import freeze

QUESTION = "Introduce Steve Jobs's products in Apple."
NAMES = ("Steve Jobs", "Tim Cook", "Apple", "iPod", "iMac", "Amazon")


class Words:
    """A tokenizer of words: the usual one would be downloaded."""

    def __init__(self):
        self.known: list[str] = []

    def encode(self, content):
        tokens = []
        for piece in re.findall(r"\s*\S+", content):
            if piece not in self.known:
                self.known.append(piece)
            tokens.append(self.known.index(piece))
        return tokens

    def decode(self, tokens):
        return "".join(self.known[token] for token in tokens)


async def complete(prompt, system_prompt=None, **_):
    """A model that finds the known names of a text, and answers every question alike."""
    if "keywords" in prompt:
        return json.dumps({"high_level_keywords": ["products"], "low_level_keywords": list(NAMES[:3])})
    if "<|#|>" not in f"{prompt}{system_prompt}":
        return "The iPod and the iMac."
    text = prompt.rpartition("Input Text")[2]
    lines = [f"entity<|#|>{name}<|#|>thing<|#|>{name} is named." for name in NAMES if name in text]
    found = [name for name in NAMES if name in text]
    lines += [f"relation<|#|>{found[0]}<|#|>{name}<|#|>named<|#|>Both are named." for name in found[1:]]
    return "\n".join([*lines, "<|COMPLETE|>"])


async def embed(texts):
    return np.asarray(local_embedder().embed(texts), dtype=np.float32)


async def ask_lightrag(folder, texts):
    """Index texts, and return what LightRAG retrieves for the question: as data, as text, answered."""
    from lightrag import LightRAG, QueryParam
    from lightrag.utils import EmbeddingFunc, Tokenizer

    rag = LightRAG(
        working_dir=str(folder), llm_model_func=complete, tokenizer=Tokenizer("words", Words()),
        embedding_func=EmbeddingFunc(embedding_dim=local_embedder().dimension, func=embed))
    await rag.initialize_storages()
    try:
        await rag.ainsert(texts)
        param = QueryParam(mode="mix", enable_rerank=False)
        data = await rag.aquery_data(QUESTION, param)
        answer = await rag.aquery(QUESTION, param)
        param.only_need_context = True
        context = await rag.aquery(QUESTION, param)
    finally:
        await rag.finalize_storages()
    return data, str(context), str(answer)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_what_lightrag_retrieves_is_imported_drawn_and_explained(tmp_path):
    knowledge = KnowledgeGraph.sample("apple-amazon", tmp_path)
    with knowledge.store() as store:
        names = [row.name for row in store.documents.all()][:14]
        texts = [store.documents.get(name).text for name in names]
    with ThreadPoolExecutor(1) as pool:  # a browser test in this process leaves a running loop
        data, context, answer = pool.submit(asyncio.run, ask_lightrag(tmp_path / "rag", texts)).result()
    lines = [json.dumps({"query": QUESTION, "response": answer, **data}),
             json.dumps({"question": "Who led Apple?", "context": context})]
    recording = read_recording("\n".join(lines).encode(), "lightrag.jsonl")
    done = import_recording(knowledge, recording, "our LightRAG")
    assert not done.left_out
    assert not done.unmatched
    for key in done.ids:
        with knowledge.store() as store:
            run = load_run(store, key)
        found = {node.name for node in run.retrieved}
        assert {"Steve Jobs", "Apple"} <= found
        assert "steve-jobs.md" in [passage.document for passage in run.retrieval.passages]
        positions = freeze([run.retrieval], {node.id for node in run.retrieved})[0]
        panel = panel_data([run.retrieval], Drawing(contract=False), positions=positions)["panels"][0]
        assert len(panel["nodes"]) == len(run.retrieved)
        assert panel["edges"]
    assert run.retrieval.passages
    with knowledge.store() as store:
        assert load_run(store, done.ids[0]).quotes[0].text == answer == "The iPod and the iMac."
