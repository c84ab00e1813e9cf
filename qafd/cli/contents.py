"""Contents of a workspace, costs of its model calls, and copies of it."""

import os
from typing import TYPE_CHECKING

from qafd.cli.command import Outcome

if TYPE_CHECKING:
    from qafd.storage import Location, Workspace
    from qafd.storage.rows import Total


def status(store: "Workspace", failed: bool = False, interrupted: bool = False) -> Outcome:
    """Count what a workspace holds."""
    kinds = store.listing.count_nodes()
    files = [file for file in store.files.all() if file.deleted_at is None]
    counts = {
        "files": len(files), "failed": sum(file.status == "failed" for file in files),
        "documents": sum(file.documents for file in files),
        "passages": kinds.get("passage", 0),
        "entities": kinds.get("entity", 0), "edges": store.listing.count_pairs(),
        "revision": store.graph.revision, "digest": store.graph.digest()}
    return Outcome(counts, [f"{name:10} {value}" for name, value in counts.items()],
                   failed=failed, interrupted=interrupted)


def backup(store: "Workspace", to: "Location") -> Outcome:
    from qafd.storage import copy_workspace, place_of

    if isinstance(to, str):
        copy_workspace(store.place.url, to)
    else:
        store.backup(os.fspath(to))
    written = place_of(to).written if isinstance(to, str) else os.fspath(to)
    return Outcome({"backup": written}, [written])


def ledger(store: "Workspace", by: str) -> Outcome:
    totals = store.ledger.totals(by)
    return Outcome(totals, map(_total_line, totals), found=bool(totals),
                   notes=[] if totals else ["no language model was called for this workspace"])


def _total_line(total: "Total") -> str:
    line = f"{word_calls(total)}, ${total.cost:,.4f}"
    return f"{line} and {total.unpriced} calls without a price" if total.unpriced else line


def word_calls(total: "Total") -> str:
    """Word the number of calls, and of their tokens."""
    from qafd.reading.text.plaintext import one_line

    about = "~" if total.estimated else ""
    return (f"{one_line(total.what, 200) or '-'}: {total.calls:,} calls, "
            f"{about}{total.tokens_in:,} tokens in, {about}{total.tokens_out:,} out")
