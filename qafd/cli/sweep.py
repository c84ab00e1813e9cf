"""One question under many settings."""

import argparse
import sys
from collections.abc import Callable
from dataclasses import asdict, astuple, fields, replace
from typing import TypeVar

from qafd.cli.common import (
    DONE,
    NOTHING_FOUND,
    Commands,
    command,
    open_graph,
    print_json,
    text_of,
)
from qafd.errors import ParameterError

Value = TypeVar("Value")


def add(commands: Commands) -> None:
    """Add the command of this file."""
    sweep = command(commands, "sweep", _sweep, "solve a question for every combination of mass, "
                    "number of seeds and edge weight")
    sweep.add_argument("question", help="the question; '-' reads it from stdin")
    sweep.add_argument("--preset", choices=("best", "paper"), default="best",
                       help="all other parameters (default: %(default)s)")
    amount = sweep.add_mutually_exclusive_group()
    amount.add_argument("--mass", type=_list(float), metavar="M,M,...",
                        help="masses by the preset's rule (default: eight up to the largest)")
    amount.add_argument("--alpha", type=_list(float), metavar="A,A,...",
                        help="the paper's alpha: mass in degrees of each seed")
    sweep.add_argument("--seeds", type=_list(int), metavar="N,N,...",
                       help="numbers of seeds (default: the preset's)")
    sweep.add_argument("--variant", type=_list(str), metavar="W,W,...",
                       help="edge weights (default: the preset's)")
    sweep.add_argument("--gold", action="append", default=[], metavar="TITLE",
                       help="a passage that answers the question, by title; repeat for more. "
                       "Adds recall and leakage")
    sweep.add_argument("--csv", action="store_true", help="print CSV")


def _list(kind: Callable[[str], Value]) -> Callable[[str], list[Value]]:
    """A type for argparse: values with commas between them."""
    def parse(text: str) -> list[Value]:
        return [kind(part) for part in text.split(",")]

    parse.__name__ = f"list of {kind.__name__}"
    return parse


def _sweep(arguments: argparse.Namespace) -> int:
    from qafd.export import table_csv
    from qafd.lab.sweep import Cell, masses_for, sweep
    from qafd.retrieve.qafd import PRESETS

    if arguments.csv and arguments.json:
        raise ParameterError("--csv and --json exclude each other; choose one")
    knowledge = open_graph(arguments)
    corpus = knowledge.corpus()
    graph = corpus.graph
    method = PRESETS[arguments.preset].method
    if arguments.alpha is not None:
        method = replace(method, rule="source-degree")
    plan = knowledge.plan(text_of(arguments.question), graph)
    method = method.fitted(graph).started(corpus, plan)
    masses = (arguments.alpha or arguments.mass
              or masses_for(method.problem(corpus, plan)))
    gold = []
    for title in arguments.gold:
        passages = zip(corpus.passages.rows.tolist(), corpus.passages.titles, strict=True)
        named = [graph.ids[row] for row, own in passages if own.casefold() == title.casefold()]
        if not named:
            raise ParameterError(f"no passage has the title {title[:80]!r}; "
                                 "'qafd query' prints titles")
        gold += named
    cells = sweep(corpus, plan, method, masses, arguments.seeds or [method.seeds],
                  arguments.variant or [method.variant], gold)
    names = [spec.name for spec in fields(Cell)]
    if arguments.json:
        print_json([asdict(cell) for cell in cells])
    elif arguments.csv:
        sys.stdout.write(table_csv(names, (astuple(cell) for cell in cells)))
    else:
        print(f"{'mass':>8} {'seeds':>6} {'weight':8} {'nodes':>6} {'tokens':>7} {'ms':>8}"
              + "   recall leakage" * bool(gold))
        for cell in cells:
            known = "" if cell.recall is None else f"   {cell.recall:6.2f} {cell.leakage:7.2f}"
            print(f"{cell.mass:8.4g} {cell.seeds:6} {cell.variant:8} {cell.size:6} {cell.tokens:7} "
                  f"{cell.milliseconds:8.2f}{known}")
    return DONE if any(cell.size for cell in cells) else NOTHING_FOUND
