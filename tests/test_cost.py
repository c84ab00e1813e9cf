import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from faults import serving
from test_llm_extract import answering, digest, indexed, lines
from tiny import killed, started, tiny_index

from qafd.errors import (
    DeadlineError,
    MalformedReplyError,
    ModelError,
    ParameterError,
    RefusedError,
    ReplyLimitError,
    SpendingCapError,
)
from qafd.ingest.reader import ModelChoice, choose
from qafd.models import CallSettings, Message, Recorded, Reply, calls_of
from qafd.models.cost import (
    FREE,
    Allowance,
    Cap,
    Meter,
    Metered,
    Price,
    Spent,
    meter_of,
    plan_run,
    tokens_of,
)
from qafd.models.endpoint import Endpoint
from qafd.storage import open_workspace

ASK = [Message("user", "Name a color.")]


def metered(path, *replies, cap=None, price=FREE, **named):
    return Metered(Recorded(replies), path, Meter(cap), price, **named)


def calls(path):
    with open_workspace(path) as store, store.snapshot() as connection:
        return connection.execute(
            "SELECT status, reply, tokens_in, tokens_out, cost FROM llm_calls").fetchall()


def test_a_reply_is_paid_once(path):
    model = metered(path, Reply("red", 10, 2), price=Price(1, 10), run="r1", purpose="test")
    for _ in range(3):
        assert model.about(question="color?").complete(ASK).text == "red"
    assert calls(path) == [("ok", "red", 10, 2, pytest.approx(3e-5))]
    assert model.meter.spent == Spent(1, 12, pytest.approx(3e-5))
    with open_workspace(path) as store:
        (total,) = store.ledger.totals("question")
    assert (total.what, total.calls, total.tokens_in, total.cost) == (
        "color?", 1, 10, pytest.approx(3e-5))


@pytest.mark.parametrize("changed", [
    {"messages": [Message("user", "Name a color!")]},
    {"messages": [Message("system", "Name a color.")]},
    {"schema": {"type": "object"}}, {"max_tokens": 5}], ids=["text", "role", "schema", "length"])
def test_whatever_is_sent_differently_is_another_call(path, changed):
    model = metered(path, '{"a": 1}', '{"a": 2}')
    model.complete(ASK)
    model.complete(**({"messages": ASK} | changed))
    assert len(calls(path)) == 2


def test_a_reply_of_no_use_is_noted_and_not_kept(path):
    model = metered(path, "bad", MalformedReplyError("none"), RefusedError("no"),
                    DeadlineError("late"), "good", accepts=lambda reply: reply.text == "good")
    assert model.complete(ASK).text == "bad"
    for error in (MalformedReplyError, RefusedError, DeadlineError):
        with pytest.raises(error):
            model.complete(ASK)
    assert model.complete(ASK).text == "good"
    assert model.complete(ASK).text == "good"
    assert [row[0] for row in calls(path)] == ["rejected", "rejected", "failed", "failed", "ok"]
    assert model.meter.spent.calls == 5


def test_a_stream_is_kept_when_it_is_whole(path):
    model = metered(path, "a red one", "a red one")
    pieces = model.stream(ASK)
    next(pieces)
    pieces.close()
    assert "".join(model.stream(ASK)) == "a red one"
    assert list(model.stream(ASK)) == ["a red one"]
    assert [row[:2] for row in calls(path)] == [("failed", "a "), ("ok", "a red one")]


@pytest.mark.parametrize(("cap", "word"), [
    (Cap(calls=2), "calls"), (Cap(tokens=2 * 1050), "tokens"), (Cap(cost=2 * 1050e-6), "dollars")],
    ids=["calls", "tokens", "money"])
def test_a_cap_is_never_exceeded(path, cap, word):
    replies = [Reply("x", tokens_of(ASK), 1024) for _ in range(9)]
    model = metered(path, *replies, cap=cap, price=Price(1, 1))
    model.complete(ASK)
    with pytest.raises(SpendingCapError, match=word):
        [model.complete([Message("user", str(i))]) for i in range(9)]
    spent = model.meter.spent
    assert spent.calls <= (cap.calls or 9)
    assert spent.tokens <= (cap.tokens or 10**9)
    assert spent.cost <= (cap.cost or 10**9)
    assert len(calls(path)) == spent.calls


def test_a_cap_holds_for_calls_side_by_side():
    meter = Meter(Cap(calls=10))
    passed = []

    def take():
        for _ in range(20):
            try:
                meter.reserve(Spent(1))
            except SpendingCapError:
                return
            passed.append(1)
            meter.settle(Spent(1), Spent(1))

    with ThreadPoolExecutor(8) as pool:
        for _ in range(8):
            pool.submit(take)
    assert len(passed) == 10


def test_a_resumed_run_knows_what_it_has_spent(path):
    metered(path, Reply("x", 10, 5), price=Price(1, 1), run="job 1").complete(ASK)
    with open_workspace(path) as store:
        assert meter_of(store, Cap(), "job 1").spent == Spent(1, 15, pytest.approx(1.5e-5))
        assert meter_of(store, Cap(), "job 2").spent == Spent()


def test_the_plan_reaches_from_the_least_to_the_most(path):
    model = metered(path, Reply("x", 100, 50), price=Price(1, 2))
    requests = [[Message("user", f"word {i}")] for i in range(4)]
    model.complete(requests[0], max_tokens=200)
    plan = plan_run(model, [(messages, 1) for messages in requests], 200)
    sent = sum(map(tokens_of, requests[1:]))
    assert (plan.passages, plan.cached, plan.calls) == (4, 1, (3, 6))
    assert plan.tokens_out == (150, 1200)
    assert plan.tokens_in == (sent, 2 * sent + 600)
    assert plan.cost == (pytest.approx((sent + 300) / 1e6),
                         pytest.approx((2 * sent + 600 + 2400) / 1e6))
    assert plan_run(metered(path, price=None), [(requests[0], 1)], 200).cost is None


def asking(server, path, cap=None, **named):
    client = Endpoint("tiny", server.url, **named)
    client.pause = 0.001
    return Metered(client, path, Meter(cap), Price(1, 1), server.url)


@pytest.mark.parametrize("fault", ["half body", "broken json", "html"])
def test_requests_whose_reply_is_unreadable_are_paid_up_to_the_cap_and_no_further(
        server, path, fault):
    server.fault = lambda *_: fault
    model = asking(server, path, Cap(tokens=2 * 1100))
    with pytest.raises(ModelError):
        model.complete(ASK)
    assert len(server.bodies) == 2  # a third could pass the cap
    assert [row[3] for row in calls(path)] == [1024, 1024]
    assert model.meter.spent.calls == 2
    assert 2 * 1024 < model.meter.spent.tokens <= 2 * 1100


@pytest.mark.parametrize("fault", ["500", "429", "401", "says 400 no temperature here"])
def test_every_request_is_counted_and_noted_and_a_declined_one_costs_nothing(server, path, fault):
    faults = iter([fault] * 3)
    server.fault = lambda *_: next(faults, "ok")
    model = asking(server, path)
    with suppress(ModelError):
        model.complete(ASK)
    assert len(calls(path)) == len(server.bodies) == model.meter.spent.calls
    assert all(row[2] == row[3] == 0 for row in calls(path) if row[0] == "failed")


def test_a_stream_that_breaks_off_is_paid_as_reserved(server, path):
    server.pieces = ["red "] * 3
    server.breaks = True
    model = asking(server, path)
    with pytest.raises(ModelError):
        list(model.stream(ASK))
    ((status, text, _, received, _),) = calls(path)
    assert (status, text, received) == ("failed", "red red red ", 1024)


def test_equal_questions_at_once_are_paid_once(server, path):
    server.hold = threading.Event()
    model = asking(server, path)
    found = []
    threads = [threading.Thread(target=lambda: found.append(model.complete(ASK).text)),
               threading.Thread(target=lambda: found.extend(model.stream(ASK)))]
    for thread in threads:
        thread.start()
    server.hold.set()
    for thread in threads:
        thread.join()
    assert [text.strip() for text in found] == ["fine", "fine"]
    assert len(server.bodies) == 1


@pytest.fixture
def allowance(tmp_path):
    Allowance.share(tmp_path / "spending.json", Cap(calls=3))
    assert isinstance(Meter.shared, Allowance)
    yield Meter.shared
    Meter.shared = None


def test_what_all_spend_on_a_day_is_capped_together_and_kept(path, allowance):
    metered(path, "a", cap=Cap(calls=1)).complete(ASK)
    one = metered(path, "b", "c", cap=Cap(calls=1))
    one.complete([Message("user", "b")])
    with pytest.raises(SpendingCapError, match="--max-calls"):
        one.complete([Message("user", "c")])
    Allowance.take(Allowance.describe())  # as another process does
    other = metered(path, "d", "e")
    other.complete([Message("user", "d")])
    with pytest.raises(SpendingCapError, match="per day"):
        other.complete([Message("user", "e")])
    assert len(calls(path)) == 3


@pytest.mark.parametrize(("purpose", "setting"), [
    ("answer", "in Settings, Calls, or with --reply-tokens"),
    ("extract", "with 'qafd index --reply-tokens")])
@pytest.mark.replies(reply=lambda _: '{"high_level_keywords": ["x"], "low_level_keywords": []}')
def test_a_used_up_limit_is_sent_paid_and_names_its_setting(server, path, purpose, setting):
    server.fault = lambda *_: "truncated"
    endpoint = Endpoint("tiny", server.url).with_settings(CallSettings(reply_tokens=77))
    model = Metered(endpoint, str(path), Meter(), FREE, purpose=purpose)
    with pytest.raises(ReplyLimitError, match=setting):
        model.complete([Message("user", "Who?")], schema={"required": ["questions"]},
                       max_tokens=calls_of(model).reply_tokens)
    assert 77 in (server.bodies[-1].get("max_tokens"), server.bodies[-1].get("max_completion_tokens"))
    with open_workspace(path) as store:
        (total,) = store.ledger.totals("purpose")
    assert total.tokens_out > 0


def test_a_call_over_midnight_counts_on_the_day_that_it_began(tmp_path):
    days = iter(["2026-01-01", "2026-01-02", "2026-01-02"])
    meter = Allowance(tmp_path / "spending.json", Cap(calls=2), lambda: next(days))
    evening = meter.reserve(Spent(1, 500))
    assert meter.reserve(Spent(1, 100)) == "2026-01-02"
    meter.settle(Spent(1, 500), Spent(1, 20), evening)
    meter.reserve(Spent(1, 100))
    assert json.loads(meter.file.read_text()) == {
        "2026-01-01": {"calls": 1, "tokens": 20, "cost": 0.0},
        "2026-01-02": {"calls": 2, "tokens": 200, "cost": 0.0}}


def test_a_clock_that_is_set_back_begins_nothing(tmp_path):
    days = iter(["2026-01-02", "2026-01-01", "2025-12-31"])
    meter = Allowance(tmp_path / "spending.json", Cap(calls=2), lambda: next(days))
    meter.reserve(Spent(1))
    meter.reserve(Spent(1))
    with pytest.raises(SpendingCapError):
        meter.reserve(Spent(1))


@pytest.mark.parametrize("text", [
    "", "{", "[]", "5", '{"day": 1}', '{"2026-01-01": {"calls": -9}}', "[" * 100_000,
    '{"2026-01-01": {"calls": 1, "tokens": 1e9, "cost": 0}}', '{"soon": {"calls": 1}}',
    '{"2026-01-01": {"calls": 1, "cost": NaN}}', '{"2026-01-01": {"more": 1}}',
    '{"2026-01-01": {"cost": -Infinity}}', f'{{"2026-01-01": {{"calls": 1{"0" * 400}}}}}', "\xff", None])
def test_a_damaged_file_of_spending_stops_the_calls(path, allowance, text):
    if text is None:
        allowance.file.mkdir()
    else:
        allowance.file.write_bytes(text.encode("latin-1"))
    model = metered(path, "a")
    with pytest.raises(ParameterError, match="spending.json"):
        model.complete(ASK)
    assert model.llm.asked == []


def test_a_reply_is_stored_before_its_cost_is_settled(path, allowance):
    class Spoiler(Recorded):
        def complete(self, messages, **options):
            allowance.file.write_text("no more")
            return super().complete(messages, **options)

    model = Metered(Spoiler(["red"]), path, Meter(), FREE)
    with pytest.raises(ParameterError):
        model.complete(ASK)
    assert model.complete(ASK).text == "red"


def test_a_cap_of_the_day_in_dollars_needs_a_price(path, tmp_path):
    Allowance.share(tmp_path / "spending.json", Cap(cost=1.0))
    try:
        with pytest.raises(ParameterError, match="no price for recorded"):
            metered(path, price=None)
    finally:
        Meter.shared = None


@pytest.mark.parametrize("count", [10**30, 2**63 - 1, -5, "7", float("nan"), 1.5, None, True])
@pytest.mark.parametrize("name", ["prompt_tokens", "completion_tokens"])
def test_tokens_that_nobody_can_have_counted_are_ours(server, path, count, name):
    server.usage = {"prompt_tokens": 11, "completion_tokens": 7, name: count}
    reply = asking(server, path).complete(ASK)
    assert reply.estimated
    assert reply.tokens_in + reply.tokens_out < 100
    with open_workspace(path) as store:
        (total,) = store.ledger.totals("model")
    assert total.calls == 1


def paid_index(path, url, files):
    with open_workspace(path) as store:
        choose(store, ModelChoice("tiny", url, in_flight=3))
    tiny_index(path, files)


@pytest.mark.chaos
def test_killed_and_resumed_a_run_pays_at_most_the_calls_in_flight_again(path, tmp_path):
    files = [("many.jsonl", lines(30))]
    with serving(answering) as server:
        for stop in (5, 14):
            reached = server.hang_from(stop)
            process = started(paid_index, path, server.url, files)
            assert reached.wait(60)
            killed(process)
        server.fault = lambda *_: "ok"
        before = server.faults["ok"]
        paid_index(path, server.url, files)
        assert server.faults["ok"] <= 30 + 2 * 3  # two kills, three calls in flight
        assert server.faults["ok"] - before <= 30 - (before - 2 * 3)
        indexed(tmp_path / "other.db", server, files)
    assert digest(path) == digest(tmp_path / "other.db")
    with open_workspace(path) as store:
        assert len(store.ledger.totals("chunk")) == 30
