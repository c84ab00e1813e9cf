"""How well methods find the gold passages of a question set."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from qafd.cli import DONE
from qafd.cli.command import note, open_graph, print_json
from qafd.cli.options import FILE
from qafd.cli.progress import ProgressLine
from qafd.cli.streams import check_output
from qafd.errors import ParameterError
from qafd.evaluate import Evaluation, Score, evaluate
from qafd.evaluate.collection import collection
from qafd.evaluate.conditions import (
    FactualScore,
    evaluate_conditions,
    evaluate_deleted,
    read_factual_questions,
)
from qafd.evaluate.gold import QuestionSet, read_passages, read_questions
from qafd.knowledge import KnowledgeGraph
from qafd.retrieve.methods import configured
from qafd.wording.evaluation import MEASURES, say_difference
from qafd.wording.reasons import word_notice


@click.group()
def evaluation() -> None:
    pass


@evaluation.command()
@click.option("--questions", type=FILE, required=True, metavar="Q.jsonl")
@click.option("--passages", type=FILE, metavar="P.jsonl", help="The collection, if not what the "
              "questions bring along or the documents of --db.")
@click.option("--methods", default="qafd,qafd:paper", help="Such as "
              "'qafd,vector,qafd:paper,qafd(mass=30,variant=plain)'; the others are compared with "
              "the first.")
@click.option("--db", type=FILE, help="Keep the indexed passages here, and use them again while "
              "they are the same.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N questions.")
@click.option("--json", "out", metavar="OUT", help="Write the result here; '-' is stdout.")
def retrieval(questions: Path, passages: Path | None, methods: str, db: Path | None,
              limit: int | None, out: str | None) -> int:
    """Measure methods on questions with known supporting passages.

    Question files: our own format (question, gold, and where they are known answer and nodes), the
    one with gold_pids, HotpotQA, 2WikiMultihopQA, MuSiQue. Prints, as means over the questions:
    recall of the gold passages among the first 2, 5 and 10 (R), precision of the first 5 (P@5:
    gold among them, divided by 5) and F1 of both, the share with all gold in the first 5, the
    reciprocal rank; recall, precision and F1 of the retrieved entities where gold nodes are
    stated; nodes, tokens and milliseconds; F1 of the quoted answer. JSON has the intervals of
    each.
    """
    if out not in (None, "-"):
        check_output(Path(out), questions, passages, db)
    asked = read_questions(_read(questions), questions.name, limit)
    for notice in asked.notices:
        note(word_notice(notice))
    result = _measure(asked, questions.name, passages, methods, db)
    for notice in result.notices:
        note(word_notice(notice))
    text = json.dumps(result.to_dict(), ensure_ascii=False, allow_nan=False, indent=1)
    if out == "-":
        print(text)
        return DONE
    for line in _table_lines(result):  # before it is written: what was measured is not lost
        print(line)
    _note_refused(result)
    if out is not None:
        try:
            Path(out).write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise ParameterError("{file} cannot be written: {reason}; name another file, or '-' "
                                 "for stdout", file=out, reason=error.strerror) from error
    return DONE


@evaluation.command("exact")
@click.argument("questions", type=FILE)
@click.option("--db", type=FILE, required=True, help="The workspace that the questions are about.")
@click.option("--methods", default="exact,qafd,pagerank,ego,vector", help="As for 'retrieval'; "
              "'community' needs its layer, see 'qafd layers'.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N questions.")
@click.option("--deleted", is_flag=True, help="Also delete 1, 2 and 3 of the relations that the "
              "first method's answers rest on.")
@click.option("--json", "out", is_flag=True, help="Print one JSON value.")
def conditions(questions: Path, db: Path, methods: str, limit: int | None, deleted: bool, out: bool
               ) -> int:
    """Measure how often what meets all conditions of a question comes first.

    A question has 'question', 'answer' (a name or a list) and, if known, 'conditions', their number.
    """
    asked = read_factual_questions(_read(questions), questions.name, limit)
    knowledge = open_graph(db)
    chosen = configured(methods, knowledge.graph)
    with ProgressLine() as meter:
        result = evaluate_conditions(knowledge, asked, chosen,
                                     progress=lambda done, total: meter("asking", done, total))
    if result.unknown:
        note(f"{result.unknown} of {len(asked)} answers are no names of this workspace and count as "
             "missed")
    if not out:
        print("\n".join(_factual_lines("all", result.scores())))
        for size in result.sizes:
            print("\n".join(_factual_lines(f"{size} conditions", result.scores(size))))
    less: tuple[FactualScore, ...] = ()
    if deleted:
        name, method = next(iter(chosen.items()))
        less = evaluate_deleted(knowledge, asked, name, method)
    if out:
        print_json({"all": result.scores(), "deleted": less, "by_conditions": {
            str(size): result.scores(size) for size in result.sizes}})
    elif less:
        print("\n".join(_factual_lines("relations deleted", less)))
    return DONE


def _factual_lines(title: str, scores: Sequence[FactualScore]) -> Iterator[str]:
    """A table as SG-RAG's Table 2."""
    count = scores[0].questions
    yield (f"{f'{title}, {count} questions':34} {'Hit@1':>6} {'Hit@5':>6} {'prec.':>6} "
           f"{'recall':>6} {'F1':>6} {'ms':>7}")
    for score in scores:
        yield (f"{score.name:34} {score.hit_1:6.3f} {score.hit_5:6.3f} {score.precision:6.3f} "
               f"{score.recall:6.3f} {score.f1:6.3f} {score.milliseconds:7.1f}")
    yield ""


def _measure(asked: QuestionSet, source: str, file: Path | None, methods: str, db: Path | None
             ) -> Evaluation:
    passages = asked.passages
    if file is not None:
        passages, source = read_passages(_read(file), file.name), file.name
    with ExitStack() as stack:
        if db is None:
            if not passages:
                raise ParameterError("the questions bring no passages along; add --passages FILE, "
                                     "or --db FILE of a workspace that holds the documents")
            db = Path(stack.enter_context(TemporaryDirectory())) / "passages.db"
        elif not passages and not os.path.exists(db):
            raise ParameterError("there is no workspace at {path}; add --passages FILE", path=db)
        meter = stack.enter_context(ProgressLine())
        if passages:
            knowledge = collection(db, source, passages, progress=meter.show)
        else:
            knowledge = KnowledgeGraph.open(db)
        return evaluate(knowledge, asked.questions, configured(methods, knowledge.graph),
                        progress=meter.show)


def _table_lines(result: Evaluation) -> Iterator[str]:
    """One line per method for what it found, one for what else there is; then the differences."""
    named = {key: one.column for key, one in MEASURES.items()}
    count = len(result.questions)
    yield f"{count} question{'' if count == 1 else 's'}, {result.passages:,} passages"
    yield (f"{'found':28} {'R@2':>5} {named['recall@5']:>5} {'95%':>13} {'R@10':>6} "
           f"{named['precision@5']:>5} {named['f1@5']:>5} {'all@5':>6} {'MRR':>5}")
    for score in result.scores:
        low, high = score.recall_5.low, score.recall_5.high
        yield (f"{score.name:28} {score.recall[0]:5.3f} {score.recall[1]:5.3f} "
               f"{low:7.3f}-{high:.3f} {score.recall[2]:6.3f} "
               f"{score.intervals['precision@5'].mean:5.3f} {score.intervals['f1@5'].mean:5.3f} "
               f"{score.complete:6.3f} {score.reciprocal:5.3f}")
    yield (f"\n{'retrieved':28} {'nodes':>6} {'tokens':>7} {'ms':>7} {named['node_recall']:>6} "
           f"{named['node_precision']:>6} {named['node_f1']:>7} {'answer F1':>9}")
    for score in result.scores:
        yield (f"{score.name:28} {score.nodes:6.0f} {score.tokens:7,.0f} "
               f"{score.milliseconds:7.1f} {_mean(score, 'node_recall'):>6} "
               f"{_mean(score, 'node_precision'):>6} {_mean(score, 'node_f1'):>7} "
               f"{_share(score.f1):>9}")
    yield ""
    for score in result.scores[1:]:
        yield say_difference(score, result.scores[0], result.main)


def _note_refused(result: Evaluation) -> None:
    for score in result.scores:
        if score.errors:
            refused = next(trial.error for trial in score.trials if trial.error)
            note(f"{score.name} refused {score.errors} of {len(result.questions)} questions, which "
                 f"count as missed: {refused}")


def _mean(score: Score, measure: str) -> str:
    return _share(score.intervals[measure].mean if measure in score.intervals else None)


def _share(value: float | None) -> str:
    """Three decimals, or a dash where it is not known."""
    return "–" if value is None else f"{value:.3f}"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ParameterError("{file} cannot be read: {reason}", file=path, reason=error.strerror
                             ) from error
