"""The diffusions of several questions or seeds as one retrieval, Eq. (6) and (7)."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from typing import Any

from qafd.reasons import Notice, NoticeKind, ReasonKind, reason
from qafd.retrieve.base import (
    DRY,
    SATURATED,
    WET,
    RankedPassage,
    Retrieval,
    RetrievedEdge,
    RetrievedNode,
)

KEPT = 3  # passages of a question that stay before those of its further questions
_WORST = ("residual", "overfull", "unfilled", "negative", "relative_gap", "rtol")
_SUMS = ("gap", "objective", "volume", "source", "touched", "edges", "rounds", "expansions")


def unite(parts: Sequence[Retrieval]) -> Retrieval:
    """Return the union of the retrievals of several questions or seeds, all on one graph.

    Importance, mass, source and capacity of a node add up, since each diffusion has buckets of its
    own; flows are netted, and an edge has its largest weight. The certificate has the worst
    violation of any part and the sums of their masses; `parts` keep their own.
    """
    versions: dict[str, list[tuple[int, RetrievedNode]]] = {}
    for number, part in enumerate(parts):
        for node in part.nodes:
            versions.setdefault(node.id, []).append((number, node))
    nodes = sorted(map(_join, versions.values()), key=lambda n: (-n.importance, -n.mass, n.id))
    support = sum(node.importance > 0 for node in nodes)
    return replace(
        parts[0], parts=tuple(parts), nodes=tuple(nodes), edges=net_edges(part.edges for part in parts),
        certificate=_certificate([part.certificate or {} for part in parts], support),
        seeds=tuple(dict.fromkeys(chain.from_iterable(part.seeds for part in parts))),
        notices=_notices(list(chain.from_iterable(part.notices for part in parts))))


def weave(rankings: Iterable[Sequence[RankedPassage]]) -> tuple[RankedPassage, ...]:
    """Return the passages of a question with those of its further ones among them, each once.

    The first three of the question stay first; from there on the rankings take turns, those of the
    further questions before its own.
    """
    own, *others = rankings
    turns = chain.from_iterable(zip_longest(*others, own[KEPT:]))
    woven: dict[str, RankedPassage] = {}
    for passage in (*own[:KEPT], *turns):
        if passage is not None:
            woven.setdefault(passage.id, passage)
    return tuple(woven.values())


def net_edges(parts: Iterable[Sequence[RetrievedEdge]]) -> tuple[RetrievedEdge, ...]:
    """Return the edges of several diffusions with their net flow, each with its largest weight."""
    net: dict[tuple[str, str], float] = {}
    widest: dict[tuple[str, str], RetrievedEdge] = {}
    for edge in chain.from_iterable(parts):
        pair = (min(edge.source, edge.target), max(edge.source, edge.target))
        net[pair] = net.get(pair, 0.0) + (edge.flow if pair[0] == edge.source else -edge.flow)
        widest[pair] = max(widest.get(pair, edge), edge, key=lambda one: one.weight)
    edges = []
    for pair, flow in sorted(net.items()):
        source, target = pair if flow >= 0 else pair[::-1]
        edges.append(replace(widest[pair], source=source, target=target, flow=abs(flow)))
    return tuple(edges)


def _notices(found: Sequence[Notice]) -> tuple[Notice, ...]:
    """Return one notice of each kind: their numbers are counts and masses, which add up."""
    merged: dict[NoticeKind, Notice] = {}
    for one in dict.fromkeys(found):
        known = merged.get(one.kind)
        if known is not None:
            values = dict(one.values)
            for name, value in one.values.items():
                before = known.values[name]
                if isinstance(value, (int, float)) and isinstance(before, (int, float)):
                    values[name] = before + value
            one = replace(one, values=values)
        merged[one.kind] = one
    return tuple(merged.values())


def _join(versions: Sequence[tuple[int, RetrievedNode]]) -> RetrievedNode:
    """Return the sum of a node over its parts; the reason is that of the most important one."""
    nodes = [node for _, node in versions]
    best = max(nodes, key=lambda node: (node.importance, node.mass))
    brought = tuple(number for number, node in versions if node.importance > 0)
    x, mass = sum(node.importance for node in nodes), sum(node.mass for node in nodes)
    told = best.reason
    if brought:
        numbers = tuple(number + 1 for number in brought)
        told = replace(told, also=(*told.also, reason(ReasonKind.BROUGHT_BY, diffusions=numbers)))
    return replace(
        best, importance=x, mass=mass, capacity=sum(node.capacity for node in nodes),
        source=sum(node.source for node in nodes), seed=any(node.seed for node in nodes),
        state=SATURATED if x > 0 else WET if mass > 0 else DRY,
        alignment=max(node.alignment for node in nodes), brought_by=brought, reason=told)


def _certificate(parts: Sequence[dict[str, Any]], support: int) -> dict[str, Any]:
    of = {name: [part[name] for part in parts] for name in ("optimal", "flaws", "balance", *_WORST, *_SUMS)}
    return {
        "optimal": all(of["optimal"]), "flaws": tuple(chain.from_iterable(of["flaws"])),
        "support": support, "balance": tuple(chain.from_iterable(of["balance"])),
        **{name: max(of[name]) for name in _WORST}, **{name: sum(of[name]) for name in _SUMS}}
