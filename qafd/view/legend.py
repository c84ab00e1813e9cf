"""The legend of a picture: the meaning of its colors and widths."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from qafd.retrieve.base import SATURATED, WET, RetrievedNode
from qafd.view.drawing import DIVERGING, PALE, RAMP, Drawing, Look, Scale, largest_of, share_of
from qafd.view.shown import Shown
from qafd.wording.panels import say_number, say_percent


def coloring(shown: Sequence[Shown], drawing: Drawing, largest: Sequence[float], look: Look
             ) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """Return the ramp of a picture, and its legend."""
    legend = _legend(shown, drawing, largest)
    if look.scale is not None:
        legend |= _legend_of(look.scale)
    if look.signed is not None:
        return DIVERGING, {**legend, "color": "difference", "low": "second only",
                           "high": "first only", "note": ""}
    return PALE if look.unsure else RAMP, legend


def _legend(shown: Sequence[Shown], drawing: Drawing, largest: Sequence[float]) -> dict[str, Any]:
    """Return the legend of colors and widths; numbers where there is one panel, else shares.

    `largest` are the importances of 100%.
    """
    nodes: list[RetrievedNode] = []
    for one in shown:
        nodes += one.nodes
    best = largest_of(nodes)
    low = high = note = ""
    if best > 0:
        # Two panels have each their largest, one of which not all need to show.
        top = 1.0 if len(shown) > 1 else share_of(best, largest[0])
        low, high, note = "0%", say_percent(top), "logarithmic scale"
    return {
        "color": "importance", "low": low, "high": high, "note": note,
        "thickness": "edge weight" if drawing.thickness == "weight" else "flow",
        "widths": [[round(w, 3), text] for w, text in _reference_widths(shown, drawing)],
        "wet": any(node.state == WET for node in nodes),
        "dry": any(node.state not in (WET, SATURATED) for node in nodes),
        "passages": any(node.kind == "passage" for node in nodes),
    }


def _legend_of(scale: Scale) -> dict[str, Any]:
    """Return the legend of a scale that is the same at every mass."""
    widest = _round_down(scale.amount) if scale.amount > 0 else 0.0
    widths = []
    for value in (widest / 10, widest):
        if value > 0:
            widths.append([round(float(np.sqrt(value / scale.amount)), 3), say_number(value)])
    return {"low": "low", "high": "high", "note": "the same at every mass",
            "widths": widths}


def _reference_widths(shown: Sequence[Shown], drawing: Drawing) -> list[tuple[float, str]]:
    """Return widths of the legend with the amounts they mean."""
    top = max((drawing.largest(one.retrieval) for one in shown), default=0.0)
    if not top > 0:
        return []
    if len(shown) > 1:
        return [(float(np.sqrt(0.1)), "10%"), (1.0, "panel's largest")]
    widest = _round_down(top)
    return [(float(np.sqrt(v / top)), say_number(v)) for v in (widest / 10, widest)]


def _round_down(value: float) -> float:
    """Return the largest of 1, 2, 5 times a power of ten that is at most `value`."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(max((m * power for m in (1, 2, 5) if m * power <= value), default=power))
