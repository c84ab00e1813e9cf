"""Sentences on the ways to a passage, the mass that reaches it, and the passages the graph adds."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from qafd.wording import join_words, ordinal

if TYPE_CHECKING:
    from qafd.explain.reach import Added, Moved, Signal

OUTSIDE = "found by search, not reached by the flow"
NAMED = 3  # passages that a sentence names


def say_signals(shares: "Sequence[tuple[Signal, float]]", reached: bool) -> str:
    """Word the signals that found a passage: "flow 62%, meaning 30%, words 8%"."""
    if not reached:
        return OUTSIDE
    return ", ".join(f"{signal} {share:.0%}" for signal, share in shares if share >= 0.005) or "flow"


def say_entered(sources: int, masses: Sequence[float], now: float) -> str:
    """Word the mass from which the flow reaches all sources of an answer.

    `masses` has one number for each source that it reaches within the range of the control.
    """
    if not masses:
        return "The flow reaches none of the sources at any mass in this range."
    last = max(masses)
    if len(masses) < sources:
        return (f"The flow reaches {len(masses)} of {sources} sources from mass {last:.3g} on; "
                "search found the rest.")
    which = "The source is" if sources == 1 else f"All {sources} sources are"
    if last > now:
        return f"{which} reached from mass {last:.3g} on."
    return f"{which} reached from mass {last:.3g} on, so more mass does not change the answer."


def say_added(added: "Added", titles: Mapping[str, str], searched: int) -> str:
    """Word the passages that the graph adds to the first five of search."""
    if not added.gained:
        return "The graph adds no passage to the first five of search."
    words = f"The graph added {_list(added.gained, titles, searched, 'without it')}"
    if added.lost:
        words += f", in place of {_list(added.lost, titles, searched, 'with it')}"
    return f"{words}."


def _list(moved: "Sequence[Moved]", titles: Mapping[str, str], searched: int, how: str) -> str:
    names = []
    for passage in moved[:NAMED]:
        place = f"not in the first {searched}" if passage.elsewhere is None else ordinal(passage.elsewhere)
        names.append(f"{titles[passage.id]} ({place} {how})")
    if len(moved) > NAMED:
        names.append(f"{len(moved) - NAMED} more")
    return join_words(names)


def say_place(place: int | None) -> str:
    """Word a rank in another ranking, "not listed" if it is not in it."""
    return ordinal(place) if place is not None else "not listed"
