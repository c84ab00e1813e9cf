"""Kill the indexing at random moments, and count the graphs that are not those of an undisturbed run.

    python tests/kills.py [--kills 500] [--backend sqlite|postgresql] [--seed 20]
"""

import argparse
import json
import random
import sqlite3
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

from servers import postgres_url
from tiny import TinyEmbedder, TinyExtractor, killed, started, tiny_index

from qafd.ingest import index
from qafd.storage import open_workspace, place_of, remove_workspace
from qafd.time_left import ignore_progress

NAMES = ("Ada", "Bob", "Cyd", "Dan", "Eve", "Fay", "Gus", "Hal")


@dataclass(frozen=True)
class Kills:
    """Kills that were sent, the runs that ended in spite of them, and the faults found."""

    kills: int
    runs: int
    damaged: int
    wrong_digests: int
    wrong_logs: int
    unfinished: int


def story(seed, passages):
    """A text of some passages, about 200 words each."""
    rng = random.Random(seed)
    return "\n\n".join(
        " ".join(f"{rng.choice(NAMES)} met {rng.choice(NAMES)} in {rng.choice(NAMES)}{i}."
                 for _ in range(40)) for i in range(passages)).encode()


def sound(path):
    """Return True if SQLite finds no fault in a file."""
    with closing(sqlite3.connect(path)) as plain:
        return (plain.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
                and plain.execute("PRAGMA foreign_key_check").fetchall() == [])


def log_of(url):
    """Return the passages and what was read in each."""
    with open_workspace(url) as store:
        log = store.log.read()
    return [(c.id, c.text, repr(e)) for c, e in zip(log.chunks, log.extractions, strict=True)]


class Slow(TinyExtractor):
    """Takes 2 ms for a passage, so that kills fall into the reading too."""

    def extract_all(self, chunks):
        for found in super().extract_all(chunks):
            time.sleep(0.002)
            yield found


def slow_index(url, files):
    """Index files in this process."""
    index(url, files, extractor=Slow, embedder=TinyEmbedder, processes=1)


def kill_often(kills, url_of, seed=20, report=ignore_progress):
    """Index the same files again and again, each run killed at random moments until it ends.

    Parameters
    ----------
    url_of : callable
        A name to the URL of a workspace that does not exist (any more).
    """
    records = [{"id": str(i), "title": name, "text": story(i, 5).decode()}
               for i, name in enumerate(NAMES)]
    files = [("eight.jsonl", "\n".join(map(json.dumps, records)).encode()), ("a.txt", story(9, 4))]
    started(slow_index, url_of("first"), files).join()  # loads what all the others share
    begin = time.monotonic()
    started(slow_index, url_of("second"), files).join()
    whole = time.monotonic() - begin
    undisturbed = url_of("undisturbed")
    expected, expected_log = tiny_index(undisturbed, files), log_of(undisturbed)
    rng = random.Random(seed)
    sent = runs = damaged = digests = logs = unfinished = 0
    while sent < kills:
        runs += 1
        url = url_of(f"run{runs}")
        file = Path(place_of(url).written)
        for tries in count(5):
            process = started(slow_index, url, files)
            process.join(rng.triangular(0.05, 1, 0.2) * whole * tries / 5)  # the machine may slow down
            if process.exitcode == 0:
                break
            killed(process)
            sent += 1
            damaged += file.is_file() and not sound(file)
        with open_workspace(url) as store:
            digests += store.graph.digest() != expected
            unfinished += sum(file.status != "done" for file in store.files.all())
        logs += log_of(url) != expected_log
        remove_workspace(url)
        report(Kills(sent, runs, damaged, digests, logs, unfinished))
    return Kills(sent, runs, damaged, digests, logs, unfinished)


def main():
    """Print the counts of a run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--backend", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--seed", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url_of = postgres_url if given.backend == "postgresql" else (
            lambda name: place_of(Path(folder, f"{name}.db")).url)
        kill_often(given.kills, url_of, given.seed, partial(print, given.backend, flush=True))


if __name__ == "__main__":
    import kills  # a child imports what it runs from here by this name

    kills.main()
