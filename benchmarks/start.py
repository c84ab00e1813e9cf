"""From `qafd demo` to the colored sample in a real browser, from a slider to the picture, and commands.

    python benchmarks/start.py [FOLDER]

Needs Chromium and playwright (`make test` installs both); the frames of a drag go into FOLDER. Goals:
first picture within 5 s of starting the server, slider to picture within 300 ms (median), after a drag
at most 15 kB within 250 ms, no request to another host. Of commands, each in a process of its own on the
sample, the CPU seconds: help .15, status .4, a question 1.2.
"""

import base64
import itertools
import os
import resource
import shutil
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

STARTS, MOVES, CLICKS = 3, 20, 10
DRAGS = (0.45, 0.2, 0.6, 0.35, 0.8)  # shares of the slider
COMMANDS = ["query --help", "status", "query", "answer"]
SLOW = {"offline": False, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 100_000}
DRAG_MS = 300
# While `watched` is set: the time of each frame, and whether the picture differs from the frame before.
WATCH = """(picture) => {
  const state = window.watched = { times: [], changes: 0 };
  let before = "";
  const look = (time) => {
    if (window.watched !== state) return;
    const nodes = [...picture.querySelectorAll(".node")].map((n) => n.className.baseVal + n.innerHTML);
    const now = nodes.join() + [...picture.querySelectorAll(".edge")].map((e) => e.getAttribute("d")).join();
    state.times.push(time);
    state.changes += before !== "" && now !== before;
    before = now;
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""
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


def peak_of(process):
    """The most memory that a process held so far, in MB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM"))


def browser_arguments():
    """What Chromium is started with: nothing that talks to anyone else."""
    arguments = ["--disable-gpu", "--disable-background-networking", "--disable-quic",
                 "--no-first-run", "--disable-component-update", "--disable-sync"]
    return arguments + ["--no-sandbox"] * (os.geteuid() == 0)


def mass_of(page):
    """The slider of the mass, above the picture."""
    return page.locator("[data-testid=stMain]").get_by_role("slider").first


def moves(page):
    """Milliseconds from a key on the mass slider to the redrawn picture."""
    slider, picture = mass_of(page), page.locator(PAINTED).first
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


def clicks(page):
    """Milliseconds from a click on a node to its card."""
    names = page.locator(".node.saturated text").all_text_contents()
    times = []
    for name in [name for name in names if name.strip()][:CLICKS]:
        began = time.perf_counter()
        page.locator(".node.saturated", has_text=name).first.click(force=True)
        page.locator(".st-key-card", has_text=name.removeprefix("\u00b6").strip()).wait_for(timeout=20_000)
        times.append(1000 * (time.perf_counter() - began))
        page.wait_for_timeout(500)
    return times


def drag(page, folder):
    """Return the longest and the median time between frames of a drag of the mass, in ms, and how many frames
    showed another picture; the frames go into a folder."""
    session = page.context.new_cdp_session(page)
    shots = []

    def keep(frame):
        shots.append(frame["data"])
        session.send("Page.screencastFrameAck", {"sessionId": frame["sessionId"]})

    box = mass_of(page).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    if folder:
        session.on("Page.screencastFrame", keep)
        session.send("Page.startScreencast", {"format": "png"})
    page.locator(PAINTED).first.evaluate(WATCH)
    page.mouse.move(x, y)
    page.mouse.down()
    began = time.perf_counter()
    while (at := 1000 * (time.perf_counter() - began)) < DRAG_MS:
        page.mouse.move(x + 120 * at / DRAG_MS, y)
    watched = page.evaluate("() => { const seen = window.watched; window.watched = null; return seen; }")
    page.mouse.up()
    for number, data in enumerate(shots):
        Path(folder, f"drag_{number:02}.png").write_bytes(base64.b64decode(data))
    gaps = [after - before for before, after in itertools.pairwise(watched["times"])]
    return max(gaps), statistics.median(gaps), watched["changes"], len(gaps)


def releases(page):
    """Median kilobytes and messages that the server sends after a drag, and milliseconds to the last."""
    session = page.context.new_cdp_session(page)
    came = []
    session.send("Network.enable")
    session.on("Network.webSocketFrameReceived", lambda event: came.append(
        (time.perf_counter(), len(event["response"]["payloadData"]) * 3 / 4)))
    found = []
    for share in DRAGS:
        grip = mass_of(page).bounding_box()
        page.mouse.move(grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2)
        page.mouse.down()
        track = page.locator("[data-testid=stMain] [data-testid=stSlider]").first.bounding_box()
        page.mouse.move(track["x"] + track["width"] * share, grip["y"] + grip["height"] / 2, steps=10)
        page.wait_for_timeout(500)
        came.clear()
        page.mouse.up()
        began = time.perf_counter()
        page.wait_for_timeout(1500)
        found.append((sum(size for _, size in came) / 1e3, len(came),
                      1000 * (max(at for at, _ in came) - began)))
    return map(statistics.median, zip(*found, strict=True))


def commands():
    """CPU seconds of commands: the medians of some runs, after one that loads files."""
    row = {}
    with tempfile.TemporaryDirectory() as home:
        workspace = shutil.copy(Path(__file__).parents[1] / "assets" / "samples" / "apple-amazon.db", home)
        for command in COMMANDS:
            asked = ["Who founded Apple?"] if command in ("query", "answer") else []
            used = []
            for _ in range(2 * STARTS + 1):
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                subprocess.run([sys.executable, "-m", "qafd", *command.split(), *asked], check=True,
                               env={**os.environ, "QAFD_HOME": home, "QAFD_DB": str(workspace)},
                               stdout=subprocess.DEVNULL)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            row[f"qafd {command}, CPU s"] = round(statistics.median(used[1:]), 2)
    return row


def slow_line(browser):
    """Seconds to the skeleton and to the first picture on a slow line, and the megabytes received."""
    port = free_port()
    with tempfile.TemporaryDirectory() as home:
        server = start(home, port)
        try:
            healthy(f"http://127.0.0.1:{port}")
            page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
            page.goto(f"http://127.0.0.1:{port}")  # the server has drawn its sample once
            page.wait_for_selector(PAINTED, timeout=60_000)
            page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
            session = page.context.new_cdp_session(page)
            received = []
            session.send("Network.enable")
            session.send("Network.emulateNetworkConditions", SLOW)
            session.on("Network.loadingFinished", lambda event: received.append(event["encodedDataLength"]))
            session.on("Network.webSocketFrameReceived",
                       lambda event: received.append(len(event["response"]["payloadData"]) * 3 / 4))
            began = time.perf_counter()
            page.goto(f"http://127.0.0.1:{port}", wait_until="commit")
            page.locator(r"text=/\S/").first.wait_for(timeout=60_000)
            skeleton = time.perf_counter() - began
            page.wait_for_selector(PAINTED, timeout=60_000)
            return skeleton, time.perf_counter() - began, sum(received) / 1e6
        finally:
            server.terminate()
            server.wait()


def main():
    """Measure and write benchmarks/results/start.json."""
    rows, foreign = [], []
    folder = sys.argv[1] if len(sys.argv) > 1 else None
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
                    megabytes = peak_of(server.pid)
                    page.wait_for_timeout(1500)
                    times = moves(page)
                    cards = clicks(page)
                    longest, frame, changes, frames = drag(page, folder if number == 0 else None)
                    page.wait_for_timeout(1000)
                    kilobytes, messages, rest = releases(page)
                finally:
                    server.terminate()
                    server.wait()
            rows.append({"start": number, "server_up_s": round(up, 2),
                         "first_picture_s": round(painted, 2), "first_picture_mb": megabytes,
                         "slider_ms_median": round(statistics.median(times)),
                         "slider_ms_worst": round(max(times)),
                         "card_ms_median": round(statistics.median(cards)),
                         "drag_frame_ms_median": round(frame, 1), "drag_frame_ms_worst": round(longest, 1),
                         "drag_frames": frames, "drag_frames_changed": changes,
                         "release_kb": round(kilobytes, 1), "release_messages": messages,
                         "release_ms": round(rest)})
            print(rows[-1])
        for _ in range(STARTS):
            skeleton, painted, megabytes = slow_line(browser)
            rows.append({"slow_skeleton_s": round(skeleton, 2), "slow_first_picture_s": round(painted, 2),
                         "slow_megabytes": round(megabytes, 2)})
            print(rows[-1])
        browser.close()
    rows += [commands(), {"foreign_requests": len(foreign)}]
    print(rows[-2], rows[-1], foreign[:3])
    write("start", rows, 0)


if __name__ == "__main__":
    main()
