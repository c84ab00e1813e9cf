"""From the first words that an endpoint sends to those words on screen, in the app and a terminal.

    python benchmarks/first_token.py

An endpoint on loopback sends the first word and then nothing until that word was seen, so that
whatever waits for more shows nothing. Needs Chromium and playwright (`make test` installs both).
"""

import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from playwright.sync_api import sync_playwright
from results import write
from start import healthy, start

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from conftest import chromium, free_port  # noqa: E402
from faults import serving  # noqa: E402

from qafd.knowledge import KnowledgeGraph  # noqa: E402
from qafd.preferences import Preferences, save  # noqa: E402

RUNS = 10
QUESTIONS = [f"Question {i}: where was the singer of Paper Lanterns born?" for i in range(RUNS)]
SEEN = """() => {
    const look = () => {
        const answer = document.querySelector('.st-key-answer');
        if (answer && answer.textContent.includes('Zanzibar')) {
            observer.disconnect();
            requestAnimationFrame(() => { window.seen = Date.now(); });
        }
    };
    const observer = new MutationObserver(look);
    observer.observe(document, {childList: true, subtree: true, characterData: true});
}"""


def in_the_app(browser, url, server):
    """Milliseconds from sent to seen on Explore's Answer tab, question by question."""
    times = []
    for question in QUESTIONS:
        server.after_first = threading.Event()
        page = browser.new_page()
        page.goto(f"{url}/?ws=songbook&tab=Answer&q={question.replace(' ', '%20')}")
        button = page.get_by_role("button", name="Write an answer")
        button.wait_for()
        page.wait_for_timeout(1500)  # the picture is drawn meanwhile
        page.evaluate(SEEN)
        button.click()
        page.wait_for_function("window.seen", timeout=60_000)
        assert "Bagamoyo" not in page.locator(".st-key-answer").first.inner_text()
        times.append(page.evaluate("window.seen") - 1000 * server.first_sent[-1])
        server.after_first.set()
        page.get_by_text("Written by tiny").wait_for()
        page.close()
    return times


def in_a_terminal(db, server):
    """Milliseconds from sent to printed by `qafd answer`."""
    times = []
    for question in QUESTIONS:
        server.after_first = threading.Event()
        command = subprocess.Popen(
            [sys.executable, "-m", "qafd", "answer", question, "--db", str(db), "--model",
             "tiny", "--base-url", server.url], stdout=subprocess.PIPE)
        assert os.read(command.stdout.fileno(), 100) == b"Zanzibar"
        times.append(1000 * (time.time() - server.first_sent[-1]))
        server.after_first.set()
        command.communicate()
        assert command.returncode == 0
    return times


def main():
    """Measure and store."""
    arguments = ["--disable-gpu", "--disable-background-networking", "--disable-quic"]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")
    with (serving(lambda _: "Zanzibar and Bagamoyo [1]. They said so [2].") as server,
          tempfile.TemporaryDirectory() as home, sync_playwright() as playwright):
        save(Path(home, "settings.json"), Preferences("custom", server.url, "tiny"))
        terminal = in_a_terminal(KnowledgeGraph.sample("songbook", Path(home, "cli")).place.written, server)
        port = free_port()
        app = start(home, port)
        try:
            healthy(f"http://127.0.0.1:{port}")
            browser = playwright.chromium.launch(executable_path=chromium(), args=arguments)
            page = in_the_app(browser, f"http://127.0.0.1:{port}", server)
            browser.close()
        finally:
            app.terminate()
            app.wait()
    rows = [{"what": what, "median_ms": round(statistics.median(times), 1),
             "worst_ms": round(max(times), 1), "runs": RUNS}
            for what, times in (("Answer tab in Chromium", page), ("qafd answer", terminal))]
    write("first_token", rows, 0, "the machine was shared with other work; see its load")
    print(*rows, sep="\n")


if __name__ == "__main__":
    main()
