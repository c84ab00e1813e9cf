"""Derived layers: what some methods need besides the graph, built from it on demand.

A layer is a frozen record of arrays and texts, and a pure function of the graph, its texts and
the embedder: built anew or brought up to date, its bytes are the same.
"""

import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, ClassVar, Protocol, Self
from weakref import WeakKeyDictionary

import numpy as np

from qafd.errors import ParameterError
from qafd.graph import Graph
from qafd.pace import silent
from qafd.records import Vectors
from qafd.retrieve.layers.communities import Communities
from qafd.retrieve.layers.imported import KEPT, find_kept, make_communities
from qafd.retrieve.layers.sentences import Sentences
from qafd.retrieve.layers.summaries import Summaries
from qafd.retrieve.layers.texts import Embeds, Texts, texts_of
from qafd.retrieve.layers.tree import Tree
from qafd.storage import Workspace
from qafd.storage.rows import LayerRow

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


class LayerOrigin(StrEnum):
    """Where a layer is from."""

    COMPUTED = "computed"
    IMPORTED = "imported"


@dataclass(frozen=True)
class LayerState:
    """A layer of a workspace: `state` is "built", "stale" (of another graph) or "missing"."""

    name: str
    state: str
    built_at: str = ""
    size: int = 0
    origin: LayerOrigin = LayerOrigin.COMPUTED


def build(name: str, graph: Graph, texts: Texts, embedder: Embeds, old: Layer | None = None,
          report: Report = silent) -> Layer:
    """One layer of a graph; texts that `old` has too keep their vectors.

    Raises
    ------
    ParameterError
        There is no layer of this name.
    """
    return _kind(name).build(graph, texts, _Remembering(embedder, _known(old), name, report))


def _known(layer: Layer | None) -> dict[str, Vectors]:
    """The vectors of a layer's texts."""
    return {} if layer is None else dict(zip(layer.texts, layer.vectors, strict=True))


def bring_up_to_date(
    store: Workspace, embedder: Embeds, names: Iterable[str] = LAYERS, report: Report = silent,
    stopped: Callable[[], bool] = lambda: False,
) -> tuple[str, ...]:
    """Build the layers among `names` that are missing or stale; returns their names.

    Communities that were imported are taken as they are while the graph is that of the import.

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
        olds = {}
        for name in todo:
            if name in rows and (rows[name].builder < 0 or
                                 rows[name].builder == LAYERS[name].builder):
                olds[name] = unpack(name, store.layers.body(name))
        builders = _builders(store, rows)
        given = store.layers.body(KEPT) if builders["communities"] < 0 else None
    for name in todo:
        if stopped():
            break
        if given is not None and name == "communities":
            layer: Layer = make_communities(
                graph, given, _Remembering(embedder, _known(olds.get(name)), name, report))
        else:
            layer = build(name, graph, texts, embedder, olds.get(name), report)
        store.layers.put(name, version, builders[name], pack(layer))
        built.append(name)
    return tuple(built)


def states(store: Workspace) -> tuple[LayerState, ...]:
    """How each layer of a workspace stands, in the order of LAYERS."""
    with store.snapshot():
        rows, version = store.layers.rows(), store.graph.version
        builders = _builders(store, rows)
    found = []
    for name, builder in builders.items():
        row = rows.get(name)
        if row is None:
            found.append(LayerState(name, "missing"))
            continue
        state = "built" if (row.version, row.builder) == (version, builder) else "stale"
        origin = LayerOrigin.IMPORTED if row.builder < 0 else LayerOrigin.COMPUTED
        found.append(LayerState(name, state, row.built_at, row.size, origin))
    return tuple(found)


def kept_layers(store: Workspace) -> set[str]:
    """The layers that are to follow the graph: those that were built, and imported communities."""
    rows = store.layers.rows()
    names = rows.keys() & LAYERS.keys()
    return names | {"communities"} if KEPT in rows else names


def _builders(store: Workspace, rows: Mapping[str, LayerRow]) -> dict[str, int]:
    """What has to have built each layer; below zero where it is imported."""
    builders = {name: kind.builder for name, kind in LAYERS.items()}
    kept = find_kept(store, rows)
    if kept is not None:
        builders["communities"] = kept.builder
    return builders


_LAYERS: WeakKeyDictionary[Graph, dict[str, Layer]] = WeakKeyDictionary()


def layers_of(graph: Graph, store: Workspace, names: Sequence[str]) -> dict[str, Layer]:
    """The layers among `names` that are built for a graph; read once for each graph in memory."""
    read = _LAYERS.setdefault(graph, {})
    if missing := [name for name in names if name not in read]:
        with store.snapshot():
            version, rows = store.graph.version_at(graph.revision), store.layers.rows()
            builders = _builders(store, rows)
            for name in missing:
                row = rows.get(name)
                if row and (row.version, row.builder) == (version, builders[name]):
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
