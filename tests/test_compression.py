"""Compression of files: what gets smaller is sent smaller, pages with a visitor's words are not."""

import asyncio
import gzip
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.responses import Response

from qafd.app.middleware import Compression

TEXT = b"let mass = 1;\n" * 500


def answer(path, encoding="gzip"):
    """The headers and the body that a browser gets."""
    sent = []

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": "http.request"}

    scope = {"type": "http", "method": "GET", "path": path,
             "headers": [(b"accept-encoding", encoding.encode())]}

    async def serve():
        await Compression(Response(TEXT))(scope, receive, send)

    with ThreadPoolExecutor(1) as pool:  # a browser's loop may run in this thread
        pool.submit(asyncio.run, serve()).result()
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return headers, b"".join(message["body"] for message in sent[1:])


@pytest.mark.parametrize("path", ["/static/js/index.js", "/static/css/index.css"])
def test_a_file_is_sent_smaller_and_arrives_whole(path):
    headers, body = answer(path)
    assert headers["content-encoding"] == "gzip"
    assert len(body) < len(TEXT) / 10
    assert gzip.decompress(body) == TEXT


@pytest.mark.parametrize(("path", "encoding"), [
    ("/explore", "gzip"), ("/static/media/font.woff2", "gzip"), ("/static/js/index.js", "identity")])
def test_anything_else_is_sent_as_it_is(path, encoding):
    headers, body = answer(path, encoding)
    assert "content-encoding" not in headers
    assert body == TEXT
