"""The tab Contrast: this result against another question, phrasing or setting, on one layout."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from qafd.app.component import panels
from qafd.app.controls import mass_range, set_to, start_method
from qafd.app.picture import chosen_drawing, place_nodes
from qafd.app.result import View, explore_question, retrieve_by, span_of
from qafd.app.session import bound, choose_option, keep
from qafd.app.tables import columns_of, download_csv, table
from qafd.explain import Contrast, contrast, core, row_name
from qafd.flow.weights import SIMILARITIES, VARIANTS
from qafd.retrieve.base import Retrieval
from qafd.retrieve.qafd import PRESETS, FlowDiffusion
from qafd.retrieve.released import ReleasedCode
from qafd.samples import EXAMPLES
from qafd.view.drawing import Caption, Look
from qafd.view.panel import clean, panel_data
from qafd.view.placement import add_new, freeze
from qafd.wording import count_words

BY = {"question": "Another question", "variant": "Edge weight", "similarity": "Similarity map",
      "preset": "Preset", "mass": "Mass", "released": "Released code"}
PARTS = {"part": "Subqueries"}


def contrast_tab(view: View) -> None:
    """Draw two results with their signed difference, or the stable core of several phrasings."""
    offered = BY | PARTS if view.retrieval.by_subqueries else BY
    by = choose_option("Contrast with", offered, "by")
    if by == "question":
        _questions(view)
    elif by == "part":
        _subqueries(view)
    elif by == "released":
        _draw_released(view)
    else:
        method, words = _other(view, by)
        both = view.retrieval, explore_question(view.knowledge, view.question, method).retrieval
        draw_contrast(view, both, (_words(view.method, by), words))


def _other(view: View, by: str) -> tuple[FlowDiffusion, str]:
    """Return the method to contrast with, and its name."""
    method, span = view.method, partial(span_of, view.knowledge, view.question)
    if by == "preset":
        name = st.selectbox("Preset", list(PRESETS), **bound("by_preset"),
                            index=len(PRESETS) - 1,
                            format_func=lambda name: PRESETS[name].label)
        return start_method(PRESETS[name].method, view.graph, span), PRESETS[name].label
    if by == "mass":
        key = keep("by_mass")
        half, end, step = mass_range(replace(method, mass=method.mass / 2), view.graph,
                                     span(method), set_to(key))
        mass = st.slider("Mass of the other", 0.0, end, half, step, key=key,
                         bind="query-params")
        other = replace(method, mass=mass)
    elif by == "variant":
        other = replace(method, variant=_option(VARIANTS, method.variant, by))
    else:
        other = replace(method, similarity=_option(SIMILARITIES, method.similarity, by))
    return other, _words(other, by)


def _option(options: Sequence[str], now: str, by: str) -> str:
    others = [option for option in options if option != now]
    chosen: str = st.selectbox(BY[by], others, **bound(f"by_{by}"))
    return chosen


def _words(method: FlowDiffusion, by: str) -> str:
    if by == "preset":
        return "as set in the sidebar"
    if by == "mass":
        return f"mass {method.mass:g}"
    return f"{BY[by]}: {getattr(method, by)}"


def _questions(view: View) -> None:
    lines = st.text_area(
        "Other questions or phrasings, one per line", **bound("phrasings"),
        placeholder="The first is drawn next to this one; all together give the stable core.")
    asked = [line.strip() for line in (lines or "").splitlines() if line.strip()][:8]
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
        retrievals = [view.retrieval, *others]
        _core(view, retrievals, "phrasings", lambda stable, found: (f"**{stable}** of {found} "
                                                                    "nodes are retrieved by "
                                                                    f"all {len(retrievals)} "
                                                                    "phrasings."))
    draw_contrast(view, (view.retrieval, others[0]), (clean(view.question, 80), clean(asked[0], 80)))


def _draw_released(view: View) -> None:
    """Draw the contrast with the authors' released code, which is not a method of the page."""
    st.caption(ReleasedCode.idea)
    method = ReleasedCode().fit_to(view.graph)
    found = retrieve_by(view.knowledge, view.graph, view.version, view.question, method, view.plan)
    draw_contrast(view, (view.retrieval, found), ("as set in the sidebar", ReleasedCode.label))


def _subqueries(view: View) -> None:
    """Draw two subqueries on one layout of all, and the nodes that all retrieve."""
    parts = view.retrieval.parts
    _core(view, parts, "subqueries", lambda stable, found: count_words(
        len(parts), "**{stable}** of {found} nodes are retrieved by the subquery.",
        "**{stable}** of {found} nodes are retrieved by all {number} subqueries.", stable=stable,
        found=found))
    words = [f"{number}. {clean(part.query, 80)}" for number, part in enumerate(parts, 1)]
    chosen = []
    for index, (place, name) in enumerate(zip(st.columns(2, gap="medium"), ("First", "Second"),
                                              strict=True)):
        at = place.selectbox(name, range(len(parts)), index, **bound(f"part_{name}"),
                             format_func=words.__getitem__)
        chosen.append(at if 0 <= at < len(parts) else 0)
    first, second = chosen
    draw_contrast(view, (parts[first], parts[second]), (words[first], words[second]), parts)


def _core(view: View, retrievals: Sequence[Retrieval], of: str,
          word: Callable[[int, int], str]) -> None:
    found = core(retrievals)
    stable = sum(times == len(retrievals) for _, times in found)
    st.write(word(stable, len(found)))
    with st.expander("Stable core"):
        names = [row_name(view.graph, view.graph.row[node]) for node, _ in found]
        times = st.column_config.ProgressColumn(format="%d", min_value=0,
                                                max_value=len(retrievals))
        table({"name": names, of: [times for _, times in found]}, column_config={of: times})


def draw_contrast(view: View, both: tuple[Retrieval, Retrieval], words: tuple[str, str],
          among: Sequence[Retrieval] = ()) -> None:
    """Draw two retrievals and their difference; the layout has room for every choice."""
    found = contrast(*both)
    st.write(f"**{len(found.both)}** nodes in both, **{len(found.only_first)}** only in the "
              f"first, **{len(found.only_second)}** only in the second: overlap "
              f"{found.overlap:.0%}.")
    among = among or both
    if all(each.query == view.retrieval.query for each in among):
        positions, others = place_nodes(view)
        for each in among:
            positions = add_new(positions, each)
    else:  # the nodes of another question may be anywhere
        stable = {node for node, times in core(among) if times == len(among)}
        positions, others = freeze(among, stable)
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
