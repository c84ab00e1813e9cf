"""What kind of thing names are, as a reader of them and of the words around them would say."""

import pytest
from local_models import extractor

from qafd.extract.kinds import column_kind, is_given, kind_of, settled, told_by
from qafd.records import Chunk


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
    ("House of Cards", ""), ("The Hours", ""), ("State Fair", ""), ("Sister Act", ""), ("", "")])
def test_words_of_a_name_tell_what_it_names(name: str, kind: str) -> None:
    assert kind_of(name) == kind


@pytest.mark.parametrize(("name", "given"), [
    ("Giulia Ferri", True), ("J. P. Morgan", False), ("Daniel J. Bernstein", True),
    ("Giulia", False), ("Green Valley Dairy", False), ("Anna von der Heide", True),
    ("John the printer of all things", False)])
def test_a_first_name_before_another_makes_a_person(name: str, given: bool) -> None:
    assert is_given(name) is given


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


def test_all_mentions_in_a_passage_have_one_type() -> None:
    text = ("The Soča, a river in western Slovenia, is green. We rafted on the Soča. The guide "
            "said that the Soča is cold.")
    found = extractor().extract(Chunk("c", "d", "", text, 0, len(text)))
    assert {m.kind for m in found.mentions if m.key == "soča"} == {"LOC"}


def test_cells_are_one_name_of_the_type_that_their_column_says() -> None:
    text = ("Company: Altamira Foods\nCity: Bilbao\nContact: Nerea Etxeberria\n"
            "Product: AquaPure 300\nSince: 2019")
    assert types(text) == {"Altamira Foods": "ORG", "Bilbao": "GPE", "Nerea Etxeberria": "PERSON",
                           "AquaPure 300": "PRODUCT"}
