"""Derived layers: list and build what some methods need besides the graph."""

import argparse
from dataclasses import asdict

from qafd.cli.common import DONE, Commands, command, open_graph, print_json
from qafd.cli.meter import Meter


def add(commands: Commands) -> None:
    """Add the commands of this file."""
    layers = command(commands, "layers", _layers,
                     "list the derived layers that methods need, and build them")
    layers.add_argument("--build", metavar="NAME", action="append", default=[],
                        help="build this layer where it is missing or stale; 'all' builds all")


def _layers(arguments: argparse.Namespace) -> int:
    from qafd.retrieve.layers import LAYERS

    knowledge = open_graph(arguments)
    if arguments.build:
        with Meter() as meter:
            knowledge.build_layers(LAYERS if "all" in arguments.build else arguments.build, meter)
    states = knowledge.layers()
    if arguments.json:
        print_json([asdict(state) for state in states])
    else:
        for state in states:
            print(f"{state.name:12} {state.state:8} {state.size / 1e6:8.1f} MB  "
                  f"{state.built_at}".rstrip())
    return DONE
