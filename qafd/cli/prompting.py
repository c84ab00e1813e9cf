"""The command prompts: show, change, tune and reset the prompts of a workspace."""

from pathlib import Path

import click

from qafd.cli.command import Outcome, command, note, with_workspace
from qafd.cli.models import ModelRequest, may_call_model
from qafd.cli.options import FILE
from qafd.cli.streams import read_file
from qafd.errors import ParameterError
from qafd.ingest.instructions import versions_of
from qafd.ingest.tuning import Tuned, keep_tuned
from qafd.knowledge import KnowledgeGraph, read_instructions, set_prompt, tune_prompt
from qafd.models.instructions import TASKS
from qafd.reading.text.plaintext import decode

TASK = click.argument("task", required=False, type=click.Choice(list(TASKS)))


@command("prompts")
@with_workspace
@TASK
@click.option("--set", "file", type=FILE, help="Use the prompt in this file.")
@click.option("--ours", is_flag=True, help="Use the built-in prompt again.")
@click.option("--history", is_flag=True, help="Print all versions of the prompt, newest first.")
@click.option("--tune", is_flag=True, help="Let --model adapt the prompt that reads passages to the "
              "documents, with one call, and print it.")
@click.option("--keep", is_flag=True, help="Use the prompt and entity types that --tune proposes.")
@may_call_model
def prompts(knowledge: KnowledgeGraph, task: str | None, file: Path | None, asked: ModelRequest,
            **wishes: bool) -> Outcome:
    """List the prompts of a workspace, print one, or change it.

    TASK names a prompt. Its fields in braces are filled when it is sent. After a change of
    "extract", the next run reads those passages again that a model has read.
    """
    tuning = wishes["tune"]
    changing = [name for name, wanted in (("--set", file), ("--ours", wishes["ours"]),
                                          ("--tune", tuning)) if wanted]
    if len(changing) > 1:
        raise ParameterError(f"{' and '.join(changing)} cannot be used together; choose one")
    if wishes["keep"] and not tuning:
        raise ParameterError("--keep needs --tune; add it")
    if tuning:
        if task not in (None, "extract"):
            raise ParameterError("only the prompt that reads passages, extract, is tuned")
        return _tune(knowledge, asked, wishes["keep"])
    if task is None:
        if changing or wishes["history"]:
            raise ParameterError(f"no prompt is named; choose {', '.join(TASKS)}")
        return _list(knowledge)
    if wishes["history"]:
        with knowledge.store() as store:
            versions = versions_of(store, task)
        lines = [f"{one.since}  {one.prompt or '(ours)'}" for one in versions]
        return Outcome({"prompt": task, "versions": versions}, lines, bool(versions))
    if file is not None:
        set_prompt(knowledge, task, decode(read_file(str(file)))[0])
    elif wishes["ours"]:
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


def _tune(knowledge: KnowledgeGraph, asked: ModelRequest, keeping: bool) -> Outcome:
    tuned: Tuned = tune_prompt(knowledge, asked.client(knowledge, "extract"))
    if keeping:
        with knowledge.store() as store:
            keep_tuned(store, tuned)
        note("saved; the next run with a model uses it")
    return Outcome(tuned, [f"Entity types: {', '.join(tuned.types)}", "", tuned.prompt])
