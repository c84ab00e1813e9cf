"""Documents in a real Chromium: a quote opens in its document, in view and marked."""


import pytest
from files import pdf
from hostile import PWN, SCRIPTS
from playwright.sync_api import expect
from test_documents_page import put

from qafd.curate.files import SIZE
from qafd.knowledge import KnowledgeGraph

pytestmark = pytest.mark.browser


def test_a_source_on_explore_opens_in_its_document(open_page):
    page = open_page("/?ws=apple-amazon&q=Which river meets the Amazon near Manaus?")
    source = page.locator(".st-key-card [class*=st-key-source] button:visible").first
    source.wait_for(timeout=60_000)
    answer = page.get_by_role("main").inner_text()
    source.click()
    page.get_by_role("link", name="Read on in the document").click()
    marked = page.locator("section.asked mark")
    expect(marked.first).to_be_in_viewport(timeout=60_000)
    parts = [text.strip() for text in marked.all_inner_texts()]  # names in it are marks of their own
    assert all(part in answer for part in parts)
    assert len("".join(parts)) > 20


def test_a_passage_deep_in_a_long_document_is_scrolled_to_and_no_markup_runs(open_page, app_home):
    texts = [f"{SCRIPTS[n % len(SCRIPTS)]} This is passage {n}." for n in range(20_000)]
    chunks = put(app_home / "long.db", "long.txt", texts)
    page = open_page(f"/documents?ws=long&doc=long.txt&passage={chunks[12_345].id}", width=390)
    expect(page.locator("section.asked")).to_be_in_viewport(timeout=60_000)
    expect(page.locator("section.asked")).to_contain_text("This is passage 12345.")
    assert page.locator(".document section").count() == SIZE
    page.get_by_role("button", name="Later").last.click()
    first = page.locator(".document section").first
    expect(first).not_to_contain_text("passage 12337.")
    expect(first).to_be_in_viewport()
    assert page.evaluate(f"window.{PWN}") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_source_in_a_pdf_is_shown_on_its_page(open_page, app_home):
    lines = ["The harbour froze in 1911.", "Amelia Thornbury wrote the flood records.",
             "The Marigold was built in Leith."]
    KnowledgeGraph(app_home / "harbour.db").add_files([saved(app_home / "log.pdf", pdf(lines))])
    page = open_page("/?ws=harbour&q=Who wrote the flood records?")
    page.locator(".st-key-card [class*=st-key-source] button:visible").first.click()
    printed = page.locator(".st-key-card img")
    expect(printed).to_be_visible(timeout=60_000)
    page.get_by_role("link", name="Read on in the document").click()
    expect(page.locator(".st-key-printed img")).to_be_in_viewport(timeout=60_000)


def saved(path, data):
    path.write_bytes(data)
    return path
