"""Files that cannot be read, in a real Chromium: each ends in a sentence, and nothing else is lost."""

import random
import secrets

import pytest
from browsing import settle
from playwright.sync_api import expect
from test_browser import new_workspace

pytestmark = pytest.mark.browser
GOOD = b"Petra Lund painted the lighthouse of Marholm in 1950."
FILES = {"good.txt": GOOD, "empty.txt": b"", "words.docx": b"no zip, only words. " * 20,
         "noise.pdf": b"%PDF-1.7\n" + random.Random(1).randbytes(5000),
         "<img src=x onerror=window.__pwn=1>.txt": b"Jonas Brask repaired the lighthouse."}


def test_each_bad_file_is_told_and_the_good_ones_are_read(open_page):
    page = open_page("/settings")
    settle(page)
    new_workspace(page, f"bad-{secrets.token_hex(3)}")
    upload = page.locator("input[type=file]").first
    upload.set_input_files([{"name": name, "mimeType": "application/octet-stream", "buffer": data}
                            for name, data in FILES.items()])
    expect(page.get_by_text("Done: 3 read, 2 could not be read")).to_be_visible(timeout=60_000)
    for name in ("empty.txt", "noise.pdf"):
        expect(page.get_by_text(f"{name}:").first).to_be_visible()
    expect(page.get_by_role("button", name="Retry failed 2 files")).to_be_visible()
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
