"""Derived layers: input of some methods besides the graph, built from it on demand.

A layer is a frozen record of arrays and texts, and a pure function of the graph, its texts and the
embedder: built again or updated, its bytes are the same.
"""

import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol, Self
from weakref import WeakKeyDictionary

import numpy as np

from qafd.arrays import ByteRows, to_bytes
from qafd.errors import ParameterError
from qafd.graph import Graph
from qafd.records import Vectors
from qafd.retrieve.layers.communities import Communities
from qafd.retrieve.layers.sentences import Sentences
from qafd.retrieve.layers.summaries import Summaries
from qafd.retrieve.layers.texts import Embeds, Texts, texts_of
from qafd.retrieve.layers.tree import Tree
from qafd.storage import Workspace
from qafd.time_left import ignore_progress

BATCH = 64  # texts embedded between two reports


class Layer(Protocol):
    """A frozen dataclass of tuples of str and arrays; those of float32 are vectors, none is of bytes."""

    builder: ClassVar[int]

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the texts of its vectors, length k."""
        ...

    @property
    def vectors(self) -> Vectors:
        """Unit rows, shape (k, d)."""
        ...

    @classmethod
    def build(cls, graph: Graph, texts: Texts, embedder: Embeds, /) -> Self:
        """Return the layer of a graph; `builder` counts the versions of this function."""
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
          report: Report = ignore_progress) -> Layer:
    """Return one layer of a graph; texts that `old` has too keep their vectors.

    Raises
    ------
    ParameterError
        There is no layer of this name.
    """
    known = {} if old is None else dict(zip(old.texts, old.vectors, strict=True))
    return _kind(name).build(graph, texts, _Remembering(embedder, known, name, report))


def bring_up_to_date(
    store: Workspace, embedder: Embeds, names: Iterable[str] = LAYERS, report: Report = ignore_progress,
    stopped: Callable[[], bool] = lambda: False,
) -> tuple[str, ...]:
    """Build the layers among `names` that are missing or stale, and save each at once; return their names.

    Raises
    ------
    ParameterError
        There is no layer of a name.
    StoreError
        The graph is not up to date.
    """
    wanted = {name: _kind(name) for name in names}
    with store.snapshot():
        todo = [layer.name for layer in states(store)
                if layer.name in wanted and layer.state != "built"]
        if not todo:
            return ()
        version, graph, rows = store.graph.version, store.graph.read(), store.layers.rows()
        texts = texts_of(graph, store)
        olds = {name: unpack(name, store.layers.body(name)) for name in todo
                if name in rows and rows[name].builder == wanted[name].builder}
    built = []
    for name in todo:
        if stopped():
            break
        layer = build(name, graph, texts, embedder, olds.get(name), report)
        store.layers.put(name, version, wanted[name].builder, pack(layer))
        built.append(name)
    return tuple(built)


def states(store: Workspace) -> tuple[LayerState, ...]:
    """List the state of each layer of a workspace, in the order of LAYERS."""
    with store.snapshot():
        rows, version = store.layers.rows(), store.graph.version
    found = []
    for name, kind in LAYERS.items():
        row = rows.get(name)
        if row is None:
            found.append(LayerState(name, "missing"))
        else:
            state = "built" if (row.version, row.builder) == (version, kind.builder) else "stale"
            found.append(LayerState(name, state, row.built_at, row.size))
    return tuple(found)


def kept_layers(store: Workspace) -> set[str]:
    """Return the layers that are to follow the graph: those that were built."""
    return store.layers.rows().keys() & LAYERS.keys()


_LAYERS: WeakKeyDictionary[Graph, dict[str, Layer]] = WeakKeyDictionary()


def layers_of(graph: Graph, store: Workspace, names: Sequence[str]) -> dict[str, Layer]:
    """Return the layers among `names` that are built for a graph; read once for each graph in memory."""
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
    """Return a layer as bytes, the same for equal layers; its vectors have a byte a number."""
    values: dict[str, Any] = {}
    for spec in fields(layer):  # type: ignore[arg-type]
        value = getattr(layer, spec.name)
        if isinstance(value, tuple):
            value = np.frombuffer(json.dumps(value).encode(), np.uint8)
        elif value.dtype == np.float32 and value.ndim == 2:
            value = to_bytes(value)
        values[spec.name] = value
    body = io.BytesIO()
    np.savez_compressed(body, **values)
    return body.getvalue()


def unpack(name: str, body: bytes) -> Layer:
    """Return the layer that `pack` made these bytes of."""
    values: dict[str, Any] = {}
    with np.load(io.BytesIO(body)) as stored:
        for key, value in stored.items():
            if value.dtype == np.uint8:
                value = tuple(json.loads(value.tobytes()))
            elif value.dtype == np.int8:
                value = ByteRows.of(value)[:]
            values[key] = value
    return LAYERS[name](**values)


def _kind(name: str) -> type[Layer]:
    if name not in LAYERS:
        raise ParameterError(f"there is no layer {name[:60]!r}; choose {', '.join(LAYERS)}")
    return LAYERS[name]


class _Remembering:
    """Embedder of texts without known vectors, which reports its progress."""

    def __init__(self, embedder: Embeds, known: dict[str, Vectors], name: str,
                 report: Report) -> None:
        self._embedder, self._known = embedder, known
        self._name, self._report = name, report

    def embed(self, texts: Sequence[str], /) -> Vectors:
        """Return unit rows, shape (k, d)."""
        fresh = [text for text in dict.fromkeys(texts) if text not in self._known]
        for first in range(0, len(fresh), BATCH):
            self._report(self._name, first, len(fresh))
            some = fresh[first:first + BATCH]
            vectors = self._embedder.embed(some)
            # as they are stored, so that a layer built again and one updated are equal
            kept = ByteRows.of(to_bytes(vectors))[:]
            self._known.update(zip(some, kept, strict=True))
        return np.array([self._known[text] for text in texts], np.float32)
