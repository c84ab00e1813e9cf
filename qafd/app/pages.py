"""The pages of the app, in the order of the navigation."""

from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from qafd.package import root

PAGES = {"explore": ("Explore", ":material/hub:"),
         "compare": ("Compare", ":material/compare:"),
         "evaluate": ("Evaluate", ":material/rule:"),
         "lab": ("Lab", ":material/science:"),
         "runs": ("Runs", ":material/history:"),
         "learn": ("Learn", ":material/school:"),
         "graph": ("Graph", ":material/account_tree:"),
         "database": ("Database", ":material/database:"),
         "documents": ("Documents", ":material/description:"),
         "settings": ("Settings", ":material/settings:")}


def page(name: str, default: str = "explore") -> StreamlitPage:
    """One page; `default` names the one that opens first."""
    title, icon = PAGES[name]
    return st.Page(_script(name), title=title, icon=icon, default=name == default)


def pages(default: str = "explore") -> list[StreamlitPage]:
    """All pages."""
    return [page(name, default) for name in PAGES]


def heading(name: str) -> None:
    """The heading of a page that begins with its question: small, to leave room for the picture."""
    st.html(f"<h1 class='small'>{name}</h1>")


def for_a_class() -> bool:
    """Whether the address is a teacher's link: one card of Learn, without navigation."""
    return st.query_params.get("teach") == "1"


def script(page: StreamlitPage) -> Path:
    """The file that draws a page."""
    return next(_script(name) for name, (title, _) in PAGES.items() if title == page.title)


def _script(name: str) -> Path:
    return root() / "pages" / f"{name}.py"
