"""Why a retrieval is what it is: balances, paths, entries, what-if, sensitivity, contrast."""

from qafd.explain.along import Along, Strand
from qafd.explain.balance import Balance, balance_sentence, mass_balance
from qafd.explain.contrast import Contrast, contrast, core
from qafd.explain.entry import Entry, entries, entry_of
from qafd.explain.explanation import Explanation
from qafd.explain.paths import Paths, ReasoningPath, links, shown
from qafd.explain.run import RunExplanation
from qafd.explain.sensitivity import Sensitivity
from qafd.explain.streams import PathFlow, Streams
from qafd.explain.united import UnitedExplanation
from qafd.explain.whatif import Change, Effect, changed
from qafd.explain.why import Inflow, Part, Why
from qafd.explain.whynot import WhyNot

__all__ = [
    "Along", "Balance", "Change", "Contrast", "Effect", "Entry", "Explanation", "Inflow", "Part",
    "PathFlow", "Paths", "ReasoningPath", "RunExplanation", "Sensitivity", "Strand", "Streams",
    "UnitedExplanation", "Why", "WhyNot", "balance_sentence", "changed", "contrast", "core",
    "entries", "entry_of", "links", "mass_balance", "shown",
]
