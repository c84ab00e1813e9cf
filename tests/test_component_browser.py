"""The component in a real Chromium: what is drawn, and what pointer and keys do."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from conftest import served
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from qafd.app.component import asset

pytestmark = pytest.mark.browser
TESTS = Path(__file__).parent


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of the app that draws the component alone."""
    path = os.pathsep.join([str(TESTS.parent), os.environ.get("PYTHONPATH", "")])
    with served(("streamlit", "run", str(TESTS / "panel_app.py"), "--server.headless=true",
                 "--browser.gatherUsageStats=false", "--server.address=127.0.0.1",
                 "--server.fileWatcherType=none", "--server.port"),
                TESTS.parent, PYTHONPATH=path) as url:
        yield url


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 1280, "height": 1300},
                                   reduced_motion="reduce")
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text)
            if message.type == "error" else None)
    yield page
    page.close()
    assert wrong == []


def show(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("[data-painted]")).to_be_visible(timeout=30_000)


def node(page: Page, name: str, panel: int = 0) -> Locator:
    return page.locator(".card").nth(panel).locator(f'[data-node="{name}"]')


def all_nodes(page: Page, script: str) -> dict[str, str]:
    """`script` of every node's shape `e` in the first panel, by node id."""
    return dict(page.locator(".card").first.locator("[data-node]").evaluate_all(
        f"all => all.map(e => [e.dataset.node, {script}])"))


def places(page: Page) -> dict[str, str]:
    return all_nodes(page, "e.parentNode.getAttribute('transform')")


def move_slider(page: Page, key: str) -> None:
    root = page.locator("[data-painted]")
    painted = root.get_attribute("data-painted") or ""
    page.get_by_role("slider").focus()
    page.keyboard.press(key)
    expect(root).not_to_have_attribute("data-painted", painted)


def focused(page: Page) -> str | None:
    return page.evaluate("() => { let e = document.activeElement;"
                         "while (e.shadowRoot) e = e.shadowRoot.activeElement;"
                         "return e.dataset.node ?? null }")


def test_the_slider_changes_states_and_moves_no_node(page: Page, server: str) -> None:
    show(page, f"{server}/?mass=3")
    before, states = places(page), all_nodes(page, "e.dataset.state")
    move_slider(page, "End")
    assert places(page) == before
    after = all_nodes(page, "e.dataset.state")
    assert {states["Fuji"], after["Fuji"]} == {"ghost", "saturated"}
    assert sum(s == "saturated" for s in after.values()) > sum(
        s == "saturated" for s in states.values())


def test_a_click_marks_the_node_in_all_panels_and_tells_python(page: Page, server: str) -> None:
    show(page, f"{server}/?panels=2")
    node(page, "Mac").click()
    assert [node(page, "Mac", i).get_attribute("aria-pressed") for i in (0, 1)] == ["true", "true"]
    expect(page.get_by_text("selected: Mac")).to_be_visible()
    move_slider(page, "ArrowRight")
    expect(node(page, "Mac", 1)).to_have_attribute("aria-pressed", "true")
    node(page, "iPod", 1).click()
    expect(page.get_by_text("selected: iPod")).to_be_visible()
    expect(node(page, "Mac")).to_have_attribute("aria-pressed", "false")


def test_escape_deselects(page: Page, server: str) -> None:
    show(page, server)
    node(page, "Mac").click()
    expect(page.get_by_text("selected: Mac")).to_be_visible()
    page.keyboard.press("Escape")
    expect(node(page, "Mac")).to_have_attribute("aria-pressed", "false")
    expect(page.get_by_text("selected: None")).to_be_visible()


def test_a_panel_is_one_tab_stop_and_keys_walk_by_importance(page: Page, server: str) -> None:
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


def test_arrow_keys_move_to_a_node_on_that_side(page: Page, server: str) -> None:
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


def test_nodes_have_accessible_names(page: Page, server: str) -> None:
    show(page, server)
    button = page.get_by_role("button", name=re.compile(
        r"^Steve Jobs, person, seed, retrieved, importance [\d.]+%$"))
    expect(button).to_have_attribute("aria-pressed", "false")
    expect(page.locator(".card svg").first).to_have_attribute(
        "aria-label", re.compile(r"^QAFD-RAG: \d+ of \d+ touched nodes retrieved; .+\.$"))


def test_hover_makes_neighbors_stand_out_in_all_panels(page: Page, server: str) -> None:
    show(page, f"{server}/?panels=2")
    node(page, "Mac").hover()
    for panel in (0, 1):
        on = page.locator(".card").nth(panel).locator(".node.on [data-node]").evaluate_all(
            "all => all.map(e => e.dataset.node)")
        assert set(on) == {"Mac", "macOS", "Apple Inc.", "Steve Jobs"}
    expect(page.locator(".words text").first).to_be_visible()
    tip = page.get_by_role("tooltip")
    expect(tip).to_contain_text("Mac")
    expect(tip).to_contain_text(re.compile(r"importance\s*[\d.]+"))
    expect(tip).to_contain_text(re.compile(r"mass\s*1 of 1"))
    expect(tip).to_contain_text("Mac is 1 steps from a seed and holds all it can.")
    page.mouse.move(5, 5)
    expect(page.locator(".dim")).to_have_count(0)


def test_hovering_an_edge_shows_its_relation_and_flow(page: Page, server: str) -> None:
    show(page, server)
    ends = [node(page, name).bounding_box() for name in ("iPhone", "iOS")]
    (x, y), (u, v) = [(b["x"] + b["width"] / 2, b["y"] + b["height"] / 2) for b in ends if b]
    said = []
    for part in (0.5, 0.4, 0.6, 0.3, 0.7):  # a label may lie over a part of the edge
        page.mouse.move(x + part * (u - x), y + part * (v - y))
        tip = page.get_by_role("tooltip")
        said.append(tip.inner_text().replace("\n", "") if tip.is_visible() else "")
    assert any(re.match(r"(iPhone → iOS|iOS → iPhone)runsflow[\d.]+weight[\d.]+", s) for s in said)


def test_hostile_names_are_shown_and_do_nothing(page: Page, server: str) -> None:
    show(page, f"{server}/?sample=hostile&mass=8")
    for name in page.locator("[data-node]").all():
        name.hover()
    assert page.evaluate("window.hacked") is None
    assert page.locator(".qafd").locator("img, script, b:not(.row b), i").count() == 0
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


def test_zoom_and_drag_are_linked_and_a_double_click_resets(page: Page, server: str) -> None:
    show(page, f"{server}/?panels=2")
    home = places(page)
    box = page.locator(".card svg").nth(1).bounding_box()
    assert box
    x, y = box["x"] + 20, box["y"] + box["height"] - 20
    page.mouse.move(x, y)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    expect(node(page, "Mac").locator("..")).not_to_have_attribute("transform", home["Mac"])
    zoomed = places(page)
    page.mouse.down()
    page.mouse.move(x + 50, y - 30, steps=5)
    page.mouse.up()
    expect(node(page, "Mac").locator("..")).not_to_have_attribute("transform", zoomed["Mac"])
    page.mouse.dblclick(x, y)
    expect(node(page, "Mac").locator("..")).to_have_attribute("transform", home["Mac"])
    expect(page.get_by_text("selected: None")).to_be_visible()


def test_the_svg_download_stands_alone_and_names_everything(page: Page, server: str,
                                                            tmp_path: Path) -> None:
    show(page, f"{server}/?sample=hostile&mass=8")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as SVG").click()
    download.value.save_as(tmp_path / "picture.svg")
    root = ElementTree.parse(tmp_path / "picture.svg").getroot()
    tags = {element.tag.partition("}")[2] for element in root.iter()}
    assert tags == {"svg", "title", "rect", "path", "text"}
    texts = ["".join(element.itertext()) for element in root.iter()
             if element.tag.endswith("text")]
    assert {"QAFD-RAG", "</text><script>window.h…", "مرحبا بالعالم", "importance"} <= set(texts)
    attributes = {name for element in root.iter() for name in element.attrib}
    assert not {name for name in attributes if name.startswith(("on", "data-", "style", "href"))}


def test_the_png_download_is_a_picture_of_twice_the_size(page: Page, server: str,
                                                         tmp_path: Path) -> None:
    show(page, server)
    box = page.locator(".qafd").bounding_box()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as PNG").click()
    download.value.save_as(tmp_path / "picture.png")
    head = (tmp_path / "picture.png").read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    assert box
    assert int.from_bytes(head[16:20]) == pytest.approx(2 * (box["width"] + 24), abs=4)


@pytest.mark.parametrize(("width", "address"), [
    (390, "panels=4&mass=8"), (1280, "panels=4&mass=8"), (320, "sample=hostile&mass=8")])
def test_names_stay_inside_and_cover_neither_nodes_nor_each_other(
        page: Page, server: str, width: int, address: str) -> None:
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


@pytest.mark.parametrize("width", [390, 700, 1600], ids=str)
def test_panels_wrap_and_never_scroll_sideways(page: Page, server: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    show(page, f"{server}/?panels=4")
    lefts = {round(card.bounding_box()["x"]) for card in page.locator(".card").all()}  # type: ignore[index]
    assert len(lefts) == (1 if width < 800 else 2)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_panels_come_and_go_without_losing_the_tools(page: Page, server: str) -> None:
    show(page, f"{server}/?panels=2")
    for count in (1, 4, 0, 3):
        page.get_by_role("spinbutton").fill(str(count))
        page.keyboard.press("Enter")
        expect(page.locator(".card")).to_have_count(count)
        expect(page.get_by_role("button", name="Zoom in")).to_be_visible()


@pytest.mark.parametrize(("scheme", "ramp", "fill"), [
    ("light", "green", "rgb(10, 99, 48)"), ("dark", "viridis", "rgb(111, 104, 184)")])
def test_colors_follow_the_theme_and_the_ramp(page: Page, server: str, scheme: str, ramp: str,
                                              fill: str) -> None:
    page.emulate_media(color_scheme=scheme)
    show(page, f"{server}/?ramp={ramp}")
    expect(page.locator(".qafd")).to_have_attribute("data-theme", scheme)
    expect(node(page, "Apple Inc.")).to_have_css("fill", fill)


def test_states_differ_by_shape_and_not_by_color_alone(page: Page, server: str) -> None:
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


def test_a_touch_selects_and_shows_the_tooltip(browser: Browser, server: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True,
                                   is_mobile=True)
    page = context.new_page()
    show(page, server)
    node(page, "iPod").tap()
    expect(node(page, "iPod")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("tooltip")).to_contain_text("iPod")
    expect(page.get_by_text("selected: iPod")).to_be_visible()
    context.close()


def test_a_touch_on_a_name_selects_its_own_node(browser: Browser, server: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True,
                                   is_mobile=True, reduced_motion="reduce")
    page = context.new_page()
    show(page, f"{server}/?sample=60&mass=8")
    named = page.locator(".card .node:not(.ghost):has(text:not(.off))")
    spots = dict(named.evaluate_all("""all => all.map(g => {
        const r = g.querySelector('text').getBoundingClientRect();
        return [g.node.id, [r.x + r.width / 2, r.y + r.height / 2]] })"""))
    assert len(spots) > 15
    for name, (x, y) in spots.items():
        page.touchscreen.tap(x, y)
        expect(node(page, name)).to_have_attribute("aria-pressed", "true")
    context.close()


@pytest.mark.parametrize("width", [390, 1280], ids=str)
def test_no_name_stands_on_a_disc_and_no_box_on_another(page: Page, server: str,
                                                       width: int) -> None:
    page.set_viewport_size({"width": width, "height": 1300})
    show(page, f"{server}/?sample=60&mass=8&panels=4")
    over = page.locator(".card").evaluate_all("""cards => cards.flatMap(card => {
        const nodes = [...card.querySelectorAll('svg .node:not(.ghost)')].map(g => g.node);
        const frame = n => ({ x0: n.px - n.half[0], x1: n.px + n.half[0],
                              y0: n.py - n.half[1], y1: n.py + n.half[1] });
        const meet = (a, b) => a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;
        return nodes.filter(n => n.shown).flatMap(n => nodes.filter(o => o !== n &&
            meet(n.box ? frame(n) : n.at, frame(o))).map(o => [n.id, o.id])) })""")
    assert over == []
    gaps = page.locator(".card").evaluate_all("""cards => cards.flatMap(card => {
        const above = card.querySelector('.subtitle').getBoundingClientRect().bottom;
        return [...card.querySelectorAll('svg text:not(.off)')].map(
            t => t.parentNode.node.at?.y0 + card.querySelector('svg').getBoundingClientRect().top
                 - above).filter(gap => gap < 9) })""")
    assert gaps == []


def test_motion_is_short_and_absent_when_unwanted(page: Page, server: str) -> None:
    show(page, server)
    expect(node(page, "Mac")).to_have_css("transition-duration", "0s")
    page.emulate_media(reduced_motion="no-preference")
    times = node(page, "Mac").evaluate("e => getComputedStyle(e).transitionDuration")
    assert 0 < max(float(t) for t in re.findall(r"[\d.]+", times)) <= 0.25


def test_no_request_leaves_for_another_host(page: Page, server: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    show(page, server)
    node(page, "Mac").click()
    expect(page.get_by_text("selected: Mac")).to_be_visible()
    assert [url for url in asked if not url.startswith((server, "data:", "blob:"))] == []


def test_the_component_is_small_enough_to_be_sent_on_every_rerun() -> None:
    assert len(asset("panel.js").encode()) < 31_500
    assert len(asset("panel.css").encode()) < 6_200
