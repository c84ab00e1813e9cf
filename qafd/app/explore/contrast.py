"""The tab Contrast: this result against another question, phrasing or setting, on one layout."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from qafd.app.component import panels
from qafd.app.controls import mass_range, set_to, started
from qafd.app.picture import ASPECT, DRAWN, chosen_drawing
from qafd.app.result import View, explored, span_of
from qafd.app.session import keep
from qafd.explain import Contrast, contrast, core, shown
from qafd.export import table_csv
from qafd.flow.weights import SIMILARITIES, VARIANTS
from qafd.retrieve.base import Retrieval
from qafd.retrieve.qafd import PRESETS, FlowDiffusion
from qafd.samples import EXAMPLES
from qafd.view.panel import Caption, clean, panel_data
from qafd.view.placement import freeze

BY = {"question": "Another question", "variant": "Edge weight", "similarity": "Similarity map",
      "preset": "Preset", "mass": "Mass"}
PARTS = {"part": "Subqueries"}


def contrast_tab(view: View) -> None:
    """Two results with their signed difference, or the stable core of several phrasings."""
    offered = BY | PARTS if view.retrieval.parts else BY
    by = st.segmented_control("Contrast with", list(offered), default="question", required=True,
                              key=keep("by"), bind="query-params",
                              format_func=offered.__getitem__)
    if by == "question":
        _questions(view)
        return
    if by == "part":
        _subqueries(view)
        return
    method, words = _other(view, by or "variant")
    drawn(view, (view.retrieval, explored(view.knowledge, view.question, method).retrieval),
          (_words(view.method, by or "variant"), words))


def _other(view: View, by: str) -> tuple[FlowDiffusion, str]:
    method, span = view.method, partial(span_of, view.knowledge, view.question)
    if by == "preset":
        name = st.selectbox("Preset", list(PRESETS), key=keep("by_preset"), bind="query-params",
                            index=len(PRESETS) - 1, format_func=lambda k: PRESETS[k].label)
        return started(PRESETS[name].method, view.graph, span), PRESETS[name].label
    if by == "mass":
        key = keep("by_mass")
        half, end, step = mass_range(replace(method, mass=method.mass / 2), view.graph,
                                     span(method), set_to(key))
        mass = st.slider("Mass of the other", 0.0, end, half, step, key=key, bind="query-params")
        return replace(method, mass=mass), f"mass {mass:g}"
    options = [o for o in (VARIANTS if by == "variant" else SIMILARITIES)
               if o != getattr(method, by)]
    value = st.selectbox(BY[by], options, key=keep(f"by_{by}"), bind="query-params")
    changed = replace(method, variant=value) if by == "variant" else replace(
        method, similarity=value)
    return changed, f"{BY[by].lower()} {value}"


def _words(method: FlowDiffusion, by: str) -> str:
    if by == "preset":
        return "as set at the left"
    return f"mass {method.mass:g}" if by == "mass" else f"{BY[by].lower()} {getattr(method, by)}"


def _questions(view: View) -> None:
    lines = st.text_area(
        "Other questions or phrasings, one a line", key=keep("phrasings"), bind="query-params",
        placeholder="The first is drawn beside this one; all together give the stable core.")
    asked = [line.strip() for line in (lines or "").splitlines() if line.strip()][:8]
    if not asked:
        examples = EXAMPLES.get(view.knowledge.path.stem, ())
        asked = [example for example in examples if example != view.question][:1]
    if not asked:
        st.caption("Type another question. Nodes that all phrasings retrieve are the stable core.")
        return
    others = [explored(view.knowledge, question, view.method).retrieval for question in asked]
    if len(others) > 1:
        _core(view, [view.retrieval, *others])
    drawn(view, (view.retrieval, others[0]), (clean(view.question, 80), clean(asked[0], 80)))


def _subqueries(view: View) -> None:
    """Two subqueries as layers on one layout that has room for all, and what all retrieve."""
    parts = view.retrieval.parts
    _core(view, parts, "subqueries")
    left, right = st.columns(2, gap="medium")
    words = [f"{number}. {clean(part.query, 80)}" for number, part in enumerate(parts, 1)]
    chosen = [place.selectbox(label, range(len(parts)), index, key=keep(f"part_{label}"),
                              bind="query-params", format_func=words.__getitem__)
              for index, (place, label) in enumerate(((left, "First"), (right, "Second")))]
    first, second = (k if 0 <= k < len(parts) else 0 for k in chosen)
    drawn(view, (parts[first], parts[second]), (words[first], words[second]), parts)


def _core(view: View, retrievals: Sequence[Retrieval], of: str = "phrasings") -> None:
    found = core(retrievals)
    stable = [node for node, times in found if times == len(retrievals)]
    st.html(f"<p style='font-size:1.1rem;margin:0'><b>{len(stable)}</b> of {len(found)} nodes "
            f"are retrieved by {'both' if len(retrievals) == 2 else f'all {len(retrievals)}'} "
            f"{of}.</p>")
    with st.expander("Stable core"):
        st.dataframe({"name": [shown(view.graph, view.graph.row[n]) for n, _ in found],
                      of: [times for _, times in found]}, hide_index=True,
                     column_config={of: st.column_config.ProgressColumn(
                         format="%d", min_value=0, max_value=len(retrievals))})


def drawn(view: View, both: tuple[Retrieval, Retrieval], words: tuple[str, str],
          among: Sequence[Retrieval] = ()) -> None:
    """Two retrievals and their difference; the layout has room for all that may be chosen."""
    found = contrast(*both)
    st.html(f"<p style='font-size:1.1rem;margin:0'><b>{len(found.both)}</b> nodes in both, "
            f"<b>{len(found.only_first)}</b> only in the first, <b>{len(found.only_second)}</b> "
            f"only in the second: overlap {found.overlap:.0%}.</p>")
    among = among or both
    stable = {node for node, times in core(among) if times == len(among)}
    positions, others = freeze(among, stable, DRAWN, ASPECT)
    data = panel_data(
        both, chosen_drawing(), positions=positions, others=others,
        signed=dict(found.signed),
        captions=[Caption("First", words[0]), Caption("Second", words[1])])
    panels(data, key="contrast")
    with st.expander("The difference as a table"):
        _table(view, found)


def _table(view: View, found: Contrast) -> None:
    graph = view.graph
    names = [shown(graph, graph.row[node]) for node, _ in found.signed]
    where = ["both" if n in found.both else "first" if n in found.only_first else "second"
             for n, _ in found.signed]
    st.dataframe({"name": names, "retrieved by": where,
                  "difference": [d for _, d in found.signed]}, hide_index=True)
    st.caption("Difference of the square roots of importance, each over its result's largest: 1 is "
               "the most important node of the first, absent in the second; -1 the reverse.")
    st.download_button("Difference CSV", lambda: table_csv(
        ("name", "id", "retrieved by", "difference"),
        [(name, node, place, d) for name, place, (node, d) in
         zip(names, where, found.signed, strict=True)]), "contrast.csv", "text/csv",
        on_click="ignore")
