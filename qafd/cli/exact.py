"""The command for answers that meet all conditions of a question."""

from collections.abc import Iterator, Sequence
from typing import Any

from qafd.cli.answering import answer_data, answer_lines, write_answer
from qafd.cli.command import Outcome
from qafd.cli.models import ModelRequest
from qafd.cli.streams import text_of
from qafd.errors import ModelError
from qafd.explain.conditions import AnswerConditions, ConditionRow
from qafd.knowledge import KnowledgeGraph, check_conditions
from qafd.reading.text.plaintext import one_line
from qafd.retrieve.conditions import restate_conditions
from qafd.retrieve.evidence import LEVELS
from qafd.retrieve.exact import ExactMatches
from qafd.wording.explanations import say_condition, say_met
from qafd.wording.reasons import word_notice

LENGTH, TOKENS = "short", 1500  # of a written answer, and what a model is shown for it


def exact(knowledge: KnowledgeGraph, question: str, evidence: str, answers: int, conditions: Sequence[str],
          asked: ModelRequest) -> Outcome:
    text = text_of(question)
    client = asked.client(knowledge, "answer", text) if asked.model else None
    method = ExactMatches(evidence=evidence, answers=answers)
    graph = knowledge.graph
    plan = knowledge.plan(text, graph)
    if conditions:
        plan = restate_conditions(graph, plan, conditions)
    knowledge.build_layers(method.needs)
    retrieval = knowledge.retrieve(plan, method, graph=graph)
    found = check_conditions(knowledge, retrieval)
    notices = [word_notice(notice) for notice in retrieval.notices]
    data: dict[str, Any] = {"question": retrieval.query, "notices": notices, "answers": found}
    lines = list(_lines(found))
    if client is None or not found:
        return Outcome(data, lines, bool(found), notes=notices)
    try:
        given = write_answer(knowledge, retrieval, client, knowledge.answer(retrieval), TOKENS, LENGTH)
    except ModelError as error:
        return Outcome(data, lines, notes=notices, failure=error)
    data["written"] = answer_data(given, None)["written"]
    return Outcome(data, [*answer_lines(given), "", *lines], notes=notices)


def _lines(found: Sequence[AnswerConditions]) -> Iterator[str]:
    for number, answer in enumerate(found, 1):
        yield f"{number}. {one_line(answer.name, 200)}  {say_met(answer)}"
        for row in answer.rows:
            yield f"   {_mark(row)} {one_line(say_condition(row), 600)}"


def _mark(row: ConditionRow) -> str:
    if not row.met:
        return "-"
    return "~" if row.level in LEVELS[1:] else "+"
