"""Words for the conditions of an answer."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qafd.explain.conditions import AnswerConditions, ConditionRow

_MET_BY = {"relation": "a relation", "sentence": "perhaps: a sentence",
           "passage": "perhaps: a passage"}
_SHOWN = {"relation": "{name}: {met}, “{sentence}” ({document})",
          "sentence": "{name}: perhaps, both are named in “{sentence}” ({document})",
          "passage": "{name}: perhaps, both are named in one passage ({document})"}


def say_met(answer: "AnswerConditions") -> str:
    """Count the conditions that an answer meets by a relation, and those it may meet."""
    if answer.perhaps and not answer.met:
        return f"{answer.perhaps}/{answer.wanted} perhaps"
    counted = f"{answer.met}/{answer.wanted}"
    return f"{counted}, {answer.perhaps} more perhaps" if answer.perhaps else counted


def say_condition(row: "ConditionRow") -> str:
    """Word the evidence that a condition is met, with its sentence and document."""
    if row.negated:
        return f"{row.name}: not related, as asked"
    if not row.level:
        return f"{row.name}: not met"
    if not row.document:
        return f"{row.name}: {say_met_by(row)}"
    met = say_met_by(row) if row.level == "relation" else ""
    return _SHOWN[row.level].format(name=row.name, met=met, sentence=row.sentence, document=row.document)


def say_met_by(row: "ConditionRow") -> str:
    """Name the evidence for a condition; a relation has its label in the graph."""
    if row.negated:
        return "not related, as asked"
    if row.level == "relation" and row.label:
        return row.label
    if row.level == "relation" and row.sentence:
        return "named together"
    return _MET_BY.get(row.level, "not met")
