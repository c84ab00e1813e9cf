import pytest
from hypothesis import given
from hypothesis import strategies as st

from qafd.reading.text import NameIndex, canonical, chunk
from qafd.records import Document, Mark


def document(text, *marks, name="notes.txt"):
    return Document(name, "Notes", "txt", text, marks)


PARAGRAPH = "The mill stood by the river. It ground corn for the whole valley. "


@pytest.mark.parametrize(("name", "key"), [
    ("Apple Inc.", "apple"), ("Apple (fruit)", "apple"), ("the Amazon River", "amazon river"),
    ("Steve Jobs's", "steve jobs"), ("James'", "james"), ("U.S.", "u.s."),
    ("Hall B.", "hall b"), ("Michael J.", "michael j"),
    ("Washington, D.C.", "washington, d.c."), ("St. Louis", "st. louis"),
    ("Rolls-Royce Ltd", "rolls-royce"), ("\u201cThe Cat\u201d", "cat"), ("(Foo", "foo"),
    ("  New\n York ", "new york"), ("\uff21\uff22\uff23", "abc"), ("The", "the"),
    ("Co", "co"), ("...", ""),
])
def test_canonical_names(name, key):
    assert canonical(name) == key


@given(st.text(max_size=40))
def test_a_short_document_is_one_passage_or_none(text):
    chunks = chunk(document(text))
    assert len(chunks) == bool(text.strip())
    assert all(text[c.start:c.end] == c.text == text.strip() for c in chunks)


@given(st.lists(st.sampled_from(["Mill.", "River\n\n", "It ground corn.", "\n", " ", "\u82f9\u679c",
                                 "a" * 90, "1976", "Conveyor belts"]), max_size=120),
       st.integers(5, 60))
def test_passages_lie_in_the_document_in_order_and_keep_every_word(parts, tokens):
    text = " ".join(parts)
    chunks = chunk(document(text), tokens)
    assert all(text[c.start:c.end] == c.text for c in chunks)
    assert all(a.end <= b.start for a, b in zip(chunks, chunks[1:], strict=False))
    assert "".join("".join(c.text.split()) for c in chunks) == "".join(text.split())
    assert len({c.id for c in chunks}) == len(chunks)


def test_passages_end_where_sentences_do():
    assert all(c.text.endswith(".") for c in chunk(document(PARAGRAPH * 60)))


def test_chunks_that_an_edit_leaves_alone_keep_their_ids():
    first, second = "First part. " * 200, "Second part. " * 200
    marks = (Mark(0, heading="One"), Mark(len(first), heading="Two"))
    before = chunk(document(first + second, *marks))
    after = chunk(document(first + second.replace("Second", "Other"), *marks))
    kept = {c.id for c in before if c.heading == "One"}
    assert kept
    assert kept <= {c.id for c in after}


def test_equal_passages_of_a_document_have_different_ids():
    text = (PARAGRAPH * 16).strip() + "\n\n"
    marks = [Mark(i * len(text), heading=str(i)) for i in range(3)]
    chunks = chunk(document(text * 3, *marks))
    assert len({c.text for c in chunks}) < len(chunks)
    assert len({c.id for c in chunks}) == len(chunks)


@pytest.mark.parametrize(("text", "found"), [
    ("I met Steve Jobs's friend.", ["steve jobs"]),
    ("New York City and New York", ["new york city", "new york"]),
    ("He will ask Will.", ["will"]),
    ("Will he?", []),
    ("the U.S. Army", ["u.s."]),
    ("an app store", []),
    ("steve jobs", ["steve jobs"]),
    ("Go to X now", []),
    ("New York-based", []),
    ("iOS runs. Every iOS does.", ["ios", "ios"]),
])
def test_names_are_linked_by_longest_match(text, found):
    index = NameIndex(
        ["steve jobs", "new york", "new york city", "will", "u.s.", "store", "x", "ios"])
    matches = list(index.find(text, [0]))
    assert [key for key, _, _ in matches] == found
    assert all(canonical(text[start:end]) == key for key, start, end in matches)


@given(st.lists(st.text(st.sampled_from("ab "), min_size=1, max_size=8), max_size=6),
       st.text(st.sampled_from("abAB "), max_size=30))
def test_links_never_overlap_and_always_name_a_key(keys, text):
    index = NameIndex(keys)
    end = 0
    for key, start, stop in index.find(text):
        assert key in keys
        assert end <= start < stop
        end = stop


@pytest.mark.parametrize("text", ["x" * 30_000, "7" * 30_000, "See " + "x" * 30_000 + " there."])
def test_an_endless_word_is_cut_into_passages(text):
    chunks = chunk(document(text))
    assert all(len(c.text) <= 3000 for c in chunks)
    assert "".join("".join(c.text.split()) for c in chunks) == "".join(text.split())
    assert all(text[c.start:c.end] == c.text for c in chunks)


def test_a_long_text_is_cut_as_the_splitter_cuts_the_whole_of_it(monkeypatch):
    one = document("\n\n".join(PARAGRAPH * (1 + i % 9) for i in range(200)))
    chunks = chunk(one, 40)
    monkeypatch.setattr("qafd.reading.text.WINDOW", 10**6)
    assert chunks == chunk(one, 40)
