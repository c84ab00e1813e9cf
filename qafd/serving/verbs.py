"""Requests of other programs to a workspace, with citations.

Each function takes a `KnowledgeGraph` and returns a frozen record of plain values, which MCP, HTTP
and the retrievers of other frameworks pass on as they are. None of them changes the
documents; a language model reads the questions if `KnowledgeGraph.reader` is one.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import Field, ValidationError

from qafd.errors import ParameterError
from qafd.explain.conditions import AnswerConditions
from qafd.graph import Graph
from qafd.knowledge import KnowledgeGraph, check_conditions
from qafd.reading.text import canonical as canonical_name
from qafd.reading.text import count_tokens
from qafd.records import node_id
from qafd.retrieve import METHODS
from qafd.retrieve.base import Retrieval, RetrievedPassage
from qafd.retrieve.methods import PAPER, canonical
from qafd.storage.rows import DocumentRow
from qafd.view.groups import near
from qafd.wording.answers import say_status
from qafd.wording.explanations import say_balance, say_path, say_remedy, say_why, say_why_not
from qafd.wording.reasons import word_notice

MOST = 50  # passages or entities of one reply
LONGEST = 2000  # characters of a question
MOST_TOKENS = 20_000  # of one reply
LONGEST_TOKEN = 40  # characters, with the space around it

Question = Annotated[str, Field(description="A question about the documents.",
                                max_length=LONGEST)]
Method = Annotated[str, Field(
    description='A retrieval method: "qafd" is query-aware flow diffusion, the others are for comparison.',
    json_schema_extra={"enum": [*METHODS, PAPER]})]
Node = Annotated[str, Field(description='The name of an entity, or "¶ " and the title of a passage.',
                            max_length=LONGEST)]
Limit = Annotated[int, Field(description="The most passages, entities or other items of the reply.",
                             ge=1, le=MOST)]
Tokens = Annotated[int, Field(description="The most tokens of texts in the reply; a text that does not "
                                          "fit is left out or cut.", ge=1, le=MOST_TOKENS)]
Start = Annotated[int, Field(description="Where to start: the `next` of the reply before.", ge=0)]
DocumentName = Annotated[str, Field(description="The name of a document, as `documents` lists it.",
                                    max_length=LONGEST)]


@dataclass(frozen=True)
class FoundPassage:
    """A passage, its place in its document in characters, and its score by the method that found it.

    `heading` has the headings above it; `id` names it in the workspace.
    """

    document: str
    title: str
    text: str
    start: int
    end: int
    score: float
    page: int | None = None
    heading: str = ""
    id: str = ""

    def describe(self, number: int) -> dict[str, str | int | float | None]:
        """Return the metadata of a document of another framework; `number` is its rank, from 1."""
        return {"file": self.document, "title": self.title, "heading": self.heading, "page": self.page,
                "number": number, "id": self.id, "score": self.score, "start": self.start, "end": self.end}


@dataclass(frozen=True)
class EntityImportance:
    """A retrieved entity and its importance x (0 and up)."""

    name: str
    importance: float


@dataclass(frozen=True)
class RetrievalReply:
    """The retrieval of a method for a question: passages by score, entities by importance."""

    question: str
    method: str
    sources: tuple[FoundPassage, ...]
    entities: tuple[EntityImportance, ...]
    notices: tuple[str, ...] = ()
    proven: bool | None = None
    """True if the diffusion is certified optimal; None for methods without a diffusion."""


@dataclass(frozen=True)
class NearEntity:
    """An entity that shares passages with a node; `relation` is the label between them, "" without one."""

    name: str
    passages: int
    relation: str = ""


@dataclass(frozen=True)
class NeighborsReply:
    """The entities nearest to a node, those with most passages in common first."""

    node: str
    neighbors: tuple[NearEntity, ...]


@dataclass(frozen=True)
class PathReply:
    """A path of mass from a name of the question to a node; `share` is its part of all the mass."""

    path: str
    share: float


@dataclass(frozen=True)
class PathsReply:
    """The largest paths of mass to a node."""

    question: str
    node: str
    paths: tuple[PathReply, ...]


@dataclass(frozen=True)
class ReadReply:
    """A part of a document's text, in characters; `next` is where the rest starts, None at its end."""

    document: str
    title: str
    text: str
    start: int
    next: int | None


@dataclass(frozen=True)
class DocumentsReply:
    """Documents by name, of `total`; `next` is the start of the following ones, None at the end."""

    total: int
    documents: tuple[DocumentRow, ...]
    next: int | None


@dataclass(frozen=True)
class ConditionsReply:
    """The entities that meet all or most conditions of a question, best first."""

    question: str
    answers: tuple[AnswerConditions, ...]
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class WhyReply:
    """The reasons why a node is retrieved for a question, or why not and how to retrieve it."""

    question: str
    node: str
    retrieved: bool
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class QuotedSentence:
    """A sentence of a document; `source` is the number of its citation."""

    text: str
    source: int


@dataclass(frozen=True)
class QuotedPlace:
    """The place of a quoted sentence."""

    number: int
    where: str
    document: str
    page: int | None = None


@dataclass(frozen=True)
class AnswerReply:
    """Quoted sentences that answer; `answered` is False if the documents have no answer.

    The first quote answers, those after it support it. If nothing answers, the quotes are the
    nearest sentences and `remark` names the gap.
    """

    question: str
    answered: bool
    quotes: tuple[QuotedSentence, ...]
    citations: tuple[QuotedPlace, ...]
    remark: str = ""


def say_wrong(error: ValidationError, known: Iterable[str]) -> str:
    """Word the first of the parameters that could not be read, of those that are known."""
    first = error.errors(include_url=False, include_input=False)[0]
    name = str((*first["loc"], "")[0])[:60]
    return (f"the parameter {name!r} cannot be read ({first['msg']}); the parameters are "
            f"{', '.join(known)}")


def query(knowledge: KnowledgeGraph, question: Question, method: Method = "qafd",
          limit: Limit = 10, tokens: Tokens = MOST_TOKENS) -> RetrievalReply:
    """Retrieve the passages and entities that matter to a question, by a diffusion over the graph.

    Parameters
    ----------
    question : str
        A question of at most 2,000 characters.
    method : str
        By default query-aware flow diffusion; "pagerank", "exact", "fusion" and the others of
        `qafd compare --help` serve to compare.
    limit : int
        The number of passages and entities, 1 to 50.
    tokens : int
        The tokens of the passages, 1 to 20,000; the first is always returned, cut if need be.

    Raises
    ------
    ParameterError
        The question is empty, the method is unknown, or a number is out of its range.
    MissingLayerError
        The method needs a layer that is not built.
    """
    _check(question, limit)
    _check_range("tokens", tokens, 1, MOST_TOKENS)
    retrieval = _retrieve(knowledge, question, method)
    entities = [EntityImportance(node.name, node.importance) for node in retrieval.nodes
                if node.kind == "entity" and node.importance > 0]
    certificate = retrieval.certificate
    return RetrievalReply(
        question, method, _fit(retrieval.passages[:limit], tokens), tuple(entities[:limit]),
        tuple(map(word_notice, retrieval.notices)),
        bool(certificate["optimal"]) if certificate else None)


def explain_why(knowledge: KnowledgeGraph, question: Question, node: Node) -> WhyReply:
    """Explain why query-aware flow diffusion retrieves a node for a question, or why it does not.

    Parameters
    ----------
    question : str
        The question of the retrieval.
    node : str
        The name of an entity, or "¶ " and the title of a passage.

    Raises
    ------
    ParameterError
        The question is empty, or the node is unknown.
    """
    _check(question, 1)
    _check(node, 1)
    explanation = knowledge.explain(question)
    if explanation.is_retrieved(node):
        why = explanation.why(node)
        return WhyReply(question, node, True, (say_why(why), say_balance(why.balance)))
    absence = explanation.why_not(node)
    remedies = [say_remedy(remedy, absence) for remedy in absence.remedies]
    return WhyReply(question, node, False, (*say_why_not(absence), *remedies))


def answer(knowledge: KnowledgeGraph, question: Question) -> AnswerReply:
    """Answer a question with sentences quoted from the documents, or report that none answers it.

    Parameters
    ----------
    question : str
        A question of at most 2,000 characters.

    Raises
    ------
    ParameterError
        The question is empty.
    """
    _check(question, 1)
    given = knowledge.answer(_retrieve(knowledge, question, "qafd"))
    quotes = [QuotedSentence(sentence.line, sentence.citation) for sentence in given.sentences]
    citations = [QuotedPlace(cited.number, cited.where, cited.passage.document, cited.passage.page)
                 for cited in given.citations]
    remark = "" if given.answered else say_status(given)
    return AnswerReply(question, not given.abstained, tuple(quotes), tuple(citations), remark)


def neighbors(knowledge: KnowledgeGraph, node: Node, limit: Limit = 10) -> NeighborsReply:
    """List the entities that share most passages with a node, and how they are related.

    Raises
    ------
    ParameterError
        The node is unknown, or the limit is out of its range.
    """
    _check(node, limit)
    graph = knowledge.graph
    row = _find_row(graph, node)
    counts = _count_shared(graph, row)
    found = sorted(counts.items(), key=lambda pair: (-pair[1], graph.ids[pair[0]]))[:limit]
    with knowledge.store() as store:
        labels = store.graph.labels([graph.ids[row], *(graph.ids[other] for other, _ in found)])
    entities = []
    for other, shared in found:
        ends = frozenset((graph.ids[row], graph.ids[other]))
        entities.append(NearEntity(graph.names[other], shared, labels.get(ends, "")))
    return NeighborsReply(graph.names[row], tuple(entities))


def _count_shared(graph: Graph, row: int) -> Counter[int]:
    """Count the passages that entities share with one, or the names of a passage once each."""
    around = near(graph, row)
    if graph.kinds[row] == "passage":
        return Counter(around)
    found: Counter[int] = Counter()
    for passage in around:
        if graph.kinds[passage] == "passage":
            found.update(other for other in near(graph, passage) if graph.kinds[other] != "passage")
    del found[row]
    return found


def paths(knowledge: KnowledgeGraph, question: Question, node: Node, limit: Limit = 5) -> PathsReply:
    """List the largest paths of mass from the names of a question to a node.

    Raises
    ------
    ParameterError
        The question is empty, the node is unknown or not reached, or the limit is out of its range.
    """
    _check(question, limit)
    _check(node, 1)
    found = knowledge.explain(question).paths(limit, node).paths
    return PathsReply(question, node, tuple(PathReply(say_path(path), path.share) for path in found))


def read(knowledge: KnowledgeGraph, document: DocumentName, start: Start = 0, tokens: Tokens = 2000
         ) -> ReadReply:
    """Read the text of a document from a character on, up to a number of tokens.

    Raises
    ------
    ParameterError
        A number is out of its range.
    StoreError
        There is no such document.
    """
    _check(document, 1)
    _check_range("start", start, 0, 10**9)
    _check_range("tokens", tokens, 1, MOST_TOKENS)
    with knowledge.store() as store:
        found = store.documents.get(document)
    text = _cut(found.text[start:], tokens)
    end = start + len(text)
    return ReadReply(found.name, found.title, text, start, end if end < len(found.text) else None)


def documents(knowledge: KnowledgeGraph, start: Start = 0, limit: Limit = MOST) -> DocumentsReply:
    """List the documents of the workspace.

    Raises
    ------
    ParameterError
        A number is out of its range.
    """
    _check_range("start", start, 0, 10**9)
    _check_range("limit", limit, 1, MOST)
    with knowledge.store() as store:
        rows = [row for row in store.documents.all() if row.deleted_at is None]
    end = start + limit
    return DocumentsReply(len(rows), tuple(rows[start:end]), end if end < len(rows) else None)


def conditions(knowledge: KnowledgeGraph, question: Question, limit: Limit = 10) -> ConditionsReply:
    """Find the entities that meet the conditions of a question, each with its evidence.

    Raises
    ------
    ParameterError
        The question is empty, or the limit is out of its range.
    """
    _check(question, limit)
    retrieval = _retrieve(knowledge, question, "exact")
    return ConditionsReply(question, check_conditions(knowledge, retrieval)[:limit],
                           tuple(map(word_notice, retrieval.notices)))


def _find_row(graph: Graph, node: str) -> int:
    """Return the row of a node by its id or name; raises ParameterError if there is none."""
    for id in (node, node_id("entity", canonical_name(node))):
        if id in graph.row:
            return graph.row[id]
    wanted = node.removeprefix("¶").strip().casefold()
    names = (name.removeprefix("¶").strip().casefold() for name in graph.names)
    row = next((row for row, name in enumerate(names) if name == wanted), None)
    if row is None:
        raise ParameterError(f"the graph has no node {node[:80]!r}; `query` finds names and passages")
    return row


def _fit(passages: Sequence[RetrievedPassage], tokens: int) -> tuple[FoundPassage, ...]:
    """Return the first passages that fit into a number of tokens, at least the beginning of one."""
    found: list[FoundPassage] = []
    for passage in passages:
        text = _cut(passage.text, tokens)
        if found and len(text) < len(passage.text):
            break
        found.append(replace(_source(passage), text=text, end=passage.start + len(text)))
        tokens -= count_tokens(text)
        if tokens < 1:
            break
    return tuple(found)


def _cut(text: str, tokens: int) -> str:
    """Return the longest beginning of a text, up to a space, of at most a number of tokens."""
    text = text[:LONGEST_TOKEN * tokens]  # or each look would count all of a book
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(text[:middle]) <= tokens:
            low = middle
        else:
            high = middle - 1
    if low == len(text):
        return text
    return text[:text.rfind(" ", 0, low) + 1] or text[:max(low, 1)]


def _retrieve(knowledge: KnowledgeGraph, question: str, method: str) -> Retrieval:
    return knowledge.retrieve(question, canonical(method))


def _source(passage: RetrievedPassage) -> FoundPassage:
    return FoundPassage(passage.document, passage.title, passage.text, passage.start, passage.end,
                        passage.score, passage.page, passage.heading, passage.chunk)


def _check(question: str, limit: int) -> None:
    if any("\ud800" <= letter <= "\udfff" for letter in question):
        raise ParameterError("the text has half of a character (a lone surrogate); send it as UTF-8")
    if not question.strip():
        raise ParameterError("the question is empty; enter a question or some words")
    if len(question) > LONGEST:
        raise ParameterError(f"the question has {len(question)} characters; ask with at most "
                             f"{LONGEST}")
    _check_range("limit", limit, 1, MOST)


def _check_range(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ParameterError(f"{name} is {value:,}; choose a number from {low} to {high:,}")


VERBS: dict[str, Callable[..., Any]] = {
    "query": query, "why": explain_why, "answer": answer,
    "neighbors": neighbors, "paths": paths, "read": read, "documents": documents,
    "conditions": conditions}
"""The requests by name, for MCP and HTTP."""
