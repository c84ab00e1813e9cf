"""What a question says that no condition can: it is told, and nothing else is."""

import re

import pytest

from qafd.plan.query_graph import read_query_graph
from qafd.plan.unsaid import find_unsaid, leave_unsaid
from qafd.reading.names.tagger import tagger
from qafd.reasons import NoticeKind

NAMES = ("Chile", "Peru", "Norway", "Ada Holt", "Ben Crane")


def told(question: str) -> dict[NoticeKind, str]:
    """The notices of a question by kind, with their words."""
    nlp, _ = tagger()
    names = [name for name in NAMES if name in question]
    places = sorted(match.span() for name in names for match in re.finditer(name, question))
    query = read_query_graph(question, [name.casefold() for name in names])
    left = leave_unsaid(find_unsaid(nlp(question), places), query, " ".join(names))
    return {one.kind: str(one.values["words"]) for one in left}


@pytest.mark.parametrize(("question", "kind", "words"), [
    ("What is the largest town of Chile?", NoticeKind.BEYOND_CONDITIONS, "largest"),
    ("Who lived in Chile longer than Ben Crane?", NoticeKind.BEYOND_CONDITIONS, "longer than"),
    ("How many students of Ada Holt lived in Peru?", NoticeKind.BEYOND_CONDITIONS, "How many"),
    ("Who worked in Chile before 1950?", NoticeKind.BEYOND_CONDITIONS, "before 1950"),
    ("Who worked only in Norway?", NoticeKind.BEYOND_CONDITIONS, "only"),
    ("Who lived in at least two of Chile, Peru and Norway?", NoticeKind.BEYOND_CONDITIONS, "at least two"),
    ("Which is longer, Chile or Norway?", NoticeKind.CHOICE, "Chile or Norway"),
    ("Who lived in Chile or not in Peru?", NoticeKind.OR_AS_AND, "Chile or not in Peru")])
def test_what_no_condition_says_is_told_in_words_of_the_question(
        question: str, kind: NoticeKind, words: str) -> None:
    assert words in told(question)[kind]


@pytest.mark.parametrize("question", [
    "Who lived in Chile and worked in Peru but not in Norway?", "Who was neither in Chile nor in Peru?",
    "Who was born in Chile or Peru?", "Who has not lived in Chile or Peru?", "Whose brother was Ben Crane?",
    "Which of Ada Holt's students worked in Norway?", "Who is the mother of Ben Crane?",
    "Who taught the man who met Ada Holt and lived in Peru?", "Who founded the firm run by Ada Holt?",
    "Which country borders both Chile and Peru?", "Who painted or drew Ada Holt in Norway?"])
def test_of_a_question_that_conditions_say_nothing_is_told(question: str) -> None:
    assert told(question) == {}
