"""The check of a workspace, in words; nothing is changed."""

from qafd.records import Check
from qafd.storage import Location, examine
from qafd.wording.documents import say_diagnosis


def doctor(location: Location | None = None, deep: bool = False) -> list[Check]:
    """Check the installation and, if one is named, a workspace; see `qafd.storage.examine`."""
    return [Check(found.aspect, not found.faults, say_diagnosis(found))
            for found in examine(location, deep)]
