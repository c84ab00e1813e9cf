"""Descriptions of an entity and its relations, by language models and imported graphs."""

from collections import defaultdict
from dataclasses import dataclass, replace

from qafd.records import WEIGHT, node_id
from qafd.storage import Workspace
from qafd.storage.rows import Said


@dataclass(frozen=True)
class Remark:
    """A description, and the first passage that it describes.

    `model` wrote it; it is "" for a graph file. `strength` is from 1 to 10, 0 if not
    given; `more` counts other passages with the same description.
    """

    text: str
    model: str
    document: str
    title: str
    page: int | None
    chunk: str
    keywords: tuple[str, ...] = ()
    strength: float = 0.0
    more: int = 0


def remarks(store: Workspace, node: str) -> dict[str, tuple[Remark, ...]]:
    """Return the descriptions of an entity and of its relations, in the order of the documents.

    Models write this; it may be wrong, and its text is no more to be trusted than that of a
    document.

    Parameters
    ----------
    node : str
        The id of the entity.

    Returns
    -------
    dict
        By the id of the other end of a relation; "" for the entity itself. Empty
        for other nodes, and where no model has read the documents.
    """
    with store.snapshot():
        known = store.graph.nodes([node]).get(node)
        if known is None or known.kind != "entity":
            return {}
        merged = store.edits.map_merged()
        said = store.passages.said_of(known.key, *(key for key, own in merged.items() if own == known.key))
    found: dict[str, dict[str, Remark]] = defaultdict(dict)
    for one in said:
        about = one.description
        ends = {merged.get(key, key) for key in (about.source, about.target) if key}
        other = next(iter(ends - {known.key}), "")
        if not about.text or (about.target and not other):  # of two names that are one now
            continue
        here = found[node_id("entity", other) if other else ""]
        if about.text in here:
            here[about.text] = replace(here[about.text], more=here[about.text].more + 1)
        else:
            here[about.text] = _remark(one)
    return {other: tuple(some.values()) for other, some in found.items()}


def _remark(one: Said) -> Remark:
    about = one.description
    strength = 0.0 if about.kind == WEIGHT else about.strength
    return Remark(about.text, one.model, one.document, one.title, one.page, one.chunk,
                  about.keywords, strength)
