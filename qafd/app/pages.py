"""The pages of the app, in the groups and the order of the navigation."""

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from qafd.app.error_display import contain_errors
from qafd.app.session import WORKSPACE
from qafd.resources import root

PAGES = {"explore": ("Ask", ":material/hub:"),
         "compare": ("Compare and measure", ":material/compare:"),
         "evaluate": ("Compare and measure", ":material/rule:"),
         "lab": ("Compare and measure", ":material/science:"),
         "runs": ("Compare and measure", ":material/history:"),
         "learn": ("Learn", ":material/school:"),
         "documents": ("Data", ":material/description:"),
         "graph": ("Data", ":material/account_tree:"),
         "database": ("Data", ":material/database:"),
         "settings": ("Data", ":material/settings:")}
"""The group and the icon of each page, whose title is its name with a capital."""
FIRST = "explore"
"""The page that opens first and stands at the root."""
ASKS = {"explore": "q", "compare": "q", "lab": "q", "database": "dbq"}
"""The key of the question of a page that has one."""


def page(name: str, default: str = FIRST) -> StreamlitPage:
    """Return one page; `default` names the one that opens first."""
    script = root() / "pages" / f"{name}.py"
    return st.Page(script, title=name.capitalize(), icon=PAGES[name][1], default=name == default)


def pages(default: str = FIRST) -> dict[str, list[StreamlitPage]]:
    """Return all pages by their groups."""
    grouped: dict[str, list[StreamlitPage]] = {}
    for name, (group, _) in PAGES.items():
        grouped.setdefault(group, []).append(page(name, default))
    return grouped


def name_of(page: StreamlitPage) -> str:
    """Return the name in `PAGES` of a page."""
    return page.title.lower()


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
