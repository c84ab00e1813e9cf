"""The command docs: searching, erasing, and what it refuses."""

import json
from pathlib import Path

import pytest

from qafd.cli import main
from qafd.knowledge import KnowledgeGraph

BOB = ("bob.txt", b"Bob hid the xylophone of Quimper.")


@pytest.fixture
def db(path, alone):
    knowledge = KnowledgeGraph(path)
    knowledge.add_text("ada.txt", "Ada Lovelace met Charles Babbage in London.")
    knowledge.add_text(BOB[0], BOB[1].decode())
    return str(path)


def test_a_search_prints_passages_with_the_words_marked(db, capsys):
    assert main(["docs", "--db", db, "--search", "london"]) == 0
    assert capsys.readouterr().out == (
        "ada  (ada.txt)\n    Ada Lovelace met Charles Babbage in [London].\n")
    assert main(["docs", "--db", db, "--search", "london", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["total"], found["hits"][0]["document"]) == (1, "ada.txt")
    assert ["London", True] in found["hits"][0]["parts"]
    assert main(["docs", "--db", db, "--search", '"AND NOT (']) == 3
    assert capsys.readouterr().err == "qafd: No passage has any of these words.\n"


def test_what_a_reader_left_out_is_reported_by_index_and_docs(db, tmp_path, capsys):
    mail = tmp_path / "trip.eml"
    mail.write_text("From: ann@club.example\nMessage-ID: <1@x>\nContent-Type: multipart/mixed; boundary=b\n\n"
                    "--b\n\nAda Lovelace came.\n--b\nContent-Disposition: attachment\n\nx\n--b--\n")
    assert main(["index", str(mail), "--db", db]) == 0
    assert "trip.eml: Left out: 1 attachment.\n" in capsys.readouterr().err
    assert main(["docs", "--db", db]) == 0
    assert "Left out: 1 attachment." in capsys.readouterr().out
    assert main(["docs", "--db", db, "--json"]) == 0
    notices = {file["name"]: file["notices"] for file in json.loads(capsys.readouterr().out)}
    assert [found for found in notices.values() if found] == [["Left out: 1 attachment."]]


def test_nothing_is_erased_without_yes_and_no_byte_is_left_with_it(db, capsys):
    assert main(["docs", "--db", db, "--erase", "bob.txt"]) == 2
    said = capsys.readouterr().err
    assert "Erasing bob.txt removes 1 document and 1 passage" in said
    assert said.endswith("Add --yes to erase.\n")
    assert b"uimper" in Path(db).read_bytes()
    assert main(["docs", "--db", db, "--delete", "ada.txt", "--erase", "bob.txt"]) == 2
    capsys.readouterr()
    with KnowledgeGraph(Path(db)).store() as store:  # the deletion waits for a yes too
        assert all(file.deleted_at is None for file in store.files.all())
    assert main(["docs", "--db", db, "--erase", "bob.txt", "--yes", "--json"]) == 0
    streams = capsys.readouterr()
    assert [file["name"] for file in json.loads(streams.out)] == ["ada.txt"]
    assert streams.err.startswith("qafd: Erased bob.txt: 1 document and 1 passage")
    beside = Path(db).parent.glob(f"{Path(db).name}*")
    assert not any(b"uimper" in file.read_bytes() for file in beside)
    assert main(["docs", "--db", db, "--erase", "bob.txt", "--yes"]) == 1
