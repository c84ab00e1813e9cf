"""Erasing: the bytes are gone, what rests on other documents stays, and what is said of it."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tiny import TinyEmbedder, TinyExtractor, save_run, tiny_index

from qafd.errors import BusyError, ModelError, StoreError
from qafd.ingest import Footprint, erase, measure_footprint
from qafd.installation import check_workspace
from qafd.records import node_id
from qafd.storage import open_workspace
from qafd.storage.rows import Call

ADA = ("ada.txt", b"Ada met Bob in Paris. Bob left.")
SECRET = ("secret.txt", b"Ada hid the Xylophone of Quimper under Zanzibar.")
MARKS = (b"ylophone", b"uimper", b"anzibar")


def erased(path, name):
    return erase(path, [name], extractor=TinyExtractor, embedder=TinyEmbedder)


def on_disk(path):
    """All bytes of a workspace and of what lies beside it."""
    return b"".join(file.read_bytes() for file in path.parent.iterdir() if file.is_file())


def call(**what):
    return Call("k" + "".join(what.values()), what.pop("purpose", "extract"), "m", "ok",
                what.pop("reply", "Quimper, says the model"), 5, 7, cost=0.25, **what)


@pytest.mark.parametrize("deleted", [True, False])
def test_no_byte_of_an_erased_document_is_left(path, deleted):
    tiny_index(path, [ADA, SECRET])
    with open_workspace(path) as store:
        store.ledger.put(call(document="secret.txt", chunk="c"))
        store.ledger.put(call(question="Where is it?", purpose="answer"))
        store.layers.put("summaries", "v", 1, b"Quimper")
        save_run(store, passages=[{"document": "secret.txt", "text": "under Zanzibar."}])
        if deleted:
            store.documents.delete("secret.txt")
    Path(f"{path}.log").write_bytes(b"ValueError: Ada hid the Xylophone")
    if deleted:
        tiny_index(path)
    assert all(mark in on_disk(path) for mark in MARKS)
    erased(path, "secret.txt")
    assert not [mark for mark in (*MARKS, b"secret.txt") if mark in on_disk(path)]
    assert all(check.ok for check in check_workspace(path, deep=True))


def test_what_stays_is_as_if_the_document_had_never_been(path, tmp_path):
    tiny_index(path, [ADA, SECRET])
    erased(path, "secret.txt")
    with open_workspace(path) as store:
        assert not store.graph.stale
        assert node_id("entity", "ada") in store.graph.read().row
        assert node_id("entity", "quimper") not in store.graph.read().row
        digest = store.graph.digest()
    assert tiny_index(tmp_path / "other.db", [ADA]) == digest


def test_runs_go_that_quote_it_or_name_what_only_it_names(path):
    tiny_index(path, [ADA, SECRET])
    with open_workspace(path) as store:
        ada, only = ({"id": node_id("entity", key)} for key in ("ada", "quimper"))
        passage = {"document": "secret.txt", "text": "Ada hid"}
        stays = [save_run(store), save_run(store, nodes=[ada]),
                 save_run(store, passages=[{"document": "ada.txt", "text": "Ada"}])]
        for quoting in ({"nodes": [ada, only]}, {"passages": [passage]},
                        {"parts": [{"passages": [passage]}]}):
            save_run(store, **quoting)
        assert measure_footprint(store, ["secret.txt"]).runs == 3
        assert erased(path, "secret.txt").runs == 3
        with store.snapshot() as connection:
            assert {row[0] for row in connection.execute("SELECT id FROM runs")} == set(stays)


def test_a_run_goes_with_the_document_that_alone_states_its_relation(path):
    tiny_index(path, [ADA, ("third.txt", b"Bob met Ada. Ada paid Paris.")])
    ada, bob, paris = (node_id("entity", key) for key in ("ada", "bob", "paris"))
    with open_workspace(path) as store:
        stays = save_run(store, edges=[{"source": ada, "target": bob, "label": "met"},
                                   {"source": ada, "target": paris, "label": "left"}])
        save_run(store, edges=[{"source": paris, "target": ada, "label": "met"}])
        assert measure_footprint(store, ["third.txt"]).runs == 1
        erased(path, "third.txt")
        with store.snapshot() as connection:
            assert [row[0] for row in connection.execute("SELECT id FROM runs")] == [stays]


def test_replies_that_may_quote_it_go_and_what_they_cost_stays(path):
    tiny_index(path, [ADA, SECRET])
    with open_workspace(path) as store:
        store.ledger.put(call(document="secret.txt"))
        store.ledger.put(call(question="Where?", purpose="answer"))
        store.ledger.put(call(question="Where?", purpose="plan", reply="its keywords"))
        store.ledger.put(call(document="ada.txt", reply="Ada is named"))
        cost = [(total.calls, total.cost) for total in store.ledger.totals("model")]
    assert erased(path, "secret.txt").replies == 2
    with open_workspace(path) as store:
        assert [(total.calls, total.cost) for total in store.ledger.totals("model")] == cost == [(4, 1.0)]
        with store.snapshot() as connection:
            assert [row[0] for row in connection.execute("SELECT reply FROM llm_calls")] == [
                "", "", "its keywords", "Ada is named"]


def test_one_record_of_a_file_is_erased_with_the_bytes_of_the_file(path):
    two = b"".join(json.dumps({"id": key, "text": text}).encode() + b"\n" for key, text in (
        ("one", "Ada met Bob."), ("two", "Quimper hid Zanzibar.")))
    tiny_index(path, [("two.jsonl", two)])
    with open_workspace(path) as store, store.transaction() as connection:
        # as it is kept while a passage could not be read
        connection.execute("UPDATE files SET data = ?, status = 'failed'", (two,))
    gone = erased(path, "two.jsonl#two")
    assert (gone.documents, gone.passages) == (1, 1)
    assert b"uimper" not in on_disk(path)
    with open_workspace(path) as store:
        assert [d.name for d in store.documents.all()] == ["two.jsonl#one"]
        assert store.files.retry(["two.jsonl"]) == 1
        assert store.files.all()[0].status == "extracting"
        with store.transaction() as connection:
            connection.execute("UPDATE files SET status = 'queued', data = ?", (two,))
        with pytest.raises(StoreError, match=r"two\.jsonl, which has 'two\.jsonl#one', waits"):
            measure_footprint(store, ["two.jsonl#one"])


def test_of_several_names_all_are_erased_or_none(path):
    tiny_index(path, [ADA, SECRET])
    with pytest.raises(StoreError, match="nothing called 'eve.txt'"):
        erase(path, ["ada.txt", "eve.txt"], extractor=TinyExtractor, embedder=TinyEmbedder)
    with open_workspace(path) as store:
        assert len(store.documents.all()) == 2
    gone = erase(path, ["ada.txt", "secret.txt", "ada.txt"], extractor=TinyExtractor,
                 embedder=TinyEmbedder)
    assert gone == Footprint(("ada.txt", "secret.txt"), 2, 2, 0, 0)
    assert not [mark for mark in (*MARKS, b"Paris") if mark in on_disk(path)]


def test_a_file_that_was_never_read_is_erased_too(path):
    tiny_index(path, [ADA])
    with open_workspace(path) as store:
        store.files.hold([SECRET])
        assert measure_footprint(store, ["secret.txt"]).passages == 0
    erased(path, "secret.txt")
    assert b"uimper" not in on_disk(path)


def test_a_reader_of_the_earlier_state_is_told_of(path):
    tiny_index(path, [ADA, SECRET])
    with open_workspace(path) as store:
        with store.snapshot() as connection:
            connection.execute("PRAGMA busy_timeout = 50")
        with closing(sqlite3.connect(path)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM documents").fetchone()
            store.documents.purge("secret.txt")
            store.assembly.drop()
            with pytest.raises(BusyError, match="erase or wipe again"):
                store.scrub()
        assert b"uimper" in on_disk(path)
        store.scrub()
        assert b"uimper" not in on_disk(path)


def test_a_graph_that_cannot_be_made_anew_is_dropped_with_its_texts(path):
    class Broken(TinyEmbedder):
        def embed(self, *_):
            raise ModelError("It is broken.")

    tiny_index(path, [ADA, SECRET])
    with open_workspace(path) as store, store.transaction() as connection:
        connection.execute("DELETE FROM embeddings")
    with pytest.raises(ModelError):
        erase(path, ["secret.txt"], extractor=TinyExtractor, embedder=Broken)
    assert b"uimper" not in on_disk(path)
    tiny_index(path)
    with open_workspace(path) as store:
        assert node_id("entity", "bob") in store.graph.read().row


def test_wiping_leaves_nothing_beside_the_file(path):
    tiny_index(path, [SECRET])
    with open_workspace(path) as store:
        Path(f"{path}.columns").write_bytes(SECRET[1])
        store.wipe()
    assert not [mark for mark in MARKS if mark in on_disk(path)]
