"""Execution accuracy: SQL that is written for a question, by the rows that it and the known SQL return."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from qafd.errors import MalformedReplyError, ParseError, SqlError
from qafd.evaluate.gold import read_records
from qafd.ingest.engine import Progress
from qafd.models import LLM
from qafd.sql.box import QueryRows
from qafd.sql.database import Database
from qafd.sql.write import write_sql
from qafd.time_left import ignore_progress


@dataclass(frozen=True)
class SqlQuestion:
    """A question to a database, and SQL that answers it."""

    text: str
    sql: str


@dataclass(frozen=True)
class SqlTrial:
    """The SQL written for a question, "" for none; `error` is why it is wrong or missing."""

    question: SqlQuestion
    sql: str
    right: bool
    error: str = ""


@dataclass(frozen=True)
class SqlAccuracy:
    """The trials of a database; shares are of all questions."""

    trials: tuple[SqlTrial, ...]

    @property
    def answered(self) -> float:
        """The share of questions with SQL."""
        return sum(bool(trial.sql) for trial in self.trials) / len(self.trials)

    @property
    def accuracy(self) -> float:
        """The share of questions whose SQL returns the same rows as the known one."""
        return sum(trial.right for trial in self.trials) / len(self.trials)


def read_sql_questions(data: bytes, name: str = "The file", limit: int | None = None
                       ) -> tuple[SqlQuestion, ...]:
    """Read records with 'question' and 'sql' (or 'query', as in Spider), at most the first `limit`.

    Raises
    ------
    ParseError
        The file is no JSON, or a record lacks one of the two.
    """
    questions = []
    for number, record in enumerate(read_records(data, name, ("questions", "data")), 1):
        text, sql = record.get("question"), record.get("sql") or record.get("query")
        if not isinstance(text, str) or not isinstance(sql, str) or not text.strip():
            raise ParseError(f"Record {number} of {name} has no 'question' or no 'sql'; give it both.")
        questions.append(SqlQuestion(text, sql))
    if not questions:
        raise ParseError(f"{name} has no question; write one a line.")
    return tuple(questions[:limit])


def measure_sql(database: Database, questions: Sequence[SqlQuestion], llm: LLM | None = None,
                progress: Callable[[Progress], None] = ignore_progress) -> SqlAccuracy:
    """Write and run SQL for each question: a model's, or the complete drafts of the rules.

    A draft that the rules refuse counts as unanswered.

    Raises
    ------
    SqlError
        The database has no rows, or the known SQL of a question cannot be run.
    ModelError
        The endpoint failed.
    """
    trials = []
    for number, question in enumerate(questions):
        progress(Progress("asking", number, len(questions), question.text))
        wanted = database.run(question.sql)
        asked = database.ask(question.text)
        sql = asked.draft.sql if asked.draft.complete else ""
        try:
            if llm is not None:
                sql = write_sql(asked, llm)
            right = bool(sql) and same_rows(database.run(sql), wanted, _is_ordered(question.sql))
            trials.append(SqlTrial(question, sql, right))
        except (SqlError, MalformedReplyError) as error:
            trials.append(SqlTrial(question, sql if isinstance(error, SqlError) else "", False, str(error)))
    return SqlAccuracy(tuple(trials))


def _is_ordered(sql: str) -> bool:
    """Return True if SQL states the order of its rows."""
    import sqlglot  # takes a third of a second

    return sqlglot.parse_one(sql, read="sqlite").args.get("order") is not None


def same_rows(found: QueryRows, wanted: QueryRows, ordered: bool = False) -> bool:
    """Return True if two results have the same rows, with columns in any order.

    Rows are compared as often as they occur, in their order only if `ordered`; numbers to six decimals.
    """
    if found.cut or wanted.cut or len(found.columns) != len(wanted.columns):
        return False
    rows, other = _arrange(found), _arrange(wanted)
    return rows == other if ordered else Counter(rows) == Counter(other)


def _arrange(result: QueryRows) -> list[tuple[str, ...]]:
    """Return rows as texts, their columns sorted by what they hold."""
    columns = [list(map(_text, column)) for column in zip(*result.rows, strict=True)]
    return list(zip(*sorted(columns, key=sorted), strict=True))


def _text(value: Any) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{float(value):.6f}" if number else repr(value)
