"""Re-check a stored retrieval from its own numbers, without a graph and without a solver.

`qafd query --json` prints importances, masses, weights and flows together with the certificate
that was computed from them. Here everything that follows from these numbers is computed again and
compared. Facts that need the graph are not proved: that an edge weight is right, that
passages are relevant. The digest shows that nothing was changed afterwards.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from typing import Any

import numpy as np

from qafd.errors import ParseError
from qafd.flow.certificate import ROUNDING, Certificate, ClaimedSolution, certify
from qafd.retrieve.base import DRY, SATURATED, WET, Retrieval
from qafd.runs.stored import record_of

DIGEST = "digest"
TOLERANCE = 1e-12  # of flows and the numbers of the certificate; masses have its own `rtol`
_MEASURES = ("residual", "overfull", "unfilled", "negative", "gap", "relative_gap", "objective",
             "volume", "source", "rounding", "support", "touched", "edges")  # fmt: skip
_SUMMED = ("importance", "mass", "capacity", "source")


class FindingKind(StrEnum):
    """Kind of a finding; the comment lists its values."""

    # Proved
    UNION_CHECKED = "union_checked"  # count
    FLOWS_RIGHT = "flows_right"  # edges, nodes
    OPTIMAL = "optimal"  # support, gap
    UNCHANGED = "unchanged"
    NO_DIGEST = "no_digest"
    RELEVANCE_OPEN = "relevance_open"
    # Faults
    MALFORMED = "malformed"  # flaw
    NO_CERTIFICATE = "no_certificate"  # method
    CHANGED = "changed"
    NOT_OPTIMAL = "not_optimal"  # flaws
    DIFFERS = "differs"  # what, stated, found


@dataclass(frozen=True)
class Finding:
    """Something that was proved or is wrong, with its values; `part` is a diffusion from 1, or 0."""

    kind: FindingKind
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)
    part: int = 0


@dataclass(frozen=True)
class Verification:
    """Result of a check: `ok`, and the proved facts or the faults found."""

    ok: bool
    findings: tuple[Finding, ...]


def seal(obj: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object with a digest of everything in it, as `verify` checks it.

    The digest goes into the certificate; an object without one is returned as it is.
    """
    if not isinstance(obj.get("certificate"), dict):
        return dict(obj)
    return {**obj, "certificate": {**obj["certificate"], DIGEST: _digest(obj)}}


def verify(obj: Any) -> Verification:
    """Check a retrieval as plain JSON values: conservation, optimality, and every stated number.

    With x the importances, m the masses and f the flows: f = w (x_u - x_v) on every edge,
    m = source + inflow - outflow at every node, m <= T, x >= 0, and m = T where x > 0; all
    edges of retrieved nodes are there; the stated certificate follows from these numbers.

    Parameters
    ----------
    obj : dict
        As from `Retrieval.to_dict`, sealed by `seal` or not; any other value is reported, not raised.
    """
    try:
        retrieval = record_of(Retrieval, obj, "the retrieval")
        wrong = tuple(_find_faults(retrieval))
        changed = DIGEST in (retrieval.certificate or {}) and retrieval.certificate[DIGEST] != _digest(obj)
    except ParseError as error:
        return Verification(False, (Finding(FindingKind.MALFORMED, {"flaw": str(error)}),))
    if wrong or changed:
        return Verification(False, (Finding(FindingKind.CHANGED),) * changed + wrong)
    stated, parts = retrieval.certificate, retrieval.parts
    proved = [Finding(FindingKind.UNION_CHECKED, {"count": len(parts)})] if parts else []
    proved += [
        Finding(FindingKind.FLOWS_RIGHT, {"edges": len(retrieval.edges), "nodes": len(retrieval.nodes)}),
        Finding(FindingKind.OPTIMAL, {"support": stated["support"], "gap": stated["gap"]}),
        Finding(FindingKind.UNCHANGED if DIGEST in stated else FindingKind.NO_DIGEST),
        Finding(FindingKind.RELEVANCE_OPEN)]
    return Verification(True, tuple(proved))


def find_shape_flaws(retrieval: Retrieval) -> Iterator[str]:
    """List the flaws that no method's retrieval has, for a sentence about it."""
    ids = {node.id for node in retrieval.nodes}
    pairs = [(edge.source, edge.target) for edge in retrieval.edges]
    amounts: list[float] = []
    for node in retrieval.nodes:
        amounts += [node.importance, node.source, node.capacity]
    for edge in retrieval.edges:
        amounts += [edge.flow, edge.weight]
    if len(ids) < len(retrieval.nodes):
        yield "lists a node twice"
    if any(node.state not in (SATURATED, WET, DRY) for node in retrieval.nodes):
        yield "has a node in an unknown state"
    if not ids.issuperset(chain.from_iterable(pairs)):
        yield "has an edge to a node that it does not list"
    if any(amount < np.finfo(float).tiny and amount != 0 for amount in amounts):
        yield "has a negative importance, flow, weight or mass, or one too small to divide by"
    if retrieval.certificate is not None and not isinstance(retrieval.certificate.get("optimal"), bool):
        yield "has a certificate that does not state whether it is optimal"


def _find_faults(retrieval: Retrieval, part: int = 0) -> Iterator[Finding]:
    """List the faults of a retrieval, or of a part of one."""
    if retrieval.certificate is None:
        yield Finding(FindingKind.NO_CERTIFICATE, {"method": retrieval.method[:60]}, part)
        return
    for flaw in find_shape_flaws(retrieval):
        raise ParseError(f"The retrieval {flaw}.")
    if retrieval.parts:
        for number, inner in enumerate(retrieval.parts, 1):
            yield from _find_faults(inner, number)
        yield from _compare_sums(retrieval)
        return
    stated: Certificate = record_of(Certificate, {**retrieval.certificate, "flaws": []}, "the certificate")
    if not 0 < stated.rtol <= 0.1:
        raise ParseError(f"The certificate's rtol is {stated.rtol:g}; it must be between 0 and 0.1.")
    if retrieval.certificate.get("flaws") or not stated.optimal:
        yield _differ("claim of the certificate", "not optimal", "optimal", part)
    yield from _compare_diffusion(retrieval, stated, part)


def _compare_diffusion(retrieval: Retrieval, stated: Certificate, part: int) -> Iterator[Finding]:
    """List the states, flows and measures that do not follow from the importance of the nodes."""
    for node in retrieval.nodes:
        state = SATURATED if node.importance > 0 else WET if node.mass > 0 else DRY
        if node.state != state:
            yield _differ(f"state of {node.id[:80]!r}", node.state, state, part)
    x, mass, capacity, source, degree = (
        np.array([getattr(node, name) for node in retrieval.nodes], np.float64)
        for name in ("importance", "mass", "capacity", "source", "degree"))
    row = {node.id: i for i, node in enumerate(retrieval.nodes)}
    u, v = np.array([(row[edge.source], row[edge.target]) for edge in retrieval.edges],
                    np.int64).reshape(-1, 2).T
    weight, flow = np.array([(edge.weight, edge.flow) for edge in retrieval.edges]).reshape(-1, 2).T
    level = weight * (x[u] + x[v])  # the scale of the rounding of a flow
    due = weight * (x[u] - x[v])
    for i in np.flatnonzero(np.abs(flow - due) > TOLERANCE * level)[:1].tolist():
        edge = retrieval.edges[i]
        name = f"flow from {edge.source[:80]!r} to {edge.target[:80]!r}"
        yield _differ(name, edge.flow, float(due[i]), part)
    again = certify(ClaimedSolution(x, source, capacity, u, v, weight, mass,
                                    degree.astype(np.int64)), stated.rtol)
    if not again.optimal:
        yield Finding(FindingKind.NOT_OPTIMAL, {"flaws": again.to_dict()["flaws"]}, part)
    scale = float(level.sum() + capacity.sum() + source.sum())
    yield from _compare_certificates(stated, again, scale * (1.0 + float(x.max(initial=0.0))), part)


def _compare_certificates(stated: Certificate, again: Certificate, scale: float, part: int
                          ) -> Iterator[Finding]:
    """List the numbers that differ by more than the rounding of sums of this scale in another order."""
    allowed = dict.fromkeys(_MEASURES, TOLERANCE * scale)
    allowed["relative_gap"] /= max(abs(again.objective), 1e-300)
    # A residual is in units of the tolerance, and its rounding a share of that.
    allowed["residual"] = 1e-3 + ROUNDING * scale / again.rtol
    for key in _MEASURES:
        number, due = getattr(stated, key), getattr(again, key)
        if not abs(number - due) <= allowed[key]:
            yield _differ(f"{key} of the certificate", number, due, part)
    balances = np.sort(stated.balance), np.sort(again.balance)
    if len(balances[0]) != len(balances[1]) or (np.abs(np.subtract(*balances)) > TOLERANCE * scale).any():
        yield _differ("balance of the certificate", stated.balance, again.balance, part)


def _differ(what: str, stated: object, found: object, part: int = 0) -> Finding:
    values = {"what": what, "stated": str(stated)[:80], "found": str(found)[:80]}
    return Finding(FindingKind.DIFFERS, values, part)


def _compare_sums(retrieval: Retrieval) -> Iterator[Finding]:
    """List the numbers of a union that are not the sums of its parts."""
    sums = {node.id: np.zeros(len(_SUMMED)) for node in retrieval.nodes}
    for part in retrieval.parts:
        for node in part.nodes:
            if node.id not in sums:
                raise ParseError(f"The retrieval lacks {node.id[:80]!r}, which one of its parts has.")
            sums[node.id] += [getattr(node, name) for name in _SUMMED]
    for node in retrieval.nodes:
        for name, total in zip(_SUMMED, sums[node.id].tolist(), strict=True):
            if abs(getattr(node, name) - total) > TOLERANCE * total:
                yield _differ(f"{name} of {node.id[:80]!r}", getattr(node, name), total)


def _digest(obj: Mapping[str, Any]) -> str:
    certificate = {k: v for k, v in obj["certificate"].items() if k != DIGEST}
    plain = _canonical({**obj, "certificate": certificate})
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def _canonical(value: Any) -> Any:
    """Return JSON values as they come back from a file that another program may have written again."""
    if isinstance(value, Mapping):
        return {str(k): _canonical(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_canonical(v) for v in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
