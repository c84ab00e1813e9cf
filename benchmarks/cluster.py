"""Reading with a Dask cluster of two workers beside one process; writes results/cluster.json.

    python benchmarks/cluster.py FILE...         # by default the samples' documents

Both read the same documents into workspaces of their own, whose digests must be equal. The serial
share is the processor time of the process that writes: parsing, log and assembly. With it the
speed-up on N workers is projected by Amdahl's law.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from results import write

from qafd.ingest import index
from qafd.ingest.folders import files_below
from qafd.resources import assets
from qafd.storage import open_workspace

WORKERS = 2
PROJECTED = (2, 4, 16, 64)


@contextmanager
def cluster() -> Iterator[str]:
    """The address of a scheduler on this machine with `WORKERS` workers of one thread each."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    scheduler = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port",
         "0", "--no-dashboard"], stderr=subprocess.PIPE, text=True, env=environment)
    assert scheduler.stderr is not None
    address = next(line.split("tcp://")[1].strip() for line in scheduler.stderr
                   if "Scheduler at:" in line)
    workers = [subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", f"tcp://{address}", "--nthreads",
         "1", "--no-nanny", "--no-dashboard"], stderr=subprocess.DEVNULL, env=environment)
        for _ in range(WORKERS)]
    try:
        yield f"dask://{address}"
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()


def read(path: Path, engine: int | str) -> tuple[float, float, int, str]:
    """Seconds on the wall, seconds of this process's processor, passages and the digest."""
    folders = sys.argv[1:] or [place for place in (assets() / "samples").iterdir() if place.is_dir()]
    sources = list(files_below(folders, print))
    wall, own = time.perf_counter(), time.process_time()
    index(path, sources, processes=engine)
    wall, own = time.perf_counter() - wall, time.process_time() - own
    with open_workspace(path) as store:
        passages = sum(file.passages for file in store.files.all())
        return wall, own, passages, store.graph.digest()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        alone = read(Path(folder, "serial.db"), 1)
        with cluster() as address:
            read(Path(folder, "warm.db"), address)  # models loaded
            spread = read(Path(folder, "spread.db"), address)
    assert alone[3] == spread[3], "the cluster made another graph"
    parallel = alone[0] - spread[1]
    serial, spread_out = alone[0], spread[0]
    row = {"passages": alone[2], "workers": WORKERS, "serial_seconds": serial,
           "cluster_seconds": spread_out, "speed_up": serial / spread_out,
           "serial_share": spread[1] / serial}
    for workers in PROJECTED:
        row[f"projected_on_{workers}"] = serial / (spread[1] + parallel / workers)
    print(row)
    write("cluster", [row], seed=0, notes="the digests of both workspaces were equal")


if __name__ == "__main__":
    main()
