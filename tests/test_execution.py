"""Execution accuracy: rows are compared as often as they occur, in any order of columns."""

import json

import pytest

from qafd.errors import ParseError
from qafd.evaluate.execution import SqlQuestion, measure_sql, read_sql_questions, same_rows
from qafd.models import Recorded
from qafd.models.embedder import local_embedder
from qafd.resources import assets
from qafd.sql.box import QueryRows
from qafd.sql.database import Database

FERRIES = assets() / "samples" / "ferries.sqlite"
QUESTIONS = (
    SqlQuestion("How many sailings were cancelled?",
                "SELECT count(*) FROM sailings WHERE status = 'cancelled'"),
    SqlQuestion("Which captains sailed to Lisbon in spring?", "SELECT name FROM ferries ORDER BY name"))


def rows(*given, cut=""):
    return QueryRows(tuple(f"c{at}" for at in range(len(given[0]) if given else 1)), given, cut)


@pytest.mark.parametrize(("found", "ordered", "same"), [
    (rows(("Ada", 1), ("Bob", 2)), True, True),
    (rows((1, "Ada"), (2, "Bob")), True, True),
    (rows(("Bob", 2), ("Ada", 1)), True, False),
    (rows(("Bob", 2), ("Ada", 1)), False, True),
    (rows(("Ada", 1.0), ("Bob", 2.0000000001)), False, True),
    (rows(("Ada", 1.001), ("Bob", 2)), False, False),
    (rows(("Ada", 1), ("Bob", 2), ("Bob", 2)), False, False),
    (rows(("Ada", 2), ("Bob", 1)), False, False),
    (rows(("Ada", "1"), ("Bob", "2")), False, False),
    (rows(("Ada", 1, 0), ("Bob", 2, 0)), False, False),
    (rows(("Ada", 1), ("Bob", 2), cut="only the first 2 rows"), False, False)])
def test_results_are_the_same_if_their_rows_are(found, ordered, same):
    assert same_rows(found, rows(("Ada", 1), ("Bob", 2)), ordered) is same


def test_a_refused_draft_is_unanswered_and_a_model_is_judged_by_its_rows():
    ferries = Database.open(FERRIES, local_embedder())
    drafted = measure_sql(ferries, QUESTIONS)
    assert [trial.right for trial in drafted.trials] == [True, False]
    assert (drafted.accuracy, drafted.answered) == (0.5, 0.5)
    given = ["SELECT count(id) FROM sailings WHERE status LIKE 'cancelled'",
             "SELECT name FROM ferries ORDER BY name DESC"]
    written = measure_sql(ferries, QUESTIONS, Recorded(given))
    assert [trial.sql for trial in written.trials] == given
    assert [trial.right for trial in written.trials] == [True, False]  # the order was asked for
    unread = measure_sql(ferries, QUESTIONS[:1], Recorded(["no SQL at all"]))
    assert (unread.answered, unread.accuracy) == (0, 0)
    assert "no SELECT" in unread.trials[0].error


@pytest.mark.parametrize("record", [{"question": "Who?"}, {"sql": "SELECT 1"}, {"question": " ", "sql": "x"}])
def test_a_record_without_question_or_sql_is_refused(record):
    with pytest.raises(ParseError, match="Record 1"):
        read_sql_questions(json.dumps(record).encode())
