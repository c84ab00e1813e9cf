"""The table of conditions of an exact retrieval: met or not, by which sentence of which document."""

from collections.abc import Sequence
from dataclasses import dataclass

from qafd.reasons import Reason, ReasonKind
from qafd.retrieve.base import Retrieval
from qafd.storage import Workspace

_LEVELS = {ReasonKind.MET_BY_RELATION: "relation", ReasonKind.MET_IN_SENTENCE: "sentence",
           ReasonKind.MET_IN_PASSAGE: "passage"}


@dataclass(frozen=True)
class ConditionRow:
    """One condition of one answer: the name it is about, and the evidence that it is met.

    `level` is "relation", "sentence" or "passage", "" where it is not met; a `negated` condition is
    met by nothing. `sentence` is "" where none names both, `passage` the node that shows it, and
    `label` what the graph calls the relation, "" where two are only named together.
    """

    name: str
    level: str = ""
    negated: bool = False
    sentence: str = ""
    document: str = ""
    passage: str = ""
    label: str = ""

    @property
    def met(self) -> bool:
        return bool(self.level) or self.negated


@dataclass(frozen=True)
class AnswerConditions:
    """An answer with its conditions.

    Of the `wanted` conditions without negation, a relation meets `met`, and a sentence or passage
    that has both names may meet `perhaps` more.
    """

    id: str
    name: str
    met: int
    perhaps: int
    wanted: int
    rows: tuple[ConditionRow, ...]


def tabulate_conditions(retrieval: Retrieval, store: Workspace) -> tuple[AnswerConditions, ...]:
    """Tabulate the answers of an exact retrieval, best first, with all conditions.

    Empty for other methods.
    """
    answers = [node for node in retrieval.nodes if node.reason.kind is ReasonKind.MEETS]
    documents = _documents([node.reason for node in answers], store)
    labels = _labels(retrieval)
    found = []
    for node in answers:
        values = node.reason.values
        rows = tuple(_row(one, documents, labels.get(frozenset((node.name, str(one.values["name"]))), ""))
                     for one in node.reason.also)
        related = sum(row.level == "relation" for row in rows)
        found.append(AnswerConditions(node.id, node.name, related,
                                      sum(bool(row.level) for row in rows) - related,
                                      int(str(values["wanted"])), rows))
    return tuple(found)


def _labels(retrieval: Retrieval) -> dict[frozenset[str], str]:
    """Return the labels of the relations of a retrieval, by the names at their ends."""
    names = {node.id: node.name for node in retrieval.nodes}
    return {frozenset((names[edge.source], names[edge.target])): edge.label
            for edge in retrieval.edges if edge.label}


def _row(condition: Reason, documents: dict[str, str], label: str) -> ConditionRow:
    values = condition.values
    passage = str(values.get("passage", ""))
    return ConditionRow(
        str(values["name"]), _LEVELS.get(condition.kind, ""), condition.kind is ReasonKind.NOT_RELATED,
        str(values.get("text", "")), documents.get(passage, ""), passage, label)


def _documents(reasons: Sequence[Reason], store: Workspace) -> dict[str, str]:
    """Return the document of each passage that the conditions are shown by."""
    passages: dict[str, None] = {}
    for one in reasons:
        for condition in one.also:
            passages |= dict.fromkeys([str(condition.values.get("passage", ""))])
    chunks = store.passages.of_nodes(filter(None, passages))
    return {passage: chunk.document for passage, chunk in chunks.items()}
