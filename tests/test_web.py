"""A web page as input: where it may be, how large and how slow, and what it is called."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path

import pytest
from clicks import page, press

from qafd.cli import main
from qafd.errors import ParameterError, ParseError
from qafd.ingest.web import fetch
from qafd.knowledge import KnowledgeGraph

PAGE = b"<html><head><title>Two firms</title></head><body><p>Apple sued Samsung.</p></body></html>"


class Site(ThreadingHTTPServer):
    """Pages on loopback; what was asked for is in `asked`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Pages)
        self.daemon_threads = True
        self.asked: list[str] = []
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: object) -> None:
        """Print nothing: clients hang up."""


class Pages(BaseHTTPRequestHandler):
    server: Site

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.path == "/page":
            self.head(200, {"Content-Type": "text/html", "Content-Length": len(PAGE)})
            self.wfile.write(PAGE)
        elif self.path == "/old":
            self.head(301, {"Location": "/page"})
        elif self.path == "/round":
            self.head(302, {"Location": "/round"})
        elif self.path == "/inward":
            self.head(302, {"Location": f"http://localhost:{self.server.server_port}/page"})
        elif self.path == "/file":
            self.head(302, {"Location": "file:///etc/passwd"})
        elif self.path == "/latin":
            self.head(200, {"Content-Type": "text/plain; charset=ISO-8859-2"})
            self.wfile.write("Łódź, gęś i żółw".encode("iso-8859-2"))
        elif self.path == "/200MB":
            self.head(200, {"Content-Type": "text/plain", "Content-Length": 200_000_000})
            self.server.over.wait()  # not a byte of it comes: it is refused by what it says
        elif self.path == "/endless":
            self.head(200, {"Content-Type": "text/plain"})
            while not self.server.over.is_set():
                self.wfile.write(b"on and " * 10_000)
        elif self.path == "/drip":
            self.head(200, {"Content-Type": "text/plain"})
            while not self.server.over.wait(0.05):
                self.wfile.write(b".")
        elif self.path == "/picture":
            self.head(200, {"Content-Type": "image/png"})
        elif self.path == "/packed":
            self.head(200, {"Content-Type": "text/html", "Content-Encoding": "gzip"})
        else:
            self.head(404, {})

    def head(self, status: int, headers: dict[str, object]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, str(value))
        self.end_headers()


@pytest.fixture
def site() -> Iterator[Site]:
    server = Site()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.over.set()
    server.shutdown()
    server.server_close()


def names(**known: str) -> Callable[[str], tuple[object, ...]]:
    return lambda host: tuple(map(ip_address, known[host.partition(".")[0]].split()))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1", "[::1]", "10.0.0.5", "0x7f000001",
                                  "192.168.1.1", "100.64.0.1", "[::ffff:10.0.0.1]", "intranet.corp"])
def test_no_page_in_a_private_network_is_fetched(site: Site, host: str) -> None:
    address = f"http://{host}:{site.server_port}/page"
    with pytest.raises(ParameterError):
        fetch(address, resolver=names(localhost="127.0.0.1", intranet="10.0.0.9 127.0.0.1"))
    assert site.asked == []


@pytest.mark.parametrize("near", [False, True])
def test_no_page_is_fetched_where_clouds_keep_their_secrets(near: bool) -> None:
    with pytest.raises(ParameterError):
        fetch("http://169.254.169.254/latest/meta-data", near=near)


@pytest.mark.parametrize("address", [
    "ftp://a.example/x", "file:///etc/passwd", "http://", "http://user:pw@a.example/", "http://[::1",
    "http://a.example:port/", "https://a.example/" + "x" * 300])
def test_what_is_no_address_of_a_page_is_refused(address: str) -> None:
    with pytest.raises(ParameterError):
        fetch(address, near=True)


@pytest.mark.parametrize("path", ["/inward", "/file"])
def test_leave_for_one_private_host_holds_for_no_redirect(site: Site, path: str) -> None:
    with pytest.raises(ParameterError):
        fetch(site.url + path, near=True)
    assert site.asked == [path]


def test_a_name_is_connected_to_only_where_it_was_when_it_was_checked(site: Site) -> None:
    answers = iter(["192.88.99.1", "127.0.0.1"])  # public for the check, then this machine
    with pytest.raises((ParseError, ParameterError)):
        fetch(f"http://rebound.example:{site.server_port}/page", seconds=1.0,
              resolver=lambda _: (ip_address(next(answers)),))
    assert site.asked == []
    assert next(answers) == "127.0.0.1"


@pytest.mark.parametrize("path", ["/200MB", "/endless", "/drip", "/picture", "/packed", "/round",
                                  "/nothing"])
def test_a_page_that_is_no_page_to_read_ends_with_a_sentence(site: Site, path: str) -> None:
    with pytest.raises(ParseError):
        fetch(site.url + path, near=True, seconds=2.0)


def test_the_command_line_takes_addresses_beside_files(site: Site, tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("Amazon bought Whole Foods.", encoding="utf-8")
    path = tmp_path / "web.db"
    assert main(["index", f"{site.url}/page", str(note), "--db", str(path),
                 "--engine", "serial"]) == 0
    found = KnowledgeGraph(path).retrieve("Who sued Samsung?")
    assert found.passages[0].document == f"{site.url}/page"
    assert found.passages[0].title == "Two firms"


@pytest.mark.parametrize("free", [False, True], ids=["reached by others", "its owner's alone"])
def test_the_app_fetches_from_a_private_network_for_its_owner_alone(
        site: Site, home: Path, monkeypatch: pytest.MonkeyPatch, free: bool) -> None:
    monkeypatch.setattr("qafd.app.documents.models.start_worker", lambda *_: None)
    monkeypatch.setattr("qafd.app.access.shared", not free)
    knowledge = KnowledgeGraph(home / "mine.db")
    knowledge.add_text("ada.txt", "Ada Lovelace met Charles Babbage in London.")
    app = page("documents", ws="mine")
    app.text_input(key="address").set_value(f"{site.url}/page")
    press(app, "Add the page")
    with knowledge.store() as store:
        names = {file.name for file in store.files.all()}
    assert names == {"ada.txt"} | ({f"{site.url}/page"} if free else set())
    assert bool(site.asked) == free
