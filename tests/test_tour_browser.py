"""The tour of the first page in a real Chromium, as somebody new to it meets it."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect
from test_browser import PAINTED, settle

pytestmark = pytest.mark.browser
Open = Callable[..., Any]


def open_as_newcomer(open_page: Open) -> Any:
    page = open_page(newcomer=True)
    page.wait_for_selector(PAINTED, timeout=30_000)
    settle(page)
    expect(page.get_by_text("Step 1 of 4")).to_be_visible()
    return page


def test_each_step_of_the_tour_goes_on_when_what_it_outlines_is_used(open_page: Open) -> None:
    page = open_as_newcomer(open_page)
    page.locator("[class*=st-key-examples-] button").nth(1).click()
    expect(page.get_by_text("Step 2 of 4")).to_be_visible()
    settle(page)
    for step in (3, 4):
        page.locator("[class*=st-key-picture-]").first.click()
        expect(page.get_by_text(f"Step {step} of 4")).to_be_visible()
    page.locator(".st-key-mass").click()
    expect(page.get_by_text("Skip the tour")).to_have_count(0)


def test_a_skipped_tour_does_not_come_back(open_page: Open) -> None:
    page = open_as_newcomer(open_page)
    page.get_by_role("button", name="Skip the tour").click()
    expect(page.get_by_text("Step 1 of 4")).to_have_count(0)
    page.reload()
    page.wait_for_selector(PAINTED, timeout=30_000)
    settle(page)
    expect(page.get_by_text("Step 1 of 4")).to_have_count(0)
