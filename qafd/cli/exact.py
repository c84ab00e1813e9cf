"""What meets all conditions of a question, with the table of its conditions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import click

from qafd.cli.answering import answer_data, answer_lines, write_answer
from qafd.cli.command import Outcome, command, with_workspace
from qafd.cli.models import ModelRequest, may_call_model
from qafd.cli.options import question_argument
from qafd.cli.streams import text_of
from qafd.errors import ModelError
from qafd.explain.conditions import AnswerConditions, ConditionRow
from qafd.explain.matching_steps import MatchingWalk, walk_through
from qafd.graph import Graph
from qafd.knowledge import KnowledgeGraph
from qafd.models.cost import Metered
from qafd.models.prompts_conditions import holds_query
from qafd.reading.text.plaintext import one_line
from qafd.records import QueryPlan
from qafd.retrieve.conditions import edit_conditions
from qafd.retrieve.evidence import LEVELS
from qafd.retrieve.exact import ExactMatches
from qafd.wording.conditions import say_condition, say_met, say_step
from qafd.wording.reasons import word_notice

LENGTH, TOKENS = "short", 3000  # of a written answer, and what a model is shown for it


@command()
@with_workspace
@question_argument
@click.option("--evidence", type=click.Choice(LEVELS), default="passage",
              help="The weakest that meets a condition: a relation, a sentence or a passage with "
              "both names.")
@click.option("--answers", type=click.IntRange(1, 200), default=10, help="How many are listed.")
@click.option("--add", multiple=True, metavar="NAME", help="A further condition; may be repeated.")
@click.option("--remove", multiple=True, metavar="NAME", help="A condition to leave out.")
@click.option("--negate", multiple=True, metavar="NAME", help="What the answer must not be related "
              "to; of a condition that is negated already, the contrary.")
@click.option("--stages", is_flag=True, help="Also how it is matched: the steps of SG-RAG's "
              "algorithms, and how many candidates each stage of its filter leaves.")
@may_call_model
def exact(knowledge: KnowledgeGraph, question: str, evidence: str, answers: int, stages: bool,
          asked: ModelRequest, **changes: Sequence[str]) -> Outcome:
    text = text_of(question)
    client = asked.client(knowledge, "answer", text) if asked.model else None
    method = ExactMatches(evidence=evidence, answers=answers)
    graph = knowledge.graph
    plan = _plan(knowledge, graph, text, changes, client)
    knowledge.build_layers(method.needs)
    retrieval = knowledge.retrieve(plan, method, graph=graph)
    found = knowledge.conditions(retrieval)
    walk = walk_through(knowledge.corpus(graph, method.needs), plan, evidence=evidence) if stages else None
    told = [word_notice(one) for one in retrieval.notices]
    data: dict[str, Any] = {"question": retrieval.query, "notices": told, "answers": found}
    lines = list(_lines(found))
    if walk is not None:
        data |= _walk_data(walk)
        lines += _walk_lines(walk)
    if client is None or not found:
        return Outcome(data, lines, bool(found), notes=told)
    try:
        given = write_answer(knowledge, retrieval, client, knowledge.answer(retrieval), TOKENS, LENGTH)
    except ModelError as error:
        return Outcome(data, lines, notes=told, failure=error)
    data["written"] = answer_data(given, None)["written"]
    return Outcome(data, [*answer_lines(given), "", *lines], notes=told)


def _plan(knowledge: KnowledgeGraph, graph: Graph, text: str, changes: Mapping[str, Sequence[str]],
          client: Metered | None) -> QueryPlan:
    """The conditions of a question, read by a model if there is one, and changed."""
    plan = knowledge.plan(text, graph)
    if client is not None:
        reading = replace(client, purpose="plan", accepts=holds_query)
        plan = knowledge.read_conditions(plan, reading, graph=graph)
    return edit_conditions(graph, plan, **changes) if any(changes.values()) else plan


def _lines(found: Sequence[AnswerConditions]) -> Iterator[str]:
    for number, answer in enumerate(found, 1):
        yield f"{number}. {one_line(answer.name, 200)}  {say_met(answer)}"
        for row in answer.rows:
            yield f"   {_mark(row)} {one_line(say_condition(row), 600)}"


def _walk_lines(walk: MatchingWalk) -> Iterator[str]:
    nodes = walk.linked.query.nodes
    yield ""
    for number, step in enumerate(walk.steps, 1):
        yield f"{number}. {one_line(say_step(step, nodes), 600)}"
    for left in walk.survivors:
        counts = [f"{stage} {count:,}" for stage, count in left.counts.items()]
        yield f"{one_line(nodes[left.node].text, 100)}: {', '.join(counts)}"


def _walk_data(walk: MatchingWalk) -> dict[str, Any]:
    """The steps, and how many candidates each stage leaves for each unknown node."""
    nodes = walk.linked.query.nodes
    left = [{"node": one.node, "text": nodes[one.node].text, "candidates": one.counts}
            for one in walk.survivors]
    return {"steps": walk.steps, "stages": left}


def _mark(row: ConditionRow) -> str:
    if not row.met:
        return "-"
    return "~" if row.level in LEVELS[1:] else "+"
