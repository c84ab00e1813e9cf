"""The pages of the app, in the groups and the order of the navigation."""

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from qafd.app.error_display import contain_errors
from qafd.app.session import WORKSPACE
from qafd.resources import root

GROUPS = {"Ask": ("explore",),
          "Compare and measure": ("compare", "evaluate", "lab", "runs"),
          "Learn": ("learn",),
          "Data": ("documents", "graph", "database", "settings")}
PAGES = {"explore": ("Explore", ":material/hub:"),
         "compare": ("Compare", ":material/compare:"),
         "evaluate": ("Evaluate", ":material/rule:"),
         "lab": ("Lab", ":material/science:"),
         "runs": ("Runs", ":material/history:"),
         "learn": ("Learn", ":material/school:"),
         "documents": ("Documents", ":material/description:"),
         "graph": ("Graph", ":material/account_tree:"),
         "database": ("Database", ":material/database:"),
         "settings": ("Settings", ":material/settings:")}
FIRST = "explore"
"""The page that opens first and stands at the root."""
ASKS = {"explore": "q", "compare": "q", "lab": "q", "database": "dbq"}
"""The key of the question of a page that has one."""


def page(name: str, default: str = FIRST) -> StreamlitPage:
    """Return one page; `default` names the one that opens first."""
    title, icon = PAGES[name]
    script = root() / "pages" / f"{name}.py"
    return st.Page(script, title=title, icon=icon, default=name == default)


def pages(default: str = FIRST) -> dict[str, list[StreamlitPage]]:
    """Return all pages by their groups."""
    grouped = {}
    for group, names in GROUPS.items():
        grouped[group] = [page(name, default) for name in names]
    return grouped


def name_of(page: StreamlitPage) -> str:
    """Return the name in `PAGES` of a page."""
    return next(name for name, (title, _) in PAGES.items() if title == page.title)


def way(name: str, label: str, **address: str | list[str]) -> None:
    """Link to another page of the app, in the same workspace."""
    query = {WORKSPACE: st.session_state[WORKSPACE], **address} if address else None
    st.page_link(page(name), label=label, icon=PAGES[name][1], query_params=query)


def heading(name: str, purpose: str) -> None:
    """Draw the heading of a page and, next to it, one sentence about its use."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="heading"):
        st.title(name, anchor=False, width="content")
        st.caption(purpose, width="stretch")


def draw_tabs(tabs: Mapping[str, Callable[..., object]], key: str, *things: Any) -> None:
    """Draw tabs by their titles, and the contents of the open one alone."""
    titles = list(tabs)
    for tab, title in zip(st.tabs(titles, key=key, bind="query-params"), titles, strict=True):
        if tab.open:
            with tab, contain_errors(f"The tab {title}"):
                tabs[title](*things)


def fold_tabs(tabs: Mapping[str, Callable[..., object]], *things: Any) -> None:
    """Draw small tabs inside a page; the browser alone changes between them."""
    for tab, draw in zip(st.tabs(list(tabs)), tabs.values(), strict=True):
        with tab:
            draw(*things)


def for_a_projector() -> bool:
    """Return True if the address asks for large type and no sidebar: `present=1`."""
    return st.query_params.get("present") == "1"
