"""Derived layers: what some methods need besides the graph, built from it on demand.

A layer is a frozen record of arrays and texts, and a pure function of the graph, its texts and
the embedder: built anew or brought up to date, its bytes are the same.
"""

import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol, Self
from weakref import WeakKeyDictionary

import numpy as np

from qafd.errors import ParameterError
from qafd.graph import Graph
from qafd.pace import silent
from qafd.records import Vectors
from qafd.retrieve.layers.communities import Communities
from qafd.retrieve.layers.sentences import Sentences
from qafd.retrieve.layers.summaries import Summaries
from qafd.retrieve.layers.texts import Embeds, Texts, texts_of
from qafd.retrieve.layers.tree import Tree
from qafd.storage import Workspace

BATCH = 64  # texts embedded between two reports


class Layer(Protocol):
    """A frozen dataclass of arrays, not of uint8, and tuples of str."""

    builder: ClassVar[int]

    @property
    def texts(self) -> tuple[str, ...]:
        """What its vectors are of, length k."""
        ...

    @property
    def vectors(self) -> Vectors:
        """Unit rows, shape (k, d)."""
        ...

    @classmethod
    def build(cls, graph: Graph, texts: Texts, embedder: Embeds, /) -> Self:
        """The layer of a graph; `builder` counts the versions of this function."""
        ...


LAYERS: dict[str, type[Layer]] = {
    "sentences": Sentences, "summaries": Summaries, "communities": Communities, "tree": Tree}

Report = Callable[[str, int, int], None]
"""Called with the layer at work, how many of its texts are embedded, and how many there are."""


@dataclass(frozen=True)
class LayerState:
    """A layer of a workspace: `state` is "built", "stale" (of another graph) or "missing"."""

    name: str
    state: str
    built_at: str = ""
    size: int = 0


def build(name: str, graph: Graph, texts: Texts, embedder: Embeds, old: Layer | None = None,
          report: Report = silent) -> Layer:
    """One layer of a graph; texts that `old` has too keep their vectors.

    Raises
    ------
    ParameterError
        There is no layer of this name.
    """
    known = {} if old is None else dict(zip(old.texts, old.vectors, strict=True))
    return _kind(name).build(graph, texts, _Remembering(embedder, known, name, report))


def bring_up_to_date(
    store: Workspace, embedder: Embeds, names: Iterable[str] = LAYERS, report: Report = silent,
    stopped: Callable[[], bool] = lambda: False,
) -> tuple[str, ...]:
    """Build the layers among `names` that are missing or stale; returns their names.

    Raises
    ------
    ParameterError
        There is no layer of a name.
    StoreError
        The graph is not up to date.
    """
    wanted = dict.fromkeys(names)
    for name in wanted:
        _kind(name)
    built: list[str] = []
    with store.snapshot():
        todo = [layer.name for layer in states(store)
                if layer.name in wanted and layer.state != "built"]
        if not todo:
            return ()
        version, graph, rows = store.graph.version, store.graph.read(), store.layers.rows()
        texts = texts_of(graph, store)
        olds = {name: unpack(name, store.layers.body(name)) for name in todo
                if name in rows and rows[name].builder == LAYERS[name].builder}
    for name in todo:
        if stopped():
            break
        layer = build(name, graph, texts, embedder, olds.get(name), report)
        store.layers.put(name, version, LAYERS[name].builder, pack(layer))
        built.append(name)
    return tuple(built)


def states(store: Workspace) -> tuple[LayerState, ...]:
    """How each layer of a workspace stands, in the order of LAYERS."""
    with store.snapshot():
        rows, version = store.layers.rows(), store.graph.version
    return tuple(
        LayerState(name, "missing") if (row := rows.get(name)) is None else LayerState(
            name, "built" if (row.version, row.builder) == (version, kind.builder) else "stale",
            row.built_at, row.size)
        for name, kind in LAYERS.items())


_LAYERS: WeakKeyDictionary[Graph, dict[str, Layer]] = WeakKeyDictionary()


def layers_of(graph: Graph, store: Workspace, names: Sequence[str]) -> dict[str, Layer]:
    """The layers among `names` that are built for a graph; read once for each graph in memory."""
    read = _LAYERS.setdefault(graph, {})
    if missing := [name for name in names if name not in read]:
        with store.snapshot():
            version, rows = store.graph.version_at(graph.revision), store.layers.rows()
            for name in missing:
                row = rows.get(name)
                if row and (row.version, row.builder) == (version, LAYERS[name].builder):
                    read[name] = unpack(name, store.layers.body(name))
    return read


def pack(layer: Layer) -> bytes:
    """A layer as bytes, the same for equal layers."""
    values = {spec.name: getattr(layer, spec.name) for spec in fields(layer)}  # type: ignore[arg-type]
    body = io.BytesIO()
    np.savez(body, **{  # type: ignore[arg-type]
        name: np.frombuffer(json.dumps(value).encode(), np.uint8) if isinstance(value, tuple)
        else value for name, value in values.items()})
    return body.getvalue()


def unpack(name: str, body: bytes) -> Layer:
    """The layer that `pack` made these bytes of."""
    with np.load(io.BytesIO(body)) as stored:
        values: dict[str, Any] = {
            key: tuple(json.loads(value.tobytes())) if value.dtype == np.uint8 else value
            for key, value in stored.items()}
    return LAYERS[name](**values)


def _kind(name: str) -> type[Layer]:
    if name not in LAYERS:
        raise ParameterError(f"there is no layer {name[:60]!r}; choose {', '.join(LAYERS)}")
    return LAYERS[name]


class _Remembering:
    """Embeds only what is not known, and reports how far it has come."""

    def __init__(self, embedder: Embeds, known: dict[str, Vectors], name: str,
                 report: Report) -> None:
        self._embedder, self._known = embedder, known
        self._name, self._report = name, report

    def embed(self, texts: Sequence[str], /) -> Vectors:
        """Unit rows, shape (k, d)."""
        fresh = [text for text in dict.fromkeys(texts) if text not in self._known]
        for first in range(0, len(fresh), BATCH):
            self._report(self._name, first, len(fresh))
            some = fresh[first:first + BATCH]
            self._known.update(zip(some, self._embedder.embed(some), strict=True))
        return np.array([self._known[text] for text in texts], np.float32)
