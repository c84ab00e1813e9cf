"""Sentences for people: what is computed elsewhere as numbers and enums becomes words here."""

from collections.abc import Sequence


def count_words(number: int, one: str, many: str, /, **values: object) -> str:
    """Return the sentence for one thing or for several; both templates may use ``{number}``.

    >>> count_words(1200, "{number} node", "{number} nodes")
    '1,200 nodes'
    """
    return (one if number == 1 else many).format(number=f"{number:,}", **values)


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
