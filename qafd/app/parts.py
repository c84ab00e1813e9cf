"""Parts of a page that run without the main script, and errors as sentences in both."""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec

import streamlit as st

from qafd.app.escaping import plain, said
from qafd.app.language import speak
from qafd.errors import QafdError
from qafd.wording import say

P = ParamSpec("P")


def part(draw: Callable[P, None]) -> Callable[P, None]:
    """A fragment in the language of this session, whose errors are sentences."""
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
