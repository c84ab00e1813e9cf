"""The prompts of a workspace, stored in it.

The prompt by which passages are read is part of what a model's reading is called, so a workspace that
a model reads is read again after a change of it.
"""

import json

from qafd.models.instructions import TASKS, check_prompt
from qafd.reading.text.plaintext import storable
from qafd.storage import Workspace


def prompts_in(store: Workspace) -> dict[str, str]:
    """The prompts of a workspace that are not ours, by task."""
    rows = {task: store.notes.rows(f"prompt {task}") for task in TASKS}
    return {task: found[-1]["prompt"] for task, found in rows.items() if found and found[-1]["prompt"]}


def keep_prompt(store: Workspace, task: str, prompt: str) -> None:
    """Let models do a task by a prompt from now on; "" or ours restores ours.

    Raises
    ------
    ParameterError
        See `qafd.models.instructions.check_prompt`.
    """
    prompt = storable(prompt.strip())
    check_prompt(task, prompt or TASKS[task].prompt if task in TASKS else prompt)
    if prompt == TASKS[task].prompt.strip():
        prompt = ""
    if prompt == prompts_in(store).get(task, ""):
        return
    store.notes.append(f"prompt {task}", {"prompt": prompt}, 1)
    choice = store.log.choice
    if task == "extract" and choice and json.loads(choice)["model"]:
        store.log.choose(choice, anew=True)
