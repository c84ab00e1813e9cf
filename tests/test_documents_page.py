"""The Documents page: what each file brings, what is retried, and how long a job still takes."""

import json
import math
import sqlite3
from collections import defaultdict
from pathlib import Path

import pytest
from clicks import page, press, shown
from files import pdf

from qafd.app.documents import listing, work
from qafd.cli import main
from qafd.ingest import Progress
from qafd.ingest.jobs import _Report, cancel, enqueue, open_jobs, unparsed
from qafd.knowledge import KnowledgeGraph
from qafd.pace import Pace
from qafd.storage import open_workspace
from qafd.storage.rows import Call


@pytest.fixture
def mine(home: Path, monkeypatch: pytest.MonkeyPatch) -> KnowledgeGraph:
    monkeypatch.setattr("qafd.app.documents.models.start_worker", lambda *_: None)
    knowledge = KnowledgeGraph(home / "mine.db")
    knowledge.add_text("ada.txt", "Ada Lovelace met Charles Babbage in London.")
    return knowledge


def by_hand(path: Path) -> dict[str, tuple[int, int, int]]:
    """Entities, relations and tokens of each file, walked in Python over all rows."""
    found: dict[str, tuple[set[str], set[tuple[str, ...]], int]] = defaultdict(
        lambda: (set(), set(), 0))
    with sqlite3.connect(path) as db:
        sources = dict(db.execute("SELECT name, source FROM documents"))
        file = {chunk: sources[document] for chunk, document in db.execute(
            "SELECT id, document FROM passages")}
        passages = {node: (file[key], tokens) for node, key, tokens in db.execute(
            "SELECT id, key, tokens FROM nodes WHERE kind = 'passage'")}
        for name, tokens in passages.values():
            entities, relations, before = found[name]
            found[name] = entities, relations, before + tokens
        for source, target, kind, label, evidence in db.execute(
                "SELECT source, target, kind, label, evidence FROM edges"):
            if kind == "mention":
                found[passages[target][0]][0].add(source)
            for chunk, _ in json.loads(evidence) if kind == "relation" else ():
                found[file[chunk]][1].add((source, target, label))
    return {name: (len(e), len(r), tokens) for name, (e, r, tokens) in found.items()}


@pytest.mark.parametrize("sample", ["songbook", "apple-amazon"])
def test_contents_are_those_counted_row_by_row(sample: str, home: Path) -> None:
    knowledge = KnowledgeGraph.sample(sample, home)
    with knowledge.store() as store:
        found = store.files.contents()
    assert {name: (c.entities, c.relations, c.tokens) for name, c in found.items()} == by_hand(
        knowledge.path)
    assert all(c.entities and c.tokens for c in found.values())


def test_a_file_that_left_the_graph_brings_nothing(mine: KnowledgeGraph) -> None:
    from qafd.ingest import refresh

    with mine.store() as store:
        assert store.files.contents()["ada.txt"].entities >= 3
        store.documents.delete("ada.txt")
    refresh(mine.path)
    with mine.store() as store:
        assert store.files.contents()["ada.txt"].entities == store.files.contents()["ada.txt"].tokens == 0


def test_pages_are_those_of_all_documents_of_a_file(mine: KnowledgeGraph) -> None:
    long = "Ada Lovelace wrote notes on the engine of Charles Babbage. " * 200
    mine.add_text("two.jsonl", "".join(json.dumps({"id": i, "text": text}) + "\n"
                                       for i, text in (("a", long), ("b", long + long))))
    with mine.store() as store, store.transaction() as connection:
        names = [document.name for document in store.documents.all("two.jsonl")]
        for name, marks in zip(names, ('[[0, 1, ""], [900, 4, ""]]', '[[0, 2, ""]]'), strict=True):
            connection.execute("UPDATE documents SET marks = ? WHERE name = ?", (marks, name))
    with mine.store() as store:
        assert [document.pages for document in store.documents.all("two.jsonl")] == [4, 2]
        assert store.files.contents()["two.jsonl"].pages == 4 + 2


def test_pages_of_a_pdf_are_counted_though_one_passage_holds_them(
        mine: KnowledgeGraph, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "keepers.pdf").write_bytes(pdf(["Ada Lovelace kept the light."],
                                               ["Charles Babbage built the lamp."]))
    mine.add_files(tmp_path / "keepers.pdf")
    table = page("documents", ws="mine").dataframe[0].value
    assert dict(zip(table["file"], table["pages"].fillna(-1), strict=True)) == {
        "ada.txt": -1, "keepers.pdf": 2}
    found = shown(page("documents", ws="mine", search="lamp"))
    assert "keepers.pdf · pages 1-2" in found
    assert main(["docs", "--db", str(mine.path), "--search", "lamp"]) == 0
    assert "(keepers.pdf, pages 1-2)" in capsys.readouterr().out


def test_the_table_says_what_each_file_brings(mine: KnowledgeGraph) -> None:
    table = page("documents", ws="mine").dataframe[0].value
    with mine.store() as store:
        held = store.files.contents()["ada.txt"]
    assert table[["entities", "relations", "tokens"]].values.tolist() == [
        [held.entities, held.relations, held.tokens]]
    assert not {"read", "pages", "documents", "what happened"} & set(table)  # nothing to tell


def test_reading_that_nobody_goes_on_with_is_called_interrupted(mine: KnowledgeGraph) -> None:
    with mine.store() as store:
        store.files.reopen(["ada.txt"])
    assert list(page("documents", ws="mine").dataframe[0].value["state"]) == ["interrupted"]
    with mine.store() as store:
        enqueue(store)
    assert list(page("documents", ws="mine").dataframe[0].value["state"]) == ["extracting"]


def test_all_failed_files_are_retried_by_one_button(mine: KnowledgeGraph) -> None:
    for name in ("bad.pdf", "worse.pdf"):
        mine.add_text(name, f"%PDF-1.4 {name}")
    app = page("documents", ws="mine")
    assert "what happened" in app.dataframe[0].value
    assert "read" not in app.dataframe[0].value  # what can be read is read
    press(app, "Retry failed 2 files")
    with mine.store() as store:
        assert {f.name: f.status for f in store.files.all()} == {
            "ada.txt": "done", "bad.pdf": "queued", "worse.pdf": "queued"}


def test_the_trouble_of_many_files_does_not_fill_the_page(mine: KnowledgeGraph) -> None:
    with mine.store() as store, store.transaction() as connection:
        for number in range(8):
            store.files.add(f"{number}.pdf", b"x")
        connection.execute("UPDATE files SET status = 'failed', error = 'It is no PDF.' "
                           "WHERE name != 'ada.txt'")
    text = shown(page("documents", ws="mine"))
    assert text.count("It is no PDF.") == 5
    assert "3 files more, under" in text


KOREAN = "서울은 대한민국의 수도이다. 한강이 도시를 가로질러 흐른다."


def test_files_whose_names_no_rules_tell_are_named_with_what_to_do(
        mine: KnowledgeGraph, capsys: pytest.CaptureFixture[str]) -> None:
    told = "names in such a language are read by a language model only"
    assert told not in shown(page("documents", ws="mine"))
    files = [mine.path.parent / f"ko-{number}.txt" for number in range(1, 5)]
    for file in files:
        file.write_text(f"{KOREAN} {file.name}", "utf-8")
    assert main(["index", "--db", str(mine.path), *map(str, files)]) == 0
    start = "qafd: Only titles connect ko-1.txt, ko-2.txt, ko-3.txt and 1 more file: "
    assert sum(line.startswith(start) for line in capsys.readouterr().err.splitlines()) == 1
    said, = (line for line in shown(page("documents", ws="mine")).splitlines() if told in line)
    assert "ada.txt" not in said
    assert "choose one in Settings" in said


def test_files_that_wait_to_be_parsed_are_expected_by_their_bytes(tmp_path: Path) -> None:
    with open_workspace(tmp_path / "w.db") as store:
        first = enqueue(store, [("a.txt", b"x" * 300), ("b.txt", b"x" * 600)])
        second = enqueue(store, [("c.txt", b"x" * 900)])
        assert unparsed(store) == math.inf
        with store.transaction() as connection:
            connection.execute("UPDATE files SET status = 'extracting' WHERE name = 'a.txt'")
            connection.execute("INSERT INTO documents VALUES "
                               "('a.txt', 'a.txt', 0, '', 'txt', '', '[]', '', NULL)")
            connection.executemany(
                "INSERT INTO chunks VALUES (?, 'a.txt', 0, '', '', NULL, 0, 1, '', '')",
                [(str(i),) for i in range(6)])
        assert unparsed(store, first) == pytest.approx(600 * 6 / 300)
        assert unparsed(store, second) == pytest.approx(900 * 6 / 300)
        assert unparsed(store) == pytest.approx(1500 * 6 / 300)
        store.documents.delete("c.txt")
        assert unparsed(store) == pytest.approx(600 * 6 / 300)


def test_files_parsed_between_passages_do_not_hide_how_far_the_reading_is(tmp_path: Path) -> None:
    with open_workspace(tmp_path / "w.db") as store:
        job = enqueue(store)
        report = _Report(store, job)
        for progress in (Progress("parsing", 0, 9, "a"), Progress("extracting", 3, 4, "a"),
                         Progress("parsing", 1, 9, "b"), Progress("assembling", 4, 4)):
            before = open_jobs(store)[0].stage
            report(progress)
            assert open_jobs(store)[0].stage == (
                before if progress.done == 1 else progress.stage)


def test_a_running_job_says_how_long_it_still_takes(
        mine: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    pace = Pace(lambda: now[0])
    advance = work.Advance(paces={"extracting": pace})
    monkeypatch.setattr(work, "_advance", lambda *_: advance)
    shares = []
    with mine.store() as store:
        job = enqueue(store)
        for done in range(0, 30, 5):
            with store.transaction() as connection:
                connection.execute(
                    "UPDATE jobs SET state = 'running', stage = 'extracting', done = ?, "
                    "total = 100, current = 'a.txt' WHERE id = ?", (done, job))
            share, words = work.job_bar(mine.path, store, open_jobs(store)[0])
            shares.append(share)
            assert ("left" in words) == (done >= 20)
            now[0] += 2
    assert shares == sorted(shares)
    assert words.endswith("about 30 s left")  # 75 passages at 2.5 a second
    with mine.store() as store:  # ada.txt has 1 passage in 43 bytes
        store.files.add("b.txt", b"x" * 43 * 37, job)
        _, words = work.job_bar(mine.path, store, open_jobs(store)[0])
        assert "25 of about 140 passages" in words
        again, _ = work.job_bar(mine.path, store, open_jobs(store)[0])
    assert again >= share


def test_docs_as_json_has_the_same_numbers(
        mine: KnowledgeGraph, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", "--db", str(mine.path), "--json"]) == 0
    line, = json.loads(capsys.readouterr().out)
    table = page("documents", ws="mine").dataframe[0].value
    assert {key: line[key] for key in ("passages", "entities", "relations", "tokens")} == {
        key: table[key][0] for key in ("passages", "entities", "relations", "tokens")}
    assert line["pages"] == 0
    assert main(["docs", "--db", str(mine.path)]) == 0
    assert f"{line['tokens']} tokens" in capsys.readouterr().out


def test_the_search_marks_the_words_and_links_into_the_document(mine: KnowledgeGraph) -> None:
    mine.add_text("<i>bob.txt", "Bob & Ada <b>wrote</b> to London.")
    text = shown(page("documents", ws="mine", search="wrote"))
    assert "&lt;b&gt;<mark>wrote</mark>&lt;/b&gt; to London." in text
    assert "href='documents?ws=mine&amp;doc=%3Ci%3Ebob.txt&amp;passage=" in text
    assert "1 passage" in text
    assert "No passage has this." in shown(page("documents", ws="mine", search="xyzzy"))
    assert "<mark>" not in shown(page("documents", ws="mine", search="wrote", doc="ada.txt"))
    assert "No passage has this." in shown(
        page("documents", ws="mine", within="wrote", doc="ada.txt"))


def test_more_is_found_on_request(mine: KnowledgeGraph) -> None:
    mine.add_text("many.jsonl", "".join(json.dumps({"id": n, "text": f"Bob went to room {n}."})
                                        + "\n" for n in range(50)))
    app = page("documents", ws="mine", search="room")
    assert "50 passages, the best 20 of them" in shown(app)
    press(app, "More")
    assert "50 passages, the best 40 of them" in shown(app)
    app.text_input(key="search").set_value("Bob went").run()
    assert "50 passages, the best 20 of them" in shown(app)


def test_a_deleted_file_is_erased_after_it_is_said_what_goes(mine: KnowledgeGraph) -> None:
    mine.add_text("bob.txt", "Bob hid the xylophone.")
    with mine.store() as store:
        store.documents.delete("bob.txt")
    app = page("documents", ws="mine")
    press(app, "Erase for good")
    text = shown(app)
    assert "Erasing bob.txt removes 1 document and 1 passage" in text
    assert "Other documents stay" in text
    assert b"xylophone" in mine.path.read_bytes()
    app.button(key="erase_now").click().run()
    assert not app.exception
    with mine.store() as store:
        assert [file.name for file in store.files.all()] == ["ada.txt"]
    assert b"xylophone" not in mine.path.read_bytes()
    assert "Erase for good" not in [button.label for button in page("documents", ws="mine").button]


def test_nothing_can_be_erased_while_documents_are_read(mine: KnowledgeGraph) -> None:
    with mine.store() as store:
        store.documents.delete("ada.txt")
        app = page("documents", ws="mine")
        with store.queue.lease():
            press(app, "Erase for good")
            assert app.button(key="erase_now").disabled
            assert "erase when that is done" in shown(app)
        app.run()
        assert not app.button(key="erase_now").disabled
        job = enqueue(store)  # its worker is about to start
        app.run()
        assert app.button(key="erase_now").disabled
        cancel(store, job)
        app.run()
        app.button(key="erase_not").click().run()
        assert "removes" not in shown(app)
        assert len(store.files.all()) == 1


def test_a_file_that_is_gone_between_two_looks_is_no_error(
        mine: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "_contents", lambda *_: {})
    table = page("documents", ws="mine").dataframe[0].value
    assert list(table["entities"]) == [0]


def test_the_raw_reply_of_a_model_is_shown_as_text(mine: KnowledgeGraph) -> None:
    reply = "<script>alert(1)</script> I cannot **read** this."
    with mine.store() as store, store.transaction() as connection:
        chunk, = store.log.read().chunks
        store.ledger.put(Call("k", "extract", "m", "rejected", reply, 1, 1, chunk=chunk.id,
                            document="ada.txt"))
        connection.execute("INSERT INTO doubts SELECT id, 'two replies held no record', 0 "
                           "FROM extractions")
    app = page("documents", ws="mine")
    assert [expander.label.replace("\\", "") for expander in app.expander
            if "replied" in expander.label] == ["What the model replied for ada.txt: 1 passage"]
    assert reply in [code.value for code in app.get("code")]
    assert "ada.txt, passage 1: two replies held no record" in shown(app)
