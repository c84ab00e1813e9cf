"""Kept runs as sentences: settings, what two runs have otherwise, what asking again gave."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qafd.wording import count_words, join_some

if TYPE_CHECKING:
    from qafd.runs.difference import NodeChange, RunDifference, Setting
    from qafd.runs.replay import Replay

_SETTINGS = {"planner": "question read by", "embedder": "vectors by", "extractor": "entities by",
             "graph": "graph revision"}
_EXACT = {True: "exact", False: "not exact", None: "no certificate"}


def say_exact(exact: bool | None) -> str:
    """Whether a run was solved to its optimum."""
    return _EXACT[exact]


def say_setting_name(key: str) -> str:
    """Return the name of a setting: "restart probability", "vectors by"."""
    return _SETTINGS.get(key, key.replace("_", " "))


def say_value(value: Any) -> str:
    """Return the value of a setting; options such as "budget" are words of a language too."""
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if value != "" else "unknown"


def say_settings(settings: Mapping[str, Any]) -> dict[str, str]:
    """Settings as people read them: {"mass": "30", "restart probability": "0.15"}."""
    return {say_setting_name(key): say_value(value) for key, value in settings.items()}


def say_difference(found: "RunDifference", first: str, second: str) -> str:
    """What differs, e.g. "2f brings Lisa and leaves out iPod; settings that differ: mass 60 → 20."."""
    if found.settings:
        settings = ", ".join(map(say_change, found.settings))
        rest = f"settings that differ: {settings}"
    else:
        rest = "their settings are the same"
    words = f"{_say_nodes(found, first, second)}; {rest}"
    return words if words.endswith(("?", ".")) else words + "."


def _say_nodes(found: "RunDifference", first: str, second: str) -> str:
    values = {"first": first, "second": second, "gained": _say_names(found.gained),
              "lost": _say_names(found.lost)}
    if values["gained"] and values["lost"]:
        return "{second} brings {gained} and leaves out {lost}".format(**values)
    if values["gained"]:
        return "{second} brings {gained}".format(**values)
    if values["lost"]:
        return "{second} leaves out {lost}".format(**values)
    if found.same:
        return "{first} and {second} retrieve the same".format(**values)
    return "{first} and {second} retrieve the same names, not the same passages".format(**values)


def _say_names(changes: Sequence["NodeChange"]) -> str:
    """Return the first names of some nodes, "" when they are all texts."""
    return join_some([change.name for change in changes
                     if change.kind not in ("passage", "sentence", "summary")])


def say_change(setting: "Setting") -> str:
    """Return a setting that differs: "mass 60 → 20"."""
    return f"{say_setting_name(setting.name)} {say_value(setting.before)} → {say_value(setting.after)}"


def say_replay(again: "Replay") -> list[str]:
    """What asking a run again gave, and why it differs, sentence by sentence."""
    found = again.difference
    before = len(found.shared) + len(found.lost)
    values = {"nodes": before, "shared": len(found.shared), "lost": len(found.lost),
              "gained": len(found.gained), "passages": len(again.run.retrieval.passages),
              "passages_lost": len(found.passages_lost),
              "passages_gained": len(found.passages_gained), "deviation": again.deviation}
    if not again.equal:
        words = [("Not equal: {shared} of {nodes:,} nodes are retrieved again, {lost} are "
                  "not, {gained} are new; {passages_lost} passages are gone and "
                  "{passages_gained} new; importances differ by up to {deviation:.1e} of the "
                  "largest.").format(**values)]
    elif again.deviation:
        words = [("Equal: the same {nodes:,} nodes with the same importances, to "
                  "{deviation:.1e} of the largest, and the same {passages} passages.").format(
                     **values)]
    else:
        words = [("Equal: the same {nodes:,} nodes with the same importances and the same "
                  "{passages} passages.").format(**values)]
    if found.settings:
        words.append(f"What differs: {', '.join(map(say_change, found.settings))}.")
    elif not again.equal:
        words.append("Graph, models, settings and versions are the same; derived layers or "
                      "the machine's arithmetic are what is left.")
    if again.missing:
        words.append(count_words(again.missing, "{number} of {nodes:,} nodes does not exist in this "
                               "graph.", "{number} of {nodes:,} nodes do not exist in this graph.",
                               nodes=before))
    return words
