"""Re-check a stored retrieval from its own numbers, without a graph and without a solver.

`qafd query --json` prints importances, masses, weights and flows together with the certificate
that was computed from them. Here the certificate is computed again and compared, number by
number. Facts that need the graph are not proved: that an edge weight is right, that
passages are relevant. The digest shows that nothing was changed afterwards.
"""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np

from qafd.flow.certificate import ROUNDING, ClaimedSolution, certify
from qafd.records import Floats

DIGEST = "digest"
TOLERANCE = 1e-12  # of flows and the numbers of the certificate; masses have its own `rtol`
_MEASURES = ("residual", "overfull", "unfilled", "negative", "gap", "relative_gap", "objective",
             "volume", "source", "rounding")  # fmt: skip
_SUMMED = ("importance", "mass", "capacity", "source")
_COUNTS = ("support", "touched", "edges")
_LARGEST = 1e150  # beyond, products of two numbers leave the range of floats


class FindingKind(StrEnum):
    """Kind of a finding; the comment lists its values."""

    # Proved
    UNION_CHECKED = "union_checked"  # count
    FLOWS_RIGHT = "flows_right"  # edges, nodes
    OPTIMAL = "optimal"  # support, gap
    UNCHANGED = "unchanged"
    NO_DIGEST = "no_digest"
    RELEVANCE_OPEN = "relevance_open"
    # Faults of the shape
    NO_CERTIFICATE = "no_certificate"  # method
    TOO_DEEP = "too_deep"
    NO_OBJECT = "no_object"  # where
    NO_LIST = "no_list"  # key
    NO_TEXT = "no_text"  # key, where
    NO_NUMBER = "no_number"  # key, where
    SAME_ID = "same_id"
    UNKNOWN_END = "unknown_end"  # key, where, node
    RTOL_OUTSIDE = "rtol_outside"  # rtol
    # Faults of the values
    CHANGED = "changed"
    WRONG_SEEDS = "wrong_seeds"
    BAD_EDGE = "bad_edge"
    BAD_WEIGHT = "bad_weight"
    BAD_NODE = "bad_node"
    WRONG_ORDER = "wrong_order"
    WRONG_STATE = "wrong_state"  # node, stated, found
    WRONG_FLOW = "wrong_flow"  # count, source, target
    WRONG_DEGREE = "wrong_degree"  # node, found, stated
    NOT_OPTIMAL = "not_optimal"  # flaws
    NOT_CLAIMED = "not_claimed"
    WRONG_MEASURE = "wrong_measure"  # key, stated, found
    WRONG_BALANCE = "wrong_balance"
    OTHER_NODES = "other_nodes"
    WRONG_SUM = "wrong_sum"  # node, key, stated, found
    WRONG_OFFSETS = "wrong_offsets"  # place, start, end, length
    WRONG_RANK = "wrong_rank"  # place
    WRONG_SCORE = "wrong_score"  # place, stated, found


@dataclass(frozen=True)
class Finding:
    """Something that was proved or is wrong, with its values; `part` is a subquery from 1, or 0."""

    kind: FindingKind
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)
    part: int = 0


@dataclass(frozen=True)
class Verification:
    """Result of a check: `ok`, and the proved facts or each fault."""

    ok: bool
    findings: tuple[Finding, ...]


def build_finding(kind: FindingKind, **values: Any) -> Finding:
    """Build a finding from its values."""
    return Finding(kind, values)


class _MalformedError(Exception):
    """The object is not shaped like a retrieval; `finding` has the place."""

    def __init__(self, kind: FindingKind, **values: Any) -> None:
        super().__init__(kind)
        self.finding = Finding(kind, values)


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
        wrong = tuple(_complaints(obj))
    except _MalformedError as error:
        return Verification(False, (error.finding,))
    except RecursionError:
        return Verification(False, (build_finding(FindingKind.TOO_DEEP),))
    if wrong:
        return Verification(False, wrong)
    certificate, proved = obj["certificate"], []
    if obj.get("parts"):
        proved.append(build_finding(FindingKind.UNION_CHECKED, count=len(obj["parts"])))
    proved += [
        build_finding(FindingKind.FLOWS_RIGHT, edges=len(obj["edges"]), nodes=len(obj["nodes"])),
        build_finding(FindingKind.OPTIMAL, support=certificate["support"], gap=certificate["gap"]),
        build_finding(FindingKind.UNCHANGED if DIGEST in certificate else FindingKind.NO_DIGEST),
        build_finding(FindingKind.RELEVANCE_OPEN)]
    return Verification(True, tuple(proved))


def _complaints(obj: Any) -> Iterator[Finding]:
    """List the faults of a retrieval."""
    certificate = _dict(obj, "the retrieval").get("certificate")
    if certificate is None:
        raise _MalformedError(FindingKind.NO_CERTIFICATE, method=str(obj.get("method"))[:60])
    _dict(certificate, "certificate")
    if DIGEST in certificate and certificate[DIGEST] != _digest(obj):
        yield build_finding(FindingKind.CHANGED)
    if obj.get("parts"):
        yield from _union_complaints(obj)
        return
    stored = _Stored(obj)
    marked = [node["id"] for node in stored.nodes if node.get("seed") is True]
    if sorted(map(str, _list(obj, "seeds"))) != sorted(marked):
        yield build_finding(FindingKind.WRONG_SEEDS)
    yield from _passage_complaints(obj)
    yield from _flow_complaints(stored)
    yield from _certificate_complaints(certificate, stored)


class _Stored:
    """The nodes and edges of a retrieval, and the columns of their numbers."""

    def __init__(self, obj: dict[str, Any]) -> None:
        self.nodes, self.edges = _records(obj, "nodes"), _records(obj, "edges")
        rows = {_text(node, "id", f"nodes[{i}]"): i for i, node in enumerate(self.nodes)}
        if len(rows) < len(self.nodes):
            raise _MalformedError(FindingKind.SAME_ID)
        self.x, self.mass, self.capacity, self.source, self.degree = (
            _column(self.nodes, "nodes", key)
            for key in ("importance", "mass", "capacity", "source", "degree"))
        self.weight, self.flow = (_column(self.edges, "edges", key) for key in ("weight", "flow"))
        ends = []
        for i, edge in enumerate(self.edges):
            ends.append([_row(edge, key, rows, f"edges[{i}]") for key in ("source", "target")])
        self.u, self.v = np.array(ends, dtype=np.int64).reshape(-1, 2).T  # (e,)
        # the scale of the rounding of a flow
        self.level = self.weight * (np.abs(self.x[self.u]) + np.abs(self.x[self.v]))


def _flow_complaints(stored: _Stored) -> Iterator[Finding]:
    """List the faults of nodes and edges."""
    x, u, v, degree = stored.x, stored.u, stored.v, stored.degree
    pairs = np.unique(np.sort([u, v], axis=0), axis=1)  # (2, distinct)
    broken = {
        FindingKind.BAD_EDGE: pairs.shape[1] < len(u) or (u == v).any(),
        FindingKind.BAD_WEIGHT: (stored.weight <= 0).any() or (stored.flow < 0).any(),
        FindingKind.BAD_NODE: (np.minimum(stored.source, stored.capacity) < 0).any()
        or (degree % 1 != 0).any(),
        FindingKind.WRONG_ORDER: (np.diff(x) > 0).any()}
    for kind, wrong in broken.items():
        if wrong:
            yield build_finding(kind)
    for node, full, held in zip(stored.nodes, x > 0, stored.mass > 0, strict=True):
        state = "saturated" if full else "wet" if held else "dry"
        if node.get("state") != state:
            yield build_finding(FindingKind.WRONG_STATE, node=node["id"][:80], found=state,
                                stated=str(node.get("state"))[:20])
    off = np.abs(stored.flow - stored.weight * (x[u] - x[v])) > TOLERANCE * stored.level
    if off.any():
        first = stored.edges[int(np.argmax(off))]
        yield build_finding(FindingKind.WRONG_FLOW, count=int(off.sum()), source=first["source"][:80],
                            target=first["target"][:80])
    edges = np.bincount(u, minlength=len(x)) + np.bincount(v, minlength=len(x))
    for i in np.flatnonzero((edges > degree) | ((x > 0) & (edges != degree)))[:3]:
        yield build_finding(FindingKind.WRONG_DEGREE, node=stored.nodes[i]["id"][:80],
                            found=int(edges[i]), stated=float(degree[i]))


def _certificate_complaints(certificate: dict[str, Any], stored: _Stored) -> Iterator[Finding]:
    """List where the stated certificate is not the one that the numbers give."""
    x, capacity, source = stored.x, stored.capacity, stored.source
    rtol = _number(certificate, "rtol", "certificate")
    if not 0 < rtol <= 0.1:
        raise _MalformedError(FindingKind.RTOL_OUTSIDE, rtol=rtol)
    # Seeds without neighbors are listed for the reader and took no part in the diffusion.
    part = (stored.degree > 0) | (source != 0) | (stored.mass != 0) | (x != 0) | (capacity != 0)
    row = np.cumsum(part) - 1
    again = certify(ClaimedSolution(x[part], source[part], capacity[part], row[stored.u], row[stored.v],
                          stored.weight, stored.mass[part]), rtol)
    if not again.optimal:
        yield build_finding(FindingKind.NOT_OPTIMAL, flaws=again.to_dict()["flaws"])
    if certificate.get("optimal") is not True or certificate.get("reason") or (
            certificate.get("flaws")):
        yield build_finding(FindingKind.NOT_CLAIMED)
    # Sums in another order differ by rounding in the numbers that are summed.
    scale = float(np.sum(stored.level) + capacity.sum() + source.sum())
    energy = scale * (1.0 + float(x.max(initial=0.0)))
    # A residual is in units of what is allowed: its rounding is a share of that.
    least = max(rtol * float(capacity[part].min(initial=1.0)), 1e-300)
    allowed = dict.fromkeys(_MEASURES, TOLERANCE * scale) | {
        "gap": TOLERANCE * energy, "objective": TOLERANCE * energy,
        "relative_gap": TOLERANCE * energy / max(abs(again.objective), 1e-300),
        "residual": 1e-3 + ROUNDING * scale / least}
    for key in (*_MEASURES, *_COUNTS):
        if key == "rounding" and key not in certificate:  # of before it was stated
            continue
        stated, given = _number(certificate, key, "certificate"), getattr(again, key)
        if not abs(stated - given) <= allowed.get(key, 0.0):
            yield build_finding(FindingKind.WRONG_MEASURE, key=key, stated=stated, found=given)
    balance = np.sort([_number({"": b}, "", "balance") for b in _list(certificate, "balance")])
    due = np.sort(again.balance)
    if len(balance) != len(due) or not (np.abs(balance - due) <= TOLERANCE * scale).all():
        yield build_finding(FindingKind.WRONG_BALANCE)


def _union_complaints(obj: dict[str, Any]) -> Iterator[Finding]:
    """List the faults of the parts of a union, and of their sum."""
    sums: dict[str, Floats] = {}  # (4,)
    for number, part in enumerate(_records(obj, "parts"), 1):
        for wrong in _complaints(part):
            yield replace(wrong, part=number)
        for node in _records(part, "nodes"):
            name = _text(node, "id", "a node of a part")
            values = np.array([_number(node, key, "a node of a part") for key in _SUMMED])
            sums[name] = sums.get(name, 0.0) + values
    nodes = _records(obj, "nodes")
    if {node.get("id") for node in nodes} != sums.keys():
        yield build_finding(FindingKind.OTHER_NODES)
        return
    for node in nodes:
        for key, total in zip(_SUMMED, sums[node["id"]].tolist(), strict=True):
            stated = _number(node, key, "a node")
            if abs(stated - total) > TOLERANCE * abs(total):
                yield build_finding(FindingKind.WRONG_SUM, node=node["id"][:80], key=key, stated=stated,
                                    found=total)


def _passage_complaints(obj: dict[str, Any]) -> Iterator[Finding]:
    last = np.inf
    for place, passage in enumerate(_records(obj, "passages"), 1):
        where = f"passages[{place - 1}]"
        text = _text(passage, "text", where)
        start, end = (_number(passage, key, where) for key in ("start", "end"))
        if start < 0 or end - start != len(text):
            yield build_finding(FindingKind.WRONG_OFFSETS, place=place, start=start, end=end,
                                length=len(text))
        score = _number(passage, "score", where)
        if score > last:
            yield build_finding(FindingKind.WRONG_RANK, place=place)
        parts = _dict(passage.get("parts", {}), f"parts of {where}")
        values = [_number(parts, name, f"parts of {where}") for name in parts]
        total = math.fsum(values)
        if values and (min(values) < 0 or not math.isclose(total, score, rel_tol=1e-9)):
            yield build_finding(FindingKind.WRONG_SCORE, place=place, stated=score, found=total)
        last = score


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


def _dict(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _MalformedError(FindingKind.NO_OBJECT, where=where)
    return value


def _list(obj: dict[str, Any], key: str) -> list[Any]:
    value = obj.get(key)
    if not isinstance(value, (list, tuple)):
        raise _MalformedError(FindingKind.NO_LIST, key=key)
    return list(value)


def _records(obj: dict[str, Any], key: str) -> list[dict[str, Any]]:
    return [_dict(value, f"{key}[{i}]") for i, value in enumerate(_list(obj, key))]


def _text(obj: dict[str, Any], key: str, where: str) -> str:
    value = obj.get(key)
    if not isinstance(value, str):
        raise _MalformedError(FindingKind.NO_TEXT, key=key, where=where)
    return value


def _number(obj: dict[str, Any], key: str, where: str) -> float:
    value = obj.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < _LARGEST:
        raise _MalformedError(FindingKind.NO_NUMBER, key=key, where=where)
    return float(value)


def _column(records: list[dict[str, Any]], name: str, key: str) -> Floats:
    return np.array([_number(r, key, f"{name}[{i}]") for i, r in enumerate(records)], np.float64)


def _row(edge: dict[str, Any], key: str, rows: dict[str, int], where: str) -> int:
    node = _text(edge, key, where)
    if node not in rows:
        raise _MalformedError(FindingKind.UNKNOWN_END, key=key, where=where, node=node[:80])
    return rows[node]
