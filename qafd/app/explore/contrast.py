"""The tab Contrast: this result against that of another question or phrasing, on one layout."""

from collections.abc import Sequence

import streamlit as st

from qafd.app.component import panels
from qafd.app.picture import chosen_drawing
from qafd.app.result import View, explore_question
from qafd.app.session import bound
from qafd.app.tables import columns_of, download_csv, table
from qafd.explain.contrast import Contrast, contrast, core
from qafd.explain.paths import row_name
from qafd.retrieve.base import Retrieval
from qafd.samples import EXAMPLES
from qafd.view.drawing import Caption, Look
from qafd.view.panel import clean, panel_data
from qafd.view.placement import freeze

MOST = 8  # questions


def contrast_tab(view: View) -> None:
    """Draw two results with their signed difference, and the nodes that all phrasings retrieve."""
    lines = st.text_area(
        "Other questions or phrasings, one per line", **bound("phrasings"),
        placeholder="The first is drawn next to this one; all together give the stable core.")
    asked = [line.strip() for line in (lines or "").splitlines() if line.strip()][:MOST]
    if not asked:
        examples = EXAMPLES.get(view.knowledge.name, ())
        asked = [example for example in examples if example != view.question][:1]
    if not asked:
        st.caption("Type another question. Nodes that all phrasings retrieve are the stable core.")
        return
    if not lines:
        st.caption("Until you type one, your question is compared with an example of this sample.")
    others = [explore_question(view.knowledge, question, view.method).retrieval for question in asked]
    if len(others) > 1:
        _core(view, [view.retrieval, *others])
    draw_contrast(view, (view.retrieval, others[0]), (clean(view.question, 80), clean(asked[0], 80)))


def _core(view: View, retrievals: Sequence[Retrieval]) -> None:
    """Draw how many of these phrasings retrieve each node."""
    found = core(retrievals)
    stable = sum(times == len(retrievals) for _, times in found)
    st.write(f"**{stable}** of {len(found)} nodes are retrieved by all {len(retrievals)} phrasings.")
    with st.expander("Stable core"):
        names = [row_name(view.graph, view.graph.row[node]) for node, _ in found]
        times = st.column_config.ProgressColumn(format="%d", min_value=0, max_value=len(retrievals))
        table({"name": names, "phrasings": [times for _, times in found]}, column_config={"phrasings": times})


def draw_contrast(view: View, both: tuple[Retrieval, Retrieval], words: tuple[str, str]) -> None:
    """Draw two retrievals and their difference."""
    found = contrast(*both)
    st.write(f"**{len(found.both)}** nodes in both, **{len(found.only_first)}** only in the "
              f"first, **{len(found.only_second)}** only in the second: overlap "
              f"{found.overlap:.0%}.")
    stable = {node for node, times in core(both) if times == len(both)}
    positions, others = freeze(both, stable)
    data = panel_data(
        both, chosen_drawing(), positions=positions, look=Look(
            [Caption("First", words[0]), Caption("Second", words[1])], others,
            signed=dict(found.signed)))
    panels(data, key="contrast")
    with st.expander("The difference as a table"):
        _table(view, found)


def _table(view: View, found: Contrast) -> None:
    rows = []
    for node, difference in found.signed:
        where = "second"
        if node in found.both:
            where = "both"
        elif node in found.only_first:
            where = "first"
        rows.append((row_name(view.graph, view.graph.row[node]), node, where, difference))
    table(columns_of(("name", "retrieved by", "difference"),
                     [(name, where, difference) for name, _, where, difference in rows]))
    st.caption("Difference of the square roots of importance, each over its result's largest: "
                "1 is the most important node of the first, absent in the second; -1 the "
                "reverse.")
    download_csv("Difference CSV", ("name", "id", "retrieved by", "difference"), lambda: rows,
                 "contrast.csv")
