"""The lab's records as plotly figures; the page's theme sets all other colors.

Every function returns a figure with units on its axes. Names come from documents: they are
cleaned, and plotly's own markup in them is escaped.
"""
# plotly carries no annotations.
# mypy: disable-error-code="attr-defined,no-any-return,no-untyped-call"

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from qafd.view.drawing import RAMP
from qafd.view.panel import clean
from qafd.wording.panels import say_number

if TYPE_CHECKING:
    from plotly.graph_objs import Figure

    from qafd.lab.planted import Experiment
    from qafd.lab.robustness import Return
    from qafd.lab.sweep import Cell

GREEN, YELLOW, RED = "#278c3f", "#c79a00", "#c9304a"
SEED, FLOW = "rgba(39, 140, 63, 0.7)", "rgba(39, 140, 63, 0.35)"  # bars of the timeline
METRICS = {"size": ("Size", "nodes retrieved"), "tokens": ("Tokens", "tokens retrieved"),
           "milliseconds": ("Solve time", "milliseconds")}
NAME = 30
BARE = "<extra></extra>"  # plotly's hover box without the name of the trace
ABOVE = {"orientation": "h", "y": 1.02, "yanchor": "bottom"}  # a legend


def label(name: str, length: int = NAME) -> str:
    """Escape a name for a chart: one short line."""
    return escape(clean(name, length), quote=False)


def ink() -> str:
    """Return the color of text on the page."""
    return "#f0efea" if st.context.theme.type == "dark" else "#23231f"


def _new(height: int, xaxis: dict[str, Any], yaxis: dict[str, Any], **layout: Any) -> "Figure":
    import plotly.graph_objs as go

    figure = go.Figure()
    figure.update_layout(height=height, xaxis=xaxis, yaxis=yaxis,
                         margin={"l": 54, "r": 8, "t": 34, "b": 44}, **layout)
    return figure


@dataclass(frozen=True)
class SweepAxes:
    """Metric and range of all maps of a sweep, and the names of both axes."""

    metric: str
    low: float
    high: float
    mass: str
    seeds: str


def sweep_map(cells: Sequence["Cell"], axes: SweepAxes, now: "Cell | None") -> "Figure":
    """Draw one variant's map: mass across, seeds upward, a metric of `METRICS` as color and number.

    Every cell has a marker whose `customdata` is its index in `cells`, for clicks. The cell `now` is
    outlined.
    """
    masses, counts = sorted({c.mass for c in cells}), sorted({c.seeds for c in cells})
    values = {(c.mass, c.seeds): getattr(c, axes.metric) for c in cells}
    across, upward = [f"{c.mass:g}" for c in cells], [f"{c.seeds}" for c in cells]
    hovers = [f"mass {c.mass:g}, {c.seeds} seeds: {say_number(values[c.mass, c.seeds])} "
              f"{METRICS[axes.metric][1]}" for c in cells]
    figure = _new(90 + 44 * len(counts), _steps(axes.mass, len(masses)),
                  _steps(axes.seeds, len(counts)),
                  title={"text": cells[0].variant, "font": {"size": 15}})
    figure.add_heatmap(
        x=across, y=upward, z=list(values.values()), zmin=axes.low, zmax=axes.high,
        colorscale=RAMP["light"], xgap=2, ygap=2, hoverinfo="skip", showscale=False)
    figure.update_xaxes(categoryarray=[f"{mass:g}" for mass in masses])
    figure.update_yaxes(categoryarray=[f"{count}" for count in counts])
    if now is not None:
        x, y = masses.index(now.mass), counts.index(now.seeds)
        figure.add_shape(type="rect", x0=x - 0.5, x1=x + 0.5, y0=y - 0.5, y1=y + 0.5,
                         line={"color": ink(), "width": 3})
    unseen = {"marker": {"opacity": 0}}
    strong = 0.6 * axes.high + 0.4 * axes.low
    figure.add_scatter(
        x=across, y=upward, mode="markers+text", text=list(map(say_number, values.values())),
        textfont={"size": 12, "color": [
            "#ffffff" if value > strong else "#1a1a1a" for value in values.values()]},
        showlegend=False, selected=unseen, unselected=unseen,
        marker={"size": 30, "symbol": "square", "opacity": 0}, customdata=list(range(len(cells))),
        hovertext=hovers, hoverinfo="text")
    return figure


def _steps(title: str, many: int) -> dict[str, Any]:
    """Return the axis of a map with so many steps, in their order."""
    return {"title": title, "type": "category", "fixedrange": True, "range": [-0.5, many - 0.5],
            "categoryorder": "array"}


def timeline_bars(entries: Sequence[tuple[str, str, float, bool]], up_to: float, mass_label: str, now: float
                  ) -> "Figure":
    """Draw nodes as bars from the mass that fills them up to `up_to`, the earliest on top.

    Entries are names, kinds, masses, and True for seeds, which have a stronger color. A line marks the
    mass `now`, if it is on the axis.
    """
    figure = _new(104 + 19 * len(entries), {
        "title": f"full from: {mass_label}", "fixedrange": True,
        "range": [0, up_to * 1.01]}, _rows(len(entries)), bargap=0, legend=ABOVE)
    names, masses = [label(name) for name, *_ in entries], [mass for _, _, mass, _ in entries]
    for seed, title, color in ((True, "seed", SEED), (False, "reached by the flow", FLOW)):
        rows = [row for row, entry in enumerate(entries) if entry[3] == seed]
        figure.add_bar(x=[up_to - masses[row] for row in rows], base=[masses[row] for row in rows], y=rows,
                       orientation="h", name=title, marker={"color": color}, width=0.84,
                       hovertext=[f"{names[row]}: full from {say_number(masses[row])}" for row in rows],
                       hoverinfo="text")
    sides = ["middle right" if mass < 0.55 * up_to else "middle left" for mass in masses]
    _add_names(figure, masses, list(range(len(entries))), names, sides)
    if now <= up_to:
        figure.add_vline(x=now, line={"color": ink(), "width": 1.5, "dash": "dash"})
    return figure


def _add_names(figure: "Figure", x: Sequence[float], rows: Sequence[int], names: Sequence[str],
               sides: str | Sequence[str]) -> None:
    figure.add_scatter(x=x, y=rows, mode="text", text=[f" {name} " for name in names],
                       textposition=sides, textfont={"size": 11.5, "color": ink()},
                       hoverinfo="skip", showlegend=False)


def _rows(many: int) -> dict[str, Any]:
    """Return an axis without words for so many rows, the first on top."""
    return {"visible": False, "autorange": False, "range": [many, -1], "fixedrange": True}


def return_bars(returns: Sequence["Return"], shown: int) -> "Figure":
    """Draw the share of draws in which each node returned, the steadiest on top."""
    first = returns[:shown]
    figure = _new(110 + 19 * len(first), {
        "title": "returned in % of the draws", "range": [0, 102], "fixedrange": True,
        "tickvals": list(range(0, 101, 20))}, _rows(len(first)), bargap=0, legend=ABOVE)
    names = [label(one.name) for one in first]
    for usual, title, color in ((True, "retrieved without noise", GREEN),
                                (False, "comes only with noise", YELLOW)):
        at = [i for i, one in enumerate(first) if one.usual == usual]
        hovers = [f"{names[i]}: {first[i].share:.0%} of the draws"
                  for i in at]
        figure.add_bar(x=[100 * first[i].share for i in at], y=at, orientation="h", name=title,
                       marker={"color": color, "opacity": 0.4}, width=0.84, hovertext=hovers,
                       hoverinfo="text")
    _add_names(figure, [0] * len(first), list(range(len(first))), names, "middle right")
    return figure


def recovery_points(experiment: "Experiment") -> "Figure":
    """Draw for each draw the share of R retrieved against the leakage, with its bound."""
    worst = max((t.leakage for t in experiment.trials), default=0.0)
    figure = _new(300, {"title": "share of R retrieved, %", "range": [-3, 103]}, {
        "title": "leakage, % of R's capacity",
        "range": [0, 115 * max(worst, experiment.beta)]}, legend=ABOVE)
    hover = "%{x:.0f}% of R retrieved, leakage %{y:.1f}%" + BARE
    for connected, name, symbol in ((True, "R connected", "circle"), (False, "R in pieces", "x")):
        found = [t for t in experiment.trials if t.connected == connected]
        figure.add_scatter(
            x=[100 * r.share for r in found], y=[100 * r.leakage for r in found], mode="markers",
            name=name, hovertemplate=hover,
            marker={"symbol": symbol, "size": 11, "color": GREEN, "opacity": 0.7})
    figure.add_hline(y=100 * experiment.beta, line={"dash": "dash", "color": RED},
                     annotation={"text": "bound beta", "xanchor": "right"})
    return figure


def separation_points(experiment: "Experiment") -> "Figure":
    """Plot the smallest weight inside R and the largest across its boundary for each draw, Lemma 6."""
    figure = _new(300, {"title": "draw"}, {
        "title": "edge weight w (logarithmic)", "type": "log", "exponentformat": "power"},
        legend=ABOVE)
    draws = list(range(1, len(experiment.trials) + 1))
    hover = "draw %{x}: %{y:.2e}" + BARE
    for field, name, color, symbol in (
            ("smallest_inside", "smallest inside R", GREEN, "triangle-up"),
            ("largest_across", "largest across", RED, "triangle-down")):
        values = [getattr(t, field) for t in experiment.trials]
        figure.add_scatter(x=draws, y=values, mode="markers", name=name, hovertemplate=hover,
                           marker={"color": color, "symbol": symbol, "size": 10})
    return figure
