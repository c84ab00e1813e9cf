"""One family from PageRank to flow diffusion: the damping of a walk gives way to sink capacity.

Every member minimizes, over x >= 0,

    1/2 sum of w_uv (x_u - x_v)^2 + 1/2 (1 - t) delta sum of d_v x_v^2 + sum of (t T_v - Delta_v) x_v.

At t = 0 it is PageRank of the lazy walk that returns to the seeds with probability alpha, p_v = delta
d_v x_v / |Delta| with delta = 2 alpha / (1 - alpha). At t = 1 it is problem (5). Between them, with
capacities of degrees, it is l1-regularized PageRank (Fountoulakis et al. 2019), the optimum that the
push of Andersen, Chung and Lang stops near. A walk loses mass wherever it is, a flow only where a node
is full.

Damping is capacity too: that of a ground beside the graph which has room for everything and is joined
to v with the weight (1 - t) delta d_v. So each member has the certificate of a diffusion.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix, diags
from scipy.sparse.linalg import spsolve

from qafd.errors import ParameterError
from qafd.evaluate.collection import gold_documents
from qafd.evaluate.gold import Question
from qafd.flow.certificate import Certificate, ClaimedSolution, certify
from qafd.flow.sources import fit
from qafd.flow.weights import Gates
from qafd.graph import Graph, sum_at
from qafd.knowledge import KnowledgeGraph, read_corpus
from qafd.records import Floats, Nodes
from qafd.retrieve.pagerank import entry_weights, strengths
from qafd.retrieve.qafd import FlowDiffusion, Problem
from qafd.retrieve.subgraph import foremost
from qafd.time_left import ignore_progress

RESTART = 0.15  # alpha
LARGEST = 20_000  # nodes of the layer: every member is solved over all of them
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
FIRST = 5  # passages
LEAST = 1e-6  # share of capacity at the walk's end: a certificate is relative to the capacity
ROUNDED = 1e-12  # of the source mass, below which a node does not fill


@dataclass(frozen=True)
class FamilyMember:
    """The member at t = `share`: importance x of each row of the layer, shape (n,), with its proof.

    `damped` is the share of the source mass that damping takes; capacity holds the rest.
    """

    share: float
    x: Floats
    damped: float
    certificate: Certificate


def solve_member(problem: Problem, share: float) -> FamilyMember:
    """Solve a member of the family of a question's problem, see `solve_between`."""
    return solve_between(problem.layer, problem.gates, problem.seeds.rows, problem.mass,
                         problem.method.capacity, share)


def solve_between(layer: Graph, gates: Gates, rows: Nodes, mass: Floats, capacity: str, share: float
                  ) -> FamilyMember:
    """Solve a member exactly: nodes enter the support while they hold more than they may.

    x only grows with the support, since the matrix is an M-matrix, so no node ever leaves it.

    Raises
    ------
    ParameterError
        The share is not in [0, 1], or the layer has more than `LARGEST` nodes.
    """
    n = len(layer)
    if not 0 <= share <= 1:
        raise ParameterError(f"share {share} is not in the family; choose 0 to 1")
    if n > LARGEST:
        raise ParameterError(f"the members of a family are solved over all of {n:,} nodes; the limit is "
                             f"{LARGEST:,}")
    weight = entry_weights(layer, gates)
    degree = strengths(layer, weight)
    poured = fit(layer, rows, mass, capacity)
    source = sum_at(poured.rows, poured.mass, n)
    room = max(share, LEAST) * layer.capacity(capacity).astype(np.float64)
    leak = (1 - share) * 2 * RESTART / (1 - RESTART) * degree
    adjacent = csr_matrix(  # type: ignore[no-untyped-call]
        (weight, layer.neighbors, layer.indptr), (n, n))
    matrix = (diags(degree + leak) - adjacent).tocsr()  # type: ignore[no-untyped-call]
    x = _fill(matrix, source - room, ROUNDED * float(source.sum()))
    once = layer.starts < layer.neighbors
    damped = np.flatnonzero(leak > 0)
    ground = np.full(len(damped), n)
    certificate = certify(ClaimedSolution(
        np.append(x, 0.0), np.append(source, 0.0), np.append(room, 1 + source.sum()),
        np.concatenate([layer.starts[once], damped]).astype(np.int64),
        np.concatenate([layer.neighbors[once], ground]).astype(np.int64),
        np.concatenate([weight[once], leak[damped]])))
    return FamilyMember(share, x, float(leak @ x) / max(float(source.sum()), ROUNDED), certificate)


def _fill(matrix: csr_matrix, load: Floats, least: float) -> Floats:
    """Return x >= 0 with matrix x = load where x > 0, and matrix x >= load elsewhere."""
    x = np.zeros(len(load))
    full = load > 0
    while full.any():
        rows = np.flatnonzero(full)
        x[rows] = spsolve(  # type: ignore[no-untyped-call]
            matrix[rows][:, rows].tocsc(), load[rows])
        more = ~full & (load - matrix @ x > least)
        if not more.any():
            break
        full |= more
    return np.asarray(np.maximum(x, 0.0))


def first_passages(problem: Problem, member: FamilyMember, most: int = FIRST) -> Nodes:
    """Return the rows of the passages with the largest x, best first; those at 0 are left out."""
    rows = np.flatnonzero((problem.layer.kinds == "passage") & (member.x > 0))
    return rows[foremost(problem.layer, rows, member.x[rows], most)]


def measure_family(knowledge: KnowledgeGraph, questions: Sequence[Question], method: FlowDiffusion,
                   shares: Sequence[float] = SHARES,
                   progress: Callable[[float], object] = ignore_progress) -> tuple[float, ...]:
    """Return recall@5 of some members, as a mean over questions; passages are ranked by x alone."""
    documents, _ = gold_documents(knowledge, questions)
    graph, corpus = knowledge.graph, read_corpus(knowledge)
    found = np.zeros((len(questions), len(shares)))
    for number, question in enumerate(questions):
        problem = method.problem(corpus, knowledge.plan(question.text, graph))
        for place, share in enumerate(shares):
            rows = first_passages(problem, solve_member(problem, share))
            with knowledge.store() as store:
                chunks = store.passages.of_nodes(graph.ids_of(rows.tolist()))
            names = {chunk.document for chunk in chunks.values()}
            gold = [documents[name] for name in question.gold]
            found[number, place] = np.mean([bool(names & each) for each in gold])
        progress((number + 1) / len(questions))
    return tuple(found.mean(axis=0).tolist())
