"""Words for an evaluation: names and meanings of measures, and verdicts on differences."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qafd.wording import join_words
from qafd.wording.counts import count

if TYPE_CHECKING:
    from qafd.evaluate import Score
    from qafd.evaluate.measures import Interval


@dataclass(frozen=True)
class MeasureWords:
    """The names of a measure, for people, in a narrow table, in a sentence, and its meaning."""

    label: str
    column: str
    phrase: str
    meaning: str


MEASURES = {
    "recall@5": MeasureWords(
        "Found in 5", "R@5", "share of gold passages found in 5",
        "The share of a question's gold passages among the first 5 that a method ranks."),
    "recall@2": MeasureWords(
        "Found in 2", "R@2", "share of gold passages found in 2",
        "The share of a question's gold passages among the first 2 that a method ranks. Use it to "
        "compare methods on few passages."),
    "precision@5": MeasureWords(
        "Passage precision", "P@5", "precision of the first 5 passages",
        "Gold passages among the first 5, divided by 5: with two gold passages it is at most 0.40."),
    "f1@5": MeasureWords(
        "Passage F1", "F1@5", "F1 of the first 5 passages",
        "Harmonic mean of the share of gold passages found in the first 5 and of the share of gold "
        "among these 5."),
    "node_recall": MeasureWords(
        "Nodes found", "node R", "recall of the retrieved nodes",
        "The share of a question's gold nodes among the entities that a method retrieved."),
    "node_precision": MeasureWords(
        "Node precision", "node P", "precision of the retrieved nodes",
        "The share of gold nodes among the entities that a method retrieved. Retrieving more than "
        "needed lowers it."),
    "node_f1": MeasureWords(
        "Node F1", "node F1", "F1 of the retrieved nodes",
        "Harmonic mean of the share of gold nodes found and of the share of gold among the "
        "retrieved entities.")}


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
        parts = [f"Of {asked}, {own.label} misses what answers in {len(own.missed)}"]
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


def say_interval(found: "Interval", digits: int = 2) -> str:
    """Word the ends of an interval."""
    return f"{found.low:.{digits}f} to {found.high:.{digits}f}"


def say_gap(gap: "Interval", digits: int = 3) -> str:
    """Word a difference with its interval, each with its sign."""
    ends = max(digits - 1, 1)
    return f"{gap.mean:+.{digits}f} ({gap.low:+.{ends}f} to {gap.high:+.{ends}f})"
