"""Documents as they are read: excerpts, their names, and where passages are."""

import pytest
from tiny import tiny_index

from qafd.curate.files import around, read_excerpt
from qafd.errors import StoreError
from qafd.storage import open_workspace

ADA = ("ada.txt", b"Ada met Bob in Paris. Bob left.")
LONG = ("long.txt", b"\n\n".join(b"Cyd went to room %d, and saw nobody there at all. " % i * 12
                                 for i in range(100)))


def test_an_excerpt_has_the_text_as_stored(path):
    tiny_index(path, [ADA])
    with open_workspace(path) as store:
        found = read_excerpt(store, "ada.txt")
        text = store.documents.get("ada.txt").text
    passage, = found.passages
    assert passage.chunk.text == text == ADA[1].decode()
    assert (found.document.passages, found.document.characters) == (1, len(text))


def test_excerpts_one_after_another_are_the_whole_document(path):
    tiny_index(path, [LONG])
    with open_workspace(path) as store:
        text, whole = store.documents.get("long.txt").text, read_excerpt(store, "long.txt", 1, 10_000)
        passages, first = [], 1
        while first <= whole.document.passages:
            part = read_excerpt(store, "long.txt", first, 7)
            passages += [p for p in part.passages if p.number >= first]
            first = part.last + 1
        assert whole.document.passages > 20
        assert tuple(passages) == whole.passages
        assert [p.number for p in passages] == list(range(1, len(passages) + 1))
        together = "".join(p.above + p.chunk.text for p in passages)
        assert together.split() == text.split() or "".join(together.split()) == "".join(
            text.split())


def test_an_excerpt_around_a_passage_has_it(path):
    tiny_index(path, [LONG])
    with open_workspace(path) as store:
        ninth = store.documents.passages("long.txt", 9, 1)[0]
        assert read_excerpt(store, "long.txt", around(9)).passages[8].chunk == ninth
        assert read_excerpt(store, "long.txt", 9, 1).passages[0].chunk == ninth


def test_a_deleted_document_can_still_be_read_and_an_unknown_one_cannot(path):
    tiny_index(path, [ADA])
    with open_workspace(path) as store:
        store.documents.delete("ada.txt")
        assert read_excerpt(store, "ada.txt").document.deleted_at
        with pytest.raises(StoreError, match="no document called 'eve.txt'"):
            read_excerpt(store, "eve.txt")
