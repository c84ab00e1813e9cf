"""Mass and map in a real Chromium: the picture follows its controls, and the server agrees."""

import re

import pytest
from browsing import rest, settle
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
STATES = """() => Object.fromEntries([...document.querySelectorAll("*")].map(e => e.shadowRoot ?? e)
    .concat(document).flatMap(root => [...root.querySelectorAll(".panel [data-node]")])
    .map(n => [n.dataset.node, n.dataset.state]).filter(([, state]) => state !== "ghost"))"""
WATCH = f"""() => {{
    window.seen = [];
    document.addEventListener("qafd-mass", ({{ detail }}) => seen.push([
        detail.mass, detail.panel.nodes.filter(n => n.state === "saturated").length,
        Object.values(({STATES})()).filter(state => state === "saturated").length]));
}}"""


def test_the_picture_follows_the_mass_and_the_server_draws_the_same(open_page):
    page = open_page()
    control = page.locator(".st-key-mass input[type=range]")
    painted = page.locator("[data-painted]").first
    expect(painted).to_have_attribute("data-painted", re.compile("[1-9]"), timeout=60_000)
    settle(page)
    before, run = rest(page, lambda: (page.evaluate(STATES), painted.get_attribute("data-painted")))
    page.evaluate(WATCH)
    control.press("PageUp")
    expect(painted).not_to_have_attribute("data-painted", run)
    rest(page, lambda: page.evaluate("seen.length"))
    masses, found, drawn = zip(*page.evaluate("seen"), strict=True)
    assert len(masses) > 1  # on the way there, not only its end
    assert masses == tuple(sorted(masses))
    assert masses[-1] == float(control.input_value())
    assert found == tuple(sorted(found))
    assert drawn == found
    after = page.evaluate(STATES)
    assert after != before
    assert sum(state == "saturated" for state in after.values()) == drawn[-1]


def test_a_name_is_found_chosen_and_let_go(open_page):
    page = open_page("/graph?part=Map")
    area = page.locator(".map")
    expect(area).to_have_attribute("data-painted", "1", timeout=60_000)
    search = area.get_by_role("searchbox")
    search.fill("steve j")
    expect(area.locator(".hit")).to_have_text(["Steve Jobs"])
    search.press("Enter")
    expect(area).not_to_have_attribute("data-selected", "")
    expect(page.get_by_text("Ask about it")).to_be_visible(timeout=30_000)
    assert float(area.get_attribute("data-zoom")) > 1
    chosen = area.get_attribute("data-selected")
    assert chosen in page.url
    sheet = area.locator("canvas")
    sheet.press("0")
    expect(area).to_have_attribute("data-zoom", "1.00")
    sheet.press("+")
    expect(area).to_have_attribute("data-zoom", "1.50")
    sheet.press("Escape")
    expect(area).to_have_attribute("data-selected", "")
    expect(page.get_by_text("Ask about it")).to_be_hidden(timeout=30_000)


def test_a_community_alone_has_its_names_written(open_page):
    page = open_page("/graph?part=Map")
    area = page.locator(".map")
    expect(area).to_have_attribute("data-painted", "1", timeout=60_000)

    def named():
        return rest(page, lambda: int(area.get_attribute("data-named")))

    every = named()
    chip = area.locator(".chip").first
    members = int(chip.get_attribute("title").split()[0])
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "true")
    assert 0 < named() <= members < every
    chip.click()
    expect(area).to_have_attribute("data-named", str(every))
