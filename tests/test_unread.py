"""What a model did not read as it should: the passages, the reasons, the raw replies."""

import json
from pathlib import Path

import pytest
from faults import FaultServer
from tiny import TinyEmbedder, TinyExtractor

from qafd.cli import main
from qafd.errors import SpendingCapError, StoreError
from qafd.index import index
from qafd.index.reader import Choice, choose
from qafd.llm.cost import Cap
from qafd.store import Store
from qafd.store.unread import unread

RECORD = "entity<|#|>Ada<|#|>person<|#|>Ada is named.\n<|COMPLETE|>"


def read(path: Path, server: FaultServer, *files: tuple[str, bytes], **choice: object) -> None:
    with Store.open(path) as store:
        choose(store, Choice("tiny", server.url, **choice))
    index(path, files, extractor=TinyExtractor, embedder=TinyEmbedder, processes=1)


def spoiled(body: dict[str, object]) -> str:
    """No record for a passage with Bob, one for others."""
    asked = json.dumps(body["messages"])
    return "I cannot <b>do</b> that.\nSorry." if "Bob" in asked else RECORD


def test_a_passage_without_a_record_shows_what_the_model_said(
        path: Path, server: FaultServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.reply = spoiled
    read(path, server, ("a.txt", b"Ada met Bob."), ("b.txt", b"Ada wrote."))
    with Store.open(path) as store:
        one, = unread(store, "a.txt")
        assert unread(store, "b.txt") == ()
        assert one.reason == next(iter(store.doubts()["a.txt"]))
        with pytest.raises(StoreError, match=r"no file called 'c\.txt'"):
            unread(store, "c.txt")
    assert (one.document, one.number) == ("a.txt", 1)
    assert one.replies == ("I cannot <b>do</b> that.\nSorry.",) * 2
    assert main(["docs", "--db", str(path), "--errors", "a.txt"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "a.txt, passage 1: two replies of the model held no record"
    assert said[1:3] == ["    | I cannot <b>do</b> that.", "    | Sorry."]
    assert main(["docs", "--db", str(path), "--errors", "a.txt", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["passages"][0]["replies"] == list(one.replies)
    assert main(["docs", "--db", str(path), "--errors", "b.txt"]) == 3
    assert main(["docs", "--db", str(path), "--errors", "c.txt"]) == 1


def test_a_passage_whose_calls_failed_is_named_until_it_is_read(
        path: Path, server: FaultServer) -> None:
    server.reply = lambda _: RECORD
    server.fault = lambda *_: "500"
    read(path, server, ("a.txt", b"Ada met Bob."), attempts=1)
    with Store.open(path) as store:
        one, = unread(store, "a.txt")
        assert one.reason == "the last call to the model failed"
        assert one.replies == ("",)
        store.retry(["a.txt"])
    server.fault = lambda *_: "ok"
    read(path, server)
    with Store.open(path) as store:
        assert unread(store, "a.txt") == ()


def test_a_passage_that_nobody_was_asked_about_is_not_named(
        path: Path, server: FaultServer) -> None:
    server.fault = lambda *_: "500"
    two = "".join(json.dumps({"id": n, "text": "Ada met Bob."}) + "\n" for n in range(2))
    with pytest.raises(SpendingCapError):
        read(path, server, ("two.jsonl", two.encode()), attempts=1, in_flight=1, cap=Cap(calls=1))
    with Store.open(path) as store:
        assert store.files()[0].passages == 2
        assert [one.number for one in unread(store, "two.jsonl")] == [1]
