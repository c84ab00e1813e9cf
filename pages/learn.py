"""Learn: the method in seven short cards, each with a graph to play with."""

import streamlit as st

from qafd import ui

card = ui.taught()
if card is not None:
    ui.show(card, taught=True)
    st.stop()

st.title("Learn")
ui.show(ui.chosen_card(), taught=False)
