"""The movie of Algorithm 2 in a real Chromium: what it computes, and that nothing is asked for."""

import re

import numpy as np
import pytest
from browsing import IDLE, settle
from oracles import states
from playwright.sync_api import expect

from qafd.learn.card import film_card
from qafd.learn.cards import CARDS

pytestmark = pytest.mark.browser
MOVIE = ".movie[data-painted]"


def number(page, name):
    return float(page.locator(MOVIE).get_attribute(f"data-{name}"))


def test_the_browser_repeats_the_pushes_of_the_library(open_page):
    card = CARDS[0]
    movie = film_card(card, card.start)
    frames = list(states(movie, movie.takes[0]))
    page = open_page("/learn?card=buckets")
    page.locator(MOVIE).wait_for(timeout=30_000)
    for k in range(4):
        assert number(page, "push") == k
        assert number(page, "mass") == pytest.approx(float(np.sum(movie.source)), abs=1e-8)
        assert number(page, "excess") == pytest.approx(frames[k].excess, abs=1e-8)
        page.get_by_role("button", name="Step").click()
    page.get_by_role("button", name="Reset").click()
    assert number(page, "push") == 0


def test_playing_500_pushes_asks_nothing_of_the_server(open_page):
    page = open_page("/lab?experiment=Timeline&over=Pushes&best_mass=60")
    page.locator(MOVIE).wait_for(timeout=60_000)
    settle(page)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("websocket", lambda socket: asked.append(socket.url))
    mass = number(page, "mass")
    page.get_by_role("slider", name="Speed").fill("80")  # 144 pushes a second
    page.get_by_role("button", name="Play").click()
    page.wait_for_function(
        """() => [...document.querySelectorAll('*')].some(e => e.shadowRoot &&
            Number(e.shadowRoot.querySelector('.movie')?.dataset.push) >= 500)""", timeout=20_000)
    assert page.locator(IDLE).count() == 1
    assert number(page, "frames") > 1
    assert number(page, "mass") == pytest.approx(mass, abs=1e-8)
    assert asked == []


def test_pushing_by_hand_ends_at_the_exact_solution(open_page):
    card = next(card for card in CARDS if card.mode == "push")
    page = open_page(f"/learn?card={card.key}")
    page.locator(MOVIE).wait_for(timeout=30_000)
    page.locator('[data-bucket="B"]').click()
    assert number(page, "push") == 0  # it does not overflow
    page.locator('[data-bucket="A"]').focus()
    page.keyboard.press("Enter")
    assert number(page, "push") == 1
    for _ in range(60):
        page.get_by_role("button", name="Push the fullest").click()
    expect(page.get_by_text(re.compile("Done: almost nothing overflows"))).to_be_visible()
    assert number(page, "mass") == pytest.approx(card.start.mass, abs=1e-8)
    page.get_by_role("button", name="Start again").click()
    assert number(page, "excess") == pytest.approx(card.start.mass - 1)


def test_the_link_of_a_cell_with_the_most_seeds_has_its_settings(open_page, app_url):
    page = open_page("/lab")
    page.locator(".js-plotly-plot").first.wait_for(timeout=60_000)
    settle(page)
    box = page.locator(".js-plotly-plot").first.locator(".point").last.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    loaded = re.compile(r"Loaded: mass [\d,.]+, (\d+) seeds")
    expect(page.get_by_text(loaded)).to_be_visible(timeout=30_000)
    settle(page)
    seeds = loaded.search(page.get_by_text(loaded).inner_text())[1]
    expect(page).to_have_url(re.compile(f"seeds={seeds}"))
    again = open_page(page.url.removeprefix(app_url))
    expect(again.get_by_role("slider", name="Passage seeds")).to_have_value(seeds, timeout=60_000)
