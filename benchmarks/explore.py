"""What a move of the mass and a click on a node cost on Explore, in a real Chromium; Figure 1.

    python -m qafd demo --port 8501 &
    python benchmarks/explore.py http://127.0.0.1:8501 --figure docs/figure1.png

Medians: messages and kilobytes received over the websocket, milliseconds from the key to the
redrawn picture and from the click to the node's card. With --figure the picture is kept as a PNG.
"""

import argparse
import os
import shutil
import statistics

from playwright.sync_api import sync_playwright

NODES = ("iPod", "iPhone")
TURNS = 12
REMEMBER_ACTS = """
for (const kind of ['keydown', 'pointerdown'])
    addEventListener(kind, () => { window.acted = performance.now(); }, true);
"""
WATCH_PICTURE = """picture => { window.seen = new Promise(done => {
    new MutationObserver((_, watch) => { watch.disconnect(); done(performance.now()); })
        .observe(picture, {attributes: true, attributeFilter: ['data-painted']}); }); }"""
WATCH_HEADING = """name => { window.seen = new Promise(done => {
    new MutationObserver((_, watch) => {
        if ([...document.querySelectorAll('h2')].some(one => one.textContent === name)) {
            watch.disconnect(); done(performance.now()); }
    }).observe(document.body, {subtree: true, childList: true, characterData: true}); }); }"""


def measure(page, received, watch, act):
    """Medians over some turns of an act: milliseconds until it is seen, messages, kilobytes.

    The milliseconds are the browser's, from the key or the button going down to the change of the
    page; what it takes to command the browser is not in them.
    """
    rows = []
    for turn in range(TURNS):
        received.clear()
        watch(turn)
        act(turn)
        milliseconds = page.evaluate("window.seen.then(at => at - window.acted)")
        page.wait_for_timeout(1500)
        rows.append((milliseconds, len(received), sum(received) / 1024))
    return [round(statistics.median(column), 1) for column in zip(*rows, strict=True)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("app")
    parser.add_argument("--figure")
    options = parser.parse_args()
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox"] if root else [])
        context = browser.new_context(viewport={"width": 1440, "height": 900},
                                      reduced_motion="reduce")
        context.add_init_script(REMEMBER_ACTS)
        page, received = context.new_page(), []
        page.on("websocket", lambda socket: socket.on(
            "framereceived", lambda frame: received.append(len(frame))))
        page.goto(options.app)
        drawn = page.locator("[data-painted]").first
        drawn.wait_for()
        page.wait_for_timeout(3000)
        if options.figure:
            page.mouse.move(0, 0)
            page.locator(".panel").first.screenshot(path=options.figure)

        mass = page.get_by_role("slider", name="Source mass")
        print("move of the mass: ms, messages, kB", measure(
            page, received, lambda _: drawn.evaluate(WATCH_PICTURE),
            lambda turn: mass.press("ArrowLeft" if turn % 2 else "ArrowRight")))
        print("click on a node:  ms, messages, kB", measure(
            page, received, lambda turn: page.evaluate(WATCH_HEADING, NODES[turn % 2]),
            lambda turn: page.get_by_role("button", name=f"{NODES[turn % 2]},").click()))
        browser.close()


if __name__ == "__main__":
    main()
