"""The command prompts: show, change and reset the prompts of a workspace."""

from pathlib import Path

import click

from qafd.cli.command import Outcome, command, with_workspace
from qafd.cli.options import FILE
from qafd.cli.streams import read_file
from qafd.errors import ParameterError
from qafd.knowledge import KnowledgeGraph, read_instructions, set_prompt
from qafd.models.instructions import TASKS
from qafd.reading.text.plaintext import decode

TASK = click.argument("task", required=False, type=click.Choice(list(TASKS)))


@command("prompts")
@with_workspace
@TASK
@click.option("--set", "file", type=FILE, help="Use the prompt in this file.")
@click.option("--ours", is_flag=True, help="Use the built-in prompt again.")
def prompts(knowledge: KnowledgeGraph, task: str | None, file: Path | None, ours: bool) -> Outcome:
    """List the prompts of a workspace, print one, or change it.

    TASK names a prompt. Its fields in braces are filled when it is sent. After a change of
    "extract", the next run reads those passages again that a model has read.
    """
    if file is not None and ours:
        raise ParameterError("--set and --ours cannot be used together; choose one")
    if task is None:
        if file is not None or ours:
            raise ParameterError(f"no prompt is named; choose {', '.join(TASKS)}")
        return _list(knowledge)
    if file is not None:
        set_prompt(knowledge, task, decode(read_file(str(file)))[0])
    elif ours:
        set_prompt(knowledge, task, "")
    told = read_instructions(knowledge)
    text = told.prompt(task)
    return Outcome({"prompt": task, "text": text, "ours": task not in told.prompts}, [text])


def _list(knowledge: KnowledgeGraph) -> Outcome:
    own = read_instructions(knowledge).prompts
    rows = [{"prompt": name, "what": task.label, "source": task.source, "ours": name not in own}
            for name, task in TASKS.items()]
    lines = [f"{name:8} {'own ' if name in own else 'ours'}  {task.label}"
             + (f" ({task.source})" if task.source else "") for name, task in TASKS.items()]
    return Outcome({"prompts": rows}, lines)
