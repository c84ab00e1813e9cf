"""Signing in with an account of a provider, against a real local one."""

import json
import subprocess
import sys

import pytest
from conftest import free_port, served

pytestmark = pytest.mark.browser

SECRETS = """
[auth]
redirect_uri = "http://127.0.0.1:{port}/oauth2callback"
cookie_secret = "a setting that only Streamlit reads"
client_id = "qafd"
client_secret = "qafd"
server_metadata_url = "http://127.0.0.1:{provider}/.well-known/openid-configuration"

[people]
allowed = ["Ada@school.example", "@verified.example"]
"""
CLAIMS = {
    "ada": {"email": "ada@school.example", "email_verified": True},
    "charles": {"email": "charles@school.example", "email_verified": True},
    "told": {"email": "ada@school.example", "email_verified": "true"},
    "unsaid": {"email": "bea@verified.example"},
}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """An app that lets one account of a provider in, and the file that says so."""
    home, port, provided = tmp_path_factory.mktemp("accounts"), free_port(), free_port()
    command = [sys.executable, "-m", "oidc_provider_mock", "--port", str(provided)]
    for name, claims in CLAIMS.items():
        command += ["--user-claims", json.dumps({"sub": name, **claims})]
    secrets = home / "secrets.toml"
    secrets.write_text(SECRETS.format(port=port, provider=provided), "utf-8")
    provider = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        # The name is relative to the folder that the command is started in.
        with served(("qafd", "demo", "--oidc", "secrets.toml", "--port"), home, port,
                    QAFD_HOME=str(home)) as url:
            yield url, secrets
    finally:
        provider.terminate()
        provider.wait(10)


def sign_in(view, url, account):
    view.goto(url)
    view.get_by_role("link", name="Sign in").click()
    view.locator("input[name=sub]").fill(account)
    view.get_by_role("button", name="Authorize").click()


def test_an_account_that_is_allowed_signs_in_is_named_and_signs_out(browser, guarded):
    url, secrets = guarded
    view = browser.new_context().new_page()
    sign_in(view, f"{url}/?ws=songbook&best_mass=12", "ada")
    view.locator("[data-painted]").wait_for(timeout=60_000)
    assert view.url == f"{url}/?ws=songbook&best_mass=12"
    view.goto(f"{url}/settings?group=This+app")
    view.get_by_text("Signed in as ada").wait_for()
    view.get_by_role("link", name="Sign out").click()
    view.get_by_role("button", name="End session").click()
    text = secrets.read_text("utf-8")
    secrets.write_text("", "utf-8")
    view.goto(url)
    view.get_by_role("link", name="Sign in").wait_for()
    secrets.write_text(text, "utf-8")
    view.context.close()


@pytest.mark.parametrize("account", ["charles", "told", "unsaid"])
def test_an_account_that_is_not_allowed_sees_nothing(account, browser, guarded):
    url, _ = guarded
    view = browser.new_context().new_page()
    sign_in(view, f"{url}/documents?ws=songbook", account)
    view.get_by_text("may not use this app").wait_for()
    view.goto(f"{url}/documents?ws=songbook")
    view.get_by_role("link", name="Sign in").wait_for()
    assert not view.locator("[data-painted]").count()
    view.context.close()
