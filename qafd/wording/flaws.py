"""Sentences about solutions that are not optimal."""

from collections.abc import Mapping, Sequence
from typing import Any

_FLAWS = {
    "off": "a node is off by {times:.3g} times its tolerance",
    "crude": "masses are off by up to {share:.2g} of a capacity, which is rounding: the weights span "
             "too many orders of magnitude; choose plain weights or less mass",
    "negative": "x is negative, {x:.3g} at worst",
    "holds_too_much": "the support holds {volume:g}, more than the source mass {source:g}",
    "edges_missing": "edges of retrieved nodes are missing: {count}",
    "rounds": "it did not finish in {rounds} rounds",
    "touched": "more than {nodes} nodes were touched",
    "rounding": "rounding keeps the residual above the tolerance",
    "too_dense": "the weights span {width:.0e} and {nodes} nodes are too many to solve directly; "
                 "lower the mass",
}


def say_flaws(flaws: Sequence[Mapping[str, Any]]) -> str:
    """Word the flaws of a certificate, each by its `kind` and `values`."""
    return "; ".join(_FLAWS[flaw["kind"]].format(**flaw["values"]) for flaw in flaws)


def say_doubt(certificate: Mapping[str, Any]) -> str:
    """Word the reasons that a diffusion is not optimal; "" if it is.

    Older certificates have a sentence instead of typed flaws.
    """
    return certificate.get("reason") or say_flaws(certificate.get("flaws", ()))
