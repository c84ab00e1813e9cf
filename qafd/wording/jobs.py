"""What a job on a workspace does, in words."""

from collections.abc import Sequence

from qafd.wording import say, say_list
from qafd.wording.counts import count

NAMED = 2  # files that are named


def say_job(files: Sequence[str], layers: Sequence[str]) -> str:
    """What a job does that reads these files and builds these layers."""
    if len(files) > NAMED:
        return say("Read {files}", files=count(len(files), "file"))
    if files:
        return say("Read {files}", files=say_list(files))
    if layers:
        return say("Build {layers}", layers=say_list(layers))
    return say("Bring the graph up to date")
