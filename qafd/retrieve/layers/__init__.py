"""Derived layers: input of some methods besides the graph, built from it on demand.

A layer is a frozen record of arrays and texts, and a pure function of the graph, its texts, the embedder
and the texts that a language model wrote for it: built again or updated, its bytes are the same.
"""

import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, ClassVar, Protocol, Self
from weakref import WeakKeyDictionary

import numpy as np

from qafd.arrays import ByteRows, to_bytes
from qafd.errors import ModelError, ParameterError
from qafd.graph import Graph
from qafd.models import calls_of
from qafd.models.cost import Metered, RunPlan, plan_run
from qafd.records import Vectors
from qafd.retrieve.layers.communities import Communities
from qafd.retrieve.layers.sentences import Sentences
from qafd.retrieve.layers.summaries import Descriptions, Summaries
from qafd.retrieve.layers.texts import Embeds, Texts, texts_of
from qafd.retrieve.layers.tree import Tree
from qafd.retrieve.layers.writing import (
    IN_FLIGHT,
    Asking,
    Authorship,
    Extracts,
    Kept,
    Writer,
    find_author,
    keep_author,
)
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
    def build(cls, graph: Graph, texts: Texts, embedder: Embeds, writer: Writer, /) -> Self:
        """Return the layer of a graph; `builder` counts the versions of this function."""
        ...


LAYERS: dict[str, type[Layer]] = {
    "sentences": Sentences, "summaries": Summaries, "communities": Communities, "tree": Tree,
    "descriptions": Descriptions}

WRITABLE = ("communities", "summaries", "tree", "descriptions")
"""The layers whose texts a language model may write."""

Report = Callable[[str, int, int], None]
"""Called with the layer at work, how many of its texts are embedded, and how many there are."""


@dataclass(frozen=True)
class LayerState:
    """A layer of a workspace: `state` is "built", "stale" (of another graph) or "missing".

    `model` wrote `written` of its texts; the others are made of sentences.
    """

    name: str
    state: str
    built_at: str = ""
    size: int = 0
    model: str = ""
    written: int = 0
    texts: int = 0


def build(name: str, graph: Graph, texts: Texts, embedder: Embeds, old: Layer | None = None,
          report: Report = ignore_progress, writer: Writer | None = None) -> Layer:
    """Return one layer of a graph; texts that `old` has too keep their vectors.

    Raises
    ------
    ParameterError
        There is no layer of this name.
    """
    remembering = _Remembering(embedder, _map_vectors(old), name, report)
    return _kind(name).build(graph, texts, remembering, writer or Extracts())


def _map_vectors(layer: Layer | None) -> dict[str, Vectors]:
    """Return the vectors of a layer's texts."""
    return {} if layer is None else dict(zip(layer.texts, layer.vectors, strict=True))


def bring_up_to_date(
    store: Workspace, embedder: Embeds, names: Iterable[str] = LAYERS, report: Report = ignore_progress,
    stopped: Callable[[], bool] = lambda: False,
) -> tuple[str, ...]:
    """Build the layers among `names` that are missing or stale; return their names.

    A text that a language model wrote is used where its input is the same; none is asked, see
    `write_layers`.

    Raises
    ------
    ParameterError
        There is no layer of a name.
    StoreError
        The graph is not up to date.
    """
    wanted = _check_names(names)
    author = find_author(store)

    def writer(_: str) -> Writer:
        return Extracts() if author is None else Kept(store.place.url, author)

    with store.snapshot():
        todo = [layer.name for layer in states(store)
                if layer.name in wanted and layer.state != "built"]
    return _Builder(store, embedder, report, stopped).build(todo, writer)


def write_layers(store: Workspace, embedder: Embeds, names: Iterable[str], client: Metered,
                 report: Report = ignore_progress,
                 stopped: Callable[[], bool] = lambda: False) -> tuple[str, ...]:
    """Build layers with texts that a language model writes; return their names.

    Every reply is saved: a stopped run continues without paying twice, and layers that follow the graph
    later keep the texts that still hold. Where the model fails, its texts so far are used.

    Raises
    ------
    ParameterError
        There is no layer of a name.
    StoreError
        The graph is not up to date.
    ModelError
        From the model; a cap that would be exceeded is one.
    """
    wanted = _check_names(names)
    author = _author_of(store, client)
    keep_author(store, author)
    builder = _Builder(store, embedder, report, stopped)

    def asking(name: str) -> Writer:
        return Asking(client, author, partial(report, name), stopped)

    def reuse(_: str) -> Writer:
        return Kept(store.place.url, author)

    built: list[str] = []
    for name in wanted:
        try:
            built += builder.build([name], asking)
        except ModelError:
            builder.build([name], reuse)
            raise
    return tuple(built)


def plan_layers(store: Workspace, embedder: Embeds, names: Iterable[str], client: Metered) -> RunPlan:
    """Estimate the cost of `write_layers`; no call is made, and nothing is stored.

    The upper levels of the tree sum up texts not written yet, so they are counted by texts of sentences.
    """
    author = _author_of(store, client)
    requests: dict[str, Any] = {}
    with store.snapshot():
        graph = store.graph.read()
        texts = texts_of(graph, store)
    for name in _check_names(names):
        writer = Kept(store.place.url, author)
        build(name, graph, texts, embedder, writer=writer)
        requests |= writer.requests
    return plan_run(client, ((messages, 1) for messages in requests.values()), author.limit,
                    in_flight=IN_FLIGHT)


def _author_of(store: Workspace, client: Metered) -> Authorship:
    """Return a model as the author of a workspace's layers."""
    before = find_author(store)
    return Authorship(client.name, client.address, calls_of(client).reply_tokens,
                      before.counts if before else {})


def _check_names(names: Iterable[str]) -> tuple[str, ...]:
    wanted = tuple(dict.fromkeys(names))
    for name in wanted:
        _kind(name)
    return wanted


class _Builder:
    """Builder of layers of the present graph of a workspace, which saves each at once."""

    def __init__(self, store: Workspace, embedder: Embeds, report: Report,
                 stopped: Callable[[], bool]) -> None:
        self._store, self._embedder = store, embedder
        self._report, self._stopped = report, stopped

    def build(self, names: Sequence[str], writer_of: Callable[[str], Writer]) -> tuple[str, ...]:
        """Build some layers, each with its own writer, and return the names of those that were built."""
        store = self._store
        if not names:
            return ()
        with store.snapshot():
            version, graph, rows = store.graph.version, store.graph.read(), store.layers.rows()
            texts = texts_of(graph, store)
            olds = {}
            for name in names:
                if name in rows and rows[name].builder == LAYERS[name].builder:
                    olds[name] = unpack(name, store.layers.body(name))
        built = []
        for name in names:
            if self._stopped():
                break
            writer = writer_of(name)
            layer = build(name, graph, texts, self._embedder, olds.get(name), self._report, writer)
            store.layers.put(name, version, LAYERS[name].builder, pack(layer))
            self._count(name, writer)
            for read in _LAYERS.values():  # the same graph may have another text now
                read.pop(name, None)
            built.append(name)
        return tuple(built)

    def _count(self, name: str, writer: Writer) -> None:
        """Note how many texts of a layer its author wrote."""
        author = find_author(self._store)
        if author is not None and isinstance(writer, Kept):
            counts = {**author.counts, name: (len(writer.texts), len(writer.requests))}
            keep_author(self._store, replace(author, counts=counts))


def merged_descriptions(store: Workspace) -> dict[str, str]:
    """Return the description of each entity that has many, by node id; empty where the layer is not built."""
    with store.snapshot():
        row = store.layers.rows().get("descriptions")
        if row is None or (row.version, row.builder) != (store.graph.version, Descriptions.builder):
            return {}
        layer = unpack("descriptions", store.layers.body("descriptions"))
    assert isinstance(layer, Descriptions)
    return dict(zip(layer.entities, layer.texts, strict=True))


def states(store: Workspace) -> tuple[LayerState, ...]:
    """List the state of each layer of a workspace, in the order of LAYERS."""
    with store.snapshot():
        rows, version, author = store.layers.rows(), store.graph.version, find_author(store)
    found = []
    for name, kind in LAYERS.items():
        row = rows.get(name)
        if row is None:
            found.append(LayerState(name, "missing"))
            continue
        state = "built" if (row.version, row.builder) == (version, kind.builder) else "stale"
        layer = LayerState(name, state, row.built_at, row.size)
        written, count = author.counts.get(name, (0, 0)) if author else (0, 0)
        if author is not None and written:
            layer = replace(layer, model=author.model, written=written, texts=count)
        found.append(layer)
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
