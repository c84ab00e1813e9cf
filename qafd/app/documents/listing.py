"""The list of files on the Documents page: read, delete, bring back, retry, erase."""

from collections.abc import Iterator, Sequence
from typing import Any

import streamlit as st

from qafd.app.documents.models import notices, start
from qafd.app.escaping import brief, plain
from qafd.app.pages import way
from qafd.app.provider import keys
from qafd.app.session import compute_shared, empty, fresh_key, in_store, session
from qafd.app.tables import SHARE_BAR, columns_of, table
from qafd.curate.files import FileLine, listing
from qafd.ingest import measure_footprint
from qafd.ingest.jobs import enqueue, retry
from qafd.ingest.reader import needs_languages
from qafd.knowledge import KnowledgeGraph, version_of
from qafd.models.multilingual import is_installed
from qafd.view.panel import clean
from qafd.wording import count
from qafd.wording.documents import (
    offer_languages,
    say_going,
    say_gone,
    say_moved,
    say_reader,
    say_staying,
)

TROUBLED = 5  # files whose trouble is also written below the table
OFFERED = 2_000  # documents of a file up to which the list has them


def documents_table(knowledge: KnowledgeGraph) -> None:
    """Draw all files with their state, and the actions for the selected ones."""
    lines = _lines(knowledge)
    if not lines:
        st.write("No documents yet. Add one above: the graph can be used as soon as its first "
                  "passages are read.")
        return
    _draw_size(knowledge, lines)
    chosen = _table(lines)
    _word_trouble(lines)
    at = knowledge.id, version_of(knowledge.graph)
    if compute_shared("other languages", at, lambda: in_store(knowledge, needs_languages), at):
        offer = offer_languages("choose another embedding model in Settings", is_installed())
        st.caption(f":material/translate: {plain(offer)}")
        way("settings", "Choose the embedding model")
    _actions(knowledge, lines, chosen)
    if len(chosen) == 1:
        _read(knowledge, chosen[0])
    if len(knowledge.graph):
        way("explore", "Explore the graph")
    st.caption("Tick a file to read, delete or retry it. A deleted file leaves the graph as "
                "if it had never been there, and can be restored until it is erased.")


def _lines(knowledge: KnowledgeGraph) -> tuple[FileLine, ...]:
    with knowledge.store() as store:
        files, working = store.files.all(), bool(store.queue.open())
    return listing(files, notices(knowledge), working)


def _draw_size(knowledge: KnowledgeGraph, lines: Sequence[FileLine]) -> None:
    """Write the size of the workspace, and the reader."""
    graph = knowledge.graph
    with knowledge.store() as store:
        made_by, stale = store.log.extractor, store.graph.stale
    held = [count(sum(not line.gone for line in lines), "file"),
            count(graph.count("passage"), "passage"),
            count(graph.count("entity"), "entity"), count(graph.edge_count, "edge")]
    if made_by:
        held.append(f"read by {brief(say_reader(made_by))}")
    if stale:
        held.append("the graph is not up to date yet")
    st.caption(" · ".join(held))


MEANINGS = {"passages": "Pieces of text", "documents": "Records in the file"}
DULL: dict[str, set[Any]] = {"documents": {0, 1}, "read": {None, 1.0}, "what happened": {""}}
"""Values that say nothing where all files have them."""


def _table(lines: Sequence[FileLine]) -> list[FileLine]:
    """Draw the table; returns the selected lines."""
    rows = []
    for line in lines:
        file = line.file
        rows.append((file.name, line.state, line.happened, file.documents, file.passages, line.read))
    columns = columns_of(("file", "state", "what happened", "documents", "passages", "read"), rows)
    for name, values in DULL.items():
        if set(columns[name]) <= values:
            del columns[name]
    event = table(
        columns, formats=dict.fromkeys(MEANINGS, "localized"), meanings=MEANINGS,
        on_select="rerun", selection_mode="multi-row", key=fresh_key("files_table"),
        column_config={
            "file": st.column_config.TextColumn(width=180),
            "state": st.column_config.TextColumn(width=80),
            "read": SHARE_BAR,
            "what happened": st.column_config.TextColumn(width=500)})
    # a choice outlives a change to a shorter list
    return [lines[row] for row in event["selection"]["rows"] if row < len(lines)]


def _word_trouble(lines: Sequence[FileLine]) -> None:
    """Word the trouble of the first files that have any."""
    troubled = [line for line in lines if not line.gone and (line.file.error or line.doubt)]
    for line in troubled[:TROUBLED]:
        mark = ":material/error: " if line.file.error else ""
        st.caption(f"{mark}**{brief(line.file.name)}**: "
                   f"{plain(line.file.error or line.doubt)}")
    if len(troubled) > TROUBLED:
        st.caption(f"{count(len(troubled) - TROUBLED, 'file')} more, under “what happened” in the "
                    "table; a click on “state” sorts by it.")


def _actions(knowledge: KnowledgeGraph, lines: Sequence[FileLine], chosen: Sequence[FileLine]) -> None:
    """Draw buttons for the selected files; without a selection for all failed or last deleted ones."""
    gone = [line for line in lines if line.gone]
    with st.container(horizontal=True):
        for action, label, files in _choices(lines, chosen):
            if _button(label, files, action):
                _act(knowledge, action, files)
        erasable = [line for line in chosen or gone if line.gone]
        if gone and _button("Erase for good", erasable, "erase"):
            session().erasing = knowledge.id, [line.file.name for line in erasable]
    where, asked = session().erasing or (None, [])
    names = [line.file.name for line in gone if line.file.name in asked]
    if where == knowledge.id and names:
        _erase(knowledge, names)


def _choices(lines: Sequence[FileLine], chosen: Sequence[FileLine]
             ) -> Iterator[tuple[str, str, Sequence[FileLine]]]:
    """Yield each action on files with its label and the files that it is for."""
    yield "delete", "Delete", [line for line in chosen if not line.gone]
    failed = [line for line in lines if line.file.status == "failed" and not line.gone]
    if failed and not chosen:
        yield "retry", "Retry failed", failed
    else:
        yield "retry", "Retry", [line for line in chosen if line.retriable]
    deleted = [line for line in lines if line.gone]
    latest = max((line.file.deleted_at or "" for line in deleted), default="")
    yield "undo", "Undo delete", ([line for line in chosen if line.gone]
                                  or [line for line in deleted if line.file.deleted_at == latest])


def _button(label: str, lines: Sequence[FileLine], key: str) -> bool:
    if len(lines) > 1:
        label = f"{label} {count(len(lines), 'file')}"
    return st.button(label, disabled=not lines, key=key)


def _act(knowledge: KnowledgeGraph, action: str, lines: Sequence[FileLine]) -> None:
    names = [line.file.name for line in lines]
    apply(knowledge, action, names)
    if action != "retry":
        session().finished = ""  # the invitation to ask was for what came before
        st.toast(plain(say_moved(action == "delete", [clean(name, 80) for name in names])))
    _clear_selection()


def apply(knowledge: KnowledgeGraph, action: str, names: Sequence[str]) -> None:
    """Delete, undo or retry files, and let a worker bring the graph up to date."""
    with knowledge.store() as store:
        if action == "retry":
            retry(store, names, keys())
        elif action == "delete":
            store.documents.delete(*names)
            enqueue(store)
        else:
            for name in names:
                store.documents.undo(name)
            enqueue(store)
    start(knowledge)


def _clear_selection() -> None:
    empty("files_table")  # the next action needs a new selection
    st.rerun()


def _erase(knowledge: KnowledgeGraph, names: Sequence[str]) -> None:
    """List the parts that erasing removes, above its button."""
    with st.container(border=True):
        with knowledge.store() as store:
            st.markdown(brief(say_going(measure_footprint(store, names)), 2000))
            busy = store.lease.writer is not None or any(
                job.state != "paused" for job in store.queue.open())
        st.caption(plain(say_staying()))
        if busy:
            st.caption(":material/hourglass: Documents are being read, or the graph is "
                        "being rebuilt. Erase when that is done.")
        with st.container(horizontal=True):
            erase = st.button("Erase now", key="erase_now", disabled=busy)
            keep = st.button("Keep", key="erase_not")
        if erase:
            with st.spinner("Erasing, and rebuilding the graph"):
                gone = knowledge.erase(*names)
            st.toast(brief(say_gone(gone), 600), duration="long")
        if erase or keep:
            session().erasing = None
            _clear_selection()


def _read(knowledge: KnowledgeGraph, line: FileLine) -> None:
    """Open the chosen file, or one of its documents."""
    with knowledge.store() as store:
        names = store.documents.titles(line.file.name, OFFERED)
    if not names:
        return
    name: str | None = next(iter(names))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if line.file.documents > 1:
            name = st.selectbox(
                f"One of its {line.file.documents:,} documents", list(names),
                key=f"of {line.file.name}",
                format_func=lambda one: clean(f"{names[one]} · {one}", 160),
                help="" if line.file.documents <= OFFERED else
                f"The first {OFFERED:,}; the search above finds the others.")
        if st.button("Read it", icon=":material/article:", key="read") and name:
            st.query_params["doc"] = name
            st.rerun()
