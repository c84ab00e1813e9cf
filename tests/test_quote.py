"""Quoted answers: which sentences they are made of."""

from collections import Counter
from pathlib import Path

from qafd.answer import Answer
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
