"""The lab's records as plotly figures; the page's theme colors what is not said here.

Every function returns a figure with units on its axes. Names come from documents: they are
cleaned, and plotly's own markup in them is escaped.
"""
# plotly carries no annotations.
# mypy: disable-error-code="attr-defined,no-any-return,no-untyped-call"

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from qafd.view.panel import RAMPS, clean, number

if TYPE_CHECKING:
    from plotly.graph_objs import Figure

    from qafd.lab.gatehouse import GateFlow
    from qafd.lab.jitter import Return
    from qafd.lab.planted import Experiment
    from qafd.lab.scale import Size
    from qafd.lab.sweep import Cell
    from qafd.lab.timeline import Timeline

GREEN, YELLOW, RED, GREY = "#278c3f", "#c79a00", "#c9304a", "#8a8a86"
INKS = ("#14180f", "#ffffff")  # of numbers on colors
LANES = ("#278c3f", "#2a788e", "#c77a00", "#8e4fa8", "#b3404f", "#5f6f00", "#4566b0")
METRICS = {"size": ("Size", "nodes retrieved"), "tokens": ("Tokens", "tokens retrieved"),
           "milliseconds": ("Solve time", "milliseconds"),
           "recall": ("Recall", "share of the gold passages among the best 5"),
           "leakage": ("Leakage", "retrieved outside the gold set, times its capacity")}
NAME = 30


def readable_on(ramp: Sequence[str], share: float) -> str:
    """The one of `INKS` that stands out more on the color of a ramp at a share in [0, 1]."""
    stops = np.array([[int(color[i:i + 2], 16) for i in (1, 3, 5)] for color in ramp]) / 255
    at = np.clip(share, 0, 1) * (len(ramp) - 1)
    color = np.array([np.interp(at, np.arange(len(ramp)), stops[:, i]) for i in range(3)])
    # relative luminance, WCAG 2.1; above 0.18 black has the higher contrast
    line = np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)
    return INKS[0] if line @ [0.2126, 0.7152, 0.0722] > 0.18 else INKS[1]


def label(name: str, length: int = NAME) -> str:
    """A name for a chart: one line, short, with nothing taken for markup."""
    return escape(clean(name, length), quote=False)


def sweep_map(cells: Sequence["Cell"], metric: str, low: float, high: float,
              mass_label: str, seeds_label: str, now: "Cell | None" = None,
              ink: str = GREY) -> "Figure":
    """One variant's map: mass across, seeds upward, a metric of `METRICS` as color and number.

    Every cell has a marker whose `customdata` is its index in `cells`, for clicks. The cell `now`
    is outlined in `ink`.
    """
    import plotly.graph_objs as go

    masses, counts = sorted({c.mass for c in cells}), sorted({c.seeds for c in cells})
    value = {(c.mass, c.seeds): getattr(c, metric) for c in cells}
    grid = [[value.get((m, n)) for m in masses] for n in counts]
    across, upward = [f"{m:g}" for m in masses], [f"{n}" for n in counts]
    figure = go.Figure(go.Heatmap(
        x=across, y=upward, z=grid, zmin=low, zmax=high, colorscale=RAMPS["green"]["light"],
        xgap=2, ygap=2, hoverinfo="skip", showscale=False))
    if now is not None:
        x, y = masses.index(now.mass), counts.index(now.seeds)
        figure.add_shape(type="rect", x0=x - 0.5, x1=x + 0.5, y0=y - 0.5, y1=y + 0.5,
                         line={"color": ink, "width": 3})
    unit = METRICS[metric][1]
    values = [getattr(c, metric) for c in cells]
    inks = [INKS[0] if v is None else readable_on(
        RAMPS["green"]["light"], (v - low) / (high - low) if high > low else 0.5) for v in values]
    for color in INKS:
        here = [i for i, chosen in enumerate(inks) if chosen == color]
        kept = {"textfont": {"color": color}}  # a click would fade the numbers of other cells
        figure.add_scatter(
            x=[f"{cells[i].mass:g}" for i in here], y=[f"{cells[i].seeds}" for i in here],
            mode="text", text=["" if values[i] is None else number(values[i]) for i in here],
            textfont={"size": 12, "color": color}, selected=kept, unselected=kept,
            hoverinfo="skip", showlegend=False)
    figure.add_scatter(
        x=[f"{c.mass:g}" for c in cells], y=[f"{c.seeds}" for c in cells], mode="markers",
        marker={"size": 30, "symbol": "square", "opacity": 0},
        selected={"marker": {"opacity": 0}}, unselected={"marker": {"opacity": 0}},
        customdata=list(range(len(cells))), showlegend=False,
        hovertext=[f"mass {c.mass:g}, {c.seeds} seeds: {number(getattr(c, metric) or 0)} {unit}"
                   for c in cells], hoverinfo="text")
    figure.update_layout(
        title={"text": cells[0].variant, "font": {"size": 15}}, height=90 + 44 * len(counts),
        margin={"l": 44, "r": 6, "t": 36, "b": 44},
        xaxis={"title": mass_label, "type": "category", "fixedrange": True,
               "range": [-0.5, len(masses) - 0.5]},
        yaxis={"title": seeds_label, "type": "category", "fixedrange": True,
               "range": [-0.5, len(counts) - 0.5]})
    return figure


def lanes(timeline: "Timeline", shown: int, mass_label: str, ink: str,
          now: float) -> "Figure":
    """The first nodes of a timeline as bars from entry to the end, lane under lane.

    A line marks the mass `now`, if it is on the axis. `ink` is the color of line and names,
    readable on the page's background.
    """
    import plotly.graph_objs as go

    first = timeline.entries[:shown]
    order = list(dict.fromkeys(e.lane for e in first))
    rows = sorted(first, key=lambda e: (order.index(e.lane), e.mass))
    figure = go.Figure()
    place = 0
    for lane, name in enumerate(order):
        inside = [e for e in rows if e.lane == name]
        color = LANES[lane % len(LANES)]
        if [e.name for e in inside] != [name]:  # a seed that brings nobody is named by its bar
            figure.add_annotation(x=0, y=place, text=f"<b>{label(name, 44)}</b>", showarrow=False,
                                  xanchor="left", font={"size": 13, "color": ink})
            place += 1
        at = [place + i for i in range(len(inside))]
        figure.add_bar(
            x=[timeline.up_to - e.mass for e in inside], base=[e.mass for e in inside], y=at,
            orientation="h", marker={"color": color, "opacity": 0.4}, width=0.84,
            hovertext=[f"{label(e.name)}: full from {number(e.mass)}" for e in inside],
            hoverinfo="text", showlegend=False)
        early = [e.mass < 0.55 * timeline.up_to for e in inside]
        figure.add_scatter(
            x=[e.mass for e in inside], y=at, mode="text",
            text=[f" {label(e.name)} " for e in inside],
            textposition=["middle right" if e else "middle left" for e in early],
            textfont={"size": 11.5, "color": ink}, hoverinfo="skip", showlegend=False)
        place += len(inside) + 1
    if now <= timeline.up_to:
        figure.add_vline(x=now, line={"color": ink, "width": 1.5, "dash": "dash"})
        left = now > 0.8 * timeline.up_to
        figure.add_annotation(x=now, y=1, yref="paper", yanchor="bottom", showarrow=False,
                              text=f"now: {number(now)}", xanchor="right" if left else "left",
                              font={"size": 12, "color": ink})
    figure.update_layout(
        height=104 + 19 * place, bargap=0, margin={"l": 8, "r": 8, "t": 22, "b": 44},
        xaxis={"title": f"full from: {mass_label}",
               "range": [0, timeline.up_to * 1.01], "fixedrange": True},
        yaxis={"visible": False, "autorange": False, "range": [place, -1], "fixedrange": True})
    return figure


def gate_histogram(gates: Sequence["GateFlow"], beside: Sequence["GateFlow"] = ()) -> "Figure":
    """How many gates have which weight, closed ones apart; weights on a logarithmic axis.

    The axis has room for the gates of another histogram `beside` it.
    """
    import plotly.graph_objs as go

    powers = np.log10([g.weight for g in gates])
    both = np.log10([g.weight for g in (*gates, *beside)])
    edges = np.linspace(both.min() - 1e-9, both.max() + 1e-9, 31)
    figure = go.Figure()
    for closed, name, color in ((False, "open", GREEN), (True, "closed", GREY)):
        here = [p for p, g in zip(powers, gates, strict=True) if g.closed == closed]
        count, _ = np.histogram(here, edges)
        figure.add_bar(x=(edges[1:] + edges[:-1]) / 2, y=count, name=name, marker={"color": color},
                       width=float(edges[1] - edges[0]),
                       hovertemplate="%{y} gates near 10^%{x:.1f}<extra></extra>")
    figure.update_layout(
        barmode="stack", height=280, margin={"l": 50, "r": 8, "t": 30, "b": 44},
        xaxis={"title": "edge weight w, power of ten", "range": [edges[0], edges[-1]]},
        yaxis={"title": "number of gates"},
        legend={"orientation": "h", "y": 1.15})
    return figure


def kept_histogram(shares: Sequence[float]) -> "Figure":
    """How many nodes kept which share of their neighbors, in steps of a tenth."""
    import plotly.graph_objs as go

    count, edges = np.histogram([100 * share for share in shares], np.linspace(0, 110, 12) - 5)
    figure = go.Figure(go.Bar(
        x=(edges[1:] + edges[:-1]) / 2, y=count, width=9, marker={"color": GREEN},
        hovertemplate="%{y} nodes kept %{x:.0f}% of their neighbors<extra></extra>"))
    figure.update_layout(
        height=280, margin={"l": 50, "r": 8, "t": 8, "b": 44},
        xaxis={"title": "neighbors kept, %", "range": [-6, 106]}, yaxis={"title": "nodes"})
    return figure


def return_bars(returns: Sequence["Return"], shown: int, ink: str) -> "Figure":
    """The share of draws in which each node returned, the steadiest on top; names in `ink`."""
    import plotly.graph_objs as go

    first = returns[:shown]
    figure = go.Figure()
    for usual, name, color in ((True, "retrieved without noise", GREEN),
                               (False, "comes only with noise", YELLOW)):
        at = [i for i, r in enumerate(first) if r.usual == usual]
        figure.add_bar(x=[100 * first[i].share for i in at], y=at, orientation="h", name=name,
                       marker={"color": color, "opacity": 0.4}, width=0.84,
                       hovertext=[f"{label(first[i].name)}: {first[i].share:.0%} of the draws"
                                  for i in at], hoverinfo="text")
    figure.add_scatter(x=[0] * len(first), y=list(range(len(first))), mode="text",
                       text=[f" {label(r.name)}" for r in first], textposition="middle right",
                       textfont={"size": 11.5, "color": ink}, hoverinfo="skip", showlegend=False)
    figure.update_layout(
        height=110 + 19 * len(first), bargap=0, margin={"l": 8, "r": 8, "t": 40, "b": 44},
        xaxis={"title": "returned in % of the draws", "range": [0, 102],
               "tickvals": list(range(0, 101, 20)), "fixedrange": True},
        yaxis={"visible": False, "autorange": False, "range": [len(first), -1],
               "fixedrange": True},
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom"})
    return figure


def recovery_points(experiment: "Experiment") -> "Figure":
    """Each draw: the share of R that was retrieved against the leakage, with its bound."""
    import plotly.graph_objs as go

    figure = go.Figure()
    for connected, name, symbol in ((True, "R connected", "circle"),
                                    (False, "R in pieces", "x")):
        found = [t.recovery for t in experiment.trials if t.recovery.connected == connected]
        figure.add_scatter(
            x=[100 * r.share for r in found], y=[100 * r.leakage for r in found], mode="markers",
            name=name, marker={"symbol": symbol, "size": 11, "color": GREEN, "opacity": 0.7},
            hovertemplate="%{x:.0f}% of R retrieved, leakage %{y:.1f}%<extra></extra>")
    worst = max((t.recovery.leakage for t in experiment.trials), default=0.0)
    figure.add_hline(y=100 * experiment.beta, line={"dash": "dash", "color": RED},
                     annotation={"text": "bound beta", "xanchor": "right"})
    figure.update_layout(
        height=300, margin={"l": 54, "r": 8, "t": 34, "b": 44},
        xaxis={"title": "share of R retrieved, %", "range": [-3, 103]},
        yaxis={"title": "leakage, % of R's capacity",
               "range": [0, 115 * max(worst, experiment.beta)]},
        legend={"orientation": "h", "y": 1.16})
    return figure


def separation_points(experiment: "Experiment") -> "Figure":
    """Each draw: the smallest weight inside R and the largest across its boundary, Lemma 6."""
    import plotly.graph_objs as go

    figure = go.Figure()
    draws = list(range(1, len(experiment.trials) + 1))
    for values, name, color, symbol in (
            ([t.separation.smallest_inside for t in experiment.trials], "smallest inside R", GREEN,
             "triangle-up"),
            ([t.separation.largest_across for t in experiment.trials], "largest across", RED,
             "triangle-down")):
        figure.add_scatter(x=draws, y=values, mode="markers", name=name,
                           marker={"color": color, "symbol": symbol, "size": 10},
                           hovertemplate="draw %{x}: %{y:.2e}<extra></extra>")
    figure.update_layout(
        height=300, margin={"l": 60, "r": 8, "t": 34, "b": 44},
        xaxis={"title": "draw"},
        yaxis={"title": "edge weight w (logarithmic)", "type": "log", "exponentformat": "power"},
        legend={"orientation": "h", "y": 1.16})
    return figure


def scale_curves(sizes: Sequence["Size"]) -> "Figure":
    """Nodes retrieved and touched, and milliseconds, against the size of the graph."""
    import plotly.graph_objs as go
    from plotly.subplots import make_subplots

    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.08)
    nodes = [s.nodes for s in sizes]
    for row, values, name, color in (
            (1, [s.support for s in sizes], "retrieved", GREEN),
            (1, [s.touched for s in sizes], "touched", YELLOW),
            (2, [s.milliseconds for s in sizes], "time of one solve", RED)):
        figure.add_trace(go.Scatter(x=nodes, y=values, name=name, mode="lines+markers",
                                    line={"color": color}), row=row, col=1)
    figure.update_xaxes(type="log", dtick=1)
    figure.update_xaxes(title="nodes of the graph (logarithmic)", row=2)
    figure.update_yaxes(title="nodes", rangemode="tozero", row=1)
    figure.update_yaxes(title="milliseconds", rangemode="tozero", row=2)
    figure.update_layout(height=450, margin={"l": 60, "r": 8, "t": 64, "b": 44},
                         legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"})
    return figure
