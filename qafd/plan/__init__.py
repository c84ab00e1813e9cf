"""Question to query plan: keywords of both levels, embedding, names in the graph, further questions."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

from qafd.errors import MalformedReplyError, ModelError, ParameterError
from qafd.graph import Graph
from qafd.models import LLM, Reply, calls_of
from qafd.models.cost import Metered
from qafd.models.embedder import Embedder, LocalEmbedder
from qafd.models.prompts_answer import (
    FURTHER_SCHEMA,
    PLAN_SCHEMA,
    further_messages,
    plan_messages,
    read_further,
    read_plan,
)
from qafd.plan.asking import find_asking
from qafd.plan.linking import Named, named_in, names_of
from qafd.plan.spelling import Vocabulary
from qafd.reading.names.cjk import TERM
from qafd.reading.names.foreign import names_of as names_in_other
from qafd.reading.names.languages import ENGLISH, function_words, language_of
from qafd.reading.names.tagger import tagger
from qafd.reading.text import canonical
from qafd.reading.text.plaintext import clean
from qafd.reading.text.scripts import is_written_small
from qafd.reasons import Notice, NoticeKind, notice
from qafd.records import Keyword, OnDemand, QueryPlan

if TYPE_CHECKING:
    from spacy.tokens import Doc

READ = 1500  # characters of a question that are read

_PUT_RIGHT = (NoticeKind.NAME_ALIKE, NoticeKind.WORD_ALIKE)
_READING = Lock()  # spaCy's pipelines add words to a shared vocabulary as they read


class Planner:
    """Reads questions against one graph, English ones with spaCy's small model.

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
        the other noun phrases.

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
        doc = self._tag(asked)
        heard = asked
        if doc is not None and self._reads_passages:
            heard = find_asking(doc, self._find_proper(doc))
        if heard != asked:
            notices.append(notice(NoticeKind.READ_IN_PART, text=heard))
            doc = self._tag(heard)
        plan, read = self._read(heard, doc)
        if read != heard:
            notices += [one for one in plan.notices if one.kind in _PUT_RIGHT]
            plan, _ = self._read(read, self._tag(read))
        if read != asked or plain != question:
            plan = replace(plan, read=read)
        return replace(plan, question=question, notices=(*notices, *plan.notices))

    def _tag(self, asked: str) -> "Doc | None":
        """Return a text tagged and parsed, None for one that is not English."""
        if language_of(asked, least=1) != ENGLISH:
            return None
        nlp, _ = tagger()
        with _READING:
            return nlp(asked)

    def _find_proper(self, doc: "Doc") -> list[tuple[int, int]]:
        """Return the places of names of the graph that a text does not write small."""
        nlp, _ = tagger()
        return [(start, end) for _, start, end in self._names.find(doc.text, nlp.Defaults.stop_words)
                if not is_written_small(doc.text[start:end])]

    def _read(self, asked: str, doc: "Doc | None") -> tuple[QueryPlan, str]:
        """Return the plan of a text, and the text with its misspelled names put right."""
        nlp, _ = tagger()
        common = nlp.Defaults.stop_words
        language = ENGLISH
        if doc is not None:
            found = self._names.find(asked, common)
            named, themes = list(named_in(doc)), list(_themes(doc))
        else:
            language = language_of(asked, least=1)
            common = common | function_words(language)
            found = self._names.find(asked, common)
            named, themes = _read_other(asked, language)
        low = _distinct([*(asked[start:end] for _, start, end in found),
                         *(span.text for span in named)])
        keywords = _keywords(low, themes)
        embed = self._embedder.embed
        vectors = OnDemand(lambda: embed([keyword.text for keyword in keywords]))
        vocabulary = self._vocabulary
        if vocabulary and language != ENGLISH:
            vocabulary = replace(vocabulary, spread=None)
        links = self._names.link(asked, named, found, lambda text: embed([text])[0], common, vocabulary)
        notices = [*links.respelled, *(links.notices if links.keys else ())]
        if len(self._names) and named and not links.keys:
            notices.append(notice(NoticeKind.NO_NAME_KNOWN))
        if self._embedder.name == LocalEmbedder.name and language != ENGLISH:
            notices.append(notice(NoticeKind.NOT_ENGLISH))
        return (QueryPlan(asked, keywords, embed([asked])[0], vectors, links.keys, tuple(notices),
                          written=links.written), links.read)

    def refine(self, plan: QueryPlan, keywords: Sequence[Keyword], planner: str) -> QueryPlan:
        """Return a local plan with the keywords that a language model named.

        Its low-level keywords are looked for in the graph like the names of the question, which
        stay; the embedding stays that of the question.
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


def _read_other(asked: str, language: str) -> tuple[list[Named], list[str]]:
    """Return the names and the themes of a question in a language that the tagger does not read."""
    seen, _ = names_in_other(asked, [(0, len(asked))], language)
    named, themes = [], []
    for start, end, kind in seen:
        text = asked[start:end]
        if kind == TERM and canonical(text):
            themes.append(text)
        elif canonical(text):
            named.append(Named(text, start, end, kind))
    return named, themes


def plan_by(client: LLM, planner: Planner, plan: QueryPlan) -> QueryPlan:
    """Return a local plan with the keywords of a language model.

    When the model fails or names no keyword, the local plan stays and a notice has the reason.
    """
    try:
        reply = _keep_readable(client, read_plan).complete(
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
        reply = _keep_readable(client, read_further).complete(
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


def _keep_readable(client: LLM, read: Callable[[str], object]) -> LLM:
    """Return the model; if it keeps replies to answer from, only those that `read` reads."""
    def is_readable(reply: Reply) -> bool:
        try:
            read(reply.text)
        except (MalformedReplyError, ValueError, AttributeError):
            return False
        return True

    return replace(client, accepts=is_readable) if isinstance(client, Metered) else client


def _themes(doc: "Doc") -> Iterator[str]:
    """Yield noun phrases without their leading function words."""
    for phrase in doc.noun_chunks:
        tokens = list(phrase)
        while tokens and (tokens[0].is_stop or not tokens[0].is_alpha):
            tokens = tokens[1:]
        if tokens:
            yield doc.text[tokens[0].idx:tokens[-1].idx + len(tokens[-1])]


def _keywords(names: Sequence[str], themes: Iterable[str]) -> tuple[Keyword, ...]:
    """Return the names of a question, then the themes that are none of them."""
    taken = {canonical(text) for text in names}
    high = [text for text in _distinct(themes) if canonical(text) not in taken]
    return (*(Keyword(text, "low") for text in names), *(Keyword(text, "high") for text in high))


def _distinct(texts: Iterable[str]) -> list[str]:
    """Return the texts with different canonical forms, the first of each."""
    kept: dict[str, str] = {}
    for text in texts:
        kept.setdefault(canonical(text), text)
    kept.pop("", None)
    return list(kept.values())
