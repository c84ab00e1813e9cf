"""What a session says: in its language, English or a file of translations, and errors as sentences."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache, wraps
from pathlib import Path
from typing import ParamSpec

import streamlit as st

from qafd.app.escaping import plain, said
from qafd.app.session import bound, keep_linked, value_of
from qafd.errors import QafdError
from qafd.package import assets
from qafd.wording import Catalog, read_catalog, say, speaking

VARIABLE = "QAFD_LANGUAGE"
"""Names the file that `qafd app --language` was given."""
ENGLISH = "English"
KEY = "language"
P = ParamSpec("P")


def speak() -> AbstractContextManager[None]:
    """All that is said inside is in the language of this session."""
    return speaking(catalog())


def spoken(draw: Callable[P, None]) -> Callable[P, None]:
    """A fragment or dialog in the language of this session, which runs without the main script."""
    @wraps(draw)
    def draw_alone(*args: P.args, **kwargs: P.kwargs) -> None:
        with speak(), errors_said():
            draw(*args, **kwargs)

    return draw_alone


@contextmanager
def errors_said() -> Iterator[None]:
    """An error inside that the user can mend becomes one sentence on the page."""
    try:
        yield
    except QafdError as error:
        st.error(said(error), icon=":material/error:")
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise
        st.error(plain(say("{file} cannot be written ({reason}); check the folder and its "
                           "permissions.", file=error.filename, reason=error.strerror)),
                 icon=":material/error:")


def catalog() -> Catalog:
    """The templates of this session's language."""
    known = languages()
    chosen = value_of(KEY, _usual())
    if chosen in known:
        keep_linked(KEY)  # a link's language is that of the pages after it too
    else:
        chosen = _usual()
    file = known[chosen]
    return {} if file is None else _read(file)


def languages() -> dict[str, Path | None]:
    """The file of every language by what it calls itself, as links name it; English needs none."""
    files = sorted((assets() / "languages").glob("*.json"))
    named = os.environ.get(VARIABLE)
    if named:
        files.append(Path(named))
    found: dict[str, Path | None] = {ENGLISH: None}
    for file in files:
        found[_name(file)] = file
    return found


def language_settings() -> None:
    """The choice of a language, where there is more than one."""
    offered = list(languages())
    if len(offered) > 1:
        st.selectbox(say("Language"), offered, offered.index(_usual()), **bound(KEY))


def _usual() -> str:
    named = os.environ.get(VARIABLE)
    return _name(Path(named)) if named else ENGLISH


def _name(file: Path) -> str:
    """What a language calls itself: its translation of its name in English, else the name of its file."""
    return _read(file).get(ENGLISH) or file.stem


@cache
def _read(file: Path) -> Catalog:
    return read_catalog(file)
