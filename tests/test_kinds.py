"""What kind of thing names are, as a reader of them and of the words around them would say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from local_models import extractor

from qafd.reading.names.columns import closings, greeting, label_names
from qafd.reading.names.kinds import (
    column_kind,
    is_given,
    kind_of,
    owned,
    settled,
    told_by,
    without_title,
)
from qafd.reading.names.noise import (
    is_doubtful,
    is_heading,
    is_label,
    is_noise,
    is_one_of_many,
    lead,
    opens,
)
from qafd.reading.text import canonical
from qafd.records import Chunk, Mention


def types(text: str) -> dict[str, str]:
    """The names of a text and their types."""
    found = extractor().extract(Chunk("c", "d", "", text, 0, len(text)))
    return {m.name.removeprefix("the "): m.kind for m in found.mentions
            if m.kind not in ("term", "title", "heading")}


@pytest.mark.parametrize(("name", "kind"), [
    ("Corvane Analytics Inc.", "ORG"), ("Baumann & Söhne KG", "ORG"), ("Kyoto University", "ORG"),
    ("University of Reading", "ORG"), ("the Museum of Transport", "ORG"), ("Lake Bled", "LOC"),
    ("the River Wend", "LOC"), ("Vršič Pass", "LOC"), ("Bihar Province", "GPE"),
    ("the State of New York", "GPE"), ("Tottenham Court Road", "FAC"), ("Hotel Tartini", "FAC"),
    ("Battle of the Osage", "EVENT"), ("Mr. Ito", "PERSON"),
    ("Soviet Union", ""), ("Nottingham Forest", ""), ("Hall", ""), ("Lake", ""),
    ("House of Cards", ""), ("Of Mice of Men", ""), ("of of", ""),
    ("The Hours", ""), ("State Fair", ""), ("Sister Act", ""), ("", "")])
def test_words_of_a_name_tell_what_it_names(name: str, kind: str) -> None:
    assert kind_of(name) == kind


@pytest.mark.parametrize(("name", "expected"), [
    ("Giulia Ferri", True), ("J. P. Morgan", False), ("Daniel J. Bernstein", True),
    ("Giulia", False), ("Green Valley Dairy", False), ("Anna von der Heide", True),
    ("John the printer of all things", False)])
def test_a_first_name_before_another_makes_a_person(name: str, expected: bool) -> None:
    assert is_given(name) is expected


@pytest.mark.parametrize(("before", "name", "after", "tagged", "kind"), [
    ("studied with Dr", "Nwosu", "in", "NORP", "PERSON"),
    ("The", "Soča", ", a river in western", "PROPN", "LOC"),
    ("from", "Synadia", ", a company that develops", "PROPN", "ORG"),
    ("", "Tinfoil", "is a small app for", "PERSON", "PRODUCT"),
    ("the ship operator", "Linea Azzurra", "will run", "PERSON", "ORG"),
    ("Her aunt learned it in", "Lyon", "from", "PERSON", "GPE"),
    ("was born in Whitby ,", "Yorkshire", ", the third", "PERSON", "GPE"),
    ("died at", "Gallipoli", "in 1915", "PERSON", "GPE"),
    ("invested in", "Macmillan", "in 1907", "ORG", ""),
    ("written in", "Rust", "and", "ORG", ""),
    ("In London ,", "Smith", "said", "PERSON", "PERSON"),
    ("", "Delphine Roux", "< d.roux@cinelab.example >", "WORK_OF_ART", "PERSON"),
    ("was born in", "Michigan", ", the son of", "GPE", ""),
    ("the neighbouring town of", "Rodby", "arrived", "PROPN", "GPE"),
    ("the grandfather of", "Friederike Kessler", "lived", "ORG", "PERSON"),
    ("a friend of", "Rodby", "arrived", "PROPN", ""),
    ("saw", "Leeds", "on Wed", "PROPN", "")])
def test_words_beside_a_name_tell_what_it_names(
        before: str, name: str, after: str, tagged: str, kind: str) -> None:
    assert told_by(before.split(), after.split(), name, tagged)[0] == kind


@pytest.mark.parametrize(("column", "kind"), [
    ("Manager", "PERSON"), ("Account manager", "PERSON"), ("Flag country", "GPE"),
    ("Made in", "GPE"), ("SUPPLIER", "ORG"), ("Unit price", ""), ("2023", ""), ("", "")])
def test_the_name_of_a_column_tells_what_its_cells_name(column: str, kind: str) -> None:
    assert column_kind(column) == kind


def test_places_vote_together_and_a_tagger_that_is_seldom_sure_is_not_believed() -> None:
    assert settled([("wend", "LOC", 1), ("wend", "GPE", 1), ("wend", "PERSON", 1.5)]) == {
        "wend": "GPE"}  # of equal ones the first by name
    assert settled([("kofi", "PROPN", 1), ("kofi", "PROPN", 1), ("kofi", "ORG", 1)]) == {
        "kofi": "PROPN"}
    assert settled([("kofi", "PROPN", 1), ("kofi", "ORG", 1)]) == {"kofi": "ORG"}
    assert settled([("kofi", "PROPN", 3), ("kofi", "ORG", 2)]) == {"kofi": "ORG"}


def test_a_noun_beside_a_name_outweighs_two_mentions_that_the_tagger_mistypes() -> None:
    told = told_by([], [",", "a", "river", "in"], "Wend", "PERSON")
    assert settled([("wend", "PERSON", 1), ("wend", "PERSON", 1), ("wend", *told)]) == {
        "wend": "LOC"}


TEXT = st.text(st.sampled_from("Of of the Dr Mr A b 7 . , : ' < > @ \n \t - \u2019 \u00df I") |
               st.characters(exclude_categories=["Cs"]), max_size=40)
WORDS = st.lists(st.sampled_from([
    "Of", "of", "the", "a", "an", "is", ",", "-", "<", "@", "in", "to", "Dr", "Lake", "river",
    "company", "said", "born", ".", "Bank"])
    | st.text(min_size=1, max_size=5).filter(str.strip), max_size=6)
TYPES = st.sampled_from(["PERSON", "ORG", "GPE", "FAC", "NORP", "WORK_OF_ART", "PROPN"])


@given(WORDS, WORDS, WORDS, TYPES)
def test_any_words_have_a_kind_or_none(
        before: list[str], words: list[str], after: list[str], tagged: str) -> None:
    name = " ".join(words)
    assert kind_of(name) == kind_of(name.strip())
    assert kind_of(words[0] if words else "") == ""
    assert not is_given(" ".join(words * 5)) or not words
    kind, weight = told_by(before, after, name or "X", tagged)
    assert bool(kind) is (weight > 0)
    assert column_kind(name) in ("", "PERSON", "ORG", "GPE", "PRODUCT", "WORK_OF_ART")


@given(TEXT, TEXT, TEXT, TYPES)
def test_any_line_is_noise_or_none(above: str, name: str, below: str, tagged: str) -> None:
    text, start = above + name + below, len(above)
    end = start + len(name)
    assert 0 <= greeting(text, start, end) <= len(name)
    assert 0 <= lead(name, opens(text, start)) <= len(name)
    assert 0 <= without_title(name) <= len(name)
    assert is_heading(text, start, end) <= bool(name.strip())
    assert closings(text) | set(label_names(text)) <= set(range(len(text)))
    if name.strip():
        mention = Mention(canonical(name), name, start, end, 0, tagged)
        assert is_noise(name, mention.key, tagged, text, start) in (True, False)
        assert is_doubtful(text, mention, False, ["x"]) <= (tagged == "PROPN")
        assert not is_one_of_many(mention, [], False)


@pytest.mark.parametrize(("noun", "number", "label"), [
    ("shelf", "C4", True), ("vitrine", "7", True), ("ticket", "BX-204", True),
    ("winter", "1911", False), ("page", "C4", False), ("May", "7", False), ("pump", "7.5", False),
    ("at", "7", False), ("pump", "C", False)])
def test_a_noun_and_a_number_tell_a_thing_from_its_like(
        noun: str, number: str, label: bool) -> None:
    assert is_label(noun, number) is label


def test_roads_and_halls_with_an_owner_are_one_name() -> None:
    text = "In King's Road and Queen Anne\u2019s Hall, not in Tim's Red House or Rome's town hall."
    found = [(text[start:end], kind) for start, end, kind in owned(text)]
    assert found == [("King's Road", "FAC"), ("Queen Anne\u2019s Hall", "FAC")]


def test_all_mentions_in_a_passage_have_one_type() -> None:
    text = ("The Soča, a river in western Slovenia, is green. We rafted on the Soča. The guide "
            "said that the Soča is cold.")
    found = extractor().extract(Chunk("c", "d", "", text, 0, len(text)))
    assert {m.kind for m in found.mentions if m.key == "soča"} == {"LOC"}


def test_who_is_greeted_is_a_person_but_not_a_number_of_them() -> None:
    assert types("Dear Kofi,\n\nThe pump is late.") == {"Kofi": "PERSON"}
    assert types("Dear Parents,\n\nThe pump is late.").get("Parents") != "PERSON"


def test_who_signs_a_letter_is_a_person() -> None:
    assert types("The pump is late.\n\nBest wishes,\nPetra\nRegistrar")["Petra"] == "PERSON"


def test_cells_are_one_name_of_the_type_that_their_column_says() -> None:
    text = ("Company: Altamira Foods\nCity: Bilbao\nContact: Nerea Etxeberria\n"
            "Product: AquaPure 300\nSince: 2019")
    assert types(text) == {"Altamira Foods": "ORG", "Bilbao": "GPE", "Nerea Etxeberria": "PERSON",
                           "AquaPure 300": "PRODUCT"}
