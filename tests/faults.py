"""A model endpoint on loopback that answers well, or in any of the ways endpoints fail."""

import hashlib
import json
import threading
import time
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

FAULTS = ("429", "429 for a day", "500", "hang", "drop", "half body", "redirect", "html",
          "broken json", "truncated", "garbage", "empty", "no choices", "null content", "drip",
          "endless", "300 MB")
"""Every fault; "endless" is a stream that never stops, whatever was asked for."""

Body = dict[str, Any]


class FaultServer:
    """Serves /v1/chat/completions, /v1/embeddings and /v1/models.

    Parameters
    ----------
    reply : callable
        Request body to the text of a good answer.
    fault : callable
        (number of the request from 0, body) to a fault or "ok".
    """

    def __init__(self, reply=lambda _: "fine", fault=lambda *_: "ok"):
        self.reply, self.fault = reply, fault
        self.bodies: list[Body] = []
        self.faults: Counter[str] = Counter()
        self.pieces: list[str] = []  # of a stream, instead of the words of the reply
        self.finish: str | None = "stop"  # how the last piece says that it is the last
        self.numbers: list[Any] = []  # of vectors, instead of the right ones
        self.breaks = False  # streams, before their end
        self.streams = True  # where a stream is wanted, else one reply in JSON
        self.parts = False  # contents are lists of parts
        self.error = ""  # an error within a stream, after its first piece
        self.usage: Body | None = {"prompt_tokens": 11, "completion_tokens": 7}
        self.embedding_usage: Body | None = None
        self.dimension, self.largest = 4, 1000
        self.models = ["tiny"]
        self.over = threading.Event()
        self._lock = threading.Lock()
        self.hold: threading.Event | None = None
        self.after_first: threading.Event | None = None  # what the rest of a stream waits for
        self.was_heard = False
        self.first_sent: list[float] = []  # when the first words of each stream went out
        owner = self

        class Handler(_Handler):
            server_of = owner

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self):
        """End the hanging answers and the server."""
        self.over.set()
        self._server.shutdown()
        self._server.server_close()

    def take(self, body):
        """Note a request; what to do with it."""
        with self._lock:
            kind = self.fault(len(self.bodies), body)
            self.bodies.append(body)
            self.faults[kind] += 1
        return kind

    def hang_from(self, stop):
        """Answer no request from number `stop` on; the event is set when that one has come."""
        reached = threading.Event()

        def fault(number, _):
            if number >= stop:
                reached.set()
                return "hang"
            return "ok"

        self.fault = fault
        return reached


@contextmanager
def serving(*arguments, **named):
    """A running server for the length of a block."""
    server = FaultServer(*arguments, **named)
    try:
        yield server
    finally:
        server.close()


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_):
        """Print nothing: clients are killed in some tests."""


class _Handler(BaseHTTPRequestHandler):
    server_of: FaultServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Print nothing."""

    def do_GET(self):
        """The list of models."""
        self._json(200, {"object": "list", "data": [
            {"id": name, "object": "model", "owned_by": "us"}
            for name in self.server_of.models]})

    def do_POST(self):
        """A chat completion or embeddings, or a fault."""
        server = self.server_of
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body["key"] = self.headers.get("Authorization", "")
        kind = server.take(body)
        try:
            if kind == "ok":
                if server.hold is not None:
                    server.hold.wait()
                if self.path.endswith("/embeddings"):
                    self._embeddings(body)
                elif body.get("stream") and server.streams:
                    self._stream(server.reply(body), "stream_options" in body)
                else:
                    self._json(200, completion(self._content(server.reply(body)), server.usage))
            else:
                self._fail(kind, body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _content(self, text):
        return [{"type": "text", "text": part} for part in text] if self.server_of.parts else text

    def _fail(self, kind, body):
        server = self.server_of
        good = server.reply(body) if "messages" in body else ""
        if kind.isdecimal():
            self._json(int(kind), {"error": {"message": f"no, {body['key']} cannot"}})
        elif kind.startswith("says "):
            _, status, text = kind.split(" ", 2)
            self._json(int(status), {"error": {"message": text}})
        elif kind == "429 for a day":
            self._json(429, {"error": {"message": "slow down"}}, {"Retry-After": "86400"})
        elif kind == "hang":
            server.over.wait()
            self.close_connection = True
        elif kind == "drop":
            self.close_connection = True
        elif kind == "half body":
            data = json.dumps(completion(good, None)).encode()
            self._head(200, len(data))
            self.wfile.write(data[:len(data) // 2])
            self.close_connection = True
        elif kind == "redirect":
            self._json(307, {}, {"Location": "http://127.0.0.1:1/elsewhere"})
        elif kind == "html":
            self._send(200, b"<html><body>It works!</body></html>", {"Content-Type": "text/html"})
        elif kind == "broken json":
            self._send(200, b'{"choices": [{"message": {"content": "fi')
        elif kind == "truncated":
            self._json(200, completion(good[:len(good) // 2], server.usage, "length"))
        elif kind == "garbage":
            self._json(200, completion("\u0000zxq %%% lorem [[ {{ \ud83d\ude00", server.usage))
        elif kind == "empty":
            self._json(200, completion("", server.usage))
        elif kind == "no choices":
            self._json(200, {**completion("", server.usage), "choices": []})
        elif kind == "null content":
            self._json(200, completion(None, server.usage))
        elif kind == "drip":
            self._endlessly(b" ", 0.1)
        elif kind == "drip headers":
            self.wfile.write(b"HTTP/1.1 200 OK\r\n")
            while not server.over.wait(0.1):
                self.wfile.write(b"x")
        elif kind == "endless":
            piece = json.dumps({"choices": [{"index": 0, "delta": {"content": "on "}}]})
            self._endlessly(f"data: {piece}\n\n".encode(), 0.001, "text/event-stream")
        elif kind == "300 MB":
            self._endlessly(b" " * 1_000_000, 0.0)
        elif kind == "packed":
            self._send(200, b"\x1f\x8b", {"Content-Encoding": "gzip"})
        elif kind == "deep":
            self._send(200, b'{"choices":' + b"[" * 100_000)
        else:
            raise ValueError(kind)

    def _endlessly(self, piece, pause, kind="application/json"):
        self._head(200, 300_000_000, {"Content-Type": kind})
        self.close_connection = True
        sent = 0
        while sent < 300_000_000 and not self.server_of.over.wait(pause):
            self.wfile.write(piece)
            sent += len(piece)

    def _embeddings(self, body):
        texts = body["input"]
        if len(texts) > self.server_of.largest:
            self._json(413, {"error": {"message": "too many texts"}})
            return
        rows = [list(hashlib.sha256(text.encode()).digest()[:self.server_of.dimension])
                for text in texts]
        self._json(200, {
            "object": "list", "model": "tiny", "usage": self.server_of.embedding_usage, "data": [
                {"object": "embedding", "index": i, "embedding": rows[(i or 0) % len(rows)]}
                for i in self.server_of.numbers or reversed(range(len(rows)))]})

    def _stream(self, text, counted):
        self._head(200, 300_000_000 if self.server_of.breaks else None,
                   {"Content-Type": "text/event-stream"})
        self.close_connection = True
        words = self.server_of.pieces or [word + " " for word in text.split(" ")]
        pieces = [{"choices": [{"index": 0, "delta": {"content": self._content(word)}}]}
                              for word in words]
        pieces[-1]["choices"][0]["finish_reason"] = self.server_of.finish
        if counted and self.server_of.usage:
            pieces.append({"choices": [], "usage": self.server_of.usage})
        for number, piece in enumerate(pieces):
            if number == 1 and self.server_of.after_first is not None:
                self.server_of.was_heard = self.server_of.after_first.wait(20)
            self.wfile.write(f"data: {json.dumps(piece)}\n\n".encode())
            self.wfile.flush()
            if self.server_of.error:
                failed = {"error": {"message": self.server_of.error}}
                self.wfile.write(f"data: {json.dumps(failed)}\n\n".encode())
                return
            if not number:
                self.server_of.first_sent.append(time.time())
        if not self.server_of.breaks:
            self.wfile.write(b"data: [DONE]\n\n")

    def _json(self, status, body, headers=None):
        self._send(status, json.dumps(body).encode(), headers)

    def _send(self, status, data, headers=None):
        self._head(status, len(data), headers)
        self.wfile.write(data)

    def _head(self, status, length, headers=None):
        self.send_response(status)
        for name, value in ({"Content-Type": "application/json"} | (headers or {})).items():
            self.send_header(name, value)
        if length is None:
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", str(length))
        self.end_headers()


def completion(text, usage, reason="stop"):
    """A chat completion as endpoints send it."""
    return {"id": "x", "object": "chat.completion", "created": 0, "model": "tiny",
            "usage": usage, "choices": [{
                "index": 0, "finish_reason": reason,
                "message": {"role": "assistant", "content": text}}]}
