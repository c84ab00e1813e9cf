"""Question sets: our own format and the published ones, told by their fields."""

import json

import pytest

from qafd.errors import ParseError
from qafd.evaluate.gold import (
    TEMPLATE,
    GoldPassage,
    Question,
    read_passages,
    read_questions,
    to_jsonl,
)
from qafd.reasons import NoticeKind, notice

HOTPOT = {
    "_id": "5a", "question": "Which band is older?", "answer": "Wire", "type": "comparison",
    "level": "hard", "supporting_facts": [["Wire", 0], ["Gang of Four", 1], ["Wire", 1]],
    "context": [["Gang of Four", ["Gang of Four is a band.", " It formed in 1977."]],
                ["Leeds", ["Leeds is a city."]],
                ["Wire", ["Wire is a band.", " It formed in 1976."]]]}
COLUMNS = HOTPOT | {
    "supporting_facts": {"title": ["Wire", "Gang of Four", "Wire"], "sent_id": [0, 1, 1]},
    "context": {"title": [title for title, _ in HOTPOT["context"]],  # type: ignore[attr-defined]
                "sentences": [text for _, text in HOTPOT["context"]]}}  # type: ignore[attr-defined]
WIKI = HOTPOT | {"evidences": [["Wire", "inception", "1976"]]}
MUSIQUE = {
    "id": "2hop__1_2", "question": "Who runs the city of Wire?", "answer": "Leo",
    "answer_aliases": ["Leo I", "Leo"], "answerable": True,
    "paragraphs": [
        {"idx": 0, "title": "Wire", "paragraph_text": "Wire is from Leeds.",
         "is_supporting": True},
        {"idx": 1, "title": "Wire", "paragraph_text": "A wire is thin.", "is_supporting": False},
        {"idx": 2, "title": "Leeds", "paragraph_text": "Leo runs it.", "is_supporting": True}]}


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records).encode()


@pytest.mark.parametrize("data", [
    pytest.param(json.dumps([HOTPOT]).encode(), id="hotpotqa-array"),
    pytest.param(lines(COLUMNS), id="hotpotqa-columns"),
    pytest.param(lines(WIKI), id="2wiki"),
    pytest.param(json.dumps({"data": [HOTPOT]}).encode(), id="in-an-object"),
    pytest.param(b"\xef\xbb\xbf" + lines(HOTPOT), id="byte-order-mark"),
])
def test_contexts_become_passages_and_supporting_facts_gold(data):
    found = read_questions(data)
    titles = {passage.id: passage.title for passage in found.passages}
    question = found.questions[0]
    assert [titles[name] for name in question.gold] == ["Gang of Four", "Wire"]
    assert question.answers == ("Wire",)
    assert [passage.text for passage in found.passages] == [
        "Gang of Four is a band. It formed in 1977.", "Leeds is a city.",
        "Wire is a band. It formed in 1976."]


def test_supporting_paragraphs_of_musique_are_gold_and_not_others_of_their_title():
    found = read_questions(lines(MUSIQUE))
    texts = {passage.id: passage.text for passage in found.passages}
    assert [texts[name] for name in found.questions[0].gold] == [
        "Wire is from Leeds.", "Leo runs it."]
    assert found.questions[0].answers == ("Leo", "Leo I")
    assert len(found.passages) == 3


SQUALITY = {"metadata": {"passage_id": "51"}, "document": "Ann sailed to Rome.", "questions": [
    {"question_text": "What is the plot?", "responses": [{"response_text": "Ann sails."},
                                                         {"response_text": "A voyage."}]},
    {"question_text": "Where is Rome?", "responses": []}]}
ULTRADOMAIN = {"input": "Who sailed?", "answers": ["Ann"], "context": "Ann sailed to Rome.", "_id": "x",
               "label": "fiction", "length": 5}


@pytest.mark.parametrize(("record", "expected"), [
    (SQUALITY, [("What is the plot?", ("Ann sails.", "A voyage.")), ("Where is Rome?", ())]),
    (ULTRADOMAIN, [("Who sailed?", ("Ann",))])], ids=["squality", "ultradomain"])
def test_questions_on_a_long_document_bring_it_along_once(record, expected):
    found = read_questions(lines(record))
    document, = found.passages
    assert document.text == "Ann sailed to Rome."
    assert [(one.text, one.answers) for one in found.questions] == expected
    assert {one.gold for one in found.questions} == {(document.id,)}
    assert read_questions(lines(record, record), limit=1).questions == found.questions[:1]


def test_the_template_is_in_our_own_format():
    first, second = read_questions(TEMPLATE.encode()).questions
    assert first.gold == ("Title of a document", "its-file-name.pdf")
    assert first.answers == ("A name",)
    assert second.answers == ()


def test_questions_survive_being_written_and_read():
    questions = (Question("1", "Wer wählt Ø?", ("A", "b.pdf"), ("x", "y")),
                 Question("2", "And who not?", ("A",)))
    assert read_questions(to_jsonl(questions).encode()).questions == questions


def test_questions_that_have_no_gold_or_no_answer_in_the_texts_are_left_out_and_counted():
    found = read_questions(lines(MUSIQUE, MUSIQUE | {"answerable": False},
                                 {"question": "Who?", "gold": []}))
    assert len(found.questions) == 1
    assert found.notices == (notice(NoticeKind.GOLD_LEFT_OUT, count=2),)


@pytest.mark.parametrize(("data", "message"), [
    (b'{"question": "Who?", "gold": ["A"]}\n{"question": \n', "Line 2 of q.json is not JSON"),
    (b"\xff\xfe", "not UTF-8"),
    (b"[1, 2]", "Record 1 of q.json is not a JSON object"),
    (b'{"question": "Who?"}', "Record 1 of q.json has none of gold"),
    (b'{"question": "", "gold": ["A"]}', "no text under 'question'"),
    (b'{"question": "Who?", "gold": []}', "no question with gold passages"),
    (b'{"question": "Who?", "context": [["A"]], "supporting_facts": []}', "not in their published"),
    (b'{"question": "Who?", "paragraphs": [{"idx": 0}]}', "not in their published form"),
    (b"[" * 100_000, "is not JSON"),
    (b"", "no question with gold passages"),
])
def test_a_file_that_cannot_be_read_is_refused_in_one_sentence(data, message):
    with pytest.raises(ParseError, match=message):
        read_questions(data, "q.json")


def test_passages_are_read_by_id_title_and_text():
    data = lines({"pid": "a", "title": "T", "text": "x"}, {"did": "b", "text": "y"},
                 {"pid": "a", "title": "T", "text": "x"}, {"idx": 7, "title": "U", "text": "z"})
    assert read_passages(data) == (
        GoldPassage("a", "T", "x"), GoldPassage("b", "", "y"), GoldPassage("7", "U", "z"))


@pytest.mark.parametrize(("record", "message"), [
    ({"title": "T", "text": "x"}, "Record 2 of P is not a passage"),
    ({"pid": "b"}, "Record 2 of P is not a passage"),
    ({"pid": "b" * 81, "text": "x"}, "at most 80"),
    ({"pid": "a", "text": "other"}, "repeats the id 'a'"),
])
def test_passages_without_id_or_text_and_two_of_one_id_are_refused(record, message):
    with pytest.raises(ParseError, match=message):
        read_passages(lines({"pid": "a", "text": "x"}, record), "P")
