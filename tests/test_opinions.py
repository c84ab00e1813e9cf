"""A model's opinion of quoted answers: blind, capped, estimated before, with intervals."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from qafd.errors import ModelError, SpendingCapError
from qafd.evaluate.judge import Answers, accept_grades, opinions
from qafd.knowledge import KnowledgeGraph
from qafd.models import Recorded
from qafd.models.cost import Cap, Meter, Metered, Price
from qafd.models.prompts_answer import EMPOWERMENT, PAPER, Criterion
from qafd.reasons import NoticeKind, notice

ASKED = (Answers("Who?", {"b": "BBB", "a": "AAA"}), Answers("Where?", {"a": "AAA", "b": "BBB"}),
         Answers("When?", {"b": "BBB", "a": "AAA"}))


def grades(*each: float, criteria: Sequence[Criterion] = PAPER) -> str:
    return json.dumps({"grades": [{c.name: value for c in criteria} for value in each]})


def fair(messages: str) -> str:
    """Twenty for AAA and sixty for BBB, in the order in which they are shown."""
    return grades(*(20 if name == "AAA" else 60 for name in re.findall("AAA|BBB", messages)))


def replies(asked: tuple[Answers, ...], repeats: int) -> list[str]:
    return [fair(" ".join(list(one.texts.values())[::-1 if number % 2 else 1]))
            for one in asked for number in range(repeats)]


def test_grades_are_means_over_questions_with_paired_differences() -> None:
    first = Recorded(replies(ASKED, 2))
    found = opinions(ASKED, first, ["a", "b"])
    assert [one.name for one in found.opinions] == ["a", "b"]
    assert [(one.overall.mean, one.overall.low, one.overall.high) for one in found.opinions] == [
        (20, 20, 20), (60, 60, 60)]
    assert found.opinions[1].difference.mean == 40
    assert found.opinions[0].criteria["diversity"].mean == 20
    assert found.questions == ("Who?", "Where?", "When?")
    assert len(first.asked) == 6


def test_grades_by_the_empowerment_score_are_in_percent_of_its_three_points() -> None:
    client = Recorded([grades(0, 1, criteria=EMPOWERMENT)])
    found = opinions(ASKED[:1], client, ["a", "b"], repeats=1, criteria=EMPOWERMENT)
    assert [round(one.overall.mean, 1) for one in found.opinions] == [66.7, 0]
    assert {name: one.mean for name, one in found.opinions[0].criteria.items()} == {
        "logical coherence": 50, "informational value": 100}
    assert "logical coherence, 0 to 2" in client.asked[0].messages[0].content


def test_a_question_whose_replies_cannot_be_read_is_left_out_and_said() -> None:
    given = [*replies(ASKED[:1], 1), "no grades", *replies(ASKED[2:], 1)]
    found = opinions(ASKED, Recorded(given), ["a", "b"], repeats=1)
    assert found.questions == ("Who?", "When?")
    assert found.stopped.kind == NoticeKind.NOT_ALL_JUDGED
    with pytest.raises(ModelError, match="gave no grades"):
        opinions(ASKED[:1], Recorded(["nothing"]), ["a", "b"], repeats=1)


def test_what_was_judged_stays_when_it_ends_early() -> None:
    broken = Recorded([*replies(ASKED[:1], 1), SpendingCapError("The cap."), *replies(ASKED, 1)])
    found = opinions(ASKED, broken, ["a", "b"], repeats=1)
    assert found.questions == ("Who?",)
    assert found.stopped == notice(NoticeKind.ENDED_EARLY, done=1, asked=3, text="The cap.")
    seen: list[str] = []
    found = opinions(ASKED, Recorded(replies(ASKED, 1)), ["a", "b"], repeats=1,
                     progress=lambda at: seen.append(at.current), stopped=lambda: len(seen) > 1)
    assert found.stopped == notice(NoticeKind.STOPPED_EARLY, done=2, asked=3)
    with pytest.raises(ModelError, match="No question was judged"):
        opinions(ASKED, Recorded([]), ["a", "b"], stopped=lambda: True)


def test_a_cap_stops_the_judge_and_stored_rounds_cost_nothing(path: Path) -> None:
    KnowledgeGraph.open(path)
    model = Metered(Recorded(replies(ASKED[:1], 2)), path, Meter(Cap(calls=2)), Price(1.0, 2.0),
                    accepts=accept_grades(2))
    first = opinions(ASKED[:1], model, ["a", "b"])
    assert opinions(ASKED[:1], model, ["a", "b"]) == first
    with pytest.raises(SpendingCapError):
        opinions(ASKED[1:], model, ["a", "b"])
