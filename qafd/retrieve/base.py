"""Retrieval: one subgraph with its reasons and passages, as every method returns it."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from enum import StrEnum
from html import escape
from importlib import import_module
from numbers import Real
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Protocol,
    Self,
    SupportsIndex,
    TypeVar,
    overload,
)

import numpy as np

from qafd import __version__
from qafd.errors import MissingLayerError, ParameterError
from qafd.graph import Graph
from qafd.reasons import UNSTATED, Notice, Reason
from qafd.records import Chunk, Nodes, QueryPlan
from qafd.retrieve.seeds import SURE, Passages

if TYPE_CHECKING:
    import networkx


SATURATED, WET, DRY = "saturated", "wet", "dry"


@dataclass(frozen=True)
class RetrievedNode:
    """A node the method touched.

    `importance` is x of Eq. (5) for flow diffusion and the method's own score elsewhere,
    always >= 0; `mass`, `capacity` and `source` are in units of mass (0 where a method has
    none); `degree` counts the node's neighbors in the graph the method ran on. `state` is
    "saturated" (retrieved), "wet" (touched by the front, not retrieved) or "dry" (a seed
    that took nothing). `reason` is in the method's own terms (`qafd.wording.reasons` words it);
    `brought_by` lists the diffusions (from 0) that retrieved it, where there are several.
    """

    id: str
    name: str
    kind: str
    importance: float
    mass: float
    state: str
    reason: Reason = UNSTATED
    capacity: float = 0.0
    source: float = 0.0
    degree: int = 0
    seed: bool = False
    alignment: float = 0.0
    brought_by: tuple[int, ...] = ()


@dataclass(frozen=True)
class RetrievedEdge:
    """An edge between touched nodes; `flow` >= 0 runs from `source` to `target`."""

    source: str
    target: str
    kind: str
    flow: float
    weight: float
    label: str = ""


@dataclass(frozen=True)
class RetrievedPassage:
    """A passage; `text` is at `start:end` of its document.

    `id` is its node, `chunk` its passage in the store; `parts` are those of `RankedPassage`. `name`
    distinguishes it from the other passages of its document, which have the same title.
    """

    id: str
    chunk: str
    document: str
    title: str
    text: str
    score: float
    start: int
    end: int
    page: int | None = None
    heading: str = ""
    parts: dict[str, float] = field(default_factory=dict, hash=False)
    name: str = ""


@dataclass(frozen=True)
class RankedPassage:
    """A passage's node id and its score, before its text is fetched.

    `parts` sum to the score (`qafd.retrieve.rank.PARTS`); they are empty for methods whose score
    has none.
    """

    id: str
    score: float
    parts: dict[str, float] = field(default_factory=dict, hash=False)


class StructureKind(StrEnum):
    """Kind of a structure other than nodes and passages that a method finds."""

    PATH = "path"
    REPORT = "report"
    SUMMARY = "summary"


@dataclass(frozen=True)
class Structure:
    """A path, or a text above several passages, that a method retrieved.

    `nodes` are ids in the order of a path; `title` and `text` are those of a report or summary.
    `score` is in the method's own terms: reliability, energy, cosine.
    """

    kind: StructureKind
    score: float
    nodes: tuple[str, ...] = ()
    title: str = ""
    text: str = field(default="", repr=False)


@dataclass(frozen=True)
class Work:
    """Time of a retrieval.

    `milliseconds` are those of a diffusion alone, `total_milliseconds` of the whole retrieval once the
    question was read; `KnowledgeGraph.retrieve` takes the time.
    """

    milliseconds: float = 0.0
    total_milliseconds: float = 0.0


@dataclass(frozen=True)
class Imprint:
    """Workspace, models and version that a retrieval was made with.

    `workspace` names one state of one workspace (`GraphStore.version`), `embedder` and `extractor` are
    the models that its graph was made with; "" is unknown, as for a graph of another time.
    """

    workspace: str = ""
    embedder: str = ""
    extractor: str = ""
    qafd: str = __version__


@dataclass(frozen=True)
class Retrieval:
    """The answer of one method to one question; nodes are most important first.

    Nodes and edges are tuples, or sequences like them that make their records when they are looked at
    (`Deferred`).

    A method fills `ranking`; `passages` are the same passages with their texts, which
    `qafd.knowledge` fetches from the store. `further` are the questions that were asked after it.
    `parts` are the retrievals of the questions, Eq. (6) and (7), or of the seeds that this one is the
    union of, each with its own certificate.
    `structures` are its paths, reports or summaries, best first, for the model that answers; neither
    they nor `ranking` are exported.
    """

    query: str
    method: str
    params: dict[str, Any]
    seeds: tuple[str, ...]
    nodes: Sequence[RetrievedNode]
    edges: Sequence[RetrievedEdge]
    ranking: tuple[RankedPassage, ...] = ()
    passages: tuple[RetrievedPassage, ...] = ()
    certificate: dict[str, Any] | None = None
    work: Work = field(default_factory=Work)
    notices: tuple[Notice, ...] = ()
    revision: int = 0
    parts: tuple["Retrieval", ...] = ()
    made_by: Imprint = field(default_factory=Imprint)
    structures: tuple[Structure, ...] = ()
    further: tuple[str, ...] = ()

    @property
    def later_seeds(self) -> frozenset[str]:
        """The seeds that further questions alone have, by id."""
        if not self.further or not self.parts:
            return frozenset()
        own = self.parts[:-len(self.further)]
        return frozenset(self.seeds).difference(*(part.seeds for part in own))

    @property
    def retrieved(self) -> tuple[RetrievedNode, ...]:
        """The nodes that are full."""
        return tuple(node for node in self.nodes if node.state == SATURATED)

    def node(self, id: str | None) -> RetrievedNode | None:
        """Return the node with an id; None where it was not touched."""
        return next((node for node in self.nodes if node.id == id), None)

    @property
    def record(self) -> dict[str, Any]:
        """Return the imprint, question and method, from which it can be made again."""
        return {**asdict(self.made_by), "revision": self.revision, "query": self.query,
                "method": self.method, "params": dict(self.params)}

    @property
    def named_share(self) -> float | None:
        """Share of the source mass that enters at names; None for methods without mass."""
        sources, kinds = column(self.nodes, "source"), column(self.nodes, "kind")
        poured = sum(sources)
        if poured <= 0:
            return None
        at_names = sum(mass for mass, kind in zip(sources, kinds, strict=True) if kind != "passage")
        return float(at_names / poured)

    @property
    def unsure(self) -> bool:
        """Return True if nothing was retrieved or the question has no sure name."""
        share = self.named_share
        return not self.nodes or (share is not None and share < SURE)

    def to_dict(self) -> dict[str, Any]:
        """Return the retrieval as plain JSON values."""
        made = replace(self, nodes=tuple(self.nodes), edges=tuple(self.edges), parts=())
        values = asdict(made)
        for left_out in ("ranking", "structures"):
            del values[left_out]
        return values | {"parts": [part.to_dict() for part in self.parts]}

    def to_json(self) -> str:
        """Return the retrieval as one JSON object; floats keep all their digits."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def to_html(self) -> str:
        """Return the picture as one HTML page that needs no network, as `qafd export --format html` does."""
        page: str = import_module("qafd.export").html(self)  # of a layer above
        return page

    def _repr_html_(self) -> str:
        """Return the picture as a notebook shows it."""
        return (f'<iframe srcdoc="{escape(self.to_html())}" title="{escape(self.query[:200])}" '
                'style="width: 100%; height: 640px; border: 0"></iframe>')

    def show(self) -> None:
        """Show the picture in a notebook; `to_html` gives a page for a browser.

        Raises
        ------
        ParameterError
            IPython, which every notebook has, is not installed.
        """
        try:
            from IPython.display import display
        except ImportError:
            raise ParameterError("show() needs a notebook; write to_html() into a file and open it in "
                                 "a browser") from None
        display(self)  # type: ignore[no-untyped-call]

    def to_networkx(self) -> "networkx.MultiDiGraph":
        """Return the retrieved subgraph; every edge points where its flow goes, its key is its kind.

        Nodes are ids with the fields of `RetrievedNode`, edges have kind, flow, weight and
        label; `graph` holds `record` and the seeds. A node's reason is its kind alone.
        """
        import networkx

        graph = networkx.MultiDiGraph(seeds=list(self.seeds), **self.record)
        for node in self.nodes:
            values = asdict(node)
            brought = " ".join(str(part + 1) for part in values.pop("brought_by"))
            values |= {"brought_by": brought} if self.parts else {}
            values["reason"] = str(node.reason.kind)
            graph.add_node(values.pop("id"), **values)
        for edge in self.edges:
            values = asdict(edge)
            graph.add_edge(values.pop("source"), values.pop("target"), key=edge.kind, **values)
        return graph


@dataclass(frozen=True, eq=False)
class Corpus:
    """The graph that a method retrieves from, its passages, and the layers built for it.

    `layers` maps names of `qafd.retrieve.layers.LAYERS` to built layers; a method lists those it
    requires in `needs`. `texts` maps node ids of passages to the passages.
    """

    graph: Graph
    passages: Passages
    layers: Mapping[str, Any] = field(default_factory=dict)
    texts: Callable[[Iterable[str]], Mapping[str, Chunk]] = field(default=lambda _: {})

    def layer(self, name: str) -> Any:
        """Return one layer; raise MissingLayerError, which names the command to build it."""
        if name not in self.layers:
            raise MissingLayerError(
                f"this method needs the layer {name!r}, which is not built for this graph; build "
                f"it on the page Compare or with 'qafd layers --build {name}'")
        return self.layers[name]


class Retriever(Protocol):
    """A retrieval method: a frozen dataclass of its parameters.

    `label` is its name for people, `idea` one line on how it retrieves, `source` the paper.
    """

    label: ClassVar[str]
    idea: ClassVar[str]
    source: ClassVar[str]
    needs: ClassVar[tuple[str, ...]]

    def fit_to(self, graph: Graph) -> "Retriever":
        """Return the method with the parameters suggested for a graph of this size."""
        ...

    def retrieve(self, corpus: Corpus, plan: QueryPlan) -> Retrieval:
        """Return the subgraph and passages for a question; never calls a language model."""
        ...


def knob(default: Any, low: float | None = None, high: float | None = None, *, help: str,
         options: tuple[str, ...] = (), advanced: bool = False) -> Any:
    """Return a dataclass field with its range or options, from which the app makes a control."""
    return field(default=default, metadata={
        "low": low, "high": high, "help": help, "options": options, "advanced": advanced})


def passages_ranked() -> Any:
    """Return the field of how many passages a method ranks."""
    return knob(20, 1, 100, advanced=True, help="How many passages are ranked.")


class Method:
    """Base of the frozen dataclasses of the methods; see `Retriever`.

    `shown` is the share of the best score from which a passage is shown to a model that answers.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    shown: ClassVar[float] = 0.05

    def __post_init__(self) -> None:
        """Raise ParameterError when a parameter is outside its range or options."""
        for spec in fields(self):  # type: ignore[arg-type]
            value, meta = getattr(self, spec.name), spec.metadata
            if meta["options"]:
                if value not in meta["options"]:
                    raise ParameterError(f"{spec.name} is {value!r}; "
                                         f"choose {', '.join(meta['options'])}")
            elif not isinstance(value, Real):
                raise ParameterError(f"{spec.name} is {str(value)[:40]!r}; give a number")
            elif isinstance(spec.default, int) and value % 1:
                raise ParameterError(f"{spec.name} is {value}; give a whole number")
            elif not meta["low"] <= value <= meta["high"]:
                raise ParameterError(f"{spec.name} is {str(value)[:40]}; give a number from "
                                     f"{meta['low']:g} to {meta['high']:g}")

    def fit_to(self, graph: Graph) -> Self:  # noqa: ARG002
        """Return the method itself, where nothing depends on the size of the graph."""
        return self

    def fewer(self, name: str, most: float) -> Self:
        """Return the method with at most `most`, but at least 2, of a number that was left alone."""
        default = next(spec.default for spec in fields(self)  # type: ignore[arg-type]
                       if spec.name == name)
        if getattr(self, name) != default:
            return self
        return replace(self, **{name: min(default, max(2, round(most)))})  # type: ignore[type-var]


def params_of(method: Any) -> dict[str, Any]:
    """Return the parameters of a method, after defaulting."""
    return {f.name: getattr(method, f.name) for f in fields(method)} if is_dataclass(method) else {}


T = TypeVar("T", covariant=True)


class Deferred(Sequence[T], Generic[T]):
    """A sequence like a tuple, whose records are made from arrays when they are read.

    A slice makes its part only; all records are made, and kept, once they are gone through. Equal to
    any sequence of equal records; a copy or pickle of it is a plain tuple.

    Parameters
    ----------
    length : int
    make : callable
        From places, shape (k,) and each below `length`, their records.
    columns : mapping of str to sequence of length `length`
        Fields that can be read without their records, see `column`.
    """

    def __init__(self, length: int, make: Callable[[Nodes], Sequence[T]],
                 columns: Mapping[str, Sequence[Any]]) -> None:
        self.columns = columns
        self._length, self._make = length, make
        self._made: tuple[T, ...] | None = None

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: SupportsIndex) -> T: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[T, ...]: ...

    def __getitem__(self, at: SupportsIndex | slice) -> T | tuple[T, ...]:
        if self._made is not None:
            return self._made[at]
        places = np.arange(self._length)[at]
        if isinstance(at, slice):
            return tuple(self._make(places))
        return self._make(places.reshape(1))[0]

    def __iter__(self) -> Iterator[T]:
        if self._made is None:
            self._made = tuple(self._make(np.arange(self._length)))
        return iter(self._made)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # as for a list

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[type[tuple[T, ...]], tuple[tuple[T, ...]]]:
        return tuple, (tuple(self),)


def column(records: Sequence[Any], name: str) -> Sequence[Any]:
    """Return one field of all records, without making those that are deferred where it lies ready."""
    if isinstance(records, Deferred) and name in records.columns:
        return records.columns[name]
    return [getattr(record, name) for record in records]
