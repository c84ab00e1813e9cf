"""What deleting and erasing a document remove, and what they leave."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qafd.wording import say, say_count, say_list, say_some
from qafd.wording.counts import count

if TYPE_CHECKING:
    from qafd.ingest.erase import Footprint

NAMED = 5  # names in a sentence


def say_moved(deleted: bool, names: Sequence[str]) -> str:
    """What was deleted for now, or brought back."""
    if deleted:
        return say("Deleted {names}. “Undo delete” brings back what is not erased.",
                   names=say_some(names, NAMED))
    return say("Brought back {names}.", names=say_some(names, NAMED))


def say_going(going: "Footprint") -> str:
    """What would go."""
    return say("Erasing {names} removes {what} There is no undo.",
               names=say_some(going.names, NAMED), what=_say_what(going))


def say_gone(gone: "Footprint") -> str:
    """What went."""
    return say("Erased {names}: {what}", names=say_some(gone.names, NAMED), what=_say_what(gone))


def say_staying() -> str:
    """What erasing does not touch."""
    return say("Other documents stay, with every name that they have too, even where they say the "
               "same. Questions you asked or wrote for Evaluate, edits by hand with their names and "
               "notes, and what models have cost stay. Backups, exports and bundles that you made "
               "hold what they held.")


def _say_what(going: "Footprint") -> str:
    held = [(going.documents, "document"), (going.passages, "passage")]
    counts = [count(number, noun) for number, noun in held if number]
    also = [say("text, vectors and what was found there")]
    if going.replies:
        also.append(count(going.replies, "reply"))
    if going.runs:
        also.append(say_count(
            going.runs, "{number} kept run that quotes them or names what only they name",
            "{number} kept runs that quote them or name what only they name"))
    also += [say("all derived layers"), say("copies made before upgrades")]
    return say("{counts}: {also}.", counts=say_list(counts) or say("all bytes"), also=say_list(also))
