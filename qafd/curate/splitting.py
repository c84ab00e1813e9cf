"""Entities that may be two things of one name, and the edit that splits one by its passages."""

import warnings
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from qafd.curate.entities import Entity, check_name, entities, entity
from qafd.errors import ParameterError
from qafd.graph import Graph
from qafd.reading.text import canonical
from qafd.records import Vectors
from qafd.storage import Workspace

FEWEST = 2  # passages of a group
LARGEST = 400  # passages of an entity that is looked at: one in more is split by nobody
GAP = 0.15  # by which passages of a group are more alike than those of two
SHARED = 0.15  # of the other entities of the smaller group that the larger one may have too
ROUNDS = 10  # of 2-means at most


@dataclass(frozen=True)
class Mixed:
    """An entity whose passages fall into two groups, which may be about two things.

    `groups` has the ids of their passages, the larger group first; `gap` is the mean cosine within
    groups minus that between them, and `shared` the share of the entities of the smaller group that
    the larger one mentions too.
    """

    entity: Entity
    groups: tuple[tuple[str, ...], tuple[str, ...]]
    gap: float
    shared: float


def find_mixed(store: Workspace, graph: Graph) -> tuple[Mixed, ...]:
    """Return the entities that may be two, those with the clearest groups first.

    By 2-means of the vectors of their passages, where the groups have few other entities in common.
    """
    passages, mentioned = _mentions(store)
    found = []
    for one in entities(store):
        own = sorted(passages.get(one.id, ()))
        if graph.vectors is None or not 2 * FEWEST <= len(own) <= LARGEST:
            continue
        rows = graph.vectors[np.array([graph.row[passage] for passage in own])]
        second = _part(rows)
        if min(second.sum(), (~second).sum()) < FEWEST:
            continue
        small, large = sorted((list(compress(own, ~second)), list(compress(own, second))), key=len)
        shared = _share(small, large, mentioned, one.id)
        gap = _gap(rows, second)
        if gap >= GAP and shared <= SHARED:
            found.append(Mixed(one, (_chunks_of(store, large), _chunks_of(store, small)), gap, shared))
    return tuple(sorted(found, key=lambda mixed: (-mixed.gap, mixed.entity.name)))


def _chunks_of(store: Workspace, passages: Iterable[str]) -> tuple[str, ...]:
    """Return the ids of passages by those of their nodes."""
    return tuple(node.key for node in store.graph.nodes(passages).values())


def split(store: Workspace, known: str, name: str, passages: Iterable[str]) -> int:
    """Split an entity: in some passages it becomes `name`. Return the number of the edit.

    Parameters
    ----------
    passages : iterable of str
        Ids of passages that mention it. In later documents the old name means the old entity.

    Raises
    ------
    ParameterError
        There is no such entity, `name` is its own name or hidden, or `passages` are none or all of
        its passages.
    """
    one, name = entity(store, known), check_name(store, name)
    chosen = sorted(set(passages))
    if canonical(name) == one.key:
        raise ParameterError(f"{name!r} counts as the same name as {one.name!r}; give the new entity "
                             "another name, such as one of two words")
    own = passages_of(store, one)
    strange = [passage for passage in chosen if passage not in own]
    if strange:
        raise ParameterError(f"passage {strange[0]!r} does not mention {one.name!r}; 'qafd entities --mixed' "
                             "lists passages")
    if not chosen or len(chosen) == len(own):
        raise ParameterError(f"{one.name!r} has {len(own)} passages; choose some of them, and not all")
    return store.edits.add("split", one.key, name, passages=chosen)


def passages_of(store: Workspace, one: Entity) -> tuple[str, ...]:
    """Return the ids of the passages that mention an entity, in the order of documents."""
    nodes = {edge.target for edge in store.graph.edges([one.id], "mention")}
    chunks = store.passages.of_nodes(nodes).values()
    return tuple(chunk.id for chunk in sorted(chunks, key=lambda chunk: (chunk.document, chunk.start)))


def _mentions(store: Workspace) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return the passages of each entity and the entities of each passage, by node ids."""
    passages: dict[str, set[str]] = {}
    mentioned: dict[str, set[str]] = {}
    for edge in store.listing.edges():
        if edge.kind == "mention":
            passages.setdefault(edge.source, set()).add(edge.target)
            mentioned.setdefault(edge.target, set()).add(edge.source)
    return passages, mentioned


def _part(rows: Vectors) -> NDArray[np.bool_]:
    """Return which of some unit rows are in the second of two groups, from the two most unlike ones on."""
    from scipy.cluster.vq import kmeans2  # which only this page needs

    first, last = np.unravel_index(np.argmin(rows @ rows.T), (len(rows), len(rows)))
    exact = rows.astype(np.float64)
    with warnings.catch_warnings(action="ignore"):  # of a group that is empty: no entity is split then
        _, group = kmeans2(exact, exact[[first, last]], ROUNDS, minit="matrix")
    return np.asarray(group == 1)


def _gap(rows: Vectors, second: NDArray[np.bool_]) -> float:
    """Return the mean cosine of two rows of one group minus that of two rows of both."""
    cosines = rows @ rows.T
    within = []
    for some in (~second, second):
        inside = cosines[np.ix_(some, some)]
        count = len(inside)
        within.append((float(inside.sum()) - float(np.trace(inside))) / (count * (count - 1)) * count)
    return sum(within) / len(rows) - float(cosines[np.ix_(~second, second)].mean())


def _share(small: Collection[str], large: Collection[str], mentioned: Mapping[str, set[str]],
           own: str) -> float:
    """Return the share of the entities of one group of passages that another has too."""
    few = set[str]().union(*(mentioned[passage] for passage in small)) - {own}
    many = set[str]().union(*(mentioned[passage] for passage in large)) - {own}
    return len(few & many) / len(few) if few else 0.0
