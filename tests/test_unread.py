"""What a model did not read as it should: the passages, the reasons, the raw replies."""

import json
from pathlib import Path

import pytest
from faults import FaultServer
from tiny import TinyEmbedder, TinyExtractor, tiny_index

from qafd.cli import main
from qafd.curate.unread import find_nameless, unread
from qafd.errors import StoreError
from qafd.ingest import index
from qafd.ingest.reader import ModelChoice, choose
from qafd.storage import open_workspace

RECORD = "entity<|#|>Ada<|#|>person<|#|>Ada is named.\n<|COMPLETE|>"


def read(path: Path, server: FaultServer, *files: tuple[str, bytes], **choice: object) -> None:
    with open_workspace(path) as store:
        choose(store, ModelChoice("tiny", server.url, **choice))
    index(path, files, extractor=TinyExtractor, embedder=TinyEmbedder, processes=1)


def spoiled(body: dict[str, object]) -> str:
    """No record for a passage with Bob, one for others."""
    asked = json.dumps(body["messages"])
    return "I cannot <b>do</b> that.\nSorry." if "Bob" in asked else RECORD


def test_a_passage_without_a_record_shows_what_the_model_said(
        path: Path, server: FaultServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.reply = spoiled
    read(path, server, ("a.txt", b"Ada met Bob."), ("b.txt", b"Ada wrote."))
    with open_workspace(path) as store:
        one, = unread(store, "a.txt")
        assert unread(store, "b.txt") == ()
        assert one.reason == next(iter(store.log.doubts()["a.txt"]))
        with pytest.raises(StoreError, match=r"no file called 'c\.txt'"):
            unread(store, "c.txt")
    assert (one.document, one.number) == ("a.txt", 1)
    assert one.replies == ("I cannot <b>do</b> that.\nSorry.",) * 2
    assert main(["docs", "--db", str(path), "--errors", "a.txt"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("a.txt, passage 1: ")
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
    with open_workspace(path) as store:
        one, = unread(store, "a.txt")
        assert one.reason == "the last call to the model failed"
        assert one.replies == ("",)
        store.files.retry(["a.txt"])
    server.fault = lambda *_: "ok"
    read(path, server)
    with open_workspace(path) as store:
        assert unread(store, "a.txt") == ()


KOREAN = "서울은 대한민국의 수도이다. 한강이 도시를 가로질러 흐른다."


def passages(*texts: str) -> bytes:
    return "".join(json.dumps({"id": n, "text": text}) + "\n"
                   for n, text in enumerate(texts)).encode()


def test_what_a_model_has_read_is_not_told_to_choose_one(path: Path, server: FaultServer) -> None:
    server.reply = lambda _: "<|COMPLETE|>"
    tiny_index(path, [("ko.txt", KOREAN.encode())])
    with open_workspace(path) as store:
        assert find_nameless(store)
        choose(store, ModelChoice("tiny", server.url))
    index(path, [], extractor=TinyExtractor, embedder=TinyEmbedder, processes=1)
    with open_workspace(path) as store:
        assert store.log.extractor.startswith("tiny/")
        assert find_nameless(store) == ()
