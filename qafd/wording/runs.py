"""Saved runs as sentences: settings, differences, replays, and the findings of a check."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qafd.wording import count, join_some

if TYPE_CHECKING:
    from qafd.retrieve.base import RetrievedNode
    from qafd.runs.difference import Replay, RunDifference
    from qafd.runs.imported import Imported
    from qafd.runs.verify import Finding, Verification


_SETTINGS = {"planner": "question read by", "embedder": "vectors by", "extractor": "entities by",
             "graph": "graph revision"}
_EXACT = {True: "exact", False: "not exact", None: "no certificate"}


def say_exact(exact: bool | None) -> str:
    """Word the state of a run's certificate."""
    return _EXACT[exact]


def say_setting_name(key: str) -> str:
    """Name a setting: "restart probability", "vectors by"."""
    return _SETTINGS.get(key, key.replace("_", " "))


def say_value(value: Any) -> str:
    """Word the value of a setting."""
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if value != "" else "unknown"


def say_settings(settings: Mapping[str, Any]) -> dict[str, str]:
    """Word settings: {"mass": "30", "restart probability": "0.15"}."""
    return {say_setting_name(key): say_value(value) for key, value in settings.items()}


def say_imported(done: "Imported", name: str) -> list[str]:
    """Word the result of an import of runs: the runs, and the records left out."""
    if len(done.ids) == 1 and not done.results:
        return [f"saved as {done.ids[0]}"]
    sentences = [f"{count(len(done.ids), 'question')} of {name} saved, with {count(done.results, 'result')}."]
    if done.unmatched:
        sentences.append(f"Not in this workspace: {count(done.unmatched, 'result')}.")
    if done.left_out:
        sentences.append(f"Left out: {count(len(done.left_out), 'record')}; {done.left_out[0]}.")
    return sentences


def say_difference(change: "RunDifference") -> list[str]:
    """Word the difference of two runs, e.g. "Only the second retrieves Lisa."."""
    sentences = []
    for label, nodes in (("second", change.gained), ("first", change.lost)):
        names = _join_names(nodes)
        if names:
            sentences.append(f"Only the {label} run retrieves {names}.")
    if change.same:
        sentences.append("Both runs retrieve the same nodes and passages.")
    elif not sentences:
        sentences.append("Both runs retrieve the same names, but not the same passages.")
    sentences.append(_say_changes(change) or "Their settings are the same.")
    return sentences


def _join_names(nodes: Sequence["RetrievedNode"]) -> str:
    """Join the first names of some nodes; "" if all of them are texts."""
    return join_some([node.name for node in nodes if node.kind not in ("passage", "sentence", "summary")])


def _say_changes(change: "RunDifference") -> str:
    """Word the settings that differ: "Settings that differ: mass 60 → 20."; "" if none does."""
    words = [f"{say_setting_name(name)} {say_value(before)} → {say_value(after)}"
             for name, (before, after) in change.settings.items()]
    return f"Settings that differ: {', '.join(words)}." if words else ""


def say_replay(replay: "Replay") -> list[str]:
    """Word the result of a replay, and why it differs, sentence by sentence."""
    change = replay.difference
    before = change.shared + len(change.lost)
    if replay.equal:
        passages = len(replay.run.retrieval.passages)
        return [f"Equal: the same {before:,} nodes and {passages} passages; importances differ by at "
                f"most {replay.deviation:.1e} of the largest."]
    sentences = [
        f"Not equal: {change.shared} of {before:,} nodes are retrieved again, {len(change.lost)} "
        f"are not, {len(change.gained)} are new; {len(change.passages_lost)} passages are gone and "
        f"{len(change.passages_gained)} new; importances differ by up to {replay.deviation:.1e} of the "
        "largest."]
    sentences.append(_say_changes(change) or "Graph, models, settings and versions are the same; derived "
                     "layers or the machine's arithmetic may differ.")
    if replay.missing:
        sentences.append(f"Missing from this graph: {replay.missing:,} of {before:,} nodes.")
    return sentences


_FINDINGS = {
    "union_checked": "This is the sum of {count} diffusions, and each of "
                     "them was checked.",
    "flows_right": "All {edges} flows are weight times difference of importance, and every one of "
                   "{nodes} nodes holds its source plus inflow minus outflow.",
    "optimal": "No node holds more than its capacity and the {support} retrieved ones are full: the "
               "diffusion is optimal, duality gap {gap:.3g}.",
    "unchanged": "The digest is right: nothing was changed after the retrieval.",
    "no_digest": "The run has no digest, so its scores, similarities, passages, times and labels cannot be "
                 "checked.",
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
