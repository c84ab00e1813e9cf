import pytest
from local_models import extractor

from qafd.reading.names import LocalExtractor
from qafd.reading.names.columns import is_table
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


@pytest.mark.parametrize("title", ["20260105_1100", "2 - 3", "Chapter 7", "the", ""])
def test_titles_that_name_nothing_make_no_mention(title):
    assert not keys(extractor().extract(passage("It was sold twice.", title)), "title")


@pytest.mark.parametrize("text", [
    "In 1976 and 2007 there were 14 of them, the first and the 2nd.",
    "She told him that they had it on Monday in January.",
    "It is very good.",
])
def test_numbers_pronouns_and_dates_are_no_names(text):
    assert not keys(extractor().extract(passage(text)))


def names(text: str) -> set[str]:
    return {m.name for m in extractor().extract(passage(text)).mentions if m.kind != "term"}


MAIL = """From: Anna Keller <anna@brightwater.example>
To: Tomas Novak <tomas@brightwater.example>
Date: Tue, 14 May 2024
Subject: Slot in Gdynia

Dear Tomas,

The container is in Bremerhaven. It left on Tue. Thx Priya! Please open Grafana before Fri.

Best regards,
Anna

Phone: +49 30 555 0192
Mobile: +49 171 555 7788"""


def test_a_letter_names_who_and_where_but_no_days_greetings_or_headers():
    found = names(MAIL)
    assert {"Anna Keller", "Tomas Novak", "Tomas", "Gdynia", "Bremerhaven", "Grafana"} <= found
    words = {word for name in found for word in name.split()}
    assert not words & {"From", "To", "Date", "Subject", "Tue", "Fri", "Dear", "Thx", "Best",
                        "regards", "Phone", "Mobile", "Open", "Please"}


@pytest.mark.parametrize(("text", "junk"), [
    ("See Schedule A. The offices are in Building C, Room 204.",
     {"Schedule A", "Building C", "Room"}),
    ("1. Use Expensify for receipts. Bake it for ten minutes.", {"Use Expensify", "Use", "Bake"}),
    ("Either Party may leave. Ask your Manager.", {"Party", "Either Party", "Manager"}),
    ("He is the Chief Executive Officer.", {"Chief Executive Officer"}),
    ("The fee is EUR 12,500 a month.", {"EUR 12,500", "EUR"}),
    ("Next Meeting\n\nIt was long.\n\nRecordings of birds are kept.",
     {"Next Meeting", "Recordings"}),
    ("Tips: take a coat.\nAction: Lena to write.", {"Tips", "Action"}),
    ("Oak Ltd (hereinafter: the Lender) pays Elm (the \"Buyer\"). The Lender and the Buyer agree.",
     {"Lender", "Buyer", "the Lender", "The Lender", "the Buyer"}),
    ("Please write.\n\nBest wishes,\nPetra\nRegistrar\n\nIt is late.", {"Registrar"}),
], ids=["numbered", "orders", "one of many", "role", "money", "headings", "labels", "parties",
        "signatures"])
def test_what_only_looks_like_a_name_is_none(text, junk):
    assert not names(text) & junk


def test_a_title_may_be_a_word_that_letters_say():
    extraction = extractor().extract(passage("It was sung by Adele.", "Hello"))
    assert keys(extraction, "title") == {"hello"}


def test_who_speaks_in_a_dialogue_is_named_though_a_colon_follows():
    text = ("Rosalind: It began in Tulsa.\nClyde: And the tape?\nRosalind: It broke.\n"
            "Clyde: A pity.")
    assert names(text) == {"Clyde", "Tulsa"}  # the tagger takes Rosalind for a noun


@pytest.mark.parametrize(("text", "name"), [
    ("We upgraded Kubernetes 1.29 in spring.", "Kubernetes 1.29"),
    ("Ask Dr Lindqvist about it.", "Lindqvist"),
    ("- 100 g Roquefort cheese\n- 2 pears", "Roquefort"),
    ("As Smith et al. found, it grew.", "Smith"),
    ("Dear Evan Hansen is a musical by Pasek and Paul.", "Dear Evan Hansen"),
    ("Ben Platt sang in Dear Evan Hansen for a year.", "Dear Evan Hansen"),
    ("Hello Kitty is a character of Sanrio.", "Hello Kitty"),
    ("Place Vendome is a square in Paris.", "Place Vendome"),
    ("Level 42 are an English band from the Isle of Wight.", "Level 42"),
    ("Unit 731 was a unit of the Imperial Japanese Army.", "Unit 731"),
    ("Dear Petra, please do not leave the vase in there.", "Petra"),
    ("Hello Tomas\n\nThe vase is here.", "Tomas"),
    ("[09:05] Dear Tomas: the pump is here.", "Tomas"),
    ("The House on Weaver's Lane burned.", "Weaver's Lane"),
    ("He lives in St. Mary's Hall with others.", "St. Mary's Hall"),
    ("It was a gift of the Kessler Foundation 2023.", "the Kessler Foundation"),
    ("We sailed from Boston's Harbour to Ireland.", "Boston"),
])
def test_a_name_is_neither_cut_nor_longer_than_it_is(text, name):
    assert name in names(text)


def test_halves_of_a_name_that_stands_whole_elsewhere_are_put_together():
    text = ("Helios Freight confirms two containers. Frage: did Helios Freight confirm the second "
            "container?")
    mentions = extractor().extract(passage(text)).mentions
    assert [m.start for m in mentions if m.key == "helios freight"] == [0, text.index("Helios", 5)]
    assert not {"helios", "freight"} & {m.key for m in mentions}


def test_every_line_of_a_chat_is_a_sentence():
    text = "[09:01] Maya: hello\n[09:02] Dev: Redis is down\n[09:05] Kofi: I will look"
    assert sentences(text) == text.split("\n")


def test_a_row_may_begin_with_a_value_without_a_column():
    assert is_table("United Kingdom\n2023: 210.4\n2022: 201.7")
    assert not is_table("United Kingdom\n2023: 210.4")


def test_the_time_of_day_before_a_name_is_no_part_of_it():
    text = "09:15 Lodestar review. 10:30 pm Coffee with Maria Ortiz."
    named = [m for m in extractor().extract(passage(text)).mentions if m.kind != "term"]
    assert {m.key for m in named} >= {"maria ortiz", "lodestar"}
    assert all(text[m.start:m.end].casefold() == m.key for m in named if m.kind != "title")
    assert not any(letter.isdigit() for m in named for letter in m.key)


def test_noun_chunks_of_two_words_are_terms():
    extraction = extractor().extract(passage("The conveyor belt stopped near a loading dock."))
    assert keys(extraction, "term") == {"conveyor belt", "loading dock"}


@pytest.mark.parametrize(("text", "found"), [
    ("The crack in vitrine 7 grew.", {"vitrine 7"}),
    ("Invoice 1042 was paid after pump 17 failed.", {"Invoice 1042", "pump 17"}),
    ("He worked in Room 40.", {"Room 40"}),
    ("See page 7 and chapter 3. In winter 1911 a rod 7 cm long broke on May 12.", set()),
    ("It cost euro 12 at grade 3 to 6.", set()),
])
def test_nouns_with_a_number_are_terms_but_no_amounts_dates_or_pages(text, found):
    mentions = extractor().extract(passage(text)).mentions
    assert {m.name for m in mentions if m.kind == "term" and m.name[-1].isdigit()} == found


def test_a_verb_between_two_names_labels_their_relation():
    extraction = extractor().extract(passage(APPLE))
    labels = {(a.source, a.target): a.label for a in extraction.assertions}
    assert labels["steve jobs", "apple"] == "founded"
    assert labels["steve jobs", "iphone"] == "presented"
    assert labels["steve jobs", "steve wozniak"] == ""


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
