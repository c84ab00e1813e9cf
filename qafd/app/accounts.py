"""Accounts of a provider (OpenID Connect): the file that lists them, and the gate."""

import html
import secrets
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit

from authlib.integrations.starlette_client import OAuth, OAuthError
from httpx2 import HTTPError
from joserfc.errors import JoseError
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from qafd.app.gate import Sessions, VisitorGate, local_place, sign_in_page
from qafd.errors import ParameterError

SIGN_IN = "/sign-in"
ANYONE = "*"
KEYS = ("redirect_uri", "client_id", "client_secret", "server_metadata_url")
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class Accounts:
    """A provider of accounts, and the people who may enter.

    `allowed` has mail addresses, domains such as "@school.example", or "*" for all accounts of
    the provider.
    """

    redirect_uri: str
    client_id: str
    client_secret: str
    server_metadata_url: str
    allowed: frozenset[str]

    def admit(self, claims: Mapping[str, Any]) -> bool:
        """Return True if a person may enter; an address counts only if the provider verified it."""
        if ANYONE in self.allowed:
            return True
        email = claims.get("email")
        if not isinstance(email, str) or claims.get("email_verified") is not True:
            return False
        domain = "@" + email.rpartition("@")[2]
        return bool({_fold(email), _fold(domain)} & self.allowed)


def read_accounts(file: Path) -> Accounts:
    """Read a file in the form of Streamlit's secrets: [auth] with a provider, [people] with a list.

    The file is read once, when the app starts; later changes have no effect.

    Raises
    ------
    ParameterError
        Anything in the file is missing, misspelled or of another type.
    """
    try:
        found = tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ParameterError(f"the file of accounts {str(file)!r} cannot be read ({error})"
                             ) from error
    auth = _section(file, found, "auth", (*KEYS, "cookie_secret"))
    people = _section(file, found, "people", ("allowed",))
    if unknown := sorted(set(found) - {"auth", "people"}):
        raise _mistake(file, f"[{unknown[0]}] is not a section; it has [auth] and [people]")
    for key in KEYS:
        if not isinstance(auth.get(key), str) or not auth[key].strip():
            raise _mistake(file, f"[auth] needs {key}, a text that is not empty")
    for key in ("redirect_uri", "server_metadata_url"):
        if not _is_safe(auth[key]):
            raise _mistake(file, f"{key} must be an address that begins with https:// "
                           "(http:// on this machine only) and has a path")
    allowed = people.get("allowed")
    if not isinstance(allowed, list) or not allowed or not all(map(_is_entry, allowed)):
        raise _mistake(file, 'allowed of [people] must list addresses and domains, as '
                       '["ada@school.example", "@school.example"], or ["*"] for every account of '
                       "the provider")
    return Accounts(auth["redirect_uri"], auth["client_id"], auth["client_secret"],
                    auth["server_metadata_url"], frozenset(map(_fold, allowed)))


def _section(file: Path, found: Mapping[str, Any], name: str, known: tuple[str, ...]
             ) -> dict[str, Any]:
    section = found.get(name)
    if not isinstance(section, dict):
        raise _mistake(file, f"there is no section [{name}]")
    if unknown := sorted(set(section) - set(known)):
        raise _mistake(file, f"[{name}] has no setting {unknown[0]}; it has {', '.join(known)}")
    return section


def _mistake(file: Path, words: str) -> ParameterError:
    return ParameterError(f"the file of accounts {str(file)!r} is not complete: {words}")


def _is_safe(address: str) -> bool:
    """Return True for an address that nobody on the way can read or change."""
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018  raises where there is none
    except ValueError:
        return False
    local = parts.scheme == "http" and parts.hostname in LOOPBACK
    return bool((parts.scheme == "https" or local) and parts.hostname and parts.path.strip("/"))


def _is_entry(entry: object) -> bool:
    """Return True for an address of mail, a domain after "@", or "*"."""
    if not isinstance(entry, str) or entry.split() != [entry]:
        return False
    return entry == ANYONE or entry.count("@") == 1 and not entry.endswith("@")


def _fold(email: str) -> str:
    """Fold the case of an address; outside ASCII two letters of different people may fold alike."""
    return email.lower() if email.isascii() else email


class AccountGate(VisitorGate):
    """ASGI middleware that lets people in who sign in with an account of a provider.

    Parameters
    ----------
    app : ASGI application
    sessions : Sessions
    accounts : Accounts
    """

    def __init__(self, app: ASGIApp, sessions: Sessions, accounts: Accounts) -> None:
        super().__init__(app, sessions)
        self._accounts = accounts
        self._home = urlsplit(accounts.redirect_uri)
        self._provider = OAuth().register(
            "provider", client_id=accounts.client_id, client_secret=accounts.client_secret,
            server_metadata_url=accounts.server_metadata_url,
            client_kwargs={"scope": "openid email profile", "prompt": "select_account",
                           "code_challenge_method": "S256", "timeout": 10.0})
        # Its cookie lives while a person is at the provider, and holds the state of that errand.
        self._errand = SessionMiddleware(
            self._route, secret_key=secrets.token_urlsafe(32),
            session_cookie=f"qafd_errand_{self._home.port}", max_age=600,
            https_only=self._home.scheme == "https")

    async def admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lead to the provider, take who comes back from it, or show the way there."""
        await self._errand(scope, receive, send)

    async def sign_out(self) -> Response:
        """Lead to where the provider ends its own session, if it has such a place."""
        try:
            metadata = await self._provider.load_server_metadata()
        except HTTPError:
            metadata = {}
        place = metadata.get("end_session_endpoint")
        if not place:
            return await super().sign_out()
        query = f"client_id={quote(self._accounts.client_id, safe='')}"
        return RedirectResponse(f"{place}{'&' if '?' in place else '?'}{query}", 303)

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        try:
            if request.method == "GET" and scope["path"] == SIGN_IN:
                answer = await self._leave(request)
            elif request.method == "GET" and scope["path"] == self._home.path:
                answer = await self._return(request)
            else:
                query = scope["query_string"].decode("latin-1")
                answer = self._page(401, "This app is for people who have an account.",
                                    local_place(scope["path"], query))
        except (HTTPError, JoseError, OAuthError) as error:
            print(f"qafd: signing in failed: {error}", file=sys.stderr)
            answer = self._page(502, "Signing in did not work. Try again.")
        await answer(scope, receive, send)

    async def _leave(self, request: Request) -> Response:
        """Send a person to the provider."""
        request.session["place"] = request.query_params.get("place", "/")
        answer: Response = await self._provider.authorize_redirect(
            request, self._accounts.redirect_uri)
        return answer

    async def _return(self, request: Request) -> Response:
        """Let a person in whom the provider sends back, if the list has the account."""
        place = urlsplit(str(request.session.get("place", "/")))
        token = await self._provider.authorize_access_token(request)
        claims = token.get("userinfo") or {}
        person = str(claims.get("email") or claims.get("sub") or "")
        if not person or not self._accounts.admit(claims):
            return self._page(403, f"{person} may not use this app. Ask the person who runs it.")
        return self.enter(request.scope, person, local_place(place.path, place.query),
                          secure=self._home.scheme == "https")

    def _page(self, status: int, message: str, place: str = "/") -> Response:
        origin = SplitResult(self._home.scheme, self._home.netloc, SIGN_IN, "", "").geturl()
        # A person who came under another name of this app would lose the cookie of the errand.
        address = html.escape(f"{origin}?place={quote(place, safe='')}")
        return sign_in_page(
            status, f'<p>MESSAGE</p>\n<a class="button" href="{address}">Sign in</a>', message)
