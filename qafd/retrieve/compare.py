"""Several methods on one question: what each found, what they share, and who left out what."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from qafd.clause import clause, gist, ranks
from qafd.errors import ParameterError, QafdError
from qafd.graph import Graph
from qafd.records import Floats
from qafd.retrieve.base import SATURATED, WET, Retrieval, RetrievedNode, Retriever
from qafd.retrieve.methods import canonical, label_of, method_of, name_of
from qafd.retrieve.rank import within_budget

DEFAULT = ("qafd", "community", "ego", "flow_path")
FEWEST, MOST = 2, 6
BUDGET = 1200  # tokens of passages per method
AT_ONCE = 60  # passages up to which missing layers are built without asking
TEXTS = ("passage", "sentence", "summary")  # kinds of nodes that are not things
NAMED = 3  # nodes that a sentence names


@dataclass(frozen=True)
class Column:
    """One method's side: its retrieval with the passages that fit the budget, or why it failed.

    `name` is unique in the comparison; `tokens` are those of the passages.
    """

    name: str
    label: str
    retrieval: Retrieval | None = None
    tokens: int = 0
    error: str = ""

    @property
    def found(self) -> tuple[RetrievedNode, ...]:
        """The retrieved nodes that are not texts, most important first."""
        return tuple(n for n in self.retrieval.nodes
                     if n.state == SATURATED and n.kind not in TEXTS) if self.retrieval else ()

    @property
    def causes(self) -> tuple[tuple[str, str, str], ...]:
        """Id, name and cause of each passage, best first; its rank when nothing else brings it."""
        if self.retrieval is None:
            return ()
        cause = {n.id: n.cause for n in self.retrieval.nodes}
        return tuple((p.id, p.title, cause.get(p.id) or ranks(place, "among its passages"))
                     for place, p in enumerate(self.retrieval.passages, 1))

    def ranked(self, of: str) -> tuple[str, ...]:
        """Ids of what was found, best first; `of` is "nodes" or "passages"."""
        if of == "nodes":
            return tuple(n.id for n in self.found)
        return tuple(p.id for p in self.retrieval.passages) if self.retrieval else ()


@dataclass(frozen=True)
class Difference:
    """Nodes that `finder` brings for one cause and `other` leaves out, and a sentence on them."""

    finder: str
    other: str
    nodes: tuple[str, ...]
    because: str
    sentence: str


@dataclass(frozen=True)
class Comparison:
    """The answers of two to six methods to one question, under one token budget."""

    question: str
    budget: int
    columns: tuple[Column, ...]

    @property
    def retrievals(self) -> dict[str, Retrieval]:
        """The retrievals of the methods that did not fail, by name of their column."""
        return {c.name: c.retrieval for c in self.columns if c.retrieval is not None}

    def overlap(self, of: str = "nodes") -> Floats:
        """Jaccard index |A and B| / |A or B| of every two columns, shape (k, k), in [0, 1].

        `of` is "nodes" (those that are not texts) or "passages" (within the budget). Two
        columns without any have 0 in common, also with themselves; the row and the column of a
        method that failed are NaN.
        """
        sets = [set(column.ranked(of)) for column in self.columns]
        shares = np.array([[len(a & b) / max(len(a | b), 1) for b in sets] for a in sets])
        failed = [column.retrieval is None for column in self.columns]
        shares[failed], shares[:, failed] = np.nan, np.nan
        return shares

    def only(self, of: str = "nodes") -> dict[str, tuple[str, ...]]:
        """What only one method found, by name of its column; ids, best first."""
        every = [i for column in self.columns for i in column.ranked(of)]
        return {column.name: tuple(i for i in column.ranked(of) if every.count(i) == 1)
                for column in self.columns}

    def differences(self) -> tuple[Difference, ...]:
        """The first column against each other one, both ways, in words.

        Of all nodes that only one of the two found, a sentence names the largest group with one
        cause, in the words of the method that brings it; others are counted. Where one of them
        brings passages alone, passages are compared, unless they are the same.
        """
        worked = [column for column in self.columns if column.retrieval is not None]
        pairs = [pair for other in worked[1:]
                 for pair in ((other, worked[0]), (worked[0], other))]
        return tuple(d for finder, other in pairs if (d := _difference(finder, other)))

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain JSON values; overlaps of what failed are null."""
        return {
            "question": self.question, "budget": self.budget,
            "columns": [{"name": c.name, "label": c.label, "tokens": c.tokens, "error": c.error,
                         "retrieval": c.retrieval and c.retrieval.to_dict()}
                        for c in self.columns],
            "overlap": {of: [[None if np.isnan(share) else share for share in row]
                             for row in self.overlap(of).tolist()] for of in ("nodes", "passages")},
            "only": {of: self.only(of) for of in ("nodes", "passages")},
            "differences": [asdict(d) for d in self.differences()]}


def chosen(methods: Iterable[str | Retriever], graph: Graph) -> dict[str, tuple[str, Retriever]]:
    """Label and method per column; names are fitted to the graph, configured methods kept.

    Raises
    ------
    ParameterError
        When a method is not known, or there are fewer than two or more than six.
    """
    columns: dict[str, tuple[str, Retriever]] = {}
    for method in methods:
        if isinstance(method, str):
            name = canonical(method)
            columns[name] = label_of(name), method_of(name).fitted(graph)
        else:
            key = name_of(method)
            name = next(n for n in (key, *(f"{key}-{i}" for i in range(2, 99)))
                        if n not in columns)
            columns[name] = _told(method), method
    if not FEWEST <= len(columns) <= MOST:
        raise ParameterError(f"{len(columns)} different method{'s' * (len(columns) != 1)} cannot "
                             f"be compared; choose {FEWEST} to {MOST}")
    return columns


def _told(method: Any) -> str:
    """The label of a configured method with what differs from its defaults."""
    changed = [f"{f.name} {getattr(method, f.name)}" for f in fields(method)
               if getattr(method, f.name) != f.default]
    return ": ".join(filter(None, [method.label, ", ".join(changed)]))


def make_column(name: str, label: str, retrieve: Callable[[], Retrieval], graph: Graph,
                budget: int) -> Column:
    """One column; an error that the user can mend becomes its sentence.

    Its passages are those `qafd.retrieve.rank.within_budget`.
    """
    if budget < 1:
        raise ParameterError(f"the token budget is {budget}; it is at least 1")
    try:
        retrieval = retrieve()
    except QafdError as error:
        return Column(name, label, error=str(error))
    tokens = [int(graph.tokens[graph.row[p.id]]) for p in retrieval.passages]
    kept = within_budget(retrieval.passages, tokens, budget)
    return Column(name, label, replace(retrieval, passages=kept), sum(tokens[:len(kept)]))


def listed(names: Sequence[str], most: int = NAMED) -> str:
    """The names as one phrase: "Fuji and Gala", "Fuji, Gala, Cox and 4 more"; never "1 more"."""
    kept = names if len(names) == most + 1 else names[:most]
    rest = len(names) - len(kept)
    parts = [*kept, *([f"{rest} more"] if rest else [])]
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def _difference(finder: Column, other: Column) -> Difference | None:
    there = {*other.ranked("nodes"), *other.ranked("passages")}
    named = [(n.id, n.name, n.cause) for n in finder.found if n.id not in there]
    passages = [some for some in finder.causes if some[0] not in there]
    texts = bool(passages) and not (finder.found and other.found) and bool(other.ranked("passages"))
    extra = passages if texts else named
    if not extra:
        return None
    groups: dict[str, list[tuple[str, str, str]]] = {}
    for some in extra:
        groups.setdefault(gist(some[2]), []).append(some)
    # The first of the largest: it holds the more important nodes.
    ids, names, causes = zip(*max(groups.values(), key=len), strict=True)
    touched = {n.id for n in other.retrieval.nodes if n.state == WET} if other.retrieval else set()
    verb = "only touches" if not texts and touched.issuperset(ids) else "leaves out"
    noun = f"the passage{'s' * (len(ids) > 1)} " if texts else ""
    because = clause(causes)
    sentence = (f"{other.label} {verb} {noun}{listed(names)}; {finder.label} brings "
                f"{'them' if len(ids) > 1 else 'it'} because {because.rstrip('.')}.")
    rest = len(extra) - len(ids)
    if rest:
        sentence += f" It brings {rest} other{'s' * (rest != 1)} too."
    return Difference(finder.name, other.name, ids, because, sentence)
