"""The conditions of an answer, and how what meets them is found, in words."""

from typing import TYPE_CHECKING

from qafd.wording import count_words, join_words

if TYPE_CHECKING:
    from qafd.explain.conditions import AnswerConditions, ConditionRow
    from qafd.explain.matching_steps import MatchingStep
    from qafd.records import QueryGraph, QueryNode
    from qafd.retrieve.decomposition import QueryPath

_BY = {"relation": "by relations", "sentence": "by relations or sentences",
       "passage": "by relations, sentences or passages"}
SOME = 3  # names that are told
STAGES = {
    "labels": "On its path", "degree": "Enough relations", "signature": "Signature holds",
    "dominance": "Embedding dominates", "exact": "Meets all"}

_MET_BY = {"relation": "a relation", "sentence": "perhaps: a sentence",
           "passage": "perhaps: a passage"}
_SHOWN = {"relation": "{name}: {met}, “{sentence}” ({document})",
          "sentence": "{name}: perhaps, both are named in “{sentence}” ({document})",
          "passage": "{name}: perhaps, both are named in one passage ({document})"}


def say_met(answer: "AnswerConditions") -> str:
    """How many conditions an answer meets, and how many more perhaps."""
    counted = f"{answer.met}/{answer.wanted}"
    if not answer.perhaps:
        return counted
    return f"{counted}, {answer.perhaps} more perhaps"


def say_condition(row: "ConditionRow") -> str:
    """Whether a condition is met, by which sentence of which document."""
    if row.negated:
        return f"{row.name}: not related, as asked"
    if not row.level:
        return f"{row.name}: not met"
    if not row.document:
        return f"{row.name}: {say_met_by(row)}"
    met = say_met_by(row) if row.level == "relation" else ""
    return _SHOWN[row.level].format(name=row.name, met=met, sentence=row.sentence, document=row.document)


def say_met_by(row: "ConditionRow") -> str:
    """By what a condition is met, in few words; a relation is said as the graph calls it."""
    if row.negated:
        return "not related, as asked"
    if row.level == "relation" and row.label:
        return row.label
    if row.level == "relation" and row.sentence:
        return "named together"
    return _MET_BY.get(row.level, "not met")


def say_step(step: "MatchingStep", nodes: "tuple[QueryNode, ...]") -> str:
    """What is done in a step of matching, and what comes out of it."""
    return _SAYING[step.kind](step, nodes)


def say_query(query: "QueryGraph") -> str:
    """What a picture of the conditions of a question shows, for those who do not see it."""
    pairs = []
    for condition in query.conditions:
        pair = f"{query.nodes[condition.source].text} – {query.nodes[condition.target].text}"
        pairs.append(f"not {pair}" if condition.negated else pair)
    return f"The conditions of the question: {join_words(pairs)}"


def say_path(path: "QueryPath", nodes: "tuple[QueryNode, ...]") -> str:
    """The nodes of a path of the question."""
    return " – ".join(nodes[place].text for place in path.nodes)


def _some(step: "MatchingStep") -> str:
    """The first names of a step, and that there are more."""
    if step.count <= SOME:
        return join_words(step.names)
    return f"{', '.join(step.names[:SOME])} and others"


def _say_read(step: "MatchingStep", nodes: "tuple[QueryNode, ...]") -> str:
    sought = [nodes[place].text for place in step.nodes if nodes[place].unknown]
    return count_words(step.count, "The question is read: {number} condition; sought: {sought}.",
                     "The question is read: {number} conditions; sought: {sought}.",
                     sought=join_words(sought))


def _say_link(step: "MatchingStep", _: "tuple[QueryNode, ...]") -> str:
    if not step.count:
        return "No name of the question is an entity."
    return count_words(step.count, "{number} name is an entity of the graph: {names}.",
                     "{number} names are entities of the graph: {names}.",
                     names=join_words(step.names))


def _say_chosen(step: "MatchingStep", nodes: "tuple[QueryNode, ...]") -> str:
    assert step.path is not None
    path = say_path(step.path, nodes)
    if not step.path.overlap:
        return f"Path {step.count} is {path}, of weight {step.path.weight}."
    return (f"Path {step.count} is {path}, of weight {step.path.weight}; {step.path.overlap} of "
            "its conditions are on a path before.")


def _say_labels(step: "MatchingStep", nodes: "tuple[QueryNode, ...]") -> str:
    assert step.path is not None
    name, path = nodes[step.nodes[0]].text, say_path(step.path, nodes)
    if not step.count:
        return f"Nothing stands where “{name}” is on {path}."
    return count_words(step.count, "{number} entity stands where “{name}” is on {path}: {some}.",
                     "{number} entities stand where “{name}” is on {path}: {some}.", name=name,
                     path=path, some=_some(step))


def _say_combined(step: "MatchingStep", _: "tuple[QueryNode, ...]") -> str:
    return count_words(step.count, "{number} set of paths without unknowns would be looked up.",
                     "{number} sets of paths without unknowns would be looked up one by one.")


def _say_matched(step: "MatchingStep", _: "tuple[QueryNode, ...]") -> str:
    if not step.count:
        return "Nothing meets all conditions; what meets most of them is listed."
    return count_words(step.count, "{number} answer meets all conditions {by}: {some}.",
                     "{number} answers meet all conditions {by}: {some}.",
                     by=_BY[step.level], some=_some(step))


_SAYING = {"read": _say_read, "link": _say_link, "path": _say_chosen, "labels": _say_labels,
           "complete": _say_combined, "match": _say_matched}
