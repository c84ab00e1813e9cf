"""Answers in a real Chromium: nothing is fetched, citations lead to sources and names to nodes."""

import re

import pytest
from browsing import settle
from faults import serving
from playwright.sync_api import expect

from qafd.preferences import Preferences, amend

pytestmark = pytest.mark.browser
LEAK = "http://127.0.0.1:9/leak"
HOSTILE = (f"Born in Valparaíso [2]. ![x]({LEAK}) <img src={LEAK} onerror=window.__pwn=1> "
           f"[more]({LEAK}) <script>window.__pwn=1</script> [88]")


@pytest.fixture
def model(app_home):
    with serving(lambda _: HOSTILE) as server:
        amend(app_home / "settings.json", Preferences(), Preferences("custom", server.url, "tiny"))
        yield server
        (app_home / "settings.json").unlink()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (390, "light")])
def test_a_hostile_answer_fetches_nothing_and_links_to_its_source(width, scheme, model, open_page):
    page = open_page("/?ws=songbook", width=width, scheme=scheme)
    settle(page)
    card = page.locator(".st-key-card")
    card.get_by_text("Written by tiny").wait_for()
    assert card.locator("img").count() == 0
    settle(page)
    link = card.locator("a[href='#source-2']").first
    link.click()
    expect(page.locator("#source-2")).to_be_in_viewport()
    assert page.evaluate("window.__pwn") is None
    # What the model wrote became no link: all lead to a source or into its document.
    links = card.locator("a:visible").evaluate_all("all => all.map(a => a.href)")
    here = page.url.partition("#")[0]
    assert links
    assert all(link.startswith(f"{here}#source-") for link in links)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    card.get_by_role("button", name="2 ").click()
    expect(card.locator("mark").first).to_be_visible()


def lit(name):
    return re.compile(rf"\b{name}\b")


def test_a_name_of_the_answer_lights_its_node_and_selects_it_and_a_node_its_name(open_drawn):
    page = open_drawn("/", width=1280)
    name = page.locator(".st-key-card [data-name]").first
    shape = page.locator(f"[data-node='{name.get_attribute('data-name')}']")
    node = page.locator(".node", has=shape)
    name.hover()
    expect(node).to_have_class(lit("hot"))
    page.locator("h1").hover()
    expect(node).not_to_have_class(lit("hot"))
    shape.hover()
    expect(name).to_have_class(lit("lit"))
    name.focus()
    page.keyboard.press("Enter")
    expect(node).to_have_class(lit("selected"))
    expect(page.get_by_text("Back to the answer")).to_be_visible()
