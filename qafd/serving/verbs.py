"""Requests of other programs to a workspace: search, retrieve, why and answer, with citations.

Each function takes a `KnowledgeGraph` and returns a frozen record of plain values, which MCP, HTTP
and the retrievers of other frameworks pass on as they are. None of them changes the workspace or
calls a language model.
"""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from qafd.errors import ParameterError
from qafd.knowledge import KnowledgeGraph
from qafd.retrieve import METHODS
from qafd.retrieve.base import Retrieval, RetrievedPassage
from qafd.retrieve.methods import PAPER, canonical
from qafd.wording.answers import say_status
from qafd.wording.explanations import say_balance, say_remedy, say_why, say_why_not
from qafd.wording.reasons import word_notice

MOST = 50  # passages or entities of one reply
LONGEST = 2000  # characters of a question

Words = Annotated[str, Field(description="Words to look for; a passage needs one of them.",
                             max_length=LONGEST)]
Question = Annotated[str, Field(description="A question about the documents.",
                                max_length=LONGEST)]
Method = Annotated[str, Field(
    description='A retrieval method: "qafd" is query-aware flow diffusion, the others compare.',
    json_schema_extra={"enum": [*METHODS, PAPER]})]
Node = Annotated[str, Field(description='The name of an entity, or "¶ " and the title of a passage.',
                            max_length=LONGEST)]
Limit = Annotated[int, Field(description="The most passages, and entities, of the reply.",
                             ge=1, le=MOST)]


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


@dataclass(frozen=True)
class SearchReply:
    """The best of `total` passages that have the words; `remark` names words that no passage has."""

    total: int
    sources: tuple[FoundPassage, ...]
    remark: str = ""


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


def search_passages(knowledge: KnowledgeGraph, words: Words, limit: Limit = 10) -> SearchReply:
    """Find passages that have the words.

    Parameters
    ----------
    words : str
        The words to find.
    limit : int
        The number of passages, 1 to 50.

    Raises
    ------
    ParameterError
        There are no words, or the limit is out of its range.
    """
    _check(words, limit)
    with knowledge.store() as store:
        found = store.passages.search(words)
    sources = []
    for hit in found.hits[:limit]:
        chunk = hit.chunk
        sources.append(FoundPassage(chunk.document, chunk.title, chunk.text, chunk.start, chunk.end,
                                    hit.score, chunk.page, chunk.heading, chunk.id))
    return SearchReply(found.total, tuple(sources), found.said)


def retrieve(knowledge: KnowledgeGraph, question: Question, method: Method = "qafd",
             limit: Limit = 10) -> RetrievalReply:
    """Retrieve passages and entities for a question by a method of `METHODS`.

    Parameters
    ----------
    question : str
        A question of at most 2,000 characters.
    method : str
        By default query-aware flow diffusion; "pagerank", "exact", "fusion" and the others of
        `qafd compare --help` serve to compare.
    limit : int
        The number of passages and entities, 1 to 50.

    Raises
    ------
    ParameterError
        The question is empty, the method is unknown, or the limit is out of its range.
    MissingLayerError
        The method needs a layer that is not built.
    """
    _check(question, limit)
    retrieval = _retrieve(knowledge, question, method)
    entities = [EntityImportance(node.name, node.importance) for node in retrieval.nodes
                if node.kind == "entity" and node.importance > 0]
    certificate = retrieval.certificate
    return RetrievalReply(
        question, method, tuple(map(_source, retrieval.passages[:limit])), tuple(entities[:limit]),
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
    quotes = [QuotedSentence(sentence.text, sentence.citation) for sentence in given.sentences]
    citations = [QuotedPlace(cited.number, cited.where, cited.passage.document, cited.passage.page)
                 for cited in given.citations]
    remark = "" if given.answered else say_status(given)
    return AnswerReply(question, not given.abstained, tuple(quotes), tuple(citations), remark)


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
    if not 1 <= limit <= MOST:
        raise ParameterError(f"the limit is {limit}; choose one from 1 to {MOST}")
