"""Shapes of a method's own picture: communities, rings of hops, paths."""

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass

from qafd.reasons import Reason, ReasonKind
from qafd.retrieve.base import Retrieval

HULL, RING, RIBBON = "hull", "ring", "ribbon"
HOPS = 2  # rings around the seeds
RIBBONS = 6
_PATHS = (ReasonKind.ON_PATH, ReasonKind.ON_FLOW_PATH)
_HOPS = (ReasonKind.ONE_HOP, ReasonKind.RELATION_END)


@dataclass(frozen=True)
class Idiom:
    """A shape over some nodes: a hull around a community, a ring around those within some hops of
    the seeds, or a ribbon along a path.

    `nodes` are ids, of a ribbon in the order of its path; `title` is the name of a community,
    `number` the hops of a ring or the place of a path.
    """

    shape: str
    nodes: tuple[str, ...]
    title: str = ""
    number: int = 0


def idioms_of(retrieval: Retrieval) -> tuple[Idiom, ...]:
    """Return the shapes that the reasons of a retrieval describe; none for most methods."""
    communities: defaultdict[int, list[str]] = defaultdict(list)
    titles: dict[int, str] = {}
    paths: dict[int, tuple[bool, tuple[str, ...]]] = {}
    hops = False
    for node in retrieval.nodes:
        for reason in _all_of(node.reason):
            if reason.kind == ReasonKind.IN_COMMUNITY:
                community = int(str(reason.values["community"]))
                communities[community].append(node.id)
                titles[community] = str(reason.values["title"])
            elif reason.kind in _PATHS:
                way = reason.values["way"]
                assert isinstance(way, tuple)
                place = int(str(reason.values["place"]))
                paths[place] = reason.kind == ReasonKind.ON_FLOW_PATH, tuple(map(str, way))
            elif reason.kind in _HOPS:
                hops = True
    found = [Idiom(HULL, tuple(nodes), titles[at]) for at, nodes in communities.items()]
    for place in sorted(paths)[:RIBBONS]:
        mixed, way = paths[place]
        found.append(Idiom(RIBBON, _ids_of(retrieval, way, mixed), number=place))
    if hops:
        found += _rings(retrieval)
    return tuple(idiom for idiom in found if len(idiom.nodes) > 1)


def _all_of(reason: Reason) -> Iterator[Reason]:
    """Yield a reason and all further ones in it."""
    yield reason
    for other in reason.also:
        yield from _all_of(other)


def _ids_of(retrieval: Retrieval, way: tuple[str, ...], mixed: bool) -> tuple[str, ...]:
    """Find the nodes of a path by their names; on a mixed one every second node is a passage."""
    known = {(node.kind == "passage", node.name): node.id for node in retrieval.nodes}
    ids = [known.get((mixed and place % 2 == 1, name)) for place, name in enumerate(way)]
    return tuple(node for node in ids if node is not None)


def _rings(retrieval: Retrieval) -> list[Idiom]:
    """Return the nodes within each number of hops of the seeds, the widest ring first."""
    near = defaultdict(list)
    for edge in retrieval.edges:
        near[edge.source].append(edge.target)
        near[edge.target].append(edge.source)
    hops = dict.fromkeys(retrieval.seeds, 0)
    waiting = deque(retrieval.seeds)
    while waiting:
        node = waiting.popleft()
        for other in near[node]:
            if other not in hops:
                hops[other] = hops[node] + 1
                waiting.append(other)
    rings = []
    for most in range(min(HOPS, max(hops.values(), default=0)), -1, -1):
        rings.append(Idiom(RING, tuple(node for node in hops if hops[node] <= most), number=most))
    return rings
