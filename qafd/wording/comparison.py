"""Sentences of a comparison: nodes that one method finds and another misses."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from qafd.wording import count_words, join_some, join_words, ordinal
from qafd.wording.explanations import say_path
from qafd.wording.reasons import word_cause

if TYPE_CHECKING:
    from qafd.evaluate.key_passage import AnswerPlaces
    from qafd.retrieve.compare import MissedGroup
    from qafd.runs.imported import NodeComparison


def word_missed(group: "MissedGroup") -> str:
    """Word a group: the method that misses it, and the other method's reason to retrieve it."""
    values = {"finder": group.finder_label, "other": group.other_label,
              "names": join_some(group.names), "because": word_cause(group.reasons).rstrip(".")}
    if group.texts:
        one = ("{other} misses the passage {names}; {finder} retrieves it because {because}.")
        many = ("{other} misses the passages {names}; {finder} retrieves them because {because}.")
    elif group.touched:
        one = "{other} only touches {names}; {finder} retrieves it because {because}."
        many = "{other} only touches {names}; {finder} retrieves them because {because}."
    else:
        one = "{other} misses {names}; {finder} retrieves it because {because}."
        many = "{other} misses {names}; {finder} retrieves them because {because}."
    sentence = count_words(len(group.nodes), one, many, **values)
    if not group.rest:
        return sentence
    rest = count_words(group.rest, "It also retrieves {number} other.", "It also retrieves {number} others.")
    return f"{sentence} {rest}"


def say_compared(found: "NodeComparison") -> str:
    """Word a node by a retriever from outside and by the flow: "mine misses ¶ iPod; ..."."""
    name, node = found.retriever, found.node
    if found.place is None and found.path is None:
        return f"Neither {name} nor the flow retrieves {node}."
    returns = f"{name} {'mentions' if found.mentioned else 'returns'} {node}"
    returns += f" in its passage {found.place}" if found.mentioned else f" as number {found.place}"
    if found.path is None:
        return f"{returns}; the flow does not retrieve it."
    way = f"the graph reaches it over {say_path(found.path)}"
    if not found.path.steps:
        way = "the flow starts there"
    if found.place is None:
        returns = f"{name} misses {node}"
    return f"{returns}; {way}".rstrip(".") + "."


def say_verdict(verdict: "AnswerPlaces", names: Mapping[str, str]) -> str:
    """Word the ranks of the passage that answers; `names` are the labels of the columns."""
    if len(verdict.titles) > 1:
        return _say_share(verdict, names)
    by_place: dict[int, list[str]] = {}
    missing = []
    for column, places in verdict.places.items():
        if places:
            by_place.setdefault(min(places.values()), []).append(names[column])
        else:
            missing.append(names[column])
    parts = []
    for place in sorted(by_place):
        finders = join_words(by_place[place])
        parts.append(f"{ordinal(place)} by {finders}")
    title = f"“{verdict.titles[0]}”"
    kind = "Passage that answers" if verdict.known else "Passage that most answers quote"
    ranks = f"{kind}: {title}"
    if parts:
        ranks += f", ranked {join_words(parts)}"
    if not missing:
        return f"{ranks}."
    lacking = count_words(len(missing), "{names} does not find it.", "{names} do not find it.",
                        names=join_words(missing))
    return f"{ranks}. {lacking}"


def _say_share(verdict: "AnswerPlaces", names: Mapping[str, str]) -> str:
    by_count: dict[int, list[str]] = {}
    for column, places in verdict.places.items():
        by_count.setdefault(len(places), []).append(names[column])
    parts = []
    for found in sorted(by_count, reverse=True):
        parts.append(f"{found} by {join_words(by_count[found])}")
    return (f"Of the {len(verdict.titles)} passages that the answer needs, these are found: "
            f"{'; '.join(parts)}.")
