"""A retriever from outside as a method: its results are mapped to the passages of a workspace."""

import json
import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

import httpx2
import numpy as np

from qafd.errors import ParameterError, QafdError
from qafd.models.address import destinations
from qafd.models.wire import CallLimits, bounded_client
from qafd.reading.text.bm25 import content_words, words
from qafd.reading.text.plaintext import one_line, storable
from qafd.reasons import NoticeKind, Reason, ReasonKind, notice, reason
from qafd.records import Chunk, QueryPlan, node_id
from qafd.retrieve.base import Corpus, Retrieval
from qafd.retrieve.by_score import retrieve_by_score

OVERLAP = 0.5  # share of the shorter text's runs of words that a passage and a result have in common
RUN = 3  # words in a row
CANDIDATES = 8  # passages that one result is compared with, by BM25 of its words
MOST = 200  # results of one question
LONGEST = 20_000  # characters of one result
MOST_BYTES = 10_000_000
SECONDS = 30.0
_ASKED = 60  # words of a result by which candidates are found

TextsOf = Callable[[Iterable[str]], Mapping[str, Chunk]]
"""Node ids of passages to the passages."""


class RetrieverError(QafdError):
    """A retriever from outside failed, or gave results that cannot be read."""


@dataclass(frozen=True)
class Result:
    """One result of a retriever from outside; it has an id, a text, or both."""

    text: str = ""
    id: str = ""
    score: float | None = None


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
            raise ParameterError(f"{self.url[:80]!r} is no address of a search service; write it as "
                                 "https://host/search")

    def __call__(self, question: str) -> Any:
        """Ask the service one question; returns the JSON value that it answers with."""
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
            raise RetrieverError(f"{self.url} {broken or 'cannot be asked'} "
                                 f"({limits.refused or error or type(error).__name__}); check that "
                                 "the service runs") from error
        except (ValueError, RecursionError) as error:
            raise RetrieverError(f"{self.url} answered with something that is not JSON; it should "
                                 'answer {"results": [{"text": "...", "score": 1.0}]}') from error


class RecordedResults:
    """The results of a file of JSON lines, {"question": "...", "results": [...]} each."""

    def __init__(self, file: Path) -> None:
        self.file = file
        try:
            rows = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
            self._results = {row["question"]: row["results"] for row in rows}
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            raise ParameterError(f"{file} cannot be read as results ({error!r}); each line is "
                                 '{"question": "...", "results": [{"text": "..."}]}') from error

    def __call__(self, question: str) -> Any:
        """Return the results of a question of the file."""
        if question not in self._results:
            raise RetrieverError(f"{self.file} has no results for {one_line(question, 80)!r}; it "
                                 f"has {len(self._results):,} other questions")
        return self._results[question]


class ForeignMethod:
    """A retriever from outside as a method of a comparison.

    Results are matched by id (of a passage or its node), else by text: with the passage that shares
    most runs of three words, if that is at least half of those of the shorter text. Scores order the
    results where all have one; a result without a score counts 1 / place.

    Parameters
    ----------
    name : str
        Of its column.
    retriever : object
        A callable, a LangChain retriever (`invoke`), a LlamaIndex retriever (`retrieve`), or
        `External`. It takes a question and returns texts, (text, score) pairs, mappings with "text",
        "id" and "score", LangChain documents or LlamaIndex nodes.
    texts_of : callable
    """

    idea: ClassVar[str] = "a retriever from outside; its results are matched with the passages"
    source: ClassVar[str] = "your own"
    needs: ClassVar[tuple[str, ...]] = ()

    def __init__(self, name: str, retriever: Any, texts_of: TextsOf) -> None:
        if not re.fullmatch(r"[\w][\w .-]{0,39}", name):
            raise ParameterError(f"{name[:60]!r} cannot name a retriever; use at most 40 letters, "
                                 "digits, spaces, dots and hyphens")
        self._ask = _find_call(retriever)
        self.name = self.label = name
        self._texts_of = texts_of

    def fit_to(self, _: object) -> "ForeignMethod":
        """Return the method itself."""
        return self

    def retrieve(self, corpus: Corpus, plan: QueryPlan) -> Retrieval:
        """Ask the retriever, and return the passages that its results are.

        Raises
        ------
        RetrieverError
            It failed, or returned something that is not a list of results.
        """
        started = time.perf_counter()
        results = self._ask_once(plan.question)
        places, unmatched = match_results(results, corpus, self._texts_of)
        scores = np.full(len(corpus.passages.rows), -np.inf)
        ordered = [result.score for result in results if result.score is not None]
        scored = len(ordered) == len(results)
        for number, (result, place) in enumerate(zip(results, places, strict=True), 1):
            if place is not None:
                score = result.score if scored and result.score is not None else 1 / number
                scores[place] = max(scores[place], score)

        def because(place: int) -> Reason:
            return reason(ReasonKind.FOREIGN, name=self.name, score=float(scores[place]))

        limits = _Limits(max(1, len(results)), max(1, len(results)))
        found = retrieve_by_score(limits, self.name, corpus, plan, scores, because, started)
        notices = []
        if not results:
            notices.append(notice(NoticeKind.FOREIGN_EMPTY, name=self.name))
        if unmatched:
            shown = [one_line(result.text or result.id, 60) for result in unmatched[:3]]
            notices.append(notice(NoticeKind.FOREIGN_UNMATCHED, name=self.name, words=tuple(shown),
                                  count=len(unmatched), total=len(results), share=OVERLAP))
        return replace(found, params=asdict(limits), notices=tuple(notices))

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

    Raises
    ------
    RetrieverError
        It is not a list of results, or one has neither id nor text, or a score that is no number.
    """
    if isinstance(value, Mapping):
        value = value.get("results")
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise RetrieverError(f"{name} returned no list of results but {type(value).__name__}; "
                             "return texts, or mappings with text, id and score")
    results: list[Result] = []
    for item in value:
        if len(results) == MOST:
            raise RetrieverError(f"{name} returned more than {MOST} results; return fewer")
        results.append(_read_result(item, name, len(results) + 1))
    if all(result.score is not None for result in results):
        results.sort(key=lambda result: -(result.score or 0.0))
    return results


def _read_result(item: Any, name: str, number: int) -> Result:
    text, id, score = item, None, None
    if isinstance(item, Mapping):
        text, id, score = (item.get(key) for key in ("text", "id", "score"))
    elif isinstance(item, tuple) and len(item) == 2:
        text, score = item
    elif hasattr(item, "page_content"):  # of LangChain
        text, metadata = item.page_content, dict(item.metadata)
        id, score = metadata.get("id") or item.id, metadata.get("score")
    elif hasattr(item, "node"):  # of LlamaIndex
        text, score = item.node.get_content(), item.score
        id = item.node.metadata.get("id") or item.node.node_id
    where = f"result {number} of {name}"
    if not all(part is None or isinstance(part, str) for part in (text, id)) or not (text or id):
        raise RetrieverError(f"{where} has neither a text nor an id; give one of them as a string")
    if score is not None:
        try:
            score = float(score)
        except (TypeError, ValueError, OverflowError):
            score = math.nan
        if not math.isfinite(score):
            raise RetrieverError(f"{where} has a score that is not a finite number; leave it out, or "
                                 "give a number")
    return Result(storable((text or "")[:LONGEST]), id or "", score)


def match_results(results: Sequence[Result], corpus: Corpus, texts_of: TextsOf
                  ) -> tuple[list[int | None], list[Result]]:
    """Match results with passages: by id, else by the runs of words that they share.

    Returns the place of each result among `corpus.passages`, None where no passage is it, and the
    results that are none.
    """
    graph, rows = corpus.graph, corpus.passages.rows
    places: list[int | None] = []
    for result in results:
        row = graph.row.get(result.id, graph.row.get(node_id("passage", result.id)))
        at = int(np.searchsorted(rows, row)) if row is not None else len(rows)
        if at < len(rows) and rows[at] == row:
            places.append(at)
        else:
            places.append(_match_text(result.text, corpus, texts_of) if result.text else None)
    return places, [result for result, place in zip(results, places, strict=True) if place is None]


def _match_text(text: str, corpus: Corpus, texts_of: TextsOf) -> int | None:
    """Return the place of the passage that shares most of a text, None below `OVERLAP`."""
    scores = corpus.passages.bm25.contributions(content_words(text)[:_ASKED]).sum(axis=1)
    likely = np.argsort(-scores, kind="stable")[:CANDIDATES]
    likely = likely[scores[likely] > 0]
    ids = dict(zip(corpus.graph.ids_of(corpus.passages.rows[likely].tolist()), likely.tolist(),
                   strict=True))
    best, place = 0.0, None
    for id, chunk in texts_of(list(ids)).items():
        share = measure_overlap(text, chunk.text)
        if share >= OVERLAP and share > best:
            best, place = share, ids[id]
    return place


def measure_overlap(text: str, other: str) -> float:
    """Return the share of the shorter text's runs of `RUN` words that the other has too, in [0, 1]."""
    runs = [{tuple(each[i:i + RUN]) for i in range(max(1, len(each) - RUN + 1))}
            for each in (words(text), words(other))]
    shorter = min(map(len, runs))
    return len(runs[0] & runs[1]) / shorter if shorter else 0.0
