import pytest
from local_models import extractor

from qafd.reading.names import LocalExtractor
from qafd.reading.text.table_rows import is_table
from qafd.records import Chunk

APPLE = ("Apple Inc. is an American technology company with its head office in Cupertino, "
         "California. Steve Jobs, Steve Wozniak and Ronald Wayne founded Apple in April 1976. "
         "In 2007 Steve Jobs presented the iPhone, a smartphone that runs the iOS operating "
         "system.")


def passage(text: str, title: str = "", heading: str = "", name: str = "c") -> Chunk:
    return Chunk(name, "d", title, text, 0, len(text), heading=heading)


def keys(extraction, *kinds):
    return {m.key for m in extraction.mentions if not kinds or m.kind in kinds}


def test_names_of_people_places_and_organizations_are_found():
    found = keys(extractor().extract(passage(APPLE, "Apple Inc.")))
    assert {"apple", "steve jobs", "steve wozniak", "ronald wayne", "cupertino",
            "california", "iphone"} <= found


def test_mentions_are_slices_of_the_text():
    extraction = extractor().extract(passage(APPLE, "Apple Inc."))
    placed = [m for m in extraction.mentions if m.end]
    assert len(placed) > 8
    for m in placed:
        assert APPLE[m.start:m.end] == m.name
        start, end = extraction.sentences[m.sentence]
        assert start <= m.start < m.end <= end


def test_sentences_are_slices_in_order_without_blanks_around_them():
    text = "  The mill ground corn.  It stood by the river.\n\nThen it burned down. "
    spans = extractor().extract(passage(text)).sentences
    assert [text[a:b] for a, b in spans] == [
        "The mill ground corn.", "It stood by the river.", "Then it burned down."]


def test_title_and_heading_are_mentions_without_a_place():
    extraction = extractor().extract(passage("It was sold twice.", "Grist Mill", "Owners"))
    above = [(m.key, m.kind, m.start, m.end) for m in extraction.mentions]
    assert above == [("owners", "heading", 0, 0), ("grist mill", "title", 0, 0)]


@pytest.mark.parametrize("title", ["20260105_1100", "2 - 3", "the", ""])
def test_titles_that_name_nothing_make_no_mention(title):
    assert not keys(extractor().extract(passage("It was sold twice.", title)), "title")


@pytest.mark.parametrize("text", [
    "In 1976 and 2007 there were 14 of them, the first and the 2nd.",
    "She told him that they had it on Monday in January.",
    "It is very good.",
])
def test_numbers_pronouns_and_dates_are_no_names(text):
    assert not keys(extractor().extract(passage(text)))


def test_every_line_of_a_chat_is_a_sentence():
    text = "[09:01] Maya: hello\n[09:02] Dev: Redis is down\n[09:05] Kofi: I will look"
    assert sentences(text) == text.split("\n")


def test_a_row_may_begin_with_a_value_without_a_column():
    assert is_table("United Kingdom\n2023: 210.4\n2022: 201.7")
    assert not is_table("United Kingdom\n2023: 210.4")


def test_noun_chunks_of_two_words_are_terms():
    extraction = extractor().extract(passage("The conveyor belt stopped near a loading dock."))
    assert keys(extraction, "term") == {"conveyor belt", "loading dock"}


def test_the_verb_of_two_names_labels_their_relation():
    extraction = extractor().extract(passage(APPLE))
    labels = {(a.source, a.target): a.label for a in extraction.assertions}
    assert labels["steve jobs", "apple"] == "founded"
    assert labels["steve jobs", "iphone"] == "presented"
    assert labels["ronald wayne", "apple"] == "founded"
    assert labels["steve jobs", "steve wozniak"] == ""


def test_a_verb_between_two_names_of_which_one_is_not_its_object_labels_nothing():
    text = "Marie Curie heard that Lise Meitner had left Berlin."
    labels = {(a.source, a.target): a.label for a in extractor().extract(passage(text)).assertions}
    assert labels == {("marie curie", "lise meitner"): "", ("marie curie", "berlin"): "",
                      ("lise meitner", "berlin"): "left"}


def test_the_mentions_of_a_name_in_a_passage_have_one_type():
    text = "Ines Faraday came. Ask Ines Faraday. The Ines Faraday of Holm met Faraday."
    kinds = {m.kind for m in extractor().extract(passage(text)).mentions if m.key == "ines faraday"}
    assert len(kinds) == 1


def test_a_relation_keeps_the_preposition_of_its_verb():
    extraction = extractor().extract(passage("Marie Curie was born in Warsaw."))
    assert [(a.source, a.label, a.target) for a in extraction.assertions] == [
        ("marie curie", "born in", "warsaw")]


def test_crowded_sentences_link_neighbors_only():
    cities = ["London", "Paris", "Madrid", "Rome", "Vienna", "Prague", "Berlin", "Warsaw", "Oslo"]
    some = extractor().extract(passage(f"They visited {', '.join(cities[:4])}."))
    many = extractor().extract(passage(f"They visited {', '.join(cities)}."))
    assert len(some.assertions) == 6
    assert [(a.source, a.target) for a in many.assertions] == [
        (a.lower(), b.lower()) for a, b in zip(cities, cities[1:], strict=False)]


def test_a_spelled_out_acronym_is_another_name_of_what_it_spells():
    text = "The National Football League (NFL) grew. The NFL has many teams."
    mentions = extractor().extract(passage(text)).mentions
    assert {m.key for m in mentions if m.name in ("NFL", "The NFL")} == {
        "national football league"}


def test_brackets_that_spell_nothing_make_no_alias():
    text = "The Apple Museum (Prague) opened. Prague liked it."
    assert {"prague"} <= keys(extractor().extract(passage(text)))


@pytest.mark.parametrize("text", ["", "   ", "\n\n", "\u82f9\u679c\u516c\u53f8", "!!! ??? ...",
                                  "\U0001f389" * 50, "a" * 5000])
def test_any_text_has_an_extraction(text):
    extraction = extractor().extract(passage(text))
    assert extraction.chunk == "c"
    assert all(text[a:b].strip() for a, b in extraction.sentences)


def test_a_batch_extracts_what_single_calls_do():
    chunks = [passage(text, title, name=str(i)) for i, (text, title) in enumerate(
        [(APPLE, "Apple Inc."), ("Brazil borders Peru.", ""), ("", "x"), (APPLE[:90], "")] * 5)]
    assert list(extractor().extract_all(chunks)) == [extractor().extract(c) for c in chunks]


def test_the_name_says_which_model_extracted():
    assert LocalExtractor().name == extractor().name
    assert extractor().name.startswith("local-")
    assert "3.8" in extractor().name


def sentences(text: str) -> list[str]:
    return [text[a:b] for a, b in extractor().extract(passage(text)).sentences]


def test_a_sentence_keeps_its_first_word_after_a_heading():
    text = ("Minutes of March.\n\n1. The Harbour Mill\n\nCouncillor Tuvell said that the survey "
            "was finished. The roof leaks.\n\n## 2. The Night Bus\n\nInes Faraday showed figures.")
    assert sentences(text) == [
        "Minutes of March.", "1. The Harbour Mill",
        "Councillor Tuvell said that the survey was finished.", "The roof leaks.",
        "## 2. The Night Bus", "Ines Faraday showed figures."]
    assert "councillor" not in keys(extractor().extract(passage(text)))


def test_short_paragraphs_and_short_sentences_stay_alone():
    text = "Minutes\n\nLibrary\n\nYes. The mill was sold. It burned.\n\nAbstract\nWe met in May."
    assert sentences(text)[:5] == [
        "Minutes", "Library", "Yes.", "The mill was sold.", "It burned."]


def test_every_item_of_a_list_is_a_sentence_without_its_bullet():
    text = ("Decided:\n- Ines Faraday reported that the roof leaks in Holm.\n"
            "  * Oak beams\n\u2022 The mill was sold. It burned.\n- Next meeting: 14 May 2024.")
    assert sentences(text) == [
        "Decided:", "Ines Faraday reported that the roof leaks in Holm.", "Oak beams",
        "The mill was sold.", "It burned.", "Next meeting: 14 May 2024."]
    assert sentences("- Oak beams cut to size") == ["Oak beams cut to size"]
    assert sentences("Agenda\n1. Oak beams\n2) The night bus") == [
        "Agenda", "1. Oak beams", "2) The night bus"]


def test_a_row_of_a_table_is_one_sentence():
    rows = ["item: Roof slates grey\nsupplier: Sandholt Quarry\nprice_eur: 42.50",
            "item: Oak beams\nsupplier: Holm Timber\nnote: Cut to size. Ask Jonas Wherry first."]
    assert sentences("\n\n".join(rows)) == rows
    assert sentences(f"{rows[1]}\n\nThe mill needs beams.") == [rows[1], "The mill needs beams."]


def test_names_of_columns_are_no_names_and_no_name_ends_in_of():
    def names(text):
        return {m.name for m in extractor().extract(passage(text)).mentions}

    found = names("Vessel: Osprey\nGross Tonnage: 54,300\nFlag State: Cyprus\nOwner: Tarrant Lines")
    assert {"Osprey", "Cyprus"} <= found
    assert not {name for name in found if name.split()[0] in ("Vessel", "Gross", "Flag", "Owner")}
    assert not {name for name in names("It was adjusted by Pelham & Rusk of Port Ennis.")
                if name.endswith("of")}


@pytest.mark.parametrize(("text", "expected"), [
    ("name: Ada\nborn: 1815", True),
    ("name: Ada\nborn: 1815\n\nname: Bob", True),
    ("name: Ada", False),
    ("name: Ada\nborn:", False),
    ("name: Ada\n\nDear Bob, I am well.", False),
    ("Ada: Hello.\nBob: Hello.\nAda: How are you?", False),
    ("10:15\n10:30", False),
    ("", False),
])
def test_a_table_is_rows_of_columns_that_differ(text, expected):
    assert is_table(text) == expected
