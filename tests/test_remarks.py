"""What models and files say of entities and relations: in their words, with who wrote it."""

import pytest
from tiny import tiny_index

from qafd.curate.neighbors import remarks
from qafd.ingest.reader import ModelChoice, choose
from qafd.records import node_id
from qafd.storage import open_workspace

ADA, BOB = node_id("entity", "ada"), node_id("entity", "bob")


def answering(body):
    """Says the same of Ada everywhere, and something else of Ada and Bob in each passage."""
    passage = body["messages"][1]["content"].split("\n\n", 1)[-1]
    number = "second" if "again" in passage else "first"
    records = ['("entity"<|>Ada<|>person<|>A <b>mathematician</b>.)',
               '("entity"<|>Bob<|>person<|>)',
               f'("relationship"<|>Bob<|>Ada<|>The {number} meeting.<|>meeting, friends<|>7)']
    return "##".join(records) + "<|COMPLETE|>"


pytestmark = pytest.mark.replies(reply=answering)


@pytest.fixture
def read(path, server):
    with open_workspace(path) as store:
        choose(store, ModelChoice("org/tiny", server.url))
    tiny_index(path, [("a.txt", b"Ada met Bob."), ("b.txt", b"Ada met Bob again.")])
    return path


def test_equal_descriptions_are_one_with_the_first_passage(read):
    with open_workspace(read) as store:
        said = remarks(store, ADA)
        (about,) = said[""]
        assert (about.text, about.model, about.document, about.more) == (
            "A <b>mathematician</b>.", "org/tiny", "a.txt", 1)


def test_a_relation_is_described_at_both_its_ends_with_keywords_and_strength(read):
    with open_workspace(read) as store:
        assert remarks(store, ADA)[BOB] == remarks(store, BOB)[ADA]
        first, second = remarks(store, ADA)[BOB]
        assert "" not in remarks(store, BOB)
    assert (first.text, second.text) == ("The first meeting.", "The second meeting.")
    assert (first.document, second.document) == ("a.txt", "b.txt")
    assert (first.keywords, first.strength) == (("meeting", "friends"), 7)


def test_what_is_said_of_a_name_follows_it_through_edits(read):
    with open_workspace(read) as store:
        store.edits.add("same", "bob", "Robert")
    tiny_index(read)
    with open_workspace(read) as store:
        robert = node_id("entity", "robert")
        assert [r.text for r in remarks(store, robert)[ADA]] == [
            "The first meeting.", "The second meeting."]
        assert robert in remarks(store, ADA)
        assert BOB not in remarks(store, ADA)
