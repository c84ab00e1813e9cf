"""Where a model endpoint may be."""

import ipaddress
from urllib.parse import urlsplit

from qafd.errors import MissingKeyError, ParameterError

OPENAI = "https://api.openai.com/v1"


def check_address(base_url: str, key: str | None = None) -> str:
    """The host (and port) of an address that may be used.

    Raises
    ------
    ParameterError
        It is no http(s) address, holds a user name, or is link-local, where clouds keep their
        secrets; or the key would travel unencrypted to a public host.
    MissingKeyError
        A public host, and no key.
    """
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        parts, host, port = urlsplit(""), "", None
    if parts.scheme not in ("http", "https") or not host or parts.username is not None \
            or parts.query:
        raise ParameterError("the address of a model endpoint is http(s)://host[:port]/v1, without "
                             "user name, key or query")
    if _is_link_local(host):
        raise ParameterError(f"{host} is a link-local address and no model endpoint; enter another")
    if not is_local(base_url):
        if not key:
            raise MissingKeyError(
                f"{host} needs an API key; set OPENAI_API_KEY, or enter one in Settings.")
        if parts.scheme == "http":
            raise ParameterError(
                f"the key would travel to {host} unencrypted; use its https:// address")
    return f"{host}:{port}" if port else host


def is_local(base_url: str) -> bool:
    """Whether the host is this machine or one of the same private network, by its name."""
    host = urlsplit(base_url).hostname or ""
    address = _ip(host)
    if address is not None:
        return address.is_private or address.is_loopback
    return "." not in host or host.endswith((".local", ".internal", ".localhost"))


def _is_link_local(host: str) -> bool:
    address = _ip(host)
    mapped = getattr(address, "ipv4_mapped", None)
    return address is not None and (mapped or address).is_link_local


def _ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(int(host) if host.isdecimal() else host)
    except ValueError:
        return None
