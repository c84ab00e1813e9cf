"""Estimates of the cost of a run, from the least to the most."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from qafd.models import Message
from qafd.models.cost import Metered, tokens_of
from qafd.storage import open_workspace

Range = tuple[float, float]
Count = tuple[int, int]


@dataclass(frozen=True)
class EmbeddingPlan:
    """The most that vectors from an endpoint take: a passage, once more as its sentences, and its names."""

    tokens: int
    cost: float | None


@dataclass(frozen=True)
class RunPlan:
    """The cost of reading passages with a model, from the least to the most.

    `cost` is None without a price, `seconds` None before the first call to this model. All but
    `passages`, `cached` and `calls` are estimates. The most is one retry for every request, each of
    its passages alone, and replies of full length. `embedding` is the extra cost of vectors from an
    endpoint.
    """

    passages: int
    cached: int
    calls: Count
    tokens_in: Count
    tokens_out: Count
    cost: Range | None
    seconds: Range | None
    embedding: EmbeddingPlan | None = None


NO_READING = RunPlan(0, 0, (0, 0), (0, 0), (0, 0), (0.0, 0.0), (0.0, 0.0))
"""The plan of a run without a language model."""


def plan_run(llm: Metered, requests: Iterable[tuple[Sequence[Message], int]], max_tokens: int, *,
             in_flight: int = 4) -> RunPlan:
    """Return the plan of a run.

    Parameters
    ----------
    requests : iterable of (messages, passages)
        Each request with its number of passages.
    max_tokens : int
        The limit of a reply.

    Notes
    -----
    The lower end uses the mean tokens and seconds of the model's earlier replies in this workspace.
    Without any, a reply counts as half as long as its request.
    """
    cached, shown, calls, total, guessed, most, longest = 0, 0, 0, 0, 0, 0, 0
    with open_workspace(llm.workspace) as store:
        before = [total for total in store.ledger.totals("model") if total.what == llm.name]
        for messages, passages in requests:
            if store.ledger.good_call(llm.key(messages, None, max_tokens)) is not None:
                cached += passages
                continue
            shown += passages
            size = tokens_of(messages)
            calls += 1
            total += size
            guessed += min(size // 2, max_tokens)
            again, alone = 0, 0
            if passages > 1:  # each may be asked about once more, alone
                again, alone = passages, size + (passages - 1) * tokens_of(messages[:1])
            most += 2 * (1 + again)
            longest += 2 * (size + alone) + (1 + again) * max_tokens
    mean = before[0].tokens_out / before[0].calls if before and before[0].tokens_out else None
    out = (round(mean * calls) if mean else guessed, most * max_tokens)
    into = (total, longest)
    pace = before[0].seconds / before[0].calls if before else None
    return RunPlan(
        shown + cached, cached, (calls, most), into, out,
        None if llm.price is None else (llm.price.of(into[0], out[0]),
                                        llm.price.of(into[1], out[1])),
        None if pace is None else (calls * pace / in_flight, most * pace / in_flight))
