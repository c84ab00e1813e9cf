"""The frame around every page."""

from importlib import import_module

import streamlit as st
from streamlit.navigation.page import StreamlitPage
from streamlit.runtime.scriptrunner import get_script_run_ctx

from qafd.app.access import refuse_strangers
from qafd.app.error_display import show_errors
from qafd.app.escaping import plain
from qafd.app.markup import style_words
from qafd.app.pages import ASKS, for_a_class, for_a_projector, name_of, pages
from qafd.app.session import WORKSPACE, forget, session, value_of
from qafd.app.shortcuts import listen
from qafd.app.workspaces import choose_workspace, keep_workers_going, location_of
from qafd.resources import assets
from qafd.storage import is_writable, size_of
from qafd.view.panel import clean
from qafd.wording import join_words

PROGRAM = "QAFD Explorer"


def show() -> None:
    """Draw the app: its navigation, and the page that the address names."""
    logo = assets() / "logo.png"
    st.set_page_config(PROGRAM, logo, layout="wide")
    refuse_strangers()
    # With nothing in it there is no sidebar.
    page = st.navigation(pages(), position="hidden" if for_a_class() else "sidebar")
    st.logo(logo, size="large")
    st.html(assets() / "page.css")
    if for_a_projector():
        st.html(assets() / "present.css")
    st.html(style_words({"menu": "Menu"}))
    keep_workers_going()
    listen()
    run(page)


def run(page: StreamlitPage) -> None:
    """Run a page; an error that the user can mend becomes one sentence on it."""
    if get_script_run_ctx() is None:
        return  # a child process that imports the main script shows nothing
    linked: dict[str, list[str]] = {}
    if not session().linked:
        linked = {key: st.query_params.get_all(key) for key in st.query_params}
    session().linked = True
    title = _title(page)
    st.set_page_config(title)
    with show_errors():
        if name_of(page) == "learn" and for_a_class() or choose_workspace():
            _begin(page)
    _say_what_cannot_be_written()
    changed = _title(page)
    if changed != title:
        st.set_page_config(changed)
    _say_what_was_refused(linked)


def _begin(page: StreamlitPage) -> None:
    """Draw a page; its link replaces the values of widgets on another page."""
    before, session().page = session().page, name_of(page)
    if before == session().page:
        with st.container():
            _show(page)
        return
    if before:
        # A link to a page that was seen before would lose against its widgets' old values; the
        # address of the page before may still be there too, with its values.
        for key in set(st.query_params) & set(st.session_state) - {WORKSPACE}:
            if not all(_shows(str(key), text) for text in st.query_params.get_all(str(key))):
                forget(str(key))
    # Drawn parts stay until they are replaced; a page begins on an empty one.
    with st.empty().container():
        _show(page)


def _show(page: StreamlitPage) -> None:
    """Draw a page as a part of the main script."""
    # page.run() makes every widget one of its page alone. When the page changes, Streamlit takes
    # such widgets out of the address, first in an entry of the browser's history that has the old
    # page without its state, and gives the new page's widgets back to the address only in a run
    # after the next. Those of the main script stay in it: two pages that show a question share it.
    import_module(f"qafd.app.{name_of(page)}").show()


def _title(page: StreamlitPage) -> str:
    """Return the title of the browser tab, the question first."""
    key = ASKS.get(name_of(page))
    question = value_of(key, "") if key else ""
    return " · ".join(filter(None, [clean(question or "", 60), page.title, PROGRAM]))


def _say_what_cannot_be_written() -> None:
    if WORKSPACE not in st.session_state:
        return
    location = location_of(st.session_state[WORKSPACE])
    if not is_writable(location) and size_of(location) is not None:
        st.sidebar.caption("This workspace is read-only here.")


def _say_what_was_refused(linked: dict[str, list[str]]) -> None:
    """Name the values of the link that the page does not show."""
    refused = []
    for key, texts in linked.items():
        refused += [plain(f"{key}={text[:40]}") for text in texts if not _is_taken(key, text)]
    if refused:
        st.toast((f"The link asks for {join_words(refused)}, which this page cannot show. The "
                  "controls say what it shows."),
                 icon=":material/link_off:", duration="infinite")


def _is_taken(key: str, text: str) -> bool:
    """Return True if the page's widget shows the value of the link, or there is no such widget."""
    # Streamlit drops invalid values from the address, and those shown anyway; the two
    # named here have their own sentences.
    if key in (WORKSPACE, "methods") or key not in st.session_state:
        return True
    return text in st.query_params.get_all(key) or _shows(key, text)


def _shows(key: str, text: str) -> bool:
    value = st.session_state[key]
    values = value if isinstance(value, list) else [value]
    return any(_same(text, one) for one in values)


def _same(text: str, value: object) -> bool:
    try:
        return text.lower() == str(value).lower() or float(text) == value
    except ValueError:
        return False
