"""One diffusion for each condition of a question; its answers hold mass in all of them."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from qafd.flow.solver import Diffusion, solve
from qafd.flow.weights import VARIANTS, Gates, Weights
from qafd.graph import Graph
from qafd.reasons import Reason, ReasonKind, reason
from qafd.records import Floats, Nodes, QueryPlan
from qafd.retrieve.base import (
    SATURATED,
    WET,
    Corpus,
    Method,
    Retrieval,
    knob,
    params_of,
    passages_ranked,
)
from qafd.retrieve.conditions import LinkedQuery, link_conditions
from qafd.retrieve.exact import LIKE, SPECIFIC
from qafd.retrieve.qafd import LAYERS, list_edges
from qafd.retrieve.seeds import match
from qafd.retrieve.subgraph import foremost, nodes, rank_passages, score_by_mentions
from qafd.retrieve.united import net_edges

TIE = 1e-3  # how much likeness and degree count, for answers that hold as much


@dataclass(frozen=True)
class AllConditions(Method):
    """The entities that the diffusions of all conditions fill, then those that they fill least short.

    Each name of the question is a condition. Its diffusion begins with `mass` times what the name and
    its neighbors can hold, T = 1, so all neighbors fill and the rest runs on. Answers are ordered by how
    many diffusions fill them, then by the least mass they hold over all diffusions: a relation that is
    missing counts by what arrives on other ways, not as nothing. Each diffusion has its certificate.

    No paper has this; it joins QAFD-RAG and SG-RAG. Answers by the least mass alone are worse, because
    a node beside a missing relation can hold less than one far from everything. Conditions on another
    unknown are not read.
    """

    label: ClassVar[str] = "FlowAND conditions"
    idea: ClassVar[str] = ("mass flows from each name of the question alone; answers hold mass in every "
                           "one of these diffusions")
    source: ClassVar[str] = "after QAFD-RAG and SG-RAG"

    mass: float = knob(1.5, 1.0, 20.0, help="Mass of each condition, in multiples of what its name and "
                       "the neighbors of it can hold. More reaches farther.")
    variant: str = knob("product", options=VARIANTS, help="Edge weight, Eq. (2a) to (2c).")
    answers: int = knob(10, 1, 200, help="How many answers are retrieved.")
    top: int = passages_ranked()

    def retrieve(self, corpus: Corpus, plan: QueryPlan) -> Retrieval:
        """Return the answers and the names of the question, with the flow of all diffusions."""
        graph, layer = corpus.graph, corpus.graph.layer(*LAYERS["entities"])
        linked = link_conditions(graph, plan)
        gates = Gates(Weights.of_variant(self.variant), plan.embedding)
        held = hold_conditions(layer, gates, linked, self.mass)
        order, score = held.rank(plan)
        answers = order[:self.answers]
        why: dict[int, Reason] = {node.row: node.why for node in linked.known.values()}
        names = dict.fromkeys(why, 1.0)
        why |= {row: _explain(held, row) for row in answers.tolist()}
        rows = np.array(list(why), np.int64)
        importance = np.array([names.get(row, float(score[row])) for row in rows.tolist()])
        best = held.filled[answers].max(initial=0)
        states = [SATURATED if row in names or held.filled[row] == best else WET for row in rows.tolist()]
        spread = np.zeros(len(graph))
        spread[rows] = importance
        ranked, scores = score_by_mentions(corpus, match(corpus.passages, plan).dense, spread)
        shown = set(graph.ids_of(rows.tolist()))
        return Retrieval(
            query=plan.question, method="flow_and", params=params_of(self),
            seeds=tuple(sorted(graph.ids_of(names))),
            nodes=nodes(layer, plan, rows, importance, list(why.values()), seeds=set(names), states=states),
            edges=tuple(edge for edge in net_edges(list_edges(layer, d) for d in held.diffusions)
                        if {edge.source, edge.target} <= shown),
            ranking=rank_passages(graph, ranked[:self.top], scores[:self.top]),
            notices=linked.notices, revision=graph.revision)


@dataclass(frozen=True, eq=False)
class HeldConditions:
    """The diffusions of k conditions on one layer.

    Parameters
    ----------
    names : tuple of str
        Of the conditions, as the question has them.
    share : ndarray, shape (k, n)
        Mass of each node over its capacity, in [0, 1].
    excluded : ndarray of int
        Rows that are no answer: names of the question, and what a negated condition is related to.
    """

    layer: Graph = field(repr=False)
    names: tuple[str, ...]
    diffusions: tuple[Diffusion, ...] = field(repr=False)
    share: Floats = field(repr=False)
    excluded: Nodes = field(repr=False)

    @property
    def filled(self) -> Nodes:
        """Number of conditions that fill each node, shape (n,)."""
        full = np.zeros(len(self.layer), np.int64)
        for diffusion in self.diffusions:
            full[diffusion.support] += 1
        return full

    def rank(self, plan: QueryPlan) -> tuple[Nodes, Floats]:
        """Return the entities that any diffusion reached, best first, and scores in [0, 1], shape (n,)."""
        layer, k = self.layer, len(self.names)
        if not k:
            return np.zeros(0, np.int64), np.zeros(len(layer))
        # As in exact retrieval: of equals the one that is like the question and has few other relations.
        between = -SPECIFIC * np.log1p(layer.degree)
        if layer.vectors is not None:
            between += LIKE * (layer.vectors[:] @ plan.embedding).astype(np.float64)
        score = np.maximum(self.filled + self.share.min(axis=0) + TIE * (between + 1), 0.0) / (k + 2)
        reached = (self.share > 0).any(axis=0) & (layer.kinds == "entity")
        reached[self.excluded] = False
        rows = np.flatnonzero(reached)
        return rows[foremost(layer, rows, score[rows], len(rows))], score


def hold_conditions(layer: Graph, gates: Gates, linked: LinkedQuery, mass: float) -> HeldConditions:
    """Solve one diffusion for each known condition on the answer.

    Parameters
    ----------
    mass : float
        In multiples of what the rows of a name and their neighbors can hold.
    """
    names, diffusions = [], []
    excluded = [np.array(sorted(linked.named), np.int64)]
    for condition in linked.query.conditions:
        node = linked.known.get(condition.target)
        if node is None or condition.source != 0:
            continue
        rows = np.array(sorted(set(node.rows)), np.int64)
        around = np.unique(layer.expand(rows).neighbors).astype(np.int64)
        if condition.negated:
            excluded.append(around)
            continue
        room = len(np.union1d(rows, around))
        names.append(linked.query.nodes[condition.target].text)
        diffusions.append(solve(layer, gates, rows, np.full(len(rows), mass * room / len(rows))))
    share = np.zeros((len(names), len(layer)))
    for place, diffusion in enumerate(diffusions):
        share[place, diffusion.rows] = np.minimum(diffusion.mass / diffusion.capacity, 1.0)
    return HeldConditions(layer, tuple(names), tuple(diffusions), share,
                          np.unique(np.concatenate(excluded)))


def _explain(held: HeldConditions, row: int) -> Reason:
    also = []
    for name, share in zip(held.names, held.share[:, row].tolist(), strict=True):
        also.append(reason(ReasonKind.HELD, name=name, share=share))
    return reason(ReasonKind.HELD_BY, *also, filled=int(held.filled[row]), wanted=len(held.names),
                  least=float(held.share[:, row].min()))
