"""What every retrieval method returns: one subgraph, its reasons and its evidence."""

import json
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Protocol

from qafd.graph import Graph
from qafd.records import QueryPlan

SATURATED, WET, DRY = "saturated", "wet", "dry"


@dataclass(frozen=True)
class RetrievedNode:
    """A node the method touched.

    `importance` is x of Eq. (5) for flow diffusion and the method's own score elsewhere,
    always >= 0; `mass`, `capacity` and `source` are in units of mass (0 where a method has
    none); `degree` counts the node's neighbors in the graph the method ran on. `state` is
    "saturated" (retrieved), "wet" (touched by the front, not retrieved) or "dry" (a seed
    that took nothing). `reason` is one sentence in the method's own terms.
    """

    id: str
    name: str
    kind: str
    importance: float
    mass: float
    state: str
    reason: str
    capacity: float = 0.0
    source: float = 0.0
    degree: int = 0
    seed: bool = False
    alignment: float = 0.0


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
    """A passage, best first; `text == document text[start:end]`."""

    id: str
    document: str
    title: str
    text: str
    score: float
    start: int
    end: int
    page: int | None = None
    heading: str = ""


@dataclass(frozen=True)
class Work:
    """What the retrieval cost: nodes and edges touched, solver rounds, milliseconds."""

    nodes_touched: int = 0
    edges_touched: int = 0
    rounds: int = 0
    milliseconds: float = 0.0


@dataclass(frozen=True)
class Retrieval:
    """The answer of one method to one question; nodes are most important first."""

    query: str
    method: str
    params: dict[str, Any]
    seeds: tuple[str, ...]
    nodes: tuple[RetrievedNode, ...]
    edges: tuple[RetrievedEdge, ...]
    passages: tuple[RetrievedPassage, ...]
    certificate: dict[str, Any] | None = None
    work: Work = field(default_factory=Work)
    notices: tuple[str, ...] = ()
    revision: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The retrieval as plain JSON values."""
        return asdict(self)

    def to_json(self) -> str:
        """The retrieval as one JSON object; floats keep all their digits."""
        return json.dumps(self.to_dict(), ensure_ascii=False)


class Retriever(Protocol):
    """A retrieval method: a frozen dataclass of its parameters with one call."""

    def retrieve(self, graph: Graph, plan: QueryPlan) -> Retrieval:
        """The subgraph and passages for a question; never calls a language model."""
        ...


def knob(default: Any, low: float | None = None, high: float | None = None, *, help: str,
         options: tuple[str, ...] = (), advanced: bool = False) -> Any:
    """A dataclass field with its range or options, from which the app makes a control."""
    return field(default=default, metadata={
        "low": low, "high": high, "help": help, "options": options, "advanced": advanced})


def params_of(method: Any) -> dict[str, Any]:
    """The parameters of a method, after defaulting."""
    return {f.name: getattr(method, f.name) for f in fields(method)}
