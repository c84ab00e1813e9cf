import base64
import json
import logging
import re
import time
import traceback
from contextlib import suppress
from types import SimpleNamespace
from urllib.parse import quote, quote_plus, unquote

import numpy as np
import pytest
from faults import FAULTS
from hypothesis import given
from hypothesis import strategies as st

from qafd.errors import (
    DeadlineError,
    MalformedReplyError,
    MissingKeyError,
    ModelError,
    RefusedError,
    UnreachableError,
)
from qafd.ingest.embedding import MeteredEmbedder
from qafd.models import Message, Reply, Streamed, with_json
from qafd.models.cost import Meter
from qafd.models.endpoint import Endpoint
from qafd.models.endpoint_embedder import EndpointEmbedder
from qafd.models.thoughts import Hearing, hear
from qafd.storage import open_workspace
from qafd.storage.rows import embedding_key

KEY = "sk-CANARY-0123456789"
ASK = [Message("user", "Name a color.")]
SCHEMA = {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]}
OUTCOMES = {
    "429": UnreachableError, "429 for a day": UnreachableError, "500": UnreachableError,
    "hang": DeadlineError, "drop": UnreachableError, "half body": UnreachableError,
    "redirect": RefusedError, "html": UnreachableError, "broken json": UnreachableError,
    "empty": MalformedReplyError, "no choices": MalformedReplyError,
    "null content": MalformedReplyError, "drip": DeadlineError, "endless": DeadlineError,
    "300 MB": DeadlineError, "drip headers": DeadlineError, "packed": UnreachableError,
    "deep": UnreachableError, "401": MissingKeyError, f"says 400 {KEY} is no key": RefusedError,
}


def endpoint(server, deadline=10, **named):
    model = Endpoint("tiny", server.url, KEY, deadline=deadline, **named)
    model.pause = 0.001
    return model


def patience(fault):
    """Seconds; what answers at once may take its time on a busy machine."""
    return 1.0 if OUTCOMES.get(fault) is DeadlineError else 10.0


@pytest.mark.parametrize("fault", OUTCOMES)
def test_every_fault_ends_before_the_deadline_with_its_own_error_that_has_no_key(server, fault, caplog):
    caplog.set_level(logging.DEBUG)
    server.fault = lambda *_: fault
    deadline = patience(fault)
    client = endpoint(server, deadline)
    begin = time.monotonic()
    with pytest.raises(ModelError) as caught:
        client.complete(ASK)
    assert time.monotonic() - begin < 5 * deadline
    assert type(caught.value) is OUTCOMES[fault]
    assert str(caught.value).endswith(".")
    assert KEY in server.bodies[0]["key"]
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    seen = "".join(traceback.format_exception(caught.value))
    assert KEY not in seen + caplog.text + repr(client)


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault not in ("truncated", "garbage")])
def test_every_fault_of_a_stream_ends_too(server, fault):
    server.fault = lambda *_: fault
    with pytest.raises(ModelError):
        for _ in endpoint(server, patience(fault)).stream(ASK):
            pass


@pytest.mark.parametrize("before", range(4))
def test_a_key_is_redacted_in_every_form_in_which_it_comes_back(server, before):
    key = "sk-proj/a+b==CANARY~0123456789"
    encoded = [base64.b64encode(b"x" * before + key.encode() + b":y").decode(),
               base64.urlsafe_b64encode(b"x" * before + key.encode()).decode().rstrip("="),
               quote(key), quote(key, safe=""), quote_plus(key), key.encode().hex(),
               json.dumps(key)]
    server.fault = lambda *_: "says 400 " + " ".join(encoded)
    with pytest.raises(RefusedError) as caught:
        Endpoint("tiny", server.url, key).complete(ASK)
    said = str(caught.value)
    assert "CANARY" not in unquote(said)
    for word in re.findall(r"[\w+/=-]{8,}", said):
        for decode in (base64.b64decode, base64.urlsafe_b64decode, bytes.fromhex):
            with suppress(ValueError):
                assert b"CANARY" not in decode(word + "=" * (-len(word) % 4))
    server.fault = lambda *_: "ok"
    server.reply = lambda _: "It is " + encoded[0]
    assert "".join(Endpoint("tiny", server.url, key).stream(ASK)).count("***") == 1


def test_what_passes_is_tried_again_and_what_does_not_is_not(server):
    faults = iter(["500", "429", "drop", "ok"])
    server.fault = lambda *_: next(faults)
    assert endpoint(server, 5).complete(ASK) == Reply("fine", 11, 7)
    assert len(server.bodies) == 4
    server.fault = lambda *_: "says 400 no such model"
    with pytest.raises(RefusedError, match="no such model"):
        endpoint(server, 5).complete(ASK)
    assert len(server.bodies) == 5


def test_a_wait_longer_than_the_deadline_is_not_waited(server):
    server.fault = lambda *_: "429 for a day"
    begin = time.monotonic()
    with pytest.raises(UnreachableError, match="86,400 s"):
        endpoint(server, 60).complete(ASK)
    assert time.monotonic() - begin < 5
    assert len(server.bodies) == 1


@pytest.mark.parametrize(("refused", "mode"), [
    ({}, "json_schema"), ({"json_schema"}, "json_object"),
    ({"json_schema", "json_object"}, "plain")], ids=["schema", "object", "plain"])
@pytest.mark.parametrize("status", [400, 422, 500])
def test_the_way_to_ask_for_json_is_found_once_and_remembered(server, refused, mode, status):
    def fault(_, body):
        kind = body.get("response_format", {}).get("type", "plain")
        return f"says {status} response_format is unknown" if kind in refused else "ok"

    server.fault = fault
    server.reply = lambda _: 'Sure:\n```json\n{"color": "red"}\n```'
    client = endpoint(server, 5)
    for _ in range(2):
        assert client.complete(ASK, schema=SCHEMA).text == '{"color": "red"}'
    assert client.json_mode == mode
    assert len(server.bodies) == len(refused) + 2


def test_tokens_that_the_server_does_not_count_are_estimated_and_marked(server):
    server.usage = None
    reply = endpoint(server).complete(ASK)
    assert reply.estimated
    assert reply.tokens_in > 3
    assert reply.tokens_out == 1


def test_a_stream_is_counted_by_the_server_that_can(server):
    pieces = endpoint(server).stream(ASK)
    assert next(pieces) == "fine "
    with pytest.raises(StopIteration) as end:
        next(pieces)
    assert end.value.value == Reply("fine ", 11, 7)
    assert server.bodies[0]["stream_options"] == {"include_usage": True}


def test_a_server_that_cannot_count_a_stream_is_not_asked_to_again(server):
    server.fault = lambda _, body: (
        "says 400 unknown field stream_options" if "stream_options" in body else "ok")
    client = endpoint(server, 5)
    assert list(client.stream(ASK)) == list(client.stream(ASK)) == ["fine "]
    assert len(server.bodies) == 3


THOUGHTS = {
    "closed": ("<think>{\"color\": \"blue\"} [3]</think>\n{\"color\": \"red\"}", '{"color": "red"}'),
    "open before": ("blue? [3] </think>{\"color\": \"red\"}", '{"color": "red"}'),
    "in the middle": ("{\"color\": <Thinking> blue? </Thinking> \"red\"}", '{"color": "red"}'),
    "in a string": ("{\"color\": \"<think>blue?</think>red\"}", '{"color": "red"}'),
    "in brackets": ("[THINK]{\"color\": \"blue\"}[/THINK]{\"color\": \"red\"}<|im_end|>",
                    '{"color": "red"}'),
    "tokens of turns": ("<|im_start|>{\"color\": <|END|>\"red\"}<end_of_turn>", '{"color": "red"}'),
    "twice": ("<think>a<think>b</think>c</think>{\"color\": \"red\"}", '{"color": "red"}'),
    "never closed": ("{\"color\": \"red\"} <think> or {\"color\": \"blue\"}", '{"color": "red"}'),
    "draft": ("{\"color\": \"blue\"}, no: {\"color\": \"red\"}", '{"color": "red"}'),
}


@pytest.mark.parametrize(("reply", "json"), THOUGHTS.values(), ids=THOUGHTS)
def test_what_a_model_thinks_is_no_part_of_its_reply(server, reply, json):
    server.reply = lambda _: reply
    assert endpoint(server).complete(ASK, schema=SCHEMA).text == json


@pytest.mark.parametrize("words", [
    ["<think>", "blue", "</think>", "red"], ["<th", "ink>blue</", "think>", "red"],
    ["[TH", "INK]blue[/THI", "NK]", "red"], ["red<|im", "_end|>"], ["<|eot_", "id|>red"],
    ["r", "e", "d", "<", "think> blue"], ["red<think>", "</think>"]])
def test_a_stream_shows_no_thought_however_it_is_cut(server, words):
    server.pieces = words
    streamed = Streamed(endpoint(server).stream(ASK))
    assert "".join(streamed).strip() == "red"
    assert streamed.reply.text.strip() == "red"


@given(st.lists(st.sampled_from(["<", "t", "think>", "</think>", "<think>", " a", "b<", "key", "k"])))
def test_a_stream_is_heard_as_the_whole_of_it(pieces):
    hearing = Hearing(("key",))
    shown = "".join([*map(hearing.add, pieces), hearing.end()])
    assert hearing.text == hear("".join(pieces), ("key",))
    assert "key" not in hearing.text
    assert shown.endswith(hearing.text)


def test_embeddings_come_in_order_as_unit_rows(server):
    model = EndpointEmbedder("tiny", server.url)
    rows = model.embed(["a", "b", ""])
    assert rows.shape == (3, 4)
    assert model.dimension == 4
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert np.array_equal(model.embed(["b"])[0], rows[1])
    assert model.embed([]).shape == (0, 4)


def test_a_batch_that_is_too_large_is_halved_and_the_size_remembered(server):
    server.largest = 3
    model = EndpointEmbedder("tiny", server.url)
    model.pause = 0.001
    model.batch = 16
    assert model.embed([str(i) for i in range(9)]).shape == (9, 4)
    assert [len(body["input"]) for body in server.bodies] == [16 - 7, 4, 2, 2, 2, 2, 1]


def test_a_model_whose_vectors_change_their_length_is_refused(server):
    model = EndpointEmbedder("tiny", server.url)
    model.pause = 0.001
    model.embed(["a"])
    server.dimension = 5
    with pytest.raises(MalformedReplyError, match=r"5 numbers where it gave 4"):
        model.embed(["a"])


@pytest.mark.parametrize("numbers", [[0, 0, 1], [0, 1], [1, 2, 3], [0, 1, -1], [0, 1, 2, 2], [0, 0, 0],
                                     [0, None, 2]], ids=str)
def test_vectors_of_which_nobody_knows_whose_they_are_are_refused(numbers, server, path):
    server.numbers = numbers
    with open_workspace(path) as store:
        store.vectors.stamp("tiny", 4)
    remote = EndpointEmbedder("tiny", server.url)
    remote.batch, remote.known_dimension = 3, 4
    model = MeteredEmbedder(remote, path, Meter())
    with pytest.raises((MalformedReplyError, UnreachableError)):
        model.embed(["a", "b", "c"])
    with open_workspace(path) as store:
        assert not store.vectors.get([embedding_key("tiny", text) for text in "abc"])


@pytest.mark.parametrize("row", [[0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0]])
def test_vectors_that_are_zero_or_not_finite_are_refused(row):
    answer = SimpleNamespace(data=[SimpleNamespace(index=0, embedding=row)])
    client = SimpleNamespace(embeddings=SimpleNamespace(create=lambda **_: answer))
    with pytest.raises(MalformedReplyError, match="zero or not finite"):
        EndpointEmbedder("m", client=client).embed(["a"])


@pytest.mark.parametrize("text", ["", "red", "[1]", '{"color": "re', '{"colour": "red"}',
                                  "{" * 100_000])
def test_a_reply_without_the_json_is_malformed_and_its_tokens_are_known(text):
    with pytest.raises(MalformedReplyError, match="color") as caught:
        with_json(Reply(text, 1, 2), SCHEMA)
    assert caught.value.tokens == (1, 2, False)


@pytest.mark.parametrize(("finish", "cut"), [("stop", False), ("length", True), (None, True)])
def test_a_stream_that_ends_without_a_reason_is_cut(server, finish, cut):
    server.finish = finish
    streamed = Streamed(endpoint(server).stream(ASK))
    assert "".join(streamed) == "fine "
    assert streamed.reply.cut == cut


@pytest.mark.parametrize("streams", [True, False], ids=["as a stream", "as JSON"])
@pytest.mark.parametrize("parts", [False, True], ids=["whole", "in parts"])
def test_a_reply_is_read_in_whatever_form_it_is_sent(streams, parts, server):
    server.streams, server.parts = streams, parts
    server.reply = lambda _: "thinking </think>It is fine"
    streamed = Streamed(endpoint(server).stream(ASK))
    assert "".join(streamed).endswith("It is fine" + " " * streams)
    assert streamed.reply.text.strip() == "It is fine"
    assert (streamed.reply.tokens_in, streamed.reply.cut) == (11, False)
    assert endpoint(server).complete(ASK).text == "It is fine"


def test_the_error_that_a_server_sends_within_a_stream_is_shown(server):
    server.error = "out of memory on the second card"
    with pytest.raises(UnreachableError, match="out of memory on the second card"):
        "".join(endpoint(server).stream(ASK))


@pytest.mark.parametrize("complaint", [
    "System role not supported", "unsupported role: system",
    "Conversation roles must alternate user/assistant/user/assistant/..."])
def test_a_model_without_a_role_for_instructions_gets_them_with_the_question(complaint, server):
    refused = f"says 400 {complaint}"
    server.fault = lambda _, body: refused if body["messages"][0]["role"] == "system" else "ok"
    asked = [Message("system", "Be brief."), Message("user", "Who?"), Message("assistant", "Ada."),
             Message("user", "And then?")]
    assert endpoint(server).complete(asked).text == "fine"
    assert server.bodies[-1]["messages"] == [
        {"role": "user", "content": "Be brief.\n\nWho?"}, {"role": "assistant", "content": "Ada."},
        {"role": "user", "content": "And then?"}]


@pytest.mark.parametrize(("fault", "cut"), [("truncated", True), ("garbage", False)])
def test_a_whole_reply_in_place_of_a_stream_is_cut_if_it_says_so(fault, cut, server):
    server.fault = lambda *_: fault
    streamed = Streamed(endpoint(server).stream(ASK))
    assert "".join(streamed) == streamed.reply.text != ""
    assert streamed.reply.cut == cut
