"""The findings of a check of a stored retrieval, as sentences."""

from typing import TYPE_CHECKING

from qafd.wording.flaws import say_flaws

if TYPE_CHECKING:
    from qafd.runs.verify import Finding, Verification

_FINDINGS = {
    "union_checked": "This is the sum of {count} diffusions, and each of "
                     "them was checked.",
    "flows_right": "All {edges} flows are weight times difference of importance, and every one of "
                   "{nodes} nodes holds its source plus inflow minus outflow.",
    "optimal": "No node holds more than its capacity and the {support} retrieved ones are full: the "
               "diffusion is optimal, duality gap {gap:.3g}.",
    "unchanged": "The digest is right: nothing was changed since.",
    "no_digest": "There is no digest. Scores, similarities, passages, times and labels cannot be checked.",
    "relevance_open": "Relevance is not part of the proof.",
    "malformed": "{flaw}",
    "no_certificate": "The method {method!r} gave no certificate, so there is nothing to verify.",
    "changed": "The digest does not match: something was changed after the retrieval.",
    "not_optimal": "The diffusion is not optimal: {flaws}.",
    "differs": "The {what} is {stated}; the other numbers give {found}.",
}


def say_finding(finding: "Finding") -> str:
    """Word a finding of a check."""
    values = dict(finding.values)
    if "flaws" in values:
        values["flaws"] = say_flaws(values["flaws"])
    words = _FINDINGS[finding.kind].format(**values)
    if finding.part:
        return f"Diffusion {finding.part}: {words}"
    return words


def say_verification(checked: "Verification") -> list[str]:
    """Word all findings of a check, one sentence each."""
    return [say_finding(finding) for finding in checked.findings]
