"""Models of a few lines, so that crash loops over the whole pipeline take seconds."""

import hashlib
import itertools
import multiprocessing
import os
import re
import secrets
import sys
from contextlib import contextmanager
from types import ModuleType

import numpy as np

from qafd.graph import kind_names
from qafd.ingest import index, jobs
from qafd.ingest.engine import Here
from qafd.records import Assertion, Edge, Extraction, Mention
from qafd.retrieve.base import Corpus
from qafd.retrieve.layers import LAYERS, build
from qafd.retrieve.layers.texts import gather
from qafd.retrieve.seeds import Passages, passages_of
from qafd.storage import open_workspace, sqlite
from qafd.storage.rows import RunRow, now


class TinyExtractor:
    """Sentences end with a period; every capitalized word is a name, neighbors are related."""

    def __init__(self, name="tiny-1"):
        self.name = name

    def extract_all(self, chunks):
        """One extraction per chunk, in order."""
        for chunk in chunks:
            sentences = [m.span() for m in re.finditer(r"[^.\s][^.]*\.?", chunk.text)]
            mentions, assertions = [], []
            for number, (start, end) in enumerate(sentences):
                names = [Mention(m.group().lower(), m.group(), start + m.start(), start + m.end(),
                                 number, "PERSON")
                         for m in re.finditer(r"[A-Z]\w+", chunk.text[start:end])]
                mentions += names
                assertions += [Assertion(a.key, b.key, number, "met")
                               for a, b in zip(names, names[1:], strict=False) if a.key != b.key]
            if chunk.title:
                mentions.append(Mention(chunk.title.lower(), chunk.title, 0, 0, 0, "title"))
            yield Extraction(chunk.id, self.name, tuple(sentences), tuple(mentions),
                             tuple(assertions))


class TinyEmbedder:
    """Unit vectors drawn from a hash of the text."""

    def __init__(self, name="tiny", dimension=8):
        self.name, self.dimension = name, dimension

    def embed(self, texts):
        """Unit rows, shape (k, d)."""
        rows = np.array([self._draw(text) for text in texts]).reshape(-1, self.dimension)
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    def embed_spans(self, text, spans):
        """The text's vector and one for each span."""
        return self.embed([text])[0], self.embed([text[a:b] for a, b in spans])

    def _draw(self, text):
        seed = int.from_bytes(hashlib.sha256(f"{self.name}{text}".encode()).digest()[:8], "big")
        return np.random.default_rng(seed).standard_normal(self.dimension)


def tiny_engine():
    """Reads in this process with both tiny models."""
    return Here(TinyExtractor(), TinyEmbedder())


def tiny_index(path, files=(), **named):
    """Index files with the tiny models; the digest of what comes out."""
    index(path, files, extractor=TinyExtractor, embedder=TinyEmbedder, **{"processes": 1, **named})
    with open_workspace(path) as store:
        return store.graph.digest()


def tiny_work(path):
    """Do the waiting jobs with the tiny models."""
    jobs.work(path, extractor=TinyExtractor, embedder=TinyEmbedder, processes=1)


def tiny_texts(graph, passages):
    """The texts of a graph made by hand, as `qafd.retrieve.layers` reads them.

    `passages` are in the order of the passages' ids; a sentence ends with a period. A name that
    an edge mentions stands in the sentences that have it, else in the first.
    """
    ids = sorted(graph.ids[row] for row in np.flatnonzero(graph.kinds == "passage").tolist())
    sentences = [[m.group().strip() for m in re.finditer(r"[^.]+\.?", text)] for text in passages]
    said = dict(zip(ids, sentences, strict=True))
    edges = []
    for u in range(len(graph)):
        around = graph.expand(np.array([u]))
        for v, bits in zip(around.neighbors.tolist(), around.edge_kinds.tolist(), strict=True):
            ends = graph.ids[u], graph.ids[v]
            if "mention" in kind_names(bits) and graph.kinds[v] == "passage":
                places = [at for at, text in enumerate(said[ends[1]]) if graph.names[u] in text]
                edges.append(Edge(*ends, "mention", 1.0, evidence=tuple(
                    (ends[1], at) for at in places or [0])))
            if "relation" in kind_names(bits) and ends[0] < ends[1]:
                edges.append(Edge(*ends, "relation", 1.0))
    dimension = 8 if graph.vectors is None else graph.vectors.shape[1]
    return gather(graph, ids, passages, sentences,
                  TinyEmbedder(dimension=dimension).embed([s for some in sentences for s in some]),
                  edges, {i: i for i in ids})


def tiny_corpus(graph, texts):
    """A corpus with all layers built; `texts` gives the texts of passages by node id."""
    passages = passages_of(graph, lambda: Passages.build(graph, texts))
    read = tiny_texts(graph, texts(sorted(graph.ids[row] for row in passages.rows.tolist())))
    embedder = TinyEmbedder(dimension=read.vectors.shape[1])
    return Corpus(graph, passages, {name: build(name, graph, read, embedder) for name in LAYERS})


def _crash_at(k, run, arguments):
    """Run with a death before or after the COMMIT that has the k-th of these points."""
    points = itertools.count(1)
    whole = sqlite.transaction

    def crash_point():
        if next(points) == k:
            os._exit(70)

    @contextmanager
    def crashing(connection, path):
        with whole(connection, path) as inside:
            yield inside
            crash_point()
        crash_point()

    sqlite.transaction = crashing
    run(*arguments)


def started(run, *arguments, crash_at=0):
    """A process that runs a function and dies at its k-th crash point, if any."""
    context = multiprocessing.get_context("forkserver")
    # What the children load; the server that forks them has no path to this folder.
    context.set_forkserver_preload(
        ["qafd.ingest.jobs", "qafd.retrieve.layers", "hypothesis.stateful", "pytest"])
    target = (_crash_at, (crash_at, run, arguments)) if crash_at else (run, arguments)
    process = context.Process(target=target[0], args=target[1])
    # A test of a page leaves its script as the main module, which a child would run.
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        process.start()
    finally:
        sys.modules["__main__"] = main
    return process


def killed(process):
    """Send SIGKILL and wait for the end."""
    process.kill()
    process.join()


def save_run(store, note="", exact=None, **retrieval):
    """Save a run of a retrieval that holds this alone, and return its id."""
    row = RunRow(secrets.token_hex(6), now(), "q", "m", {}, 1, 5, 60, exact, note)
    store.runs.save(row, {"retrieval": {"query": "q", "method": "m", "params": {}, "revision": 1,
                                        "passages": [], **retrieval}})
    return row.id
