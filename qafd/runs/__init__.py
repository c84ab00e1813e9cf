"""Saved runs: the retrieval of a question with all that is needed to draw and check it again."""

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from qafd.answer import Answer, where
from qafd.errors import StoreError
from qafd.graph import Graph
from qafd.reading.text.plaintext import one_line
from qafd.retrieve import METHODS
from qafd.retrieve.base import Retrieval, RetrievedNode, params_of
from qafd.runs.stored import plain_of, record_of
from qafd.runs.verify import seal
from qafd.storage import Workspace
from qafd.storage.rows import RunRow, now
from qafd.view.layout import Positions
from qafd.wording.answers import say_status

NOTE = 300  # characters
NAMING = 3  # sentences with a name


@dataclass(frozen=True)
class Quote:
    """A sentence that answers the question; `best` marks the best one."""

    text: str
    title: str
    where: str
    best: bool = False


@dataclass(frozen=True, eq=False)
class Run:
    """A retrieval with all that is needed to draw it, check it and ask it again.

    Parameters
    ----------
    layout : mapping of id to (x, y)
        Positions of the nodes in the picture; empty if nothing was drawn.
    quotes : tuple of Quote
        The answer in sentences of the documents; `absence` states why there is none.
    planner : str
        The model or rules that read the question.
    graph : str
        SHA-256 of the graph (`Store.digest`), "" if it had changed before the run was saved.
    tokens : int
        Tokens of the retrieved nodes.
    made_at : str
        ISO 8601, UTC.
    id : str
        Its id in the workspace that holds it, else "".
    """

    retrieval: Retrieval
    layout: Positions
    quotes: tuple[Quote, ...] = ()
    absence: str = ""
    planner: str = ""
    graph: str = ""
    tokens: int = 0
    made_at: str = ""
    note: str = ""
    id: str = ""

    @property
    def retrieved(self) -> tuple[RetrievedNode, ...]:
        """The retrieved nodes, most important first."""
        return self.retrieval.retrieved

    @property
    def exact(self) -> bool | None:
        """True if the diffusion was solved to its optimum; None without a certificate."""
        certificate = self.retrieval.certificate
        return None if certificate is None else bool(certificate["optimal"])

    def quote_name(self, name: str) -> tuple[Quote, ...]:
        """Return the first sentences of the run's passages that contain a name, best passages first."""
        word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.I)
        quotes: list[Quote] = []
        for passage in self.retrieval.passages:
            for sentence in re.split(r"(?<=[.!?])\s+|\n+", passage.text):
                if word.search(sentence):
                    quotes.append(Quote(sentence, passage.title, where(passage)))
        return tuple(quotes[:NAMING])

    def missing_from(self, graph: Graph) -> tuple[RetrievedNode, ...]:
        """Return the retrieved nodes that a graph does not have."""
        return tuple(node for node in self.retrieved if node.id not in graph.row)


def changed_params(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mass, and all other parameters that differ from the method's defaults."""
    usual = params_of(METHODS[method]()) if method in METHODS else {}
    return {name: value for name, value in params.items()
            if name == "mass" or value != usual.get(name)}


def build_run(store: Workspace, graph: Graph, retrieval: Retrieval, planner: str, answer: Answer,
              layout: Positions | None, note: str) -> Run:
    """Build the run of a retrieval that was just made on `graph`, with the digest that `verify` checks.

    Hashes the graph: about 0.1 s of processor time per thousand nodes.
    """
    sources = {citation.number: citation for citation in answer.citations}
    quotes = tuple(Quote(s.line, sources[s.citation].title, sources[s.citation].where, s.best)
                   for s in answer.sentences)
    same = store.graph.version == retrieval.made_by.workspace
    tokens = sum(int(graph.tokens[graph.row[n.id]]) for n in retrieval.retrieved if n.id in graph.row)
    return Run(seal_retrieval(retrieval), layout or {}, quotes, say_status(answer), planner,
               store.graph.digest() if same else "", tokens, now(), one_line(note, NOTE))


def seal_retrieval(retrieval: Retrieval) -> Retrieval:
    """Return a retrieval whose certificate, if it has one, holds the digest of all its numbers."""
    if retrieval.certificate is None:
        return retrieval
    return replace(retrieval, certificate=seal(retrieval.to_dict())["certificate"])


def save_run(store: Workspace, run: Run) -> str:
    """Save a run in a workspace, wherever it was made, and return its id."""
    retrieval = run.retrieval
    key = secrets.token_hex(6)
    row = RunRow(key, now(), retrieval.query, retrieval.method, retrieval.params, retrieval.revision,
                 len(run.retrieved), run.tokens, run.exact, one_line(run.note, NOTE))
    store.runs.save(row, plain_of(run) | {"retrieval": retrieval.to_dict()})
    return key


def list_runs(store: Workspace) -> tuple[RunRow, ...]:
    """List the saved runs, newest first."""
    return tuple(store.runs.history())


def load_run(store: Workspace, key: str) -> Run:
    """Load a saved run by its id, or by the beginning of it.

    Raises
    ------
    StoreError
        No run, or more than one, begins so; or its bytes have changed.
    """
    key, note = _find(store, key)
    body = store.runs.load(key)
    run: Run = record_of(Run, {**body, "note": note, "id": key}, "the run")
    return run


def annotate_run(store: Workspace, key: str, note: str) -> None:
    """Replace the note of a run; raises StoreError as `load_run` does."""
    store.runs.annotate(_find(store, key)[0], one_line(note, NOTE))


def delete_runs(store: Workspace, keys: Sequence[str]) -> None:
    """Delete runs; `undo` restores those of the last call, no others."""
    store.runs.delete([_find(store, key)[0] for key in keys])


def _find(store: Workspace, key: str) -> tuple[str, str]:
    """Return the id and the note of the one run whose id begins with `key`."""
    notes = store.runs.notes(key) if key else {}
    if not notes:
        raise StoreError(f"There is no saved run {key[:40]!r} in {store.place.name}; 'qafd "
                         "runs' lists them.")
    if len(notes) > 1:
        raise StoreError(f"More than one run begins with {key[:40]!r}; give more of its id.")
    return next(iter(notes.items()))
