"""The map of a workspace in a real Chromium: search, click, keys and communities choose what is drawn."""


import pytest
from browsing import rest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


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
