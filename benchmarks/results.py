"""Write a benchmark's rows with what is needed to read them later: commit, machine, versions."""

import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).parents[1]


def write(name, rows, seed, notes=""):
    """Save rows as benchmarks/results/<name>.json."""
    record = {"benchmark": name, "commit": _git("rev-parse", "HEAD"),
              "clean": not _git("status", "--porcelain", "--", "qafd"),
              "date": datetime.now(UTC).strftime("%Y-%m-%d"), "machine": machine(), "seed": seed,
              "versions": {p: _version(p) for p in ("numpy", "scipy", "numba")},
              "notes": notes, "rows": rows}
    folder = Path(__file__).parent / "results"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def machine():
    """Processor, number of cores, system and load, as one line."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = names[0].split(":", 1)[1].strip() if names else model
    return (f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}, "
            f"load {os.getloadavg()[0]:.1f}")


def _version(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True,
                          check=False).stdout.strip()
