"""Index a file from cold: passages a second, peak memory, and the same digest after kill -9.

    python -m benchmarks.indexing passages.jsonl [--kills 10]

The file has one JSON record a line, with a title and a text. Writes results/indexing.json.
"""

import argparse
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import results
from qafd.ingest import index
from qafd.storage import open_workspace

SEED = 0


def started(path, file):
    """A process that indexes the file, as the command line does.

    What it imports is compiled beside the workspace, as the installation leaves it compiled.
    """
    variables = {name: value for name, value in os.environ.items()
                 if name != "PYTHONDONTWRITEBYTECODE"}
    variables["PYTHONPYCACHEPREFIX"] = str(path.parent / "compiled")
    return subprocess.Popen([sys.executable, "-m", "benchmarks.indexing", str(file),
                             "--into", str(path)], cwd=results.ROOT, start_new_session=True,
                            env=variables)


def peak_memory(process):
    """Wait for a process; the largest resident size of it and of each descendant, in MB."""
    peak = {}
    while process.poll() is None:
        for pid in descendants(process.pid):
            try:
                status = Path(f"/proc/{pid}/status").read_text()
                name = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
            except OSError:
                continue
            for line in status.splitlines():
                if line.startswith("VmHWM"):
                    peak[pid] = (int(line.split()[1]) / 1024, name)
        time.sleep(0.25)
    return sorted((round(size) for size, _ in peak.values()), reverse=True)


def descendants(pid):
    """A process and all that it started."""
    found = [pid]
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return found
    for child in children:
        found += descendants(int(child))
    return found


def _first_line(file, folder):
    """A file with the first record, which is indexed to have all modules compiled."""
    first = Path(folder) / "first.jsonl"
    with file.open("rb") as lines:
        first.write_bytes(lines.readline())
    return first


def measured(path):
    """Digest and number of passages of a workspace."""
    with open_workspace(path) as store:
        return store.graph.digest(), len(store.log.read().chunks), store.graph.revision


def main():
    """Measure one undisturbed run, then one that is killed again and again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.into:
        index(arguments.into, [(arguments.file.name, arguments.file.read_bytes())])
        return
    records = sum(1 for line in arguments.file.read_bytes().splitlines() if line.strip())
    with tempfile.TemporaryDirectory() as folder:
        started(Path(folder) / "first.db", _first_line(arguments.file, folder)).wait()
        whole = Path(folder) / "whole.db"
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.perf_counter()
        memory = peak_memory(started(whole, arguments.file))
        seconds = time.perf_counter() - begin
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        digest, passages, versions = measured(whole)
        rows = [{"run": "undisturbed", "records": records, "passages": passages,
                 "seconds": round(seconds, 1), "passages_per_second": round(passages / seconds, 1),
                 "cpu_seconds": round(spent.ru_utime + spent.ru_stime
                                      - before.ru_utime - before.ru_stime, 1),
                 "peak_mb_per_process": memory[:4], "graph_versions": versions,
                 "file_mb": round(whole.stat().st_size / 1e6, 1)}]
        print(rows[-1])
        killed = Path(folder) / "killed.db"
        rng = random.Random(SEED)
        kills, sound = 0, 0
        while True:
            process = started(killed, arguments.file)
            try:
                process.wait(rng.uniform(0.5, seconds / 4) if kills < arguments.kills else None)
                break
            except subprocess.TimeoutExpired:
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
                kills += 1
                if killed.exists():
                    with open_workspace(killed) as store, store.snapshot() as connection:
                        sound += connection.execute(
                            "PRAGMA integrity_check").fetchone() == ("ok",)
        rows.append({"run": "killed and resumed", "kills": kills, "sound_after_kill": sound,
                     "same_digest": measured(killed)[0] == digest})
        print(rows[-1])
    results.write("indexing", rows, SEED)


if __name__ == "__main__":
    main()
