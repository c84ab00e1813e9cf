"""The tab What if: take something out or change a weight, and see what is lost and gained."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from qafd.answer.change import AnswerChange, Quoted
from qafd.app.component import panels
from qafd.app.escaping import safe
from qafd.app.explore.explained import explanation_of
from qafd.app.explore.node import source
from qafd.app.picture import chosen_drawing, placed, placed_too
from qafd.app.result import View
from qafd.app.session import keep
from qafd.explain import Change, Effect, Explanation, Sensitivity, shown
from qafd.export import table_csv
from qafd.retrieve.base import RetrievedNode
from qafd.view.panel import (
    Caption,
    counted,
    largest_of,
    panel_data,
    percent,
    share_of,
    shown_name,
)
from qafd.wording.answers import say_change

EDGES = 60
FACTORS = (0.01, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0, 100.0)
KINDS = {"document": "Document", "edge": "Edge", "seed": "Seed"}


def whatif_tab(view: View) -> None:
    """What the result leans on, and what would be different."""
    explanation = explanation_of(view)
    if not explanation.full:
        st.write("Nothing is retrieved that could be taken out; raise the mass.")
        return
    if view.retrieval.parts:
        st.caption(f"A change is made for all {len(view.retrieval.parts)} subqueries: each is "
                   "solved anew, and what they retrieve is united again.")
    _leaning(view, explanation)
    change = _change(explanation)
    if change == Change():
        st.caption("Choose something to take out or to change: the question is then solved anew, "
                   "exactly, and both results are drawn side by side.")
        return
    _difference(view, explanation.what_if(change))


def _leaning(view: View, explanation: Explanation) -> None:
    leans = explanation.sensitivities()
    best = [lean for kind in KINDS for lean in
            [lean for lean in leans if lean.kind == kind][:3]]
    if not best:
        return
    first = best[0]
    loss = explanation.what_if(_taken(first))
    st.html(f"<p style='font-size:1.1rem;margin:0'>{first.share:.0%} of the mass rests on "
            f"{safe(_thing(explanation, first))}: without it, {len(loss.lost)} of "
            f"{counted(explanation.full, 'node')} would be lost and {len(loss.gained)} "
            f"gained. {safe(say_change(_answers(view, loss)), 600)}</p>")
    with st.expander("What it leans on most"):
        st.dataframe(
            {"kind": [KINDS[a.kind] for a in best],
             "what": [_thing(explanation, a) for a in best], "mass": [a.share for a in best],
             "importance": [a.elasticity for a in best]}, hide_index=True,
            column_config={
                "mass": st.column_config.ProgressColumn(
                    "mass that passes it", format="percent", min_value=0.0, max_value=1.0),
                "importance": st.column_config.NumberColumn(
                    "importance lost per 1% of that mass", format="%.2f%%")})
        st.caption("The last column is the exact derivative of the solution: were one percent of "
                   "what passes there lost, the importance of all that is found beyond the seeds "
                   "would fall by so much.")
        st.download_button("Leaning CSV", lambda: table_csv(
            ("kind", "what", "mass", "elasticity"),
            [(a.kind, _thing(explanation, a), a.share, a.elasticity) for a in leans]),
            "leaning.csv", "text/csv", on_click="ignore")


def _taken(lean: Sensitivity) -> Change:
    """The change that takes out what is leaned on."""
    if lean.kind == "edge":
        return Change(edges=frozenset([(lean.rows[0], lean.rows[1])]))
    rows = frozenset(lean.rows)
    return Change(seeds=rows) if lean.kind == "seed" else Change(nodes=rows)


def _thing(explanation: Explanation, lean: Sensitivity) -> str:
    if lean.kind == "document":
        return lean.name
    return " – ".join(shown(explanation.graph, row) for row in lean.rows)


def _change(explanation: Explanation) -> Change:
    """The change that the controls describe."""
    graph, retrieval = explanation.graph, explanation.retrieval
    names = {n.id: shown_name(n) for n in retrieval.nodes}
    edges = {f"{e.source}|{e.target}": f"{names[e.source]} – {names[e.target]}"
             for e in sorted(retrieval.edges, key=lambda e: -e.flow)[:EDGES]}
    left, right = st.columns(2, gap="medium")
    with left:
        documents = st.multiselect("Without documents", explanation.documents,
                                   key=keep("no_doc"), bind="query-params")
        seeds = st.multiselect("Without seeds", retrieval.seeds, key=keep("no_seed"),
                               bind="query-params", format_func=names.__getitem__)
    with right:
        nodes = st.multiselect("Without nodes", list(names), key=keep("no_node"),
                               bind="query-params", format_func=names.__getitem__)
        gone = st.multiselect("Without edges", list(edges), key=keep("no_edge"),
                              bind="query-params", format_func=edges.__getitem__)
    with st.expander("Change or add an edge"):
        edge = st.selectbox("Edge whose weight is changed", list(edges), index=None,
                            key=keep("edge"), bind="query-params",
                            format_func=edges.__getitem__, placeholder="Choose an edge")
        factor = st.select_slider("Times as wide", FACTORS, 1.0, key=keep("factor"),
                                  bind="query-params")
        ends = st.multiselect("Join two nodes", list(names), key=keep("join"), max_selections=2,
                              bind="query-params", format_func=names.__getitem__)
        similarity = st.slider("Similarity of the new edge", 0.01, 1.0, 0.5, 0.01,
                               key=keep("join_similarity"), bind="query-params")
    pairs = [(u, v) for u, v in (pair.split("|") for pair in gone)]
    change = explanation.change(nodes=nodes, documents=documents, seeds=seeds, edges=pairs)
    return Change(
        change.nodes, change.edges, change.seeds,
        (((graph.row[ends[0]], graph.row[ends[1]]), similarity),) if len(ends) == 2 else (),
        (_scaled(explanation, edge, factor),) if edge and factor != 1.0 else ())


def _scaled(explanation: Explanation, edge: str, factor: float) -> tuple[tuple[int, int], float]:
    u, v = edge.split("|")
    return (explanation.graph.row[u], explanation.graph.row[v]), factor


def _answers(view: View, difference: Effect) -> AnswerChange:
    """What becomes of the quoted answer; no model is asked."""
    same = difference.before.ranking == view.retrieval.ranking
    return AnswerChange.of(
        view.answer if same else view.knowledge.answer(difference.before, view.plan),
        view.knowledge.answer(difference.after, view.plan))


def _difference(view: View, difference: Effect) -> None:
    lost, gained, answers = difference.lost, difference.gained, _answers(view, difference)
    st.html(f"<p style='font-size:1.1rem;margin:0'><b>{safe(say_change(answers), 600)}</b></p>")
    _both(("Leaves the answer", "Comes into the answer"), (answers.left, answers.came), _quotes)
    st.html(f"<p style='font-size:1.1rem;margin:0'><b>{len(lost)}</b> node{'s' * (len(lost) != 1)} "
            f"lost, <b>{len(gained)}</b> gained; {len(difference.lost_passages)} of the first "
            f"passages lost, {len(difference.gained_passages)} gained.</p>")
    after = difference.after
    panels(panel_data(
        [difference.before, after], chosen_drawing(), positions=placed_too(view, after),
        others=placed(view)[1], lone=True,
        captions=[Caption("As it is", "in color: lost by the change"),
                  Caption("With the change", "in color: gained by it")]), key="whatif")
    rows = [(*((shown_name(n), _what(n, top)) for n in nodes),
             *((shown(view.graph, view.graph.row[p.id]), "ranked passage") for p in passages))
            for nodes, passages, top in (
                (lost, difference.lost_passages, largest_of(difference.before.nodes)),
                (gained, difference.gained_passages, largest_of(after.nodes)))]
    _both(tuple(f"{word}: nodes, then passages among the first ten" for word in ("Lost", "Gained")),
          rows, lambda some: st.dataframe(
              {"name": [name for name, _ in some], "what": [what for _, what in some]},
              hide_index=True))


def _both(words: Sequence[str], sides: Sequence[Sequence[Any]],
          draw: Callable[[Sequence[Any]], object]) -> None:
    """Two lists side by side; nothing where both are empty."""
    if not any(sides):
        return
    for place, word, some in zip(st.columns(2, gap="medium"), words, sides, strict=True):
        with place:
            st.caption(word)
            if some:
                draw(some)
            else:
                st.write("Nothing")


def _quotes(some: Sequence[Quoted]) -> None:
    st.html("".join(
        f"<p style='margin:0 0 .5em;line-height:1.45'>{'<b>' * s.best}{safe(s.line, 600)}"
        f"{'</b>' * s.best} <small style='opacity:.75'>{source(c, s)}</small></p>"
        for s, c in some))


def _what(node: RetrievedNode, largest: float) -> str:
    return f"{node.kind}, importance {percent(share_of(node.importance, largest))}"
