"""The tab What if: take something out or change a weight, and see what is lost and gained."""

import streamlit as st

from qafd.explain import Change, Difference, Explanation, Lean, shown
from qafd.export import table_csv
from qafd.retrieve.base import RetrievedNode
from qafd.ui.explained import explanation_of
from qafd.ui.explore import ASPECT, DRAWN, View, chosen_drawing, placed
from qafd.ui.workspaces import keep, safe
from qafd.view.component import panels
from qafd.view.panel import Caption, counted, panel_data, shown_name
from qafd.view.placement import beside, prominent

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
    _leaning(explanation)
    change = _change(explanation)
    if change == Change():
        st.caption("Choose something to take out or to change: the question is then solved anew, "
                   "exactly, and both results are drawn side by side.")
        return
    _difference(view, explanation.what_if(change))


def _leaning(explanation: Explanation) -> None:
    leans = explanation.leans_on()
    best = [lean for kind in KINDS for lean in
            [lean for lean in leans if lean.kind == kind][:3]]
    if not best:
        return
    first = best[0]
    loss = explanation.what_if(_taken(first))
    st.html(f"<p style='font-size:1.1rem;margin:0'>{first.share:.0%} of the mass rests on "
            f"{safe(_thing(explanation, first))}: without it, {len(loss.lost)} of "
            f"{counted(explanation.full, 'node')} would be lost and {len(loss.gained)} "
            "gained.</p>")
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


def _taken(lean: Lean) -> Change:
    """The change that takes out what is leaned on."""
    if lean.kind == "edge":
        return Change(edges=frozenset([(lean.rows[0], lean.rows[1])]))
    rows = frozenset(lean.rows)
    return Change(seeds=rows) if lean.kind == "seed" else Change(nodes=rows)


def _thing(explanation: Explanation, lean: Lean) -> str:
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


def _difference(view: View, difference: Difference) -> None:
    lost, gained = difference.lost, difference.gained
    st.html(f"<p style='font-size:1.1rem;margin:0'><b>{len(lost)}</b> node{'s' * (len(lost) != 1)} "
            f"lost, <b>{len(gained)}</b> gained; {len(difference.lost_passages)} of the first "
            f"passages lost, {len(difference.gained_passages)} gained.</p>")
    positions, others = placed(view)
    after = difference.after
    positions = beside(positions, prominent(after, DRAWN),
                       ((e.source, e.target) for e in after.edges), ASPECT)
    panels(panel_data(
        [difference.before, after], chosen_drawing(), positions=positions, others=others,
        lone=True,
        captions=[Caption("As it is", "in color: lost by the change"),
                  Caption("With the change", "in color: gained by it")]), key="whatif")
    left, right = st.columns(2, gap="medium")
    for place, nodes, passages, word in (
            (left, lost, difference.lost_passages, "Lost"),
            (right, gained, difference.gained_passages, "Gained")):
        with place:
            st.caption(f"{word}: nodes, then passages among the first ten")
            if not nodes and not passages:
                st.write("Nothing")
                continue
            titles = view.graph
            st.dataframe(
                {"name": [shown_name(n) for n in nodes]
                 + [shown(titles, titles.row[p.id]) for p in passages],
                 "what": [_what(n) for n in nodes] + ["ranked passage"] * len(passages)},
                hide_index=True)


def _what(node: RetrievedNode) -> str:
    return f"{node.kind}, importance {node.importance:.3g}"
