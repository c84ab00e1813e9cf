"""Fixtures: a browser, a running app on its sample, and where a Chromium is."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from browsing import PAINTED, settle
from faults import serving
from hypothesis import settings

from qafd.app.error_display import BROKEN
from qafd.knowledge import KnowledgeGraph

settings.register_profile("exact", max_examples=50, derandomize=True, deadline=None)
settings.load_profile("exact")

ROOT = Path(__file__).parents[1]


def pytest_addoption(parser):
    """Take what `make test-hostile` gives to the tests of test_fuzz.py."""
    parser.addoption("--seed", type=int, help="seed of their chance; without it each run has its own")
    parser.addoption("--seconds", type=float, default=60.0, help="time of each of them")


def pytest_collection_modifyitems(items):
    """Run what fails in the browser once more, as a loaded machine is late; the summary names it."""
    once_more = pytest.mark.flaky(reruns=1)
    for item in items:
        if "browser" in item.keywords:
            item.add_marker(once_more)


def chromium():
    """The Chromium to drive: $CHROMIUM, else the first of the usual names on PATH."""
    for name in (os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"):
        if name and (path := shutil.which(name)):
            return path
    pytest.fail("no Chromium found: run 'make test' once, or set CHROMIUM to its path")


def free_port():
    """A port of the loopback interface that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_healthy(url, server, seconds=60):
    """Return when the server answers its health check; fail when it dies or is too slow."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if server.poll() is not None:
            pytest.fail(f"the app ended with exit code {server.returncode}")
        try:
            with urllib.request.urlopen(url + "/_stcore/health", timeout=1):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.05)
    pytest.fail(f"the app was not healthy after {seconds} s")


@contextmanager
def served(command, folder, port=0, **environment):
    """The address of an app while a block lasts; the command ends where its port is to follow."""
    port = port or free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", *command, str(port)], env={**os.environ, **environment}, cwd=folder,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until_healthy(url, server)
        yield url
    finally:
        server.terminate()
        server.wait(10)


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium; without its sandbox only for root, who cannot have one."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=20_000)  # two workers and their servers share the machine
    arguments = ["--disable-quic", "--no-first-run", "--disable-background-networking",
                 "--disable-component-update", "--disable-sync", "--disable-gpu"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        arguments.append("--no-sandbox")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def app_home(tmp_path_factory):
    """The folder of the running app's workspaces."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session")
def app_url(app_home):
    """The address of an app started as `qafd demo` starts it, with a home of its own."""
    with served(("qafd", "demo", "--port"), app_home, QAFD_HOME=str(app_home)) as url:
        yield url


@pytest.fixture
def open_page(browser, app_url):
    """Opens a path of the app in a context of its own.

    Fails on requests to others, errors of scripts, and what the policy of the server forbids.
    """
    pages = []
    wrong = []

    def visit(path="/", width=1280, height=900, scheme="light", **options):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, **options)
        page = context.new_page()
        pages.append(page)
        page.on("request", lambda r: None if r.url.startswith(
            (app_url, app_url.replace("http", "ws"), "data:", "blob:")) else wrong.append(r.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text)
                if "Content Security" in message.text or "Refused to" in message.text else None)
        page.goto(app_url + path)
        return page

    yield visit
    broken = [text for page in pages
              for text in (*page.get_by_test_id("stException").all_inner_texts(),
                           *page.get_by_text(BROKEN).all_inner_texts())]
    for page in pages:
        page.context.close()
    assert broken == [], "a page stopped at an error of its own"
    assert wrong == [], "the app asked other hosts, a script failed, or the policy forbade something"


@pytest.fixture
def open_drawn(open_page):
    """Opens a path of the app and waits until its picture is drawn and its script idle."""
    def visit(path="/", *size, drawn=PAINTED, **options):
        page = open_page(path, *size, **options)
        page.locator(drawn).first.wait_for(timeout=60_000)
        settle(page)
        return page

    return visit


@pytest.fixture(scope="session")
def installed_components():
    """Streamlit's search for components in all installed packages, done once for all pages."""
    from streamlit.components.v2 import manifest_scanner

    return cache(manifest_scanner.scan_component_manifests)


@pytest.fixture(scope="session")
def apple(tmp_path_factory):
    """The sample of Figure 1, which tests only read."""
    return KnowledgeGraph.sample("apple-amazon", tmp_path_factory.mktemp("apple"))


@pytest.fixture(scope="session")
def songs(tmp_path_factory):
    """The sample of songs and prizes, which tests only read."""
    return KnowledgeGraph.sample("songbook", tmp_path_factory.mktemp("songs"))


@pytest.fixture
def path(tmp_path):
    """Where a workspace can be made."""
    return tmp_path / "work.db"


@pytest.fixture
def server(request):
    """A model endpoint that says what `pytest.mark.replies` gives it to say."""
    mark = request.node.get_closest_marker("replies")
    with serving(**(mark.kwargs if mark else {})) as running:
        yield running


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """A home folder of its own, with no model in sight."""
    monkeypatch.setenv("QAFD_HOME", str(tmp_path))
    for name in ("QAFD_DB", "OPENAI_API_KEY", "OPENAI_BASE_URL", "QAFD_MODEL", "QAFD_EMBED_MODEL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def home(alone, monkeypatch, installed_components):
    """The folder of the workspaces of a page that is run here."""
    monkeypatch.chdir(Path(__file__).parents[1])
    monkeypatch.setattr("streamlit.components.v2.manifest_scanner.scan_component_manifests",
                        installed_components)
    return alone
