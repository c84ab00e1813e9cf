import pytest
from local_models import extractor

from qafd.records import Chunk

APPLE = ("Apple Inc. is an American technology company with its head office in Cupertino, "
         "California. Steve Jobs, Steve Wozniak and Ronald Wayne founded Apple in April 1976. "
         "In 2007 Steve Jobs presented the iPhone, a smartphone that runs the iOS operating "
         "system.")


def passage(text, title="", heading="", name="c"):
    return Chunk(name, "d", title, text, 0, len(text), heading=heading)


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


def sentences(text):
    return [text[a:b] for a, b in extractor().extract(passage(text)).sentences]


@pytest.mark.parametrize("text", [
    "The println! macro writes a line.", "Write `cargo run. Then wait! now` in the shell.",
    '"Is that all?" he asked her.', "A Jeopardy! champion works at Yahoo! in Dublin."])
def test_a_sentence_goes_on_in_small_letters_and_within_code(text):
    assert sentences(f"{text} Then it rained.") == [text, "Then it rained."]


def test_text_without_capitals_has_sentences_too():
    assert len(sentences("hey! how are you? we are fine. see you soon.")) > 1


@pytest.mark.parametrize("sign", ["\U0001f389", "\u2728", "\u26a0\ufe0f"])
def test_a_picture_is_no_part_of_the_name_beside_it(sign):
    found = extractor().extract(passage(f"{sign} Lisbon {sign} is where Mara Delgado {sign} lives."))
    assert {m.name for m in found.mentions if m.kind != "term"} >= {"Lisbon", "Mara Delgado"}


@pytest.mark.parametrize("name", ["Jony Ive", "Dagfinn Id", "Hana Im", "Ruth Cant"])
def test_a_name_that_reads_like_a_contraction_is_read_whole(name):
    found = extractor().extract(passage(f"She met {name} in Lisbon."))
    assert name in {m.name for m in found.mentions}


HEADS = ("Region: North\nTown: Asker\nHead: Ida Moe\n\nRegion: North\nTown: Bodo\nHead: Per Lund\n\n"
         "Region: South\nTown: Mandal\nHead: Una Berg, Not Sure")


def test_a_name_in_a_row_has_the_type_of_its_column():
    extraction = extractor().extract(passage(HEADS))
    kinds = {mention.name: mention.kind for mention in extraction.mentions}
    assert kinds["Per Lund"] == kinds["Ida Moe"] == kinds["Una Berg"] == "PERSON?"
    assert {"Asker", "Bodo", "Mandal"} <= kinds.keys()
    assert not {"North", "Not Sure", "Per", "Lund", "Town"} & kinds.keys()


@pytest.mark.parametrize(("text", "name"), [
    ("Per Lund met Ida Moe in Bodo.", "Per Lund"), ("The office pays per Lund invoice.", "Lund"),
    ("The crew is:\n- Ida Moe\n- Per Lund", "Per Lund")])
def test_a_given_name_that_is_a_small_word_needs_its_capital(text, name):
    names = {mention.name for mention in extractor().extract(passage(text)).mentions}
    assert {one for one in names if "Lund" in one and "invoice" not in one} == {name}


@pytest.mark.parametrize(("text", "names"), [
    ("Dear Rosa,\n\nThe mill was sold to Lindau GmbH. The GmbH pays in June.\n\nRegards,\nPiet Oudkerk",
     {"Rosa", "Lindau GmbH", "Piet Oudkerk"}),
    ("Mr. Lind sent MR images to Kew.", {"Lind", "MR", "Kew"}),
    ("Hi Rosa,\n\nOn Tue, 12 Mar 2024 at 14:40, Piet Oudkerk wrote: the MAR pump costs EUR 40.",
     {"Rosa", "Piet Oudkerk", "MAR"}),
    ("Pump: Grebe\nPrice EUR: 40\nPaid: yes\n\nPump: Total\nPrice EUR: 90", {"Grebe"}),
    ("Die Lindau Pumpen GmbH baut hier. Die GmbH wurde von Karl Lindau in Konstanz gegründet und ist dort.",
     {"Lindau Pumpen GmbH", "Karl Lindau", "Konstanz"})])
def test_legal_forms_and_the_words_of_letters_are_no_names_alone(text, names):
    found = extractor().extract(passage(text)).mentions
    assert {m.name for m in found if m.kind not in ("title", "term")} == names


@pytest.mark.parametrize(("text", "alone"), [
    ("Per keeps the light at Utsira.", True), ("The yard was his; later Per sold tea.", True),
    ("She met Per.", True), ("Per hour it costs five crowns.", False), ("It costs five per hour.", False),
    ("## Price Per Hour\n\nIt costs five.", False)])
def test_a_given_name_that_is_a_small_word_is_a_name_alone_where_no_preposition_stands(text, alone):
    found = extractor().extract(passage(text)).mentions
    assert any(m.name == "Per" and m.kind == "PERSON?" for m in found) == alone


@pytest.mark.parametrize(("text", "parts"), [
    ("The crew is:\n- Ida Moe\n- Per Lund", 1), ("The crew is:\n- Ida Moe sails.\n- Per cooks.", 3),
    ("The crew\n- Ida Moe\n- Per Lund", 3)])
def test_items_that_no_mark_ends_are_one_sentence_with_the_line_that_opens_them(text, parts):
    assert len(sentences(text)) == parts
    names = {mention.name for mention in extractor().extract(passage(text)).mentions}
    assert "Ida Moe" in names


def test_a_post_and_who_holds_it_are_one_sentence():
    assert sentences("Head of sales\nMona Lie\nBodo office") == ["Head of sales\nMona Lie\nBodo office"]
    assert len(sentences("10 g salt\n5 g sugar\nStir for a minute.")) > 1
