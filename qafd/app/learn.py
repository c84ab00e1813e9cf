"""The Learn page: one card at a time, and its toy graph."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

from qafd.app.component import Staging, movie, movie_data
from qafd.app.pages import heading, way
from qafd.app.session import keep, put
from qafd.app.tables import columns_of, table
from qafd.learn.card import Card, Settings, entries, film_card, promise, proof
from qafd.learn.cards import CARDS, SOUGHT
from qafd.wording import join_words

CARD = "card"
BY_KEY = {card.key: card for card in CARDS}
LABELS = {"mass": "Mass poured, units", "capacity": "What a node can hold",
          "variant": "Edge weight", "source": "Poured at", "spoil": "Factor on the largest height",
          "share": "From walk (0) to flow (1)"}
OPTIONS = {"unit": "1 each", "degree": "number of pipes"}


def show() -> None:
    """Draw the card of the address, or the one that the visitor picks."""
    heading("Learn", "The method in nine cards, each with a graph to play with.")
    card = choose_card()
    show_card(card)
    _turn(card)


def choose_card() -> Card:
    """Return the card that the visitor picks."""
    keep(CARD)
    linked = st.query_params.get(CARD)
    if CARD not in st.session_state and linked in BY_KEY:
        put(CARD, linked)
    # Not bound to the URL, where it would have its title instead of its key.
    key = st.pills("Card", list(BY_KEY), default=CARDS[0].key, required=True, key=CARD,
                   label_visibility="collapsed", format_func=_title) or CARDS[0].key
    st.query_params[CARD] = key
    return BY_KEY[key]


def _title(key: str) -> str:
    return f"{list(BY_KEY).index(key) + 1}. {BY_KEY[key].title}"


def _turn(card: Card) -> None:
    """Draw buttons to the previous and the next card."""
    at = CARDS.index(card)
    with st.container(horizontal=True):
        if at > 0:
            before = CARDS[at - 1].key
            st.button(f"Previous: {_title(before)}", icon=":material/arrow_back:",
                      on_click=put, args=(CARD, before))
        if at + 1 < len(CARDS):
            after = CARDS[at + 1].key
            st.button(f"Next: {_title(after)}", icon=":material/arrow_forward:",
                      type="primary", on_click=put, args=(CARD, after))
        else:
            way("explore", "Ask a question")


def show_card(card: Card) -> None:
    """Draw the card: idea, toy graph, observations, a question, and the mathematics behind toggles."""
    st.header(card.title, anchor=False)
    st.write(card.idea)
    settings = replace(card.start, **_controls(card))
    places = dict(enumerate(card.toy.places.values()))
    movie(movie_data(film_card(card, settings), card.toy.names, places,
                     Staging(card.mode, plain=True)), key=f"toy-{card.key}")
    if card.key in NUMBERS:
        NUMBERS[card.key](card, settings)
    st.write(f"**Notice.** {card.notice}")
    st.write(f"**Ask yourself.** {card.question}")
    with st.expander("Answer"):
        st.write(card.answer)
    with st.expander("The mathematics, with its place in the paper"):
        st.latex(card.equation)
        st.caption(card.where)


def _controls(card: Card) -> dict[str, Any]:
    """Draw the settings of a card, and return their values."""
    chosen: dict[str, Any] = {}
    columns = st.columns(max(len(card.ranges), 1), gap="medium")
    for column, (name, bounds) in zip(columns, card.ranges.items(), strict=False):
        key, start = keep(f"{card.key}_{name}"), getattr(card.start, name)
        label = "beta" if (card.key, name) == ("guarantee", "mass") else LABELS[name]
        if isinstance(bounds[0], str):
            chosen[name] = column.segmented_control(label, bounds, default=start, required=True, key=key,
                                                    bind="query-params", format_func=_option)
        else:
            step = 0.05 if bounds[1] < 2 else 0.1
            chosen[name] = column.slider(label, *bounds, start, step, key=key, bind="query-params")
    return chosen


def _option(option: str) -> str:
    """Return the label of an option; names of weights and nodes are their own labels."""
    return OPTIONS.get(option, option)


def _filling(card: Card, settings: Settings) -> None:
    highest = float(card.ranges["mass"][1])
    table(columns_of(("node", "full from, units of mass"), entries(card, settings, highest)),
          formats={"full from, units of mass": "%.2f"})


def _checks(card: Card, settings: Settings) -> None:
    found = proof(card, settings)
    lines = [(line.name, line.importance, line.mass, line.capacity, line.product)
             for line in found.lines]
    names = ("node", "height x", "mass m", "capacity T", "x (T - m)")
    table(columns_of(names, lines), formats=dict.fromkeys(names[1:], "%.3f"))
    st.write("All checks pass: this is the solution." if found.optimal else
             "Some check fails: this is not the solution.")
    st.write(f"Gap {found.gap:.3f}, F(x) = {found.objective:.3f}, worst overflow "
              f"{max(found.overfull, 0.0):.3f} units.")


def _promise(card: Card, settings: Settings) -> None:
    outcome = promise(card, settings)
    if outcome.missing:
        st.write(f"Empty: {join_words(outcome.missing)}.")
    else:
        st.write("All five are full.")
    st.write(f"Outside the five, full buckets hold {outcome.leaked:.0%} of what the five can; the theorem "
             f"allows {outcome.beta:.0%}. Another {outcome.standing:.0%} lies there in buckets that are "
             "not full, and so not retrieved.")


def _sifting(card: Card, _: Settings) -> None:
    """List the suppliers that meet each condition, and those that meet all."""
    lists = {name: card.toy.neighbors(name) for name in SOUGHT}
    met = set(lists[SOUGHT[0]]).intersection(*lists.values())
    lists["all three"] = [name for name in lists[SOUGHT[0]] if name in met]
    rows = [(name, len(names), join_words(names)) for name, names in lists.items()]
    table(columns_of(("Condition", "Met by", "Suppliers"), rows))


NUMBERS: dict[str, Callable[[Card, Settings], None]] = {
    "mass": _filling, "gates": _filling, "certificate": _checks, "guarantee": _promise,
    "conditions": _sifting}
