"""The tab What if: the losses and gains when something is taken out."""

import streamlit as st

from qafd.answer import AnswerChange
from qafd.app.component import panels
from qafd.app.escaping import plain
from qafd.app.explore.explanation import explanation_of
from qafd.app.picture import chosen_drawing, place_nodes
from qafd.app.result import View
from qafd.app.session import bound
from qafd.explain import Explanation
from qafd.explain.whatif import Change, Effect
from qafd.view.drawing import Caption, Look
from qafd.view.panel import panel_data, shown_name
from qafd.view.placement import add_new
from qafd.wording import count
from qafd.wording.answers import say_change

EDGES = 60


def whatif_tab(view: View) -> None:
    """Draw the effect of taking something out."""
    explanation = explanation_of(view)
    if not explanation.full:
        st.write("Nothing is retrieved; raise the mass.")
        return
    if view.retrieval.parts:
        st.caption(f"A change is made for all {len(view.retrieval.parts)} diffusions: each is "
                    "solved again, and their nodes are united again.")
    change = _change(explanation)
    if change == Change():
        st.caption("Choose something to take out: the question is then solved "
                    "again, exactly, and both results are drawn side by side.")
        return
    _difference(view, explanation.what_if(change))


def _change(explanation: Explanation) -> Change:
    """Return the change that the controls describe."""
    retrieval = explanation.retrieval
    names = {n.id: shown_name(n) for n in retrieval.nodes}
    widest = sorted(retrieval.edges, key=lambda e: -e.flow)[:EDGES]
    edges = {f"{e.source}|{e.target}": f"{names[e.source]} – {names[e.target]}" for e in widest}
    left, right = st.columns(2, gap="medium")
    with left:
        documents = _several("Without documents", "no_doc",
                             {name: name for name in explanation.documents})
        seeds = _several("Without seeds", "no_seed", {n: names[n] for n in retrieval.seeds})
    with right:
        nodes = _several("Without nodes", "no_node", names)
        gone = _several("Without edges", "no_edge", edges)
    pairs = []
    for pair in gone:
        u, v = pair.split("|")
        pairs.append((u, v))
    return explanation.change(nodes=nodes, documents=documents, seeds=seeds, edges=pairs)


def _several(label: str, key: str, options: dict[str, str]) -> list[str]:
    return st.multiselect(label, list(options), **bound(key), format_func=options.__getitem__)


def _difference(view: View, difference: Effect) -> None:
    """Draw both results side by side, under what the change does to the quoted answer."""
    same = difference.before.ranking == view.retrieval.ranking
    before = view.answer if same else view.knowledge.answer(difference.before, view.plan)
    change = AnswerChange.of(before, view.knowledge.answer(difference.after, view.plan))
    st.write(f"**{plain(say_change(change))}**")
    st.write(f"**{count(len(difference.lost), 'node')}** lost, **{len(difference.gained)}** gained; "
             f"{len(difference.lost_passages)} of the first passages lost, {len(difference.gained_passages)} "
             "gained.")
    positions, others = place_nodes(view)
    captions = [Caption("As it is", "in color: lost by the change"),
                Caption("With the change", "in color: gained by it")]
    panels(panel_data(
        [difference.before, difference.after], chosen_drawing(),
        positions=add_new(positions, difference.after), look=Look(captions, others, lone=True)), key="whatif")
