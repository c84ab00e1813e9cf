"""Learn: the method in seven short cards, each with a graph to play with."""

import streamlit as st

from qafd.app.learn import chosen_card, show, taught

card = taught()
if card is not None:
    show(card, taught=True)
    st.stop()

st.title("Learn")
show(chosen_card(), taught=False)
