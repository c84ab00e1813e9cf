"""Sentences about language models: readings of passages, and the cost of a run."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from qafd.wording.counts import HOUR, MINUTE, count

if TYPE_CHECKING:
    from qafd.models.cost import Cap
    from qafd.models.estimate import EmbeddingPlan, RunPlan

_DOUBTS = {
    "ungrounded": "two replies of the model named nothing in the passage, so it was read on "
                  "this machine",
    "cut": "the model's reply reached its limit and is incomplete",
    "near": "the model spells names differently from the passage ({names})",
}


def say_reading(doubt: str) -> str:
    """Word the problem with the reading of a passage; notes of old versions are sentences."""
    kind, _, names = doubt.partition(": ")
    template = _DOUBTS.get(kind)
    return doubt if template is None else template.format(names=names)


def say_readings(doubts: Sequence[str]) -> str:
    """Word the most frequent problem with the passages of a file."""
    often, _ = Counter(doubts).most_common(1)[0]
    return f"{count(len(doubts), 'passage')} not read as intended: {say_reading(often)}."


def say_reader(extractor: str) -> str:
    """Name the reader of the passages: the rules of this machine, or a model."""
    return "this machine" if extractor.startswith("local-") else extractor


def say_cap(cap: "Cap") -> str:
    """Word the cap of a run."""
    caps = []
    if cap.calls is not None:
        caps.append(count(cap.calls, "call"))
    if cap.tokens is not None:
        caps.append(count(cap.tokens, "token"))
    if cap.cost is not None:
        caps.append(f"${cap.cost:,.2f}")
    if not caps:
        return "No cap is set."
    return f"The run stops before it exceeds {', '.join(caps)}."


def say_reading_plan(plan: "RunPlan") -> str:
    """Word the cost of reading passages with a model."""
    return (f"{plan.passages:,} passages, {plan.cached:,} of them answered before; "
            f"{_say_range(plan.calls)} calls, ~{_say_range(plan.tokens_in)} tokens in, "
            f"~{_say_range(plan.tokens_out)} out; {_say_money(plan.cost)}; "
            f"{_say_time(plan.seconds)}.")


def say_writing_plan(plan: "RunPlan") -> str:
    """Word the cost of writing the texts of layers."""
    return (f"{count(plan.passages, 'text')}, {plan.cached:,} of them written before; "
            f"{_count_range(plan.calls, 'call')}, ~{_say_range(plan.tokens_in)} tokens in, "
            f"~{_say_range(plan.tokens_out)} out; {_say_money(plan.cost)}; "
            f"{_say_time(plan.seconds)}.")


def say_embedding_plan(plan: "EmbeddingPlan") -> str:
    """Word the cost of vectors from an endpoint."""
    return (f"~{_count_range(plan.texts, 'text')} to embed; "
            f"~{_count_range(plan.calls, 'call')}, ~{_count_range(plan.tokens, 'token')}; "
            f"{_say_money(plan.cost)}; {_say_time(plan.seconds)}.")


def _say_range(ends: tuple[int, int]) -> str:
    return f"{ends[0]:,} to {ends[1]:,}"


def _count_range(ends: tuple[int, int], noun: str) -> str:
    """Word a range of counts, "2 to 5 calls"; equal ends are one number, "1 call"."""
    low, high = ends
    if low == high:
        return count(low, noun)
    return f"{low:,} to {count(high, noun)}"


def _say_money(cost: tuple[float, float] | None) -> str:
    """Word a range of dollars, with six digits below one cent."""
    if cost is None:
        return "cost unknown: enter a price in Settings"
    digits = 2 if not cost[1] or cost[1] >= 0.01 else 6
    return f"${cost[0]:,.{digits}f} to ${cost[1]:,.{digits}f}"


def _say_time(seconds: tuple[float, float] | None) -> str:
    if seconds is None:
        return "time unknown before the first call"
    return f"{_say_duration(seconds[0])} to {_say_duration(seconds[1])}"


def _say_duration(seconds: float) -> str:
    if seconds < 1.5 * MINUTE:
        return f"{seconds:.0f} s"
    if seconds < 1.5 * HOUR:
        return f"{seconds / MINUTE:.0f} min"
    return f"{seconds / HOUR:.1f} h"
