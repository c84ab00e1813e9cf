"""Many sessions for minutes on one workspace: questions, uploads and edits, and what came of them.

    python benchmarks/endurance.py [--minutes 10] [--sessions 50] [--pause 20] [--seed 1] [--steady]

Starts the app in a fresh home. Of ten sessions eight ask in the browser's language, one adds files and
one edits entities, each about every `--pause` seconds. At the end all files must be read, all edits be
there, and the graph be the one that its log gives. Memory is that of the app, the median of the
second fifth of the time against that of the last. With `--steady` the workspace keeps its size: files
replace each other, and edits are undone. Writes results/endurance.json.
"""

import argparse
import asyncio
import random
import tempfile
import time
from pathlib import Path
from statistics import median
from urllib.parse import urlencode

import psutil
import results
from sessions import PATIENCE, page
from start import healthy, start
from websockets.asyncio.client import connect

from qafd.curate import neighbors
from qafd.curate.entities import entities
from qafd.errors import QafdError
from qafd.ingest.jobs import enqueue, needs_worker, start_worker
from qafd.installation import check_workspace
from qafd.storage import open_workspace

PORT = 8597
NAMES = ("Ada Brenner", "Karl Voss", "Lindau Mill", "Eva Stein", "Harbor Trust", "Jonas Wirth")


def add_file(path, number, chance):
    """Add a document of six sentences, and return its name."""
    some = [" ".join((*chance.sample(NAMES, 1), "met", *chance.sample(NAMES, 1), f"in year {number}."))
            for _ in range(6)]
    name = f"{number}.txt"
    with open_workspace(path) as store:
        enqueue(store, [(name, " ".join(some).encode())])
    start_worker(path)
    return name


def edit(path, chance, steady):
    """Connect two entities, or undo an earlier edit; return the number of the edit."""
    with open_workspace(path) as store:
        made = [one.id for one in store.edits.all() if one.undone_at is None]
        if len(made) > 3 and (steady or chance.random() < 0.5):
            number = chance.choice(made)
            store.edits.undo(number)
        else:
            some = chance.sample([one.name for one in entities(store)], 2)
            number = neighbors.connect(store, *some, label=f"edit {chance.randrange(10**9)}")
        enqueue(store)
    start_worker(path)
    return number


class Team:
    """The sessions, and what they did."""

    def __init__(self, path, till, pause, seed, steady):
        self.path, self.till, self.pause, self.steady = path, till, pause, steady
        self.chance = random.Random(seed)
        self.seconds, self.errors, self.files, self.edits, self.refused = [], [], [], [], 0

    async def rest(self):
        await asyncio.sleep(self.chance.uniform(0.5, 1.5) * self.pause)

    async def ask(self, address):
        stream = f"{address.replace('http', 'ws', 1)}/_stcore/stream"
        await self.rest()
        async with connect(stream, subprotocols=["streamlit"], max_size=None, open_timeout=PATIENCE,
                           origin=address, ping_interval=None) as socket:
            while time.monotonic() < self.till:
                query = {"ws": "team", "q": f"Who met {self.chance.choice(NAMES)}?"}
                seconds, _, errors = await page(socket, urlencode(query))
                self.seconds.append(seconds)
                self.errors += errors
                await self.rest()

    async def add(self, number):
        while time.monotonic() < self.till:
            await self.rest()
            number += not self.steady
            self.files.append(await asyncio.to_thread(add_file, self.path, number, self.chance))

    async def change(self):
        while time.monotonic() < self.till:
            await self.rest()
            try:
                self.edits.append(await asyncio.to_thread(edit, self.path, self.chance,
                                                          self.steady))
            except QafdError:  # another session undid the same edit, or the graph is still empty
                self.refused += 1

    async def watch(self, process, memory):
        while time.monotonic() < self.till:
            memory.append(process.memory_info().rss / 1e6)
            await asyncio.sleep(2)


async def run(team, address, many, process, memory):
    work = [team.watch(process, memory)]
    for number in range(many):
        kind = number % 10
        work.append(team.add(1000 * number) if kind == 8 else team.change() if kind == 9
                    else team.ask(address))
    for failed in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(failed, BaseException):
            team.errors.append(repr(failed))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--pause", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steady", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / "team.db"
        first = [add_file(path, number, random.Random(options.seed)) for number in range(20)]
        server = start(home, PORT)
        try:
            address = f"http://127.0.0.1:{PORT}"
            healthy(address)
            memory = []
            team = Team(path, time.monotonic() + 60 * options.minutes, options.pause, options.seed,
                        options.steady)
            asyncio.run(run(team, address, options.sessions, psutil.Process(server.pid), memory))
        finally:
            server.terminate()
            server.wait(30)
        with open_workspace(path) as store:
            while store.queue.open():
                if needs_worker(store):
                    start_worker(path)
                time.sleep(1)
            read = {file.name for file in store.files.all() if file.status == "done"}
            kept = {one.id for one in store.edits.all()}
        broken = [check.text for check in check_workspace(path, deep=True) if not check.ok]
    fifth = len(memory) // 5
    before, after = median(memory[fifth:2 * fifth]), median(memory[-fifth:])
    seconds = sorted(team.seconds)
    row = {"sessions": options.sessions, "minutes": options.minutes, "questions": len(seconds),
           "median s": round(median(seconds), 2), "p95 s": round(seconds[int(.95 * len(seconds))], 2),
           "files": len(team.files), "files lost": len({*first, *team.files} - read),
           "edits": len(team.edits), "edits refused": team.refused,
           "edits lost": len(set(team.edits) - kept), "errors": len(team.errors),
           "damage": len(broken), "MB before": round(before), "MB after": round(after),
           "growth": round(after / before - 1, 3)}
    print(row, *team.errors[:5], *broken[:5], sep="\n")
    results.write("endurance-steady" if options.steady else "endurance", [row], options.seed,
                  f"a step about every {options.pause:g} s a session")


if __name__ == "__main__":
    main()
