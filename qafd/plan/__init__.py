"""Question to query plan: keywords of both levels, embedding, names in the graph, further questions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from qafd.errors import ModelError, ParameterError
from qafd.graph import Graph
from qafd.models import LLM, calls_of
from qafd.models.cost import keep_readable
from qafd.models.embedder import Embedder, LocalEmbedder
from qafd.models.prompts_answer import (
    FURTHER_SCHEMA,
    PLAN_SCHEMA,
    further_messages,
    plan_messages,
    read_further,
    read_plan,
)
from qafd.plan.linking import link_names, names_of
from qafd.plan.question import QuestionParse, find_asking, parse_question
from qafd.plan.spelling import Vocabulary
from qafd.reading.text import canonical
from qafd.reading.text.plaintext import clean
from qafd.reading.text.scripts import is_written_small
from qafd.reasons import Notice, NoticeKind, notice
from qafd.records import Keyword, OnDemand, QueryPlan

READ = 1500  # characters of a question that are read

_PUT_RIGHT = (NoticeKind.NAME_ALIKE, NoticeKind.WORD_ALIKE)


class Planner:
    """Reads questions against one graph.

    Parameters
    ----------
    graph : Graph
        Whose entities' names are looked for.
    embedder : Embedder
        The model the graph was indexed with.
    merged : mapping of str to str, optional
        Keys of names that are another entity's by an edit, to the key of that entity.
    vocabulary : Vocabulary, optional
        The words of the passages; one that no passage has may be a name or a word with a slip.
    """

    def __init__(self, graph: Graph, embedder: Embedder,
                 merged: Mapping[str, str] | None = None,
                 vocabulary: Vocabulary | None = None) -> None:
        self._graph = graph
        self._embedder = embedder
        self._vocabulary = vocabulary
        self._names = names_of(graph, merged)
        # All of a question to a database is read, as "List their names."
        self._reads_passages = graph.count("passage") > 0

    def plan(self, question: str) -> QueryPlan:
        """Return the question, read.

        `names` are the names of the graph in the question by longest match (lower-case terms
        only when there is no other), then stand-ins for names that the graph does not know
        (`qafd.plan.linking.Names.candidates`). Low-level keywords name things, high-level ones are
        the other
        words, in runs.

        Raises
        ------
        ParameterError
            When the question has no letter or digit.
        """
        plain = clean(question)  # as texts are
        asked = " ".join(plain.split())
        if not any(character.isalnum() for character in asked):
            if not asked:
                raise ParameterError("The question is empty; type a question about your documents.")
            raise ParameterError(f"“{asked[:40]}” has no letter or digit; ask in words.")
        notices: list[Notice] = []
        if len(asked) > READ:
            notices.append(notice(NoticeKind.QUESTION_CUT, count=len(asked), read=READ))
            asked = asked[:READ]
        heard = asked
        if self._reads_passages:
            heard = find_asking(parse_question(asked), self._find_proper)
        if heard != asked:
            notices.append(notice(NoticeKind.READ_IN_PART, text=heard))
        plan, read = self._read(parse_question(heard))
        if read != heard:
            notices += [one for one in plan.notices if one.kind in _PUT_RIGHT]
            plan, _ = self._read(parse_question(read))
        if read != asked or plain != question:
            plan = replace(plan, read=read)
        return replace(plan, question=question, notices=(*notices, *plan.notices))

    def _find_proper(self, parse: QuestionParse) -> list[int]:
        """Return where names of the graph begin that a text does not write small."""
        return [start for _, start, end in self._names.find(parse.text, parse.common)
                if not is_written_small(parse.text[start:end])]

    def _read(self, parse: QuestionParse) -> tuple[QueryPlan, str]:
        """Return the plan of a text, and the text with its misspelled names put right."""
        asked, embed = parse.text, self._embedder.embed
        found = self._names.find(asked, parse.common)
        links = link_names(parse, self._names, found, lambda text: embed([text])[0], self._vocabulary)
        keywords = _keywords([*(asked[start:end] for _, start, end in found),
                              *(phrase.text for phrase in parse.named)], parse.themes)
        vectors = OnDemand(lambda: embed([keyword.text for keyword in keywords]))
        notices = [*links.respelled, *(links.notices if links.keys else ())]
        if len(self._names) and parse.named and not links.keys:
            notices.append(notice(NoticeKind.NO_NAME_KNOWN))
        if self._embedder.name == LocalEmbedder.name and not parse.is_english:
            notices.append(notice(NoticeKind.NOT_ENGLISH))
        return (QueryPlan(asked, keywords, embed([asked])[0], vectors, links.keys, tuple(notices),
                          written=tuple(links.written)), links.read)

    def refine(self, plan: QueryPlan, keywords: Sequence[Keyword], planner: str) -> QueryPlan:
        """Add the keywords that a language model named to a local plan.

        Its low-level keywords are looked up in the graph like the names of the question. The names and
        the embedding of the question do not change.
        """
        levels = {keyword.text: keyword for keyword in reversed(keywords)}
        texts = _distinct(keyword.text for keyword in keywords)
        kept = tuple(levels[text] for text in texts)
        vectors = self._embedder.embed([keyword.text for keyword in kept])
        names = dict.fromkeys(plan.names)
        for keyword, vector in zip(kept, vectors, strict=True):
            if keyword.level == "low":
                names[self._names.mean(keyword.text, vector) or ""] = None
        names.pop("", None)
        return replace(plan, keywords=kept, keyword_vectors=vectors, names=tuple(names), planner=planner)


def plan_by(client: LLM, planner: Planner, plan: QueryPlan) -> QueryPlan:
    """Return a local plan with the keywords of a language model.

    When the model fails or names no keyword, the local plan stays and a notice has the reason.
    """
    try:
        reply = keep_readable(client, read_plan).complete(
            plan_messages(plan.question), schema=PLAN_SCHEMA, max_tokens=calls_of(client).reply_tokens)
        keywords = read_plan(reply.text)
    except ModelError as error:
        told = notice(NoticeKind.READ_WITHOUT, model=client.name, text=str(error))
        return replace(plan, notices=(*plan.notices, told))
    return planner.refine(plan, keywords, client.name)


def ask_further(client: LLM, planner: Planner, plan: QueryPlan, passages: Sequence[str]) -> QueryPlan:
    """Return the plan with the questions that a language model asks after reading some passages.

    There are none where the passages answer, and where the model fails; a notice has the reason.
    """
    asked = [plan.question, *(one.question for one in plan.further)]
    try:
        reply = keep_readable(client, read_further).complete(
            further_messages(asked, passages), schema=FURTHER_SCHEMA,
            max_tokens=calls_of(client).reply_tokens)
        questions = read_further(reply.text)
    except ModelError as error:
        failed = notice(NoticeKind.NOT_ASKED_FURTHER, model=client.name, text=str(error))
        return replace(plan, notices=(*plan.notices, failed))
    new = [text for text in questions if text not in asked]
    asked_then = tuple(notice(NoticeKind.THEN_ASKED, text=text) for text in new)
    return replace(plan, notices=(*plan.notices, *asked_then),
                   further=(*plan.further, *map(planner.plan, new)))



def _keywords(names: Sequence[str], themes: Iterable[str]) -> tuple[Keyword, ...]:
    """Return the different names of a question, then the themes that are none of them."""
    low = _distinct(names)
    high = _distinct([*low, *themes])[len(low):]
    return (*(Keyword(text, "low") for text in low), *(Keyword(text, "high") for text in high))


def _distinct(texts: Iterable[str]) -> list[str]:
    """Return the texts with different canonical forms, the first of each."""
    kept: dict[str, str] = {}
    for text in texts:
        kept.setdefault(canonical(text), text)
    kept.pop("", None)
    return list(kept.values())
