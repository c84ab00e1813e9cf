"""Keyboard shortcuts in a real Chromium: what each key does, and that none acts while typing."""

import re

import pytest
from browsing import PAINTED, settle
from playwright.sync_api import expect

from qafd.app.frame import SHORTCUTS

pytestmark = pytest.mark.browser


def selected(page):
    return page.get_by_role("tab", selected=True).first


def has_focus(page, found):
    """Wait until the keys go to an element, also where another window is in front."""
    page.wait_for_function("one => document.activeElement === one", arg=found.element_handle())


def test_keys_reach_question_tabs_table_picture_and_list(open_drawn):
    page = open_drawn()
    question = page.get_by_label("Question", exact=True)
    page.keyboard.press("n")
    expect(selected(page)).to_have_text("Passages")
    for key, name in (("n", "Why"), ("p", "Passages"), ("p", "Conditions"), ("t", "Table")):
        settle(page)
        page.keyboard.press(key)
        expect(selected(page)).to_have_text(name)
    settle(page)
    has_focus(page, selected(page))
    page.keyboard.press("/")
    has_focus(page, question)
    page.keyboard.type("np/t?g+0.")
    expect(question).to_have_value("np/t?g+0.")  # it was selected, and nothing else heard them
    expect(selected(page)).to_have_text("Table")
    question.blur()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard")
    expect(dialog).to_be_visible()
    assert dialog.locator("dd").all_inner_texts() == [one.what for one in SHORTCUTS]
    page.keyboard.press("n")
    expect(selected(page)).to_have_text("Table")
    page.keyboard.press("Escape")
    expect(dialog).not_to_be_visible()


def test_the_page_that_tab_reaches_is_outlined(open_drawn):
    page = open_drawn()
    link = page.get_by_role("link", name="Evaluate")
    for _ in range(10):
        page.keyboard.press("Tab")
        if link.evaluate("one => one === document.activeElement"):
            break
    assert link.evaluate("one => one === document.activeElement")
    assert link.evaluate("one => getComputedStyle(one).outlineStyle") == "solid"


def test_keys_zoom_walk_and_clear_the_selection(open_drawn):
    page = open_drawn()
    picture, node = page.locator(".panel"), page.locator("[data-node]").first
    before = node.bounding_box()
    page.keyboard.press("+")
    expect(picture).to_have_class(re.compile("moved"))
    page.keyboard.press("0")
    expect(picture).not_to_have_class(re.compile("moved"))
    after = node.bounding_box()
    assert {side: after[side] for side in ("x", "width", "height")} == {
        side: before[side] for side in ("x", "width", "height")}
    page.keyboard.press("g")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("node="))
    settle(page)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("node="))


def test_keys_play_and_step_the_film(open_drawn):
    page = open_drawn("/lab?experiment=Timeline&over=Pushes&best_mass=60", drawn=".movie[data-painted]")
    movie = page.locator(".movie")
    page.keyboard.press(".")
    expect(movie).to_have_attribute("data-push", "1")
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    page.get_by_role("button", name="Reset").focus()
    page.keyboard.press(" ")  # belongs to the button
    expect(movie).to_have_attribute("data-push", "0")


def test_the_keys_can_be_turned_off(open_drawn):
    page = open_drawn("/settings?group=This+app", drawn="text=Single keys act")
    page.get_by_text("Single keys act").click()
    settle(page)
    page.get_by_role("link", name="Explore").click()
    page.locator(PAINTED).wait_for(timeout=30_000)
    settle(page)
    page.keyboard.press("n")
    page.keyboard.press("?")
    expect(page.get_by_role("tab")).to_have_count(0)
    expect(page.get_by_role("dialog", name="Keyboard")).not_to_be_visible()
