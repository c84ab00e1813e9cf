"""Estimates of the cost of a run, from the least to the most."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from qafd.models import Message
from qafd.models.cost import Metered, tokens_of
from qafd.storage import Workspace, open_workspace

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


Follow = Callable[[Sequence[Message], str], Sequence[Message]]
"""The request that comes after a request and its reply."""


def plan_run(llm: Metered, requests: Iterable[tuple[Sequence[Message], int]], max_tokens: int, *,
             rounds: int = 1, follow: Follow | None = None, in_flight: int = 4) -> RunPlan:
    """Return the plan of a run.

    Parameters
    ----------
    requests : iterable of (messages, passages)
        Each request with its number of passages.
    max_tokens : int
        The limit of a reply.
    rounds : int
        Calls for each request if none fails.
    follow : callable, optional
        Makes the request of a later round; rounds that were answered before are then not counted.

    Notes
    -----
    The lower end uses the mean tokens and seconds of the model's earlier replies in this workspace.
    Without any, a reply counts as half as long as its request.
    """
    cached, shown, calls, total, guessed, most, longest = 0, 0, 0, 0, 0, 0, 0
    with open_workspace(llm.workspace) as store:
        before = [total for total in store.ledger.totals("model") if total.what == llm.name]
        for messages, passages in requests:
            messages, left = _find_unanswered(store, llm, messages, max_tokens, rounds, follow)
            if not left:
                cached += passages
                continue
            shown += passages
            size = tokens_of(messages)
            calls += left
            total += left * size
            guessed += left * min(size // 2, max_tokens)
            again, alone = 0, 0
            if passages > 1 and left == rounds:  # each may be asked about once more, alone
                again, alone = passages, size + (passages - 1) * tokens_of(messages[:1])
            most += (left + 1) * (1 + again)
            longest += (left + 1) * (size + alone) + left * (1 + again) * max_tokens
    mean = before[0].tokens_out / before[0].calls if before and before[0].tokens_out else None
    out = (round(mean * calls) if mean else guessed, most * max_tokens)
    into = (total, longest)
    pace = before[0].seconds / before[0].calls if before else None
    return RunPlan(
        shown + cached, cached, (calls, most), into, out,
        None if llm.price is None else (llm.price.of(into[0], out[0]),
                                        llm.price.of(into[1], out[1])),
        None if pace is None else (calls * pace / in_flight, most * pace / in_flight))


def _find_unanswered(store: Workspace, llm: Metered, messages: Sequence[Message], max_tokens: int,
                     rounds: int, follow: Follow | None) -> tuple[Sequence[Message], int]:
    """Return the first unanswered request of a conversation, and the number of rounds left."""
    for done in range(rounds):
        call = store.ledger.good_call(llm.key(messages, None, max_tokens))
        if call is None:
            return messages, rounds - done
        if follow is not None:
            messages = follow(messages, call.reply)
    return messages, 0
