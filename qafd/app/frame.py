"""The frame around every page, and the keyboard shortcuts."""

from dataclasses import dataclass
from importlib import import_module

import streamlit as st
from streamlit.navigation.page import StreamlitPage
from streamlit.runtime.scriptrunner import get_script_run_ctx

from qafd.app.access import refuse_strangers
from qafd.app.component import component
from qafd.app.error_display import show_errors
from qafd.app.markup import style_words
from qafd.app.pages import ASKS, for_a_projector, name_of, pages
from qafd.app.session import WORKSPACE, forget, keep, session, value_of
from qafd.app.workspaces import choose_workspace, keep_workers_going, location_of
from qafd.resources import assets
from qafd.storage import is_writable, size_of
from qafd.view.panel import clean

PROGRAM = "QAFD Explorer"


def show() -> None:
    """Draw the app: its navigation, and the page that the address names."""
    logo = assets() / "logo.png"
    st.set_page_config(PROGRAM, logo, layout="wide")
    refuse_strangers()
    page = st.navigation(pages())
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
    title = _title(page)
    st.set_page_config(title)
    with show_errors():
        if choose_workspace():
            _begin(page)
    _say_what_cannot_be_written()
    changed = _title(page)
    if changed != title:
        st.set_page_config(changed)


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


@dataclass(frozen=True)
class Shortcut:
    """Keys and their effect, which `assets/shortcuts.js` implements."""

    keys: tuple[str, ...]
    what: str


SHORTCUTS = (
    Shortcut(("/",), "to the question; Enter asks it"),
    Shortcut(("N", "P"), "next and previous tab; on Explore the first press shows the tabs"),
    Shortcut(("T",), "to the tab Table: the picture as rows"),
    Shortcut(("G",), "to the picture: arrow keys walk, Page keys follow importance, Enter selects"),
    Shortcut(("F",), "to the search of the picture; Enter goes on to the next node it finds"),
    Shortcut(("E",), "at a node of the picture: its next edge, the widest first"),
    Shortcut(("Shift + ←",), "at a node of the picture: move it, by any arrow key"),
    Shortcut(("+", "-", "0"), "zoom in, zoom out, show everything"),
    Shortcut(("Esc",), "select nothing"),
    Shortcut(("Space", "."), "play or pause the film in Lab, one push"),
    Shortcut(("?",), "this list"),
)
ON = "shortcuts"


def listen() -> None:
    """Let the browser listen to the keys, unless Settings turned them off; draw nothing."""
    with st.container(key="shortcut-keys"):
        # In a list: Streamlit would look for data frames in a dict, and load pandas for it.
        component("shortcuts")(key="keys", data=[{
            "on": value_of(keep(ON), True), "title": "Keyboard", "close": "Close",
            "rows": [[list(one.keys), one.what] for one in SHORTCUTS]}])


def keyboard_settings() -> None:
    """Draw the list, and the switch for people with other uses of these keys."""
    st.header("Keyboard", anchor=False)
    st.toggle("Single keys act while nothing is typed", True, key=keep(ON),
              help="Turn it off when a screen reader or speech input uses single keys.")
    st.caption("Press `?` for the list.")
