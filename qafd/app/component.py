"""The panels of a page in the browser: one Streamlit component that draws SVG."""

from functools import cache
from typing import TYPE_CHECKING, Any

import streamlit as st

from qafd.app.session import session
from qafd.package import assets

if TYPE_CHECKING:
    from streamlit.components.v2.types import ComponentRenderer


def panels(data: dict[str, Any], *, key: str) -> str | None:
    """Draw panels and return the id of the node the user selected, None without one.

    Parameters
    ----------
    data : dict
        From `qafd.view.panel.panel_data`.
    key : str
        Names the instance; its selection stays while pages rerun.

    The root element's `data-painted` counts the runs of the script that have been drawn.
    """
    turns = session().turns
    turns[key] += 1
    # In a list: Streamlit would look for data frames in a dict, and load pandas for it.
    result = _component()(key=key, data=[{**data, "run": turns[key]}],
                          default={"selected": data["selected"]}, on_selected_change=lambda: None)
    selected: str | None = result.selected
    return selected


def selected(key: str) -> str | None:
    """What is selected in the instance `key` before it is drawn in this run."""
    state = st.session_state.get(key)
    return state.get("selected") if state else None


@cache
def _component() -> "ComponentRenderer":
    return st.components.v2.component(
        "qafd_panels", html='<div class="qafd"></div>', css=asset("panel.css"),
        js=asset("panel.js"))


def asset(name: str) -> str:
    """An asset without indentation and comment lines: every rerun sends it again."""
    lines = (line.strip() for line in (assets() / name).read_text(encoding="utf-8").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))
