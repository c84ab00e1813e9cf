"""Sentences for people, from numbers and enums that are computed elsewhere; counts and lists in words."""

from collections.abc import Sequence


def join_words(words: Sequence[str]) -> str:
    """Join words or phrases: "a", "a and b", "a, b and c"."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def join_some(names: Sequence[str], most: int = 3) -> str:
    """Join the first names: "Fuji, Gala, Cox and 4 more"; never "1 more"."""
    if len(names) <= most + 1:
        return join_words(names)
    return join_words([*names[:most], f"{len(names) - most} more"])


def ordinal(number: int) -> str:
    """Word a rank: "1st", "12th", "23rd"."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


MINUTE, HOUR = 60, 3600


def count(number: int, noun: str) -> str:
    """Word a count of a noun with a regular plural: "1 passage", "2,000 passages", "2 entities"."""
    many = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else many}"


def say_left(seconds: float | None) -> str:
    """Word the time that is left: "about 40 s left"; "" if it is unknown."""
    if seconds is None:
        return ""
    if seconds < 10:
        return "a few seconds left"
    if seconds < 55:
        return f"about {10 * round(seconds / 10)} s left"
    if seconds < 0.9 * HOUR:
        return f"about {round(seconds / MINUTE) or 1} min left"
    digits = 1 if seconds < 10 * HOUR else 0
    return f"about {seconds / HOUR:.{digits}f} h left"
