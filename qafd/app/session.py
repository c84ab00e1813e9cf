"""The memory of one visitor's session between the runs of the script, in one typed object.

Values of widgets are in `st.session_state` under the keys of the widgets; all else is here.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar, cast

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

if TYPE_CHECKING:
    from qafd.answer import Draft
    from qafd.app.explore.question import Followed
    from qafd.knowledge import KnowledgeGraph
    from qafd.models.cost import Meter
    from qafd.storage import Workspace

WORKSPACE = "ws"
QUESTION = "q"
PRIVATE = "private"
T = TypeVar("T")


@dataclass(frozen=True)
class Coming:
    """A value that a widget gets before it is drawn next."""

    value: object


@dataclass
class Session:
    """The memory of a session; every field begins empty."""

    widgets: dict[str, object] = field(default_factory=dict)
    """Values of widgets that outlive a visit to another page, by key; a `Coming` one is set before the
    widget is drawn next."""
    results: dict[str, Any] = field(default_factory=dict)
    """Values of the last run by name: what `exchange` returns, what `remember` computed with its
    key, and the turns of widgets that were emptied."""

    page: str = ""
    """The page of the last run."""
    source: str = ""
    """The passage of a citation that is open beside the picture, by its chunk."""
    own_questions: dict[str, list[str]] = field(default_factory=dict)
    """Questions that only this session lists, the newest first, by the id of their workspace."""
    followed: "Followed | None" = None
    """The last follow-up, and its thread."""
    failed: "Draft | None" = None
    """The last prompt that a model failed to answer."""
    workers_checked: bool = False
    restart_controls: bool = False
    """True if the controls of a method shall begin with the workspace's suggested values."""
    under_mass: DeltaGenerator | None = None
    """Place for the ticks of the mass, which are known once the question is answered."""
    highest_mass: float = 0.0
    """End of the control of the mass."""
    secret: tuple[str, str] | None = None
    """A typed API key, after the address it is for."""
    meter: "Meter | None" = None
    """Cost of this session's questions."""
    gold_files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    """The names and bytes of uploaded questions, by the id of the workspace."""
    finished: str = ""
    """The id of the workspace whose last work ended while this session was looking."""
    erasing: tuple[str, list[str]] | None = None
    """The id of a workspace and its files that are to be erased, until that is confirmed."""


def session() -> Session:
    """Return the memory of this session."""
    if "session" not in st.session_state:
        st.session_state["session"] = Session()
    return cast("Session", st.session_state["session"])


def keep(key: str) -> str:
    """Keep the value of a widget across pages, unless a link has another; return its key."""
    values = session().widgets
    if isinstance(coming := values.get(key), Coming):
        st.session_state[key] = coming.value
    if key in st.session_state:
        # Setting it takes it along to the widget of the same key on another page.
        st.session_state[key] = values[key] = st.session_state[key]
    elif key in values and key not in st.query_params:
        st.session_state[key] = values[key]
    return key


def bound(key: str) -> dict[str, Any]:
    """Return the arguments of a widget that is in the address and kept across pages.

    See `keep`.
    """
    return {"key": keep(key), "bind": "query-params"}


def choose_option(label: str, options: Mapping[str, str] | Sequence[str], key: str, default: str = "",
                  **more: Any) -> str:
    """Draw a few options side by side, kept and in the address, and return the chosen one.

    Without a `default` the first one is chosen until another is; `more` is passed to `st.segmented_control`.
    """
    first = default or next(iter(options))
    labels = options if isinstance(options, Mapping) else dict(zip(options, options, strict=True))
    chosen: str | None = st.segmented_control(label, list(labels), default=first, required=True,
                                              format_func=labels.__getitem__, **bound(key), **more)
    return chosen or first


def keep_linked(key: str) -> None:
    """Keep a link's value of a widget that is not drawn now."""
    if key in st.query_params:
        session().widgets[key] = st.query_params[key]


def forget(key: str) -> None:
    """Drop the value of a kept widget."""
    session().widgets.pop(key, None)
    st.session_state.pop(key, None)


def forget_all_but(*keys: str) -> None:
    """Drop the values of all kept widgets but these."""
    for key in set(session().widgets) - set(keys):
        forget(key)


def put(key: str, value: object) -> None:
    """Set a widget: before it is drawn in this run, or in a callback."""
    st.session_state[key] = value


def put_next(key: str, value: object) -> None:
    """Set a kept widget in the next run, where this one has drawn it already."""
    session().widgets[key] = Coming(value)


def value_of(key: str, default: T) -> T:
    """Return the value of a widget: from the session, the link, an earlier visit, or the default."""
    if key in st.session_state:
        return cast("T", st.session_state[key])
    if key in st.query_params:
        return cast("T", st.query_params[key])
    value = session().widgets.get(key, default)
    return cast("T", value.value if isinstance(value, Coming) else value)


def is_private() -> bool:
    """Return True if the questions of this session are kept from the others."""
    return bool(value_of(PRIVATE, False))


def exchange(name: str, value: T) -> T:
    """Return the value of the run before under a name, at first `value` itself, and store `value`."""
    results = session().results
    before = cast("T", results.get(name, value))
    results[name] = value
    return before


def remember(name: str, key: object, compute: Callable[[], T]) -> T:
    """Return the last result under a name if its key is the same, else compute it."""
    results = session().results
    if name not in results or results[name][0] != key:
        results[name] = key, compute()
    return cast("T", results[name][1])


VERSIONS = 2  # of a graph, whose results are kept: a session may be at work on the one before


@dataclass
class _Result:
    """A result that the first session computes that asks for it; `at` as in `compute_shared`."""

    at: tuple[str, str]
    lock: Lock = field(default_factory=Lock)
    done: bool = False
    value: Any = None

    def get(self, compute: Callable[[], Any]) -> Any:
        with self.lock:
            if not self.done:
                self.value, self.done = compute(), True
            return self.value


class SharedResults:
    """The `most` results used last, of each workspace those of the `VERSIONS` used last."""

    def __init__(self, most: int = 256) -> None:
        self._most, self._lock = most, Lock()
        self._results: dict[Hashable, _Result] = {}

    def get(self, key: Hashable, at: tuple[str, str], compute: Callable[[], Any]) -> Any:
        """Return the result under a key, computed if it is not here."""
        with self._lock:
            result = self._results.pop(key, None) or _Result(at)
            self._results[key] = result
            used = [other.at for other in reversed(self._results.values()) if other.at[0] == at[0]]
            stale = [*dict.fromkeys(used)][VERSIONS:]
            kept = [(name, other) for name, other in self._results.items() if other.at not in stale]
            self._results = dict(kept[-self._most:])
        return result.get(compute)


_SHARED = SharedResults()


def compute_shared(name: str, key: Hashable, compute: Callable[[], T], at: tuple[str, str] = ("", "")) -> T:
    """Compute once for all sessions under a name and a key; nobody may change the result.

    `at` is the workspace and the version of its graph that the result is of.
    """
    return cast("T", _SHARED.get((name, key), at, compute))


def in_store(knowledge: "KnowledgeGraph", do: Callable[["Workspace"], T]) -> T:
    """Call a function with the open store of a workspace."""
    with knowledge.store() as store:
        return do(store)


def recall(name: str, key: object) -> Any:
    """Return the result of `remember` under a name, None if its key has changed."""
    of, result = session().results.get(name, (None, None))
    return result if of == key else None


def count_turn(name: str) -> int:
    """Count one more turn of something that starts again, and return the number."""
    results = session().results
    results[f"turn {name}"] = results.get(f"turn {name}", 0) + 1
    return int(results[f"turn {name}"])


def fresh_key(name: str) -> str:
    """Return the key of a widget that `empty` clears."""
    return f"{name}{session().results.get(f'turn {name}', 0)}"


def empty(name: str) -> None:
    """Let the widget of `fresh_key` begin empty in the next run."""
    count_turn(name)
