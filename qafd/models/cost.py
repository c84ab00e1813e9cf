"""What language models cost: prices, and a cap that stops before the call."""

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any

from qafd.errors import DeadlineError, MalformedReplyError, ParameterError, SpendingCapError
from qafd.models import LLM, Message, Reply
from qafd.reading.text import count_tokens
from qafd.storage import Workspace, open_workspace
from qafd.storage.rows import Call


@dataclass(frozen=True)
class Price:
    """Dollars for a million tokens in, and out; finite and >= 0."""

    tokens_in: float
    tokens_out: float

    def __post_init__(self) -> None:
        if not all(math.isfinite(p) and p >= 0 for p in (self.tokens_in, self.tokens_out)):
            raise ParameterError(f"{self.tokens_in} and {self.tokens_out} are no prices; a price "
                                 "is a number of dollars >= 0")

    def of(self, tokens_in: int, tokens_out: int) -> float:
        """The cost of some tokens, in dollars."""
        return (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / 1e6


FREE = Price(0.0, 0.0)


@dataclass(frozen=True)
class Cap:
    """The most that a run may spend: calls, tokens in and out together, dollars; None is no cap."""

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None

    def __post_init__(self) -> None:
        for what, most in (("calls", self.calls), ("tokens", self.tokens), ("dollars", self.cost)):
            if most is not None and not most >= 0:  # NaN neither
                raise ParameterError(f"a cap of {most} {what} caps nothing; it is at least 0")

    @property
    def sentence(self) -> str:
        """The cap in words."""
        caps = [before + format(value, style) + after for value, before, style, after in (
            (self.calls, "", ",", " calls"), (self.tokens, "", ",", " tokens"),
            (self.cost, "$", ",.2f", "")) if value is not None]
        return (f"The run stops before it exceeds {', '.join(caps)}." if caps
                else "No cap is set.")


@dataclass(frozen=True)
class Spent:
    """Calls, tokens in and out together, and dollars."""

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0

    def __add__(self, more: "Spent") -> "Spent":
        return Spent(self.calls + more.calls, self.tokens + more.tokens, self.cost + more.cost)

    def __sub__(self, less: "Spent") -> "Spent":
        return Spent(self.calls - less.calls, self.tokens - less.tokens, self.cost - less.cost)


class Meter:
    """Counts what a run spends and refuses what could exceed its cap; thread-safe.

    Parameters
    ----------
    spent : Spent
        What an earlier part of the run has spent already.
    """

    def __init__(self, cap: Cap | None = None, spent: Spent | None = None) -> None:
        self.cap = cap or Cap()
        self.spent = spent or Spent()
        self._lock = Lock()

    def reserve(self, most: Spent) -> None:
        """Count the most that the next call can cost, before it is made.

        Raises
        ------
        SpendingCapError
            That could exceed the cap; nothing is counted.
        """
        with self._lock:
            after = self.spent + most
            for cap, name, option, value, had in (
                    (self.cap.calls, "calls", "calls", after.calls, self.spent.calls),
                    (self.cap.tokens, "tokens", "tokens", after.tokens, self.spent.tokens),
                    (self.cap.cost, "dollars", "cost", after.cost, self.spent.cost)):
                if cap is not None and value > cap:
                    raise SpendingCapError(
                        f"The next call could exceed the cap of {cap:,} {name} ({had:,.6g} spent "
                        "or under way), so it was not made; raise the cap, in Settings or with "
                        f"--max-{option}, and go on.")
            self.spent = after

    def settle(self, reserved: Spent, real: Spent) -> None:
        """Replace what was reserved by what the call did cost."""
        with self._lock:
            self.spent = self.spent - reserved + real


def useful(reply: Reply) -> bool:
    """A reply that says anything."""
    return bool(reply.text.strip())


@dataclass(frozen=True)
class Metered:
    """A model whose calls are capped, noted in the workspace, and never paid for twice.

    A reply that `accepts` takes is stored when the call ends, by a hash of everything that was
    sent; the same request is then answered from the workspace. Replies that it does not take are
    noted and asked for anew. An `LLM`.

    Parameters
    ----------
    llm : LLM
    path : path
        The workspace file.
    price : Price, optional
        Without one there is no cap on money.
    address : str
        Of the endpoint: one name can be two models at two addresses.
    purpose, run, chunk, document, question : str
        For the ledger.
    """

    llm: LLM
    path: Path
    meter: Meter
    price: Price | None = None
    address: str = ""
    purpose: str = ""
    run: str = ""
    chunk: str = ""
    document: str = ""
    question: str = ""
    accepts: Callable[[Reply], bool] = useful

    def __post_init__(self) -> None:
        if self.price is None and self.meter.cap.cost is not None:
            raise ParameterError(
                f"there is no price for {self.name}, so its cost cannot be capped; enter its price "
                "in Settings, or cap calls or tokens")

    @property
    def name(self) -> str:
        """The model's name."""
        return self.llm.name

    def about(self, *, chunk: str = "", document: str = "", question: str = "") -> "Metered":
        """The same model, with what its next calls are for."""
        return replace(self, chunk=chunk, document=document, question=question)

    def key(self, messages: Sequence[Message], schema: Mapping[str, Any] | None,
            max_tokens: int) -> str:
        """A hash of everything that is sent, and where to."""
        sent = [self.address, self.name, [[m.role, m.content] for m in messages], schema,
                max_tokens]
        return hashlib.sha256(json.dumps(sent, sort_keys=True).encode()).hexdigest()

    def stored(self, key: str) -> Reply | None:
        """The useful reply to an earlier call with this key."""
        with open_workspace(self.path) as store:
            return _stored(store, key)

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None,
                 max_tokens: int = 1024) -> Reply:
        """One reply, from the workspace when it is there; see `LLM`.

        Raises
        ------
        SpendingCapError
            The call could exceed the cap; it was not made.
        """
        key = self.key(messages, schema, max_tokens)
        with open_workspace(self.path) as store:  # once: opening is what a call costs here
            known = _stored(store, key)
            if known is not None:
                return known
            reserved = self._reserve(messages, max_tokens)
            begin = time.monotonic()
            reply, status = Reply("", 0, 0), "failed"
            try:
                reply = self.llm.complete(messages, schema=schema, max_tokens=max_tokens)
                status = "ok" if self.accepts(reply) else "rejected"
            except MalformedReplyError as error:
                reply, status = Reply("", *error.tokens), "rejected"
                raise
            except DeadlineError:
                reply = Reply("", tokens_of(messages), 0, True)  # it may have been paid
                raise
            finally:
                self._note(store, key, reply, status, time.monotonic() - begin, reserved)
        return reply

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> Iterator[str]:
        """The reply piece by piece; a stored one comes in one piece."""
        key = self.key(messages, None, max_tokens)
        known = self.stored(key)
        if known is not None:
            yield known.text
            return
        reserved = self._reserve(messages, max_tokens)
        begin = time.monotonic()
        text, counted, status = "", None, "failed"
        pieces = self.llm.stream(messages, max_tokens=max_tokens)
        try:
            while True:
                try:
                    piece = next(pieces)
                except StopIteration as end:
                    counted, status = end.value, "ok"
                    break
                text += piece
                yield piece
        finally:
            reply = counted or streamed(messages, text)
            if status == "ok" and not self.accepts(reply):
                status = "rejected"
            with open_workspace(self.path) as store:
                self._note(store, key, reply, status, time.monotonic() - begin, reserved)

    def _reserve(self, messages: Sequence[Message], max_tokens: int) -> Spent:
        sent = tokens_of(messages)
        most = Spent(1, sent + max_tokens, self.price.of(sent, max_tokens) if self.price else 0.0)
        self.meter.reserve(most)
        return most

    def _note(self, store: Workspace, key: str, reply: Reply, status: str, seconds: float,
              reserved: Spent) -> None:
        cost = self.price.of(reply.tokens_in, reply.tokens_out) if self.price else None
        self.meter.settle(reserved, Spent(1, reply.tokens_in + reply.tokens_out, cost or 0.0))
        store.ledger.put(Call(
            key, self.purpose, self.name, status, reply.text, reply.tokens_in,
            reply.tokens_out, reply.estimated, reply.cut, cost, seconds, self.chunk,
            self.document, self.question, self.run))


def streamed(messages: Sequence[Message], text: str) -> Reply:
    """A reply that came as a stream, whose tokens nobody counted."""
    return Reply(text, tokens_of(messages) if text else 0, count_tokens(text), estimated=True)


def _stored(store: Workspace, key: str) -> Reply | None:
    """The reply to an earlier call with this key."""
    call = store.ledger.good_call(key)
    return None if call is None else Reply(
        call.reply, call.tokens_in, call.tokens_out, call.estimated, call.cut)


def tokens_of(messages: Sequence[Message]) -> int:
    """About how many tokens a conversation has, counted here; rather too many than too few."""
    return math.ceil(1.1 * sum(8 + count_tokens(message.content) for message in messages))


def meter_of(path: Path, cap: Cap, run: str) -> Meter:
    """A meter that knows what an interrupted part of the same run has spent."""
    with open_workspace(path) as store:
        totals = store.ledger.totals("run", run)
    return Meter(cap, Spent(sum(t.calls for t in totals),
                            sum(t.tokens_in + t.tokens_out for t in totals),
                            sum(t.cost for t in totals)))
