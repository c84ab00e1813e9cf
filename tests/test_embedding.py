"""Vectors from an endpoint: in the ledger, under the cap, in full requests, and paid for once."""

import re

import numpy as np
import pytest
from test_llm_extract import answering, lines
from tiny import killed, started, tiny_index

from qafd.errors import RefusedError, SpendingCapError
from qafd.ingest import plan
from qafd.ingest.reader import ModelChoice, choose
from qafd.knowledge import KnowledgeGraph
from qafd.models.cost import Cap, Meter, Price, Spent
from qafd.models.endpoint_embedder import EndpointEmbedder
from qafd.storage import open_workspace

pytestmark = pytest.mark.replies(reply=answering)


def indexed(path, server, files=(), run="", **choice):
    with open_workspace(path) as store:
        choose(store, ModelChoice(**{"embedder": "vectors", "embedder_url": server.url, "attempts": 1}
                             | choice))
    tiny_index(path, files, run=run)


def sent(server):
    return [body["input"] for body in server.bodies if "input" in body]


def texts(server):
    """What was sent of documents, without the word that tells the dimension."""
    return [text for some in sent(server) for text in some if text != "word"]


def test_many_passages_are_one_request_and_keep_their_vectors(path, server):
    indexed(path, server, [("many.jsonl", lines(40))])
    # 40 passages of one sentence in reads of 16, then at most 40 titles, 41 names and 7 places
    assert len(sent(server)) <= 1 + 3 + 2
    alone = EndpointEmbedder("vectors", server.url)
    with open_workspace(path) as store:
        log = store.log.read()
        for chunk, extraction in zip(log.chunks, log.extractions, strict=True):
            (found,) = store.passages.sentences([chunk.id]).values()
            start, end = extraction.sentences[0]
            assert found[0][2] @ alone.embed([chunk.text[start:end]])[0] > 0.999


def test_no_text_is_sent_twice(path, server):
    indexed(path, server, [("a.txt", b"Ada met Bob. Ada met Bob. Bob met Cyd.")])
    assert len(texts(server)) == len(set(texts(server)))


def test_requests_are_in_the_ledger_with_document_tokens_money_and_time(path, server):
    indexed(path, server, [("many.jsonl", lines(3)), ("a.txt", b"Ada met Bob.")], run="r1",
            embed_price=Price(2.0, 0.0))
    with open_workspace(path) as store:
        (total,) = store.ledger.totals("purpose")
        documents = {total.what for total in store.ledger.totals("document")}
        assert [t.what for t in store.ledger.totals("run")] == ["r1"]
    assert (total.what, total.calls, total.tokens_out) == ("embed", len(sent(server)), 0)
    assert total.estimated
    assert total.tokens_in >= sum(len(text.split()) for text in texts(server))
    assert total.cost == pytest.approx(total.tokens_in * 2e-6)
    assert total.seconds > 0
    assert "a.txt" in documents


@pytest.mark.parametrize("cap", [Cap(calls=3), Cap(tokens=1000), Cap(cost=1000e-6)],
                         ids=["calls", "tokens", "money"])
def test_a_cap_stops_before_the_request_and_nothing_is_paid_twice(path, server, tmp_path, cap):
    files = [("many.jsonl", lines(60))]
    with pytest.raises(SpendingCapError, match="so it was not made"):
        indexed(path, server, files, cap=cap, embed_price=Price(1.0, 0.0))
    with open_workspace(path) as store:
        (total,) = store.ledger.totals("model")
    assert 0 < total.calls <= (cap.calls or 99)
    assert total.tokens_in <= (cap.tokens or 1000)
    assert total.calls == len(sent(server))
    indexed(path, server)
    assert len(texts(server)) == len(set(texts(server)))
    indexed(tmp_path / "other.db", server, files)
    with open_workspace(path) as store, open_workspace(tmp_path / "other.db") as other:
        assert store.graph.digest() == other.graph.digest()


def test_one_cap_holds_for_reading_and_embedding(path, server):
    with pytest.raises(SpendingCapError, match="cap of 6 calls"):
        indexed(path, server, [("many.jsonl", lines(20))], model="tiny", base_url=server.url,
                cap=Cap(calls=6))
    assert len(server.bodies) == 6
    assert 0 < len(sent(server)) < 6


def test_an_outage_between_requests_repeats_none_of_them(path, server):
    files = [("many.jsonl", lines(60))]
    for stop in (2, 4):
        server.fault = lambda n, _, stop=stop: "ok" if n < stop else "400"
        with pytest.raises(RefusedError, match="400"):
            indexed(path, server, files)
        server.bodies[stop:] = []  # what was refused is not paid for
    server.fault = lambda *_: "ok"
    indexed(path, server)
    assert len(texts(server)) == len(set(texts(server)))


def test_a_question_is_counted_once_and_for_itself(path, server):
    indexed(path, server, [("a.txt", b"Ada met Bob in Paris.")])
    for _ in range(2):
        knowledge = KnowledgeGraph.open(path)
        before = len(sent(server))
        knowledge.plan("Who met Ada?")
    assert len(sent(server)) == before
    with open_workspace(path) as store:
        totals = {total.what: total.calls for total in store.ledger.totals("question")}
    assert totals["Who met Ada?"] == 1


def test_a_question_stops_at_the_cap_of_its_session(path, server):
    indexed(path, server, [("a.txt", b"Ada met Bob in Paris.")])
    meter = Meter(Cap(calls=0))
    with pytest.raises(SpendingCapError, match="cap of 0 calls"):
        KnowledgeGraph.open(path, meter=meter).plan("Who met Ada?")
    assert meter.spent == Spent()


def test_the_plan_holds_what_the_run_then_takes(path, server):
    files = [("many.jsonl", lines(50)), ("a.txt", b"Ada met Bob. Bob met Cyd. Dan met Ada.")]
    choice = ModelChoice(embedder="vectors", embedder_url=server.url, embed_price=Price(3.0, 0.0))
    before = plan(path, files, choice)
    assert before.passages == 0
    found = before.embedding
    assert server.bodies == []
    assert not path.exists()
    indexed(path, server, files, embed_price=Price(3.0, 0.0))
    with open_workspace(path) as store:
        (total,) = store.ledger.totals("model")
    assert found.tokens / 2 <= total.tokens_in <= found.tokens + 1  # one asks for the dimension
    assert found.cost == pytest.approx(found.tokens * 3e-6)
    after = plan(path, (), choice).embedding
    assert (after.tokens, after.cost) == (0, 0)
    assert plan(path, (), choice, anew=True).embedding == found


def test_a_text_that_is_too_long_has_the_mean_of_its_halves_and_harms_no_other(server):
    def fault(_, body):
        if any(len(text) > 200 for text in body["input"]):
            return "says 500 input (600 tokens) is too large to process"
        return "ok"

    server.fault = fault
    model = EndpointEmbedder("m", server.url, attempts=3)
    model.pause = 0.001
    long = "word " * 30 + "other " * 25  # 300 characters
    rows = model.embed(["a", "b", long, "c"])
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    server.fault = lambda *_: "ok"
    assert np.array_equal(rows[[0, 1, 3]], model.embed(["a", "b", "c"]))
    cut = long.rfind(" ", 1, 150)
    halves = model.embed([long[:cut], long[cut:]]) * [[cut], [300 - cut]]
    mean = halves.sum(axis=0)
    assert np.allclose(rows[2], mean / np.linalg.norm(mean), atol=1e-6)
    server.bodies.clear()
    model.embed([str(i) for i in range(64)])
    assert len(server.bodies) == 1  # the others are still sent together


def test_the_key_is_in_no_file_after_a_run(path, server):
    key = "sk-CANARY-0123456789"
    with open_workspace(path) as store:
        choose(store, ModelChoice(embedder="vectors", embedder_url=server.url))
    tiny_index(path, [("a.txt", b"Ada met Bob.")], keys={server.url: key})
    assert server.bodies[0]["key"] == f"Bearer {key}"
    assert not [file for file in path.parent.iterdir()
                if re.search(key.encode(), file.read_bytes())]


def embedding_index(path, url, files):
    with open_workspace(path) as store:
        choose(store, ModelChoice(embedder="vectors", embedder_url=url))
    tiny_index(path, files)


@pytest.mark.chaos
def test_killed_and_resumed_only_the_request_in_flight_is_paid_again(path, server, tmp_path):
    files = [("many.jsonl", lines(60))]
    for stop in (2, 4):
        reached = server.hang_from(stop)
        process = started(embedding_index, path, server.url, files)
        assert reached.wait(60)
        killed(process)
    server.fault = lambda *_: "ok"
    embedding_index(path, server.url, files)
    twice = len(texts(server)) - len(set(texts(server)))
    assert 0 < twice <= 2 * 64  # two kills, a request of 64 texts in flight
    indexed(tmp_path / "other.db", server, files)
    with open_workspace(path) as store, open_workspace(tmp_path / "other.db") as other:
        assert store.graph.digest() == other.graph.digest()
