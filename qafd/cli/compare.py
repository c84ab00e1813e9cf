"""Several methods on one question."""

import argparse
import sys

from qafd.cli.common import (
    DONE,
    FAILED,
    NOTHING_FOUND,
    Commands,
    command,
    open_workspace,
    print_json,
    text_of,
)
from qafd.plaintext import one_line


def add(commands: Commands) -> None:
    """Add the command of this file."""
    from qafd.compare import BUDGET, DEFAULT

    compare = command(commands, "compare", _compare,
                      "ask several methods the same question and say how they differ")
    compare.add_argument("question", help="the question; '-' reads it from stdin")
    compare.add_argument("--methods", default=",".join(DEFAULT),
                         help="two to six, with commas between them (default: %(default)s); names "
                         "of systems such as lightrag stand for the method that re-implements them")
    compare.add_argument("--budget", type=int, default=BUDGET,
                         help="tokens of passages for each method (default: %(default)s)")


def _compare(arguments: argparse.Namespace) -> int:
    knowledge = open_workspace(arguments)
    comparison = knowledge.compare(text_of(arguments.question), arguments.methods.split(","),
                                   budget=arguments.budget)
    for column in comparison.columns:
        if column.error:
            print(f"qafd: {one_line(column.label, 100)}: {column.error}", file=sys.stderr)
    if arguments.json:
        print_json(comparison.to_dict())
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
        for column, row in zip(comparison.columns, comparison.overlap(), strict=True):
            print(f"{column.name:20}", *(f"{value:5.2f}" for value in row))
        for difference in comparison.differences():
            print("\n" + one_line(difference.sentence, 600))
    if not comparison.retrievals:
        return FAILED
    return DONE if any(r.nodes for r in comparison.retrievals.values()) else NOTHING_FOUND
