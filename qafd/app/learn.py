"""The Learn page: one card at a time, its toy graph, and a link for a class."""

from dataclasses import fields
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from qafd.app.movie import movie, movie_data
from qafd.app.pages import for_a_class
from qafd.app.session import keep
from qafd.learn.card import Card, Settings, entries, filmed, promise, proof, settings_of
from qafd.learn.cards import CARDS

LABELS = {"mass": "Mass poured, units", "capacity": "What a node can hold",
          "variant": "Edge weight", "source": "Poured at", "spoil": "Factor on the largest height"}
WORDS = {"unit": "1 each", "degree": "number of pipes"}


def taught() -> Card | None:
    """The card of a teacher's link, which hides all controls; None without such a link."""
    if not for_a_class():
        return None
    return next((card for card in CARDS if card.key == st.query_params.get("card")), CARDS[0])


def chosen_card() -> Card:
    """The card that the visitor picks."""
    by_key = {card.key: card for card in CARDS}
    keep("card")
    asked = st.query_params.get("card")
    if "card" not in st.session_state and asked in by_key:
        st.session_state["card"] = asked
    # Not bound to the URL, where it would stand under its title instead of its key.
    key = st.pills("Card", list(by_key), default=CARDS[0].key, required=True, key="card",
                   label_visibility="collapsed",
                   format_func=lambda key: f"{list(by_key).index(key) + 1}. {by_key[key].title}")
    st.query_params["card"] = key or CARDS[0].key
    return by_key[key or CARDS[0].key]


def show(card: Card, taught: bool) -> None:
    """The card: idea, toy graph, what to notice, a question, and the mathematics behind toggles."""
    st.header(card.title)
    st.write(card.idea)
    settings = settings_of(card, {spec.name: st.query_params.get(spec.name, "")
                                  for spec in fields(Settings)} if taught else _controls(card))
    film = filmed(card, settings)
    movie(movie_data(film, card.toy.names, dict(enumerate(card.toy.places.values())),
                     mode=card.mode, plain=True, order="random"), key=f"toy-{card.key}")
    _numbers(card, settings)
    st.write(f"**Notice.** {card.notice}")
    st.write(f"**Ask yourself.** {card.question}")
    with st.expander("Answer"):
        st.write(card.answer)
    with st.expander("The mathematics, and where it stands"):
        st.latex(card.equation)
        st.caption(card.where)
    if taught:
        st.link_button("All cards and controls", f"?{urlencode({'card': card.key})}")
    else:
        st.link_button(
            "Link for a class", _link(card, settings), icon=":material/school:",
            help="Opens this card with these settings, without controls; random pushes come in "
                 "the same order for everybody.")


def _controls(card: Card) -> dict[str, str]:
    """The settings of a card as its widgets have them."""
    chosen: dict[str, str] = {}
    columns = st.columns(max(len(card.ranges), 1), gap="medium")
    for column, (name, bounds) in zip(columns, card.ranges.items(), strict=False):
        key, start = keep(f"{card.key}_{name}"), getattr(card.start, name)
        label = "beta" if (card.key, name) == ("guarantee", "mass") else LABELS[name]
        value: Any
        if isinstance(bounds[0], str):
            value = column.segmented_control(
                label, bounds, default=start, required=True, key=key, bind="query-params",
                format_func=lambda option: WORDS.get(option, option))
        else:
            value = column.slider(label, *bounds, start, 0.05 if bounds[1] < 2 else 0.1, key=key,
                                  bind="query-params")
        chosen[name] = str(value)
    return chosen


def _link(card: Card, settings: Settings) -> str:
    """The address of a card with its settings, for a class."""
    values = {name: getattr(settings, name) for name in card.ranges}
    return "?" + urlencode({"teach": 1, "card": card.key, **values, "seed": settings.seed})


def _numbers(card: Card, settings: Settings) -> None:
    """The card's own numbers, where it has some beside the picture."""
    if card.key in ("mass", "gates"):
        highest = float(card.ranges["mass"][1])
        listed = entries(card, settings, highest)
        st.dataframe({"node": [name for name, _ in listed],
                      "full from, units of mass": [alpha for _, alpha in listed]},
                     hide_index=True, column_config={
                         "full from, units of mass": st.column_config.NumberColumn(format="%.2f")})
    if card.key == "certificate":
        found = proof(card, settings)
        st.dataframe({"node": [line.name for line in found.lines],
                      "height x": [line.importance for line in found.lines],
                      "mass m": [line.mass for line in found.lines],
                      "capacity T": [line.capacity for line in found.lines],
                      "x (T - m)": [line.product for line in found.lines]}, hide_index=True,
                     column_config=dict.fromkeys(
                         ("height x", "mass m", "capacity T", "x (T - m)"),
                         st.column_config.NumberColumn(format="%.3f")))
        verdict = ("All checks pass: this is the solution." if found.optimal else
                   "Some check fails: this is not the solution.")
        st.write(f"{verdict} Gap {found.gap:.3f}, F(x) = {found.objective:.3f}, worst overflow "
                 f"{max(found.overfull, 0.0):.3f} units.")
    if card.key == "guarantee":
        said = promise(card, settings)
        covered = (f"Empty: {', '.join(said.missing)}." if said.missing else "All five are full.")
        st.write(f"{covered} Spilled outside: {said.leaked:.0%} of their capacity; the theorem "
                 f"allows {said.beta:.0%}.")
