"""The movie of Algorithm 2 in a real Chromium: what it computes, and that nothing is asked for."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

from qafd.lab.movie import states
from qafd.learn.card import filmed
from qafd.learn.cards import CARDS

pytestmark = pytest.mark.browser
MOVIE = ".movie[data-painted]"
IDLE = '[data-test-script-state="notRunning"]'
Open = Callable[..., Any]


def number(page: Any, name: str) -> float:
    return float(page.locator(MOVIE).get_attribute(f"data-{name}"))


def test_the_browser_repeats_the_pushes_of_the_library(open_page: Open) -> None:
    card = CARDS[0]
    movie = filmed(card, card.start)
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


def test_playing_500_pushes_asks_nothing_of_the_server(open_page: Open) -> None:
    page = open_page("/lab?experiment=Movie&best_mass=60")
    page.locator(MOVIE).wait_for(timeout=60_000)
    page.locator(IDLE).wait_for(state="attached", timeout=30_000)
    asked: list[str] = []
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


def test_pushing_by_hand_ends_at_the_exact_solution(open_page: Open) -> None:
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
    expect(page.get_by_text(re.compile("Almost nothing overflows"))).to_be_visible()
    assert number(page, "mass") == pytest.approx(card.start.mass, abs=1e-8)
    page.get_by_role("button", name="Start again").click()
    assert number(page, "excess") == pytest.approx(card.start.mass - 1)


def test_a_teachers_link_shows_its_settings_without_controls(open_page: Open) -> None:
    card = next(card for card in CARDS if card.key == "capacity")
    movie = filmed(card, replace(card.start, mass=6.0, capacity="degree"))
    page = open_page("/learn?teach=1&card=capacity&mass=6.0&capacity=degree&seed=2")
    page.locator(MOVIE).wait_for(timeout=30_000)
    assert number(page, "mass") == pytest.approx(float(movie.source.sum()), abs=1e-8)
    assert page.get_by_test_id("stSidebar").count() == 0
    assert page.get_by_test_id("stSlider").count() == 0


def test_a_click_on_a_cell_loads_its_settings(open_page: Open) -> None:
    page = open_page("/lab")
    chart = page.get_by_test_id("stPlotlyChart").first
    chart.locator(".points path").last.wait_for(state="attached", timeout=60_000)
    page.locator(IDLE).wait_for(state="attached", timeout=30_000)
    cell = chart.locator(".nsewdrag")
    box = cell.bounding_box()
    # The fifth of eight masses in the uppermost of four rows.
    cell.hover(position={"x": 0.55 * box["width"], "y": 0.1 * box["height"]})
    chart.locator(".hovertext").wait_for()
    cell.click(position={"x": 0.56 * box["width"], "y": 0.12 * box["height"]})
    expect(page.get_by_text(re.compile(r"Loaded: mass, in nodes 22, 20 seeds, plain"))
           ).to_be_visible(timeout=20_000)
    page.get_by_role("link", name="See it in Explore").click()
    expect(page.get_by_role("slider", name="Passage seeds")).to_have_value("20", timeout=30_000)
    expect(page.get_by_role("slider", name="Source mass (fills")).to_have_value("22")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (390, "light")])
@pytest.mark.parametrize("path", ["/lab", "/lab?experiment=Guarantees", "/learn?card=guarantee"])
def test_the_pages_are_not_wider_than_the_window(
        path: str, width: int, scheme: str, open_page: Open) -> None:
    page = open_page(path, width=width, scheme=scheme)
    page.locator(IDLE).wait_for(state="attached", timeout=60_000)
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
