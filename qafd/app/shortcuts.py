"""Keyboard shortcuts: one list for the keys, for the dialog that `?` opens, and for Settings."""

from dataclasses import dataclass

import streamlit as st

from qafd.app.component import component
from qafd.app.session import keep, value_of


@dataclass(frozen=True)
class Shortcut:
    """One or more keys and their effect, which `assets/shortcuts.js` has."""

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
