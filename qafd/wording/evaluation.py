"""What an evaluation found: names and meanings of measures, and what differences are worth."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qafd.wording import say, say_list
from qafd.wording.counts import count

if TYPE_CHECKING:
    from qafd.evaluate import Score
    from qafd.evaluate.measures import Interval
    from qafd.evaluate.opinions import Estimate


@dataclass(frozen=True)
class MeasureWords:
    """What a measure is called: for people, in a narrow table, in a sentence; how it is counted."""

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
        "The share of a question's gold passages among the first 2 that a method ranks: what tells "
        "methods apart where there are few passages in all."),
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
        "The share of gold nodes among the entities that a method retrieved: who retrieves more "
        "than needed has less."),
    "node_f1": MeasureWords(
        "Node F1", "node F1", "F1 of the retrieved nodes",
        "Harmonic mean of the share of gold nodes found and of the share of gold among the "
        "retrieved entities.")}


def say_differences(scores: Sequence["Score"], measure: str) -> str:
    """What the differences of the first method to each other one by a measure are worth."""
    first, *others = scores
    better: list[str] = []
    worse: list[str] = []
    chance: list[str] = []
    for score in others:
        gap = score.differences[measure]
        if gap.certain:
            (better if gap.mean > 0 else worse).append(say(score.label))
        else:
            chance.append(say(score.label))
    said = []
    values = {"first": say(first.label), "phrase": say(MEASURES[measure].phrase)}
    if worse:
        said.append(say("By the {phrase}, {first} is better than {others}.", others=say_list(worse),
                        **values))
    if better:
        said.append(say("By the {phrase}, {first} is worse than {others}.", others=say_list(better),
                        **values))
    if chance and said:
        said.append(say("The difference to {others} may be chance.", others=say_list(chance)))
    elif chance:
        said.append(say("By the {phrase}, the difference between {first} and {others} may be chance.",
                        others=say_list(chance), **values))
    return " ".join(said)


def say_highest(best: Sequence["Score"], all_of_them: int, measure: str) -> str:
    """Which methods have the largest mean of a measure."""
    if len(best) == all_of_them > 1:
        return say("All {count} methods are equal.", count=len(best))
    return say("Highest: {methods} with {mean:.2f}.", methods=say_list([say(s.label) for s in best]),
               mean=best[0].intervals[measure].mean)


def say_interval(found: "Interval", digits: int = 2) -> str:
    """The ends of an interval."""
    return say("{low} to {high}", low=f"{found.low:.{digits}f}", high=f"{found.high:.{digits}f}")


def say_gap(gap: "Interval", digits: int = 3) -> str:
    """A difference with its interval, each with its sign."""
    ends = max(digits - 1, 1)
    return say("{mean} ({low} to {high})", mean=f"{gap.mean:+.{digits}f}", low=f"{gap.low:+.{ends}f}",
               high=f"{gap.high:+.{ends}f}")


def say_estimate(cost: "Estimate") -> str:
    """What asking a judge will take."""
    if not cost.calls:
        return say("no call, all {stored} were answered before.", stored=f"{cost.stored:,}")
    words = [say("{calls} more were answered before", calls=f"{cost.stored:,}")] if cost.stored else []
    if cost.cost is None:
        money = say("price not known")
    else:
        money = say("at most ~${cost}", cost=f"{cost.cost:,.4f}") if cost.cost else say("free")
    words.append(say("~{sent} tokens in, at most {received} out", sent=f"{cost.tokens_in:,}",
                     received=f"{cost.tokens_out:,}"))
    return f"{'; '.join([count(cost.calls, 'call'), *words, money])}."
