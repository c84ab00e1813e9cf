"""The mass in a real Chromium: the picture follows the control by itself, and the server agrees."""

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
