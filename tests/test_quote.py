"""Quoted answers: which sentences they are made of."""

from collections import Counter
from pathlib import Path

import pytest

from qafd.answer import Answer, Confidence
from qafd.knowledge import KnowledgeGraph

MILLS = ("Alder", "Birch", "Cedar", "Elm", "Fir", "Hazel")


def answer(folder: Path, files: dict[str, str], question: str) -> Answer:
    """What a new workspace of these texts answers."""
    texts = folder / "texts"
    texts.mkdir()
    for name, text in files.items():
        (texts / f"{name}.txt").write_text(text)
    knowledge = KnowledgeGraph(folder / "mills.db")
    knowledge.add_files([texts], processes=1)
    plan = knowledge.plan(question)
    return knowledge.answer(knowledge.retrieve(plan), plan)


def test_no_passage_has_more_than_two_of_the_sentences(tmp_path: Path) -> None:
    files = {mill: f"{mill} Mill\n\n" + " ".join(
        f"{mill} Mill ground {corn} for the town." for corn in ("rye", "oats", "wheat", "barley"))
        for mill in MILLS}
    found = answer(tmp_path, files, "What did Alder Mill grind for the town?")
    assert max(Counter(sentence.citation for sentence in found.sentences).values()) <= 2


CUP = {"cup": "The Mill Cup\n\nThe Mill Cup is a race between mills. Ada Brenner won the Mill Cup in 2018. "
              "She retired in 2021. Hugo Lind is the treasurer of the race."}


@pytest.mark.parametrize(("question", "lacking"), [
    ("Who won the Mill Cup in 2018?", ()),
    ("Who won the Mill Cup in 2016?", ("2016",)),
    ("Who is the treasurer of the race?", ()),
    ("Who is the umpire of the race?", ("umpire",)),
    ("When did Ada Brenner retire?", ()),
    ("What colour has the Mill Cup?", ("colour",)),
    ("Does anybody mention the Mill Cup?", ()),
])
def test_a_sentence_that_lacks_what_is_asked_about_is_perhaps_the_answer_at_most(
        tmp_path: Path, question: str, lacking: tuple[str, ...]) -> None:
    found = answer(tmp_path, CUP, question)
    assert found.lacking == lacking
    assert found.confidence == (Confidence.PERHAPS if lacking else Confidence.ANSWERED)
    assert any(sentence.best for sentence in found.sentences) != bool(lacking)


REPLIES = {
    "Can I row in the mill pond?": "No. The sluice pulls boats under.",
    "How often is the wheel greased?": "Twice a year.",
    "What is the black barrel for?": "Old oil is kept in it until a van fetches it.",
    "Who may come in on Mondays?": "Everybody who has a ticket from the week before.",
}


@pytest.mark.parametrize("question", REPLIES)
@pytest.mark.parametrize("gap", [" ", "\n", "\n\n"], ids=["same line", "next line", "next paragraph"])
def test_who_asks_what_a_text_asks_gets_what_it_replies(tmp_path: Path, gap: str, question: str) -> None:
    text = "\n\n".join(f"{asked}{gap}{reply}" for asked, reply in REPLIES.items())
    best, = (one for one in answer(tmp_path, {"asked": text}, question).sentences if one.best)
    assert (best.about, best.text) == (question, REPLIES[question])


def test_a_sentence_that_opens_with_a_pronoun_stands_under_its_heading(tmp_path: Path) -> None:
    found = answer(tmp_path, CUP, "When did Ada Brenner retire?")
    assert [(one.text, one.about) for one in found.sentences if one.best] == [
        ("She retired in 2021.", found.citations[0].title)]
    assert not any(one.about for one in found.sentences if not one.text.startswith("She"))
