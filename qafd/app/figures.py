"""The lab's records as plotly figures; the page's theme colors what is not said here.

Every function returns a figure with units on its axes. Names come from documents: they are
cleaned, and plotly's own markup in them is escaped.
"""
# plotly carries no annotations.
# mypy: disable-error-code="attr-defined,no-any-return,no-untyped-call"

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from qafd.view.drawing import RAMPS
from qafd.view.panel import clean
from qafd.wording.panels import say_number

if TYPE_CHECKING:
    from plotly.graph_objs import Figure

    from qafd.lab.gatehouse import GateFlow
    from qafd.lab.jitter import Return
    from qafd.lab.planted import Experiment
    from qafd.lab.scale import Size
    from qafd.lab.sweep import Cell, Variation
    from qafd.lab.timeline import Timeline, TimelineEntry

GREEN, YELLOW, RED, GREY = "#278c3f", "#c79a00", "#c9304a", "#8a8a86"
LANES = ("#278c3f", "#2a788e", "#c77a00", "#8e4fa8", "#b3404f", "#5f6f00", "#4566b0")
METRICS = {"size": ("Size", "nodes retrieved"), "tokens": ("Tokens", "tokens retrieved"),
           "milliseconds": ("Solve time", "milliseconds"),
           "recall": ("Recall", "share of the gold passages among the best 5"),
           "leakage": ("Leakage", "retrieved outside the gold set, times its capacity")}
NAME = 30
BARE = "<extra></extra>"  # plotly's hover box without the name of the trace
ABOVE = {"orientation": "h", "y": 1.02, "yanchor": "bottom"}  # a legend


def label(name: str, length: int = NAME) -> str:
    """A name for a chart: one line, short, with nothing taken for markup."""
    return escape(clean(name, length), quote=False)


def ink() -> str:
    """The color of text on the page."""
    return "#f0efea" if st.context.theme.type == "dark" else "#23231f"


def _new(height: int, xaxis: dict[str, Any], yaxis: dict[str, Any], **layout: Any) -> "Figure":
    import plotly.graph_objs as go

    figure = go.Figure()
    figure.update_layout(height=height, xaxis=xaxis, yaxis=yaxis,
                         margin={"l": 54, "r": 8, "t": 34, "b": 44}, **layout)
    return figure


@dataclass(frozen=True)
class SweepAxes:
    """What all maps of a sweep share: the metric with its range, and the names of both axes."""

    metric: str
    low: float
    high: float
    mass: str
    seeds: str


def sweep_map(cells: Sequence["Cell"], axes: SweepAxes, now: "Cell | None") -> "Figure":
    """One variant's map: mass across, seeds upward, a metric of `METRICS` as color and number.

    Where recall is known, it stands below the number of nodes or tokens. Every cell has a marker
    whose `customdata` is its index in `cells`, for clicks. The cell `now` is outlined.
    """
    masses, counts = sorted({c.mass for c in cells}), sorted({c.seeds for c in cells})
    values = {(c.mass, c.seeds): getattr(c, axes.metric) for c in cells}
    across, upward = [f"{c.mass:g}" for c in cells], [f"{c.seeds}" for c in cells]
    hovers = []
    for c in cells:
        value = values[c.mass, c.seeds]
        hovers.append("mass {mass}, {seeds} seeds: {value} {unit}".format(
                          mass=f"{c.mass:g}",
                          seeds=c.seeds,
                          value=say_number(value or 0),
                          unit=METRICS[axes.metric][1]))
    figure = _new(90 + 44 * len(counts), _steps(axes.mass, len(masses)),
                  _steps(axes.seeds, len(counts)),
                  title={"text": cells[0].variant, "font": {"size": 15}})
    figure.add_heatmap(
        x=across, y=upward, z=list(values.values()), zmin=axes.low, zmax=axes.high,
        colorscale=RAMPS["green"]["light"], xgap=2, ygap=2, hoverinfo="skip", showscale=False)
    figure.update_xaxes(categoryarray=[f"{mass:g}" for mass in masses])
    figure.update_yaxes(categoryarray=[f"{count}" for count in counts])
    if now is not None:
        x, y = masses.index(now.mass), counts.index(now.seeds)
        figure.add_shape(type="rect", x0=x - 0.5, x1=x + 0.5, y0=y - 0.5, y1=y + 0.5,
                         line={"color": ink(), "width": 3})
    unseen = {"marker": {"opacity": 0}}
    strong = 0.6 * axes.high + 0.4 * axes.low
    figure.add_scatter(
        x=across, y=upward, mode="markers+text", text=[_of_cell(c, axes.metric) for c in cells],
        textfont={"size": 12, "color": [
            "#ffffff" if (value or 0) > strong else "#1a1a1a" for value in values.values()]},
        showlegend=False, selected=unseen, unselected=unseen,
        marker={"size": 30, "symbol": "square", "opacity": 0}, customdata=list(range(len(cells))),
        hovertext=hovers, hoverinfo="text")
    return figure


def _of_cell(cell: "Cell", metric: str) -> str:
    """What a cell of the map says, with its quality beside its size."""
    value = getattr(cell, metric)
    if value is None:
        return ""
    if metric in ("size", "tokens") and cell.recall is not None:
        return f"{say_number(value)}<br><span style='font-size:10px'>{cell.recall:.0%}</span>"
    return say_number(value)


def _steps(title: str, many: int) -> dict[str, Any]:
    """The axis of a map with so many steps, in their order."""
    return {"title": title, "type": "category", "fixedrange": True, "range": [-0.5, many - 0.5],
            "categoryorder": "array"}


def sweep_lines(variations: Sequence["Variation"], name: str, metric: str) -> "Figure":
    """A metric of `METRICS` over the values of a parameter, one line for each value of the others."""
    lines: dict[str, list[Variation]] = {}
    for one in variations:
        others = ", ".join(f"{key} {value}" for key, value in one.params.items() if key != name)
        lines.setdefault(others, []).append(one)
    figure = _new(320, {"title": label(name), "type": "category", "fixedrange": True}, {
        "title": METRICS[metric][1], "fixedrange": True, "rangemode": "tozero"},
        font={"color": ink()})
    for place, (others, line) in enumerate(lines.items()):
        figure.add_scatter(
            x=[_of_parameter(one.params[name]) for one in line], y=[getattr(one, metric) for one in line],
            name=label(others), mode="lines+markers", showlegend=len(lines) > 1,
            line={"color": LANES[place % len(LANES)]}, hovertemplate=f"%{{x}}: %{{y:.4g}}{BARE}")
    return figure


def _of_parameter(value: object) -> str:
    """What the axis says of a parameter's value: a number without empty decimals."""
    return f"{value:g}" if isinstance(value, float) else f"{value}"


def lanes(timeline: "Timeline", shown: int, mass_label: str, now: float) -> "Figure":
    """The first nodes of a timeline as bars from entry to the end, lane under lane.

    A line marks the mass `now`, if it is on the axis.
    """
    figure = _new(104, {"title": f"full from: {mass_label}", "fixedrange": True,
                      "range": [0, timeline.up_to * 1.01]}, {}, bargap=0)
    inside: dict[str, list[TimelineEntry]] = {}
    for entry in timeline.entries[:shown]:
        inside.setdefault(entry.lane, []).append(entry)
    place = 0
    for at, (name, entries) in enumerate(inside.items()):
        if [entry.name for entry in entries] != [name]:  # a seed that brings nobody is its bar
            figure.add_annotation(x=0, y=place, text=f"<b>{label(name, 44)}</b>", showarrow=False,
                                  xanchor="left", font={"size": 13, "color": ink()})
            place += 1
        _add_lane(figure, entries, place, timeline.up_to, LANES[at % len(LANES)])
        place += len(entries) + 1
    if now <= timeline.up_to:
        figure.add_vline(x=now, line={"color": ink(), "width": 1.5, "dash": "dash"})
        left = now > 0.8 * timeline.up_to
        figure.add_annotation(x=now, y=1, yref="paper", yanchor="bottom", showarrow=False,
                              text=f"now: {say_number(now)}",
                              xanchor="right" if left else "left", font={"size": 12, "color": ink()})
    figure.update_layout(height=104 + 19 * place, yaxis=_rows(place))
    return figure


def _add_lane(figure: "Figure", entries: Sequence["TimelineEntry"], place: int, up_to: float,
              color: str) -> None:
    rows = [place + i for i in range(len(entries))]
    starts = [entry.mass for entry in entries]
    names = [label(entry.name) for entry in entries]
    hovers = [f"{name}: full from {say_number(mass)}"
              for name, mass in zip(names, starts, strict=True)]
    figure.add_bar(x=[up_to - mass for mass in starts], base=starts, y=rows, orientation="h",
                   marker={"color": color, "opacity": 0.4}, width=0.84, hovertext=hovers,
                   hoverinfo="text", showlegend=False)
    sides = ["middle right" if mass < 0.55 * up_to else "middle left" for mass in starts]
    _add_names(figure, starts, rows, names, sides)


def _add_names(figure: "Figure", x: Sequence[float], rows: Sequence[int], names: Sequence[str],
               sides: str | Sequence[str]) -> None:
    figure.add_scatter(x=x, y=rows, mode="text", text=[f" {name} " for name in names],
                       textposition=sides, textfont={"size": 11.5, "color": ink()},
                       hoverinfo="skip", showlegend=False)


def _rows(many: int) -> dict[str, Any]:
    """An axis without words for so many rows, the first on top."""
    return {"visible": False, "autorange": False, "range": [many, -1], "fixedrange": True}


def gate_histogram(gates: Sequence["GateFlow"], beside: Sequence["GateFlow"] = ()) -> "Figure":
    """How many gates have which weight, closed ones apart; weights on a logarithmic axis.

    The axis has room for the gates of another histogram `beside` it.
    """
    both = np.log10([g.weight for g in (*gates, *beside)])
    edges = np.linspace(both.min() - 1e-9, both.max() + 1e-9, 31)
    figure = _new(280, {"title": "edge weight w, power of ten", "range": [edges[0], edges[-1]]},
                  {"title": "number of gates"}, barmode="stack", legend=ABOVE)
    hover = "{count} gates near 10^{power}".format(count="%{y}", power="%{x:.1f}") + BARE
    for closed, name, color in ((False, "open", GREEN), (True, "closed", GREY)):
        here = [np.log10(gate.weight) for gate in gates if gate.closed == closed]
        count, _ = np.histogram(here, edges)
        figure.add_bar(x=(edges[1:] + edges[:-1]) / 2, y=count, name=name, hovertemplate=hover,
                       marker={"color": color}, width=float(edges[1] - edges[0]))
    return figure


def kept_histogram(shares: Sequence[float]) -> "Figure":
    """How many nodes kept which share of their neighbors, in steps of a tenth."""
    count, edges = np.histogram([100 * share for share in shares], np.linspace(0, 110, 12) - 5)
    figure = _new(280, {"title": "neighbors kept, %", "range": [-6, 106]},
                  {"title": "nodes"})
    figure.add_bar(
        x=(edges[1:] + edges[:-1]) / 2, y=count, width=9, marker={"color": GREEN},
        hovertemplate="{count} nodes kept {share} of their neighbors".format(
                          count="%{y}",
                          share="%{x:.0f}%") + BARE)
    return figure


def return_bars(returns: Sequence["Return"], shown: int) -> "Figure":
    """The share of draws in which each node returned, the steadiest on top."""
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
    """Each draw: the share of R that was retrieved against the leakage, with its bound."""
    worst = max((t.recovery.leakage for t in experiment.trials), default=0.0)
    figure = _new(300, {"title": "share of R retrieved, %", "range": [-3, 103]}, {
        "title": "leakage, % of R's capacity",
        "range": [0, 115 * max(worst, experiment.beta)]}, legend=ABOVE)
    hover = "{share} of R retrieved, leakage {leakage}".format(
                share="%{x:.0f}%",
                leakage="%{y:.1f}%") + BARE
    for connected, name, symbol in ((True, "R connected", "circle"), (False, "R in pieces", "x")):
        found = [t.recovery for t in experiment.trials if t.recovery.connected == connected]
        figure.add_scatter(
            x=[100 * r.share for r in found], y=[100 * r.leakage for r in found], mode="markers",
            name=name, hovertemplate=hover,
            marker={"symbol": symbol, "size": 11, "color": GREEN, "opacity": 0.7})
    figure.add_hline(y=100 * experiment.beta, line={"dash": "dash", "color": RED},
                     annotation={"text": "bound beta", "xanchor": "right"})
    return figure


def separation_points(experiment: "Experiment") -> "Figure":
    """Each draw: the smallest weight inside R and the largest across its boundary, Lemma 6."""
    figure = _new(300, {"title": "draw"}, {
        "title": "edge weight w (logarithmic)", "type": "log", "exponentformat": "power"},
        legend=ABOVE)
    draws = list(range(1, len(experiment.trials) + 1))
    hover = "draw {draw}: {weight}".format(draw="%{x}", weight="%{y:.2e}") + BARE
    for field, name, color, symbol in (
            ("smallest_inside", "smallest inside R", GREEN, "triangle-up"),
            ("largest_across", "largest across", RED, "triangle-down")):
        values = [getattr(t.separation, field) for t in experiment.trials]
        figure.add_scatter(x=draws, y=values, mode="markers", name=name, hovertemplate=hover,
                           marker={"color": color, "symbol": symbol, "size": 10})
    return figure


def scale_curves(sizes: Sequence["Size"]) -> "Figure":
    """Nodes retrieved and touched, and milliseconds, against the size of the graph."""
    import plotly.graph_objs as go
    from plotly.subplots import make_subplots

    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.08)
    nodes = [s.nodes for s in sizes]
    for row, field, name, color in (
            (1, "support", "retrieved", GREEN), (1, "touched", "touched", YELLOW),
            (2, "milliseconds", "time of one solve", RED)):
        figure.add_trace(go.Scatter(x=nodes, y=[getattr(s, field) for s in sizes], name=name,
                                    mode="lines+markers", line={"color": color}), row=row, col=1)
    figure.update_xaxes(type="log", tickvals=nodes, tickformat=",")
    figure.update_xaxes(title="nodes of the graph (logarithmic)", row=2)
    figure.update_yaxes(title="nodes", rangemode="tozero", row=1)
    figure.update_yaxes(title="milliseconds", rangemode="tozero", row=2)
    figure.update_layout(height=450, margin={"l": 60, "r": 8, "t": 64, "b": 44}, legend=ABOVE)
    return figure
