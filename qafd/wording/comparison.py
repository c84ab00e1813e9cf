"""Sentences of comparisons: nodes that one method misses, measures of an evaluation, their differences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qafd.wording import count, join_some, join_words, ordinal
from qafd.wording.explanations import say_path
from qafd.wording.reasons import word_cause

if TYPE_CHECKING:
    from qafd.evaluate import Score
    from qafd.evaluate.measures import AnswerPlaces, Interval
    from qafd.retrieve.compare import MissedGroup
    from qafd.runs.imported import NodeComparison


def word_missed(group: "MissedGroup") -> str:
    """Word a group: the method that misses it, and the other method's reason to retrieve it."""
    number = len(group.nodes)
    names = join_some(group.names)
    if group.texts:
        names = f"the {'passage' if number == 1 else 'passages'} {names}"
    verb = "only touches" if group.touched and not group.texts else "misses"
    them = "it" if number == 1 else "them"
    because = word_cause(group.reasons).rstrip(".")
    sentence = f"{group.other_label} {verb} {names}; {group.finder_label} retrieves {them} because {because}."
    if not group.rest:
        return sentence
    return f"{sentence} It also retrieves {count(group.rest, 'other')}."


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
    return f"{ranks}. Not found by {join_words(missing)}."


def _say_share(verdict: "AnswerPlaces", names: Mapping[str, str]) -> str:
    by_count: dict[int, list[str]] = {}
    for column, places in verdict.places.items():
        by_count.setdefault(len(places), []).append(names[column])
    parts = []
    for found in sorted(by_count, reverse=True):
        parts.append(f"{found} by {join_words(by_count[found])}")
    return (f"Of the {len(verdict.titles)} passages that the answer needs, these are found: "
            f"{'; '.join(parts)}.")


@dataclass(frozen=True)
class MeasureWords:
    """The names of a measure, for people and in a sentence, and its meaning."""

    label: str
    phrase: str
    meaning: str


MEASURES = {
    "recall@5": MeasureWords(
        "Found in 5", "share of gold passages found in 5",
        "The share of a question's gold passages among the first 5 that a method ranks."),
    "recall@2": MeasureWords(
        "Found in 2", "share of gold passages found in 2",
        "The share of a question's gold passages among the first 2 that a method ranks. Use it to "
        "compare methods on few passages."),
    "precision@5": MeasureWords(
        "Passage precision", "precision of the first 5 passages",
        "Gold passages among the first 5, divided by 5: with two gold passages it is at most 0.40."),
    "f1@5": MeasureWords(
        "Passage F1", "F1 of the first 5 passages",
        "Harmonic mean of the share of gold passages found in the first 5 and of the share of gold "
        "among these 5.")}


def say_differences(scores: Sequence["Score"], measure: str) -> str:
    """Word the differences of the first method to each other one by a measure."""
    first, *others = scores
    better: list[str] = []
    worse: list[str] = []
    chance: list[str] = []
    for score in others:
        gap = score.differences[measure]
        if gap.certain:
            (better if gap.mean > 0 else worse).append(score.label)
        else:
            chance.append(score.label)
    sentences = []
    phrase = MEASURES[measure].phrase
    if worse:
        sentences.append(f"By the {phrase}, {first.label} is better than {join_words(worse)}.")
    if better:
        sentences.append(f"By the {phrase}, {first.label} is worse than {join_words(better)}.")
    if chance and sentences:
        sentences.append(f"The difference to {join_words(chance)} may be chance.")
    elif chance:
        sentences.append(f"By the {phrase}, the difference between {first.label} and "
                         f"{join_words(chance)} may be chance.")
    return " ".join(sentences)


def say_missed(scores: Sequence["Score"]) -> list[str]:
    """Word how many questions a retriever from outside misses, and how many of them each other finds."""
    sentences = []
    for own in scores:
        if not own.foreign:
            continue
        asked = count(len(own.trials) - own.errors, "question")
        parts = [f"Of {asked}, {own.label} misses the answering passage in {len(own.missed)}"]
        for other in scores:
            if own.missed and not other.foreign:
                found = sum(other.trials[place].recall(5) > 0 for place in own.missed)
                parts.append(f"{other.label} finds {found} of them")
        sentences.append(f"{'; '.join(parts)}.")
    return sentences


def say_highest(best: Sequence["Score"], all_of_them: int, measure: str) -> str:
    """Name the methods with the largest mean of a measure."""
    if len(best) == all_of_them > 1:
        return f"All {len(best)} methods are equal."
    return f"Highest: {join_words([s.label for s in best])} with {best[0].intervals[measure].mean:.2f}."


def say_interval(found: "Interval") -> str:
    """Word the ends of an interval."""
    return f"{found.low:.2f} to {found.high:.2f}"


def say_gap(gap: "Interval") -> str:
    """Word a difference with its interval, each with its sign."""
    return f"{gap.mean:+.3f} ({gap.low:+.2f} to {gap.high:+.2f})"
