"""The movie of Algorithm 2 in a real Chromium: what it computes, and that nothing is asked for."""

import re
from collections.abc import Callable
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


def test_the_film_has_its_nodes_where_explore_has_them(open_page: Open) -> None:
    middle = """all => all.map(([name, at]) => {
        const box = at.getBoundingClientRect();
        return [name, [box.left + box.width / 2, box.top + box.height / 2]];
    })"""
    page = open_page("/?contract=false", width=1440)
    page.locator("[data-node]").first.wait_for(timeout=60_000)
    page.locator(IDLE).wait_for(state="attached", timeout=30_000)
    explored = dict(page.locator("[data-node]").evaluate_all(
        f"all => ({middle})(all.map(n => [n.getAttribute('aria-label').split(',')[0], n]))"))
    page.goto(page.url.split("/?")[0] + "/lab?experiment=Movie")
    page.locator(MOVIE).wait_for(timeout=60_000)
    filmed = dict(page.locator(".movie .card").first.locator("g:has(> title)").evaluate_all(
        f"all => ({middle})(all.map(g => [g.querySelector('title').textContent, "
        "g.querySelector('.ring')]))"))
    both = sorted(set(explored) & set(filmed))
    assert len(both) > 40
    here, there = (np.array([some[name] for name in both]) for some in (explored, filmed))
    for axis in (0, 1):
        scale, shift = np.polyfit(here[:, axis], there[:, axis], 1)
        away = np.abs(scale * here[:, axis] + shift - there[:, axis])
        assert np.quantile(away, 0.8) < 2
        assert away.max() < 10  # boxes with names, which Explore draws around seeds, keep apart
    [across, down] = (np.polyfit(here[:, axis], there[:, axis], 1)[0] for axis in (0, 1))
    assert across == pytest.approx(down, rel=0.1)


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
    expect(page.get_by_text(re.compile("Done: almost nothing overflows"))).to_be_visible()
    assert number(page, "mass") == pytest.approx(card.start.mass, abs=1e-8)
    page.get_by_role("button", name="Start again").click()
    assert number(page, "excess") == pytest.approx(card.start.mass - 1)


def test_a_click_on_a_cell_loads_its_settings_which_a_link_keeps(
        open_page: Open, app_url: str) -> None:
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
    expect(page.get_by_text(re.compile(r"Loaded: mass .*22, 20 seeds, plain"))
           ).to_be_visible(timeout=20_000)
    page.get_by_role("link", name="See it in Explore").click()
    expect(page.get_by_role("slider", name="Passage seeds")).to_have_value("20", timeout=30_000)
    expect(page.get_by_role("slider", name="Source mass").first).to_have_value("22")
    expect(page).to_have_url(re.compile("best_seeds=20"), timeout=30_000)
    linked = open_page(page.url.removeprefix(app_url))
    expect(linked.get_by_role("slider", name="Passage seeds")).to_have_value("20", timeout=30_000)
    expect(linked.get_by_role("slider", name="Source mass").first).to_have_value("22")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (390, "light")])
@pytest.mark.parametrize("path", ["/lab", "/lab?experiment=Guarantees", "/learn?card=guarantee"])
def test_the_pages_are_not_wider_than_the_window(
        path: str, width: int, scheme: str, open_page: Open) -> None:
    page = open_page(path, width=width, scheme=scheme)
    page.locator(IDLE).wait_for(state="attached", timeout=60_000)
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
