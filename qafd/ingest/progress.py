"""Progress of indexing, and its cancellation."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """Progress of indexing.

    `stage` is "parsing" (of `total` files), "extracting" (of `total` passages known so far),
    "assembling", "embedding" (of `total` vectors that were missing) or "comparing names" (of
    `total`); `current` names the file or kind of text at work.
    """

    stage: str
    done: int
    total: int
    current: str = ""


def never() -> bool:
    """Do not stop."""
    return False
