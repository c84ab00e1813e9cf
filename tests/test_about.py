"""What a question of one clause is about, and whether a text speaks of it."""

import pytest

from qafd.answer.lacking import speaks_of
from qafd.plan.about import find_about
from qafd.plan.linking import named_in
from qafd.reading.names.tagger import tagger
from qafd.reading.text.stems import stems


@pytest.mark.parametrize(("question", "groups"), [
    ("Who founded Lindau Mill?", {("Lindau Mill",)}),
    ("Who won the Mill Cup in 2018?", {("Mill Cup",), ("2018",)}),
    ("Who is the treasurer?", {("treasurer",)}),
    ("What does the HX-40 cost?", {("HX-40",)}),
    ("Who is Dr. Brenner?", {("Brenner",)}),
    ("Who led Lindau Mill before 1950?", {("Lindau Mill",)}),  # a text says 1948
    ("Can the winch lift 5 kg?", set()),  # a text says 4 kg
    ("Which is older, Lindau Mill or Boston?", set()),
    ("Who directed the film that Ada Brenner starred in?", set()),
    ("Where was the manufacturer of Bisquick founded?", set()),
    ("Which studio recorded the music for the film by Ada Brenner?", set()),
    ("What is this?", set()),
    ("What does error 7 mean?", {("7",)}),
    ("What is the default of mail.max_size?", {("mail.max_size",)}),
    ("What does --force do?", {("--force",)}),
])
def test_a_question_is_about_what_stands_beside_its_verb(
        question: str, groups: set[tuple[str, ...]]) -> None:
    doc = tagger()[0](question)
    assert set(find_about(doc, list(named_in(doc)))) == groups


@pytest.mark.parametrize(("name", "text", "spoken"), [
    ("Ada Brenner", "Brenner led it.", True),
    ("Li Hua", "LiHua: hello", True),
    ("Wolfgang", "WolfgangSchulz: hello", True),
    ("Ada", "She moved to Canada.", False),
    ("US", "It fell because of rain.", False),
    ("1200", "It has 1,200 seats.", True),
    ("200", "It has 1,200 seats.", False),
    ("1,200", "It has 300,200 seats.", False),
    ("3.5", "Version 3.5 is out.", True),
    ("5", "Version 3.5 is out.", False),
    ("230V", "It needs 230 V.", True),
    ("E3", "Error E-3: blocked", True),
    ("E3", "Error E-30: blocked", False),
    ("1990", "In the 1990s it grew.", True),
    ("mail.max_size", "[mail] max_size = 5", True),
    ("mail.max_size", "mail.max_age and the size", False),
    ("--force", "It forces a write.", False),
])
def test_a_text_speaks_of_whole_names_and_numbers(name: str, text: str, spoken: bool) -> None:
    assert speaks_of(text, stems(text), name) == spoken
