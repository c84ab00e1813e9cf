"""What a model did not read as it should: the passages, the reasons, the raw replies."""

import json

import pytest
from tiny import tiny_index

from qafd.cli import main
from qafd.curate.files import unread
from qafd.errors import StoreError
from qafd.ingest.reader import ModelChoice, choose
from qafd.storage import open_workspace

RECORD = "entity<|#|>Ada<|#|>person<|#|>Ada is named.\n<|COMPLETE|>"


def read(path, server, *files, **choice):
    with open_workspace(path) as store:
        choose(store, ModelChoice("tiny", server.url, **choice))
    tiny_index(path, files)


def spoiled(body):
    """No record for a passage with Bob, one for others."""
    asked = json.dumps(body["messages"])
    return "I cannot <b>do</b> that.\nSorry." if "Bob" in asked else RECORD


def test_a_passage_without_a_record_shows_what_the_model_said(path, server, capsys):
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
