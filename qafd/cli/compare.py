"""Several methods on one question."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from qafd.cli.common import (
    DONE,
    FAILED,
    NOTHING_FOUND,
    Commands,
    check_output,
    command,
    open_graph,
    print_json,
    text_of,
    write_out,
)
from qafd.errors import ParameterError
from qafd.reading.text.plaintext import one_line

if TYPE_CHECKING:
    from qafd.knowledge import KnowledgeGraph
    from qafd.retrieve.compare import Comparison


def add(commands: Commands) -> None:
    """Add the command of this file."""
    from qafd.retrieve.compare import BUDGET, DEFAULT

    compare = command(commands, "compare", _compare,
                      "ask several methods the same question and say how they differ")
    compare.add_argument("question", help="the question; '-' reads it from stdin")
    compare.add_argument("--methods", default=",".join(DEFAULT),
                         help="two to six, with commas between them (default: %(default)s); names "
                         "of systems such as lightrag stand for the method that re-implements them")
    compare.add_argument("--budget", type=int, default=BUDGET,
                         help="tokens of passages for each method (default: %(default)s)")
    compare.add_argument("--format", choices=("markdown", "html", "csv"),
                         help="write a report, a page with the panels, or the table of what each "
                         "method found, instead of the overview")
    compare.add_argument("--out", type=Path, help="the file to write (default: stdout)")


def _compare(arguments: argparse.Namespace) -> int:
    from qafd.retrieve import METHODS

    if arguments.out is not None:
        if not arguments.format:
            raise ParameterError("--out needs --format: markdown, html or csv")
        check_output(arguments.out, arguments.db)
    if arguments.json and arguments.format:
        raise ParameterError("--json and --format say two things; give one of them")
    knowledge = open_graph(arguments)
    comparison = knowledge.compare(text_of(arguments.question), arguments.methods.split(","),
                                   budget=arguments.budget)
    failed = [column for column in comparison.columns if column.error]
    for column in failed:
        print(f"qafd: {one_line(column.label, 100)}: {column.error}", file=sys.stderr)
    unbuilt = {layer.name for layer in knowledge.layers() if layer.state != "built"}
    if any(unbuilt.intersection(METHODS[c.name].needs) for c in failed if c.name in METHODS):
        print("qafd: 'qafd layers --build all' builds what is missing for all methods",
              file=sys.stderr)
    if arguments.json:
        print_json(comparison.to_dict())
    elif arguments.format:
        write_out(_written(knowledge, comparison, arguments.format), arguments.out)
    else:
        print(f"{'method':20} {'nodes':>6} {'only here':>9} {'passages':>8} {'tokens':>7} "
              f"{'ms':>8}")
        only = comparison.only()
        for column in comparison.columns:
            if column.retrieval is not None:
                print(f"{column.name:20} {len(column.found):6} {len(only[column.name]):9} "
                      f"{len(column.retrieval.passages):8} {column.tokens:7} "
                      f"{column.retrieval.work.total_milliseconds:8.1f}")
        print("\nnodes in common (Jaccard)")
        worked = replace(comparison, columns=tuple(c for c in comparison.columns if not c.error))
        for column, row in zip(worked.columns, worked.overlap(), strict=True):
            print(f"{column.name:20}", *(f"{value:5.2f}" for value in row))
        for difference in comparison.differences():
            print("\n" + one_line(difference.sentence, 600))
    if failed:
        return FAILED
    return DONE if any(r.nodes for r in comparison.retrievals.values()) else NOTHING_FOUND


def _written(knowledge: "KnowledgeGraph", comparison: "Comparison", form: str) -> str:
    from qafd.runs.comparison import page, report, rows_csv

    if form == "csv":
        return rows_csv(comparison)
    answers = {name: knowledge.answer(retrieval)
               for name, retrieval in comparison.retrievals.items()}
    return report(comparison, answers) if form == "markdown" else page(comparison, None, answers)
