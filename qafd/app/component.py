"""The pictures of a page in the browser: Streamlit components that draw panels and the map."""

import json
import zlib
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager
from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest

from qafd import __version__
from qafd.app.session import session
from qafd.resources import assets

if TYPE_CHECKING:
    from streamlit.components.v2.types import ComponentRenderer


def panels(data: dict[str, Any], *, key: str, name: str = "panel") -> str | None:
    """Draw panels or a map and return the id of the node the user selected, None without one.

    Parameters
    ----------
    data : dict
        From `qafd.view.panel.panel_data` or `qafd.view.overview.map_data`.
    key : str
        Names the instance; its selection stays while pages rerun.
    name : {"panel", "map"}
        The component that draws it.

    The root element's `data-painted` counts the runs of the script that have been drawn.
    """
    turns = session().turns
    turns[key] += 1
    text = json.dumps({**data, "run": turns[key]}, separators=(",", ":"))
    # A move of a slider sends all of it again: compressed it is a fifth.
    result = component(name)(key=key, data=zlib.compress(text.encode()),
                                default={"selected": data["selected"], "expanded": []},
                                on_selected_change=lambda: None,
                                on_expanded_change=lambda: None)
    selected: str | None = result.selected
    return selected


def read_selection(key: str) -> str | None:
    """Return the selection of the instance `key` before it is drawn in this run."""
    state = st.session_state.get(key)
    return state.get("selected") if state else None


def read_expanded(key: str) -> list[str]:
    """Return the nodes to show neighbors of in the instance `key`."""
    state = st.session_state.get(key)
    return list(state.get("expanded") or ()) if state else []


def component(name: str) -> "ComponentRenderer":
    """Register the component of the assets NAME.js, which the browser loads once, and NAME.css."""
    return _register(name, get_bidi_component_manager())


@lru_cache(maxsize=8)
def _register(name: str, manager: BidiComponentManager) -> "ComponentRenderer":
    manifest = ComponentManifest("qafd", __version__, [ComponentConfig(name, assets().name)])
    manager.register_from_manifest(manifest, assets().parent)
    # A style that arrives after the script would let it measure an unstyled page.
    style = (assets() / f"{name}.css").read_text(encoding="utf-8")
    return st.components.v2.component(f"qafd.{name}", html=f'<div class="{name}"></div>', css=style,
                                      js=f"{name}.js")
