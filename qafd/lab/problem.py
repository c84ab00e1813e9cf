"""The diffusion problem behind a question: layer, gates, seeds and source mass, before solving."""

from dataclasses import dataclass, field

import numpy as np

from qafd.diffusion import Diffusion, solve
from qafd.graph import Graph
from qafd.records import Floats, QueryPlan
from qafd.retrieve.base import Corpus
from qafd.retrieve.qafd import LAYERS, FlowDiffusion
from qafd.seeds import Match, Seeds, keyword_seeds, match, select_seeds
from qafd.sources import seed_paths, source_mass
from qafd.weights import Gates, Similarity, Weights


@dataclass(frozen=True, eq=False)
class Problem:
    """Problem (5) for one question; `mass` is Delta of each seed, before it is made to fit."""

    layer: Graph = field(repr=False)
    gates: Gates = field(repr=False)
    seeds: Seeds
    mass: Floats
    capacity: str

    def solve(self) -> Diffusion:
        """The exact solution."""
        return solve(self.layer, self.gates, self.seeds.rows, self.mass, self.capacity)


def problem_of(corpus: Corpus, plan: QueryPlan, method: FlowDiffusion) -> Problem:
    """What `method` solves for a question."""
    layer = corpus.graph.layer(LAYERS[method.layer])
    seeds = seeds_of(corpus, plan, method, match(corpus.graph, corpus.passages, plan))
    return Problem(layer, gates_of(plan, method), seeds, mass_of(layer, seeds, method),
                   method.capacity)


def seeds_of(corpus: Corpus, plan: QueryPlan, method: FlowDiffusion, found: Match) -> Seeds:
    """The seeds that `method` chooses, given how the passages match the question."""
    if method.seeding == "keywords":
        return keyword_seeds(corpus.graph, plan, method.seeds, method.layer)
    return select_seeds(corpus.graph, corpus.passages, plan, found, best=method.seeds,
                        entity_share=method.entity_share)


def gates_of(plan: QueryPlan, method: FlowDiffusion) -> Gates:
    """The weights of `method`, bound to the question."""
    return Gates(Weights.named(method.variant, method.a, method.b), plan.embedding,
                 similarity=Similarity(method.similarity, gamma=method.gamma))


def mass_of(layer: Graph, seeds: Seeds, method: FlowDiffusion) -> Floats:
    """Source mass of each seed by the rule of `method`, shape (k,)."""
    if not len(seeds.rows):
        return np.zeros(0)
    paths = seed_paths(layer, seeds.rows) if method.rule == "path" else ()
    return source_mass(layer, seeds.rows, method.rule, method.mass, method.capacity,
                       seeds.shares, paths)
