"""Accounts of a provider (OpenID Connect): the file that lists them, and the gate."""

import html
import secrets
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import SplitResult, quote, urlsplit

from authlib.integrations.starlette_client import OAuth, OAuthError
from httpx2 import HTTPError
from joserfc.errors import JoseError
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from qafd.app.gate import Sessions, VisitorGate, local_place, sign_in_page
from qafd.errors import ParameterError

SIGN_IN = "/sign-in"
ANYONE = "*"
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def _check_address(address: str) -> str:
    if not _is_safe(address):
        raise ValueError("it must begin with https:// (http:// on this machine only) and have a path")
    return address


def _check_entry(entry: str) -> str:
    if entry.split() != [entry] or entry != ANYONE and (entry.count("@") != 1 or entry.endswith("@")):
        raise ValueError("write an address such as ada@school.example, a domain such as @school.example, "
                         "or *")
    return _fold(entry)


Text = Annotated[str, StringConstraints(pattern=r"\S")]
Address = Annotated[str, AfterValidator(_check_address)]


class _Section(BaseModel):
    """A part of the file of accounts, which has no other settings, each of its type."""

    model_config = ConfigDict(extra="forbid", strict=True)


class IdentityProvider(_Section):
    """A provider of accounts, as Streamlit's secrets name one."""

    redirect_uri: Address
    client_id: Text
    client_secret: Text
    server_metadata_url: Address
    cookie_secret: str = ""


class People(_Section):
    """The people who may enter: mail addresses, domains such as "@school.example", "*" for all accounts."""

    allowed: Annotated[list[Annotated[str, AfterValidator(_check_entry)]], Field(min_length=1)]


class Accounts(_Section):
    """A provider of accounts, and the people who may enter."""

    auth: IdentityProvider
    people: People

    def admit(self, claims: Mapping[str, Any]) -> bool:
        """Return True if a person may enter; an address counts only if the provider verified it."""
        if ANYONE in self.people.allowed:
            return True
        email = claims.get("email")
        if not isinstance(email, str) or claims.get("email_verified") is not True:
            return False
        domain = "@" + email.rpartition("@")[2]
        return not {_fold(email), _fold(domain)}.isdisjoint(self.people.allowed)


def read_accounts(file: Path) -> Accounts:
    """Read a file in the form of Streamlit's secrets: [auth] with a provider, [people] with a list.

    The file is read once, when the app starts; later changes have no effect.

    Raises
    ------
    ParameterError
        Anything in the file is missing, misspelled or of another type.
    """
    try:
        return Accounts.model_validate(tomllib.loads(file.read_text("utf-8")))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ParameterError(f"the file of accounts {str(file)!r} is wrong at {place} ({first['msg']}); it "
                             "needs a provider in [auth] and a list `allowed` in [people]") from None
    except (OSError, ValueError) as error:
        raise ParameterError(f"the file of accounts {str(file)!r} cannot be read ({error})"
                             ) from error


def _is_safe(address: str) -> bool:
    """Return True for an address that nobody on the way can read or change."""
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018  raises where there is none
    except ValueError:
        return False
    local = parts.scheme == "http" and parts.hostname in LOOPBACK
    return bool((parts.scheme == "https" or local) and parts.hostname and parts.path.strip("/"))


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
        self._home = urlsplit(accounts.auth.redirect_uri)
        self._provider = OAuth().register(
            "provider", client_id=accounts.auth.client_id,
            client_secret=accounts.auth.client_secret,
            server_metadata_url=accounts.auth.server_metadata_url,
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
        query = f"client_id={quote(self._accounts.auth.client_id, safe='')}"
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
            request, self._accounts.auth.redirect_uri)
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
