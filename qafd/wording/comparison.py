"""What one method brings and another leaves out, in words."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from qafd.wording import say, say_count, say_list, say_some
from qafd.wording.reasons import word_cause

if TYPE_CHECKING:
    from qafd.retrieve.compare import MissedGroup
    from qafd.runs.verdict import AnswerPlaces


def word_missed(group: "MissedGroup") -> str:
    """The sentence of a group: who leaves it out, and why the other method brings it."""
    values = {"finder": say(group.finder_label), "other": say(group.other_label),
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


def say_verdict(verdict: "AnswerPlaces", names: Mapping[str, str]) -> str:
    """Who found the passage that answers; `names` are those of the columns as they are shown."""
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
        finders = say_list(by_place[place])
        if place == 1:
            parts.append(say("first by {names}", names=finders))
        else:
            parts.append(say("at place {place} by {names}", place=place, names=finders))
    values = {"title": verdict.titles[0], "places": say_list(parts)}
    if verdict.known:
        found = say("The passage that answers, “{title}”, is found {places}.", **values)
    else:
        found = say("The passage that most answers quote, “{title}”, is found {places}.", **values)
    if not missing:
        return found
    lacking = say_count(len(missing), "{names} does not find it.", "{names} do not find it.",
                        names=say_list(missing))
    return f"{found} {lacking}"


def _say_share(verdict: "AnswerPlaces", names: Mapping[str, str]) -> str:
    by_count: dict[int, list[str]] = {}
    for column, places in verdict.places.items():
        by_count.setdefault(len(places), []).append(names[column])
    parts = []
    for found in sorted(by_count, reverse=True):
        parts.append(say("{found} by {names}", found=found, names=say_list(by_count[found])))
    return say("Of the {number} passages that the answer needs, these are found: {shares}.",
               number=len(verdict.titles), shares="; ".join(parts))
