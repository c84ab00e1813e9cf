"""Prompts for a question with several conditions, after SG-RAG (paper 002).

Table 12 (question to query graph) and Table 15 (answer from the matches), in our own words. The
reply to Table 12 is JSON, like that of the other plans. Each of its edges has the relation and
whether it is negated, which the paper's records leave out.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from qafd.errors import MalformedReplyError
from qafd.models import Message, Reply
from qafd.models.prompts_answer import CITING, answer_messages
from qafd.reading.text import canonical
from qafd.reading.text.bm25 import content_words
from qafd.reading.text.plaintext import one_line
from qafd.records import QueryCondition, QueryGraph, QueryNode

UNKNOWN = "UNK"
MOST_NODES, MOST_EDGES = 20, 40
LONGEST = 100  # characters of a label

_NODE = {"type": "object", "additionalProperties": False, "required": ["id", "label", "description"],
         "properties": {name: {"type": "string"} for name in ("id", "label", "description")}}
_EDGE = {"type": "object", "additionalProperties": False,
         "required": ["source", "target", "relation", "negated"],
         "properties": {**{name: {"type": "string"} for name in ("source", "target", "relation")},
                        "negated": {"type": "boolean"}}}
QUERY_SCHEMA: Mapping[str, Any] = {
    "type": "object", "additionalProperties": False, "required": ["nodes", "edges"],
    "properties": {"nodes": {"type": "array", "items": _NODE},
                   "edges": {"type": "array", "items": _EDGE}}}

QUERY = f"""\
Your role: you turn a question into a small graph that a search then looks for.

Your task: find everything the question names or asks for, and how the question says that these \
are related. Do not answer it, and bring in nothing that it does not say.

Reply with one JSON object and nothing else. Its keys:
- "nodes": one object for each thing, with "id" (n1, n2, ...), "label" and "description". The \
label is the name as the question spells it. What is asked for, and everything else that the \
question speaks of without naming it, has the label "{UNKNOWN}", and its description says in a few \
words what it is. The first of them is the answer.
- "edges": one object for each condition, with "source" and "target" (ids), "relation" (the words \
of the question that say how the two are related) and "negated" (true where the question says \
that they are not related).
A question about one thing with three conditions has four nodes and three edges. Leave out what \
is no condition."""

EXACT = """\
Your role: you answer questions about the documents of the user, from a table of candidates.

Your task: say which of the candidates answers the question, in the length and format that is \
asked for, and for each condition of the question what shows that it is met.

Rules:
- The answer is one or several of the candidates, by their names as the table has them, and \
nothing else. Where the table does not decide it, reply exactly: {absent}
- The table says of each candidate which conditions it meets. Those that meet all come before \
those that do not; when several meet equally many, name all of them and say so. Of a candidate \
that does not meet all, say which condition is open.
- Add nothing that the data does not support, and do not guess.
""" + CITING


def query_messages(question: str, prompt: str = QUERY) -> tuple[Message, ...]:
    """Build the request of Table 12, for a graph of the question's names and unknowns."""
    return Message("system", prompt), Message("user", question)


def exact_messages(question: str, data: str, length: str = "short",
                   prompt: str = EXACT) -> tuple[Message, ...]:
    """Build the request of Table 15, for an answer from the candidates and their conditions alone.

    Parameters
    ----------
    data, length, prompt : str
        As in `qafd.models.prompts_answer.answer_messages`.
    """
    return answer_messages(question, data, length, prompt)


def read_query(text: str) -> QueryGraph:
    """Return the query graph of a reply to `query_messages`; keys are labels in canonical form.

    Node 0 is the first unknown one, and every condition points away from it. Parts that do not
    constrain the answer are left out: an edge between two names, and nodes that only a name joins
    to the rest. The labels of such nodes are `unread`.

    Raises
    ------
    MalformedReplyError
        A node or an edge has another form, two nodes have one id, no node is unknown, or no
        condition is on it.
    """
    value = json.loads(text)
    nodes = [_node(item) for item in _read_list(value, "nodes", MOST_NODES)]
    places = {identity: place for place, (identity, _) in enumerate(nodes)}
    if len(places) < len(nodes):
        raise MalformedReplyError("two nodes of the model's query graph have one id.")
    unknown = [place for place, (_, node) in enumerate(nodes) if node.unknown]
    if not unknown:
        raise MalformedReplyError("the model's query graph has no unknown node.")
    conditions = [_condition(item, places) for item in _read_list(value, "edges", MOST_EDGES)]
    read = _pointing_away([node for _, node in nodes], conditions, unknown[0])
    if not read.conditions:
        raise MalformedReplyError("the model's query graph has no condition on its unknown node.")
    return read


def holds_query(reply: Reply) -> bool:
    """Return True if a reply can be read as a query graph."""
    try:
        read_query(reply.text)
    except (MalformedReplyError, ValueError, AttributeError):
        return False
    return True


def _read_list(value: Mapping[str, object], key: str, most: int) -> Sequence[object]:
    listed = value.get(key)
    if not isinstance(listed, list) or not 0 < len(listed) <= most:
        raise MalformedReplyError(f"the model's query graph does not have 1 to {most} {key}.")
    return listed


def _node(value: object) -> tuple[str, QueryNode]:
    """Return the id of a node, and the node."""
    if not isinstance(value, dict):
        raise MalformedReplyError("a node of the model's query graph is not an object.")
    identity, label = value.get("id"), value.get("label")
    description = value.get("description", "")
    for field in (identity, label, description):
        if not isinstance(field, str):
            raise MalformedReplyError("a node of the model's query graph lacks an id or a label.")
    label = one_line(str(label), LONGEST)
    key = canonical(label)
    if not key:
        raise MalformedReplyError("a node of the model's query graph has an empty label.")
    if key == canonical(UNKNOWN):
        return str(identity), QueryNode(one_line(str(description), LONGEST) or UNKNOWN)
    return str(identity), QueryNode(label, key)


def _condition(value: object, places: Mapping[str, int]) -> QueryCondition:
    if not isinstance(value, dict):
        raise MalformedReplyError("an edge of the model's query graph is not an object.")
    ends = value.get("source"), value.get("target")
    negated, relation = value.get("negated", False), value.get("relation", "")
    if not isinstance(negated, bool) or not isinstance(relation, str):
        raise MalformedReplyError("an edge of the model's query graph has the wrong form.")
    if ends[0] not in places or ends[1] not in places or ends[0] == ends[1]:
        raise MalformedReplyError("an edge of the model's query graph does not join two of its "
                                  "nodes.")
    words = tuple(content_words(one_line(relation, LONGEST)))
    return QueryCondition(places[str(ends[0])], places[str(ends[1])], words, negated)


def _pointing_away(nodes: Sequence[QueryNode], conditions: Sequence[QueryCondition], answer: int
                   ) -> QueryGraph:
    """Return the graph of all nodes joined to the answer through unknown ones, the answer first."""
    order = [answer]
    reached: list[QueryCondition] = []
    for place in order:  # grows
        if not nodes[place].unknown:
            continue
        for condition in conditions:
            if place not in (condition.source, condition.target):
                continue
            other = condition.target if condition.source == place else condition.source
            if other not in order:
                order.append(other)
            if nodes[other].unknown and order.index(other) < order.index(place):
                continue  # seen from the other end
            reached.append(replace(condition, source=place, target=other))
    at = {place: number for number, place in enumerate(order)}
    pointed = [replace(edge, source=at[edge.source], target=at[edge.target]) for edge in reached]
    left = [node.text for place, node in enumerate(nodes) if place not in at]
    return QueryGraph(tuple(nodes[place] for place in order), tuple(dict.fromkeys(pointed)),
                      tuple(left))
