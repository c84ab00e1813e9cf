"""The words of relations: what rules read of a sentence is what it says."""

import pytest
from labelled_relations import labels, read_relations
from local_models import extractor

from qafd.reading.text import canonical
from qafd.records import Chunk


def read(text: str) -> dict[tuple[str, str], str]:
    """The words of each relation of a text, by the names of its ends."""
    extraction = extractor().extract(Chunk("c", "d", "", text, 0, len(text)))
    return {(one.source, one.target): one.label for one in extraction.assertions}


def test_most_relations_that_are_read_are_right() -> None:
    known, found = labels(), read_relations(extractor())
    judged = [known[one] for one in found if one in known]
    assert len(judged) >= 0.95 * len(found), "label what is read anew"
    assert len(judged) >= 150
    assert sum(judged) / len(judged) >= 0.85


@pytest.mark.parametrize("text", [
    "Did Apple buy Zappos?", "Apple did not buy Zappos.", "Apple might buy Zappos in 2030.",
    "If Apple buys Zappos, Tim Cook will resign."],
    ids=["a question", "a negation", "a possibility", "a condition"])
def test_what_is_not_stated_has_no_words(text: str) -> None:
    found = read(text)
    assert found[canonical("Apple"), canonical("Zappos")] == ""


def test_what_a_preposition_says_of_an_object_is_not_said_of_the_subject() -> None:
    found = read("Jef Raskin named the machine after John McIntosh.")
    assert found[canonical("Jef Raskin"), canonical("John McIntosh")] == ""


def test_the_particle_of_a_verb_belongs_to_its_words() -> None:
    assert read("Helena Voss grew up in Gdansk.")[canonical("Helena Voss"), "gdansk"] == "grew up in"
