"""Every page, light and dark, wide and narrow: axe-core finds nothing serious that is ours."""

import secrets
from pathlib import Path

import axe_playwright_python
import pytest
from browsing import PAINTED, settle
from playwright.sync_api import expect
from test_browser import new_workspace
from views import walk

from qafd.app.pages import PAGES

pytestmark = [pytest.mark.browser, pytest.mark.slow]
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf-8")
GRAVE = ("serious", "critical")
MAIN = "[data-testid=stMain]"
STREAMLITS = {
    # st.navigation puts the groups of the sidebar as div into its ul, whatever it is told
    ("list", "[data-testid=stSidebarNavItems]"),
    ("listitem", "[data-testid=stSidebarNavItems]"),
}
"""Rule and place of what Streamlit writes itself."""
PATIENCE = 5  # looks, since a page that is on its way is not what people see
STILL = """() => Promise.race([
    new Promise(done => setTimeout(done, 3000)),
    Promise.all(document.getAnimations()
        .filter(each => Number.isFinite(each.effect.getComputedTiming().endTime))
        .map(each => each.finished.catch(() => null))),
])"""
"""Streamlit fades in what a rerun has just confirmed; a color is judged when it has come.

One that is paused never ends, so it is waited for no longer than a fade takes.
"""
PLACES = [*((name, "light", 1440) for name in PAGES), *((name, "dark", 390) for name in PAGES),
          ("explore", "dark", 1440), ("explore", "light", 390)]
FIND = """async ([grave, own, place, rules]) => {
    const only = rules ? {runOnly: rules} : {};
    const late = new Promise((_, fail) => setTimeout(() => fail("axe-core took too long"), 120000));
    const run = axe.run(place, {resultTypes: ["violations"], ...only});
    const {violations} = await Promise.race([run, late]);
    const found = [];
    for (const {id, impact, nodes} of violations) {
        if (!grave.includes(impact)) continue;
        for (const {target, html, failureSummary} of nodes) {
            const node = typeof target[0] === "string" ? document.querySelector(target[0]) : null;
            if (own.some(([rule, place]) => rule === id && node && node.closest(place))) continue;
            found.push(`${id} at ${target}: ${html.slice(0, 200)} ${failureSummary}`);
        }
    }
    return found;
}"""


def find_grave(page, place="html", rules=None):
    """What axe-core finds in a place of a page as it is now, by all of its rules or by some."""
    found = ["not looked at"]
    for _ in range(PATIENCE):
        page.evaluate(STILL)
        found = page.evaluate(FIND, [GRAVE, list(STREAMLITS), place, rules])
        if not found:
            break
        page.wait_for_timeout(1500)  # the styles of a page may come after its first words
    return found


@pytest.mark.parametrize(("name", "scheme", "width"), PLACES)
def test_a_page_fits_its_window_and_axe_finds_nothing_serious(open_page, name, scheme, width):
    page = open_page("/" if name == "explore" else f"/{name}", width, 900, scheme,
                     reduced_motion="reduce")
    settle(page)
    if name in ("explore", "compare", "database"):
        page.wait_for_selector(PAINTED, timeout=30_000)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate(AXE)
    found = find_grave(page)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious_in_any_view_of_a_page(open_page, name):
    page = open_page("/?more=true" if name == "explore" else f"/{name}", 1440, reduced_motion="reduce")
    settle(page)
    page.evaluate(AXE)
    found = []
    for view in walk(page, settle):
        page.emulate_media(color_scheme="light")
        found += [f"{view}: {each}" for each in find_grave(page, MAIN)]
        page.emulate_media(color_scheme="dark")
        found += [f"{view}, dark: {each}" for each in find_grave(page, MAIN, ["color-contrast"])]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_while_documents_are_read_and_when_they_are(open_page, scheme):
    page = open_page("/settings", 1440, 900, scheme, reduced_motion="reduce")
    settle(page)
    new_workspace(page, f"axe-{secrets.token_hex(3)}")
    page.locator("input[type=file]").first.set_input_files([
        {"name": "good.txt", "mimeType": "text/plain", "buffer": b"Ada Brask met Jo Lund in Rome."},
        {"name": "empty.txt", "mimeType": "text/plain", "buffer": b""}])
    page.get_by_role("progressbar").wait_for()
    page.evaluate(AXE)
    found = find_grave(page, MAIN)
    expect(page.get_by_text("Done: 1 read, 1 could not be read")).to_be_visible(timeout=60_000)
    settle(page)
    found += find_grave(page, MAIN)
    assert not found, "\n".join(found)
