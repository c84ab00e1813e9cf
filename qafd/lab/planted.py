"""The guarantees on planted graphs: draws of Definition 5 against Lemma 6 and Theorem 7.

`PLACES` names where the statements hold and where they do not; docs/method.md section 8 has why.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from qafd.flow.guarantees import Model, PlantedTrial, measure_draw
from qafd.time_left import ignore_progress


@dataclass(frozen=True)
class Place:
    """A named point of the parameter space, and the expected outcome."""

    title: str
    remark: str
    model: Model
    source_inside: bool = True


_BASE = Model()
PLACES = (
    Place("It holds", "Far means, a gamma between its two bounds, a connected relevant set, the "
          "source inside: the set is covered and the spill stays below beta.", _BASE),
    Place("Means too close", "With mu/sigma near the noise, weights inside and across overlap; "
          "Lemma 6 asks for more than sqrt(d log n).", replace(_BASE, separation=6.0)),
    Place("Gamma is 0", "All similarities are 1. The hypothesis of Lemma 6 bounds gamma from "
          "above only, so it is met, and nothing is separated.", replace(_BASE, gamma=0.0)),
    Place("Gamma is too large", "Weights inside the set fall to a millionth, where Lemma 6 wants "
          "them near 1. The set is covered all the same: recovery needs the contrast only.",
          replace(_BASE, gamma=0.1)),
    Place("Source outside", "Theorem 7 does not say that the source must lie in the relevant set. "
          "Poured outside, the mass fills the cluster it stands in.", _BASE, False),
    Place("Relevant set in pieces", "With few edges inside, mass reaches the other pieces only "
          "through gates that are shut: assumption (i) is needed.", replace(_BASE, inside=0.03)),
)


@dataclass(frozen=True)
class Experiment:
    """Repeated draws of one model."""

    model: Model
    beta: float
    source_inside: bool
    trials: tuple[PlantedTrial, ...] = field(repr=False)

    @property
    def covered(self) -> int:
        """Draws in which the whole relevant set was retrieved."""
        return sum(trial.covered for trial in self.trials)

    @property
    def connected(self) -> int:
        """Draws in which the relevant set was connected."""
        return sum(trial.connected for trial in self.trials)

    @property
    def within(self) -> int:
        """Draws whose leakage is at most beta."""
        return sum(trial.within_bound for trial in self.trials)

    @property
    def separated(self) -> int:
        """Draws in which every weight inside exceeds every weight across."""
        return sum(trial.separated for trial in self.trials)

    @property
    def needed(self) -> float:
        """sqrt(d log n), which Lemma 6 wants mu/sigma to exceed by any factor."""
        return float(np.sqrt(self.model.dimensions * np.log(self.model.nodes)))


def run_experiment(model: Model, draws: int, seed: int, beta: float, source_inside: bool,
                   progress: Callable[[float], object] = ignore_progress) -> Experiment:
    """Measure recovery and separation on the same `draws` graphs, repeatable by the seed."""
    trials = []
    for i in range(draws):
        trials.append(measure_draw(model, np.random.default_rng([seed, i]), beta, source_inside))
        progress((i + 1) / draws)
    return Experiment(model, beta, source_inside, tuple(trials))
