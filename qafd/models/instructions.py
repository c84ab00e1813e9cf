"""Instructions for models: the prompt of each task, and the settings of calls.

A prompt is text with fields, such as {mark}, which are filled when it is sent. Those of a workspace
are kept in it, see `qafd.ingest.reader`.
"""

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from qafd.errors import ParameterError
from qafd.models import LLM, Message, Reply
from qafd.models.calls import CallSettings
from qafd.models.prompts import EXTRACT
from qafd.models.prompts_answer import ANSWER, EXACT, FURTHER, JUDGE, PLAN
from qafd.models.prompts_correct import CORRECT
from qafd.models.prompts_sql import SQL
from qafd.models.prompts_write import FOLLOW, MERGE, REPORT, SUMMARY

LONGEST_PROMPT = 20_000  # characters


@dataclass(frozen=True)
class ModelTask:
    """A task for language models.

    Parameters
    ----------
    label, source : str
        Its name on the screen, and the paper that it comes from.
    prompt : str
        The default prompt.
    required, optional : tuple of str
        Its fields. Without the required ones a reply could not be read, or a document could give
        the model instructions.
    """

    label: str
    source: str
    prompt: str
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


TASKS: Mapping[str, ModelTask] = {
    "extract": ModelTask("Read passages", "QAFD-RAG, Prompt 1", EXTRACT, ("mark",),
                    ("types", "language", "field", "record", "done")),
    "plan": ModelTask("Name keywords of a question", "QAFD-RAG, Prompt 2", PLAN),
    "further": ModelTask("Ask further questions", "", FURTHER, ("mark",)),
    "answer": ModelTask("Write an answer", "QAFD-RAG, Prompt 3", ANSWER, ("mark", "absent"), ("length",)),
    "judge": ModelTask("Grade answers", "QAFD-RAG, Prompt 4", JUDGE, ("mark", "keys"),
                  ("count", "criteria", "meanings")),
    "sql": ModelTask("Write SQL", "QAFD-RAG, Prompt 6", SQL, ("mark",), ("dialect",)),
    "exact": ModelTask("Answer from a table of conditions", "SG-RAG, Table 15", EXACT, ("mark", "absent"),
                  ("length",)),
    "correct": ModelTask("Compare answers with known ones", "", CORRECT, ("mark",), ("count",)),
    "follow": ModelTask("Rewrite a follow-up", "", FOLLOW, ("mark",)),
    "report": ModelTask("Report on a community", "GraphRAG", REPORT, ("mark",)),
    "summary": ModelTask("Sum up passages", "FlowRAG and RAPTOR", SUMMARY, ("mark",)),
    "merge": ModelTask("Merge descriptions of an entity", "GraphRAG and LightRAG", MERGE, ("mark",)),
}


@dataclass(frozen=True)
class Instructions:
    """The changed prompts of a workspace, by the names in `TASKS`, and the settings of calls."""

    prompts: Mapping[str, str] = field(default_factory=dict)
    calls: CallSettings = CallSettings()

    def prompt(self, task: str) -> str:
        """Return the prompt of a task."""
        return self.prompts.get(task) or TASKS[task].prompt


USUAL = Instructions()


@dataclass(frozen=True)
class Instructed:
    """A model with its instructions; an `LLM`."""

    llm: LLM
    instructions: Instructions

    @property
    def name(self) -> str:
        """The model's name."""
        return self.llm.name

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None,
                 max_tokens: int = 1024) -> Reply:
        """Return one reply, see `LLM`."""
        return self.llm.complete(messages, schema=schema, max_tokens=max_tokens)

    def stream(self, messages: Sequence[Message], *,
               max_tokens: int = 1024) -> Generator[str, None, Reply]:
        """Yield the reply piece by piece, then return all of it."""
        return self.llm.stream(messages, max_tokens=max_tokens)


def instructions_of(client: LLM | None) -> Instructions:
    """Return the instructions of a model or of one that it wraps, else the usual ones."""
    while client is not None:
        if isinstance(client, Instructed):
            return client.instructions
        client = getattr(client, "llm", None)
    return USUAL


def check_prompt(name: str, prompt: str) -> None:
    """Check that a text can be the prompt of a task.

    Raises
    ------
    ParameterError
        The task does not exist; or the prompt is empty, too long, or lacks a required field.
    """
    task = TASKS.get(name)
    if task is None:
        raise ParameterError(f"there is no prompt {name[:40]!r}; choose {', '.join(TASKS)}")
    if not prompt.strip() or len(prompt) > LONGEST_PROMPT:
        raise ParameterError(f"the prompt has {len(prompt.strip()):,} characters; write 1 to "
                             f"{LONGEST_PROMPT:,}")
    fields = set(re.findall(r"\{(\w+)\}", prompt))
    missing = [f"{{{field}}}" for field in task.required if field not in fields]
    if missing:
        raise ParameterError(f"the prompt lacks {', '.join(missing)}; add it: without it the reply "
                             "cannot be read, or documents could give the model instructions")
