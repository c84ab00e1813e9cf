"""The movie of Algorithm 2 in the browser: a Streamlit component that repeats the pushes itself.

The whole trace goes over once; playing, stepping and pushing by hand need no rerun.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from qafd.app.component import component
from qafd.flow.reference import RELEASED
from qafd.view.drawing import RAMPS
from qafd.view.panel import NAME_LENGTH, clean

if TYPE_CHECKING:
    from qafd.lab.movie import Movie

ORDERS = {"random": "random", "fifo": "first come, first served", "largest": "fullest first"}
WORDS = {
    "play": "Play", "pause": "Pause", "step": "Step", "reset": "Reset", "order": "Order",
    "speed": "Speed", "rate": "up to {number} a second", "push": "Push", "undo": "Undo",
    "again": "Start again", "fullest": "Push the fullest", "pushes": "push {number}",
    "algorithm": "Algorithm 2, push by push", "exact": "Exact solution",
    "excess": "Excess: share of the mass above capacity, %",
    "objective": "Objective: F(x) above its minimum, log scale",
    "curve": "{title}: from {first} to {last} at push {pushes}",
    "released": "the released code stops here ({pushes})",
    "overflows": "overflows", "full": "full: retrieved, greener is more important",
    "wet": "holds some mass", "dry": "dry", "less": "less than 0.1%",
    "marks": "ring = what the node can hold, disc = what it holds, line = width of the pipe",
    "holds": "{mass} of {capacity}", "bucket": "{name} holds {mass} of {capacity}",
    "bucketOver": "{name} holds {mass} of {capacity}, overflows: push it",
    "panel": "{title}: {full} of {number} nodes full.",
    "panelLive": "{title}, push {pushes}: {full} of {number} nodes full, a mass of {excess} above "
    "capacity.",
    "hidden": "Nodes that are not drawn: {number}.",
    "statusExact": "Full: {full} of {number} nodes. The question poured a mass of {source}.",
    "statusStart": "A mass of {source} is at the sources.",
    "statusPush": "Push {push}: {name} passed on {mass}.",
    "statusPushOf": "Push {push} of {of}: {name} passed on {mass}.",
    "won": "Done: almost nothing overflows. You are within {close} of the exact importance, after "
    "{push} pushes.",
    "blue": "{share} of the mass overflows. Push a blue bucket.",
    "done": "As good as nothing overflows any more; importance is within {close} of the exact "
    "solution.",
    "above": "{share} of the mass lies above capacity.",
    "unfinished": "{share} of the mass lies above capacity, and the film stops here: more pushes "
    "are needed."}


@dataclass(frozen=True)
class Staging:
    """The settings of a movie on a page.

    Parameters
    ----------
    mode : {"play", "push", "exact"}
        Play the takes, let the viewer choose each node to push, or show the solution only.
    plain : bool
        Small graphs for learning: mass and capacity are written on every node.
    """

    mode: str = "play"
    order: str = "random"
    aspect: float = 1.6
    ramp: str = "green"
    plain: bool = False


def movie_data(movie: "Movie", names: Sequence[str],
               positions: Mapping[int, tuple[float, float]], staging: Staging) -> dict[str, Any]:
    """Return a movie as JSON values for `movie`.

    Parameters
    ----------
    names : sequence of str
        One per node of the movie; they come from documents and are shown as text only.
    positions : mapping of index to (x, y)
        In [0, aspect] x [0, 1]; nodes without one are not drawn, but counted.
    """
    return {
        **asdict(staging), "ramp": RAMPS[staging.ramp],
        "words": dict(WORDS.items()),
        "released": RELEASED.most_pushes, "objective": movie.objective,
        "nodes": [{
            "name": clean(name, NAME_LENGTH), "T": capacity, "d": source, "X": x, "M": mass,
            "at": positions.get(i)} for i, (name, capacity, source, x, mass) in enumerate(zip(
                names, movie.capacity.tolist(), movie.source.tolist(), movie.x.tolist(),
                movie.mass.tolist(), strict=True))],
        "edges": [movie.u.tolist(), movie.v.tolist(), movie.weight.tolist()],
        "takes": [{"order": t.order, "name": ORDERS[t.order], "pushed": t.pushed.tolist(),
                   "converged": t.converged} for t in movie.takes],
    }


def movie(data: dict[str, Any], *, key: str) -> None:
    """Draw a movie from `movie_data`.

    The root element's data attributes tell tests the state: `data-push`, `data-mass` (sum over
    all nodes), `data-excess`, `data-frames` (drawn so far) and `data-painted`.
    """
    component("movie")(key=key, data=data)
