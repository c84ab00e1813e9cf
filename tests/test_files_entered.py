"""Number of files of qafd that one question and one document enter, for a reader to follow."""

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

import qafd
from qafd.ingest import index
from qafd.knowledge import KnowledgeGraph

HOME = str(Path(qafd.__file__).parent)


def enter(run: Callable[[], object]) -> set[str]:
    """Return the files of qafd in which a function is called, in any thread."""
    files: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(HOME) and frame.f_code.co_name != "<module>":
            files.add(name.removeprefix(HOME))

    before = sys.getprofile()
    sys.setprofile(note)
    threading.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    return files


def add_two_sentences(folder: Path) -> Callable[[], object]:
    def add(name: str, text: str) -> None:
        index(folder / "work.db", [(name, text.encode())], processes=1, progress=lambda _: None)

    add("first.txt", "Ada Lovelace met Charles Babbage in London. Babbage designed an engine.")
    return lambda: add("second.txt", "Grace Hopper worked in Boston. Hopper met Howard Aiken.")


def ask_a_question(folder: Path) -> Callable[[], object]:
    knowledge = KnowledgeGraph.sample("apple-amazon", folder)

    def ask(question: str) -> None:
        knowledge.answer(knowledge.retrieve(question))

    ask("Who founded Apple?")  # loads what all questions share
    return lambda: ask("Who designed the Apple I?")


@pytest.mark.parametrize(("prepare", "most"), [(add_two_sentences, 40), (ask_a_question, 51)])
def test_few_files_are_entered(prepare: Callable[[Path], Callable[[], object]], most: int, tmp_path: Path
                               ) -> None:
    files = enter(prepare(tmp_path))
    print(f"{len(files)} files: {' '.join(sorted(files))}")
    assert len(files) <= most
