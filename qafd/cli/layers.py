"""Derived layers: listed, built, and written by a language model."""

from dataclasses import replace

from qafd.cli.command import Outcome, on_interrupt
from qafd.cli.models import ModelRequest
from qafd.cli.progress import ProgressLine
from qafd.errors import ModelError, ParameterError
from qafd.knowledge import KnowledgeGraph, plan_layers, read_layer_states, write_layers
from qafd.models.cost import Metered
from qafd.reading.text.plaintext import one_line
from qafd.retrieve.layers import LAYERS, WRITABLE, LayerState
from qafd.wording.documents import say_cap, say_origin, say_writing_plan


def list_layers(knowledge: KnowledgeGraph, names: tuple[str, ...], write: bool, dry_run: bool,
                asked: ModelRequest) -> Outcome:
    if write or dry_run:
        wanted = names if "all" not in names else WRITABLE if dry_run else tuple(LAYERS)
        if not write or not wanted:
            raise ParameterError("nothing is to be written; name layers with --build and add --write")
        client = asked.client(knowledge, "write")
        if dry_run:
            planned = plan_layers(knowledge, wanted, client)
            cap = client.meter.cap
            return Outcome({**vars(planned), "cap": cap},
                           [f"{one_line(client.name, 100)}: {say_writing_plan(planned)}", say_cap(cap)])
        return _write(knowledge, wanted, client)
    if names:
        with ProgressLine() as meter:
            knowledge.build_layers(LAYERS if "all" in names else names, meter)
    return _list(knowledge)


def _write(knowledge: KnowledgeGraph, names: tuple[str, ...], client: Metered) -> Outcome:
    stopped = on_interrupt("stopping after the calls at work; run the command again to go on")
    try:
        with ProgressLine() as meter:
            write_layers(knowledge, names, client, progress=meter, stopped=stopped)
    except ModelError as error:
        return replace(_list(knowledge), failure=error,
                       instead="What was written is used; run the command again to go on.")
    return replace(_list(knowledge), interrupted=stopped())


def _list(knowledge: KnowledgeGraph) -> Outcome:
    states = read_layer_states(knowledge)
    return Outcome(states, map(_layer_line, states))


def _layer_line(layer: LayerState) -> str:
    line = f"{layer.name:12} {layer.state:8} {layer.size / 1e6:8.1f} MB  {layer.built_at}"
    origin = say_origin(layer.model, layer.written, layer.texts)
    return f"{line}  {origin}".rstrip()
