"""The language model of this session, from the settings or the environment, and its keys."""

import os
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from qafd.app import access
from qafd.app.session import is_private, session
from qafd.errors import ParameterError, QafdError
from qafd.ingest.reader import Keys
from qafd.models.address import OPENAI, check_address, is_local
from qafd.models.cost import Meter, Metered
from qafd.preferences import PROVIDERS, Preferences, load
from qafd.resources import home

if TYPE_CHECKING:
    from qafd.models.endpoint import Endpoint
    from qafd.models.endpoint_embedder import EndpointEmbedder


def keys() -> Keys:
    """Return the session's keys by address."""
    environment_key = os.environ.get("OPENAI_API_KEY")
    found = {os.environ.get("OPENAI_BASE_URL") or OPENAI: environment_key} if environment_key else {}
    typed = session().secret
    return found | dict([typed]) if typed else found


def key_for(base_url: str) -> str | None:
    """Return the key of this session, else the environment's if it is meant for this address."""
    return keys().get(base_url)


def hold_key(base_url: str, key: str) -> None:
    """Keep a key for the rest of the session, for one address."""
    session().secret = (base_url, key)


def forget_key() -> None:
    """Drop the key of the session."""
    session().secret = None


def preferences_file() -> Path:
    """Return the file with the settings of all sessions; keys are not in it."""
    return home() / "settings.json"


def preferences() -> Preferences:
    """Return the settings, or the environment's if they name no provider."""
    chosen = load(preferences_file())
    return chosen if chosen.provider != "offline" or preferences_file().exists() else from_(
        os.environ)


def from_(environment: Mapping[str, str]) -> Preferences:
    """Return the endpoint that OPENAI_BASE_URL, OPENAI_API_KEY, QAFD_MODEL and QAFD_EMBED_MODEL name."""
    url = environment.get("OPENAI_BASE_URL", "")
    model = environment.get("QAFD_MODEL", "")
    if not model or not (url or environment.get("OPENAI_API_KEY")):
        return Preferences()
    known = next((name for name, p in PROVIDERS.items() if p.base_url == url and url), "custom")
    return Preferences(known if url else "openai", url or PROVIDERS["openai"].base_url, model,
                       environment.get("QAFD_EMBED_MODEL", ""))


def addresses_are_free() -> bool:
    """Return True if a visitor may enter any address: a local app, or a host that allows it."""
    if os.environ.get("QAFD_ALLOW_CUSTOM_BASE_URL") == "1":
        return True
    if access.shared:
        return False  # a proxy on this machine may forward visitors to loopback
    host = str(st.get_option("server.address") or "")
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def allow(base_url: str) -> None:
    """Check that this app may call an address.

    Raises
    ------
    ParameterError
        Others can reach the app, and the address is not the environment's or OpenAI's.
    """
    trusted = (os.environ.get("OPENAI_BASE_URL", ""), PROVIDERS["openai"].base_url)
    if base_url not in trusted and not addresses_are_free():
        raise ParameterError(f"other people can reach this app, so it does not call {base_url}; set "
                             "OPENAI_BASE_URL before you start it, or QAFD_ALLOW_CUSTOM_BASE_URL=1")


def endpoint() -> "Endpoint | None":
    """Return the chosen model, None if there is none or its key is missing."""
    chosen = preferences()
    if why_no_model():
        return None
    # Importing the openai package takes half a second, which only a model needs.
    from qafd.models.endpoint import Endpoint

    return Endpoint(chosen.model, chosen.base_url, key_for(chosen.base_url)).with_settings(
        chosen.calls)


def language_model(workspace: str, purpose: str, question: str = "") -> Metered | None:
    """Return the chosen model with its calls noted in a workspace and capped; None without a model.
    """
    llm, chosen = endpoint(), preferences()
    if llm is None:
        return None
    price = chosen.price(llm.name, chosen.base_url)
    return Metered(llm, workspace, spending(), price, chosen.base_url, purpose,
                   question="" if is_private() else question)


def spending() -> Meter:
    """Return the meter of this session's questions, with the caps of session and day."""
    meter = session().meter = session().meter or Meter()
    chosen = preferences()
    chosen.share_day(home())
    named = filter(None, (chosen.model, chosen.embed_model))
    meter.cap = chosen.cap_where(any(chosen.price(name) is not None for name in named))
    return meter


def why_no_model() -> str:
    """Return the reason that there is no language model, "" if there is one."""
    chosen = preferences()
    if chosen.provider == "offline":
        return "No language model is set in Settings; the answer quotes your documents."
    if not chosen.model:
        return "No model is chosen yet."
    try:
        allow(chosen.base_url)
        check_address(chosen.base_url, key_for(chosen.base_url))
    except QafdError as error:
        return str(error)
    return ""


def embedding_model(chosen: Preferences) -> "EndpointEmbedder | None":
    """Return the embedding model of the endpoint, if one is named."""
    if not chosen.embed_model:
        return None
    from qafd.models.endpoint_embedder import EndpointEmbedder

    return EndpointEmbedder(chosen.embed_model, chosen.base_url, key_for(chosen.base_url))


def leaves_this_machine(chosen: Preferences) -> bool:
    """Return True if text is sent outside this network."""
    return chosen.provider != "offline" and not is_local(chosen.base_url)
