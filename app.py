"""QAFD Explorer: page configuration and navigation."""

import streamlit as st

from qafd.app.pages import for_a_class, pages
from qafd.app.shortcuts import listen
from qafd.app.signing import refuse_unasked
from qafd.app.workspaces import keep_workers_going, run
from qafd.package import assets

st.set_page_config("QAFD Explorer", assets() / "logo.png", layout="wide")
refuse_unasked()
# With nothing in it there is no sidebar.
page = st.navigation(pages(), position="hidden" if for_a_class() else "sidebar")
st.logo(assets() / "logo.png", size="large")
# The accent of the dark theme is too light for white text. A word in a table is broken only when it
# is wider than the table may be, and a table that is too wide for a phone scrolls alone.
st.html("<style>.stMainBlockContainer{padding-top:4rem;padding-bottom:3rem;"
        "overflow-wrap:break-word}.stMainBlockContainer th{overflow-wrap:normal!important}"
        ".stMainBlockContainer td{overflow-wrap:break-word!important}"
        ".stMainBlockContainer .stHtml:has(table){overflow-x:auto}"
        ".stApp [data-testid^=stBaseButton-primary]:enabled,.stApp [data-tag],.stApp [data-tag] *"
        "{color:light-dark(#fff,#161614)}"
        "h1.small{font-size:1rem;line-height:1.2;padding:0;margin:-1.4rem 0 -.5rem}"
        ".st-key-shortcut-keys{position:absolute;height:0;overflow:hidden}</style>")
keep_workers_going()
listen()
run(page)
