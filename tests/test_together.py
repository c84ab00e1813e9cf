"""Several passages in one call of a model: whose records are whose, and what is asked once more."""

import pytest
from tiny import TinyExtractor, tiny_index

from qafd.ingest import plan
from qafd.ingest.llm_extract import ModelExtractor, ReadingDoubt
from qafd.ingest.reader import ModelChoice, choose
from qafd.models import Recorded, Reply
from qafd.models.prompts import extract_messages
from qafd.records import Chunk
from qafd.storage import open_workspace

TEXTS = ("Ada met Bob in Paris.", "Bob sold the mill.", "Nothing here. The end of Ada.")
CHUNKS = [Chunk(f"c{i}", "a.txt", "", text, 100 * i, 100 * i + len(text)) for i, text in enumerate(TEXTS)]


def entity(name, said):
    return f'("entity"<|>{name}<|>person<|>{said})'


FIRST = f'("passage"<|>1)##\n{entity("Ada", "She met Bob.")}##\n{entity("Bob", "Ada met him.")}'
SECOND = f'("passage"<|>2)##\n{entity("Bob", "He sold the mill.")}'
THIRD = f'("passage"<|>3)##\n{entity("Ada", "It ends with her.")}'


def read(*replies, **options):
    model = Recorded(replies)
    pairs = list(zip(CHUNKS, TinyExtractor().extract_all(CHUNKS), strict=True))
    return ModelExtractor(model, **options).read_together(pairs), model


def said_of(extraction):
    found = {}
    for one in extraction.descriptions:
        found.setdefault(one.source, []).append(one.text)
    return found


@pytest.mark.parametrize("between", ["##\n", "\n", "##"])
def test_each_passage_gets_the_records_below_its_number(between):
    readings, model = read(between.join((FIRST, SECOND, THIRD)) + "<|COMPLETE|>")
    assert len(model.asked) == 1
    assert [said_of(reading.extraction) for reading in readings] == [
        {"ada": ["She met Bob."], "bob": ["Ada met him."]}, {"bob": ["He sold the mill."]},
        {"ada": ["It ends with her."]}]
    assert [reading.doubt for reading in readings] == ["", "", ""]


def test_records_without_a_number_go_where_their_names_stand():
    readings, model = read(f'{entity("Ada", "A person.")}##{entity("mill", "It was sold.")}')
    assert len(model.asked) == 1
    assert [list(said_of(reading.extraction)) for reading in readings] == [["ada"], ["mill"], ["ada"]]


def test_a_passage_that_is_left_out_is_asked_about_once_alone():
    readings, model = read(f"{FIRST}##\n{THIRD}", entity("Bob", "The seller."))
    assert [len(asked.messages) for asked in model.asked] == [2, 2]
    assert model.asked[1].messages == extract_messages([CHUNKS[1]])
    assert said_of(readings[1].extraction) == {"bob": ["The seller."]}
    readings, model = read(f"{FIRST}##\n{THIRD}", "Sorry.")
    assert len(model.asked) == 2
    assert [reading.doubt for reading in readings] == ["", ReadingDoubt.UNGROUNDED, ""]


def test_of_a_reply_that_was_cut_only_what_it_did_not_end_is_asked_again():
    cut = Reply(f"{FIRST}##\n{SECOND[:-12]}", 1, 1, cut=True)
    readings, model = read(cut, SECOND.replace("2", "1"), THIRD.replace("3", "1"))
    assert [len(asked.messages) for asked in model.asked] == [2, 2, 2]
    assert [reading.doubt for reading in readings] == ["", "", ""]
    assert "He sold the mill." in said_of(readings[1].extraction)["bob"]
    assert said_of(readings[0].extraction) == {"ada": ["She met Bob."], "bob": ["Ada met him."]}


def test_a_reply_that_grounds_nothing_is_shown_once_more_for_all():
    readings, model = read("I cannot.", "##\n".join((FIRST, SECOND, THIRD)))
    assert [len(asked.messages) for asked in model.asked] == [2, 4]
    assert all(reading.doubt == "" for reading in readings)


def names_in_each(body):
    """A model that names the capitalized words of each passage below its number."""
    lines = body["messages"][1]["content"].splitlines()
    records = []
    for line in lines:
        if line.startswith("====="):
            number = line.split()[2]
            records += [f'("passage"<|>{number})'] if number.isdigit() else []
        else:
            names = [word.strip(".") for word in line.split() if word.istitle()]
            records += [entity(name, f"{name} is named.") for name in names]
    return "##\n".join(records)


def long_text(paragraphs):
    filler = "and then they went on for a good while without saying much of what they had seen "
    return "\n\n".join(f"Person{i} met Person{i + 1}. " + filler * 10 for i in range(paragraphs)).encode()


@pytest.mark.replies(reply=names_in_each)
def test_the_plan_says_what_is_then_called_and_the_graph_is_the_same_one_by_one(
        path, tmp_path, server):
    files = [("a.txt", long_text(10))]
    calls = {}
    for together in (1, 4):
        other = tmp_path / f"{together}.db"
        with open_workspace(other) as store:
            choose(store, ModelChoice("tiny", server.url, together=together))
        planned = plan(other, files)
        before = len(server.bodies)
        tiny_index(other, files)
        calls[together] = len(server.bodies) - before
        assert planned.passages == 10
        assert planned.calls[0] == calls[together] <= planned.calls[1]
    assert calls == {1: 10, 4: 3}
    with open_workspace(tmp_path / "1.db") as one, open_workspace(tmp_path / "4.db") as four:
        assert one.graph.digest() == four.graph.digest()
