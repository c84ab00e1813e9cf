"""The Lab's experiments on the diffusion behind a question, and on planted graphs."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, fields, replace
from functools import partial
from itertools import zip_longest
from typing import Any

import numpy as np
import streamlit as st

from qafd.app import figures
from qafd.app.component import ORDERS, Staging, movie, movie_data
from qafd.app.controls import label_of_control, most_seeds
from qafd.app.escaping import brief, capitalize
from qafd.app.evaluate.gold import bundled_questions
from qafd.app.markup import read_table
from qafd.app.pages import way
from qafd.app.picture import place_nodes
from qafd.app.result import View
from qafd.app.session import bound, choose_option, put, remember, value_of
from qafd.app.tables import download
from qafd.explain.entry import entries
from qafd.explain.paths import row_name
from qafd.export import table_csv
from qafd.flow import kernel
from qafd.flow.guarantees import Model
from qafd.flow.reference import RELEASED
from qafd.flow.weights import VARIANTS
from qafd.lab.family import SHARES, first_passages, measure_family, solve_member
from qafd.lab.movie import film
from qafd.lab.planted import PLACES, Experiment, Place, run_experiment
from qafd.lab.robustness import returns
from qafd.lab.sweep import Cell, Grid, masses_for, reach, sweep
from qafd.retrieve.qafd import PRESETS, FlowDiffusion, Problem
from qafd.view.panel import clean
from qafd.view.placement import ASPECT
from qafd.wording import count

LOADED = "loaded"
LINES = 6  # values of a second parameter, at most
BARS = 60  # nodes of a chart, at most
MASS, PUSHES = "Mass", "Pushes"
NOTE = {"budget": "mass, in nodes"}


def chart(figure: Any, alt: str, key: str, columns: Sequence[str],
          rows: Iterable[Sequence[Any]], on_select: Callable[[], None] | None = None) -> None:
    """Draw a figure with its description for screen readers, and its data."""
    st.plotly_chart(figure, theme="streamlit", alt=alt, key=key, config={"displayModeBar": False},
                    on_select=on_select or "ignore", selection_mode="points")
    download("Data as CSV", lambda: table_csv(columns, rows), f"{key}.csv", key=f"{key}-csv")


def compute_once(name: str, key: object, compute: Callable[[Callable[[float], object]], Any]
                 ) -> Any:
    """Return the last result under a name if its key is the same, else compute it with a bar."""
    def compute_with_bar() -> Any:
        bar = st.progress(0.0)
        result = compute(bar.progress)
        bar.empty()
        return result

    return remember(name, key, compute_with_bar)


def mass_label(method: FlowDiffusion) -> str:
    """Name the unit of the mass, by its rule."""
    return NOTE.get(method.rule, "alpha")


def sweep_tab(view: View) -> None:
    """Draw maps of mass by seeds for each weight; a click loads a cell into Explore."""
    graph, method = view.graph, view.method
    st.caption("Each cell is an exact solve of this question. Click one to load its settings into the "
               "sidebar and into Explore. The current settings are outlined.")
    left, right = st.columns(2, gap="medium")
    variants = left.pills("Edge weights", VARIANTS, selection_mode="multi",
                          default=("plain", "hybrid", "product"), **bound("sweep_weights"), wrap=True)
    usual = (0, 5, 10, 20) if method.seeding == "question" else (5, 10, 20, 40)
    most = most_seeds(method, graph)  # a control beyond its range is a new one, not in the link
    counts = sorted({method.seeds, *(min(number, most) for number in usual)})
    seeds = right.pills(label_of_control("seeds", method), counts, selection_mode="multi", default=counts,
                         **bound(f"sweep_{method.seeding}"), wrap=True)
    variants = [variant for variant in VARIANTS if variant in variants]  # not as they were clicked
    if not variants or not seeds:
        st.write("Choose at least one edge weight and one number of seeds.")
        return
    kernel.warm()
    masses = masses_for(_problem(view))
    base = replace(method, mass=masses[0], seeds=1, variant="plain")
    asked = view.about, base, tuple(variants), tuple(sorted(seeds))
    cells: tuple[Cell, ...] = compute_once("sweep", asked, lambda progress: sweep(
        view.corpus, view.plan, base, Grid(masses, sorted(seeds), variants), progress))
    metrics = {name: title for name, (title, _) in figures.METRICS.items()}
    metric = choose_option("Color and number", metrics, "sweep_metric")
    _sweep_maps(cells, metric, variants, method)
    loaded: Cell | None = value_of(LOADED, None)
    if loaded is not None:
        st.caption(f"Loaded: mass {loaded.mass:g}, {count(loaded.seeds, 'seed')}, "
                    f"{loaded.variant} weights.")
        way("explore", "See it in Explore")


def _sweep_maps(cells: Sequence[Cell], metric: str, variants: Sequence[str], method: FlowDiffusion
                ) -> None:
    """Draw one map for each weight, side by side, on one scale of colors."""
    values = [getattr(cell, metric) for cell in cells]
    meaning = figures.METRICS[metric][1]
    seconds = sum(cell.milliseconds for cell in cells) / 1000
    st.caption(f"{capitalize(meaning)}. {len(cells)} solves took {seconds:.2f} s.")
    axes = figures.SweepAxes(metric, min(values), max(values), mass_label(method),
                             label_of_control("seeds", method))
    settings = method.mass, method.seeds, method.variant
    with st.container(key="maps"):
        places = st.columns(len(variants), gap="small")
    for place, variant in zip(places, variants, strict=True):
        mine = [cell for cell in cells if cell.variant == variant]
        now = next((cell for cell in mine if (cell.mass, cell.seeds, variant) == settings), None)
        own = [getattr(cell, metric) for cell in mine]
        alt = f"Map of {meaning} for {variant} weights: from {min(own):.3g} to {max(own):.3g}."
        if now is not None:
            told = (f"The settings now, outlined: mass {now.mass:g}, {now.seeds} seeds, "
                    f"{getattr(now, metric):.3g}.")
            alt = f"{alt} {told}"
        key = f"sweep-{variant}"
        with place:
            chart(figures.sweep_map(mine, axes, now), alt, key,
                  [spec.name for spec in fields(Cell)], [astuple(cell) for cell in mine],
                  partial(_load, key, mine, method))


def _load(key: str, cells: Sequence[Cell], method: FlowDiffusion) -> None:
    """Give the controls the settings of the clicked cell."""
    event: dict[str, Any] = value_of(key, {"selection": {"points": []}})
    points = event["selection"]["points"]
    if not points:
        return
    cell = cells[int(np.ravel(points[0]["customdata"])[0])]
    preset = value_of("preset", "") or next(iter(PRESETS))
    rule = "" if method.rule == PRESETS[preset].method.rule else f"_{method.rule}"
    put(f"{preset}_mass{rule}", float(cell.mass))
    put(f"{preset}_seeds", cell.seeds)
    put(f"{preset}_variant", cell.variant)
    put(LOADED, cell)


def timeline_tab(view: View) -> None:
    """Draw how nodes fill: over the mass, or over the pushes of Algorithm 2 as a movie."""
    over = choose_option("Nodes fill over", (MASS, PUSHES), "over")
    (_draw_movie if over == PUSHES else _draw_bars)(view)


def _draw_bars(view: View) -> None:
    """Draw the mass at which each node fills."""
    problem = _problem(view)
    limit = reach(problem, problem.end())
    path, graph = entries(problem, limit), problem.layer
    seeds = set(problem.seeds.rows.tolist())
    found = [(row_name(graph, row), str(graph.kinds[row]), mass, row in seeds)
             for row, mass in zip(path.rows.tolist(), path.alphas.tolist(), strict=True)]
    if not found:
        st.write("Nothing fills up: no seed of this question has a neighbor.")
        return
    st.caption("A bar begins at the exact mass at which its node is full. With more mass it stays "
               "full. The dashed line is the mass now.")
    name, _, first, _ = found[0]
    chart(figures.timeline_bars(found[:BARS], limit, mass_label(view.method), view.method.mass),
          (f"Bars of {min(len(found), BARS)} nodes; the first to fill is {clean(name, 40)} at "
           f"{first:.3g}; the mass is {view.method.mass:.3g} now."), "timeline",
          ("node", "kind", "full from", "seed"), found)
    _say_left_out(found)
    if path.next_row is not None:
        st.caption(f"Next: {brief(row_name(graph, path.next_row), 60)} at {path.next_alpha:.4g}.")


def _draw_movie(view: View) -> None:
    """Draw Algorithm 2, push by push, next to the exact solution."""
    problem = _problem(view)
    filmed = remember("film", (view.about, view.method), lambda: film(
        problem.layer, problem.gates, problem.seeds.rows, problem.mass, view.method.capacity))
    graph = problem.layer
    positions, _ = place_nodes(view)
    ids = [graph.ids[row] for row in filmed.rows.tolist()]
    names = [row_name(graph, row) for row in filmed.rows.tolist()]
    places = {i: positions[node] for i, node in enumerate(ids) if node in positions}
    staging = Staging(order="largest", aspect=ASPECT)
    movie(movie_data(filmed, names, places, staging), key="movie")
    st.caption(f"The released code stops after {RELEASED.most_pushes} pushes, however much mass is still "
               "above capacity; in the exact solution there is none.")
    head = ("order", "pushes", "excess below 0.1%",
            f"mass above capacity after {RELEASED.most_pushes} pushes")
    rows = []
    for take in filmed.takes:
        converged = "yes" if take.converged else "no"
        rows.append((ORDERS[take.order], f"{len(take.pushed):,}", converged, f"{take.left:.2%}"))
    st.html(read_table(head, rows))


def family_tab(view: View) -> None:
    """Draw the first passages between PageRank and flow diffusion, all on one graph."""
    st.caption("A walk loses mass wherever it is, a flow only where a node is full. The slider turns the "
               "damping of a walk into capacity. At 0 it is PageRank and at 1 flow diffusion; between "
               "them, with capacities of degrees, it is l1-regularized PageRank. Each is solved exactly, and "
               "passages are ranked by their importance alone.")
    share = st.slider("From walk to flow", 0.0, 1.0, 0.5, 0.05, **bound("family"))
    problem = _problem(view)
    columns = {"PageRank": 0.0, f"at {share:.2f}": share, "Flow": 1.0}
    members = [solve_member(problem, each) for each in columns.values()]
    names = []
    for member in members:
        passages = first_passages(problem, member)
        names.append([clean(problem.layer.names[row], 60) for row in passages])
    rows = [(str(place), *found) for place, found in enumerate(zip_longest(*names, fillvalue="–"), 1)]
    st.html(read_table(("place", *columns), rows))
    optimal = all(one.certificate.optimal for one in members)
    reached = ", ".join(f"{int((one.x > 0).sum()):,}" for one in members)
    st.caption(f"Nodes with importance: {reached}; {'all' if optimal else 'not all'} proved optimal. At "
               f"{share:.2f} damping takes {members[1].damped:.0%} of the mass.")
    bundled = bundled_questions(view.knowledge)
    if bundled is None:
        return
    if st.button("Measure the bundled questions") or value_of("family measured", False):
        put("family measured", True)
        recalls = compute_once("family", (view.version, view.method), lambda progress: measure_family(
            view.knowledge, bundled.questions, view.method, progress=progress))
        st.html(read_table(("recall in the first 5", *(f"{each:g}" for each in SHARES)), [
            (f"mean of {len(bundled.questions)} questions", *(f"{each:.2f}" for each in recalls))]))


def robustness_tab(view: View) -> None:
    """Draw how often each node returns when the embeddings are jittered."""
    left, right = st.columns(2, gap="medium")
    noise = left.slider("Noise, relative to an embedding's length", 0.0, 1.0, 0.5, 0.01,
                        **bound("noise"))
    draws = right.slider("Draws", 5, 50, 20, **bound("draws"))
    found = compute_once("robustness", (view.about, view.method, noise, draws), lambda progress: returns(
        view.corpus, view.plan, view.method, noise, draws, np.random.default_rng(0), progress))
    usual = [r for r in found if r.usual]
    if not found:
        st.write("Nothing is retrieved, with or without noise. Raise the mass.")
        return
    steady = sum(r.share == 1 for r in usual)
    others = len(found) - len(usual)
    st.caption(f"{steady} of {len(usual)} retrieved nodes return in every draw. "
               f"{count(others, 'other node')} appeared in at least one draw.")
    chart(figures.return_bars(found, BARS),
          f"Bars of how often nodes return: {steady} of {len(usual)} in all {draws} draws.",
          "robustness", ("node", "kind", "share of draws", "retrieved without noise"),
          [(r.name, r.kind, r.share, r.usual) for r in found])
    _say_left_out(found)


def _say_left_out(found: Sequence[object]) -> None:
    if len(found) > BARS:
        st.caption(f"The first {BARS} of {len(found)} are drawn; the CSV has all.")


def _problem(view: View) -> Problem:
    return view.method.problem(view.corpus, view.plan)


SLIDERS = {
    "separation": ("mu/sigma, separation of the means", 0.0, 40.0, 0.5,
                   "How far the texts of R and the others lie apart, in units of their spread. "
                   "At 0 no method can tell them apart by meaning."),
    "gamma": ("gamma of the similarity", 0.0, 0.1, 0.002,
              "How fast likeness, exp(-gamma distance^2), falls with distance. At 0 all texts are "
              "alike; too large, and no two are."),
    "inside": ("rho 1, edges inside R", 0.01, 1.0, 0.01,
               "The chance that two nodes of R are joined. Low, and R falls into pieces."),
    "across": ("rho 2, edges leaving R", 0.0, 0.1, 0.002,
               "The chance that a node of R and another are joined: ways for mass to leak."),
    "relevant": ("r, nodes in R", 10, 100, 5, "How many of the 600 nodes are relevant.")}


def guarantees_tab() -> None:
    """Test Theorem 7 and Lemma 6 on drawn graphs, also outside their conditions."""
    titles = [place.title for place in PLACES]
    st.caption("Definition 5 plants a relevant set R in a random graph of 600 nodes. Theorem "
                "7 promises that a diffusion poured inside R retrieves all of it and leaks "
                "at most beta. Start where it holds, or at one of the places where it does "
                "not.")
    title = st.pills("Start from", titles, default=titles[0], required=True, **bound("place"),
                     on_change=_move)
    place = _place(title)
    st.write(f"**{place.title}.** {place.remark}")
    asked = _planted_controls(place)
    found: Experiment = compute_once("guarantees", asked, lambda progress: run_experiment(
        *asked, progress))
    draws = len(found.trials)
    st.html(read_table(("statement", "needs", "happened"), _verdicts(found)))
    left, right = st.columns(2, gap="medium")
    rows = [astuple(trial) for trial in found.trials]
    columns = ("separation", "gamma", "beta", "source inside", "R connected", "covered",
               "share of R", "leakage", "converged", "smallest inside", "largest across")
    with left:
        st.caption("Theorem 7: retrieved share of R against leakage, one point per draw")
        chart(figures.recovery_points(found),
              (f"R was covered in {found.covered} of {draws} draws; the leakage stayed below "
               f"beta in {found.within}."),
              "recovery", columns, rows)
    with right:
        st.caption("Lemma 6: the smallest weight inside R and the largest that leaves it")
        chart(figures.separation_points(found),
              f"Weights inside exceeded all weights across in {found.separated} of {draws} draws.",
              "separation", columns, rows)


def _place(title: str | None) -> Place:
    return next((place for place in PLACES if place.title == title), PLACES[0])


def _planted_controls(place: Place) -> tuple[Model, int, int, float, bool]:
    """Draw the controls of model, draws, seed, beta and the source's place."""
    columns = st.columns(3, gap="medium")
    chosen = {}
    for i, (name, (label, low, high, step, why)) in enumerate(SLIDERS.items()):
        chosen[name] = columns[i % 3].slider(
            label, low, high, getattr(place.model, name), step, **bound(f"planted_{name}"),
            help=why)
    beta = columns[2].slider("beta, extra mass", 0.05, 1.0, 0.2, 0.05, **bound("planted_beta"),
                             help=("Mass beyond the capacity of R, as a share of that capacity. All of it "
                                   "that leaves R is leakage."))
    inside = columns[0].toggle("Source inside R", place.source_inside, **bound("planted_source"))
    draws = columns[1].slider("Draws", 1, 30, 10, **bound("planted_draws"))
    seed = columns[2].number_input("Seed of the draws", 0, 9999, 0, **bound("planted_seed"))
    return replace(place.model, **chosen), draws, int(seed), beta, inside


def _move() -> None:
    """Let the sliders start from the chosen place."""
    place = _place(value_of("place", ""))
    for name in SLIDERS:
        put(f"planted_{name}", getattr(place.model, name))
    put("planted_source", place.source_inside)


def _verdicts(found: Experiment) -> list[tuple[str, str, str]]:
    """List the statements, their conditions and the outcomes."""
    n = len(found.trials)
    smallest = min(t.smallest_inside for t in found.trials)
    inside = "yes" if found.source_inside else "no"
    return [
        ("Theorem 7: R is retrieved",
         f"R connected ({found.connected} of {n}), source inside ({inside})", (f"{found.covered} "
                                                                               f"of {n} draws")),
        ("Theorem 7: leakage is at most beta", "R covered; then it is conservation of mass",
         f"{found.within} of {n}"),
        ("Lemma 6: weights inside near 1", "gamma far below 1 / log n",
         f"smallest {smallest:.2g}"),
        ("Lemma 6: weights across vanish",
         (f"mu/sigma {found.model.separation:g} far above sqrt(d log n) = {found.needed:.1f}, "
          "and gamma not too small, which is not stated"),
         f"below all inside in {found.separated} of {n}")]
