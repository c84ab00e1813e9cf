"""Documents and Settings with models behind a loopback endpoint: plan, meter, ledger, vectors."""

import re
from pathlib import Path

import pytest
from clicks import page, press, shown

from qafd.ingest.jobs import enqueue, needs_worker, work
from qafd.ingest.reader import ModelChoice, choose, read_choice
from qafd.knowledge import KnowledgeGraph
from qafd.models.cost import Cap, Price
from qafd.preferences import Preferences, amend

KEY = "sk-CANARY-0123456789"


@pytest.fixture
def embedded(home, server):
    """A workspace whose vectors came from the endpoint."""
    knowledge = KnowledgeGraph.open(home / "mine.db")
    with knowledge.store() as store:
        choose(store, ModelChoice(embedder="vectors", embedder_url=server.url))
    knowledge.add_text("ada.txt", "Ada Lovelace met Charles Babbage in London. London is large.")
    return knowledge


def test_a_workspace_embedded_by_an_endpoint_is_opened_and_asked(embedded, server):
    before = len(server.bodies)
    app = page("explore", ws="mine", q="Whom did Ada Lovelace meet?")
    assert not app.error
    assert "Ada Lovelace met Charles Babbage" in re.sub(r"<[^>]+>", "", shown(app))  # names are marked
    asked = [body["input"] for body in server.bodies[before:]]
    assert len(asked) == 1  # its dimension is known and costs no call
    assert asked[0][0] == "Whom did Ada Lovelace meet?"
    assert "vectors, 4 dimensions" in shown(page("settings", ws="mine"))


def test_vectors_are_computed_anew_with_the_model_of_the_settings(home, server, monkeypatch):
    keys = []
    monkeypatch.setattr("qafd.app.documents.models.start_worker", lambda _, given: keys.append(given))
    knowledge = KnowledgeGraph.open(home / "mine.db")
    knowledge.add_text("ada.txt", "Ada Lovelace met Charles Babbage in London.")
    amend(home / "settings.json", Preferences(), Preferences("custom", server.url, "tiny", "vectors"))
    app = page("settings", ws="mine")
    app.text_input(key="typed_key").set_value(KEY).run()
    app.selectbox(key="embedder").set_value(2)
    press(app, "Compute all vectors again")
    assert keys[0] == {server.url: KEY}
    work(knowledge.url, processes=1, keys={server.url: KEY})
    with knowledge.store() as store:
        assert store.vectors.embedder == ("vectors", 4)
        assert read_choice(store).embedder_url == server.url
    assert {body["key"] for body in server.bodies} == {f"Bearer {KEY}"}
    assert KEY.encode() not in Path(knowledge.place.written).read_bytes()
    assert len(knowledge.graph)


def test_a_failed_job_goes_on_at_a_button(home, server, monkeypatch):
    monkeypatch.setattr("qafd.app.documents.models.start_worker",
                        lambda path, given: work(path, processes=1, keys=given))
    knowledge = KnowledgeGraph.open(home / "mine.db")
    with knowledge.store() as store:
        choose(store, ModelChoice(embedder="vectors", embedder_url=server.url, attempts=1))
        enqueue(store, [("ada.txt", b"Ada Lovelace met Charles Babbage in London.")])
    server.fault = lambda *_: "500"
    work(knowledge.url, processes=1)
    app = page("documents", ws="mine")
    assert "cannot answer now (500" in shown(app)
    server.fault = lambda *_: "ok"
    press(app, "Go on")
    assert len(knowledge.graph)
    assert not [button for button in page("documents", ws="mine").button if button.label == "Go on"]


def test_a_job_is_read_with_the_key_of_who_asked_or_waits(home, server):
    ada, bob = {server.url: "key of ada"}, {server.url: "key of bob"}
    knowledge = KnowledgeGraph.open(home / "mine.db")

    def unread():
        return [file.name for file in store.files.all() if file.status == "queued"]

    with knowledge.store() as store:
        choose(store, ModelChoice(embedder="vectors", embedder_url=server.url, attempts=1))
        enqueue(store, [("ada.txt", b"Ada Lovelace met Charles Babbage in London.")], keys=ada)
        second = enqueue(store, [("bob.txt", b"Bob Marley met Alice Cooper in Paris.")], keys=bob)
        work(knowledge.url, processes=1, keys=bob)
        assert unread() == ["ada.txt"]
        assert [job.id for job in store.queue.latest() if job.state == "done"] == [second]
        assert {body["key"] for body in server.bodies} == {"Bearer key of bob"}
        assert needs_worker(store, ada)
        assert not needs_worker(store, bob)
        server.bodies.clear()
        work(knowledge.url, processes=1, keys=ada)
        assert unread() == []
        assert {body["key"] for body in server.bodies} == {"Bearer key of ada"}
        assert b"key of" not in Path(knowledge.place.written).read_bytes()


def test_files_of_a_failed_job_are_read_with_no_other_key(home, server):
    ada, bob = {server.url: "key of ada"}, {server.url: "key of bob"}
    knowledge = KnowledgeGraph.open(home / "mine.db")
    with knowledge.store() as store:
        choose(store, ModelChoice(embedder="vectors", embedder_url=server.url, attempts=1))
        failed = enqueue(store, [("ada.txt", b"Ada Lovelace met Charles Babbage.")], keys=ada)
        store.queue.fail(failed, "The endpoint was away.")
        enqueue(store, [("bob.txt", b"Bob Marley met Alice Cooper.")], keys=bob)
        work(knowledge.url, processes=1, keys=bob)
        assert {file.name: file.status for file in store.files.all()} == {
            "ada.txt": "queued", "bob.txt": "done"}
        enqueue(store, [("more.txt", b"Charles Babbage met Alice Cooper.")], keys=ada)
        work(knowledge.url, processes=1, keys=ada)
        assert {file.status for file in store.files.all()} == {"done"}


@pytest.fixture
def read_by_a_model(home, server):
    """A workspace that a model shall read, with one file that waits to be read."""
    server.reply = lambda _: ('("entity"<|>Ada Lovelace<|>PERSON<|>A mathematician.)##\n'
                              '("entity"<|>London<|>LOCATION<|>A city.)<|COMPLETE|>')
    amend(home / "settings.json", Preferences(), Preferences("custom", server.url, "tiny", most_calls=9,
                                             prices=(("tiny", Price(1.0, 2.0)),)))
    knowledge = KnowledgeGraph.open(home / "mine.db")
    with knowledge.store() as store:
        choose(store, ModelChoice("tiny", server.url, cap=Cap(calls=9), price=Price(1.0, 2.0)))
    return knowledge


def test_what_costs_money_waits_for_its_plan_then_is_metered_and_in_the_ledger(
        read_by_a_model, server, monkeypatch):
    monkeypatch.setattr("qafd.app.documents.models.start_worker",
                        lambda path, given: work(path, processes=1, keys=given))
    app = page("documents", ws="mine")
    app.text_area[0].set_value("Ada Lovelace was born in London.")
    press(app, "Add the text")
    text = shown(app)
    assert "To be read by tiny" in text
    assert "1 passage, 0 of them answered before; 1 to 2 calls" in text
    assert "$0.00 to $" in text
    assert "The run stops before it exceeds 9 calls" in text
    assert server.bodies == []
    press(app, "Start reading")
    assert len(server.bodies) == 1
    again = page("documents", ws="mine")
    assert "To be read by" not in shown(again)
    assert "read by tiny/records-4" in shown(again)
    row = next(f.value for f in again.dataframe if "tokens in" in f.value).iloc[0]
    assert (row["calls"], row["tokens in"], row["tokens out"]) == (1, 11, 7)
    assert row["dollars"] == pytest.approx((11 * 1.0 + 7 * 2.0) / 1e6)
    again.segmented_control(key="ledger_by").set_value("document").run()
    row = next(f.value for f in again.dataframe if "tokens in" in f.value).iloc[0]
    assert row["document"] == "note.txt"
