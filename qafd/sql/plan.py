"""The seeds of a question to a database, and its parts, as a language model chooses them.

Prompt 5 of the paper (Appendix A5) in our own words: the model sees all tables and columns and
names, for each part of the question, pairs of where a way through the schema begins and ends, with
a confidence. Without a model `qafd.sql.diffusion.schema_seeds` chooses.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qafd.errors import MalformedReplyError
from qafd.models import LLM, Message
from qafd.models.instructions import instructions_of
from qafd.models.prompts_answer import fence, fill
from qafd.reading.text.plaintext import one_line
from qafd.sql.schema import Schema

MOST_PARTS = 4

_TEXT: Mapping[str, Any] = {"type": "string"}
SEED_SCHEMA: Mapping[str, Any] = {
    "type": "object", "additionalProperties": False, "required": ["parts"],
    "properties": {"parts": {"type": "array", "items": {
        "type": "object", "additionalProperties": False, "required": ["question", "pairs"],
        "properties": {"question": _TEXT, "pairs": {"type": "array", "items": {
            "type": "object", "additionalProperties": False,
            "required": ["source", "target", "confidence"],
            "properties": {"source": _TEXT, "target": _TEXT,
                           "confidence": {"type": "number"}}}}}}}}}


@dataclass(frozen=True)
class SchemaPart:
    """A part of a question; `seeds` has confidences above 0 and to 1, by the id of a node."""

    question: str
    seeds: Mapping[str, float]


@dataclass(frozen=True)
class SchemaPlan:
    """The parts and seeds that a model named; `model` is its name."""

    parts: tuple[SchemaPart, ...]
    model: str

    @property
    def seeds(self) -> Mapping[str, float]:
        """The seeds of all parts, with the highest confidence of each."""
        seeds: dict[str, float] = {}
        for part in self.parts:
            for node, confidence in part.seeds.items():
                seeds[node] = max(confidence, seeds.get(node, 0.0))
        return seeds


def seed_messages(question: str, schema: Schema, prompt: str) -> tuple[Message, ...]:
    """Build the prompt: the whole schema without values, and the question."""
    lines = []
    for table in schema.tables:
        columns = ", ".join(f"{table.name}.{column.name} {column.type}".rstrip()
                            for column in table.columns)
        lines.append(f"table {table.name}: {columns}")
    lines += [f"join {join.sql}" for join in schema.joins]
    shown = "\n".join(lines)
    mark = fence(shown)
    return (Message("system", fill(prompt, mark=mark, most=MOST_PARTS)),
            Message("user", f"{mark} schema begins\n{shown}\n{mark} schema ends\n\n"
                            f"Question: {one_line(question, 2000)}"))


def read_seeds(text: str, schema: Schema, model: str) -> SchemaPlan:
    """Return the parts of a reply with the names that the schema has, in whatever case.

    Raises
    ------
    MalformedReplyError
        No name of the schema is in it.
    """
    known = {column.label.casefold(): column.sql for column in schema.columns}
    known |= {table.name.casefold(): table.sql for table in schema.tables}
    parts = []
    try:
        for part in json.loads(text)["parts"]:
            seeds: dict[str, float] = {}
            for pair in part["pairs"]:
                confidence = min(float(pair["confidence"]), 1.0)
                for end in (pair["source"], pair["target"]):
                    node = known.get(end.strip(' "`').casefold())
                    if node is not None and confidence > 0:
                        seeds[node] = max(confidence, seeds.get(node, 0.0))
            if seeds:
                parts.append(SchemaPart(one_line(part["question"], 600), seeds))
    except (AttributeError, KeyError, TypeError, ValueError):
        parts = []  # not of the schema that was asked for
    if not parts:
        raise MalformedReplyError("the model was asked for columns of this database and named none.")
    return SchemaPlan(tuple(parts[:MOST_PARTS]), model)


def choose_seeds(question: str, schema: Schema, llm: LLM) -> SchemaPlan:
    """Return the parts and seeds that a model chooses.

    Raises
    ------
    ModelError
        From the model, or its reply names nothing of the schema.
    """
    told = instructions_of(llm)
    reply = llm.complete(seed_messages(question, schema, told.prompt("seeds")), schema=SEED_SCHEMA,
                         max_tokens=told.calls.reply_tokens)
    return read_seeds(reply.text, schema, llm.name)
