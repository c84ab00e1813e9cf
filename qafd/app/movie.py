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
