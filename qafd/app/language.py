"""The language of a session: English, or a file of templates and their translations."""

import os
from contextlib import AbstractContextManager
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import streamlit as st

from qafd.app.session import keep, value_of
from qafd.package import assets
from qafd.wording import Catalog, read_catalog, say, speaking

if TYPE_CHECKING:
    from collections.abc import Callable

VARIABLE = "QAFD_LANGUAGE"
"""Names the file that `qafd app --language` was given."""
ENGLISH = "en"
KEY = "language"
P = ParamSpec("P")
T = TypeVar("T")


def speak() -> AbstractContextManager[None]:
    """All that is said inside is in the language of this session."""
    return speaking(catalog())


def spoken(draw: "Callable[P, T]") -> "Callable[P, T]":
    """A fragment or dialog in the language of this session: it runs without the main script."""
    @wraps(draw)
    def speaking_draw(*args: P.args, **kwargs: P.kwargs) -> T:
        with speak():
            return draw(*args, **kwargs)

    return speaking_draw


def catalog() -> Catalog:
    """The templates of this session's language."""
    file = languages().get(value_of(KEY, _usual()))
    return {} if file is None else _read(file)


def languages() -> dict[str, Path | None]:
    """The file of every language by its name; English needs none."""
    files = sorted((assets() / "languages").glob("*.json"))
    named = os.environ.get(VARIABLE)
    if named:
        files.append(Path(named))
    found: dict[str, Path | None] = {ENGLISH: None}
    for file in files:
        found[file.stem] = file
    return found


def language_settings() -> None:
    """The choice of a language, where there is more than one."""
    offered = list(languages())
    if len(offered) > 1:
        st.selectbox(say("Language"), offered, offered.index(_usual()), key=keep(KEY),
                     bind="query-params", format_func=_name)


def _usual() -> str:
    named = os.environ.get(VARIABLE)
    return Path(named).stem if named else ENGLISH


def _name(language: str) -> str:
    """What a language calls itself: its translation of its name in English."""
    file = languages()[language]
    return "English" if file is None else _read(file).get("English", language)


@cache
def _read(file: Path) -> Catalog:
    return read_catalog(file)
