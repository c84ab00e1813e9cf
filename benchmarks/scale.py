"""What a document and a question cost as a workspace grows: CPU seconds, memory, bytes.

    python -m benchmarks.scale [--sizes 1000 10000] [--questions 30] [--keep FOLDER]

Passages are drawn, not written: names come as in real texts, some in very many passages and new
ones ever more slowly (Heaps' law), people share last names, and one name can be two people's.
They are put in through the log, with vectors drawn from their words, so that nothing has to be
read by a tagger. Workspaces stay in the folder that is to keep them, and are used again. Questions
have two names and three words that a quarter of the passages have, and are asked with one thread for
products of matrices, as `qafd` sets it. Writes results/scale.json, where larger sizes that are not
measured keep their rows.
"""

import argparse
import json
import multiprocessing
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks import results
from qafd.assemble.entities import read
from qafd.graph_cache import keep_columns
from qafd.ingest import extend
from qafd.ingest.engine import Here
from qafd.ingest.update import GraphUpdate
from qafd.knowledge import KnowledgeGraph
from qafd.reading.text import canonical
from qafd.records import Assertion, Chunk, Document, Extraction, Mention
from qafd.storage import open_workspace
from qafd.storage.rows import embedding_key, key_of

SEED = 5
DIMENSION = 384
CHANGES = 21  # documents that are added, deleted and restored: each has other names, which decides
FOLLOWED = 5  # documents after each of which the columns follow
DISCOUNT, STRENGTH = 0.6, 60.0  # of the Pitman-Yor process: names grow as passages to the .6
SYLLABLES = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
FIRST = ["Ada", "Boris", "Clara", "David", "Elena", "Frank", "Greta", "Henry", "Irma", "Jonas",
         "Karin", "Louis", "Maria", "Nikos", "Olga", "Peter", "Rosa", "Stefan", "Tanja", "Viktor"]
KINDS = {"PERSON": "{first} {word}", "ORG": "{word} {other} Company", "GPE": "{word}",
         "FAC": "{word} {other} Hall"}
VERBS = ["visited", "founded", "left", "praised", "painted", "bought", "described", "joined"]
PLAIN = ["river", "winter", "school", "letter", "market", "bridge", "paper", "garden", "music",
         "harvest", "court", "library", "engine", "village", "journey", "fever"]


class Corpus:
    """Documents of one to five passages, drawn one after the other."""

    def __init__(self, seed: int = SEED) -> None:
        self.rng = random.Random(seed)
        self.names: list[tuple[str, str]] = []
        self.drawn: list[int] = []  # the name of each mention so far
        self.told: set[str] = set()
        self.count = 0

    def name(self) -> tuple[str, str]:
        """A name and its type: a new one ever more seldom, else one as often as it came before."""
        rng, n = self.rng, len(self.drawn)
        if rng.random() < (STRENGTH + DISCOUNT * len(self.names)) / (n + STRENGTH):
            kind = rng.choices(list(KINDS), (5, 2, 3, 1))[0]
            name = KINDS[kind].format(first=rng.choice(FIRST), word=self.word(), other=self.word())
            self.names.append((name, kind))  # drawn twice, it is a homonym
            at = len(self.names) - 1
        else:
            at = self.drawn[rng.randrange(n)]
        self.drawn.append(at)
        return self.names[at]

    def word(self) -> str:
        """A family's or a place's name, often one that others have."""
        many = self.rng.choice((1, 1, 2, 2, 3))
        return "".join(self.rng.choice(SYLLABLES) for _ in range(many + 1)).capitalize()

    def document(self) -> tuple[Document, list[Chunk], list[Extraction]]:
        """The next document with its passages and what a tagger would find in them."""
        number, rng = self.count, self.rng
        self.count += 1
        name = f"{number}.txt"
        title, _ = self.name()
        chunks, extractions, texts, start = [], [], [], 0
        for part in range(rng.choice((1, 2, 2, 3, 5))):
            text, sentences, mentions, assertions = "", [], [], []
            for row in range(rng.randint(3, 6)):
                begin, found = len(text), []
                for _ in range(rng.choice((1, 2, 2))):
                    if found:
                        text += f" {rng.choice(VERBS)} "
                    who, kind = self.name()
                    found.append(Mention(canonical(who), who, len(text), len(text) + len(who), row,
                                         kind))
                    text += who
                words = " ".join(rng.choice(PLAIN) for _ in range(rng.randint(3, 8)))
                text += f" in the {words}."
                sentences.append((begin, len(text)))
                text += " "
                mentions += found
                assertions += [Assertion(a.key, b.key, row, "said")
                               for a, b in pairwise(found) if a.key != b.key]
            text = text.rstrip()
            mentions.append(Mention(canonical(title), title, 0, 0, 0, "title"))
            chunk = Chunk(f"{number:012x}{part:012x}", name, title, text, start, start + len(text))
            chunks.append(chunk)
            extractions.append(Extraction(chunk.id, DrawnTagger.name, tuple(sentences),
                                          tuple(mentions), tuple(assertions)))
            texts.append(text)
            start += len(text) + 2
        return Document(name, title, "txt", "\n\n".join(texts)), chunks, extractions


class DrawnTagger:
    """Stands for the tagger: what it would find is logged already."""

    name = "drawn-1"

    def extract_all(self, chunks):
        """Never asked."""
        raise NotImplementedError(chunks)


class DrawnEmbedder:
    """The sum of a vector for each word and a little of the text's own, so that texts of the same
    words are near."""

    name, dimension = "drawn", DIMENSION

    def embed(self, texts):
        """Unit rows, shape (k, 384)."""
        rows = np.array([self._draw(text) for text in texts], np.float32).reshape(-1, DIMENSION)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)

    def embed_spans(self, text, spans):
        """The text's vector and one for each span."""
        return self.embed([text])[0], self.embed([text[a:b] for a, b in spans])

    def _draw(self, text):
        words = text.casefold().split()
        return sum(map(word_vector, words)) + 0.5 * len(words) ** 0.5 * drawn(text)


def drawn(text):
    """A vector of length about 1 that depends on the text alone."""
    rng = np.random.default_rng(zlib.crc32(text.encode()))
    return rng.standard_normal(DIMENSION, np.float32) / np.float32(DIMENSION ** 0.5)


word_vector = lru_cache(100_000)(drawn)


def engine():
    """What brings a drawn workspace up to date."""
    return Here(DrawnTagger(), DrawnEmbedder())


def put(store, corpus, passages, embedder=None):
    """Log documents until there are so many passages, with their vectors as reading gives them if
    there is an embedder; the names of the documents."""
    names, many = [], 0
    while many < passages:
        with store.transaction():
            for _ in range(200):
                document, chunks, extractions = corpus.document()
                store.files.add(document.name, document.text.encode())
                store.files.claim(document.name)
                store.documents.put(document.name, [(document, tuple(chunks))])
                for chunk, extraction in zip(chunks, extractions, strict=True):
                    store.log.put(chunk, extraction, embedder and vectors_of(
                        embedder, chunk, extraction))
                store.files.finish(document.name)
                names.append(document.name)
                many += len(chunks)
                if many >= passages:
                    break
    return names


def vectors_of(embedder, chunk, extraction):
    """The vectors of a passage, its sentences and the names in it, by their keys."""
    reading = read(chunk, extraction, embedder)
    names = sorted({mention.key for mention in extraction.mentions})
    vectors = dict(zip([embedding_key(embedder.name, name) for name in names],
                       embedder.embed(names), strict=True))
    rows = np.concatenate([reading.vector[None], reading.sentences])
    return {**vectors, key_of(embedder.name, chunk, extraction): rows}


def timed(act):
    """Seconds of processor time of a call, and what it gave."""
    begin = time.process_time()
    made = act()
    return time.process_time() - begin, made


def measure(folder, passages, questions):
    """One row of the table."""
    path = Path(folder, f"{passages}.qafd")
    corpus = Corpus()
    row = {"passages": passages}
    if path.exists():
        with open_workspace(path) as store:
            known = len(store.documents.all())
            while corpus.count < known:
                corpus.document()
            row["passages"] = store.log.count()
    else:
        row["whole assembly s"] = make(path, corpus, passages)
    row |= {"names": len(corpus.names),
            "kB a passage": round(path.stat().st_size / row["passages"] / 1000, 1)}
    changes = {"add": [], "delete": [], "undo": []}
    for _ in range(CHANGES):
        with open_workspace(path) as store:
            (name,) = put(store, corpus, 1)
            changes["add"].append(timed(partial(extend, store, [name], engine()))[0])
        for verb in ("delete", "undo"):
            with open_workspace(path) as store:
                act = partial(getattr(store.documents, verb), name)
                changes[verb].append(timed(act)[0] + timed(
                    GraphUpdate(store, engine()).run)[0])
    for verb, seconds in changes.items():
        row[f"{verb} s"] = round(sorted(seconds)[CHANGES // 2], 3)
    (path.parent / f"{path.name}.columns").unlink(missing_ok=True)
    row["peak MB of changes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    row["read s"] = asked(path, 1)["open s"]
    with open_workspace(path) as store:
        row["columns s"] = round(timed(partial(keep_columns, store))[0], 1)
        if store.place.columns.exists():
            size = store.place.columns.stat().st_size
            row["columns kB a passage"] = round(size / row["passages"] / 1000, 1)
    if "columns kB a passage" in row:
        row |= followed(path, corpus)
    return row | asked(path, questions)


def followed(path, corpus):
    """Columns after a document: the median of some."""
    found = []
    for _ in range(FOLLOWED):
        with open_workspace(path) as store:
            extend(store, put(store, corpus, 1), engine())
        found.append(alone(path, "--follow"))
    middle = map(median, zip(*(row.values() for row in found), strict=True))
    return dict(zip(found[0], middle, strict=True))


def make(path, corpus, passages):
    """Put so many passages into a new workspace; the seconds to make its graph."""
    with open_workspace(path) as store:
        store.vectors.stamp(DrawnEmbedder.name, DIMENSION)
        store.log.use_extractor(DrawnTagger.name)
        put(store, corpus, passages, DrawnEmbedder())
        return round(timed(GraphUpdate(store, engine()).run)[0], 2)


def asked(path, questions):
    """Opening and asking, in a process of its own."""
    return alone(path, "--ask", "--questions", str(questions))


def follow(path):
    """Columns after a document, in a process of its own."""
    with open_workspace(path) as store:
        begin = time.process_time()
        keep_columns(store)
        print({"columns after one document s": round(time.process_time() - begin, 2),
               "columns after one document MB": peak_memory()})


def alone(path, verb, *options):
    """Return the output of a process of its own about a workspace."""
    ran = subprocess.run([sys.executable, "-m", "benchmarks.scale", verb, str(path), *options],
                         cwd=results.ROOT, check=True,
                         env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}, capture_output=True, text=True)
    return dict(eval(ran.stdout.splitlines()[-1]))  # our own figures


def drawn_questions(many):
    """Questions with two names and three ordinary words each."""
    corpus = Corpus()
    names = [corpus.name()[0] for _ in range(2000)]
    rng = random.Random(SEED)
    return [f"Did {rng.choice(names)} give {rng.choice(names)} a {' '.join(rng.sample(PLAIN, 3))}?"
            for _ in range(many)]


def ask(path, questions):
    """Seconds to open, of the first question and of others, and memory."""
    asked = drawn_questions(questions)
    opening, kg = timed(lambda: KnowledgeGraph(path, embedder=DrawnEmbedder()))
    graph_s, _ = timed(lambda: kg.graph)
    first, _ = timed(lambda: kg.retrieve(asked[0]))
    warm = sorted(timed(partial(kg.retrieve, question))[0] for question in asked[1:] or asked)
    row = {"open s": round(opening + graph_s, 2), "first question s": round(first, 2),
           "warm ms": round(1000 * warm[len(warm) // 2]),
           "p95 ms": round(1000 * warm[int(.95 * len(warm))]),
           "MB of questions": peak_memory()}
    if questions >= 20:
        row["ten at once, p95 / p95"] = at_once(kg, asked)
        row["ten at once, two processes"] = divided(path, questions)
    print(row)


def peak_memory():
    """The most that this process held, in MB; `getrusage` would count that of its parent too."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM"))


def at_once(kg, asked):
    """How much longer one of ten questions takes that come at once, by the clock: p95 over p95."""
    alone = [took for question in asked[:20] for took in together(kg, [question])]
    crowded = [took for first in (0, 5, 10) for took in together(kg, asked[first:first + 10])]
    return round(sorted(crowded)[28] / sorted(alone)[18], 1)


def together(kg, asked):
    """Seconds by the clock of some questions that come at once to one process."""
    def ask_one(question):
        begin = time.perf_counter()
        kg.retrieve(question)
        took.append(time.perf_counter() - begin)

    took = []
    threads = [threading.Thread(target=ask_one, args=(question,)) for question in asked]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(took) == len(asked)  # an error would have left one out
    return took


def divided(path, questions):
    """As `at_once`, where two processes have five of the ten questions each."""
    new = multiprocessing.get_context("spawn")
    barrier, found = new.Barrier(2), new.Queue()
    both = [new.Process(target=ask_half, args=(path, questions, half, barrier, found))
            for half in (0, 1)]
    for process in both:
        process.start()
    answers = [found.get() for _ in both]
    for process in both:
        process.join()
    alone = sorted(answers[0][0] or answers[1][0])
    return round(sorted(answers[0][1] + answers[1][1])[28] / alone[18], 1)


def ask_half(path, questions, half, barrier, found):
    """Ask a half of the questions of each ten, when the other process is ready too."""
    kg = KnowledgeGraph(path, embedder=DrawnEmbedder())
    asked = drawn_questions(questions)
    for question in asked[:20]:
        kg.retrieve(question)
    barrier.wait()
    alone = []
    if not half:  # the other waits meanwhile
        alone = [took for question in asked[:20] for took in together(kg, [question])]
    crowded = []
    for first in (0, 5, 10):
        barrier.wait()
        crowded += together(kg, asked[first:first + 10][half::2])
    found.put((alone, crowded))


def exponents(rows):
    """Of each column that grows: the power of the number of passages that it grows by."""
    first, last = rows[0], rows[-1]
    if first["passages"] == last["passages"]:
        return {}
    span = np.log(last["passages"] / first["passages"])
    both = [column for column in first if column != "passages" and min(
        first[column], last.get(column, 0)) > 0]
    return {column: round(float(np.log(last[column] / first[column]) / span), 2) for column in both}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--ask", type=Path)
    parser.add_argument("--follow", type=Path)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    if options.follow:
        follow(options.follow)
        return
    if options.ask:
        ask(options.ask, options.questions)
        return
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for size in options.sizes:
            rows.append(measure(options.keep or folder, size, options.questions))
            print(rows[-1], flush=True)
    rows.append({"exponents": exponents(rows)})
    print(rows[-1])
    stored = json.loads((results.ROOT / "benchmarks" / "results" / "scale.json").read_text("utf-8"))["rows"]
    largest = max(row.get("passages", 0) for row in rows)
    rows[-1:-1] = [row for row in stored if row.get("passages", 0) > 1.5 * largest]
    results.write("scale", rows, SEED, "Passages put in through the log, vectors drawn.")


if __name__ == "__main__":
    main()
