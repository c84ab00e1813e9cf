"""The app in a real Chromium, used as a person would."""

import json
import re
import secrets
import statistics

import pytest
from browsing import PAINTED, rest, settle
from docx import Document as WordDocument
from hostile import PWN, STRINGS
from playwright.sync_api import expect

from qafd.knowledge import KnowledgeGraph

pytestmark = pytest.mark.browser


def places(page):
    """Where each drawn node stands, in pixels of the page."""
    return dict(page.locator("[data-node]").evaluate_all("""nodes => nodes.map(n => {
        const r = (n.querySelector('circle, rect') || n).getBoundingClientRect();
        return [n.dataset.node, [Math.round(r.x + r.width / 2), Math.round(r.y + r.height / 2)]];
    })"""))


def test_a_projector_shows_larger_names_and_a_node_follows_the_mouse_there(open_drawn):
    heights = []
    for address in ("/", "/?present=1"):
        page = open_drawn(address)
        node = page.locator(".node.saturated", has=page.locator("text")).first
        heights.append(node.locator("text").first.bounding_box()["height"])
    assert heights[1] > 1.3 * heights[0]
    name = node.locator("[data-node]").get_attribute("data-node")
    x, y = places(page)[name]
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y + 40, steps=8)
    page.mouse.up()
    assert places(page)[name] == pytest.approx([x + 60, y + 40], abs=4)


@pytest.mark.parametrize("path", ["/documents?search=iPod", "/compare?view=Table&budget=600",
                                  "/documents?ws=songbook"])
def test_one_back_returns_to_a_page_with_parameters_of_its_own(path, open_page):
    page = open_page(path)
    settle(page)
    address, entries = page.url, page.evaluate("history.length")
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Settings").click()
    carried = r"\?ws=songbook" if "ws=" in path else ""
    expect(page).to_have_url(re.compile(f"/settings{carried}$"), timeout=30_000)
    settle(page)
    assert page.evaluate("history.length") == entries + 1
    page.go_back()
    expect(page).to_have_url(address, timeout=30_000)


def test_back_returns_to_each_selection_and_question(open_drawn):
    first, second = "Introduce Steve Jobs's products in Apple.", "Which cities lie on the Amazon?"
    page = open_drawn()
    card, box = page.locator(".st-key-card"), page.get_by_role("textbox", name="Question")
    for name in ("iPod", "Steve Jobs"):
        page.get_by_role("button", name=re.compile(f"^{name},")).first.click()
        expect(card.get_by_role("heading", name=name, exact=True)).to_be_visible(timeout=30_000)
        settle(page)
    page.go_back()
    expect(card.get_by_role("heading", name="iPod", exact=True)).to_be_visible(timeout=30_000)
    expect(page.locator('[data-node][aria-pressed="true"]')).to_have_attribute(
        "aria-label", re.compile("^iPod,"))
    settle(page)
    page.go_back()
    expect(card).not_to_contain_text("Back to the answer", timeout=30_000)
    settle(page)
    box.fill(second)
    box.press("Enter")
    expect(page).to_have_url(re.compile("q=Which"))
    expect(page.locator("svg").first).to_be_visible()
    settle(page)
    page.go_back()
    expect(box).to_have_value(first, timeout=30_000)
    expect(page).not_to_have_url(re.compile("q="))
    settle(page)
    page.go_forward()
    expect(box).to_have_value(second, timeout=30_000)


def test_an_edge_is_selected_by_mouse_and_key_and_the_link_restores_it(open_drawn, app_url):
    page = open_drawn("/?passages=false")
    at = page.locator("path.edge.flow").evaluate_all("""edges => {
        const named = (e) => [e.edge.u.name, e.edge.v.name].join() === "Steve Jobs,iPad";
        const line = edges.find(named), { u, v } = line.edge;
        const { left, top } = line.ownerSVGElement.getBoundingClientRect();
        const at = (t) => [left + u.px + t * (v.px - u.px), top + u.py + t * (v.py - u.py)];
        return [...Array(100).keys()].map((i) => at(i / 100))
            .find((point) => line.getRootNode().elementFromPoint(...point) === line);
    }""")
    page.mouse.click(*at)
    card = page.locator(".st-key-card")
    expect(card).to_contain_text("units of mass flow from Steve Jobs to iPad", timeout=30_000)
    expect(card).to_contain_text("Steve Jobs showed the iPad")
    again = open_drawn(page.url.removeprefix(app_url))
    expect(again.locator(".st-key-card")).to_contain_text("from Steve Jobs to iPad", timeout=30_000)
    again.locator("[data-node][tabindex='0']").focus()
    again.keyboard.press("e")
    expect(again.locator("path.edge.selected")).to_have_count(1)
    expect(again.locator(".st-key-card")).to_contain_text("units of mass flow from Steve Jobs to",
                                                          timeout=30_000)


def test_a_link_to_a_workspace_that_is_gone_leads_on(open_page):
    page = open_page("/?ws=gone&q=Which+river+meets+the+Amazon+near+Manaus%3F")
    page.get_by_text("There is no workspace 'gone' here").wait_for(timeout=30_000)
    page.get_by_role("button", name="apple-amazon").click()
    page.locator(PAINTED).wait_for(timeout=30_000)
    settle(page)
    assert "gone" not in page.url
    page.reload()
    page.locator(PAINTED).wait_for(timeout=30_000)
    expect(page.get_by_role("textbox", name="Question")
           ).to_have_value("Which river meets the Amazon near Manaus?")


def new_workspace(page, name):
    page.get_by_label("New workspace").fill(name)
    page.get_by_role("button", name="Create").click()
    page.get_by_role("heading", name="Documents").wait_for()
    settle(page)


def test_on_a_phone_the_menu_closes_when_a_new_workspace_is_made(open_drawn):
    page = open_drawn("/", 390, 844, has_touch=True, is_mobile=True)
    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_role("button", name="New workspace").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox").fill(f"phone-{secrets.token_hex(3)}")
    dialog.get_by_role("button", name="Create").click()
    page.get_by_text("No documents yet").wait_for(timeout=30_000)
    expect(page.get_by_test_id("stSidebar")).to_have_attribute("data-collapsed", "true")


def test_a_document_becomes_a_graph_without_a_question(open_page, tmp_path):
    word = WordDocument()
    word.add_heading("Lighthouses", 1)
    word.add_paragraph("Augustin Fresnel built a lens for the Cordouan lighthouse in France. "
                       "Thomas Stevenson later worked on lighthouses in Scotland.")
    word.save(str(tmp_path / "lights.docx"))
    page = open_page("/settings")
    settle(page)
    new_workspace(page, f"lights-{secrets.token_hex(3)}")
    assert page.get_by_text("No documents yet").is_visible()
    page.locator("input[type=file]").first.set_input_files(str(tmp_path / "lights.docx"))
    page.get_by_text(re.compile("1 file · 1 passage ·")).wait_for(timeout=60_000)
    page.get_by_role("link", name="Explore").first.click()
    page.get_by_role("searchbox", name="Find a name").fill("Fresnel")
    page.get_by_role("button", name="Augustin Fresnel", exact=True).click()
    page.get_by_text("built a lens for the Cordouan lighthouse").first.wait_for()
    page.get_by_role("button", name="Ask about it").click()
    page.get_by_text("query-aware flow diffusion").wait_for(timeout=30_000)
    page.get_by_text("built a lens for the Cordouan lighthouse").first.wait_for()


@pytest.fixture(scope="module")
def hostile_workspace(app_home):
    """A workspace whose titles, names and texts are hostile; returns how many nodes it has."""
    knowledge = KnowledgeGraph(app_home / "hostile.db")
    records = [{"id": str(i), "title": f"{s[:300]} Curie", "text": f"Maria Curie met {s[:300]}."}
               for i, s in enumerate(STRINGS)]
    lines = "\n".join(json.dumps(record) for record in records)
    knowledge.add_text("<img src=x onerror=window.__pwn=1>.jsonl", lines)
    return len(knowledge.graph)


def test_hostile_names_are_text_everywhere(open_drawn, hostile_workspace):
    assert hostile_workspace > 200
    page = open_drawn("/?ws=hostile&more=true&q=Whom+did+<script>+Maria+Curie+meet")
    title = page.title()
    nodes = page.locator("[data-node]")
    assert nodes.count() > 20
    for i in range(0, min(nodes.count(), 60), 3):
        nodes.nth(i).dispatch_event("pointerenter")
        nodes.nth(i).focus()
        page.keyboard.press("Enter")
    settle(page)
    for tab in ("Table", "Certificate", "Code", "Passages"):
        page.get_by_role("tab", name=tab, exact=True).click()
        settle(page)
    page.get_by_role("link", name="Documents").click()
    settle(page)
    assert page.evaluate(f"window.{PWN}") is None
    assert page.title() in (title, "Documents · QAFD Explorer")


def test_how_the_picture_is_looked_at_stands_in_the_address(open_drawn):
    page = open_drawn()
    page.get_by_role("button", name="View").click()
    page.locator(".tools select").first.select_option("document")
    page.get_by_label("Retrieved only").check()
    drawn = page.locator("[data-node]").count()
    expect(page).to_have_url(re.compile("look="))
    page.get_by_role("slider", name="Source mass").press("ArrowRight")
    expect(page).to_have_url(re.compile("best_mass="))
    settle(page)
    again = open_drawn(f"/?{page.url.partition('?')[2]}")
    again.get_by_role("button", name="View").click()
    expect(again.locator(".tools select").first).to_have_value("document")
    expect(again.get_by_label("Retrieved only")).to_be_checked()
    assert again.locator("[data-node]").count() >= drawn


def test_a_finger_that_rests_moves_a_node_and_one_that_moves_at_once_scrolls(open_drawn):
    page = open_drawn("/", 390, 844, has_touch=True, is_mobile=True)
    touch = page.context.new_cdp_session(page)
    node = page.locator("[data-node][data-state=saturated]").nth(6)

    def swipe(held):
        """How far the node goes, and how far it goes within its picture, in pixels down."""
        node.scroll_into_view_if_needed()
        before, frame = node.bounding_box(), page.locator(PAINTED).bounding_box()
        x, y = (before[at] + before[size] / 2 for at, size in (("x", "width"), ("y", "height")))
        touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
        page.wait_for_timeout(held)
        for step in range(1, 13):
            touch.send("Input.dispatchTouchEvent", {
                "type": "touchMove", "touchPoints": [{"x": x, "y": y - 5 * step}]})
            page.wait_for_timeout(20)
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        rest(page, node.bounding_box)
        moved = node.bounding_box()["y"] - before["y"]
        return moved, moved - (page.locator(PAINTED).bounding_box()["y"] - frame["y"])

    scrolled, apart = swipe(0)
    assert scrolled < -20
    assert abs(apart) < 2
    moved, apart = swipe(900)
    assert moved == pytest.approx(-60, abs=8)
    assert apart == pytest.approx(-60, abs=8)


def test_explore_and_compare_have_the_names_of_a_question_in_the_same_places(open_drawn):
    page = open_drawn()
    here = places(page)
    page.goto(page.url.partition("?")[0] + "compare")
    page.locator(PAINTED).first.wait_for(timeout=60_000)
    settle(page)
    there = dict(page.locator(".card").first.locator("[data-node]").evaluate_all(
        """nodes => nodes.map(n => { const r = n.getBoundingClientRect();
           return [n.dataset.node, [r.x + r.width / 2, r.y + r.height / 2]]; })"""))
    both = sorted(here.keys() & there.keys())
    assert len(both) > 20
    for axis in (0, 1):
        one, other = ([found[node][axis] for node in both] for found in (here, there))
        assert statistics.correlation(one, other) > 0.85  # mirrored, it is below 0
