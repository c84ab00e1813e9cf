"""How well methods find the gold passages of a question set."""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from qafd.cli import DONE
from qafd.cli.command import note
from qafd.cli.meter import Meter
from qafd.cli.options import FILE
from qafd.cli.streams import check_output
from qafd.errors import ParameterError
from qafd.evaluate import MEASURES, Evaluation, Score, evaluate, sentence
from qafd.evaluate.collection import collection
from qafd.evaluate.gold import QuestionSet, read_passages, read_questions
from qafd.knowledge import KnowledgeGraph
from qafd.retrieve.methods import configured


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
        note(notice)
    result = _measure(asked, questions.name, passages, methods, db)
    for notice in result.notices:
        note(notice)
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
        meter = stack.enter_context(Meter())
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
        yield sentence(score, result.scores[0])


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
