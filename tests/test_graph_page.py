"""The Graph page: names are searched and edited."""

import pytest
from browsing import rest, settle
from clicks import page as open_without_browser
from clicks import shown
from playwright.sync_api import expect

from qafd.curate.entities import call
from qafd.knowledge import KnowledgeGraph
from qafd.reading.text import canonical
from qafd.records import node_id

TEXT = "Augustin Fresnel built a lens for the Cordouan lighthouse. Thomas Stevenson met Augustin Fresnel."


def id_of(name):
    return node_id("entity", canonical(name))


@pytest.fixture
def lights(app_home):
    knowledge = KnowledgeGraph(app_home / "lights.db")
    knowledge.add_text("lights.txt", TEXT)
    yield knowledge
    with knowledge.store() as store:
        store.wipe()


def test_what_was_renamed_is_awaited_and_nothing_else_is_shown_for_it(home):
    knowledge = KnowledgeGraph(home / "lights.db")
    knowledge.add_text("lights.txt", TEXT)
    with knowledge.store() as store:
        call(store, "Augustin Fresnel", "A. Fresnel")
    app = open_without_browser("graph", ws="lights", entity=id_of("A. Fresnel"))
    assert "A. Fresnel" in shown(app)
    assert not [button for button in app.button if button.label == "Rename or merge"]
    known = open_without_browser("graph", ws="lights", entity=id_of("Thomas Stevenson"))
    assert [button for button in known.button if button.label == "Rename or merge"]


def test_an_entity_that_another_tab_renamed_is_told_once_and_its_form_with_it(home):
    knowledge = KnowledgeGraph(home / "lights.db")
    knowledge.add_text("lights.txt", TEXT)
    app = open_without_browser("graph", ws="lights", entity=id_of("Augustin Fresnel"))
    assert not app.warning
    knowledge.rename("Augustin Fresnel", "A. Fresnel")
    app.run()
    assert "Augustin Fresnel" in app.warning[0].value
    app.run()
    assert not app.warning


@pytest.mark.browser
def test_the_card_follows_an_entity_to_its_new_name(open_page, lights):
    page = open_page(f"/graph?ws={lights.name}&entity={id_of('Augustin Fresnel')}")
    expect(page.get_by_role("heading", name="Augustin Fresnel")).to_be_visible(timeout=30_000)
    settle(page)
    page.get_by_role("tab", name="Edit", exact=True).click()
    box = page.get_by_role("combobox", name="Call it")
    box.fill("A. Fresnel")
    page.get_by_role("option").last.wait_for()
    box.press("Enter")
    page.get_by_role("button", name="Rename or merge").click()
    expect(page.get_by_role("heading", name="A. Fresnel")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("heading", name="Thomas Stevenson")).to_have_count(0)
    assert f"entity={id_of('A. Fresnel')}" in page.url


@pytest.mark.browser
def test_on_a_phone_a_link_leads_to_the_name_of_the_card(open_page, lights):
    page = open_page(f"/graph?ws={lights.name}", 390, 500)
    settle(page)
    page.get_by_role("link", name="What the documents say about").click()
    name = page.locator("#entity-1 h2")
    expect(name).to_be_in_viewport()
    covered = page.get_by_test_id("stHeader").bounding_box()
    assert rest(page, name.bounding_box)["y"] >= covered["y"] + covered["height"]
