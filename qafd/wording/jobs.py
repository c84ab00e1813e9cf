"""Sentences about jobs on a workspace."""

from collections.abc import Sequence

from qafd.wording import join_words
from qafd.wording.counts import count

NAMED = 2  # files that are named


def say_job(files: Sequence[str], layers: Sequence[str]) -> str:
    """Word a job that reads these files and builds these layers."""
    if len(files) > NAMED:
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
