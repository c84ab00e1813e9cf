"""Counts with their nouns, in the singular or plural."""

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
