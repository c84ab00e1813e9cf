"""The components in the browser: panels, the map, and the movie of Algorithm 2."""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager
from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest

from qafd import __version__
from qafd.app.session import count_turn
from qafd.flow.reference import RELEASED
from qafd.resources import assets
from qafd.view.drawing import RAMP
from qafd.view.panel import NAME_LENGTH, clean

LONG = 20  # records that are sent as columns

if TYPE_CHECKING:
    from streamlit.components.v2.types import ComponentRenderer

    from qafd.lab.movie import Movie


def panels(data: dict[str, Any], *, key: str, name: str = "panel") -> str | None:
    """Draw panels or a map and return the id of the node the user selected, None without one.

    Parameters
    ----------
    data : dict
        From `qafd.view.panel.panel_data` or `qafd.view.overview.map_data`.
    key : str
        Names the instance; its selection stays while pages rerun.
    name : {"panel", "map"}
        The component that draws it.

    The root element's `data-painted` counts the runs of the script that have been drawn.
    """
    short = _in_columns(data) if name == "panel" else data
    text = json.dumps({**short, "run": count_turn(key)}, separators=(",", ":"))
    # A move of a slider sends all of it again: compressed it is a sixth.
    result = component(name)(key=key, data=zlib.compress(text.encode(), 9),
                                default={"selected": data["selected"]},
                                on_selected_change=lambda: None)
    selected: str | None = result.selected
    return selected


def _in_columns(value: Any) -> Any:
    """Return data with long lists of records as columns, which are a tenth shorter when compressed."""
    if isinstance(value, dict):
        return {name: _in_columns(inner) for name, inner in value.items()}
    if not (isinstance(value, list) and value and isinstance(value[0], dict)):
        return value
    if len(value) < LONG:
        return [_in_columns(inner) for inner in value]
    columns: dict[str, list[Any]] = {}
    for name in dict.fromkeys(chain.from_iterable(value)):
        columns[name] = [record.get(name) for record in value]
    return {"columns": columns}


def read_selection(key: str) -> str | None:
    """Return the selection of the instance `key` before it is drawn in this run."""
    state = st.session_state.get(key)
    return state.get("selected") if state else None


def component(name: str) -> "ComponentRenderer":
    """Register the component of the assets NAME.js, which the browser loads once, and NAME.css."""
    return _register(name, get_bidi_component_manager())


@lru_cache(maxsize=8)
def _register(name: str, manager: BidiComponentManager) -> "ComponentRenderer":
    manifest = ComponentManifest("qafd", __version__, [ComponentConfig(name, assets().name)])
    manager.register_from_manifest(manifest, assets().parent)
    # Both are loaded once by their addresses: as text, the style would be sent with every run.
    return st.components.v2.component(f"qafd.{name}", html=f'<div class="{name}"></div>', css=f"{name}.css",
                                      js=f"{name}.js")


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
        **asdict(staging), "ramp": RAMP,
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
