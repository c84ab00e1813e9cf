"""Prices of language models, estimates of a run, and caps of a run or a day that stop before a call."""

import hashlib
import json
import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar
from weakref import WeakValueDictionary

from qafd.errors import (
    MalformedReplyError,
    ModelError,
    ParameterError,
    ReplyLimitError,
    SpendingCapError,
)
from qafd.json_files import lock_file, replace_json
from qafd.models import LLM, Message, Reply, name_limit, retrying
from qafd.reading.text import count_tokens
from qafd.storage import Workspace, open_workspace
from qafd.storage.rows import Call

TURN = 300.0  # seconds that one waits for another who asks the same
_GUARD = Lock()
_ASKED: WeakValueDictionary[object, Any] = WeakValueDictionary()


@dataclass(frozen=True)
class Price:
    """Dollars for a million tokens in, and out; finite and >= 0."""

    tokens_in: float
    tokens_out: float

    def __post_init__(self) -> None:
        if not all(math.isfinite(p) and p >= 0 for p in (self.tokens_in, self.tokens_out)):
            raise ParameterError(f"{self.tokens_in} and {self.tokens_out} are not prices; give dollars, 0 "
                                 "or more")

    def of(self, tokens_in: int, tokens_out: int) -> float:
        """Return the cost of some tokens, in dollars."""
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
                raise ParameterError(f"a cap of {most} {what} is not valid; give 0 or more")


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
    """A counter of a run's spending that refuses calls that could exceed its cap; thread-safe.

    Parameters
    ----------
    spent : Spent
        The spending of an earlier part of the run.
    """

    shared: ClassVar["Meter | None"] = None
    """A meter in which all others of this process count too; see `qafd.models.cost`."""
    scope = "run"

    def __init__(self, cap: Cap | None = None, spent: Spent | None = None) -> None:
        self.cap = cap or Cap()
        self.spent = spent or Spent()
        self._lock = Lock()

    def reserve(self, most: Spent) -> str:
        """Count the most that the next request can cost, before it is made.

        Returns the day of the shared meter that it counts on, for `settle`.

        Raises
        ------
        SpendingCapError
            That could exceed the cap of this meter or of the shared one; nothing is counted.
        """
        day = self.shared.reserve(most) if self.shared is not None else ""
        try:
            with self._lock:
                self._check(most)
                self.spent = self.spent + most
        except SpendingCapError:
            if self.shared is not None:
                self.shared.settle(most, Spent(), day)
            raise
        return day

    def settle(self, reserved: Spent, real: Spent, day: str = "") -> None:
        """Replace a reserved amount by the real cost of the request."""
        with self._lock:
            self.spent = self.spent - reserved + real
        if self.shared is not None:
            self.shared.settle(reserved, real, day)

    def check_prices(self, name: str, price: Price | None) -> None:
        """Raise ParameterError if there is a cap in dollars and the model has no price."""
        capped = [meter.cap.cost for meter in (self, self.shared) if meter is not None]
        if price is None and any(cost is not None for cost in capped):
            raise ParameterError(f"there is no price for {name}, so its cost cannot be "
                                 "capped; enter its price in Settings, or cap calls or "
                                 "tokens instead of dollars")

    def _check(self, most: Spent) -> None:
        after = self.spent + most
        for cap, name, option, value, had in (
                (self.cap.calls, "calls", "calls", after.calls, self.spent.calls),
                (self.cap.tokens, "tokens", "tokens", after.tokens, self.spent.tokens),
                (self.cap.cost, "dollars", "cost", after.cost, self.spent.cost)):
            if cap is None or value <= cap:
                continue
            if self.scope == "day":
                raise SpendingCapError(f"The next call could exceed the cap of {cap:,} {name} "
                                       f"per day for all sessions together ({had:,.6g} "
                                       "spent or under way), so it was not made; raise it in "
                                       "Settings, or continue tomorrow.")
            raise SpendingCapError(f"The next call could exceed the cap of {cap:,} {name} "
                                   f"({had:,.6g} spent or under way), so it was not made; "
                                   f"raise the cap, in Settings or with --max-{option}, and "
                                   "continue.")


class Bill:
    """The HTTP requests of one call: each is reserved before it is made and noted once it ended.

    Parameters
    ----------
    workspace : str
        The URL of the workspace with the ledger.
    most : Call
        The largest possible cost, noted for a request whose tokens were not counted.
    """

    def __init__(self, meter: Meter, workspace: str, price: Price | None, most: Call) -> None:
        self._meter, self._workspace, self._price = meter, workspace, price
        self._most = most
        self._reserved = self._price_call(most)
        self._since: float | None = None
        self._day = ""
        self.heard = ""
        self._begin()

    @contextmanager
    def open(self) -> Iterator[None]:
        """Note a request that fails or breaks off inside, with the part `heard` until then."""
        failure: ModelError | None = None
        try:
            yield
        except ReplyLimitError as error:
            failure = name_limit(error, self._most.purpose)
            raise failure from error
        except ModelError as error:
            failure = error
            raise
        finally:
            self.fail(failure, self.heard)

    def again(self, failure: ModelError) -> None:
        """Note a request that failed, and reserve the next; see `calls`."""
        self.fail(failure)
        self._begin()

    def fail(self, failure: ModelError | None, heard: str = "") -> None:
        """Note a request without a useful reply; `failure` is None if our side broke it off.

        The reserved amount stays, unless its tokens were counted or nothing is to pay.
        """
        call = replace(self._most, reply=heard)
        if isinstance(failure, MalformedReplyError):
            call = replace(call, status="rejected")
            sent, received, estimated = failure.tokens
            if not estimated:
                call = replace(call, tokens_in=sent, tokens_out=received, estimated=False)
        elif failure is not None and not failure.paid:
            call = replace(call, tokens_in=0, tokens_out=0)
        self.note(call)

    def note(self, call: Call) -> None:
        """Store the request that is under way, if there is one, and settle its cost."""
        if self._since is None:
            return
        seconds, self._since = time.monotonic() - self._since, None
        spent = self._price_call(call)
        try:
            # Before settling, which may fail: the reply is paid.
            with open_workspace(self._workspace) as store:
                store.ledger.put(replace(call, cost=spent.cost if self._price else None,
                                         seconds=seconds))
        finally:
            self._meter.settle(self._reserved, spent, self._day)

    def _begin(self) -> None:
        self._day = self._meter.reserve(self._reserved)
        self._since = time.monotonic()

    def _price_call(self, call: Call) -> Spent:
        cost = self._price.of(call.tokens_in, call.tokens_out) if self._price else 0.0
        return Spent(1, call.tokens_in + call.tokens_out, cost)


@contextmanager
def take_turn(name: object) -> Iterator[None]:
    """Let one of several equal requests run; the others wait, then find its reply stored."""
    with _GUARD:
        lock = _ASKED.setdefault(name, Lock())
    mine = lock.acquire(timeout=TURN)
    try:
        yield
    finally:
        if mine:
            lock.release()


def useful(reply: Reply) -> bool:
    """Return True if a reply is not empty."""
    return bool(reply.text.strip())


def keep_readable(client: LLM, read: Callable[[str], object]) -> LLM:
    """Let a metered model store only readable replies, so that it asks for the others again.

    Parameters
    ----------
    read : callable
        Raises MalformedReplyError for the text of a reply that it cannot read, or what `json` raises.
    """
    def is_readable(reply: Reply) -> bool:
        try:
            read(reply.text)
        except (MalformedReplyError, ValueError, AttributeError):  # no JSON, or none of an object
            return False
        return True

    return replace(client, accepts=is_readable) if isinstance(client, Metered) else client


@dataclass(frozen=True)
class Metered:
    """A model whose calls are capped, noted in the workspace, and never paid for twice.

    A reply that `accepts` takes is stored when the call ends, under a hash of everything that was
    sent. The same request is then answered from the workspace. Replies that it does not take are
    noted and requested again. An `LLM`.

    Parameters
    ----------
    llm : LLM
    workspace : str
        The URL of the workspace.
    price : Price, optional
        Without one there is no cap on money.
    address : str
        The endpoint's address: one name can be two models at two addresses.
    purpose, run, chunk, document, question : str
        Columns of the ledger; `chunk` has the ids of all passages shown, separated by spaces.
    """

    llm: LLM
    workspace: str
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
        self.meter.check_prices(self.name, self.price)

    @property
    def name(self) -> str:
        """The model's name."""
        return self.llm.name

    def about(self, *, chunk: str = "", document: str = "", question: str = "") -> "Metered":
        """Return the same model with the purpose of its next calls."""
        return replace(self, chunk=chunk, document=document, question=question)

    def key(self, messages: Sequence[Message], schema: Mapping[str, Any] | None,
            max_tokens: int) -> str:
        """Return a hash of everything that is sent, and where to."""
        return request_key(self.address, self.name, messages, schema, max_tokens)

    def find_stored(self, key: str) -> Reply | None:
        """Return the useful reply to an earlier call with this key."""
        with open_workspace(self.workspace) as store:
            return _find_stored(store, key)

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None,
                 max_tokens: int = 1024) -> Reply:
        """Return one reply, from the workspace when it is there; see `LLM`.

        Raises
        ------
        SpendingCapError
            The call could exceed the cap; it was not made.
        """
        key = self.key(messages, schema, max_tokens)
        # opened once: opening takes most of the time of a call here
        with take_turn((self.workspace, key)), open_workspace(self.workspace) as store:
            known = _find_stored(store, key)
            if known is not None:
                return known
            bill = self._bill(key, messages, max_tokens)
            with bill.open():
                with retrying(bill.again):
                    reply = self.llm.complete(messages, schema=schema, max_tokens=max_tokens)
                bill.note(self._call(key, reply))
        return reply

    def stream(self, messages: Sequence[Message], *,
               max_tokens: int = 1024) -> Generator[str, None, Reply]:
        """Yield the reply piece by piece, then return all of it; a stored one is one piece."""
        key = self.key(messages, None, max_tokens)
        with take_turn((self.workspace, key)):
            known = self.find_stored(key)
            if known is not None:
                yield known.text
                return known
            bill = self._bill(key, messages, max_tokens)
            pieces = self.llm.stream(messages, max_tokens=max_tokens)
            with bill.open():
                while True:
                    try:
                        with retrying(bill.again):
                            piece = next(pieces)
                    except StopIteration as end:
                        reply: Reply = end.value
                        break
                    bill.heard += piece
                    yield piece
                bill.note(self._call(key, reply))
        return reply

    def _bill(self, key: str, messages: Sequence[Message], max_tokens: int) -> Bill:
        most = Call(key, self.purpose, self.name, "failed", "", tokens_of(messages), max_tokens,
                    True, False, None, 0.0, self.chunk, self.document, self.question, self.run)
        return Bill(self.meter, self.workspace, self.price, most)

    def _call(self, key: str, reply: Reply) -> Call:
        status = "ok" if self.accepts(reply) else "rejected"
        return Call(key, self.purpose, self.name, status, reply.text, reply.tokens_in,
                    reply.tokens_out, reply.estimated, reply.cut, None, 0.0, self.chunk,
                    self.document, self.question, self.run)


def request_key(address: str, model: str, messages: Sequence[Message],
                schema: Mapping[str, Any] | None, max_tokens: int) -> str:
    """Return a hash of everything that is sent, and where to."""
    sent = [address, model, [[m.role, m.content] for m in messages], schema, max_tokens]
    return hashlib.sha256(json.dumps(sent, sort_keys=True).encode()).hexdigest()


def _find_stored(store: Workspace, key: str) -> Reply | None:
    """Return the reply to an earlier call with this key."""
    call = store.ledger.good_call(key)
    return None if call is None else Reply(
        call.reply, call.tokens_in, call.tokens_out, call.estimated, call.cut)


def tokens_of(messages: Sequence[Message]) -> int:
    """Estimate the tokens of a conversation, rather too many than too few."""
    return math.ceil(1.1 * sum(8 + count_tokens(message.content) for message in messages))


def meter_of(store: Workspace, cap: Cap, run: str) -> Meter:
    """Return a meter that includes the spending of an interrupted part of the same run."""
    totals = store.ledger.totals("run", run)
    return Meter(cap, Spent(sum(t.calls for t in totals),
                            sum(t.tokens_in + t.tokens_out for t in totals),
                            sum(t.cost for t in totals)))


Range = tuple[float, float]
Count = tuple[int, int]


@dataclass(frozen=True)
class EmbeddingPlan:
    """The highest cost of vectors from an endpoint: each passage, its sentences and its names."""

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


MOST = 10**15  # calls, tokens or dollars that a day can have
KEPT = 3  # days in the file: a call that began before midnight is settled against its own


def today() -> str:
    """Return the date in UTC."""
    return datetime.now(UTC).date().isoformat()


class Allowance(Meter):
    """A meter that is stored in a file and restarts at midnight UTC.

    If the clock is set back, the latest day of the file goes on. A file that cannot be read stops
    all calls, because the amount spent is unknown.

    Parameters
    ----------
    file : path
        Created at the first paid call.
    cap : Cap
        The cap of one day.
    clock : callable
        Returns the date.
    """

    scope = "day"

    def __init__(self, file: Path, cap: Cap, clock: Callable[[], str] = today) -> None:
        super().__init__(cap)
        self.file, self._clock = file, clock

    @classmethod
    def share(cls, file: Path, cap: Cap) -> None:
        """Let all meters of this process count here too."""
        Meter.shared = cls(file, cap)

    @staticmethod
    def describe() -> list[Any] | None:
        """Describe the shared allowance for another process, see `take`."""
        shared = Meter.shared
        return [str(shared.file), asdict(shared.cap)] if isinstance(shared, Allowance) else None

    @classmethod
    def take(cls, description: list[Any] | None) -> None:
        """Share the allowance that another process described."""
        if description is not None:
            cls.share(Path(description[0]), Cap(**description[1]))

    def reserve(self, most: Spent) -> str:
        """Count the most that the next request can cost; return the day that it counts on."""
        with self._lock, self._days() as days:
            day = max([self._clock(), *days])
            self.spent = days.get(day, Spent())
            self._check(most)
            days[day] = self.spent = self.spent + most
        return day

    def settle(self, reserved: Spent, real: Spent, day: str = "") -> None:
        """Replace an amount reserved on a day by the real cost of the request."""
        with self._lock, self._days() as days:
            if day in days:
                days[day] = days[day] - reserved + real

    @contextmanager
    def _days(self) -> Iterator[dict[str, Spent]]:
        """Read the spending of each day, and write it back as the block changed it."""
        try:
            with lock_file(self.file):
                days = self._read()
                yield days
                replace_json(self.file, {day: asdict(days[day]) for day in sorted(days)[-KEPT:]})
        except OSError as error:
            raise ParameterError(f"the file of the day's spending, {self.file}, cannot be read or "
                                 f"written ({error}); check it, or choose another QAFD_HOME"
                                 ) from error

    def _read(self) -> dict[str, Spent]:
        try:
            stored = json.loads(self.file.read_text("utf-8"))
            days = {date.fromisoformat(day).isoformat(): Spent(**spent) for day, spent in stored.items()}
            readable = all(map(_is_count, days.values()))
        except FileNotFoundError:
            return {}
        except (ValueError, TypeError, AttributeError, RecursionError):
            readable = False
        if not readable:
            raise ParameterError(f"{self.file} should list today's spending but cannot be read, so no "
                                 "call is made; delete it to restart the day at zero")
        return days


def _is_count(spent: Spent) -> bool:
    """Return True if these numbers can have been counted."""
    whole = type(spent.calls) is int and type(spent.tokens) is int
    return whole and isinstance(spent.cost, int | float) and all(
        0 <= number <= MOST for number in (spent.calls, spent.tokens, spent.cost))
