"""The tab Why: a node's reasons in words, or what keeps it out and what would let it in."""

from collections.abc import Callable

import streamlit as st

from qafd.app.escaping import plain, safe
from qafd.app.explore.explained import SEARCHED, explanation_of, node_choice
from qafd.app.explore.node import balance_table, by_hand, quoted, read_table
from qafd.app.result import View
from qafd.app.session import keep
from qafd.explain import Balance, Inflow, Paths, Why, WhyNot
from qafd.retrieve import METHODS
from qafd.view.panel import number
from qafd.wording.explanations import (
    say_balance,
    say_other,
    say_path,
    say_remedy,
    say_size,
    say_unquoted,
    say_why,
    say_why_not,
)
from qafd.wording.reasons import word_seed

_COUNTS: dict[str, Callable[[Balance], float]] = {
    "put in": lambda balance: balance.injected,
    "came in": lambda balance: balance.came,
    "went on": lambda balance: balance.went,
    "held": lambda balance: balance.node.mass}


def why_tab(view: View) -> None:
    """Why a node is retrieved, or why not."""
    explanation = explanation_of(view)
    node = node_choice(view, explanation)
    if not node:
        st.write("Nothing was touched; raise the mass or ask about names in your documents.")
        return
    st.caption("The question pours mass on the names and passages it speaks of. What holds more "
               "than it can passes the rest on, more over wide edges. Full nodes are retrieved. "
               "¶ marks a passage.")
    if explanation.retrieved(node):
        _why(explanation.why(node))
    else:
        _why_not(explanation.why_not(node, SEARCHED))
    if st.toggle("What other methods say", key=keep("elsewhere"), bind="query-params",
                 help="Asks every other method the same question; takes a moment."):
        st.html(read_table(("its own reason", "method"), [
            (say_other(other), METHODS[other.method].label)
            for other in explanation.elsewhere(node)]))


def _why(why: Why) -> None:
    _lead(say_why(why))
    st.write(plain(say_balance(why.balance)))
    if why.parts:
        _sums(why)
        for part in why.parts:
            if part.why is not None:
                st.html(f"<h4>Subquery {part.number}: {safe(part.question)}</h4>")
                st.write(plain(say_balance(part.why.balance)))
                _shares(part.why)
    else:
        _shares(why)


def _sums(why: Why) -> None:
    """What each subquery's diffusion did at the node, and the sums that the picture shows."""
    st.caption("Each subquery has a diffusion of its own; what they leave on a node adds up")
    rows = [(f"{part.number}. {part.question}", part.why) for part in why.parts]
    rows.append(("together", why))
    st.html(read_table(("subquery", *_COUNTS), [
        (name, *(f"{0.0 if one is None else count(one.balance):.3f}"
                 for count in _COUNTS.values())) for name, one in rows]))
    st.caption("Put in by the question and came in from neighbors, less what went on to them, "
               "is what is held, in units of mass.")


def _shares(why: Why) -> None:
    left, right = st.columns(2, gap="medium")
    with left:
        st.caption("The seeds that its mass was poured on")
        st.html(read_table(("seed", "why it is a seed", "share"), [
            (seed.name, word_seed(seed.reason), f"{seed.share:.1%}") for seed in why.seeds]))
        st.caption("The ways it came; with the rest they add up to what it holds")
        st.html(read_table(("way", "mass"), ways_listed(why.ways)))
    with right:
        for inflow in why.inflows:
            st.html(f"<p style='margin:0 0 .3em'><b>{inflow.share:.0%}</b> of what reached it came "
                    f"straight from <b>{safe(inflow.name)}</b></p>")
            _quotes(inflow)
    with st.expander("Numbers"):
        _balance(why)


def ways_listed(ways: Paths) -> list[tuple[str, str]]:
    """The rows of a table of ways: each in words with its mass, and all others unless none is."""
    others = [("all other ways", number(ways.rest))]
    return [(say_path(way), number(way.mass)) for way in ways.paths] + others * (ways.rest > 0)


def _quotes(inflow: Inflow) -> None:
    if inflow.added:
        st.html(by_hand(inflow.added))
    if inflow.sentences:
        st.html("".join(quoted(e) for e in inflow.sentences))
    elif not inflow.added:
        st.caption(say_unquoted(inflow.kind))


def _balance(why: Why) -> None:
    balance = why.balance
    balance_table(balance, 9)
    st.caption(f"In minus out is what it holds; the difference is {abs(balance.error):.0e}, "
               "which is rounding. Mass is counted in the units of the control at the left; ways "
               "and shares split what passes a node in equal proportions.")


def _why_not(why: WhyNot) -> None:
    first, *rest = say_why_not(why)
    _lead(first)
    st.write(plain(" ".join(rest)))
    left, right = st.columns(2, gap="medium")
    with left:
        st.caption("What would bring it in, the shortest change first; each was tried")
        st.html(read_table(("change", "how much"), [
            (say_remedy(remedy, why), say_size(remedy)) for remedy in why.remedies]))
        st.caption("The smallest relative increase comes first; making it a seed asks another "
                   "question, so it counts as doubling.")
    with right:
        if why.gate is not None:
            gates = [g for g in (why.gate, why.beside) if g is not None]
            st.caption(f"The edge from {plain(gates[0].source_name)} that lets too little through"
                       + ", and the one it sends most over" * (len(gates) > 1))
            st.html(read_table(
                ("what makes it so wide", *(f"to {g.target_name}" for g in gates)),
                [(name, *(number(getattr(g, key)) for g in gates)) for name, key in (
                    ("strength of the edge", "structure"),
                    ("likeness of its start to the question", "alignment_source"),
                    ("likeness of its end to the question", "alignment_target"),
                    ("weight", "weight"))]))
            st.caption("The weight of an edge, how wide it is, is made of the three above it.")


def _lead(text: str) -> None:
    st.html(f"<p style='font-size:1.1rem;line-height:1.5;margin:0'>{safe(text, 600)}</p>")

