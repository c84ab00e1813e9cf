"""Findings of an examination of a workspace: the aspects examined, and the faults of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Aspect(StrEnum):
    """Aspect that is examined; its comment lists the values of its diagnosis."""

    FILE = "file"
    DISK = "disk"  # size, free
    PAGES = "pages"
    TABLES = "tables"
    TEXTS = "texts"
    LOG = "log"
    PASSAGES = "passages"  # passages, or grown
    SEARCH = "search"
    VECTORS = "vectors"
    JOBS = "jobs"
    RUNS = "runs"
    GRAPH_ANEW = "graph anew"  # grown
    SEARCH_ANEW = "search anew"


class FaultKind(StrEnum):
    """Kind of fault; its comment lists the values it has."""

    MISSING_FILE = "missing_file"  # place
    REFUSED = "refused"  # error
    LITTLE_SPACE = "little_space"
    UNREADABLE = "unreadable"  # error
    UNSOUND = "unsound"  # error
    OTHER_DEFINITION = "other_definition"  # table
    CHANGED_DOCUMENT = "changed_document"  # document
    CHANGED_PASSAGE = "changed_passage"  # passage, document
    MISPLACED_PASSAGE = "misplaced_passage"  # passage, document
    CHANGED_EXTRACTION = "changed_extraction"  # passage
    SHOWN_PASSAGE = "shown_passage"  # passage, document
    MISSING_PASSAGE = "missing_passage"  # passage, document
    NOT_INDEXED = "not_indexed"  # passage
    LOOSE_ENTRY = "loose_entry"  # entry
    WRONG_LENGTH = "wrong_length"  # key, size, dimension
    CHANGED_VECTOR = "changed_vector"  # key
    LOST_VECTORS = "lost_vectors"  # node
    MISSING_VECTORS = "missing_vectors"  # many
    DEAD_JOB = "dead_job"  # job
    PAUSED_JOB = "paused_job"  # job
    NO_JOB = "no_job"  # file
    DAMAGED_RUN = "damaged_run"  # key
    DAMAGED_VECTORS = "damaged_vectors"
    DIFFERENT_ROWS = "different_rows"  # many, table
    OTHER_INDEX = "other_index"


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong, with its values."""

    kind: FaultKind
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Diagnosis:
    """Faults of one aspect, if any; the values are those of the `Aspect`."""

    aspect: Aspect
    faults: tuple[Fault, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)


def fault(kind: FaultKind, **values: Any) -> Fault:
    """A fault from its values."""
    return Fault(kind, values)
