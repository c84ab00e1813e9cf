"""The command prompts: show, change and reset the prompts of a workspace."""

from pathlib import Path

from qafd.cli.command import Outcome
from qafd.cli.streams import read_file
from qafd.errors import ParameterError
from qafd.knowledge import KnowledgeGraph, read_instructions, set_prompt
from qafd.models.instructions import TASKS
from qafd.reading.text.plaintext import decode


def prompts(knowledge: KnowledgeGraph, task: str | None, file: Path | None, ours: bool) -> Outcome:
    if file is not None and ours:
        raise ParameterError("--set and --ours cannot be used together; choose one")
    if task is not None and task not in TASKS:
        raise ParameterError(f"there is no prompt {task[:40]!r}; choose {', '.join(TASKS)}")
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
