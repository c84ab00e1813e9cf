"""What deleting and erasing a document remove, and what they leave."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qafd.wording import count_words, join_some, join_words
from qafd.wording.counts import count

if TYPE_CHECKING:
    from qafd.ingest.erase import Footprint

NAMED = 5  # names in a sentence


def say_moved(deleted: bool, names: Sequence[str]) -> str:
    """What was deleted for now, or brought back."""
    if deleted:
        return f"Deleted {join_some(names, NAMED)}. “Undo delete” brings back what is not erased."
    return f"Brought back {join_some(names, NAMED)}."


def say_going(going: "Footprint") -> str:
    """What would go."""
    return f"Erasing {join_some(going.names, NAMED)} removes {_say_what(going)} There is no undo."


def say_gone(gone: "Footprint") -> str:
    """What went."""
    return f"Erased {join_some(gone.names, NAMED)}: {_say_what(gone)}"


def say_staying() -> str:
    """What erasing does not touch."""
    return ("Other documents stay, with every name that they have too, even where they say the "
            "same. Questions you asked or wrote for Evaluate, edits by hand with their names "
            "and notes, and what models have cost stay. Backups, exports and bundles that "
            "you made hold what they held.")


def _say_what(going: "Footprint") -> str:
    held = [(going.documents, "document"), (going.passages, "passage")]
    counts = [count(number, noun) for number, noun in held if number]
    also = ["text, vectors and what was found there"]
    if going.replies:
        also.append(count(going.replies, "reply"))
    if going.runs:
        also.append(count_words(
            going.runs, "{number} kept run that quotes them or names what only they name",
            "{number} kept runs that quote them or name what only they name"))
    also += ["all derived layers", "copies made before upgrades"]
    return "{counts}: {also}.".format(counts=join_words(counts) or "all bytes", also=join_words(also))
