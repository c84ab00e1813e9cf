"""Quoted answers: which sentences they are made of."""

from collections import Counter
from pathlib import Path

from qafd.answer import Answer
from qafd.knowledge import KnowledgeGraph

MILLS = {"Alder": "Ada Brook", "Birch": "Bert Cole", "Cedar": "Cora Dale", "Elm": "Emil Fox",
         "Fir": "Finn Gray", "Hazel": "Hanna Ives"}
FOOTER = "The opening hours of the mill are on the notice board of the mill office."


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


def test_what_stands_on_every_page_is_not_quoted(tmp_path: Path) -> None:
    pages = {}
    for mill, miller in MILLS.items():
        pages[mill] = f"{mill} Mill\n\n{mill} Mill opens at nine. The miller is {miller}.\n\n{FOOTER}"
    found = answer(tmp_path, pages, "What are the opening hours of the mill?")
    assert found.sentences
    assert FOOTER not in {sentence.text for sentence in found.sentences}


def test_versions_of_one_document_are_quoted(tmp_path: Path) -> None:
    text = ("Alder Mill was built by Ada Brook in 1802. It ground corn for the town. "
            "A flood took its wheel in 1911.")
    versions = {f"version {number}": text for number in range(5)}
    found = answer(tmp_path, versions, "Who built Alder Mill?")
    assert "Ada Brook" in found.sentences[0].text


def test_no_passage_has_more_than_two_of_the_sentences(tmp_path: Path) -> None:
    files = {mill: f"{mill} Mill\n\n" + " ".join(
        f"{mill} Mill ground {corn} for the town." for corn in ("rye", "oats", "wheat", "barley"))
        for mill in MILLS}
    found = answer(tmp_path, files, "What did Alder Mill grind for the town?")
    assert max(Counter(sentence.citation for sentence in found.sentences).values()) <= 2
