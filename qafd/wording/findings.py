"""The findings of a check of a stored retrieval, as sentences."""

from typing import TYPE_CHECKING

from qafd.wording.flaws import say_flaws

if TYPE_CHECKING:
    from qafd.flow.verify import Finding, Verification

_FINDINGS = {
    "union_checked": "This is the sum of {count} diffusions, and each of "
                     "them was checked.",
    "flows_right": "All {edges} flows are weight times difference of importance, and every one of "
                   "{nodes} nodes holds its source plus inflow minus outflow.",
    "optimal": "No node holds more than its capacity and the {support} retrieved ones are full: the "
               "diffusion is optimal, duality gap {gap:.3g}.",
    "unchanged": "The digest is right: nothing was changed since.",
    "no_digest": "There is no digest. Scores, similarities, times, counts of work, the method, and "
                 "the kinds and labels of edges cannot be checked.",
    "relevance_open": "Relevance is not part of the proof.",
    "no_certificate": "The method {method!r} gave no certificate, so there is nothing to verify.",
    "too_deep": "The object is nested too deeply to be a retrieval.",
    "no_object": "There is no object at {where}.",
    "no_list": "There is no list of {key}.",
    "no_text": "The {key} of {where} is not text.",
    "no_number": "The {key} of {where} is not a finite number.",
    "same_id": "Two nodes have the same id.",
    "unknown_end": "The {key} of {where} is {node!r}, which is not among the nodes.",
    "rtol_outside": "The certificate's rtol is {rtol:g}; it must be between 0 and 0.1.",
    "changed": "The digest does not match: something was changed after the retrieval.",
    "wrong_seeds": "The listed seeds are not the nodes marked as seeds.",
    "bad_edge": "An edge is listed twice or leads to its own node.",
    "bad_weight": "An edge has a weight that is not positive or a flow that is negative.",
    "bad_node": "A node has a negative source or capacity, or a degree that is not a whole number.",
    "wrong_order": "The nodes are not in order of importance.",
    "wrong_state": "Node {node!r} is listed as {stated!r}; by its numbers it is {found!r}.",
    "wrong_flow": "The flow of {count} edges is not weight times difference of importance, first "
                  "from {source!r} to {target!r}.",
    "wrong_degree": "Node {node!r} has {found} edges here and states {stated:g}.",
    "not_optimal": "The diffusion is not optimal: {flaws}.",
    "not_claimed": "The certificate itself does not claim that the diffusion is optimal.",
    "wrong_measure": "The certificate states {key} {stated:g}; its numbers give {found:g}.",
    "wrong_balance": "The certificate's mass balance differs from that of the connected parts.",
    "other_nodes": "The nodes of the union differ from those of its parts.",
    "wrong_sum": "Node {node!r} states {key} {stated:g}; its parts add up to {found:g}.",
    "wrong_offsets": "Passage {place} states offsets {start:g} to {end:g} for {length} characters.",
    "wrong_rank": "Passage {place} has a higher score than the one before it.",
    "wrong_score": "Passage {place} states score {stated:g}; its parts, of which none may be below "
                   "0, add up to {found:g}.",
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
