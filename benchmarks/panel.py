"""Time from a slider key to the redrawn panels in a real Chromium, and what it consists of.

    python benchmarks/panel.py

Moves the slider of tests/panel_app.py (made-up retrievals, no database) ten times per page:
milliseconds of the component's update, milliseconds from the key to `data-painted`, and
kilobytes received over the websocket. Writes results/panel.json.
"""

import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from playwright.sync_api import sync_playwright
from results import write

ROOT = Path(__file__).parents[1]
PAGES = ["panels=1", "panels=4", "sample=60&mass=8", "sample=150&mass=8",
         "sample=150&mass=8&panels=4"]
UPDATE = "performance.getEntriesByName('qafd-panels').at(-1).duration"


def measure(browser, address):
    """One row: medians over ten slider moves on one page."""
    page = browser.new_page(viewport={"width": 1280, "height": 1300})
    received = []
    page.on("websocket", lambda socket: socket.on(
        "framereceived", lambda frame: received.append(len(frame))))
    page.goto(address)
    root = page.locator("[data-painted]")
    root.wait_for()
    page.wait_for_timeout(1000)
    first, update, wall, kilobytes = page.evaluate(UPDATE), [], [], []
    for move in range(10):
        painted, received[:] = root.get_attribute("data-painted"), []
        page.get_by_role("slider").focus()
        start = time.perf_counter()
        page.keyboard.press("ArrowLeft" if move % 2 else "ArrowRight")
        while root.get_attribute("data-painted") == painted:
            time.sleep(0.003)
        wall.append(1000 * (time.perf_counter() - start))
        update.append(page.evaluate(UPDATE))
        page.wait_for_timeout(300)
        kilobytes.append(sum(received) / 1024)
    shown = page.locator(".card").first
    row = {"page": address.partition("?")[2],
           "nodes": shown.locator(".node:not(.ghost)").count(),
           "edges": shown.locator("[data-edge]").count(), "first_update_ms": round(first, 1),
           "update_ms": round(statistics.median(update), 1),
           "key_to_painted_ms": round(statistics.median(wall)),
           "received_kb": round(statistics.median(kilobytes))}
    page.close()
    return row


def main():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", str(ROOT / "tests" / "panel_app.py"),
         f"--server.port={port}", "--server.headless=true", "--browser.gatherUsageStats=false",
         "--server.fileWatcherType=none"], env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    try:
        while server.poll() is None:
            try:
                urllib.request.urlopen(f"{address}/_stcore/health", timeout=1).close()
                break
            except (urllib.error.URLError, TimeoutError):
                time.sleep(0.1)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=chromium, args=["--no-sandbox"] if root else [])
            rows = [measure(browser, f"{address}/?{page}") for page in PAGES]
            browser.close()
    finally:
        server.terminate()
    for row in rows:
        print(row)
    write("panel", rows, 0, "Medians of ten slider moves; nodes and edges of the first panel.")


if __name__ == "__main__":
    main()
