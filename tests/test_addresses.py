"""Links into the app: which address leads where, and what a page is told."""

import runpy
from io import BytesIO

import pytest
from fontTools.ttLib import TTFont
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from qafd.app.middleware import Addresses
from qafd.app.pages import PAGES
from qafd.resources import assets

PAGE = """<!doctype html><html><head><title>App</title>
<link rel="icon" href="a.png"/><link
  rel="preload"
  href="./static/media/Sans.woff2"
  as="font"
  crossorigin
/><link rel="modulepreload" href="b.js"></head><body><div id="root"></div></body></html>"""
FONT = "static/media/MaterialSymbols-Rounded.nEdyypZU.woff2"


@pytest.fixture
def client():
    def page(request):
        return HTMLResponse(PAGE, headers={"etag": "one"})

    def text(request):
        return PlainTextResponse("<head>")

    return TestClient(Addresses(Starlette(routes=[
        Route("/", page), Route("/compare", page), Route("/_stcore/health", text),
        Route("/media", page), Route(f"/base/{FONT}", page)]), pages=list(PAGES)))


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


def test_the_font_of_the_text_does_not_come_before_the_scripts(client: TestClient) -> None:
    text = client.get("/").text
    assert "Sans.woff2" not in text
    assert text.count("<link") == 2


def test_the_icons_that_the_app_and_streamlit_use_are_in_a_small_font(client: TestClient) -> None:
    script = runpy.run_path(str(assets() / "build_icons.py"))
    used_icons, icons_of = script["used_icons"], script["icons_of"]
    answer = client.get(f"/base/{FONT}")
    (whole,) = script["STATIC"].glob("media/MaterialSymbols-Rounded.*.woff2")
    wanted = used_icons() & icons_of(TTFont(whole)).keys()
    assert wanted > {"search", "expand_more", "keyboard_double_arrow_left"}
    assert wanted <= icons_of(TTFont(BytesIO(answer.content))).keys()
    assert len(answer.content) < whole.stat().st_size / 20
    assert answer.headers["cache-control"] == "no-cache"
