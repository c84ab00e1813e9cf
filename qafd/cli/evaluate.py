"""`qafd eval`: how well methods find the gold passages of a question set."""

import argparse
import json
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from qafd.cli.common import DONE, Commands, check_output
from qafd.cli.meter import Meter
from qafd.errors import ParameterError

if TYPE_CHECKING:
    from qafd.evaluate import Evaluation


def add(commands: Commands) -> None:
    """Add the commands of this file."""
    summary = "measure methods on questions with known supporting passages"
    kinds = commands.add_parser("eval", help=summary, description=summary).add_subparsers(
        required=True, metavar="WHAT")
    retrieval = kinds.add_parser(
        "retrieval", help=summary, description=summary + ". Question files: our own format "
        "(question, gold, and where they are known answer and nodes), the one with gold_pids, "
        "HotpotQA, 2WikiMultihopQA, MuSiQue. Prints, as means over the questions: recall of the "
        "gold passages among the first 2, 5 and 10 (R), precision of the first 5 (P@5: gold among "
        "them, divided by 5) and F1 of both, the share with all gold in the first 5, the "
        "reciprocal rank; recall, precision and F1 of the retrieved entities where gold nodes are "
        "stated; nodes, tokens and milliseconds; F1 of the quoted answer. JSON has the intervals "
        "of each.")
    retrieval.set_defaults(run=_retrieval)
    retrieval.add_argument("--questions", type=Path, required=True, metavar="Q.jsonl")
    retrieval.add_argument("--passages", type=Path, metavar="P.jsonl", help="the collection "
                           "(default: what the questions bring along, else the documents of --db)")
    retrieval.add_argument("--methods", default="qafd,qafd:paper", help="such as "
                           "'qafd,vector,qafd:paper,qafd(mass=30,variant=plain)'; the others are "
                           "compared with the first (default: %(default)s)")
    retrieval.add_argument("--db", type=Path, metavar="FILE", help="keep the indexed passages "
                           "here, and use them again while they are the same")
    retrieval.add_argument("--limit", type=int, metavar="N", help="only the first N questions")
    retrieval.add_argument("--json", metavar="OUT", help="write the result here; '-' is stdout")


def _retrieval(arguments: argparse.Namespace) -> int:
    from qafd.evaluate import evaluate
    from qafd.evaluate.collection import collection
    from qafd.evaluate.gold import read_passages, read_questions
    from qafd.knowledge import KnowledgeGraph
    from qafd.retrieve.methods import configured

    if arguments.limit is not None and arguments.limit < 1:
        raise ParameterError(f"--limit is {arguments.limit}; it is at least 1")
    if arguments.json not in (None, "-"):
        check_output(Path(arguments.json), arguments.questions, arguments.passages, arguments.db)
    asked = read_questions(_bytes(arguments.questions), arguments.questions.name, arguments.limit)
    passages = asked.passages
    source = arguments.questions
    if arguments.passages is not None:
        passages = read_passages(_bytes(arguments.passages), arguments.passages.name)
        source = arguments.passages
    for notice in asked.notices:
        print(f"qafd: {notice}", file=sys.stderr)
    with ExitStack() as stack:
        path = arguments.db
        if path is None:
            if not passages:
                raise ParameterError("the questions bring no passages along; add --passages FILE, "
                                     "or --db FILE of a workspace that holds the documents")
            path = Path(stack.enter_context(TemporaryDirectory())) / "passages.db"
        elif not passages and not os.path.exists(path):
            raise ParameterError(f"there is no workspace at {path}; add --passages FILE")
        meter = stack.enter_context(Meter())
        knowledge = (collection(path, source.name, passages, progress=meter.show) if passages
                     else KnowledgeGraph.open(path))
        result = evaluate(knowledge, asked.questions,
                          configured(arguments.methods, knowledge.graph), progress=meter.show)
    for notice in result.notices:
        print(f"qafd: {notice}", file=sys.stderr)
    if arguments.json == "-":
        print(_json(result))
        return DONE
    if arguments.json is not None:
        try:
            Path(arguments.json).write_text(_json(result) + "\n", encoding="utf-8")
        except OSError as error:
            _table(result)  # what was measured is not lost
            raise ParameterError(f"{arguments.json} cannot be written: {error.strerror}; name "
                                 "another file, or '-' for stdout") from error
    _table(result)
    return DONE


def _table(result: "Evaluation") -> None:
    """One line per method for what it found, one for what else there is; then the differences."""
    from qafd.evaluate import MEASURES, sentence

    named = {key: one.column for key, one in MEASURES.items()}
    count = len(result.questions)
    print(f"{count} question{'s' * (count != 1)}, {result.passages:,} passages")
    print(f"{'found':28} {'R@2':>5} {named['recall@5']:>5} {'95%':>13} {'R@10':>6} "
          f"{named['precision@5']:>5} {named['f1@5']:>5} {'all@5':>6} {'MRR':>5}")
    for score in result.scores:
        low, high = score.recall_5.low, score.recall_5.high
        print(f"{score.name:28} {score.recall[0]:5.3f} {score.recall[1]:5.3f} "
              f"{low:7.3f}-{high:.3f} {score.recall[2]:6.3f} "
              f"{score.intervals['precision@5'].mean:5.3f} {score.intervals['f1@5'].mean:5.3f} "
              f"{score.complete:6.3f} {score.reciprocal:5.3f}")
    print(f"\n{'retrieved':28} {'nodes':>6} {'tokens':>7} {'ms':>7} {named['node_recall']:>6} "
          f"{named['node_precision']:>6} {named['node_f1']:>7} {'answer F1':>9}")
    for score in result.scores:
        recall, precision, both = (
            _share(score.intervals[key].mean if key in score.intervals else None)
            for key in ("node_recall", "node_precision", "node_f1"))
        print(f"{score.name:28} {score.nodes:6.0f} {score.tokens:7,.0f} "
              f"{score.milliseconds:7.1f} {recall:>6} {precision:>6} {both:>7} "
              f"{_share(score.f1):>9}")
    print()
    for score in result.scores[1:]:
        print(sentence(score, result.scores[0]))
    for score in result.scores:
        if score.errors:
            refused = next(trial.error for trial in score.trials if trial.error)
            print(f"qafd: {score.name} refused {score.errors} of {count} questions, which count as "
                  f"missed: {refused}", file=sys.stderr)


def _share(value: float | None) -> str:
    """Three decimals, or a dash where it is not known."""
    return "–" if value is None else f"{value:.3f}"


def _json(result: "Evaluation") -> str:
    return json.dumps(result.to_dict(), ensure_ascii=False, allow_nan=False, indent=1)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ParameterError(f"{path} cannot be read: {error.strerror}") from error
