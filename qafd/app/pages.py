"""The pages of the app, in the groups and the order of the navigation."""

from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from qafd.package import root
from qafd.wording import say

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
ASKS = {"explore": "q", "compare": "q", "lab": "q", "database": "dbq"}
"""The key of the question of a page that has one."""


def page(name: str, default: str = "explore") -> StreamlitPage:
    """One page; `default` names the one that opens first."""
    title, icon = PAGES[name]
    return st.Page(script(name), title=say(title), icon=icon, default=name == default)


def pages(default: str = "explore") -> dict[str, list[StreamlitPage]]:
    """All pages by their groups."""
    return {say(group): [page(name, default) for name in names]
            for group, names in GROUPS.items()}


def name_of(page: StreamlitPage) -> str:
    """The name in `PAGES` of a page."""
    return next(name for name, (title, _) in PAGES.items() if say(title) == page.title)


def heading(name: str) -> None:
    """The heading of a page that begins with its question: small, to leave room for the picture."""
    st.html(f"<h1 class='small'>{name}</h1>")


def for_a_class() -> bool:
    """Whether the address is a teacher's link: one card of Learn, without navigation."""
    return st.query_params.get("teach") == "1"


def script(name: str) -> Path:
    """The file that draws a page."""
    return root() / "pages" / f"{name}.py"
