"""The list of files on the Documents page: read, delete, bring back, retry, erase."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from qafd.app.documents.models import notices, start
from qafd.app.escaping import plain
from qafd.app.pages import page
from qafd.curate.filelist import Line, listing
from qafd.curate.unread import Unread, nameless, unread
from qafd.ingest.erase import STAYS, footprint
from qafd.ingest.jobs import enqueue, open_jobs, retry
from qafd.knowledge import KnowledgeGraph
from qafd.storage.rows import Contents
from qafd.view.panel import clean
from qafd.wording import say
from qafd.wording.counts import count

TOLD = 5  # files whose trouble is also told below the table
OFFERED = 2_000  # documents of a file up to which the list has them
SHOWN = 30  # passages whose replies are shown
LONGEST = 20_000  # characters of a reply


def documents_table(knowledge: KnowledgeGraph) -> None:
    """All files with their state, and what can be done with the chosen ones."""
    lines = _lines(knowledge)
    if not lines:
        st.info(say("No documents yet. Add one above: the graph can be used as soon as its first "
                    "passages are read."))
        return
    _held(knowledge, lines)
    chosen = _table(lines)
    _told(lines)
    if said := _nameless(knowledge, (knowledge.path, knowledge.version(knowledge.graph))):
        st.caption(f":material/info: {plain(clean(said, 800))}")
    _actions(knowledge, lines, chosen)
    if len(chosen) == 1:
        _read(knowledge, chosen[0])
    _replies(knowledge, [line for line in chosen or lines if line.retriable])
    if len(knowledge.graph):
        st.page_link(page("explore"), label=say("Explore the graph"), icon=":material/hub:")
    st.caption(say("Choose rows to read, delete or retry. A deleted file leaves the graph as if it had "
                   "never been there, and can be brought back until it is erased."))


def _lines(knowledge: KnowledgeGraph) -> tuple[Line, ...]:
    with knowledge.store() as store:
        files, working = store.files.all(), bool(open_jobs(store))
    state = (knowledge.path, knowledge.version(knowledge.graph),
             [(file.name, file.passages) for file in files])
    return listing(files, _contents(knowledge, state), notices(knowledge), working)


@st.cache_data(max_entries=4, show_spinner=False)
def _contents(_knowledge: KnowledgeGraph, state: object) -> dict[str, Contents]:  # noqa: ARG001
    """What each file brings, counted once for a state of graph and files."""
    with _knowledge.store() as store:
        return store.files.contents()


@st.cache_data(max_entries=4, show_spinner=False)
def _nameless(_knowledge: KnowledgeGraph, state: object) -> str:  # noqa: ARG001
    """Which files have no names, looked up once for a graph."""
    with _knowledge.store() as store:
        return nameless(store)


def _held(knowledge: KnowledgeGraph, lines: Sequence[Line]) -> None:
    """What the workspace has, and who read it."""
    graph = knowledge.graph
    with knowledge.store() as store:
        made_by = store.log.extractor
    counts = [(sum(not line.gone for line in lines), "file"),
              (int((graph.kinds == "passage").sum()), "passage"),
              (int((graph.kinds == "entity").sum()), "entity"), (graph.edge_count, "edge")]
    st.caption(" · ".join(count(*some) for some in counts)
               + (say(" · read by {made_by}", made_by=plain(clean(made_by, 80))) if made_by else ""))


def _table(lines: Sequence[Line]) -> list[Line]:
    """The table; returns the chosen lines."""
    event = st.dataframe(
        _telling([_row(line) for line in lines]), hide_index=True, on_select="rerun",
        selection_mode="multi-row", key=f"files_table{st.session_state.get('acted', 0)}",
        column_config={
            "file": st.column_config.TextColumn(width=180),
            "state": st.column_config.TextColumn(width=80),
            "entities": _count("Entities that its passages mention, in the graph as it is now"),
            "relations": _count("Relations that its sentences state, in the graph as it is now"),
            "tokens": _count("Length of its passages"), "passages": _count("Pieces of text"),
            "pages": _count("Pages of its documents"), "documents": _count("Records in the file"),
            "size": st.column_config.NumberColumn(format="bytes"),
            "read": st.column_config.ProgressColumn(min_value=0, max_value=1, format="percent"),
            "what happened": st.column_config.TextColumn(width="large")})
    # a choice outlives a change to a shorter list
    return [lines[row] for row in event["selection"]["rows"] if row < len(lines)]


def _count(meaning: str) -> Any:
    return st.column_config.NumberColumn(help=meaning, format="localized")


def _row(line: Line) -> dict[str, Any]:
    file, held = line.file, line.contents
    return {"file": clean(file.name, 160), "state": line.state, "documents": file.documents,
            "pages": held.pages or None, "passages": file.passages, "entities": held.entities,
            "relations": held.relations, "tokens": held.tokens, "size": file.size,
            "read": line.read, "what happened": clean(line.happened, 400)}


def _telling(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows without columns that would say the same of every file: one document, all read."""
    dull = {"documents": (0, 1), "pages": (None,), "read": (None, 1.0), "what happened": ("",)}
    silent = {name for name, values in dull.items() if all(row[name] in values for row in rows)}
    return [{name: value for name, value in row.items() if name not in silent} for row in rows]


def _told(lines: Sequence[Line]) -> None:
    """The trouble of the first files that have any."""
    told = [line for line in lines if not line.gone and (line.file.error or line.doubt)]
    for line in told[:TOLD]:
        mark = ":material/error: " if line.file.error else ""
        st.caption(f"{mark}**{plain(clean(line.file.name, 120))}**: "
                   f"{plain(line.file.error or line.doubt)}")
    if len(told) > TOLD:
        st.caption(say("{files} more, under “what happened” in the table; "
                       "a click on “state” sorts by it.", files=count(len(told) - TOLD, "file")))


def _actions(knowledge: KnowledgeGraph, lines: Sequence[Line], chosen: Sequence[Line]) -> None:
    gone = [line for line in lines if line.gone]
    latest = max((line.file.deleted_at or "" for line in gone), default="")
    failed = [line for line in lines if line.file.status == "failed" and not line.gone]
    with st.container(horizontal=True):
        if _button("Delete", kept := [line for line in chosen if not line.gone], "delete"):
            _act(knowledge, "delete", kept)
        again = [line for line in chosen if line.retriable] if chosen or not failed else failed
        if _button("Retry" if chosen or not failed else "Retry failed", again, "retry"):
            _act(knowledge, "retry", again)
        back = [line for line in chosen if line.gone] or [
            line for line in gone if line.file.deleted_at == latest]
        if _button("Undo delete", back, "undo"):
            _act(knowledge, "undo", back)
        if gone and _button("Erase for good", marked := [line for line in chosen if line.gone] or
                            ([] if chosen else gone), "erase"):
            st.session_state["erasing"] = knowledge.path, [line.file.name for line in marked]
    where, asked = st.session_state.get("erasing", (None, ()))
    if where == knowledge.path and (
            names := [line.file.name for line in gone if line.file.name in asked]):
        _erase(knowledge, names)


def _button(label: str, lines: Sequence[Line], key: str) -> bool:
    many = f" {len(lines)} files" if len(lines) > 1 else ""
    return st.button(label + many, disabled=not lines, key=key)


def _act(knowledge: KnowledgeGraph, action: str, lines: Sequence[Line]) -> None:
    apply(knowledge, action, [line.file.name for line in lines])
    _anew()


def apply(knowledge: KnowledgeGraph, action: str, names: Sequence[str]) -> None:
    """Delete, undo or retry files, and let a worker bring the graph up to date."""
    with knowledge.store() as store:
        if action == "retry":
            retry(store, names)
        elif action == "delete":
            store.documents.delete(*names)
            enqueue(store)
        else:
            for name in names:
                store.documents.undo(name)
            enqueue(store)
    start(knowledge)


def _anew() -> None:
    # A table of another key has no rows chosen: the next action is for rows chosen anew.
    st.session_state["acted"] = st.session_state.get("acted", 0) + 1
    st.rerun()


def _erase(knowledge: KnowledgeGraph, names: Sequence[str]) -> None:
    """What goes and what stays, and the button that does it."""
    with st.container(border=True):
        with knowledge.store() as store:
            st.markdown(plain(clean(footprint(store, names).sentence, 2000)))
            busy = store.queue.writer is not None or any(
                job.state != "paused" for job in open_jobs(store))
        st.caption(plain(STAYS))
        if busy:
            st.caption(say(":material/hourglass: Documents are being read, or the graph made anew: "
                           "erase when that is done."))
        with st.container(horizontal=True):
            erase = st.button(say("Erase now"), type="primary", key="erase_now", disabled=busy)
            keep = st.button(say("Keep"), key="erase_not")
        if erase:
            with st.spinner(say("Erasing, and making the graph anew")):
                gone = knowledge.erase(*names)
            st.toast(plain(clean(gone.past, 600)), duration="long")
        if erase or keep:
            del st.session_state["erasing"]
            _anew()


def _read(knowledge: KnowledgeGraph, line: Line) -> None:
    """Open the chosen file, or one of its documents."""
    with knowledge.store() as store:
        names = store.documents.titles(line.file.name, OFFERED)
    if not names:
        return
    name: str | None = next(iter(names))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if line.file.documents > 1:
            name = st.selectbox(
                say("One of its {documents} documents", documents=f"{line.file.documents:,}"), list(names),
                key=f"of {line.file.name}",
                format_func=lambda one: clean(f"{names[one]} · {one}", 160),
                help="" if line.file.documents <= OFFERED else
                say("The first {offered}; the search above finds the others.",
                    offered=f"{OFFERED:,}"))
        if st.button(say("Read it"), icon=":material/article:", key="read") and name:
            st.query_params["doc"] = name
            st.rerun()


def _replies(knowledge: KnowledgeGraph, lines: Sequence[Line]) -> None:
    """What models really replied where they did not read as they should, file by file."""
    with knowledge.store() as store:
        found = {line.file.name: passages for line in lines[:TOLD]
                 if (passages := unread(store, line.file.name))}
    for name, passages in found.items():
        with st.expander(say("What the model replied for {name}: "
                             "{passages}", name=plain(clean(name, 80)),
                             passages=count(len(passages), "passage")), icon=":material/troubleshoot:"):
            for one in passages[:SHOWN]:
                _reply(one)
            if len(passages) > SHOWN:
                st.caption(say("The first {shown}; `qafd docs --errors` has all.", shown=SHOWN))


def _reply(one: Unread) -> None:
    page_of = f", page {one.page}" if one.page is not None else ""
    st.caption(plain(say("{document}, passage {number}{page_of}: {reason}",
                         document=clean(one.document, 120), number=f"{one.number:,}",
                         page_of=page_of, reason=one.reason)))
    for reply in one.replies:
        if reply:
            st.code(reply[:LONGEST] + "…" * (len(reply) > LONGEST), language=None, wrap_lines=True)
        else:
            st.caption(say("No reply that could be read."))
