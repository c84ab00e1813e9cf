"""Addresses that may be called for model endpoints."""

import re
import socket
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from unicodedata import normalize
from urllib.parse import urlsplit

from qafd.errors import MissingKeyError, ParameterError

OPENAI = "https://api.openai.com/v1"

Address = IPv4Address | IPv6Address
Resolver = Callable[[str], tuple[Address, ...]]
"""Maps a host's name to its addresses; raises OSError if there are none."""

_GLANCE = 2.0  # seconds that a page waits for a name; after that its form decides
_METADATA = ("metadata", "metadata.google.internal", "metadata.goog", "metadata.azure.internal",
             "instance-data", "instance-data.ec2.internal")
# Link-local ranges hold the secrets of most clouds; the single ones are where others keep them. The
# last line is reserved for routers and translators: what answers there is no host of the public net.
_REFUSED = tuple(map(ip_network, (
    "0.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4", "::/128", "fe80::/10", "ff00::/8",
    "fd00:ec2::254/128", "fd20:ce::254/128", "100.100.100.200/32", "168.63.129.16/32",
    "192.0.0.192/32",
    "192.88.99.0/24", "64:ff9b:1::/48", "5f00::/16", "fec0::/10")))
# The last 32 bits of these are an IPv4 address: NAT64, "compatible", and SIIT.
_EMBEDDING = tuple(map(ip_network, ("64:ff9b::/96", "::/96", "::ffff:0:0:0/96")))


def resolve(host: str, seconds: float = 10.0) -> tuple[Address, ...]:
    """Return the addresses that this machine finds for a name.

    Raises
    ------
    OSError
        The name has no address, or the search takes longer than `seconds`.
    """
    found: list[Address] = []
    failure = OSError(f"no address of {host} was found within {seconds:.0f} s")

    def look_up() -> None:
        nonlocal failure
        try:
            found.extend(ip_address(place[0]) for *_, place in socket.getaddrinfo(
                host, None, type=socket.SOCK_STREAM))
        except OSError as error:
            failure = error
        except UnicodeError:
            failure = OSError(f"{host} is not a valid host name")

    thread = threading.Thread(target=look_up, daemon=True)  # getaddrinfo itself knows no limit
    thread.start()
    thread.join(seconds)
    if not found:
        raise failure
    return tuple(dict.fromkeys(found))


def check_address(base_url: str, key: str | None, resolver: Resolver | None = None) -> str:
    """Return the host (and port) of an address that may be used.

    With a key and https a name is not resolved here: `destinations` checks every connection.

    Raises
    ------
    ParameterError
        It is not an http(s) address, holds a user name, belongs to a cloud's metadata service,
        or cannot be called; or the key would travel unencrypted to a public host.
    MissingKeyError
        The host is public and there is no key.
    """
    try:
        parts = urlsplit(base_url)
        host, port = _host(base_url), parts.port
    except ValueError:
        parts, host, port = urlsplit(""), "", None
    if parts.scheme not in ("http", "https") or not host or parts.username is not None \
            or parts.query:
        raise ParameterError("the address of a model endpoint is http(s)://host[:port]/v1, without "
                             "user name, key or query")
    number = _number(host)
    if host in _METADATA or number is not None and _is_refused(number):
        raise _no_endpoint(host)
    if not key or parts.scheme == "http":
        found = () if number is not None else _addresses(host, resolver)
        if found and all(map(_is_refused, found)):
            raise _no_endpoint(f"{host} ({found[0]})")
        if not is_local(base_url, resolver):
            if not key:
                raise MissingKeyError(f"{host} needs an API key; set OPENAI_API_KEY, or enter "
                                      "one in Settings.")
            raise ParameterError(f"the key would travel to {host} unencrypted; use its "
                                 "https:// address")
    return f"{host}:{port}" if port else host


def is_local(base_url: str, resolver: Resolver | None = None) -> bool:
    """Return True if the host is this machine or one of the same private network.

    Its addresses decide. A name without an address is judged by its form.
    """
    try:
        host = _host(base_url)
    except ValueError:
        return False
    number = _number(host)
    if number is not None:
        return _private(number) and not _is_refused(number)
    if host in ("localhost", "api.openai.com", *_METADATA):  # known without asking
        return host == "localhost"
    if found := _addresses(host, resolver):
        allowed = [address for address in found if not _is_refused(address)]
        return bool(allowed) and all(map(_private, allowed))
    return "." not in host or host.endswith((".local", ".internal", ".localhost"))


def destinations(host: str, private: bool, resolver: Resolver | None = None) -> tuple[str, ...]:
    """Return the addresses that a connection to a host may go to, in the order of the resolver.

    Parameters
    ----------
    private : bool
        True if the call has no key or no encryption, so it must stay in this network.

    Raises
    ------
    ParameterError
        No address of the host is allowed.
    OSError
        It cannot be resolved.
    """
    number = _number(host)
    found = (number,) if number is not None else (resolver or resolve)(host)
    allowed = [address for address in found if not _is_refused(address)]
    if not allowed:
        raise _no_endpoint(f"{host} ({', '.join(map(str, found[:3]))})")
    near = [address for address in allowed if _private(address)]
    if private and not near:
        raise ParameterError(f"{host} is not in your network but at {allowed[0]}; use its "
                             "https:// address and a key, or enter another address")
    return tuple(map(str, near if private else allowed))


def _no_endpoint(host: str) -> ParameterError:
    return ParameterError(f"{host} is a link-local, metadata, multicast, reserved or empty address, "
                          "not a model endpoint; enter another one (127.0.0.1 for "
                          "this machine)")


def _host(base_url: str) -> str:
    """Return the host as resolvers read it, or "". Raises ValueError for unmatched brackets."""
    host = normalize("NFKC", urlsplit(base_url).hostname or "").lower().rstrip(".")
    return host if re.fullmatch(r"[\w.:-]+", host) else ""


def _number(host: str) -> Address | None:
    """Return the address that a host spells in digits, in any form that resolvers accept."""
    try:
        return ip_address(host)
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(host))  # also 127.1, 0x7f000001, 0177.0.0.1
    except (OSError, UnicodeError):
        return None


def _addresses(host: str, resolver: Resolver | None) -> tuple[Address, ...]:
    """Return the addresses of a name; none if it cannot be resolved."""
    if resolver is None:
        return _lately(host, int(time.monotonic() / 60))
    try:
        return resolver(host)
    except OSError:
        return ()


@lru_cache(256)
def _lately(host: str, _minute: int) -> tuple[Address, ...]:
    """Return the addresses of a name, cached for a minute because pages ask with every click."""
    return _addresses(host, lambda name: resolve(name, _GLANCE))


def _unwrap(address: Address) -> Address:
    """Return the IPv4 address inside an IPv6 address, else the address itself."""
    if isinstance(address, IPv4Address):
        return address
    embedded = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
    if embedded is None and int(address) > 1 and any(address in net for net in _EMBEDDING):
        embedded = IPv4Address(int(address) & 0xFFFFFFFF)
    return embedded or address


def _is_refused(address: Address) -> bool:
    reached = _unwrap(address)
    return any(reached in network for network in _REFUSED)


def _private(address: Address) -> bool:
    reached = _unwrap(address)
    return reached.is_private or reached.is_loopback
