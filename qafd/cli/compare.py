"""Several methods on one question."""

import argparse
import sys
from dataclasses import replace

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
    from qafd.retrieve import METHODS

    knowledge = open_workspace(arguments)
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
