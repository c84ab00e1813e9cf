"""From a new question on the Compare page to the redrawn panels, in a real browser.

    python benchmarks/compare.py WORKSPACE.db QUESTIONS.jsonl

The default four methods, whose layers the workspace must have (`qafd layers --build all`). The
first two questions are not counted; then every question is asked once more. Needs Chromium and
playwright (`make test` installs both). Writes results/compare.json.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import sync_playwright
from results import write
from start import browser_arguments, chromium, free_port, healthy, start

ASKED, WARM = 12, 2
READY = ".qafd.ready"
PAINTED = "[data-painted]"


def ask(page, question):
    """Milliseconds from Enter to panels that show the question."""
    box = page.get_by_role("textbox", name="Question").first
    before = page.locator(PAINTED).first.get_attribute("data-painted")
    box.fill(question)
    began = time.perf_counter()
    box.press("Enter")
    while page.locator(PAINTED).first.get_attribute("data-painted") == before:
        page.wait_for_timeout(5)
    took = 1000 * (time.perf_counter() - began)
    page.wait_for_timeout(1500)
    return took


def main():
    """Measure and write benchmarks/results/compare.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workspace", type=Path)
    parser.add_argument("questions", type=Path)
    arguments = parser.parse_args()
    questions = [json.loads(line)["question"]
                 for line in arguments.questions.read_text("utf-8").splitlines()][:ASKED]
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        port = free_port()
        server = start(home, port, ("app", "--db", str(arguments.workspace)))
        try:
            healthy(f"http://127.0.0.1:{port}")
            browser = playwright.chromium.launch(executable_path=chromium(),
                                                 args=browser_arguments())
            page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
            page.goto(f"http://127.0.0.1:{port}/compare?q={quote(questions[0])}")
            page.wait_for_selector(READY, timeout=120_000)
            page.wait_for_timeout(3000)
            new = [ask(page, question) for question in questions[1:]][WARM - 1:]
            again = [ask(page, question) for question in questions[WARM:]]
            browser.close()
        finally:
            server.terminate()
            server.wait()
    rows = [{"question": what, "asked": len(times), "median_ms": round(statistics.median(times)),
             "worst_ms": round(max(times))} for what, times in (("new", new), ("again", again))]
    print(rows)
    write("compare", rows, 0)


if __name__ == "__main__":
    main()
