"""Errors that a user can mend, shown on the page as one sentence."""

import errno
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec

import streamlit as st

from qafd.app.escaping import escape_sentence, plain
from qafd.errors import QafdError

P = ParamSpec("P")
_LOG = logging.getLogger(__name__)
BROKEN = "could not be drawn"


@contextmanager
def show_errors() -> Iterator[None]:
    """Show an error raised inside as one sentence on the page, if the user can mend it."""
    try:
        yield
    except QafdError as error:
        st.error(escape_sentence(error), icon=":material/error:")
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise
        st.error(plain(f"{error.filename} cannot be written ({error.strerror}); check the folder "
                       "and its permissions."), icon=":material/error:")


@contextmanager
def contain_errors(part: str) -> Iterator[None]:
    """Show an error raised inside as one sentence, and keep the other parts of the page.

    An unexpected error goes to the log with its traceback.
    """
    try:
        with show_errors():
            yield
    except Exception as error:  # noqa: BLE001 - any mistake in one part must not take the page
        _LOG.exception("%s of the page could not be drawn", part)
        st.error(f"{part} {BROKEN} ({type(error).__name__}). The rest of the page still works; "
                 "the log has the details.", icon=":material/error:")


def with_errors_shown(draw: Callable[P, None]) -> Callable[P, None]:
    """Wrap a fragment or dialog, which runs without the main script, in `show_errors`."""
    @wraps(draw)
    def draw_alone(*args: P.args, **kwargs: P.kwargs) -> None:
        with show_errors():
            draw(*args, **kwargs)

    return draw_alone
