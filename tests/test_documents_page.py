"""The Documents page: what each file brings and what is retried; a document with its marks and links."""

import html
import re
from collections import defaultdict
from pathlib import Path

import pytest
from clicks import page, press, shown
from hostile import STRINGS

from qafd.curate.files import SIZE
from qafd.ingest.jobs import work
from qafd.knowledge import KnowledgeGraph
from qafd.records import Chunk, Document, Mark, mark_at
from qafd.storage import open_workspace


@pytest.fixture
def mine(home, monkeypatch):
    monkeypatch.setattr("qafd.app.documents.models.start_worker", lambda *_: None)
    knowledge = KnowledgeGraph(home / "mine.db")
    knowledge.add_text("ada.txt", "Ada Lovelace met Charles Babbage in London.")
    return knowledge


def by_hand(store):
    """Entities, relations and tokens of each file, walked in Python over the whole graph."""
    found = defaultdict(
        lambda: (set(), set(), 0))
    sources = {row.name: row.source for row in store.documents.all()}
    file = {}
    for row in store.listing.nodes():
        if row.node.kind == "passage":
            name = file[row.node.key] = file[row.node.id] = sources[row.document]
            entities, relations, tokens = found[name]
            found[name] = entities, relations, tokens + row.node.tokens
    for edge in store.listing.edges():
        if edge.kind == "mention":
            found[file[edge.target]][0].add(edge.source)
        for chunk, _ in edge.evidence if edge.kind == "relation" else ():
            found[file[chunk]][1].add((edge.source, edge.target, edge.label))
    return {name: (len(e), len(r), tokens) for name, (e, r, tokens) in found.items()}


def test_contents_are_those_counted_row_by_row(home):
    knowledge = KnowledgeGraph.sample("songbook", home)
    with knowledge.store() as store:
        found, walked = store.files.contents(), by_hand(store)
    assert {name: (c.entities, c.relations, c.tokens) for name, c in found.items()} == walked
    assert all(c.entities and c.tokens for c in found.values())


def test_bytes_that_are_there_under_another_name_are_not_added_twice(mine):
    with mine.store() as store:
        known = next(file for file in store.files.all() if file.name == "ada.txt")
        text = store.documents.get("ada.txt").text
    app = page("documents", ws="mine")
    next(box for box in app.text_area if box.label == "Text").set_value(text)
    next(box for box in app.text_input if box.label == "Name").set_value("copy.txt")
    press(app, "Add the text")
    assert [toast.value.replace("\\", "") for toast in app.toast] == [
        "copy.txt has the content of ada.txt; not added twice."]
    with mine.store() as store:
        assert known in store.files.all()
        assert "copy.txt" not in {file.name for file in store.files.all()}


def test_dropped_files_are_read_at_once_and_what_failed_is_counted_with_its_reason(mine):
    app = page("documents", ws="mine")
    app.file_uploader[0].set_value([
        ("bob.txt", b"Bob Brask met Ada Lovelace in Rome.", "text/plain"), ("bad.pdf", b"%PDF-1.4 bad", ""),
        ("empty.txt", b"", "")]).run()
    assert not app.exception
    assert not app.file_uploader[0].value
    work(mine.url)
    app.run()
    text = shown(app)
    assert "Done: 1 read, 2 could not be read" in text
    for name in ("bad.pdf", "empty.txt"):
        assert re.search(rf"{name}.*: \w+", text)
    assert "Best connected: Ada Lovelace" in text
    links = [link.proto.query_string for link in app.get("page_link")]
    assert any("q=" in link and "Ada" in link for link in links)


def test_all_failed_files_are_retried_by_one_button(mine):
    for name in ("bad.pdf", "worse.pdf"):
        mine.add_text(name, f"%PDF-1.4 {name}")
    app = page("documents", ws="mine")
    assert "what happened" in app.dataframe[0].value
    assert "read" not in app.dataframe[0].value  # what can be read is read
    press(app, "Retry failed 2 files")
    with mine.store() as store:
        assert {f.name: f.status for f in store.files.all()} == {
            "ada.txt": "done", "bad.pdf": "queued", "worse.pdf": "queued"}


def test_the_search_marks_the_words_and_links_into_the_document(mine):
    mine.add_text("<i>bob.txt", "Bob & Ada <b>wrote</b> to London.")
    text = shown(page("documents", ws="mine", search="wrote"))
    assert "&lt;b&gt;<mark>wrote</mark>&lt;/b&gt; to London." in text
    assert "href='documents?ws=mine&amp;doc=%3Ci%3Ebob.txt&amp;passage=" in text
    assert "1 passage" in text
    assert "No passage has this." in shown(page("documents", ws="mine", search="xyzzy"))
    assert "<mark>" not in shown(page("documents", ws="mine", search="wrote", doc="ada.txt"))
    assert "No passage has this." in shown(
        page("documents", ws="mine", within="wrote", doc="ada.txt"))


def test_a_deleted_file_is_erased_after_it_is_said_what_goes(mine):
    mine.add_text("bob.txt", "Bob hid the xylophone.")
    with mine.store() as store:
        store.documents.delete("bob.txt")
    app = page("documents", ws="mine")
    press(app, "Erase for good")
    text = shown(app)
    assert "Erasing bob.txt removes 1 document and 1 passage" in text
    assert "Other documents stay" in text
    assert b"xylophone" in Path(mine.place.written).read_bytes()
    app.button(key="erase_now").click().run()
    assert not app.exception
    with mine.store() as store:
        assert [file.name for file in store.files.all()] == ["ada.txt"]
    assert b"xylophone" not in Path(mine.place.written).read_bytes()
    assert "Erase for good" not in [button.label for button in page("documents", ws="mine").button]


TEXT = "Ada Lovelace met Charles Babbage in London. They spoke of the engine. She wrote notes."


def put(path, name, texts, marks=()):
    """Store a document of these passages as if it was read."""
    whole, chunks, start = "\n\n".join(texts), [], 0
    for number, text in enumerate(texts):
        chunks.append(Chunk(f"{number:024x}", name, name, text, start, start + len(text),
                            mark_at(marks, start).page))
        start += len(text) + 2
    with open_workspace(path) as store:
        store.files.add(name, whole.encode("utf-8", "replace"))
        store.files.claim(name)
        store.documents.put(name, [(Document(name, name, "txt", whole, marks), tuple(chunks))])
        store.files.cancel([name])
    return chunks


def drawn(text):
    """What a page shows of the sections of a document, without markup."""
    return html.unescape(re.sub(r"<[^>]*>", "", "".join(
        re.findall(r"<section.*?</section>", text, re.S))))


def test_a_passage_over_several_pages_says_all_of_them(home):
    texts = ["One page. " * 3, "Two pages. " * 3, "The last."]
    starts = [0, len(texts[0]) + 2, len(texts[0]) + len(texts[1]) + 4]
    marks = (Mark(0, 7), Mark(starts[1] + 11, 8), Mark(starts[1] + 22, 9))
    chunks = put(home / "mine.db", "book.pdf", texts, marks)
    assert [chunk.page for chunk in chunks] == [7, 7, 9]
    said = re.findall(r"<small>(.*?)</small>", shown(page("documents", ws="mine", doc="book.pdf")))
    assert [re.sub(" · <a.*", "", line) for line in said if line[0] in "123"] == [
        "1 · page 7", "2 · pages 7-9", "3 · page 9"]


def test_offsets_of_a_sentence_are_those_of_the_document(mine):
    chunks = put(mine.url, "two.txt", ["Ada left early.", "Bob stayed. Cyd came."])
    start = chunks[1].start + len("Bob stayed. ")
    text = shown(page("documents", ws="mine", doc="two.txt", passage=chunks[1].id,
                      at=f"{start}-{start + len('Cyd came.')}"))
    assert re.findall("<mark>(.*?)</mark>", text) == ["Cyd came."]


def test_hostile_texts_and_names_are_shown_as_text(mine):
    texts = [text for text in STRINGS if text.strip() and text.isprintable()][:SIZE]
    put(mine.url, "<script>alert(1)</script>.txt", texts)
    app = page("documents", ws="mine", doc="<script>alert(1)</script>.txt")
    text = shown(app)
    sections = re.findall(r"<section.*?</section>", text, re.S)
    assert len(sections) == len(texts)
    for section, given in zip(sections, texts, strict=True):
        assert set(re.findall(r"</?(\w+)", section)) <= {"section", "small", "p", "br"}
        assert " ".join(given.split()) in " ".join(drawn(section).split())
