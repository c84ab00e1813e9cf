"""Explanations of a retrieval: balances, paths, entries, what-if, sensitivity, contrast."""

from qafd.explain.balance import Balance, mass_balance
from qafd.explain.chains import Chain, ChainHop
from qafd.explain.contrast import Contrast, contrast, core
from qafd.explain.decomposition import PathFlow, Streams
from qafd.explain.diffusion import RunExplanation, SeedShare, Why
from qafd.explain.edges import Along, Gate, Strand
from qafd.explain.entry import Entry, entries, entry_of
from qafd.explain.explanation import Explanation
from qafd.explain.margins import Margins, measure_margins
from qafd.explain.paths import Link, Paths, ReasoningPath, Step, describe_paths, links, row_name
from qafd.explain.sensitivity import Sensitivity
from qafd.explain.whatif import Change, Effect, apply_change
from qafd.explain.whynot import Remedy, RemedyKind, WhyNot

__all__ = [
    "Along", "Balance", "Chain", "ChainHop", "Change", "Contrast", "Effect", "Entry", "Explanation",
    "Gate", "Link", "Margins", "PathFlow", "Paths", "ReasoningPath", "Remedy",
    "RemedyKind", "RunExplanation", "SeedShare", "Sensitivity", "Step", "Strand", "Streams", "Why",
    "WhyNot", "apply_change", "contrast", "core", "entries", "entry_of", "links",
    "mass_balance", "measure_margins", "row_name", "describe_paths",
]
