"""A retriever from outside as a method: its results are mapped to the passages of a workspace."""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any, ClassVar
from urllib.parse import urlsplit

import numpy as np

from qafd.errors import ParameterError, QafdError
from qafd.models.address import destinations
from qafd.reading.text import canonical
from qafd.reading.text.bm25 import content_words, words
from qafd.reading.text.plaintext import one_line, storable
from qafd.reasons import Notice, NoticeKind, Reason, ReasonKind, notice, reason
from qafd.records import Floats, QueryPlan, node_id
from qafd.retrieve.base import Corpus, Retrieval
from qafd.retrieve.by_score import retrieve_by_score
from qafd.retrieve.subgraph import edges, entries_among, nodes

OVERLAP = 0.5  # share of the shorter text's runs of words that a passage and a result have in common
RUN = 3  # words in a row
LEAST = 4  # runs in common; fewer are common by chance, as "at the end of the" is
CANDIDATES = 8  # passages that one result is compared with, by BM25 of its words
MOST = 200  # results of one question
LONGEST = 20_000  # characters of one result
MOST_BYTES = 10_000_000
SECONDS = 30.0
_ASKED = 60  # words of a result by which candidates are found
_LISTS = ("data", "context", "context_data", "results", "chunks", "sources", "documents", "entities")
_REPORTS = "reports"  # all that a global search of GraphRAG has: texts of a model, which are no passages
_FIELDS = {"text": ("text", "content", "page_content"), "id": ("id", "chunk_id"), "score": ("score",),
           "name": ("entity_name", "entity")}
_BLOCK = re.compile(r"```json\n(.*?)```", re.DOTALL)

class RetrieverError(QafdError):
    """A retriever from outside failed, or gave results that cannot be read."""


@dataclass(frozen=True)
class Result:
    """One result of a retriever from outside: a passage with an id, a text, or both, else a name."""

    text: str = ""
    id: str = ""
    score: float | None = None
    name: str = ""


@dataclass(frozen=True)
class External:
    """A search service: POST {"question": "..."}, and {"results": [{"text", "id", "score"}]} back.

    Parameters
    ----------
    url : str
        http(s), of this machine, your network or the public one.
    seconds : float
        All that one question may take.
    """

    url: str
    seconds: float = SECONDS

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ParameterError(f"{self.url[:80]!r} is not the address of a search service; write it as "
                                 "https://host/search")

    def __call__(self, question: str) -> Any:
        """Ask the service one question; returns the JSON value that it answers with."""
        import httpx2  # which other methods need not load

        from qafd.models.wire import CallLimits, bounded_client

        limits = CallLimits(self.seconds, MOST_BYTES)
        try:
            with limits.on(), bounded_client(self.seconds, lambda host: destinations(
                    host, private=False)) as client:
                answer = client.post(self.url, json={"question": question})
                answer.raise_for_status()
                return json.loads(answer.content)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            reason = "time" if isinstance(error, httpx2.TimeoutException) else limits.broken
            broken = {"size": f"sent more than {MOST_BYTES / 1e6:.0f} MB",
                      "time": f"gave no answer within {self.seconds:g} s"}.get(reason)
            cause = limits.refused or str(error).partition("\n")[0] or type(error).__name__
            raise RetrieverError(f"{self.url} {broken or 'cannot be asked'} ({cause}); check that "
                                 "the service runs") from error
        except (ValueError, RecursionError) as error:
            raise RetrieverError(f"{self.url} answered with something that is not JSON; it should "
                                 'answer {"results": [{"text": "...", "score": 1.0}]}') from error


class ForeignMethod:
    """A retriever from outside as a method of a comparison.

    Results are matched by id (of a passage or its node), else by text: with the passage that shares
    most runs of three words, if that is at least half of those of the shorter text, and at least four
    or all of the passage. A text of fewer than six words is thus matched only by a passage that it
    holds as a whole. Scores order the
    results where all have one; a result without a score counts 1 / place. Names of entities are
    matched as names of a question are; without them a passage draws the names that it mentions.

    Parameters
    ----------
    name : str
        Of its column.
    retriever : object
        A callable, a LangChain retriever (`invoke`), a LlamaIndex retriever (`retrieve`), or
        `External`. It takes a question and returns what `read_results` reads.
    """

    idea: ClassVar[str] = "a retriever from outside; its results are matched with the passages"
    source: ClassVar[str] = "your own"
    needs: ClassVar[tuple[str, ...]] = ()

    def __init__(self, name: str, retriever: Any) -> None:
        if not re.fullmatch(r"[\w][\w .-]{0,39}", name):
            raise ParameterError(f"{name[:60]!r} cannot name a retriever; use at most 40 letters, "
                                 "digits, spaces, dots and hyphens")
        self._ask = _find_call(retriever)
        self.name = self.label = name
        self._retriever = retriever

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ForeignMethod) and (self.name, self._retriever) == (
            other.name, other._retriever)

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> tuple[type, tuple[str, Any]]:
        return ForeignMethod, (self.name, self._retriever)

    def fit_to(self, _: object) -> "ForeignMethod":
        """Return the method itself."""
        return self

    def retrieve(self, corpus: Corpus, plan: QueryPlan) -> Retrieval:
        """Ask the retriever, and return the passages and entities that its results are.

        Raises
        ------
        RetrieverError
            It failed, or returned something that is not a list of results.
        """
        results = self._ask_once(plan.question)
        passages = [result for result in results if not result.name]
        named = [result.name for result in results if result.name]
        places = [match_passage(result, corpus) for result in passages]
        rows = [corpus.graph.row.get(node_id("entity", canonical(name))) for name in named]
        scores = _score_places(passages, places, len(corpus.passages.rows))

        def because(place: int) -> Reason:
            return reason(ReasonKind.FOREIGN, name=self.name, score=float(scores[place]))

        limits = _Limits(max(1, len(passages)), max(1, len(passages)))
        found = retrieve_by_score(limits, self.name, corpus, plan, scores, because)
        if named:
            found = self._add_named([row for row in rows if row is not None], found, corpus, plan)
        texts = [result.text or result.id for result in passages]
        unmatched = [one_line(text, 60).rstrip(".") for text, place in zip(
            [*texts, *named], [*places, *rows], strict=True) if place is None]
        notices: tuple[Notice, ...] = ()
        if not results:
            notices = (notice(NoticeKind.FOREIGN_EMPTY, name=self.name),)
        elif unmatched:
            notices = (notice(NoticeKind.FOREIGN_UNMATCHED, name=self.name, count=len(unmatched),
                              total=len(results), results=tuple(unmatched), share=OVERLAP),)
        return replace(found, params=asdict(limits), notices=notices)

    def _add_named(self, rows: Sequence[int], found: Retrieval, corpus: Corpus, plan: QueryPlan
                   ) -> Retrieval:
        """Return the passages of a retrieval with these entities, the first of them most important."""
        layer = corpus.graph.layer({"mention", "relation"})
        passages = tuple(node for node in found.nodes if node.kind == "passage")
        largest = max((node.importance for node in passages), default=1.0) or 1.0
        picked = np.array(list(dict.fromkeys(rows)), np.int64)
        importance = largest / np.arange(1, len(picked) + 1)
        reasons = [reason(ReasonKind.FOREIGN, name=self.name, score=1 / place, place=place,
                          count=len(picked)) for place in range(1, len(picked) + 1)]
        listed = (*passages, *nodes(layer, plan, picked, importance, reasons))
        drawn = np.append(picked, [corpus.graph.row[node.id] for node in passages]).astype(np.int64)
        return replace(found, nodes=tuple(sorted(listed, key=lambda node: (-node.importance, node.id))),
                       edges=edges(layer, entries_among(layer, drawn)))

    def _ask_once(self, question: str) -> list[Result]:
        try:
            value = self._ask(question)
        except QafdError:
            raise
        except Exception as error:  # noqa: BLE001  code of others may raise anything
            raise RetrieverError(f"{self.name} failed: {type(error).__name__}: "
                                 f"{one_line(str(error), 200)}") from error
        return read_results(value, self.name)


@dataclass(frozen=True)
class _Limits:
    passages: int
    top: int


def _score_places(results: Sequence[Result], places: Sequence[int | None], count: int) -> Floats:
    """Return the score of each of `count` passages, -inf for one that no result is."""
    scores = np.full(count, -np.inf)
    scored = all(result.score is not None for result in results)
    for number, (result, place) in enumerate(zip(results, places, strict=True), 1):
        if place is not None:
            score = result.score if scored and result.score is not None else 1 / number
            scores[place] = max(scores[place], score)
    return scores


def _find_call(retriever: Any) -> Callable[[str], Any]:
    for name in ("invoke", "retrieve"):
        if callable(call := getattr(retriever, name, None)):
            return call  # type: ignore[no-any-return]
    if not callable(retriever):
        raise ParameterError(f"{type(retriever).__name__} cannot be asked; give a callable, a "
                             "retriever of LangChain or LlamaIndex, or External(url)")
    return retriever  # type: ignore[no-any-return]


def read_results(value: Any, name: str) -> list[Result]:
    """Read the results of a retriever, best first.

    Parameters
    ----------
    value : object
        A list, a table of pandas, or a mapping with lists under "results", "chunks", "sources",
        "documents" or "entities", as LightRAG (`aquery_data`, or its context as text) and GraphRAG
        (context data) return it. An item is a text, a (result, score) pair, a document of LangChain,
        a node of LlamaIndex, or a mapping with text, id and score, or with the name of an entity.

    Raises
    ------
    RetrieverError
        It is not a list of results, or one has neither id nor text, or a score that is no number.
    """
    items = _list_items(value)
    if items is None:
        raise RetrieverError(f"{name} returned no list of results but {type(value).__name__}; "
                             "return texts, or mappings with text, id and score")
    results: list[Result] = []
    for item in items:
        if len(results) == MOST:
            raise RetrieverError(f"{name} returned more than {MOST} results; return fewer")
        results.append(_read_result(item, f"result {len(results) + 1} of {name}"))
    if all(result.score is not None for result in results):
        results.sort(key=lambda result: -(result.score or 0.0))
    return results


def _list_items(value: Any) -> Iterable[Any] | None:
    """Return the items of a list of results in any of its forms, None if it is none."""
    if isinstance(value, str):  # the context that LightRAG gives a model
        blocks = _BLOCK.findall(value)
        lines = "\n".join(blocks).splitlines()
        return _of_json_lines(lines) if blocks else None
    if hasattr(value, "columns") and hasattr(value, "to_dict"):  # of pandas
        return value.to_dict("records")  # type: ignore[no-any-return]
    if isinstance(value, Mapping):
        lists = [_list_items(value[key]) for key in _LISTS if key in value]
        known = [items for items in lists if items is not None]
        if not known and _REPORTS in value:
            return _list_items(value[_REPORTS])
        return chain.from_iterable(known) if known else None
    return value if isinstance(value, Iterable) and not isinstance(value, bytes) else None


def _of_json_lines(lines: Iterable[str]) -> list[dict[str, Any]]:
    """Return the chunks and entities among lines of JSON; relations are drawn from the graph."""
    found = []
    for line in lines:
        with suppress(ValueError):  # a line of an entity's description
            item = json.loads(line)
            if isinstance(item, dict) and item.keys() & {"content", "entity"}:
                found.append(item)
    return found


def _take_fields(item: Any) -> dict[str, Any]:
    """Return text, id, score and name of a result in any of its forms, unchecked."""
    if isinstance(item, tuple) and len(item) == 2:
        return _take_fields(item[0]) | {"score": item[1]}
    if hasattr(item, "page_content"):  # of LangChain
        metadata = dict(item.metadata)
        return {"text": item.page_content, "id": metadata.get("id") or item.id,
                "score": metadata.get("score")}
    if hasattr(item, "node"):  # of LlamaIndex
        return {"text": item.node.get_content(), "score": item.score,
                "id": item.node.metadata.get("id") or item.node.node_id}
    if not isinstance(item, Mapping):
        return {"text": item}
    fields = {}
    for field, keys in _FIELDS.items():
        fields[field] = next((item[key] for key in keys if item.get(key) is not None), None)
    return fields


def _read_result(item: Any, where: str) -> Result:
    fields = _take_fields(item)
    text, id, name = (fields.get(field) for field in ("text", "id", "name"))
    if any(part is not None and not isinstance(part, str) for part in (text, id, name)) \
            or not (text or id or name):
        raise RetrieverError(f"{where} has neither a text nor an id; give one of them as a string")
    if name and not text:
        return Result(name=storable(name[:LONGEST]))
    return Result(storable((text or "")[:LONGEST]), id or "", _read_score(fields.get("score"), where))


def _read_score(score: Any, where: str) -> float | None:
    if score is None:
        return None
    try:
        number = float(score)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise RetrieverError(f"{where} has a score that is not a finite number; leave it out, or "
                             "give a number")
    return number


def match_passage(result: Result, corpus: Corpus) -> int | None:
    """Return the place in `corpus.passages` of the passage that a result matches; None without one.

    They match by id, or else by the runs of words that they share.
    """
    graph, rows = corpus.graph, corpus.passages.rows
    row = graph.row.get(result.id, graph.row.get(node_id("passage", result.id)))
    place = int(np.searchsorted(rows, row)) if row is not None else len(rows)
    if place < len(rows) and rows[place] == row:
        return place
    return _match_text(result.text, corpus) if result.text else None


def _match_text(text: str, corpus: Corpus) -> int | None:
    """Return the place of the passage that shares most of a text, None below `OVERLAP`."""
    scores = corpus.passages.bm25.contributions(content_words(text)[:_ASKED]).sum(axis=1)
    likely = np.argsort(-scores, kind="stable")[:CANDIDATES]
    likely = likely[scores[likely] > 0]
    ids = dict(zip(corpus.graph.ids_of(corpus.passages.rows[likely].tolist()), likely.tolist(),
                   strict=True))
    best, place = 0.0, None
    for id, chunk in corpus.texts(list(ids)).items():
        share = measure_overlap(text, chunk.text)
        if share >= OVERLAP and share > best:
            best, place = share, ids[id]
    return place


def measure_overlap(text: str, passage: str) -> float:
    """Return the share of the shorter text's runs of `RUN` words that the other has too, in [0, 1].

    It is 0 if they have fewer than `LEAST` in common, unless those are all of the passage.
    """
    own, others = _list_runs(text), _list_runs(passage)
    shared = len(own & others)
    if shared < min(LEAST, len(others)):
        return 0.0
    return shared / min(len(own), len(others)) if shared else 0.0


def _list_runs(text: str) -> set[tuple[str, ...]]:
    found = words(text)
    return {tuple(found[i:i + RUN]) for i in range(max(min(1, len(found)), len(found) - RUN + 1))}
