"""Several methods on one question: their finds, overlap and omissions."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from itertools import chain, product
from typing import Any

import numpy as np

from qafd.errors import ParameterError, QafdError
from qafd.graph import Graph
from qafd.reasons import Reason, ReasonKind, reason
from qafd.records import Floats
from qafd.retrieve.base import SATURATED, WET, Retrieval, RetrievedNode, Retriever
from qafd.retrieve.methods import canonical, label_of, method_of, name_of
from qafd.retrieve.rank import within_budget

DEFAULT = ("qafd", "community", "ego", "flow_path")
FEWEST, MOST = 2, 6
BUDGET = 1200  # tokens of passages per method
AT_ONCE = 60  # passages up to which missing layers are built without asking
TEXTS = ("passage", "sentence", "summary")  # kinds of nodes that are not things


@dataclass(frozen=True)
class Brought:
    """A node or passage that a method found, and why."""

    id: str
    name: str
    reason: Reason


@dataclass(frozen=True)
class ComparedMethod:
    """One method's side: its retrieval with the passages that fit the budget, or why it failed.

    `name` is unique in the comparison; `tokens` are those of the passages.
    """

    name: str
    label: str
    retrieval: Retrieval | None = None
    tokens: int = 0
    error: QafdError | None = None

    @property
    def found(self) -> tuple[RetrievedNode, ...]:
        """The retrieved nodes that are not texts, most important first."""
        return tuple(n for n in self.retrieval.nodes
                     if n.state == SATURATED and n.kind not in TEXTS) if self.retrieval else ()

    @property
    def brought_passages(self) -> tuple["Brought", ...]:
        """The passages, best first, each with its rank where no other reason is known."""
        if self.retrieval is None:
            return ()
        reasons = {n.id: n.reason for n in self.retrieval.nodes if n.reason.brings}
        return tuple(
            Brought(p.id, p.name, reasons.get(p.id, reason(ReasonKind.RANKED, place=place)))
            for place, p in enumerate(self.retrieval.passages, 1))

    def list_ids(self, of: str) -> tuple[str, ...]:
        """Return the ids of its finds, best first; `of` is "nodes" or "passages"."""
        if of == "nodes":
            return tuple(n.id for n in self.found)
        return tuple(p.id for p in self.retrieval.passages) if self.retrieval else ()


@dataclass(frozen=True)
class MissedGroup:
    """The nodes that `finder` retrieves for one cause and `other` does not, named as their columns.

    `nodes` and `names` are those of the largest group, with the `reasons` of `finder`; `rest`
    counts its other exclusive nodes. `texts` marks passages, `touched` that `other`
    reached all of them but retrieved none.
    """

    finder: str
    other: str
    finder_label: str
    other_label: str
    nodes: tuple[str, ...]
    names: tuple[str, ...]
    reasons: tuple[Reason, ...]
    rest: int = 0
    texts: bool = False
    touched: bool = False


@dataclass(frozen=True)
class Comparison:
    """The answers of two to six methods to one question, under one token budget."""

    question: str
    budget: int
    columns: tuple[ComparedMethod, ...]

    @property
    def retrievals(self) -> dict[str, Retrieval]:
        """The retrievals of the methods that did not fail, by name of their column."""
        return {c.name: c.retrieval for c in self.columns if c.retrieval is not None}

    def overlap(self, of: str = "nodes") -> Floats:
        """Return the Jaccard index |A and B| / |A or B| of every two columns, shape (k, k), in [0, 1].

        `of` is "nodes" (those that are not texts) or "passages" (within the budget). Two
        columns without any have 0 in common, also with themselves; the row and the column of a
        method that failed are NaN.
        """
        sets = [set(column.list_ids(of)) for column in self.columns]
        shares = np.zeros((len(sets), len(sets)))
        for (i, a), (j, b) in product(enumerate(sets), repeat=2):
            shares[i, j] = len(a & b) / max(len(a | b), 1)
        failed = [column.retrieval is None for column in self.columns]
        shares[failed], shares[:, failed] = np.nan, np.nan
        return shares

    def only(self, of: str = "nodes") -> dict[str, tuple[str, ...]]:
        """Return the nodes that only one method found, by name of its column; ids, best first."""
        ranked = {column.name: column.list_ids(of) for column in self.columns}
        found = Counter(chain.from_iterable(ranked.values()))
        for name, ids in ranked.items():
            ranked[name] = tuple(node for node in ids if found[node] == 1)
        return ranked

    def differences(self) -> tuple[MissedGroup, ...]:
        """Return the first column against each other one, both ways.

        Of all nodes that only one of the two found, the largest group with one cause; others are
        counted. Where one of them retrieves only passages, passages are compared, unless they are
        the same.
        """
        worked = [column for column in self.columns if column.retrieval is not None]
        groups = []
        for other in worked[1:]:
            groups += [_find_missed(other, worked[0]), _find_missed(worked[0], other)]
        return tuple(group for group in groups if group is not None)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain JSON values; overlaps of failed methods are null."""
        columns = [{"name": c.name, "label": c.label, "tokens": c.tokens, "error": str(c.error or ""),
                    "retrieval": c.retrieval and c.retrieval.to_dict()} for c in self.columns]
        overlap = {}
        for of in ("nodes", "passages"):
            shares = self.overlap(of)
            values = shares.astype(object)
            values[np.isnan(shares)] = None
            overlap[of] = values.tolist()
        return {
            "question": self.question, "budget": self.budget, "columns": columns, "overlap": overlap,
            "only": {of: self.only(of) for of in ("nodes", "passages")},
            "differences": [asdict(d) for d in self.differences()]}


def choose_columns(methods: Iterable[str | Retriever], graph: Graph) -> dict[str, tuple[str, Retriever]]:
    """Return the label and method per column; names are fitted to the graph, configured methods kept.

    Raises
    ------
    ParameterError
        When a method is not known, or there are fewer than two or more than six.
    """
    columns: dict[str, tuple[str, Retriever]] = {}
    for method in methods:
        if isinstance(method, str):
            name = canonical(method)
            columns[name] = label_of(name), method_of(name).fit_to(graph)
        else:
            name = key = name_of(method)
            number = 1
            while name in columns:
                number += 1
                name = f"{key}-{number}"
            columns[name] = (_label_changes(method) if is_dataclass(method) else method.label), method
    if not FEWEST <= len(columns) <= MOST:
        raise ParameterError(f"{len(columns)} different method{'s' * (len(columns) != 1)} cannot "
                             f"be compared; choose {FEWEST} to {MOST}")
    return columns


def _label_changes(method: Any) -> str:
    """Return the label of a configured method with its changed parameters."""
    changed = [f"{f.name} {getattr(method, f.name)}" for f in fields(method)
               if getattr(method, f.name) != f.default]
    return ": ".join(filter(None, [method.label, ", ".join(changed)]))


def make_column(name: str, label: str, retrieve: Callable[[], Retrieval], graph: Graph,
                budget: int) -> ComparedMethod:
    """Return one column, with the error where there is one that the user can mend.

    Its passages are those `qafd.retrieve.rank.within_budget`.
    """
    if budget < 1:
        raise ParameterError(f"the token budget is {budget}; give 1 or more")
    try:
        retrieval = retrieve()
    except QafdError as error:
        return ComparedMethod(name, label, error=error)
    tokens = [int(graph.tokens[graph.row[p.id]]) for p in retrieval.passages]
    kept = within_budget(retrieval.passages, tokens, budget)
    return ComparedMethod(name, label, replace(retrieval, passages=kept), sum(tokens[:len(kept)]))


def find_off_topic(plain: Retrieval, aware: Retrieval) -> tuple[RetrievedNode, ...]:
    """Return the passages that plain edge weights fill and query-aware ones do not, most important first."""
    kept = {node.id for node in aware.retrieved}
    return tuple(node for node in plain.retrieved if node.kind == "passage" and node.id not in kept)


def _find_missed(finder: ComparedMethod, other: ComparedMethod) -> MissedGroup | None:
    """Return the largest group that only `finder` retrieves, None when there is none."""
    there = {*other.list_ids("nodes"), *other.list_ids("passages")}
    named = [Brought(n.id, n.name, n.reason) for n in finder.found if n.id not in there]
    passages = [one for one in finder.brought_passages if one.id not in there]
    texts = bool(passages) and not (finder.found and other.found) and bool(other.list_ids("passages"))
    extra = passages if texts else named
    if not extra:
        return None
    groups: dict[tuple[object, ...], list[Brought]] = {}
    for one in extra:
        groups.setdefault(one.reason.shared, []).append(one)
    # The first of the largest: it holds the more important nodes.
    largest = max(groups.values(), key=len)
    ids = tuple(one.id for one in largest)
    touched = {n.id for n in other.retrieval.nodes if n.state == WET} if other.retrieval else set()
    return MissedGroup(
        finder.name, other.name, finder.label, other.label, ids,
        tuple(one.name for one in largest), tuple(one.reason for one in largest),
        rest=len(extra) - len(ids), texts=texts,
        touched=not texts and touched.issuperset(ids))
