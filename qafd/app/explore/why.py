"""The tabs Why and Paths: a node's reasons or the obstacle to it, and all paths of mass."""

from collections.abc import Sequence

import streamlit as st

from qafd.app import markup
from qafd.app.escaping import plain, safe
from qafd.app.explore.card import draw_strand
from qafd.app.explore.explanation import SEARCHED, explanation_of, node_choice
from qafd.app.markup import paragraph, read_table
from qafd.app.result import View
from qafd.app.session import bound, value_of
from qafd.explain import Explanation, SeedShare, Why
from qafd.explain.edges import Gate
from qafd.explain.paths import Paths, ReasoningPath
from qafd.explain.whynot import WhyNot
from qafd.view.drawing import share_of
from qafd.view.panel import clean
from qafd.wording.explanations import (
    say_balance,
    say_chain,
    say_hop,
    say_path,
    say_remedy,
    say_size,
    say_why,
    say_why_not,
)
from qafd.wording.panels import say_number
from qafd.wording.reasons import word_seed

_FACTORS = {"strength of the edge": "structure",
            "likeness of its start to the question": "alignment_source",
            "likeness of its end to the question": "alignment_target", "weight": "weight"}


def why_tab(view: View) -> None:
    """Draw the reasons for which a node is retrieved or not."""
    explanation = explanation_of(view)
    node = node_choice(view.graph, explanation)
    if not node:
        st.write("Nothing was touched; raise the mass or ask about names in your documents.")
        return
    st.caption("The question pours mass on the names and passages it mentions. A node over its "
               "capacity passes the rest on, more over wide edges. Full nodes are "
               "retrieved. ¶ marks a passage.")
    if explanation.is_retrieved(node):
        _why(explanation.why(node))
    else:
        _why_not(explanation.why_not(node, SEARCHED))


def _why(why: Why) -> None:
    _lead(say_why(why))
    st.write(plain(say_balance(why.balance)))
    _shares(why)


def _shares(why: Why) -> None:
    left, right = st.columns(2, gap="medium")
    with left:
        _seeds_and_ways(why.seeds, why.ways)
    with right:
        for inflow in why.inflows:
            st.write(f"**{share_of(inflow.flow, why.balance.reached):.0%}** of what reached it came "
                     f"straight from **{plain(inflow.source)}**")
            draw_strand(inflow)


def _seeds_and_ways(seeds: Sequence[SeedShare], ways: Paths) -> None:
    """Draw the seeds of a node's mass, and each path of it in words with its mass."""
    st.caption("The seeds that its mass was poured on")
    st.html(read_table(("seed", "why it is a seed", "share"), [
        (seed.name, word_seed(seed.reason), f"{seed.share:.1%}") for seed in seeds]))
    st.caption("The ways it came; with the rest they add up to what it holds")
    rows = [(say_path(way), say_number(way.mass)) for way in ways.paths]
    if ways.rest > 0:
        rows.append(("all other ways", say_number(ways.rest)))
    st.html(read_table(("way", "mass"), rows))


def _why_not(why: WhyNot) -> None:
    first, *rest = say_why_not(why)
    _lead(first)
    st.write(plain(" ".join(rest)))
    left, right = st.columns(2, gap="medium")
    with left:
        st.caption("Changes that would retrieve it, the smallest first; each was tested")
        st.html(read_table(("change", "how much"), [
            (say_remedy(remedy, why), say_size(remedy)) for remedy in why.remedies]))
        st.caption("The smallest relative increase comes first. Making it a seed changes the "
                    "question, so it is sorted like doubling the mass.")
    with right:
        if why.gate is not None:
            _gates([gate for gate in (why.gate, why.widest) if gate is not None])


def _gates(gates: Sequence[Gate]) -> None:
    """Draw the factors of a narrow edge next to those of the widest from the same node."""
    source = plain(gates[0].source_name)
    st.caption(f"The edge from {source} that lets too little through"
               if len(gates) == 1 else
               (f"The edge from {source} that lets too little through, and the one that carries most"))
    rows = []
    for name, key in _FACTORS.items():
        rows.append((name, *(say_number(getattr(gate, key)) for gate in gates)))
    targets = [f"to {gate.target_name}" for gate in gates]
    st.html(read_table(("factors of its width", *targets), rows))
    st.caption("The width (weight) of the edge combines the three rows above.")


def _lead(text: str) -> None:
    st.html(paragraph(safe(text, 600), "lead"))


MOST = 50
LISTED = 12
CHAINS = 5


def chosen_path(view: View) -> tuple[str, ...]:
    """Return the node ids of the path chosen in the list, which the picture highlights."""
    # The list follows the picture, so a link's first run must read the address itself.
    if value_of("tab", "") != "Paths":
        return ()
    chosen = value_of("path", None)
    if chosen is None:
        return ()
    listed = _paths(explanation_of(view)).paths[:LISTED]
    return next((path.nodes for k, path in enumerate(listed)
                 if chosen in (str(k), _word_path(path))), ())


def paths_tab(view: View) -> None:
    """Draw the paths of mass from seeds to the nodes that hold it; together they are all the mass."""
    explanation = explanation_of(view)
    found = _paths(explanation)
    if not found.paths:
        st.write("No mass was poured, so no path was taken.")
        return
    _chains(explanation)
    listed = found.paths[:LISTED]
    _list(found, listed)


def _chains(explanation: Explanation) -> None:
    """Draw the ways to the answer name by name; the sentence of each hop is quoted once."""
    found = explanation.chains(CHAINS)
    if not found:
        return
    st.caption("From a seed to what the question asks for, with the sentence of each step.")
    parts = []
    quoted: set[str] = set()
    for chain in found:
        hops = [say_hop(hop) for hop in chain.hops]
        new = [safe(clean(hop, 400)) for hop in hops if hop not in quoted]
        quoted.update(hops)
        parts.append(markup.paragraph("<br>".join([markup.embolden(safe(say_chain(chain))), *new])))
    st.html("".join(parts))


def _list(found: Paths, listed: Sequence[ReasoningPath]) -> None:
    st.caption("Where the mass went, largest first. Choose a path to see it in the picture.")
    st.radio("Paths", [str(k) for k in range(len(listed))], index=None, **bound("path"),
             label_visibility="collapsed",
             format_func=lambda k: _word_path(listed[int(k)]),
             captions=[f"{p.mass:.3g} of mass, {p.share:.1%}"
                       for p in listed])
    more = found.paths[LISTED:]
    st.caption(f"{sum(p.mass for p in more):.3g} more on {len(more)} further paths, {found.rest:.3g} on all "
               f"others: {found.total:.3g} of mass in all.")


def _paths(explanation: Explanation) -> Paths:
    return explanation.paths(MOST)


def _word_path(path: ReasoningPath) -> str:
    if not path.part:
        return plain(say_path(path))
    return f"{plain(say_path(path))} (diffusion {path.part})"
