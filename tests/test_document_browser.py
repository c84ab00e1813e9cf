"""Documents in a real Chromium: uploads are read, and a quote opens in its document, in view and marked."""

import random
import secrets

import pytest
from browsing import settle
from files import pdf
from hostile import PWN, SCRIPTS
from playwright.sync_api import expect
from test_browser import new_workspace
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


GOOD = b"Petra Lund painted the lighthouse of Marholm in 1950."
FILES = {"good.txt": GOOD, "empty.txt": b"", "words.docx": b"no zip, only words. " * 20,
         "old.zip": b"PK\x05\x06" + bytes(18),
         "noise.pdf": b"%PDF-1.7\n" + random.Random(1).randbytes(5000),
         "<img src=x onerror=window.__pwn=1>.txt": b"Jonas Brask repaired the lighthouse."}


def test_each_bad_file_is_told_and_the_good_ones_are_read(open_page):
    page = open_page("/settings")
    settle(page)
    new_workspace(page, f"bad-{secrets.token_hex(3)}")
    upload = page.locator("input[type=file]").first
    upload.set_input_files([{"name": name, "mimeType": "application/octet-stream", "buffer": data}
                            for name, data in FILES.items()])
    expect(page.get_by_text("Done: 3 read, 3 could not be read")).to_be_visible(timeout=60_000)
    for name in ("empty.txt", "noise.pdf", "old.zip"):
        expect(page.get_by_text(f"{name}:").first).to_be_visible()
    expect(page.get_by_role("button", name="Retry failed 3 files")).to_be_visible()
    upload.set_input_files([{"name": "good.txt", "mimeType": "text/plain", "buffer": GOOD + b" Now."}])
    expect(page.get_by_test_id("stToast").filter(has_text="good.txt")).to_be_visible()
    assert page.evaluate("window.__pwn") is None


def test_a_question_of_many_thousand_letters_is_answered_and_its_link_opens(open_page, app_url):
    page = open_page()
    settle(page)
    box = page.get_by_role("textbox", name="Question")
    box.fill("What did Steve Jobs show and why " * 620)
    box.press("Enter")
    expect(page.get_by_role("button", name="Steve Jobs, ").first).to_be_visible(timeout=30_000)
    again = open_page(page.url.removeprefix(app_url))
    expect(again.get_by_role("button", name="Steve Jobs, ").first).to_be_visible(timeout=30_000)
