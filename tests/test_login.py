"""Signing in with an account of a provider: Streamlit's own login against a real local one."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import free_port, served

SECRETS = """
[auth]
redirect_uri = "http://127.0.0.1:{port}/oauth2callback"
cookie_secret = "a secret of this test alone, long enough"
client_id = "qafd"
client_secret = "qafd"
server_metadata_url = "http://127.0.0.1:{provider}/.well-known/openid-configuration"

[people]
allowed = ["ada@school.example"]
"""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An app that lets one account of a provider in."""
    home, port, provided = tmp_path_factory.mktemp("accounts"), free_port(), free_port()
    command = [sys.executable, "-m", "oidc_provider_mock", "--port", str(provided)]
    for name in ("ada", "charles"):
        command += ["--user-claims", json.dumps({
            "sub": name, "email": f"{name}@school.example", "email_verified": True})]
    secrets = home / "secrets.toml"
    secrets.write_text(SECRETS.format(port=port, provider=provided), "utf-8")
    provider = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with served(("qafd", "demo", "--oidc", str(secrets), "--port"), home, port,
                    QAFD_HOME=str(home)) as url:
            yield url
    finally:
        provider.terminate()
        provider.wait(10)


def sign_in(view: Any, url: str, account: str) -> None:
    view.goto(url)
    view.get_by_role("button", name="Sign in").click()
    view.locator("input[name=sub]").fill(account)
    view.get_by_role("button", name="Authorize").click()


@pytest.mark.browser
def test_an_account_that_is_allowed_signs_in_is_named_and_signs_out(
        browser: Any, guarded: str) -> None:
    view = browser.new_context().new_page()
    sign_in(view, guarded, "ada")
    view.locator("[data-painted]").wait_for(timeout=60_000)
    view.goto(f"{guarded}/settings")
    view.get_by_text("Signed in as ada").wait_for()
    view.get_by_role("button", name="Sign out").click()
    view.get_by_role("button", name="End session").click()
    view.get_by_role("button", name="Sign in").wait_for()
    view.context.close()


@pytest.mark.browser
def test_a_stranger_and_an_account_that_is_not_allowed_see_nothing(
        browser: Any, guarded: str) -> None:
    view = browser.new_context().new_page()
    view.goto(f"{guarded}/documents?ws=songbook")
    view.get_by_role("button", name="Sign in").wait_for()
    assert "songbook" not in view.locator("body").inner_text().lower()
    sign_in(view, guarded, "charles")
    view.get_by_text("may not use this app").wait_for()
    assert not view.locator("[data-painted]").count()
    view.context.close()
