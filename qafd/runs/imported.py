"""Retrievals of other systems as saved runs: imported, asked again as a method, marked with what answers."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from qafd.errors import ParameterError
from qafd.evaluate.collection import save_questions, saved_questions
from qafd.evaluate.gold import Question
from qafd.explain import Explanation
from qafd.explain.paths import ReasoningPath, row_name
from qafd.ingest.engine import Progress
from qafd.knowledge import KnowledgeGraph
from qafd.reading.text.plaintext import one_line
from qafd.reasons import NoticeKind, ReasonKind
from qafd.retrieve.base import Retrieval, Retriever
from qafd.retrieve.external import External, ForeignMethod, RetrieverError, read_results
from qafd.retrieve.methods import is_method, read_methods
from qafd.retrieve.recorded import RecordedResults, RecordedRetrieval, Recording, read_recording
from qafd.runs import Quote, Run, delete_runs, list_runs, save_run
from qafd.runs.file import read_run
from qafd.storage import Workspace
from qafd.storage.rows import RunRow, now
from qafd.time_left import ignore_progress

FIRST = 5  # passages by which two methods agree
AGREEMENT = "agreement"  # parameter of an imported run: Jaccard index of both methods' first passages
_PLACED = re.compile(r"\s*([\w][\w .-]*?)\s*=\s*(.+)", re.DOTALL)


@dataclass(frozen=True)
class Imported:
    """The imported runs; `unmatched` of their `results` match nothing in this workspace."""

    ids: tuple[str, ...]
    results: int
    unmatched: int
    left_out: tuple[str, ...] = ()


def add_file(knowledge: KnowledgeGraph, data: bytes, name: str,
             progress: Callable[[Progress], None] = ignore_progress) -> Imported:
    """Save the run of a JSON file, or the retrievals that another system, `name`, recorded in it.

    Raises
    ------
    ParseError
        It is neither.
    ParameterError
        As `import_recording`.
    """
    if not data.lstrip().startswith(b"{") or b'"nodes"' not in data or b'"method"' not in data:
        return import_recording(knowledge, read_recording(data, "The file"), name, progress)
    with knowledge.store() as store:
        return Imported((save_run(store, read_run(data)),), 0, 0)


def import_recording(knowledge: KnowledgeGraph, recording: Recording, name: str,
                     progress: Callable[[Progress], None] = ignore_progress) -> Imported:
    """Save each retrieval of a recording as a run of the method `name`, next to the flow's own passages.

    A run of the same method and question is replaced. One that cannot be read is left out with a
    sentence, and the others are saved.

    Raises
    ------
    ParameterError
        The name is one of a method of this program, or no name.
    """
    if is_method(name):
        raise ParameterError(f"{name} is a method of this program; give your retriever another name")
    ForeignMethod(name, str)  # its name is checked before anything is saved
    by_question = {one_line(each.question): each for each in recording.found}
    ids, left_out, results, unmatched = [], list(recording.left_out), 0, 0
    with knowledge.store() as store:
        older = [row.id for row in _runs_of(store, name) if one_line(row.question) in by_question]
        for place, recorded in enumerate(by_question.values()):
            progress(Progress("importing", place, len(by_question), recorded.question))
            try:
                run = _build_run(knowledge, recorded, name)
            except RetrieverError as error:
                left_out.append(str(error))
                continue
            ids.append(save_run(store, run))
            results += len(read_results(recorded.results, name))
            for notice in run.retrieval.notices:
                if notice.kind == NoticeKind.FOREIGN_UNMATCHED:
                    unmatched += int(cast("int", notice.values["count"]))
        if older:
            delete_runs(store, older)
    progress(Progress("importing", len(by_question), len(by_question)))
    return Imported(tuple(ids), results, unmatched, tuple(left_out))


def _build_run(knowledge: KnowledgeGraph, recorded: RecordedRetrieval, name: str) -> Run:
    graph = knowledge.graph
    plan = knowledge.plan(recorded.question, graph)
    found = knowledge.retrieve(plan, cast("Retriever", ForeignMethod(name, lambda _: recorded.results)),
                               graph=graph)
    flow = knowledge.retrieve(plan, graph=graph)
    found = replace(found, params={AGREEMENT: round(measure_agreement(found, flow), 2)})
    tokens = sum(int(graph.tokens[graph.row[node.id]]) for node in found.retrieved)
    quotes = (Quote(recorded.answer, name, "as recorded"),) if recorded.answer else ()
    return Run(found, {}, quotes, "", plan.planner, "", tokens, recorded.at or now())


def measure_agreement(one: Retrieval, other: Retrieval) -> float:
    """Return the Jaccard index of the first passages of two retrievals, in [0, 1]."""
    first = {passage.id for passage in one.passages[:FIRST]}
    second = {passage.id for passage in other.passages[:FIRST]}
    return len(first & second) / max(len(first | second), 1)


@dataclass(frozen=True)
class NodeComparison:
    """A node by a retriever from outside and by the flow.

    `place` is its rank among the results of `retriever`, None if it is none of them; `mentioned` means
    that it is only named in the passage of that rank. `path` is the way on which most of its mass came,
    None if the flow does not retrieve it.
    """

    retriever: str
    node: str
    place: int | None
    mentioned: bool
    path: ReasoningPath | None


def compare_node(explanation: Explanation, node: str, theirs: Retrieval) -> NodeComparison:
    """Compare what a retriever from outside and the flow make of a node, by name or id."""
    graph = explanation.graph
    row = explanation.find(node)
    own = theirs.node(graph.ids[row])
    place = None if own is None else cast("int", own.reason.values["place"])
    mentioned = own is not None and own.reason.kind == ReasonKind.MENTIONED_BY
    ways = explanation.why(node).ways.paths if explanation.is_retrieved(node) else ()
    return NodeComparison(theirs.method, row_name(graph, row), place, mentioned, next(iter(ways), None))


def _runs_of(store: Workspace, name: str) -> list[RunRow]:
    return [row for row in list_runs(store) if row.method == name]


def list_foreign(knowledge: KnowledgeGraph) -> dict[str, Retriever]:
    """Return the retrievers from outside that have runs in a workspace, by name."""
    with knowledge.store() as store:
        rows = [row for row in list_runs(store) if not is_method(row.method)]
    newest: dict[str, str] = {}
    for row in rows:
        newest.setdefault(row.method, row.id)
    return {name: cast("Retriever", ForeignMethod(name, SavedResults(knowledge.url, name, run, len(rows))))
            for name, run in newest.items()}


@dataclass(frozen=True)
class SavedResults:
    """A retriever that returns what the runs of a workspace by one method have; `newest` of `count` runs."""

    url: str
    name: str
    newest: str
    count: int

    def __call__(self, question: str) -> list[dict[str, Any]]:
        """Return the passages and entities of the run of a question."""
        key = _find_keys(self).get(one_line(question))
        if key is None:
            raise RetrieverError(f"no run of {self.name} has the question {one_line(question, 80)!r}; "
                                 "import one on the page Runs")
        with KnowledgeGraph(self.url).store() as store:
            found = store.runs.load(key)["retrieval"]  # its own values need no second check
        results = [{"id": each["id"], "score": each["score"]} for each in found["passages"]]
        for notice in found["notices"]:
            if notice["kind"] == NoticeKind.FOREIGN_UNMATCHED:
                results += [{"id": text} for text in notice["values"]["results"]]
        results += [{"entity": node["name"]} for node in found["nodes"]
                    if node["kind"] == "entity" and node["reason"]["kind"] == ReasonKind.FOREIGN]
        return results


@lru_cache(8)
def _find_keys(saved: SavedResults) -> dict[str, str]:
    """Return the id of the newest run of each question, once for many questions."""
    with KnowledgeGraph(saved.url).store() as store:
        return {one_line(row.question): row.id for row in reversed(_runs_of(store, saved.name))}


def open_place(place: str) -> Any:
    """Return the retriever at an address, or of the results in a file."""
    return External(place) if "://" in place else RecordedResults(Path(place))


def refuse_place(place: str) -> Any:
    """Raise ParameterError: a page does not read files or call addresses that its visitors name."""
    raise ParameterError(f"{place[:60]!r} cannot be asked from this page; import its results on the page "
                         "Runs, or use 'qafd eval retrieval' and 'qafd compare'")


def read_columns(knowledge: KnowledgeGraph, specs: str | Iterable[str],
                 open_at: Callable[[str], Any] = open_place) -> dict[str, Retriever]:
    """Return methods by name, as `read_methods` reads them, and retrievers from outside among them.

    Such a one is NAME=FILE, NAME=http://..., or the NAME of imported runs.

    Raises
    ------
    ParameterError
        There is no such method, or a retriever cannot be opened.
    """
    parts = re.split(r",(?![^()]*\))", specs) if isinstance(specs, str) else list(specs)
    foreign = list_foreign(knowledge)
    columns: dict[str, Retriever] = {}
    for part in parts:
        placed = _PLACED.fullmatch(part)
        if placed and is_method(placed[1]):
            raise ParameterError(f"{placed[1]} is a method of this program; give your retriever another name")
        if placed:
            columns[placed[1]] = cast("Retriever", ForeignMethod(placed[1], open_at(placed[2].strip())))
        elif part.strip() in foreign:
            columns[part.strip()] = foreign[part.strip()]
        else:
            columns |= read_methods(part, knowledge.graph)
    return columns


def mark_answer(knowledge: KnowledgeGraph, question: str, name: str) -> None:
    """Mark what answers a question, or take the mark back.

    Marks are the gold of the questions that Evaluate measures with: `name` is that of a document, or of
    a passage (`qafd.evaluate.collection.name_passage`).
    """
    saved = list(saved_questions(knowledge))
    places = [place for place, each in enumerate(saved) if one_line(each.text) == one_line(question)]
    if not places:
        numbers = (int(each.id) for each in saved if each.id.isdecimal())
        saved.append(Question(str(max(numbers, default=0) + 1), question, (name,)))
        save_questions(knowledge, saved)
        return
    own = saved[places[0]]
    others = tuple(each for each in own.gold if each != name)
    gold = others if name in own.gold else (*own.gold, name)
    saved[places[0]] = replace(own, gold=gold)
    save_questions(knowledge, [each for each in saved if each.gold])


def read_marks(knowledge: KnowledgeGraph) -> dict[str, tuple[str, ...]]:
    """Return the passages and documents that answer each marked question, by the question on one line."""
    return {one_line(each.text): each.gold for each in saved_questions(knowledge)}


def put_disagreements_first(rows: Sequence[RunRow], marked: Iterable[str]) -> tuple[RunRow, ...]:
    """Order runs: imported ones without a mark by agreement with the flow, least first, then the others."""
    known = frozenset(marked)

    def key(row: RunRow) -> tuple[bool, float]:
        waits = AGREEMENT in row.params and one_line(row.question) not in known
        return not waits, float(row.params[AGREEMENT]) if waits else 0.0

    return tuple(sorted(rows, key=key))
