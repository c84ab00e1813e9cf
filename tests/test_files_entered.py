"""Number of files of qafd that one question and one document enter, for a reader to follow."""

import sys
import threading
from pathlib import Path

import pytest

import qafd
from qafd.ingest import index
from qafd.knowledge import KnowledgeGraph

HOME = str(Path(qafd.__file__).parent)


def enter(run):
    """Return the files of qafd in which a function is called, in any thread."""
    files = set()

    def note(frame, event, _):
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


def add_two_sentences(folder):
    def add(name, text):
        index(folder / "work.db", [(name, text.encode())], processes=1, progress=lambda _: None)

    add("first.txt", "Ada Lovelace met Charles Babbage in London. Babbage designed an engine.")
    return lambda: add("second.txt", "Grace Hopper worked in Boston. Hopper met Howard Aiken.")


def ask_a_question(folder):
    knowledge = KnowledgeGraph.sample("apple-amazon", folder)

    def ask(question):
        knowledge.answer(knowledge.retrieve(question))

    ask("Who founded Apple?")  # loads what all questions share
    return lambda: ask("Who designed the Apple I?")


@pytest.mark.parametrize(("prepare", "most"), [(add_two_sentences, 35), (ask_a_question, 51)])
def test_few_files_are_entered(prepare, most, tmp_path):
    files = enter(prepare(tmp_path))
    print(f"{len(files)} files: {' '.join(sorted(files))}")
    assert len(files) <= most
