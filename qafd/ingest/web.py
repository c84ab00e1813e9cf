"""A web page by its address, as a file: fetched from where it may be, in bounded time and size."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from urllib.parse import urldefrag, urljoin, urlsplit

import httpx2

from qafd.errors import ParameterError, ParseError
from qafd.models.address import Resolver, destinations, public_destinations
from qafd.models.wire import CallLimits, bounded_client
from qafd.reading.parsing import Limits
from qafd.reading.text.plaintext import decode, one_line

SECONDS = 30.0  # of all hops together
HOPS = 5
LONGEST = 240  # characters of an address, which is the name of its document
_BYTES = Limits().input_bytes
_KINDS = re.compile(r"text/|application/(pdf|json|xml|xhtml\+xml|epub\+zip|x-ndjson|"
                    r"vnd\.openxmlformats-officedocument\.)")
_CHARSET = re.compile(r"charset=[\"']?([\w-]+)")


def is_address(text: str) -> bool:
    """Return True if a text is the address of a web page and not a file."""
    return text.lower().startswith(("http://", "https://"))


def fetch(address: str, *, near: bool = False, resolver: Resolver | None = None,
          seconds: float = SECONDS) -> tuple[str, bytes]:
    """The address of a page, which is the name of its document, and its bytes.

    Each redirect is checked like the address itself, and a host is connected to only where it was
    found when it was checked.

    Parameters
    ----------
    near : bool
        The host that is named may be in a private network or on this machine. That never holds
        for another one that it redirects to.
    seconds : float
        All that fetching may take.

    Raises
    ------
    ParameterError
        It is no address of a page, or one where no page may be fetched.
    ParseError
        The page cannot be reached, or is too large or no text.
    """
    place = _check_answer(address.strip())
    limits = CallLimits(seconds, _BYTES + 100_000)  # the headers count too
    where = _where(urlsplit(place).hostname or "" if near else "", resolver)
    try:
        with limits.on(), bounded_client(seconds, where) as client:
            return urldefrag(place)[0], _follow(client, place)
    except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, OSError) as error:
        raise _failure(error, limits, place, seconds) from None


def _where(trusted: str, resolver: Resolver | None) -> Callable[[str], Sequence[str]]:
    def places(host: str) -> Sequence[str]:
        if host == trusted:
            return destinations(host, private=False, resolver=resolver)
        return public_destinations(host, resolver)

    return places


def _check_answer(address: str) -> str:
    try:
        parts = urlsplit(address)
        named = bool(parts.hostname) and parts.username is None and (parts.port or 1) > 0
    except ValueError:
        named = False
    if not named or not is_address(address) or len(address) > LONGEST:
        raise ParameterError("the address of a page is http(s)://host/..., without a user "
                             f"name and of at most {LONGEST} characters")
    return address


def _follow(client: httpx2.Client, place: str) -> bytes:
    for _ in range(HOPS + 1):
        with client.stream("GET", place) as response:
            if response.is_redirect:
                place = _check_answer(urljoin(place, response.headers["location"]))
                continue
            return _body(response, urlsplit(place).hostname or "")
    raise ParseError(f"{one_line(place, 200)} redirects more than {HOPS} times; enter the "
                     "final address.")


def _body(response: httpx2.Response, host: str) -> bytes:
    """Return the content of a page, in UTF-8 if its head names a character set."""
    if response.status_code >= 400:
        raise ParseError(f"{host} has no such page ({response.status_code}); check the address.")
    kind = response.headers.get("content-type", "text/html").lower()
    if not _KINDS.match(kind):
        raise ParseError(f"The page at {host} is of the kind {one_line(kind, 60)}, which holds "
                         "no text that can be read.")
    told = response.headers.get("content-length", "")
    if told.isdecimal() and int(told) > _BYTES:
        raise _too_large(host)
    data = response.read()
    charset = _CHARSET.search(kind)
    if charset and kind.startswith("text/"):
        with suppress(ValueError):  # else the reader says what it is
            return ("\ufeff" + decode(data, charset[1])[0]).encode()
    return data


def _too_large(host: str) -> ParseError:
    return ParseError(f"The page at {host} is larger than {_BYTES / 1e6:.0f} MB; save the part "
                      "you need and add the file.")


def _failure(error: Exception, limits: CallLimits, place: str, seconds: float
             ) -> ParameterError | ParseError:
    host = urlsplit(place).hostname or ""
    if limits.refused:
        return ParameterError(f"{limits.refused}")
    if limits.broken == "size":
        return _too_large(host)
    if limits.broken or not limits.left or isinstance(error, httpx2.TimeoutException):
        return ParseError(f"{host} sent no complete page within {seconds:.0f} s; try again "
                          "later, or save the page and add the file.")
    reason = one_line(str(error) or type(error).__name__, 200)
    return ParseError(f"{host} cannot be reached ({reason}); check the address and that this "
                      "machine is online, or save the page elsewhere and add the file.")
