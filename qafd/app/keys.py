"""The API keys of a session: typed ones in its memory, and the environment's."""

import os

from qafd.app.session import session
from qafd.ingest.reader import Keys
from qafd.models.address import OPENAI


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
