"""Sentences about deleting, restoring and erasing documents."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qafd.wording import count_words, join_some, join_words
from qafd.wording.counts import count

if TYPE_CHECKING:
    from qafd.ingest.erase import Footprint

NAMED = 5  # names in a sentence


def say_moved(deleted: bool, names: Sequence[str]) -> str:
    """Word a deletion that can be undone, or a restoration."""
    if deleted:
        return f"Deleted {join_some(names, NAMED)}. “Undo delete” restores documents until they are erased."
    return f"Restored {join_some(names, NAMED)}."


def say_going(going: "Footprint") -> str:
    """Word the effect of erasing, before it is done."""
    return f"Erasing {join_some(going.names, NAMED)} removes {_list_contents(going)} There is no undo."


def say_gone(gone: "Footprint") -> str:
    """Word the effect of erasing, after it is done."""
    return f"Erased {join_some(gone.names, NAMED)}: {_list_contents(gone)}"


def say_staying() -> str:
    """Word the things that erasing keeps."""
    return ("Other documents stay, with all their names. Questions that you asked or wrote for "
            "Evaluate, edits by hand with their notes, and the costs of models stay. Backups and "
            "exports that you made are unchanged.")


def _list_contents(going: "Footprint") -> str:
    held = [(going.documents, "document"), (going.passages, "passage")]
    counts = [count(number, noun) for number, noun in held if number]
    also = ["texts, vectors and extractions"]
    if going.replies:
        also.append(count(going.replies, "model reply"))
    if going.runs:
        also.append(count_words(
            going.runs, "{number} saved run that quotes them or has names found only there",
            "{number} saved runs that quote them or have names found only there"))
    also += ["all derived layers", "copies made before upgrades"]
    return "{counts}: {also}.".format(counts=join_words(counts) or "all bytes", also=join_words(also))
