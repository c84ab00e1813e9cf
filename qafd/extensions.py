"""Methods, readers and exporters that other installed packages add by entry points.

`qafd.methods`: a name to a frozen dataclass as `qafd.retrieve.base.Retriever` describes it.
`qafd.readers`: an ending of files to a function of bytes that returns Markdown. `qafd.exporters`: a
name to an `qafd.export.formats.ExportFormat`. `qafd.testing` checks them. Each
belongs into a module of its own: it is loaded while the part of qafd that it extends is, and a reader in
a process that has nothing else of qafd.
"""

import logging
from collections.abc import Collection
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

METHODS, READERS, EXPORTERS = "qafd.methods", "qafd.readers", "qafd.exporters"


@cache
def find_extensions(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name; nothing is loaded."""
    return {point.name: point for point in entry_points(group=group)}


def load_extensions(group: str, own: Collection[str]) -> dict[str, Any]:
    """Load the extensions that other packages add to a group, by name.

    An extension with a name of qafd, or one that cannot be loaded, is left out with a warning.
    """
    found: dict[str, Any] = {}
    log = logging.getLogger("qafd")
    for name, point in find_extensions(group).items():
        if name in own:
            log.warning("%s of %s is left out: qafd has one of that name; rename it.", name, point.value)
            continue
        try:
            found[name] = point.load()
        except Exception as error:  # noqa: BLE001 - a stranger's module may raise anything
            log.warning("%s of %s cannot be loaded (%s: %s); update or remove its package.",
                        name, point.value, type(error).__name__, error)
    return found
