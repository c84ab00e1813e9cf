"""Links into the app: which address leads where, and what a page is told."""

import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from qafd.app.middleware import Addresses
from qafd.app.pages import PAGES

PAGE = '<!doctype html><html><head><title>App</title></head><body><div id="root"></div></body></html>'


@pytest.fixture
def client():
    def page(request):
        return HTMLResponse(PAGE, headers={"etag": "one"})

    def text(request):
        return PlainTextResponse("<head>")

    return TestClient(Addresses(Starlette(routes=[
        Route("/", page), Route("/compare", page), Route("/_stcore/health", text),
        Route("/media", page)]), pages=list(PAGES)))


@pytest.mark.parametrize("path", ["/", "/compare"])
def test_a_page_says_where_the_app_begins(client, path):
    answer = client.get(path, headers={"if-none-match": "one"})
    assert "<head><script>window.__streamlit=" in answer.text
    assert 'aria-label="The page loads"' in answer.text.partition('<div id="root">')[2]
    assert answer.headers["content-length"] == str(len(answer.content))
    assert "etag" not in answer.headers


@pytest.mark.parametrize("path", ["/_stcore/health", "/media"])
def test_what_is_no_page_passes_unchanged(client, path):
    assert "script" not in client.get(path).text


@pytest.mark.parametrize(("path", "to"), [
    ("/explore", "/"), ("/explore?q=a%26b&node=1", "/?q=a%26b&node=1"), ("/explore/?q=1", "/?q=1")])
def test_a_link_to_the_first_page_leads_to_the_root(client, path, to):
    answer = client.get(path)
    assert str(answer.url).removeprefix("http://testserver") == to
    assert answer.status_code == 200
