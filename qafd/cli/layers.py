"""Derived layers: listed and built."""

from qafd.cli.command import Outcome
from qafd.cli.progress import ProgressLine
from qafd.knowledge import KnowledgeGraph, read_layer_states
from qafd.retrieve.layers import LAYERS


def list_layers(knowledge: KnowledgeGraph, names: tuple[str, ...]) -> Outcome:
    if names:
        with ProgressLine() as meter:
            knowledge.build_layers(LAYERS if "all" in names else names, meter)
    states = read_layer_states(knowledge)
    return Outcome(states, (f"{layer.name:12} {layer.state:8} {layer.size / 1e6:8.1f} MB  "
                            f"{layer.built_at}".rstrip() for layer in states))
