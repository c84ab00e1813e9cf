"""Re-check a stored retrieval from its own numbers, without a graph and without a solver.

`qafd query --json` prints importances, masses, weights and flows together with the certificate
that was computed from them. Here the certificate is computed again and compared, number by
number. What only the graph could tell (whether an edge weight is right, whether
passages are relevant) is not proved; the digest shows that nothing was changed afterwards.
"""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from qafd.flow.certificate import ROUNDING, certify
from qafd.records import Floats

DIGEST = "digest"
_MEASURES = ("residual", "overfull", "unfilled", "negative", "gap", "relative_gap", "objective",
             "volume", "source", "rounding")  # fmt: skip
_SUMMED = ("importance", "mass", "capacity", "source")
_COUNTS = ("support", "touched", "edges")
_LARGEST = 1e150  # beyond, products of two numbers leave the range of floats


@dataclass(frozen=True)
class Verification:
    """Whether a stored retrieval holds, and why: what was proved, or each thing that is wrong."""

    ok: bool
    sentences: tuple[str, ...]


class _Malformed(Exception):
    """The object is not shaped like a retrieval; the message says where."""


def sealed(obj: Mapping[str, Any]) -> dict[str, Any]:
    """The object with a digest of everything in it, as `verify` checks it.

    The digest goes into the certificate; an object without one is returned as it is.
    """
    if not isinstance(obj.get("certificate"), dict):
        return dict(obj)
    return {**obj, "certificate": {**obj["certificate"], DIGEST: _digest(obj)}}


def verify(obj: Any, tolerance: float = 1e-12) -> Verification:
    """Check a retrieval as plain JSON values: conservation, optimality, and every stated number.

    With x the importances, m the masses and f the flows: f = w (x_u - x_v) on every edge,
    m = source + inflow - outflow at every node, m <= T, x >= 0, and m = T where x > 0; all
    edges of retrieved nodes are there; the stated certificate is what these numbers give.

    Parameters
    ----------
    obj : dict
        As from `Retrieval.to_dict`, `sealed` or not; any other value is reported, not raised.
    tolerance : float
        Relative, for flows and for the numbers of the certificate. Masses are checked with the
        certificate's own `rtol`.
    """
    try:
        wrong = list(_complaints(obj, tolerance))
    except _Malformed as error:
        return Verification(False, (str(error),))
    except RecursionError:
        return Verification(False, ("The object is nested too deeply to be a retrieval.",))
    if wrong:
        return Verification(False, tuple(wrong))
    certificate = obj["certificate"]
    united = (f"This is the sum of {len(obj['parts'])} diffusions, one for each subquery, and each "
              "of them was checked.",) if obj.get("parts") else ()
    return Verification(True, (
        *united,
        f"All {len(obj['edges'])} flows are weight times difference of importance, and every one "
        f"of {len(obj['nodes'])} nodes holds its source plus inflow minus outflow.",
        f"No node holds more than its capacity and the {certificate['support']} retrieved ones "
        f"are full: the diffusion is optimal, duality gap {certificate['gap']:.3g}.",
        "The digest is right: nothing was changed since." if DIGEST in certificate else
        "There is no digest: scores, similarities, times, counts of work, the method and the kinds "
        "and labels of edges cannot be checked.",
        "Relevance is not part of the proof.",
    ))  # fmt: skip


def _complaints(obj: Any, tolerance: float) -> Iterator[str]:
    """Sentences about what is wrong with a retrieval."""
    certificate = _dict(obj, "the retrieval").get("certificate")
    if certificate is None:
        raise _Malformed(f"The method {str(obj.get('method'))[:60]!r} gave no certificate, "
                         "so there is nothing to verify.")  # fmt: skip
    _dict(certificate, "certificate")
    if DIGEST in certificate and certificate[DIGEST] != _digest(obj):
        yield "The digest does not fit: something was changed after the retrieval."
    if obj.get("parts"):
        yield from _union_complaints(obj, tolerance)
        return
    stored = _Stored(obj)
    if sorted(map(str, _list(obj, "seeds"))) != sorted(
            node["id"] for node in stored.nodes if node.get("seed") is True):
        yield "The listed seeds are not the nodes marked as seeds."
    yield from _passage_complaints(obj)
    yield from _flow_complaints(stored, tolerance)
    yield from _certificate_complaints(certificate, stored, tolerance)


class _Stored:
    """The nodes and edges of a retrieval, and the columns of their numbers."""

    def __init__(self, obj: dict[str, Any]) -> None:
        self.nodes, self.edges = _records(obj, "nodes"), _records(obj, "edges")
        rows = {_text(node, "id", f"nodes[{i}]"): i for i, node in enumerate(self.nodes)}
        if len(rows) < len(self.nodes):
            raise _Malformed("Two nodes have the same id.")
        self.x, self.mass, self.capacity, self.source, self.degree = (
            _column(self.nodes, "nodes", key)
            for key in ("importance", "mass", "capacity", "source", "degree"))
        self.weight, self.flow = (_column(self.edges, "edges", key) for key in ("weight", "flow"))
        self.ends = [[_row(edge, key, rows, f"edges[{i}]") for key in ("source", "target")]
                     for i, edge in enumerate(self.edges)]
        self.u, self.v = np.array(self.ends, dtype=np.int64).reshape(-1, 2).T  # (e,)
        # what the rounding of a flow is relative to
        self.level = self.weight * (np.abs(self.x[self.u]) + np.abs(self.x[self.v]))


def _flow_complaints(stored: _Stored, tolerance: float) -> Iterator[str]:
    """What is wrong with nodes and edges as they stand."""
    ends, x, u, v, degree = stored.ends, stored.x, stored.u, stored.v, stored.degree
    if len({frozenset(pair) for pair in ends}) < len(ends) or any(a == b for a, b in ends):
        yield "An edge is listed twice or leads to its own node."
    if (stored.weight <= 0).any() or (stored.flow < 0).any():
        yield "An edge has a weight that is not positive or a flow that is negative."
    if (stored.source < 0).any() or (stored.capacity < 0).any() or (degree % 1 != 0).any():
        yield "A node has a negative source or capacity, or a degree that is not a whole number."
    if (np.diff(x) > 0).any():
        yield "The nodes are not in order of importance."
    for node, full, held in zip(stored.nodes, x > 0, stored.mass > 0, strict=True):
        state = "saturated" if full else "wet" if held else "dry"
        if node.get("state") != state:
            yield (f"Node {node['id'][:80]!r} is called {str(node.get('state'))[:20]!r}; by its "
                   f"numbers it is {state!r}.")
    off = np.abs(stored.flow - stored.weight * (x[u] - x[v])) > tolerance * stored.level
    if off.any():
        first = stored.edges[int(np.argmax(off))]
        yield (f"The flow of {int(off.sum())} edges is not weight times difference of "
               f"importance, first from {first['source'][:80]!r} to {first['target'][:80]!r}.")
    found = np.bincount(u, minlength=len(x)) + np.bincount(v, minlength=len(x))
    for i in np.flatnonzero((found > degree) | ((x > 0) & (found != degree)))[:3]:
        yield (f"Node {stored.nodes[i]['id'][:80]!r} has {found[i]} edges here and states "
               f"{degree[i]:g}.")


def _certificate_complaints(certificate: dict[str, Any], stored: _Stored,
                            tolerance: float) -> Iterator[str]:
    """Where the stated certificate is not the one that the numbers give."""
    x, capacity, source = stored.x, stored.capacity, stored.source
    rtol = _number(certificate, "rtol", "certificate")
    if not 0 < rtol <= 0.1:
        raise _Malformed(f"The certificate's rtol is {rtol:g}; it lies between 0 and 0.1.")
    # Seeds without neighbors are listed for the reader and took no part in the diffusion.
    part = (stored.degree > 0) | (source != 0) | (stored.mass != 0) | (x != 0) | (capacity != 0)
    row = np.cumsum(part) - 1
    again = certify(x[part], source[part], capacity[part], row[stored.u], row[stored.v],
                    stored.weight, rtol, stored.mass[part]).to_dict()
    if not again["optimal"]:
        yield f"The diffusion is not optimal: {again['reason']}."
    if certificate.get("optimal") is not True or certificate.get("reason"):
        yield "The certificate itself does not claim that the diffusion is optimal."
    # Sums in another order differ by rounding in the numbers that are summed.
    scale = float(np.sum(stored.level) + capacity.sum() + source.sum())
    energy = scale * (1.0 + float(x.max(initial=0.0)))
    scales = {"gap": energy, "objective": energy,
              "relative_gap": energy / max(abs(again["objective"]), 1e-300)}  # fmt: skip
    for key in _MEASURES:
        if key == "rounding" and key not in certificate:  # of before it was stated
            continue
        stated = _number(certificate, key, "certificate")
        allowed = tolerance * scales.get(key, scale)
        if key == "residual":  # in units of what is allowed: its rounding is a share of that
            least = float(capacity[part].min(initial=1.0))
            allowed = 1e-3 + ROUNDING * scale / max(rtol * least, 1e-300)
        if not abs(stated - again[key]) <= allowed:
            yield f"The certificate states {key} {stated:g}; its numbers give {again[key]:g}."
    for key in _COUNTS:
        if _number(certificate, key, "certificate") != again[key]:
            yield f"The certificate states {key} {certificate[key]}; there are {again[key]}."
    balance = np.sort([_number({"": b}, "", "balance") for b in _list(certificate, "balance")])
    due = np.sort(again["balance"])
    if len(balance) != len(due) or not (np.abs(balance - due) <= tolerance * scale).all():
        yield "The certificate's mass balance is not that of the connected parts."


def _union_complaints(obj: dict[str, Any], tolerance: float) -> Iterator[str]:
    """What is wrong with any part of a union, or with their sum."""
    sums: dict[str, Floats] = {}  # (4,)
    for number, part in enumerate(_records(obj, "parts"), 1):
        yield from (f"Subquery {number}: {wrong}" for wrong in _complaints(part, tolerance))
        for node in _records(part, "nodes"):
            name = _text(node, "id", "a node of a part")
            values = np.array([_number(node, key, "a node of a part") for key in _SUMMED])
            sums[name] = sums.get(name, 0.0) + values
    nodes = _records(obj, "nodes")
    if {node.get("id") for node in nodes} != sums.keys():
        yield "The nodes of the union are not those of its parts."
        return
    for node in nodes:
        for key, total in zip(_SUMMED, sums[node["id"]], strict=True):
            if abs(_number(node, key, "a node") - total) > tolerance * abs(total):
                yield (f"Node {node['id'][:80]!r} states {key} {node[key]:g}; its parts add up "
                       f"to {total:g}.")


def _passage_complaints(obj: dict[str, Any]) -> Iterator[str]:
    last = np.inf
    for i, passage in enumerate(_records(obj, "passages")):
        where = f"passages[{i}]"
        text = _text(passage, "text", where)
        start, end = (_number(passage, key, where) for key in ("start", "end"))
        if start < 0 or end - start != len(text):
            yield f"Passage {i + 1} states offsets {start:g} to {end:g} for {len(text)} characters."
        score = _number(passage, "score", where)
        if score > last:
            yield f"Passage {i + 1} has a higher score than the one before it."
        parts = _dict(passage.get("parts", {}), f"the parts of {where}")
        values = [_number(parts, name, f"the parts of {where}") for name in parts]
        if values and (min(values) < 0 or not math.isclose(math.fsum(values), score, rel_tol=1e-9)):
            yield (f"Passage {i + 1} states score {score:g}; its parts, of which none may be "
                   f"below 0, add up to {math.fsum(values):g}.")
        last = score


def _digest(obj: Mapping[str, Any]) -> str:
    certificate = {k: v for k, v in obj["certificate"].items() if k != DIGEST}
    plain = _canonical({**obj, "certificate": certificate})
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def _canonical(value: Any) -> Any:
    """JSON values as they come back from a file that another program may have written again."""
    if isinstance(value, Mapping):
        return {str(k): _canonical(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_canonical(v) for v in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _dict(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Malformed(f"{where[:1].upper()}{where[1:]} is not an object.")
    return value


def _list(obj: dict[str, Any], key: str) -> list[Any]:
    value = obj.get(key)
    if not isinstance(value, (list, tuple)):
        raise _Malformed(f"There is no list of {key}.")
    return list(value)


def _records(obj: dict[str, Any], key: str) -> list[dict[str, Any]]:
    return [_dict(value, f"{key}[{i}]") for i, value in enumerate(_list(obj, key))]


def _text(obj: dict[str, Any], key: str, where: str) -> str:
    value = obj.get(key)
    if not isinstance(value, str):
        raise _Malformed(f"The {key} of {where} is not text.")
    return value


def _number(obj: dict[str, Any], key: str, where: str) -> float:
    value = obj.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < _LARGEST:
        raise _Malformed(f"The {key} of {where} is not a finite number.")
    return float(value)


def _column(records: list[dict[str, Any]], name: str, key: str) -> Floats:
    return np.array([_number(r, key, f"{name}[{i}]") for i, r in enumerate(records)], np.float64)


def _row(edge: dict[str, Any], key: str, rows: dict[str, int], where: str) -> int:
    node = _text(edge, key, where)
    if node not in rows:
        raise _Malformed(f"The {key} of {where} is {node[:80]!r}, which is not among the nodes.")
    return rows[node]
