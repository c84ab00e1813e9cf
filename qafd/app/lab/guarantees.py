"""The Lab's experiments without documents: guarantees on planted graphs, and scale."""

from dataclasses import astuple, replace

import streamlit as st

from qafd.app import figures
from qafd.app.lab.experiments import chart, compute_once
from qafd.app.markup import read_table
from qafd.app.session import bound, put, value_of
from qafd.flow.guarantees import Model
from qafd.lab.planted import PLACES, Experiment, Place, experiment

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
    found: Experiment = compute_once("guarantees", asked, lambda progress: experiment(
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
                             help=("How much more is poured than R can hold, as a share of "
                                   "that: all of it that leaves R is leakage."))
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
