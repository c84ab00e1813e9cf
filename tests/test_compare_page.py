"""The Compare page, without a browser and in one."""

import re

import pytest
from browsing import rest
from clicks import page, shown

from qafd.knowledge import KnowledgeGraph


def test_conditions_are_changed_on_the_page(home):
    knowledge = KnowledgeGraph.open(home / "people.db")
    knowledge.add_text("a.txt", "Ada Holt moved to Chile. Ada Holt moved to Peru.")
    knowledge.add_text("b.txt", "Ben Crane moved to Chile. Ben Crane moved to Norway.")
    app = page("explore", ws="people", q="Who moved to Chile and Peru?", tab="Conditions")

    def answers():
        [rows] = [table.value for table in app.dataframe if "Met by" in table.value.columns]
        return {text.split(" (")[0] for text in rows["Answer"]}

    assert answers() == {"Ada Holt"}
    conditions = app.multiselect(key="conditions of Who moved to Chile and Peru?")
    assert conditions.value == ["Chile", "Peru"]
    conditions.set_value(["Chile", "not Peru"]).run()
    assert not app.exception
    assert answers() == {"Ben Crane"}
    conditions.set_value(["Chile", "Atlantis"]).run()
    assert "Atlantis" in shown(app)


BOXES = """all => all.map(n => { const b = n.getBoundingClientRect();
return [b.left, b.top, b.right, b.bottom]; })"""


def places(tab):
    """Where each node of the first panel is; boxes of seeds give way to others."""
    boxes = tab.locator(".box [data-node]").evaluate_all("all => all.map(n => n.dataset.node)")
    found = dict(tab.locator("section.card").first.locator("[data-node]").evaluate_all(
        """nodes => nodes.map(n => { const m = n.closest('g').getAttribute('transform');
        return [n.dataset.node, m.match(/-?[\\d.]+/g).map(Number)]; })"""))
    return {node: place for node, place in found.items() if node not in boxes}


def places_at_rest(tab):
    return rest(tab, lambda: places(tab))  # fonts come late, and nodes are on their way


@pytest.mark.browser
def test_no_parameter_and_no_other_methods_move_a_node(open_drawn):
    before = places_at_rest(open_drawn("/compare?methods=qafd&methods=ego&methods=pagerank"))
    for path in ("/compare?methods=qafd&methods=ego&methods=vector",
                 "/compare?methods=qafd&methods=vector&methods=lexical&best_mass=20"):
        after = places_at_rest(open_drawn(path))
        both = before.keys() & after.keys()
        moved = [n for n in both if max(abs(before[n][i] - after[n][i]) for i in (0, 1)) > 2]
        assert len(both) > 20
        assert not moved, path


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_panels_hover_select_and_zoom_together(open_drawn, width):
    tab = open_drawn("/compare?methods=qafd&methods=ego&view=Overlap", width=width)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    cards = tab.locator("section.card")
    assert cards.count() == 2
    tops = [cards.nth(i).locator("svg").last.bounding_box() for i in (0, 1)]
    assert (tops[0]["y"] == tops[1]["y"]) is (width == 1280)
    tab.get_by_role("button", name="Zoom in").click()
    spots = rest(tab, lambda: [
        cards.nth(i).get_by_role("button", name=re.compile("^Steve Jobs,")).first.locator(
            "..").get_attribute("transform") for i in (0, 1)])
    assert spots[0] == spots[1]
    tab.get_by_role("button", name="Show everything").click()
    tab.get_by_role("button", name=re.compile("^iPod,")).first.click()
    tab.get_by_text(re.compile("similarity .* to the keyword")).wait_for()
    for i in (0, 1):
        assert cards.nth(i).locator("g.selected").count() == 1


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_rings_and_seeds_have_words_that_no_node_hides(open_drawn, width):
    tab = open_drawn("/compare?methods=ego&methods=qafd&q=Who+built+a+lens+for+Cordouan%3F", width=width)
    words = tab.locator("g.ring text").evaluate_all(BOXES)
    nodes = tab.locator("section.card").first.locator(".node:not(.ghost) .shape").evaluate_all(BOXES)
    assert words
    for left, top, right, bottom in words:
        assert not [n for n in nodes
                    if n[0] < right and left < n[2] and n[1] < bottom and top < n[3]]
    seeds = tab.locator("section.card").last.locator(".node.seed.passage")
    assert seeds.count() > 1
    assert seeds.locator("text.off").count() == 0
