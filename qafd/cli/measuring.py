"""The commands that measure methods on a question set."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from qafd.cli import DONE
from qafd.cli.command import Outcome, align, note, open_graph, spending
from qafd.cli.foreign import model_for_sql
from qafd.cli.models import ModelRequest, endpoint_named
from qafd.cli.progress import ProgressLine
from qafd.cli.streams import check_output, write_out
from qafd.errors import ModelError, ParameterError
from qafd.evaluate import Evaluation, evaluate
from qafd.evaluate.collection import collection, saved_questions
from qafd.evaluate.conditions import (
    FactualScore,
    evaluate_conditions,
    evaluate_deleted,
    read_factual_questions,
)
from qafd.evaluate.execution import measure_sql, read_sql_questions
from qafd.evaluate.gold import QuestionSet, read_passages, read_questions
from qafd.evaluate.judge import AT_ONCE, Opinions, opinions
from qafd.evaluate.written import (
    AnswerResult,
    AnswerScore,
    Cost,
    Judging,
    Writing,
    answer_all,
    estimate_cost,
    mark_correct,
)
from qafd.flow import kernel
from qafd.ingest.engine import Progress
from qafd.knowledge import KnowledgeGraph
from qafd.models import calls_of
from qafd.models.cost import Metered
from qafd.models.embedder import local_embedder
from qafd.models.prompts_answer import EMPOWERMENT, PAPER
from qafd.reading.text.plaintext import one_line
from qafd.runs.imported import read_columns
from qafd.sql.database import Database
from qafd.storage import Location, size_of
from qafd.wording import count
from qafd.wording.comparison import say_differences, say_missed
from qafd.wording.reasons import word_notice

Rows = list[tuple[str, ...]]
CRITERIA = {"correct": (), "grades": PAPER, "both": PAPER, "empowerment": EMPOWERMENT}


def retrieval(questions: Path | None, passages: Path | None, methods: str, db: Location | None,
              limit: int | None, out: str | None, asked: ModelRequest) -> int:
    if out not in (None, "-"):
        check_output(Path(out), questions, passages, db)
    if questions is None:
        gold, name = _read_marked(db, limit), ""
    else:
        gold, name = read_questions(_read(questions), questions.name, limit), questions.name
    for notice in gold.notices:
        note(word_notice(notice))
    with _workspace(gold, name, passages, db) as (knowledge, meter):
        asked.read_for(knowledge)
        kernel.warm()
        result = evaluate(knowledge, gold.questions, read_columns(knowledge, methods),
                          progress=meter.show)
    for notice in result.notices:
        note(word_notice(notice))
    text = json.dumps(result.to_dict(), ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    if out == "-":
        write_out(text, None)
        return DONE
    for line in _table_lines(result):  # before it is written: what was measured is not lost
        print(line)
    _note_refused(result)
    if out is not None:
        write_out(text, Path(out))
    return DONE


def conditions(questions: Path, db: Location, methods: str, limit: int | None, deleted: bool) -> Outcome:
    asked = read_factual_questions(_read(questions), questions.name, limit)
    knowledge = open_graph(db)
    chosen = read_columns(knowledge, methods)
    with ProgressLine() as meter:
        result = evaluate_conditions(knowledge, asked, chosen,
                                     progress=lambda done, total: meter("asking", done, total))
    if result.unknown:
        note(f"{result.unknown} of {len(asked)} answers are not entities of this workspace and count as "
             "missed")
    by_size = {str(size): result.scores(size) for size in result.sizes}
    lines = list(_factual_lines("all", result.scores()))
    for size, scores in by_size.items():
        lines += _factual_lines(f"{size} conditions", scores)
    less: tuple[FactualScore, ...] = ()
    if deleted:
        name, method = next(iter(chosen.items()))
        less = evaluate_deleted(knowledge, asked, name, method)
        lines += _factual_lines("relations deleted", less)
    return Outcome({"all": result.scores(), "deleted": less, "by_conditions": by_size}, lines)


def written_answers(questions: Path, passages: Path | None, methods: str, db: Location | None,
                    limit: int | None, asked: ModelRequest, **how: Any) -> Outcome:
    needing = {"--judge": how["judge"], "--dry-run": how["dry_run"], "--plan model": asked.plan == "model"}
    for option, given in needing.items():
        if given and not asked.model:
            raise ParameterError(f"{option} needs a model; name one with --model")
    gold = read_questions(_read(questions), questions.name, limit, with_gold=False)
    with _workspace(gold, questions.name, passages, db) as (knowledge, meter):
        client = asked.client(knowledge, "answer") if asked.model else None
        calls = calls_of(client)
        planner = replace(client, purpose="plan") if client and asked.plan != "rules" else None
        writing = Writing(how["tokens"], how["length"], calls.reply_tokens, planner, asked.steps)
        chosen = read_columns(knowledge, methods)
        judging = _choose_judging(how, asked.base_url, client, len(chosen))
        if client is not None and how["dry_run"]:
            cost = estimate_cost(knowledge, gold.questions, chosen, client, writing, judging)
            return Outcome(cost, [_word_cost(cost)])
        result = answer_all(knowledge, gold.questions, chosen, client, writing, meter.show)
        graded: Opinions | None = None
        if judging is not None and not result.stopped:
            result, graded = _judge(result, judging, meter.show)
    for failure in _failures(result, graded):
        note(failure)
    failed = all(score.errors == len(score.answers) for score in result.scores)
    return Outcome(result.to_dict() | {"grades": graded}, _answer_lines(result, graded),
                   failed=failed or bool(result.stopped))


def written_sql(source: Path, questions: Path, limit: int | None, db: Location | None, asked: ModelRequest
                ) -> Outcome:
    known = read_sql_questions(_read(questions), questions.name, limit)
    client = model_for_sql(asked, db, known[0].text)
    with ProgressLine() as meter:
        result = measure_sql(Database.open(source, local_embedder()), known, client, meter.show)
    lines = [f"{len(known)} questions: execution accuracy {result.accuracy:.3f}, answered "
             f"{result.answered:.3f}"]
    lines += [f"wrong: {one_line(trial.question.text, 200)}  {one_line(trial.error or trial.sql, 300)}"
              for trial in result.trials if trial.sql and not trial.right]
    return Outcome({"accuracy": result.accuracy, "answered": result.answered, "trials": result.trials}, lines)


def _choose_judging(how: dict[str, Any], base_url: str | None, client: Metered | None, methods: int
                    ) -> Judging | None:
    """Return how a model judges the answers of so many methods; None if it is not asked to.

    Raises
    ------
    ParameterError
        One reply cannot hold the grades of so many answers.
    """
    if client is None or not how["judge"]:
        return None
    judging = Judging(_judge_named(how["judge_model"], base_url, client), how["rounds"],
                      how["judge"] in ("correct", "both"), CRITERIA[how["judge"]], how["alone"])
    if judging.criteria and not judging.alone and methods > AT_ONCE:
        raise ParameterError(f"the grades of {methods} answers do not fit into one reply; name "
                             f"at most {AT_ONCE} methods, or grade each with --alone")
    return judging


def _judge_named(name: str | None, base_url: str | None, client: Metered) -> Metered:
    """Return the model that judges, under the cap of the one that writes.

    Raises
    ------
    ParameterError
        Dollars are capped, and it has no price.
    """
    if not name:
        return replace(client, purpose="judge")
    other = endpoint_named(name, base_url).with_settings(calls_of(client))
    price = spending().price(other.name, other.base_url)
    if price is None and client.meter.cap.cost is not None:
        raise ParameterError(f"there is no price for {name}, so its cost cannot be capped; "
                             "enter it in Settings, or cap tokens with --max-tokens")
    return replace(client, llm=other, price=price, purpose="judge")


def _judge(result: AnswerResult, judging: Judging, progress: Callable[[Progress], None]
           ) -> tuple[AnswerResult, Opinions | None]:
    """Return the result with the model's grades, as many as it gives."""
    if judging.correct:
        result = mark_correct(result, judging.client, judging.rounds, progress)
    if not judging.criteria or result.stopped:
        return result, None
    names = [score.name for score in result.scores]
    try:
        return result, opinions(result.side_by_side(), judging.client, names,
                                repeats=judging.rounds, criteria=judging.criteria, alone=judging.alone,
                                progress=progress)
    except ModelError as error:  # grades that were paid for are still shown
        return replace(result, stopped=str(error)), None


def _failures(result: AnswerResult, graded: Opinions | None) -> Iterator[str]:
    """Word the failures, each with its first reason."""
    for score in result.scores:
        first = next((answer.error for answer in score.answers if answer.error), "")
        if first:
            yield f"{score.name}: {one_line(first, 400)}"
    if result.unread:
        yield f"some answers could not be marked: {one_line(result.unread, 400)}"
    if graded is not None and graded.unread:
        yield f"{graded.unread} rounds of grades could not be read"
    if graded is not None and graded.stopped is not None:
        yield one_line(word_notice(graded.stopped), 400)
    if result.stopped:
        yield f"ended early: {one_line(result.stopped, 400)}"


def _word_cost(cost: Cost) -> str:
    dollars = "no price is set" if cost.cost is None else f"${cost.cost:.2f}"
    return (f"at most {cost.calls:,} calls, {cost.tokens_in:,} tokens sent, {cost.tokens_out:,} "
            f"received; {dollars}")


def _answer_lines(result: AnswerResult, grades: Opinions | None) -> Iterator[str]:
    by = f"written by {one_line(result.model, 80)}" if result.model else "quoted"
    yield f"{len(result.questions)} questions, answers {by}"
    yield from _measure_lines(result.scores)
    for score in result.scores:
        if score.errors:
            yield f"{score.name} failed at {score.errors} questions, which count as unanswered."
    if grades is not None:
        yield from _grade_lines(grades)


def _measure_lines(scores: Sequence[AnswerScore]) -> Iterator[str]:
    """Yield one line per method: the measures of its answers and their mean costs."""
    measured: dict[str, None] = {}
    for score in scores:
        measured |= dict.fromkeys(score.means)
    rows: Rows = [("method", *measured, "withheld", "sent", "received")]
    for score in scores:
        known = [score.means.get(name) for name in measured]
        answers = len(score.answers)
        sent = sum(answer.tokens_in for answer in score.answers) / answers
        received = sum(answer.tokens_out for answer in score.answers) / answers
        shares = [f"{one.mean:.3f}" if one else "–" for one in known]
        rows.append((score.name, *shares, f"{score.withheld:.3f}", f"{sent:,.0f}", f"{received:,.0f}"))
    yield from align(rows)


def _grade_lines(grades: Opinions) -> Iterator[str]:
    """Word the grades of each method by a model."""
    yield (f"\ngraded by {one_line(grades.model, 80)}, 0 to 100, over {len(grades.questions)} "
           "questions; it is an opinion")
    rows: Rows = [("method", *grades.opinions[0].criteria, "overall", "95%", "between rounds")]
    for one in grades.opinions:
        means = [f"{grade.mean:.1f}" for grade in one.criteria.values()]
        interval = f"{one.overall.low:.1f}-{one.overall.high:.1f}"
        between = "–" if one.deviation is None else f"± {one.deviation:.1f}"
        rows.append((one.name, *means, f"{one.overall.mean:.1f}", interval, between))
    yield from align(rows)


def _factual_lines(title: str, scores: Sequence[FactualScore]) -> Iterator[str]:
    """Yield a table as SG-RAG's Table 2."""
    asked = f"{title}, {count(scores[0].questions, 'question')}"
    rows: Rows = [(asked, "Hit@1", "Hit@5", "prec.", "recall", "F1", "ms")]
    for score in scores:
        shares = score.hit_1, score.hit_5, score.precision, score.recall, score.f1
        rows.append((score.name, *(f"{share:.3f}" for share in shares), f"{score.milliseconds:.1f}"))
    yield from align(rows)
    yield ""


@contextmanager
def _workspace(asked: QuestionSet, source: str, file: Path | None, db: Location | None
               ) -> Iterator[tuple[KnowledgeGraph, ProgressLine]]:
    """The workspace that questions are asked of, made of their passages where it has to be."""
    passages = asked.passages
    if file is not None:
        passages, source = read_passages(_read(file), file.name), file.name
    with ExitStack() as stack:
        if db is None:
            if not passages:
                raise ParameterError("the questions come without passages; add --passages FILE, or --db "
                                     "FILE of a workspace that holds the documents")
            db = Path(stack.enter_context(TemporaryDirectory())) / "passages.db"
        elif not passages and size_of(db) is None:
            raise ParameterError(f"there is no workspace at {db}; add --passages FILE")
        meter = stack.enter_context(ProgressLine())
        knowledge = (collection(db, source, passages, progress=meter.show) if passages
                     else KnowledgeGraph.open(db))
        yield knowledge, meter


def _table_lines(result: Evaluation) -> Iterator[str]:
    """Yield one line per method for the passages found, one for its costs, and then the differences."""
    yield f"{count(len(result.questions), 'question')}, {count(result.passages, 'passage')}"
    found: Rows = [("found", "R@2", "R@5", "R@10", "P@5", "F1@5", "all@5", "MRR", "95% of R@5")]
    cost: Rows = [("retrieved", "nodes", "tokens", "ms")]
    for score in result.scores:
        means = (*score.recall, score.intervals["precision@5"].mean, score.intervals["f1@5"].mean,
                 score.complete, score.reciprocal)
        found.append((score.name, *(f"{mean:.3f}" for mean in means),
                      f"{score.recall_5.low:.3f}-{score.recall_5.high:.3f}"))
        cost.append((score.name, f"{score.nodes:.0f}", f"{score.tokens:,.0f}", f"{score.milliseconds:.1f}"))
    yield from [*align(found), "", *align(cost), ""]
    yield say_differences(result.scores, result.main)
    yield from say_missed(result.scores)


def _read_marked(db: Location | None, limit: int | None) -> QuestionSet:
    """Return the questions whose answers are marked in a workspace."""
    marked = saved_questions(open_graph(db)) if db is not None else ()
    if not marked:
        raise ParameterError("no question is named; add --questions FILE, or --db FILE with questions "
                             "that are marked on the page Runs")
    return QuestionSet(marked[:limit])


def _note_refused(result: Evaluation) -> None:
    for score in result.scores:
        if score.errors:
            refused = next(trial.error for trial in score.trials if trial.error)
            note(f"{score.name} refused {score.errors} of {len(result.questions)} questions, which "
                 f"count as missed: {refused}")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ParameterError(f"{path} cannot be read: {error.strerror}") from error
