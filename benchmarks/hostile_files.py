"""A thousand hostile files through the parser: all end in text or one sentence, in bounds.

400 mutated PDFs, 200 mutated Word files, 100 with a wrong ending, 50 bombs, 100 in many
character sets or with NUL characters, 50 of 50 MB in one line, 100 empty or cut short. Writes
benchmarks/results/hostile_files.json; exits 1 when a bound is broken.

    python benchmarks/hostile_files.py [--each 0.1]
"""

import argparse
import json
import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import files  # noqa: E402

from qafd.errors import ParseError  # noqa: E402
from qafd.reading.parsing import parse  # noqa: E402

SEED = 20
BOUNDS = {"seconds": 26.0, "calling_process_mb": 100.0}
PAGES = [[f"Line {i} of page {p} names Ada Lovelace and Charles Babbage." for i in range(30)]
         for p in range(5)]
TEXT = "Ada Lovelace écrivit le premier programme à Londres. 東京 Москва القاهرة\n" * 20


def hostile_files(rng: random.Random, share: float) -> Iterator[tuple[str, str, bytes]]:
    """Group, name and bytes of every file."""
    def times(count: int) -> range:
        return range(max(1, round(count * share)))

    pdf = files.pdf_with(files.pdf(*PAGES), title="A life", bookmarks=[("Ada", 0), ("End", 4)])
    word = files.docx_of(("Ada", 1), *[("She wrote. " * 20, None)] * 20, table=[["a", "b"]] * 9)
    for _ in times(400):
        yield "mutated pdf", "x.pdf", files.mutated(pdf, rng)
    for _ in times(200):
        yield "mutated docx", "x.docx", files.mutated(word, rng)
    good = [pdf, word, files.epub("<p>Once</p>"), b"<html><p>Text", b'{"text": "a"}', b"MZ\0\0",
            b"\x89PNG\r\n\x1a\n\0", b"\x7fELF\0", rng.randbytes(3000), b"a,b\n1,2\n3,4\n"]
    endings = ("exe", "txt", "pdf", "docx", "epub", "json", "jsonl", "csv", "html", "")
    for i in times(100):
        yield "wrong ending", f"../\u202ex.{endings[i // 10 % 10]}", good[i % 10]
    bombs = [files.zip_bomb(300), files.flate_bomb(200), files.page_tree_loop(),
             files.entity_bomb(), files.zipped({"a.zip": files.zip_bomb(100)}),
             b"<html>" + b"<div>" * 3_000_000, b"[" * 5_000_000,
             ("a" + "\u0315\u0300" * 2_000_000).encode(),
             files.lying_zip(files.zip_bomb(30), "word/document.xml", 30_000),
             files.replaced(word, "word/styles.xml", files.entity_bomb())]
    for i in times(50):
        yield "bomb", "x", bombs[i % 10]
    encodings = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "utf-32-be", "cp1252",
                 "shift_jis", "koi8_r", "cp1256")
    for i in times(100):
        text = TEXT[rng.randrange(40) :]
        data = text.encode(encodings[i % 10], "ignore")
        yield "encoding", "x.txt", data if i % 3 else data.replace(b"a", b"\0")
    for i in times(100):
        whole = (pdf, word, b"", good[2])[i % 4]
        yield "empty or cut", "x", whole[: rng.randrange(len(whole) + 1)]


def main() -> int:
    """Run all files one after another; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=float, default=1.0, help="share of every group")
    parser.add_argument("--write", type=Path, help="only write the files into this folder")
    arguments = parser.parse_args()
    share = arguments.each
    if arguments.write:
        for number, (group, name, data) in enumerate(hostile_files(random.Random(SEED), share)):
            path = arguments.write / str(number)
            path.write_bytes(data)
            print(json.dumps([group, name, str(path)]))
        return 0
    outcomes: dict[str, Counter[str]] = {}
    seconds: dict[str, list[float]] = {}
    outcome("x.txt", b"first")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory() as folder:
        # Making bombs takes memory too, so another process does it.
        written = subprocess.run([sys.executable, __file__, "--each", str(share), "--write",
                                  folder], check=True, capture_output=True, text=True).stdout
        jobs = [tuple(json.loads(line)) for line in written.splitlines()]
        jobs += [("50 MB line", "x.txt", "") for _ in range(max(1, round(50 * share)))]
        for number, (group, name, path) in enumerate(jobs):
            data = Path(path).read_bytes() if path else (
                b"word " * 10_000_000 if number % 2 else b"x" * 50_000_000)
            start = time.perf_counter()
            result = outcome(name, data)
            seconds.setdefault(group, []).append(time.perf_counter() - start)
            outcomes.setdefault(group, Counter())[result] += 1
            del data
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    worst = max(max(times) for times in seconds.values())
    report = {
        "commit": subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, check=True,
                                 capture_output=True, text=True).stdout.strip(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python "
                   f"{platform.python_version()}",
        "seed": SEED, "files": sum(map(len, seconds.values())), "slowest_seconds": round(worst, 2),
        "growth_of_calling_process_mb": round(grown, 1),
        "groups": {group: {
            "files": len(times), "median_seconds": round(statistics.median(times), 3),
            "slowest_seconds": round(max(times), 2),
            "outcomes": dict(outcomes[group].most_common())}
            for group, times in seconds.items()},
    }
    text = json.dumps(report, indent=2, ensure_ascii=False)
    print(text)
    if share == 1:
        (ROOT / "benchmarks/results/hostile_files.json").write_text(text + "\n", encoding="utf-8")
    return int(worst > BOUNDS["seconds"] or grown > BOUNDS["calling_process_mb"])


def outcome(name: str, data: bytes) -> str:
    """"read", or the sentence of the refusal up to its first number, bracket or semicolon."""
    try:
        parse(name, data)
    except ParseError as error:
        return str(error).split(";")[0].split(" (")[0].rstrip(".")
    return "read"


if __name__ == "__main__":
    sys.exit(main())
