"""QAFD Explorer: page configuration and navigation."""

import streamlit as st

from qafd import ui
from qafd.package import assets

st.set_page_config("QAFD Explorer", assets() / "logo.png", layout="wide")
page = st.navigation(ui.pages())
st.logo(assets() / "logo.png", size="large")
# The accent of the dark theme is too light for white text.
st.html("<style>.stMainBlockContainer{padding-top:4rem;padding-bottom:3rem}"
        ".stApp [data-testid^=stBaseButton-primary]{color:light-dark(#fff,#161614)}</style>")
ui.keep_workers_going()
ui.run(page)
