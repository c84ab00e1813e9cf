"""Names in the answer and nodes of the picture, joined in a real Chromium."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


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
