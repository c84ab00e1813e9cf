"""A document on the Documents page: its passages, marks and links, and hostile ones."""

import html
import re
from pathlib import Path

import pytest
from clicks import page, shown
from hostile import STRINGS

from qafd.curate.excerpt import SIZE
from qafd.knowledge import KnowledgeGraph
from qafd.records import Chunk, Document, Mark, mark_at
from qafd.storage import open_workspace

TEXT = "Ada Lovelace met Charles Babbage in London. They spoke of the engine. She wrote notes."


@pytest.fixture
def mine(home: Path) -> KnowledgeGraph:
    knowledge = KnowledgeGraph(home / "mine.db")
    knowledge.add_text("ada.txt", TEXT)
    return knowledge


def put(path: Path, name: str, texts: list[str], marks: tuple[Mark, ...] = ()) -> list[Chunk]:
    """Store a document of these passages as if it was read."""
    whole, chunks, start = "\n\n".join(texts), [], 0
    for number, text in enumerate(texts):
        chunks.append(Chunk(f"{number:024x}", name, name, text, start, start + len(text),
                            mark_at(marks, start).page))
        start += len(text) + 2
    with open_workspace(path) as store:
        store.files.add(name, whole.encode("utf-8", "replace"))
        store.files.begin(name)
        store.documents.put(name, [(Document(name, name, "txt", whole, marks), tuple(chunks))])
        store.files.cancel([name])
    return chunks


def drawn(text: str) -> str:
    """What a page shows of the sections of a document, without markup."""
    return html.unescape(re.sub(r"<[^>]*>", "", "".join(
        re.findall(r"<section.*?</section>", text, re.S))))


def test_a_passage_over_several_pages_says_all_of_them(home: Path) -> None:
    texts = ["One page. " * 3, "Two pages. " * 3, "The last."]
    starts = [0, len(texts[0]) + 2, len(texts[0]) + len(texts[1]) + 4]
    marks = (Mark(0, 7), Mark(starts[1] + 11, 8), Mark(starts[1] + 22, 9))
    chunks = put(home / "mine.db", "book.pdf", texts, marks)
    assert [chunk.page for chunk in chunks] == [7, 7, 9]
    said = re.findall(r"<small>(.*?)</small>", shown(page("documents", ws="mine", doc="book.pdf")))
    assert [re.sub(" · <a.*", "", line) for line in said if line[0] in "123"] == [
        "1 · page 7", "2 · pages 7-9", "3 · page 9"]


def test_offsets_of_a_sentence_are_those_of_the_document(mine: KnowledgeGraph) -> None:
    chunks = put(mine.url, "two.txt", ["Ada left early.", "Bob stayed. Cyd came."])
    start = chunks[1].start + len("Bob stayed. ")
    text = shown(page("documents", ws="mine", doc="two.txt", passage=chunks[1].id,
                      at=f"{start}-{start + len('Cyd came.')}"))
    assert re.findall("<mark>(.*?)</mark>", text) == ["Cyd came."]


def test_hostile_texts_and_names_are_shown_as_text(mine: KnowledgeGraph) -> None:
    texts = [text for text in STRINGS if text.strip() and text.isprintable()][:SIZE]
    put(mine.url, "<script>alert(1)</script>.txt", texts)
    app = page("documents", ws="mine", doc="<script>alert(1)</script>.txt")
    text = shown(app)
    sections = re.findall(r"<section.*?</section>", text, re.S)
    assert len(sections) == len(texts)
    for section, given in zip(sections, texts, strict=True):
        assert set(re.findall(r"</?(\w+)", section)) <= {"section", "small", "p", "br"}
        assert " ".join(given.split()) in " ".join(drawn(section).split())
