"""The Database page in a real Chromium: hostile names, both widths and themes, a result."""

import sqlite3
from contextlib import closing

import pytest
from browsing import settle
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
EVIL = "<img src=x onerror=window.__pwn=1>"


@pytest.fixture
def hostile(app_home):
    path = app_home / "databases" / "hostile.sqlite"
    path.parent.mkdir(exist_ok=True)
    with closing(sqlite3.connect(path)) as database:
        database.executescript(
            f'CREATE TABLE IF NOT EXISTS "singers {EVIL}" (id INTEGER PRIMARY KEY, '
            f'"name ![x](http://127.0.0.1:9/leak) {EVIL}" TEXT);'
            f"""INSERT INTO "singers {EVIL}" VALUES (NULL, '{EVIL}');""")
    return path


@pytest.mark.parametrize(("tab", "width", "scheme"), [
    ("SQL", 1280, "dark"), ("SQL", 390, "light"), ("Schema", 390, "dark")])
def test_hostile_names_of_a_schema_stay_text(tab, width, scheme, hostile, open_drawn):
    page = open_drawn(f"/database?database=hostile&dbq=List+the+singers&dbtab={tab}", width=width,
                     scheme=scheme)
    if tab == "SQL":
        page.get_by_role("button", name="Run").click()
        expect(page.get_by_text("row · ", exact=False).or_(
            page.get_by_text("rows · ", exact=False)).first).to_be_visible()
    assert page.evaluate("window.__pwn") is None
    assert page.locator("img[src=x]").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_more_mass_moves_no_table_and_a_click_explains_it(open_drawn):
    page = open_drawn("/database")
    place = "n => n.getBoundingClientRect().x"
    node = page.get_by_role("button", name="customers.town").first
    before = node.evaluate(place)
    page.get_by_role("slider").first.press("ArrowRight")
    settle(page)
    assert abs(node.evaluate(place) - before) < 3
    node.click()
    page.get_by_text("customers.town is a starting point").first.wait_for()
    assert "node=customers.town" in page.url
