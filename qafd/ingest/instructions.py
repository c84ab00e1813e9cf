"""The prompts of a workspace, kept in it with all their versions.

The prompt by which passages are read is part of what a model's reading is called, so a workspace that
a model reads is read again after a change of it.
"""

import json
from dataclasses import dataclass

from qafd.models.instructions import TASKS, check_prompt
from qafd.reading.text.plaintext import storable
from qafd.storage import Workspace
from qafd.storage.rows import now

KEPT = 50  # versions of a prompt


@dataclass(frozen=True)
class PromptVersion:
    """Prompt that was valid from a time on; "" is the default."""

    prompt: str
    since: str


def prompts_in(store: Workspace) -> dict[str, str]:
    """The prompts of a workspace that are not ours, by task."""
    latest = {task: versions_of(store, task) for task in TASKS}
    return {task: versions[0].prompt for task, versions in latest.items()
            if versions and versions[0].prompt}


def versions_of(store: Workspace, task: str) -> tuple[PromptVersion, ...]:
    """All that a prompt has been in a workspace, the newest first."""
    return tuple(PromptVersion(row["prompt"], row["since"])
                 for row in reversed(store.notes.rows(f"prompt {task}")))


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
    store.notes.append(f"prompt {task}", {"prompt": prompt, "since": now()}, KEPT)
    choice = store.log.choice
    if task == "extract" and choice and json.loads(choice)["model"]:
        store.log.choose(choice, anew=True)
