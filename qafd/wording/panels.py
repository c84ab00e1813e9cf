"""Words of a picture: legend, footer, tooltips, and a description for screen readers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qafd.wording import count, join_some, join_words

if TYPE_CHECKING:
    from qafd.view.drawing import Shown

_STATES = {"saturated": "full: retrieved", "wet": "touched, not full", "dry": "not touched"}


def say_state(state: str) -> str:
    """Return the state of a node in words."""
    return _STATES[state]


def say_number(value: float) -> str:
    """Format a number with three significant digits and grouped thousands."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def say_percent(share: float) -> str:
    """Format a share as a percentage: "100%", "27.7%"."""
    return f"{say_number(100 * share)}%" if share <= 0 or share >= 1e-4 else "<0.01%"


def say_retrieved(full: int, touched: int = 0, names: bool = True) -> str:
    """Count the retrieved and touched names of a method: "17 names retrieved, 32 touched"."""
    words = f"{count(full, 'name' if names else 'node')} retrieved"
    return f"{words}, {touched:,} touched" if touched else words


def say_drawn(drawn: int, all_of_them: int) -> str:
    """Count the part that is drawn: "40 of 49 nodes shown"."""
    return f"{drawn:,} of {all_of_them:,} nodes shown"


def say_footer(shown: "Shown", graph_size: int | None) -> str:
    """Describe the part that a panel shows, and count the rest."""
    parts = [say_retrieved(shown.retrieved, shown.wet, names=shown.hidden)]
    if shown.hidden:
        parts.append("other passages are drawn as flow" if shown.passages else
                     "passages are drawn as flow")
    if len(shown.edges) < shown.all_edges:
        parts.append(f"{len(shown.edges):,} of {shown.all_edges:,} edges")
    else:
        parts.append(count(len(shown.edges), "edge"))
    if graph_size is not None or len(shown.nodes) < shown.touched:
        parts.append(say_drawn(len(shown.nodes), graph_size or shown.touched))
    return " · ".join(parts)


def say_picture(title: str, shown: "Shown", names: Sequence[str],
                largest: tuple[str, str, float] | None) -> str:
    """Describe a picture for screen readers.

    Parameters
    ----------
    names : sequence of str
        The most important nodes.
    largest : (source, target, flow), optional
        The largest flow.
    """
    if not names:
        return f"{title}: no nodes."
    noun = "names" if shown.hidden else "nodes"
    words = (f"{title}: {shown.full} of {shown.touched:,} touched {noun} retrieved; most important: "
             f"{join_words(names)}.")
    if largest is None:
        return words
    source, target, flow = largest
    return f"{words} The largest flow, {say_number(flow)}, runs from {source} to {target}."


def say_idiom(shape: str, title: str, number: int) -> str:
    """Name a shape in a method's picture: a community, a ring of hops, a path."""
    if shape == "ring" and number == 0:
        return "seeds"
    if shape == "ring":
        return count(number, "hop")
    if shape == "ribbon":
        return f"path {number}"
    return title


def say_alone(names: Sequence[str]) -> str:
    """Word the nodes that only one of two results retrieves."""
    if not names:
        return "nothing that the other lacks"
    return f"only here: {len(names)} ({join_some(names, 2)})"
