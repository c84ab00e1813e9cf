"""How a passage was found, when the flow reaches it, and what the graph added, as sentences."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from qafd.wording import join_words

if TYPE_CHECKING:
    from qafd.explain.reach import Added, Moved, Signal

OUTSIDE = "found by search, not reached by the flow"
NAMED = 3  # passages that a sentence names


def say_signals(shares: "Sequence[tuple[Signal, float]]", reached: bool) -> str:
    """How a passage was found, in percent: "flow 62%, meaning 30%, words 8%"."""
    if not reached:
        return OUTSIDE
    return ", ".join(f"{signal} {share:.0%}" for signal, share in shares if share >= 0.005) or "flow"


def say_entered(sources: int, masses: Sequence[float], now: float) -> str:
    """From which mass on the flow reaches all sources of an answer.

    `masses` are those of the sources that it reaches at all, up to the end of the control.
    """
    if not masses:
        return "The flow reaches none of the sources at any mass of the control."
    last = max(masses)
    if len(masses) < sources:
        return (f"The flow reaches {len(masses)} of {sources} sources from mass {last:.3g} on; "
                "search found the rest.")
    which = "The source is" if sources == 1 else f"All {sources} sources are"
    if last > now:
        return f"{which} reached from mass {last:.3g} on."
    return f"{which} reached from mass {last:.3g} on, so more mass does not change the answer."


def say_added(added: "Added", titles: Mapping[str, str], searched: int) -> str:
    """What the graph changes in the first five passages of search."""
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
    """Return a place in another ranking, "not listed" where that ends before."""
    return ordinal(place) if place is not None else "not listed"


def ordinal(number: int) -> str:
    """Return a place as people write it: "1st", "12th", "23rd"."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"
