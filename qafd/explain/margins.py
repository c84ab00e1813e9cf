"""The conditions of Lemma 6 and Theorem 7 for what one question retrieved, after the fact.

The paper draws a relevant set R and asks whether a diffusion recovers it. Here R is the retrieved
subgraph itself: how well do the weights set it apart, and how much mass is left over?
"""

from dataclasses import dataclass

import numpy as np

from qafd.graph import components
from qafd.retrieve.base import Retrieval
from qafd.view.drawing import share_of


@dataclass(frozen=True)
class Margins:
    """Margins by which a retrieved set R of `size` nodes is set apart from the rest of the graph.

    Parameters
    ----------
    inside, across : float or None
        The smallest weight between two nodes of R and the largest that leaves R, the two numbers of
        Lemma 6; None where there is no such edge.
    leaving : int
        Number of edges that leave R.
    connected : bool
        True if edges inside connect R, assumption (i) of Theorem 7.
    source_inside : bool
        True if all source mass enters in R, which Theorem 7 needs and does not state.
    leakage : float
        Mass outside R over the capacity of R. By conservation it is the beta of Theorem 7, source mass
        over capacity less 1.
    """

    size: int
    inside: float | None
    across: float | None
    leaving: int
    connected: bool
    source_inside: bool
    leakage: float

    @property
    def noise(self) -> float:
        """The relative error up to which any change of all weights keeps every inside weight the larger.

        0 where they are not separated, 1 where nothing leaves R.
        """
        if self.across is None or self.inside is None:
            return 1.0
        return max(0.0, (self.inside - self.across) / (self.inside + self.across))

    @property
    def asked(self) -> float:
        """The largest weight on edges that leave R up to which the proof of Theorem 7 covers R.

        Were a node of R left out, no x could exceed size (1 + beta) vol(R) / inside. All the edges that
        leave R would carry less than that times their weights, yet beta vol(R) has to leave.
        """
        if self.inside is None or not self.leaving:
            return np.inf
        return self.inside * self.leakage / ((1 + self.leakage) * self.size * self.leaving)


def measure_margins(retrieval: Retrieval) -> Margins:
    """Measure the margins of a retrieval by one diffusion, from its own numbers."""
    row = {node.id: i for i, node in enumerate(retrieval.retrieved)}
    inside, across, pairs = [], [], []
    for edge in retrieval.edges:
        ends = [row[end] for end in (edge.source, edge.target) if end in row]
        if len(ends) == 2:
            inside.append(edge.weight)
            pairs.append(ends)
        elif ends:
            across.append(edge.weight)
    u, v = np.array(pairs, np.int64).reshape(-1, 2).T
    outside = [node for node in retrieval.nodes if node.id not in row]
    return Margins(
        len(row), min(inside, default=None), max(across, default=None), len(across),
        int(components(len(row), u, v).max(initial=0)) == 0,
        all(node.source <= 0 for node in outside),
        share_of(sum(node.mass for node in outside), sum(node.capacity for node in retrieval.retrieved)))
