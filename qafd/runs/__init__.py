"""Kept runs: everything needed to draw a retrieval again, with a note; nothing is recomputed."""

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from qafd.answer import Answer, where
from qafd.errors import StoreError
from qafd.flow.verify import seal
from qafd.graph import Graph
from qafd.reading.text.plaintext import one_line
from qafd.records import QueryPlan
from qafd.retrieve import METHODS
from qafd.retrieve.base import Retrieval, RetrievedNode, params_of
from qafd.runs.stored import plain_of, record_of
from qafd.storage import Workspace
from qafd.storage.rows import RunRow, now
from qafd.view.layout import Positions
from qafd.wording.answers import say_status

NOTE = 300  # characters
NAMING = 3  # sentences with a name


@dataclass(frozen=True)
class Quote:
    """A sentence that answered the question; `best` marks the one that answered most of it."""

    text: str
    title: str
    where: str
    best: bool = False


@dataclass(frozen=True, eq=False)
class Run:
    """A retrieval and all that it takes to draw it, check it and ask it again.

    Parameters
    ----------
    layout : mapping of id to (x, y)
        Where the nodes stood, see `qafd.view.layout.layout`; empty when nothing was drawn.
    quotes : tuple of Quote
        The answer in sentences of the documents; `absence` says why there is none.
    graph : str
        SHA-256 of the graph (`Store.digest`), "" when it had changed by the time of keeping.
    tokens : int
        Of the retrieved nodes.
    made_at : str
        ISO 8601, UTC.
    id : str
        Its name in the workspace that keeps it, else "".
    """

    retrieval: Retrieval
    plan: QueryPlan
    layout: Positions
    quotes: tuple[Quote, ...]
    absence: str
    graph: str
    tokens: int
    made_at: str
    note: str = ""
    id: str = ""

    @property
    def retrieved(self) -> tuple[RetrievedNode, ...]:
        """The retrieved nodes, most important first."""
        return self.retrieval.retrieved

    @property
    def exact(self) -> bool | None:
        """Whether the diffusion was solved to its optimum; None without a certificate."""
        certificate = self.retrieval.certificate
        return None if certificate is None else bool(certificate["optimal"])

    def naming(self, name: str) -> tuple[Quote, ...]:
        """The first sentences of the run's own passages that have a name in them, the best passages first."""
        word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.I)
        found: list[Quote] = []
        for passage in self.retrieval.passages:
            for sentence in re.split(r"(?<=[.!?])\s+|\n+", passage.text):
                if word.search(sentence):
                    found.append(Quote(sentence, passage.title, where(passage)))
        return tuple(found[:NAMING])

    def missing_from(self, graph: Graph) -> tuple[RetrievedNode, ...]:
        """The retrieved nodes that a graph does not have (any more)."""
        return tuple(n for n in self.retrieved if n.id not in graph.row)


class KeptRun(RunRow):
    """A row of the history."""

    @property
    def changed(self) -> dict[str, Any]:
        """What `changed` tells of its parameters."""
        return changed(self.method, self.params)


def changed(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """The mass, and all other parameters that are not the method's defaults."""
    usual = params_of(METHODS[method]()) if method in METHODS else {}
    return {name: value for name, value in params.items()
            if name == "mass" or value != usual.get(name)}


def run_of(store: Workspace, graph: Graph, retrieval: Retrieval, plan: QueryPlan, answer: Answer,
           layout: Positions | None, note: str) -> Run:
    """The run of a retrieval that was just made on `graph`, with the digest that `verify` checks.

    Hashes the graph: about 0.1 s of processor time per thousand nodes.
    """
    sources = {citation.number: citation for citation in answer.citations}
    quotes = tuple(Quote(s.line, sources[s.citation].title, sources[s.citation].where, s.best)
                   for s in answer.sentences)
    same = store.graph.version == retrieval.made_by.workspace
    if retrieval.certificate is not None:
        retrieval = replace(retrieval, certificate=seal(retrieval.to_dict())["certificate"])
    tokens = sum(int(graph.tokens[graph.row[n.id]]) for n in retrieval.retrieved if n.id in graph.row)
    return Run(retrieval, plan, layout or {}, quotes, say_status(answer),
               store.graph.digest() if same else "", tokens, now(), one_line(note, NOTE))


def keep(store: Workspace, run: Run) -> str:
    """Put a run into the history of the workspace, wherever it was made; returns its id."""
    retrieval = run.retrieval
    key = secrets.token_hex(6)
    row = RunRow(key, now(), retrieval.query, retrieval.method, retrieval.params, retrieval.revision,
                 len(run.retrieved), run.tokens, run.exact, one_line(run.note, NOTE))
    store.runs.save(row, plain_of(run) | {"retrieval": retrieval.to_dict()})
    return key


def kept(store: Workspace) -> tuple[KeptRun, ...]:
    """The history, newest first."""
    return tuple(KeptRun(**vars(row)) for row in store.runs.history())


def load(store: Workspace, key: str) -> Run:
    """A kept run by its id, or the beginning of it.

    Raises
    ------
    StoreError
        No run, or more than one, begins so; or its bytes have changed.
    """
    key, note = _found(store, key)
    body = store.runs.load(key)
    run: Run = record_of(Run, {**body, "note": note, "id": key}, "the run")
    return run


def annotate(store: Workspace, key: str, note: str) -> None:
    """Give a run another note; raises StoreError as `load` does."""
    store.runs.annotate(_found(store, key)[0], one_line(note, NOTE))


def delete(store: Workspace, keys: Sequence[str]) -> None:
    """Take runs out of the history; `undo` brings back those of the last call, no others."""
    store.runs.delete([_found(store, key)[0] for key in keys])


def _found(store: Workspace, key: str) -> tuple[str, str]:
    """Id and note of the one run whose id begins so."""
    found = store.runs.notes(key) if key else {}
    if not found:
        raise StoreError(f"There is no kept run {key[:40]!r} in {store.place.name}; 'qafd "
                         "runs' lists them.")
    if len(found) > 1:
        raise StoreError(f"More than one run begins with {key[:40]!r}; give more of its id.")
    return next(iter(found.items()))
