"""Sentences about damage to a workspace, each with a remedy."""

from typing import TYPE_CHECKING

from qafd.storage.diagnosis import Aspect, FaultKind

if TYPE_CHECKING:
    from qafd.storage.diagnosis import Diagnosis, Fault

_GROWN = "The log has grown since the graph was assembled; `qafd index` brings it up to date."
_FINE = {
    Aspect.ENGINE: "SQLite {found}; {wanted} or newer is needed.",
    Aspect.DISK: "{free:,.0f} MB are free next to a workspace of {size:,.1f} MB; backups need twice its "
                 "size.",
    Aspect.PAGES: "SQLite finds all pages, indexes and references sound.",
    Aspect.TABLES: "Every table is defined as it should be.",
    Aspect.LOG_MODE: "Changes are written to a log first.",
    Aspect.TEXTS: "Every document and passage is unchanged.",
    Aspect.LOG: "Every extraction is unchanged.",
    Aspect.PASSAGES: "The graph has the passages of the log.",
    Aspect.GRAPH: "The graph is unchanged since it was assembled.",
    Aspect.SEARCH: "Every passage is in the search index.",
    Aspect.VECTORS: "Every vector has its length and is of unit norm.",
    Aspect.JOBS: "No job is stuck.",
    Aspect.RUNS: "Every saved run is unchanged.",
    Aspect.PLANS: "Every saved plan is unchanged.",
    Aspect.GRAPH_ANEW: "The graph equals the one rebuilt from the log.",
    Aspect.SEARCH_ANEW: "The search index equals the one rebuilt from the passages.",
}
_FAULTS = {
    FaultKind.OLD_ENGINE: "This version of SQLite is too old",
    FaultKind.MISSING_FILE: "There is no workspace at {place}",
    FaultKind.LITTLE_SPACE: "There is little disk space",
    FaultKind.UNREADABLE: "This cannot be read ({error})",
    FaultKind.UNSOUND: "SQLite reports: {error}",
    FaultKind.OTHER_DEFINITION: "{table} is not defined as it should be",
    FaultKind.NO_LOG_MODE: "The write-ahead log is off",
    FaultKind.CHANGED_DOCUMENT: "{document} changed after it was stored",
    FaultKind.CHANGED_PASSAGE: "Passage {passage} of {document} changed after it was stored",
    FaultKind.MISPLACED_PASSAGE: "Passage {passage} is not at its place in {document}",
    FaultKind.CHANGED_EXTRACTION: "The extraction of passage {passage} changed after it was stored",
    FaultKind.SHOWN_PASSAGE: "Passage {passage} of {document} is shown but deleted or changed",
    FaultKind.MISSING_PASSAGE: "Passage {passage} of {document} is missing from the graph",
    FaultKind.OTHER_COUNT: "The table {table} has {found} rows, not the {assembled} that were assembled",
    FaultKind.OTHER_ROWS: "The table {table} has rows that differ from the assembled ones",
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
    FaultKind.DAMAGED_PLAN: "The saved plan of {question!r} is damaged",
    FaultKind.DAMAGED_VECTORS: "The graph cannot be rebuilt from damaged vectors",
    FaultKind.DIFFERENT_ROWS: "{many} rows of {table} differ",
    FaultKind.OTHER_INDEX: "The search index does not fit the passages",
}
_RESTORE = "restore a backup"
_READ_AGAIN = "delete the document and add it again"
_REBUILD = "rebuild the graph (`qafd index --rebuild`)"
_EMBED = "embed the workspace again (`qafd index --re-embed`)"
_REMEDIES = {
    Aspect.ENGINE: "install a newer Python or SQLite", Aspect.FILE: "index a document first",
    Aspect.DISK: "free some space", Aspect.PAGES: _RESTORE, Aspect.TABLES: _RESTORE,
    Aspect.LOG_MODE: "the file system does not support it: move the workspace to another one",
    Aspect.TEXTS: _READ_AGAIN, Aspect.LOG: _READ_AGAIN, Aspect.PASSAGES: _REBUILD,
    Aspect.GRAPH: _REBUILD,
    Aspect.SEARCH: _REBUILD, Aspect.VECTORS: _EMBED, Aspect.JOBS: "run `qafd index` to continue",
    Aspect.RUNS: "ask the question again",
    Aspect.PLANS: "its question is read again when it is asked", Aspect.GRAPH_ANEW: _REBUILD,
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
