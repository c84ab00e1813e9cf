"""What one method brings and another leaves out, in words."""

from typing import TYPE_CHECKING

from qafd.wording import say, say_count, say_some
from qafd.wording.reasons import word_cause

if TYPE_CHECKING:
    from qafd.retrieve.compare import MissedGroup


def word_missed(group: "MissedGroup") -> str:
    """The sentence of a group: who leaves it out, and why the other method brings it."""
    values = {"finder": group.finder_label, "other": group.other_label,
              "names": say_some(group.names), "because": word_cause(group.reasons).rstrip(".")}
    if group.texts:
        one = ("{other} leaves out the passage {names}; {finder} brings it because {because}.")
        many = ("{other} leaves out the passages {names}; {finder} brings them because {because}.")
    elif group.touched:
        one = "{other} only touches {names}; {finder} brings it because {because}."
        many = "{other} only touches {names}; {finder} brings them because {because}."
    else:
        one = "{other} leaves out {names}; {finder} brings it because {because}."
        many = "{other} leaves out {names}; {finder} brings them because {because}."
    sentence = say_count(len(group.nodes), one, many, **values)
    if not group.rest:
        return sentence
    rest = say_count(group.rest, "It brings {number} other too.", "It brings {number} others too.")
    return say("{sentence} {rest}", sentence=sentence, rest=rest)
