"""Keyboard shortcuts: one list for the keys, for the dialog that `?` opens, and for Settings."""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import streamlit as st

from qafd.app.component import asset
from qafd.app.session import keep, value_of
from qafd.wording import say

if TYPE_CHECKING:
    from streamlit.components.v2.types import ComponentRenderer


@dataclass(frozen=True)
class Shortcut:
    """One or more keys and what they do; `assets/shortcuts.js` does it."""

    keys: tuple[str, ...]
    what: str


SHORTCUTS = (
    Shortcut(("/",), "to the question; Enter asks it"),
    Shortcut(("N", "P"), "next and previous tab"),
    Shortcut(("T",), "to the tab Table: the picture as rows"),
    Shortcut(("G",), "to the picture: arrow keys walk, Page keys follow importance, Enter selects"),
    Shortcut(("E",), "at a node of the picture: its next edge, the widest first"),
    Shortcut(("+", "-", "0"), "zoom in, zoom out, show everything"),
    Shortcut(("Esc",), "select nothing"),
    Shortcut(("Space", "."), "play or pause the film in Lab, one push"),
    Shortcut(("?",), "this list"),
)
ON = "shortcuts"


def listen() -> None:
    """Let the browser hear the keys, unless Settings turned them off; draws nothing."""
    with st.container(key="shortcut-keys"):
        # In a list: Streamlit would look for data frames in a dict, and load pandas for it.
        _component()(key="keys", data=[{
            "on": value_of(keep(ON), True),
            "rows": [[list(one.keys), say(one.what)] for one in SHORTCUTS]}])


def keyboard_settings() -> None:
    """The list, and the switch for those whose keys are taken or spoken."""
    st.subheader(say("Keyboard"))
    st.toggle(say("Single keys act while nothing is typed"), True, key=keep(ON),
              help=say("Turn it off when a screen reader or speech input uses single keys."))
    with st.expander(say("Shortcuts")):
        st.html("<table style='border-spacing:0 .3em'>" + "".join(
            f"<tr><td style='padding-right:1.2em;white-space:nowrap'>"
            f"{' '.join(f'<kbd>{key}</kbd>' for key in one.keys)}</td><td>{say(one.what)}</td></tr>"
            for one in SHORTCUTS) + "</table>")


@cache
def _component() -> "ComponentRenderer":
    return st.components.v2.component(
        "qafd_shortcuts", html='<dialog aria-labelledby="title"><h2 id="title">Keyboard</h2>'
        "<dl></dl><button type=\"button\">Close</button></dialog>",
        css=asset("shortcuts.css"), js=asset("shortcuts.js"))
