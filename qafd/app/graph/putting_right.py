"""Edits by hand: making one, all that were made, and taking one back."""

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from qafd.app.documents.models import start
from qafd.app.escaping import plain, said
from qafd.curate import entities as curate
from qafd.curate.entities import Entity, entities
from qafd.edits import Edit
from qafd.errors import QafdError
from qafd.ingest.jobs import enqueue
from qafd.knowledge import KnowledgeGraph
from qafd.storage import Workspace
from qafd.view.panel import clean
from qafd.wording import say
from qafd.wording.entities import say_edit


def known_entities(knowledge: KnowledgeGraph) -> tuple[Entity, ...]:
    """The entities of a workspace; repeats come from memory."""
    return _entities(state_of(knowledge), knowledge)


def state_of(knowledge: KnowledgeGraph) -> tuple[str, str, tuple[Edit, ...]]:
    """What the entities of a workspace depend on."""
    with knowledge.store() as store:
        return knowledge.id, store.graph.version, store.edits.all()


@st.cache_resource(max_entries=4, show_spinner=False)
def _entities(state: tuple[str, str, tuple[Edit, ...]],  # noqa: ARG001
              _knowledge: KnowledgeGraph) -> tuple[Entity, ...]:
    with _knowledge.store() as store:
        return entities(store)


def put_right(knowledge: KnowledgeGraph, change: Callable[[Workspace], object]) -> None:
    """Make one edit, and let a worker bring the graph up to date."""
    try:
        with knowledge.store() as store, store.transaction():
            change(store)
            enqueue(store)
    except QafdError as error:
        st.error(said(error), icon=":material/error:")
        return
    start(knowledge)
    st.toast(say("Noted; the graph is made anew. Edits takes it back."))
    st.rerun()


def history(knowledge: KnowledgeGraph) -> None:
    """All edits, the last first, each with its undo."""
    with knowledge.store() as store:
        edits, merged = store.edits.all(), store.edits.merged()
    if not edits:
        st.write(say("Nothing was edited yet."))
        return
    known = {one.key: one.name for one in known_entities(knowledge)}
    for edit in reversed(edits):
        words, button = st.columns([6, 1], vertical_alignment="center")
        kind = curate.type_words(edit.name) if edit.action == "type" else ""
        words.markdown(plain(clean(say_edit(edit, known, kind), 1000)))
        keys = (edit.key, edit.name) if edit.action in ("join", "cut") else (edit.key,)
        lost = [key for key in keys if merged.get(key, key) not in known]
        words.caption(plain(" · ".join(_facts(edit, lost))))
        if not edit.undone_at and button.button(say("Undo"), key=f"undo {edit.id}"):
            put_right(knowledge, partial(_undo, number=edit.id))


def _facts(edit: Edit, lost: Sequence[str]) -> list[str]:
    facts = [_minute(edit.made_at)]
    if edit.undone_at:
        facts.append(say("undone {time}", time=_minute(edit.undone_at)))
    elif lost and edit.action in ("join", "cut", "type"):
        facts.append(say("waits until a document names “{name}”", name=clean(lost[0], 80)))
    return facts


def _minute(time: str) -> str:
    return time[:16].replace("T", " ")


def _undo(store: Workspace, number: int) -> None:
    store.edits.undo(number)
