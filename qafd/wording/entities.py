"""Words for entities and the edges between them: remarks, edits, possible duplicates."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from qafd.wording import count_words, join_some
from qafd.wording.counts import count

if TYPE_CHECKING:
    from qafd.curate.descriptions import Remark
    from qafd.curate.entities import Suggestion
    from qafd.curate.neighbors import EdgeByHand, Neighbor
    from qafd.edits import Edit

_LIKENESSES = {
    "meaning": "similar meaning", "letter": "one letter differs",
    "part": "one name is part of the other", "initials": "initials of the other"}
_EDITS = {
    "same": "“{key}” is called “{name}”", "apart": "“{one}” is not “{other}”",
    "hide": "“{key}” is not an entity",
    "split": "“{one}” is “{name}” in {count} of its passages",
    "join": "“{one}” — {label} → “{other}”", "cut": "No edge joins “{one}” and “{other}”"}



def say_likeness(pair: "Suggestion") -> str:
    """Word the reason that two entities may be one."""
    return _LIKENESSES[pair.why]


def say_author(remark: "Remark") -> str:
    """Name the source of a remark; its passage follows."""
    if remark.model:
        return f"Written by {remark.model}, from"
    return "From an imported graph,"


def say_place(document: str, page: int | None) -> str:
    """Return a document, with the page if it is known."""
    return document if page is None else f"{document}, page {page}"


def say_more_passages(remark: "Remark") -> str:
    """Count the other passages of a remark, "" for none."""
    if not remark.more:
        return ""
    return count_words(remark.more, "and {number} other passage", "and {number} other passages")


def say_keywords(remark: "Remark") -> str:
    """Word the keywords and the strength of a relation, if it has them."""
    facts = []
    if remark.keywords:
        facts.append(f"keywords: {', '.join(remark.keywords)}")
    if remark.strength:
        facts.append(f"strength {remark.strength:g} of 10")
    return " · ".join(facts)


def say_grounds(near: "Neighbor") -> str:
    """Word the evidence of the edges to a neighbor."""
    grounds = [count(near.sentences, "sentence")] if near.sentences else []
    if near.alike:
        grounds.append("similar names")
    grounds += [say_made_by_hand(edit) for edit in near.joined]
    return " · ".join(grounds)


def say_by_hand(edges: Iterable["EdgeByHand"]) -> str:
    """Word edges that were added by hand and have no sentence."""
    sentences = []
    for edge in edges:
        made = say_made_by_hand(edge).rstrip(".")
        sentences.append(f"{edge.source} — {edge.label or 'is related to'} → {edge.target}. {made}.")
    return " ".join(sentences)


def say_made_by_hand(edge: "Edit | EdgeByHand") -> str:
    """Word the date of an edge that was added by hand, and its note."""
    date = edge.made_at[:10]
    if edge.note:
        return f"Added by hand, {date}: {edge.note}"
    return f"Added by hand, {date}"


def say_edit(edit: "Edit", known: Mapping[str, str]) -> str:
    """Word an edit, with the names of the entities that the graph has."""
    words = _EDITS[edit.action].format(
        key=edit.key, name=edit.name, one=known.get(edit.key, edit.key),
        other=known.get(edit.name, edit.name),
        count=len(edit.passages), label=edit.label or "is related to")
    return f"{words}: {edit.note}" if edit.note else words


def say_nameless(files: Sequence[str]) -> str:
    """Note files in languages without rules for names, "" for none."""
    if not files:
        return ""
    return (f"Only titles connect {join_some(files)}: finding names in this language needs a "
            "language model. Choose one in Settings and read the documents again.")
