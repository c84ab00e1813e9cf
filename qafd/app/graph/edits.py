"""Edits by hand: possible duplicates and splits, all edits, and their undo."""

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from qafd.app.documents.models import start
from qafd.app.escaping import brief, escape_sentence, plain
from qafd.app.session import compute_shared, in_store
from qafd.curate import entities as curate
from qafd.curate.entities import Entity, Suggestion, entities, suggestions
from qafd.curate.splitting import find_mixed, passages_of, split
from qafd.edits import Edit
from qafd.errors import QafdError
from qafd.ingest.jobs import enqueue
from qafd.knowledge import KnowledgeGraph
from qafd.reading.text import canonical
from qafd.records import node_id
from qafd.storage import Workspace
from qafd.view.panel import clean
from qafd.wording import count
from qafd.wording.documents import say_edit, say_likeness

PAIRS = 8  # shown at a time


def known_entities(knowledge: KnowledgeGraph) -> tuple[Entity, ...]:
    """Return the entities of a workspace, from the cache if nothing changed."""
    state = state_of(knowledge)
    return compute_shared("entities", state, lambda: in_store(knowledge, entities), state[:2])


def state_of(knowledge: KnowledgeGraph) -> tuple[str, str, tuple[Edit, ...]]:
    """Return the state that the entities of a workspace depend on."""
    with knowledge.store() as store:
        return knowledge.id, store.graph.version, store.edits.all()


def save_edit(knowledge: KnowledgeGraph, change: Callable[[Workspace], object],
              name: str = "") -> None:
    """Make one edit, and let a worker bring the graph up to date.

    The page then shows the entity `name`; "" keeps the current one.
    """
    try:
        with knowledge.store() as store, store.transaction():
            change(store)
            enqueue(store)
    except QafdError as error:
        st.error(escape_sentence(error), icon=":material/error:")
        return
    start(knowledge)
    if name:
        st.query_params["entity"] = node_id("entity", canonical(name))
    st.toast("Saved. The graph is being rebuilt; undo it under Edits.")
    st.rerun()


def history(knowledge: KnowledgeGraph) -> None:
    """List all edits, the last first, each with its undo."""
    with knowledge.store() as store:
        edits, merged = store.edits.all(), store.edits.map_merged()
    if not edits:
        st.write("Nothing was edited yet.")
        return
    known = {one.key: one.name for one in known_entities(knowledge)}
    for edit in reversed(edits):
        words, button = st.columns([6, 1], vertical_alignment="center")
        words.markdown(brief(say_edit(edit, known), 1000))
        keys = (edit.key, edit.name) if edit.action in ("join", "cut") else (edit.key,)
        lost = [key for key in keys if merged.get(key, key) not in known]
        words.caption(plain(" · ".join(_word_edit(edit, lost))))
        if not edit.undone_at and button.button("Undo", key=f"undo {edit.id}"):
            save_edit(knowledge, partial(_undo, number=edit.id))


def _word_edit(edit: Edit, lost: Sequence[str]) -> list[str]:
    facts = [_minute(edit.made_at)]
    if edit.undone_at:
        facts.append(f"undone {_minute(edit.undone_at)}")
    elif lost and edit.action in ("join", "cut"):
        facts.append(f"waits until a document names “{clean(lost[0], 80)}”")
    return facts


def _minute(time: str) -> str:
    return time[:16].replace("T", " ")


def _undo(store: Workspace, number: int) -> None:
    store.edits.undo(number)


def possibly_two(knowledge: KnowledgeGraph) -> None:
    """Draw the entities that may be two things, each with the passages of both and a name to split by."""
    state = state_of(knowledge)
    found = compute_shared("mixed", state, lambda: in_store(
        knowledge, lambda store: find_mixed(store, knowledge.graph)), state[:2])
    for mixed in found[:PAIRS]:
        name = clean(mixed.entity.name, 80)
        with st.expander(plain(f"Possibly two: {name}")), st.form(f"split {mixed.entity.id}", border=False):
            st.caption(plain(f"The passages about “{name}” fall into two groups. Choose those of the "
                             "second meaning and give it a name of its own."))
            with knowledge.store() as store:
                labels = _label_passages(store, passages_of(store, mixed.entity))
            chosen = st.multiselect("Passages of the second meaning", list(labels),
                                    default=list(mixed.groups[1]), format_func=labels.__getitem__)
            called = st.text_input("Name of the second meaning", placeholder="such as Amazon River",
                                   help="A name in brackets counts as the same name.")
            if st.form_submit_button("Split") and called.strip():
                save_edit(knowledge, partial(split, known=mixed.entity.name, name=called, passages=chosen))


def _label_passages(store: Workspace, passages: Sequence[str]) -> dict[str, str]:
    """Return the passages with their titles and beginnings, by id."""
    chunks = store.passages.of_nodes(node_id("passage", passage) for passage in passages).values()
    texts = {chunk.id: f"{clean(chunk.title, 60)}: {clean(chunk.text, 90)}" for chunk in chunks}
    return {passage: texts[passage] for passage in passages if passage in texts}


def duplicates(knowledge: KnowledgeGraph) -> None:
    """Draw possible splits, then possible duplicates, each with a sentence about both."""
    possibly_two(knowledge)
    with st.spinner("Looking for names that may be one"):
        state = state_of(knowledge)
        found = compute_shared("alike", state, lambda: in_store(
            knowledge, lambda store: suggestions(store, knowledge.graph)), state[:2])
    if not found:
        st.write("No two names look like one entity.")
        return
    st.caption("Two names may mean one entity. Nothing is merged by itself, and you can undo each "
               "decision under Edits.")
    for pair in found[:PAIRS]:
        with st.container(border=True):
            _pair(knowledge, pair)
    if len(found) > PAIRS:
        st.caption(f"{len(found) - PAIRS} more follow.")


def _pair(knowledge: KnowledgeGraph, pair: Suggestion) -> None:
    left, right = st.columns(2, gap="medium")
    _side(left, pair.second)
    _side(right, pair.first)
    st.caption(plain(" · ".join(_word_pair(pair))))
    with st.container(horizontal=True):
        for kept, other in ((pair.second, pair.first), (pair.first, pair.second)):
            if st.button(plain(f"Both are {clean(kept.name, 60)}"),
                         key=f"{kept.id} also {other.id}"):
                save_edit(knowledge, partial(curate.call, known=other.name, name=kept.name))
        if st.button("Different", key=f"apart {pair.first.id} {pair.second.id}"):
            save_edit(knowledge, partial(curate.keep_apart, one=pair.first.name, other=pair.second.name))


def _side(column: DeltaGenerator, entity: Entity) -> None:
    facts = [count(entity.passages, "passage")]
    if entity.type:
        facts.insert(0, curate.type_words(entity.type))
    column.markdown(f"**{brief(entity.name)}** :gray[{plain(' · '.join(facts))}]")
    column.markdown(brief(entity.evidence, 300) or "Only in titles.")


def _word_pair(pair: Suggestion) -> list[str]:
    """Word the reasons for and against merging two entities."""
    facts = [say_likeness(pair),
             f"names alike by {pair.similarity:.2f}"]
    own, other = (curate.type_words(one.type) for one in (pair.second, pair.first))
    if own and other and own != other:
        facts.append(f"types differ: {own}, {other}")
    if pair.together:
        facts.append(f"{count(pair.together, 'sentence')} with both names")
    return facts
