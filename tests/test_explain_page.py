"""The tabs Why, Paths and What if without a browser, and in one."""


import pytest
from clicks import page, shown

from qafd.knowledge import KnowledgeGraph


def test_a_document_taken_out_by_a_link_names_what_is_lost(home):
    app = page("explore", tab="What if", no_doc="steve-jobs.md")
    lost = KnowledgeGraph.sample("apple-amazon", home).explain(
        "Introduce Steve Jobs's products in Apple.").without(documents=["steve-jobs.md"]).lost
    assert f"**{len(lost)} nodes** lost" in shown(app)


def test_the_table_says_of_each_retrieved_node_if_it_is_sure(home):
    rows = page("explore", tab="Table").dataframe[0].value
    told = KnowledgeGraph.sample("apple-amazon", home).explain("Introduce Steve Jobs's products in Apple.")
    assert rows["certainty"].tolist() == [
        "" if node.state != "saturated" else "possible" if node.id in told.possible else "sure"
        for node in told.retrieval.nodes]
    assert {"sure", "possible"} <= set(rows["certainty"])


@pytest.mark.browser
def test_choosing_a_path_highlights_it_and_the_link_restores_it(browser, app_url):
    context = browser.new_context(viewport={"width": 1280, "height": 1400})
    tab = context.new_page()
    tab.goto(app_url + "/?tab=Paths")
    tab.get_by_text("Steve Jobs — showed in").first.click()
    tab.locator(".edge.step").first.wait_for(timeout=20_000)
    assert tab.locator(".node.step").count() == 3  # a name, the passage, a name
    tab.goto(tab.url)
    tab.locator(".edge.step").first.wait_for(timeout=20_000)
    context.close()
