"""The component in a real Chromium: what is drawn, and what pointer and keys do."""

import os
import re
from pathlib import Path

import pytest
from conftest import served
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
TESTS = Path(__file__).parent


@pytest.fixture(scope="module")
def server():
    """The address of the app that draws the component alone."""
    path = os.pathsep.join([str(TESTS.parent), os.environ.get("PYTHONPATH", "")])
    with served(("streamlit", "run", str(TESTS / "panel_app.py"), "--server.headless=true",
                 "--browser.gatherUsageStats=false", "--server.address=127.0.0.1",
                 "--server.fileWatcherType=none", "--server.port"),
                TESTS.parent, PYTHONPATH=path) as url:
        yield url


@pytest.fixture(scope="module")
def context(browser):
    context = browser.new_context(viewport={"width": 1280, "height": 1300},
                                   reduced_motion="reduce")
    yield context
    context.close()


@pytest.fixture
def page(context):
    page = context.new_page()
    wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text)
            if message.type == "error" else None)
    yield page
    page.close()
    assert wrong == []


def show(page, address):
    page.goto(address)
    expect(page.locator("[data-painted]")).to_be_visible(timeout=30_000)


def node(page, name, panel=0):
    return page.locator(".card").nth(panel).locator(f'[data-node="{name}"]')


def all_nodes(page, script):
    """`script` of every node's shape `e` in the first panel, by node id."""
    return dict(page.locator(".card").first.locator("[data-node]").evaluate_all(
        f"all => all.map(e => [e.dataset.node, {script}])"))


def places(page):
    return all_nodes(page, "e.parentNode.getAttribute('transform')")


def move_slider(page, key):
    root = page.locator("[data-painted]")
    painted = root.get_attribute("data-painted") or ""
    page.get_by_role("slider").focus()
    page.keyboard.press(key)
    expect(root).not_to_have_attribute("data-painted", painted)


def focused(page):
    return page.evaluate("() => { let e = document.activeElement;"
                         "while (e.shadowRoot) e = e.shadowRoot.activeElement;"
                         "return e.dataset.node ?? null }")


def test_a_panel_is_one_tab_stop_and_keys_walk_by_importance(page, server):
    show(page, f"{server}/?panels=2")
    page.locator("label", has_text="thickness by weight").locator("input").focus()
    while focused(page) is None:
        page.keyboard.press("Tab")
    walked = [focused(page)]
    for _ in range(5):
        page.keyboard.press("PageDown")
        walked.append(focused(page))
    names = page.locator(".card").first.locator("[data-node]:not([data-state=ghost])").evaluate_all(
        "all => all.map(e => [e.dataset.node, +e.ariaLabel.match(/importance ([\\d.]+)/)[1]])")
    by_importance = [name for name, _ in sorted(names, key=lambda pair: -pair[1])]
    assert walked == by_importance[:6]
    page.keyboard.press("Enter")
    expect(page.get_by_text(f"selected: {walked[-1]}")).to_be_visible()
    page.keyboard.press("PageUp")
    page.keyboard.press("Space")
    expect(page.get_by_text(f"selected: {walked[-2]}")).to_be_visible()
    assert focused(page) == walked[-2]
    for _ in range(10):  # past the buttons of the second panel's head
        page.keyboard.press("Tab")
        if focused(page) is not None:
            break
    assert page.evaluate(
        "() => { let e = document.activeElement;"
        "while (e.shadowRoot) e = e.shadowRoot.activeElement;"
        "const cards = [...e.getRootNode().querySelectorAll('.card')];"
        "return cards.findIndex(c => c.contains(e)) }") == 1


def test_arrow_keys_move_to_a_node_on_that_side(page, server):
    show(page, server)
    at = {name: [float(v) for v in re.findall(r"[\d.]+", place)]
          for name, place in places(page).items()}
    node(page, "Apple Inc.").focus()
    for key, axis, sign in (("ArrowRight", 0, 1), ("ArrowLeft", 0, -1), ("ArrowUp", 1, -1),
                            ("ArrowDown", 1, 1)):
        before = focused(page)
        page.keyboard.press(key)
        after = focused(page)
        assert sign * (at[after][axis] - at[before][axis]) > 0


def test_hostile_names_are_shown_and_do_nothing(page, server):
    show(page, f"{server}/?sample=hostile&mass=8")
    for name in page.locator("[data-node]").all():
        name.hover()
    assert page.evaluate("window.hacked") is None
    assert page.locator(".panel").locator("img, script, b:not(.row b), i").count() == 0
    texts = page.locator(".card .node text").all_text_contents()
    assert "<img src=x onerror=wind…" in texts
    assert "evil backwards" in texts
    assert "名前が長い日本語のノード" in texts
    assert max(map(len, texts)) <= 28
    # A drop of the long name's tail, not of the layout: nothing is wider than the window.
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator('[data-node="__proto__"]').click()
    expect(page.get_by_text("selected: __proto__")).to_be_visible()
    page.locator("[data-node]").first.click()
    expect(page.get_by_text(re.compile("^selected: (id\"'<|constructor)"))).to_be_visible()


@pytest.mark.parametrize(("width", "address"), [
    (390, "panels=4&mass=8"), (1280, "panels=4&mass=8"), (320, "sample=hostile&mass=8")])
def test_names_stay_inside_and_cover_neither_nodes_nor_each_other(page, server, width, address):
    page.set_viewport_size({"width": width, "height": 1300})
    show(page, f"{server}/?{address}")
    for card in page.locator(".card").all():
        boxes = card.locator("svg .node:not(.ghost)").evaluate_all("""all => all.flatMap((g, i) =>
            [g.querySelector('.shape'), ...(g.matches('.seed') ? [] : g.querySelectorAll('text'))]
            .filter(e => getComputedStyle(e).display !== 'none').map(e => {
                const r = e.getBoundingClientRect();
                return [i, r.left, r.top, r.right, r.bottom,
                        e.textContent || g.matches('.seed') && e.dataset.node] }))""")
        frame = card.bounding_box()
        assert frame
        assert len(boxes) > 15
        for i, left, top, right, bottom, text in boxes:
            assert frame["x"] <= left < right <= frame["x"] + frame["width"]
            for j, left2, top2, right2, bottom2, text2 in boxes:
                # Small nodes may touch on a phone; names and boxes never hide anything. The line
                # box of a text is higher than its letters by about 3 px.
                if i != j and text:
                    across = min(right, right2) - max(left, left2)
                    down = min(bottom, bottom2) - max(top, top2)
                    assert across < 1.5 or down < 4, (text, text2)


def test_states_differ_by_shape_and_not_by_color_alone(page, server):
    show(page, server)
    looks = dict(page.locator(".card [data-node]").evaluate_all("""all => all.map(e => {
        const s = getComputedStyle(e), g = e.parentNode;
        return [e.dataset.state + (g.matches('.seed') ? ' seed' : '') +
                (g.matches('.passage') ? ' passage' : ''),
            [+e.getAttribute('width') > 30, +e.getAttribute('rx') === e.getAttribute('width') / 2,
             parseFloat(s.strokeWidth) > 2, +e.getAttribute('width') < 6]] })"""))
    assert looks["saturated"] == [False, True, False, False]
    assert looks["saturated passage"] == [False, False, False, False]
    assert looks["wet"] == [False, True, True, False]
    assert looks["saturated seed"] == [True, False, True, False]
    assert looks["ghost"][3]


def test_a_touch_selects_and_shows_the_tooltip(browser, server):
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True,
                                   is_mobile=True)
    page = context.new_page()
    show(page, server)
    node(page, "iPod").tap()
    expect(node(page, "iPod")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("tooltip")).to_contain_text("iPod")
    expect(page.get_by_text("selected: iPod")).to_be_visible()
    context.close()


def visible(page):
    return set(page.locator(".card").first.locator("[data-node]").evaluate_all(
        "all => all.filter(e => e.getClientRects().length).map(e => e.dataset.node)"))


def choose(page, label, option):
    page.get_by_role("button", name="View", exact=True).click()
    page.get_by_label(label, exact=True).select_option(option)
    page.get_by_role("button", name="View", exact=True).click()


def test_a_filter_hides_nodes_with_their_edges_and_brings_them_back(page, server):
    show(page, server)
    before, stood = visible(page), places(page)
    choose(page, "Document", "odd.md")
    left = visible(page)
    assert set() < left < before
    ends = page.locator(".card").first.locator("[data-edge]").evaluate_all(
        "all => all.filter(e => e.getClientRects().length).flatMap(e => e.dataset.edge.split('|'))")
    assert set(ends) <= left
    choose(page, "Document", "")
    assert (visible(page), places(page)) == (before, stood)


def test_the_search_finds_by_any_part_of_a_name_and_centers(page, server):
    show(page, server)
    node(page, "Mac").focus()
    page.keyboard.press("/")
    page.keyboard.type("IPOD")
    expect(page.locator(".found [data-node]")).to_have_attribute("data-node", "iPod")
    page.keyboard.press("Enter")
    frame, found = page.locator(".card > svg").bounding_box(), node(page, "iPod").bounding_box()
    assert frame
    assert found
    for start, size in (("x", "width"), ("y", "height")):
        middle = frame[start] + frame[size] / 2
        assert abs(found[start] + found[size] / 2 - middle) < 3
    page.keyboard.press("ArrowDown")
    assert focused(page) == "iPod"


def test_a_node_is_moved_by_mouse_and_keys_alone_and_reset(page, server):
    show(page, server)
    before, box = places(page), node(page, "iPod").bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 60, box["y"] + 40, steps=4)
    page.mouse.up()
    node(page, "Mac").focus()
    page.keyboard.press("Shift+ArrowRight")
    move_slider(page, "ArrowRight")
    after = places(page)
    assert {name for name, place in before.items() if after[name] != place} == {"iPod", "Mac"}
    page.get_by_role("button", name="Show everything").click()
    expect(node(page, "iPod").locator("..")).to_have_attribute("transform", before["iPod"])
    assert places(page) == before
