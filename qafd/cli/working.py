"""A worker that waits for what is to be read: the command worker."""

import time

from qafd.cli import DONE
from qafd.cli.command import keys_of_environment, note, require_location, spending
from qafd.errors import BusyError, QafdError
from qafd.ingest.jobs import needs_worker, work
from qafd.ingest.reader import Keys
from qafd.storage import Location, beside, names_beside, open_workspace

SECONDS = 2.0  # between two looks at what waits


def worker(db: Location | None, engine: int | str, once: bool) -> int:
    root, keys = require_location(db), keys_of_environment()
    spending()
    while True:
        try:
            urls = [beside(root, name) for name in names_beside(root)]
            worked = [url for url in urls if _work_on(url, engine, keys)]
        except QafdError as error:
            note(str(error))
            worked = []
        if not worked:
            if once:
                return DONE
            time.sleep(SECONDS)


def _work_on(url: str, engine: int | str, keys: Keys) -> bool:
    """Do the jobs of a workspace, if any wait for a worker; whether there were any."""
    try:
        with open_workspace(url, make=False) as store:
            waiting = needs_worker(store, keys)
        if waiting:
            work(url, processes=engine, keys=keys)
    except BusyError:  # another one was faster
        return False
    except QafdError as error:
        note(str(error))
        return False
    return waiting
