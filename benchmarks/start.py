"""From `qafd demo` to the colored sample in a real browser, and from a slider key to the picture.

    python benchmarks/start.py

Needs Chromium and playwright (`make test` installs both). Goals: first picture within 5 s of
starting the server, slider to picture within 300 ms (median), no request to another host.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import sync_playwright
from results import write

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from conftest import chromium, free_port  # noqa: E402

STARTS, MOVES = 3, 20
PAINTED = "[data-painted]"


def start(home, port, command=("demo",)):
    """A server with a fresh home, as the first start of a user."""
    return subprocess.Popen(
        [sys.executable, "-m", "qafd", *command, "--port", str(port)],
        env={**os.environ, "QAFD_HOME": home}, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)


def healthy(url):
    """Wait for the server's health check."""
    while True:
        try:
            urllib.request.urlopen(url + "/_stcore/health", timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)


def browser_arguments():
    """What Chromium is started with: nothing that talks to anyone else."""
    arguments = ["--disable-gpu", "--disable-background-networking", "--disable-quic",
                 "--no-first-run", "--disable-component-update", "--disable-sync"]
    return arguments + ["--no-sandbox"] * (os.geteuid() == 0)


def moves(page):
    """Milliseconds from a key on the mass slider to the redrawn picture."""
    slider, picture = page.get_by_role("slider").first, page.locator(PAINTED).first
    times = []
    for i in range(MOVES):
        before = picture.get_attribute("data-painted")
        began = time.perf_counter()
        slider.press("ArrowRight" if i % 4 < 2 else "ArrowLeft")
        while picture.get_attribute("data-painted") == before:
            page.wait_for_timeout(5)
        times.append(1000 * (time.perf_counter() - began))
        page.wait_for_timeout(400)
    return times


def main():
    """Measure and write benchmarks/results/start.json."""
    rows, foreign = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=browser_arguments())
        for number in range(STARTS):
            port = free_port()
            url = f"http://127.0.0.1:{port}"
            page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
            page.on("request", lambda r, url=url: None if r.url.startswith(
                (url, "data:", "blob:")) else foreign.append(r.url))
            with tempfile.TemporaryDirectory() as home:
                began = time.perf_counter()
                server = start(home, port)
                try:
                    healthy(url)
                    up = time.perf_counter() - began
                    page.goto(url)
                    page.wait_for_selector(PAINTED, timeout=60_000)
                    painted = time.perf_counter() - began
                    page.wait_for_timeout(1500)
                    times = moves(page)
                finally:
                    server.terminate()
                    server.wait()
            rows.append({"start": number, "server_up_s": round(up, 2),
                         "first_picture_s": round(painted, 2),
                         "slider_ms_median": round(statistics.median(times)),
                         "slider_ms_worst": round(max(times))})
            print(rows[-1])
        browser.close()
    rows.append({"foreign_requests": len(foreign)})
    print(rows[-1], foreign[:3])
    write("start", rows, 0)


if __name__ == "__main__":
    main()
