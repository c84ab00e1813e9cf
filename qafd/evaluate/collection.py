"""The collection of an evaluation: a workspace, its questions, and the documents of their gold."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path

from qafd.errors import ParameterError
from qafd.evaluate.gold import GoldPassage, Question, read_questions, to_jsonl
from qafd.ingest import index
from qafd.ingest.engine import Progress
from qafd.knowledge import KnowledgeGraph
from qafd.reading.text.plaintext import one_line
from qafd.reasons import Notice, NoticeKind, notice
from qafd.retrieve.base import RetrievedPassage
from qafd.storage import Location
from qafd.time_left import ignore_progress

PASSAGE = "¶"  # between a document's name and the beginning of a passage's id, as a name of gold
LISTED = 5  # names of a notice
BEGIN = 8  # characters of a passage's id
MOST_PASSAGES = 100_000  # of one document
ID = 80  # characters of a record's id that its document is named by


def saved_questions(knowledge: KnowledgeGraph) -> tuple[Question, ...]:
    """Return the questions kept in a workspace."""
    with knowledge.store() as store:
        kept = store.notes.get("gold")
    return read_questions(kept.encode()).questions if kept else ()


def save_questions(knowledge: KnowledgeGraph, questions: Iterable[Question]) -> None:
    """Keep questions in their workspace, instead of those that were there."""
    with knowledge.store() as store:
        store.notes.put("gold", to_jsonl(questions))


def collection(
    location: Location, name: str, passages: Sequence[GoldPassage], *,
    progress: Callable[[Progress], None] = ignore_progress, processes: int = 2,
) -> KnowledgeGraph:
    """Open a workspace of exactly these passages; one indexed from the same content is reused.

    Parameters
    ----------
    name : str
        Name of the file of passages in the workspace.

    Raises
    ------
    ParameterError
        The workspace holds other documents, or the indexing failed.
    """
    data = "".join(json.dumps(asdict(passage), ensure_ascii=False) + "\n" for passage in passages)
    knowledge = KnowledgeGraph.open(location)
    name = Path(name).with_suffix(".jsonl").name
    with knowledge.store() as store:
        others = [file.name for file in store.files.all()
                  if file.deleted_at is None and file.name != name]
    if others:
        raise ParameterError(f"{knowledge.place.written} holds {len(others)} other files, "
                             "which would compete with the passages; name a new file")
    index(location, [(name, data.encode("utf-8", "replace"))], progress=progress, processes=processes)
    with knowledge.store() as store:
        file = next(file for file in store.files.all() if file.name == name)
    if file.status != "done":
        raise ParameterError(f"the passages were not indexed ({file.error or file.status}); run the command "
                              "again to go on")
    return knowledge


def name_passage(passage: RetrievedPassage) -> str:
    """Return the name by which a passage can be the gold of a question."""
    return f"{passage.document}{PASSAGE}{passage.chunk[:BEGIN]}"


def gold_documents(
    knowledge: KnowledgeGraph, questions: Iterable[Question]
) -> tuple[dict[str, frozenset[str]], tuple[Notice, ...]]:
    """Return the documents of each gold name, and a notice of the names without one.

    A name is that of a document, the id of a record in its file, the name of a file or a title,
    in this order; a title or file that several documents have means any of them. The name of a
    passage (`name_passage`) means that passage alone, by its id.

    Raises
    ------
    ParameterError
        None of the names is known.
    """
    by_name: list[dict[str, set[str]]] = [defaultdict(set) for _ in range(5)]
    with knowledge.store() as store:
        for row in store.documents.all():
            if row.deleted_at is None:
                own = _line(row.name.removeprefix(f"{row.source}#"))
                keys = (_line(row.name), own, own, _line(row.source), _fold_name(row.title))
                for names, key in zip(by_name, keys, strict=True):
                    names[key].add(row.name)
        found: dict[str, frozenset[str]] = {}
        for name in chain.from_iterable(question.gold for question in questions):
            document, _, begin = name.rpartition(PASSAGE)
            if begin and document in by_name[0]:
                chunks = store.documents.passages(document, 1, MOST_PASSAGES)
                found[name] = frozenset(chunk.id for chunk in chunks if chunk.id.startswith(begin))
            else:
                found[name] = _documents_called(name, by_name)
    missing = [name for name, documents in found.items() if not documents]
    if len(missing) == len(found):
        raise ParameterError(f"this workspace has no gold document of these questions (the first is "
                             f"{one_line(missing[0], 80)!r}); name titles or documents that it has")
    if not missing:
        return found, ()
    listed = tuple(one_line(name, 80) for name in missing[:LISTED])
    return found, (notice(NoticeKind.GOLD_UNKNOWN, missing=len(missing), all=len(found), names=listed),)


def _documents_called(name: str, by_name: Sequence[dict[str, set[str]]]) -> frozenset[str]:
    line = _line(name)
    keys = (line, line, one_line(name, ID), line, _fold_name(name))
    for names, key in zip(by_name, keys, strict=True):
        if key in names:
            return frozenset(names[key])
    return frozenset()


def _line(name: str) -> str:
    """Return a name without the characters that parsers remove from names."""
    return one_line(name, 400)


def _fold_name(name: str) -> str:
    return one_line(name, 255).casefold()
