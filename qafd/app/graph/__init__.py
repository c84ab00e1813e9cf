"""The Graph page: entities to look through, pairs that may be one, and what was put right."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import streamlit as st

from qafd.app.documents.models import start
from qafd.app.escaping import plain, safe, said
from qafd.app.explore.node import STYLE, said_of
from qafd.app.explore.remarks import drawn, remark
from qafd.app.pages import page
from qafd.app.session import keep, session
from qafd.curate import entities as curate
from qafd.curate.descriptions import Remark, remarks
from qafd.curate.entities import (
    Entity,
    Suggestion,
    entities,
    find,
    hubs,
    orphans,
    similar,
    suggestions,
)
from qafd.curate.neighbors import LABEL, NOTE, Neighbor, connect, disconnect, neighbors
from qafd.edits import STRENGTH, Edit
from qafd.errors import QafdError
from qafd.ingest.jobs import enqueue
from qafd.knowledge import KnowledgeGraph
from qafd.plan.suggest import about
from qafd.reading.text import canonical
from qafd.storage import Workspace, open_workspace
from qafd.view.panel import clean
from qafd.wording import say, say_some
from qafd.wording.counts import count

ROWS = 500  # entities of the table
LISTED = 2000  # names that a box lists
PAIRS = 8  # suggestions shown at a time
SENTENCES, MOST = 8, 60
NEIGHBORS, LABELS, REMARKS = 6, 4, 3
TYPES = 12  # of a workspace that a box lists
USUAL = ("person", "organization", "place", "product", "event", "work")
ENTITIES, MAP, ALIKE, EDITS, EXPORT = VIEWS = (
    "Entities", "Map", "Perhaps the same", "Edits", "Export")
ORDERS: dict[str, Callable[[tuple[Entity, ...]], tuple[Entity, ...]]] = {
    "In most passages": tuple, "Hubs first": hubs, "Orphans": orphans}


def view() -> str:
    """Which of `VIEWS` is shown."""
    return str(st.segmented_control(say("View"), VIEWS, default=ENTITIES, required=True,
                                    key=keep("part"), bind="query-params",
                                    label_visibility="collapsed"))


@st.cache_resource(max_entries=4, show_spinner=False)
def _entities(path: Path, version: str,  # noqa: ARG001
              edits: tuple[Edit, ...]) -> tuple[Entity, ...]:  # noqa: ARG001
    with open_workspace(path) as store:
        return entities(store)


@st.cache_resource(max_entries=4, show_spinner="Looking for names that may be one")
def _suggestions(path: Path, version: str,  # noqa: ARG001
                 edits: tuple[Edit, ...]) -> tuple[Suggestion, ...]:  # noqa: ARG001
    with open_workspace(path) as store:
        return suggestions(store, KnowledgeGraph(path).graph)


def _state(knowledge: KnowledgeGraph) -> tuple[Path, str, tuple[Edit, ...]]:
    """What the entities of a workspace depend on."""
    with knowledge.store() as store:
        return knowledge.path, store.graph.version, store.edits.all()


def entity_table(knowledge: KnowledgeGraph) -> None:
    """All entities, or those with the words that are looked for, and the chosen one's card."""
    known = _entities(*_state(knowledge))
    finding, typing, ordering = st.columns([3, 1, 1])
    words = finding.text_input(say("Find"), key=keep("find"), bind="query-params",
                               placeholder=say("a name, or the beginnings of its words"))
    kind = typing.selectbox(say("Type"), sorted({_type(one) for one in known}), index=None,
                            placeholder=say("all"), key=keep("type"), bind="query-params",
                            format_func=lambda name: name or "(none)")
    which = ordering.selectbox(say("Show"), list(ORDERS), key=keep("show"), bind="query-params",
                               help=say("Hubs are in most relations. Orphans connect nothing: they "
                                   "are in one passage and in no relation."))
    found = ORDERS[which](tuple(
        one for one in find(known, words) if kind in (None, _type(one))))
    if not known:
        st.write(say("No name was found in these documents."))
        return
    if not found:
        st.caption(say("None of {entities} is like this.", entities=count(len(known), "entity")))
        return
    linked = st.query_params.get("entity")
    first = [row for row, one in enumerate(found[:ROWS]) if one.id == linked]
    table, card = st.columns([3, 2], gap="medium")
    with table:
        event = st.dataframe(
            [{"name": clean(one.name, 120), "type": _type(one), "passages": one.passages,
              "relations": one.relations, "also": clean(", ".join(one.also), 200)}
             for one in found[:ROWS]],
            hide_index=True, on_select="rerun", selection_mode="single-row",
            selection_default={"selection": {"rows": first}},
            key=f"entities {words} {kind} {which}", height=min(420, 37 + 35 * len(found)),
            column_config={"name": st.column_config.TextColumn(width="medium")})
        shown = f"The first {ROWS} of " if len(found) > ROWS else ""
        st.caption(say("{shown}{entities}. Choose a row to read what the "
                       "documents say of it, to rename it, to make it one with another or to say "
                       "its type: types are guesses of the tagger.", shown=shown,
                       entities=count(len(found), "entity")))
    # A choice outlives a change to a smaller graph, which may not have its row.
    chosen = [found[row] for row in event["selection"]["rows"] if row < len(found)]
    if chosen:
        st.query_params["entity"] = chosen[0].id
    with card:
        _card(knowledge, (chosen or found)[0], known)


def _card(knowledge: KnowledgeGraph, one: Entity, known: Sequence[Entity]) -> None:
    facts = [_type(one), count(one.passages, "passage"), count(one.relations, "relation"),
             f"also {', '.join(one.also[:6])}" if one.also else ""]
    st.html(f"{STYLE}<h4 style='margin:0'>{safe(one.name)}</h4>"
            f"<small>{safe(' · '.join(filter(None, facts)))}</small>")
    with knowledge.store() as store:
        said = remarks(store, one.id)
    drawn(said.get("", ()))
    with st.form(f"call {one.id}", border=False):
        name = _name("Call it", known, one, "another name, or another entity", True,
                     "A new name renames it. The name of another entity makes the two one.")
        with st.container(horizontal=True):
            called = st.form_submit_button(say("Rename or merge"), type="primary")
            hidden = st.form_submit_button(say("Hide"), help=say("This is no entity: it leaves the graph."))
    kind = _typing(known, one)
    if called and name and _meant(knowledge, known, one, name):
        _put_right(knowledge, lambda store: curate.call(store, one.name, name))
    if hidden:
        _put_right(knowledge, lambda store: curate.hide(store, one.name))
    if kind:
        _put_right(knowledge, lambda store: curate.retype(store, one.name, kind))
    st.page_link(page("explore"), label=say("Ask about it"), icon=":material/hub:",
                 query_params={"ws": knowledge.path.stem, "q": about(one.name)})
    sentences, edges = st.tabs([say("Sentences"), say("Neighbors")])
    with sentences:
        said_of(knowledge, one.id, SENTENCES, MOST)
    with edges:
        _edges(knowledge, one, known, said)


def _typing(known: Sequence[Entity], one: Entity) -> str:
    """The type that is given to an entity; "" before that."""
    often = Counter(_type(other) for other in known).most_common(TYPES)
    own = _type(one)  # "" also where it has no letter, as imported types may
    options = list(filter(None, dict.fromkeys((*(kind for kind, _ in often), own, *USUAL))))
    with st.form(f"type {one.id} {one.type}", border=False), st.container(
            horizontal=True, vertical_alignment="bottom"):
        kind = st.selectbox(
            say("Type"), options, index=options.index(own) if own else None,
            accept_new_options=True, placeholder=say("person, organization, place or a word of yours"),
            help=say("It counts in lists, exports and answers to questions for a person or a place. "
                "The last name of a person alone means that person."))
        pressed = st.form_submit_button(say("Set type"))
    return kind or "" if pressed else ""


def _name(label: str, known: Sequence[Entity], one: Entity, placeholder: str, free: bool,
          meaning: str | None = None) -> str:
    """A box for the name of another entity, `free` for any name; long lists are not sent."""
    if len(known) > LISTED:
        return st.text_input(label, placeholder=placeholder, help=meaning).strip()
    return st.selectbox(label, [other.name for other in known if other.id != one.id], index=None,
                        accept_new_options=free, placeholder=placeholder, help=meaning) or ""


def _is_called(knowledge: KnowledgeGraph, known: Sequence[Entity], name: str) -> bool:
    """Whether this is an entity's name, or was before an edit."""
    with knowledge.store() as store:
        key = store.edits.merged().get(canonical(name), canonical(name))
    return any(key == other.key for other in known)


def _meant(knowledge: KnowledgeGraph, known: Sequence[Entity], one: Entity, name: str) -> bool:
    """Whether a typed name is an entity's, or new beyond doubt; asks once where others are near."""
    asked, session().meant = session().meant, None
    if len(known) <= LISTED or asked == (one.id, name) or _is_called(knowledge, known, name):
        return True
    near = [other.name for other in similar(known, name) if other.id != one.id]
    if near:
        session().meant = one.id, name
        st.caption(plain(say("No entity is called “{name}”. Names like it: "
                             "{listed}. Type one of them to make the two one, or "
                             "press again to give this new name.", name=clean(name, 60),
                             listed=clean(say_some(near, 5), 300))))
    return not near


def _edges(knowledge: KnowledgeGraph, one: Entity, known: Sequence[Entity],
           said: Mapping[str, Sequence[Remark]]) -> None:
    """What edges join to an entity, each pair to be parted, and a form to join another."""
    with knowledge.store() as store:
        near = neighbors(store, one)
    if not near:
        st.caption(say("No edge joins it to another entity, only passages that name both may."))
    for other in near[:NEIGHBORS]:
        _neighbor(knowledge, one, other, said.get(other.id, ()))
    if more := near[NEIGHBORS:]:
        with st.expander(say("{more} more", more=f"{len(more):,}")):
            for other in more[:MOST]:
                _neighbor(knowledge, one, other, said.get(other.id, ()))
            if len(more) > MOST:
                st.caption(say("The first {most} of them; each of the others lists this one too.",
                               most=MOST))
    # another name empties the form once an edge is added, and not where it was refused
    with st.form(f"connect {one.id} {sum(len(other.joined) for other in near)}"):
        other_name = _name("Connect to", known, one, "another entity", False)
        label = st.text_input(say("How it is related to that"), max_chars=LABEL, placeholder=say("founded"),
                              help=say("The edge leads from {name} to the other "
                                  "entity and says this. Empty: related somehow.",
                                       name=plain(clean(one.name, 60))))
        note = st.text_input(say("Note"), max_chars=NOTE, placeholder=say("where you know it from"),
                             help=say("Shown with the date where a sentence would be quoted."))
        joined = st.form_submit_button(say("Connect"))
        st.caption(say("Its strength is {strength}, as of a name in a passage that it fits well. "
                       "What is removed stays away when documents are read again, but passages that "
                       "name both still lead from one to the other. Edits takes both back.",
                       strength=f"{STRENGTH:g}"))
    if joined and other_name and len(known) > LISTED and not _is_called(
            knowledge, known, other_name):
        like = [other.name for other in similar(known, other_name)]
        st.caption(plain(say("No entity is called “{other_name}”",
                             other_name=clean(other_name, 60)) + (
            say("; names like it: {listed}.", listed=clean(say_some(like, 5), 300)) if like else ".")))
    elif joined and other_name:
        _put_right(knowledge, partial(connect, one=one.name, other=other_name, label=label,
                                      note=note))


def _neighbor(knowledge: KnowledgeGraph, one: Entity, other: Neighbor,
              said: Sequence[Remark]) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.container(width="stretch"):
            st.html(f"{safe(', '.join(other.labels[:LABELS]), 200)} <b>{safe(other.name, 120)}</b>"
                    f"<br><small style='opacity:.75'>{safe(other.grounds, 700)}</small>"
                    + "".join(map(remark, said[:REMARKS])))
        if st.button(say("Remove"), key=f"cut {one.id} {other.id}", type="tertiary",
                     help=plain(clean(other.evidence, 300)) or None):
            _put_right(knowledge, partial(disconnect, one=one.name, other=other.name))


def _type(one: Entity) -> str:
    return clean(curate.type_words(one.type), curate.TYPE)


def pairs(knowledge: KnowledgeGraph) -> None:
    """Pairs that may be one entity, with a sentence about each, to accept or to refuse."""
    found = _suggestions(*_state(knowledge))
    if not found:
        st.write(say("No two names look like one entity."))
        return
    st.caption(say("Two names may mean one entity: in one or both of its spellings. Nothing is merged "
                   "by itself, and Edits takes back what you decide here."))
    for pair in found[:PAIRS]:
        _pair(knowledge, pair)
    if len(found) > PAIRS:
        st.caption(say("{found} more wait behind these.", found=len(found) - PAIRS))


def _pair(knowledge: KnowledgeGraph, pair: Suggestion) -> None:
    one, other = pair.first, pair.second
    with st.container(border=True):
        for column, entity in zip(st.columns(2, gap="medium"), (one, other), strict=True):
            column.html(f"<b>{safe(entity.name)}</b> <small style='opacity:.75'>"
                        f"{safe(_type(entity))} · {count(entity.passages, 'passage')}</small>"
                        f"<p style='margin:.3em 0 0'>"
                        f"{safe(entity.evidence, 300) or 'Only in titles.'}</p>")
        clash = (f" · types differ: {_type(one)}, {_type(other)}"
                 if one.type and other.type and _type(one) != _type(other) else "")
        both = (f" · {count(pair.together, 'sentence')} with both names"
                if pair.together else "")
        st.caption(plain(say("{why} · names alike by {similarity}{clash}{both}", why=pair.why,
                             similarity=f"{pair.similarity:.2f}", clash=clash, both=both)))
        with st.container(horizontal=True):
            key = f"{one.id} {other.id}"
            if st.button(plain(say("Both are {name}", name=clean(one.name, 60))), key=f"first {key}"):
                _put_right(knowledge, lambda store: curate.call(store, other.name, one.name))
            if st.button(plain(say("Both are {name}", name=clean(other.name, 60))), key=f"second {key}"):
                _put_right(knowledge, lambda store: curate.call(store, one.name, other.name))
            if st.button(say("Different"), key=f"apart {key}"):
                _put_right(knowledge, lambda store: curate.keep_apart(store, one.name, other.name))


def history(knowledge: KnowledgeGraph) -> None:
    """All edits, the last first, each with its undo."""
    with knowledge.store() as store:
        edits, merged = store.edits.all(), store.edits.merged()
    if not edits:
        st.write(say("Nothing was edited yet."))
        return
    known = {one.key: one.name for one in _entities(*_state(knowledge))}
    for edit in reversed(edits):
        words, button = st.columns([6, 1], vertical_alignment="center")
        undone = f" · undone {edit.undone_at[:16].replace('T', ' ')}" if edit.undone_at else ""
        keys = (edit.key, edit.name) if edit.action in ("join", "cut") else (edit.key,)
        lost = [key for key in keys if merged.get(key, key) not in known]
        waits = (f" · waits until a document names “{safe(lost[0], 80)}”"
                 if lost and any(map(edit.holds, ("join", "cut", "type"))) else "")
        words.html(f"{safe(sentence(edit, known))}<br><small style='opacity:.75'>"
                   f"{edit.made_at[:16].replace('T', ' ')}{undone}{waits}</small>")
        if not edit.undone_at and button.button(say("Undo"), key=f"undo {edit.id}"):
            _put_right(knowledge, partial(_undo, number=edit.id))


def _undo(store: Workspace, number: int) -> None:
    store.edits.undo(number)


def sentence(edit: Edit, known: Mapping[str, str]) -> str:
    """An edit in words, with the entities' names where the graph has their keys."""
    note = f": {edit.note}" if edit.note else ""
    one, other = (known.get(key, key) for key in (edit.key, edit.name))
    return {"same": f"“{edit.key}” is called “{edit.name}”",
            "apart": f"“{one}” is not “{other}”",
            "hide": f"“{edit.key}” is no entity",
            "type": f"“{one}” is of type “{curate.type_words(edit.name)}”",
            "join": f"“{one}” — {edit.label or 'is related to'} → “{other}”{note}",
            "cut": f"No edge joins “{one}” and “{other}”"}[edit.action]


def _put_right(knowledge: KnowledgeGraph, change: Callable[[Workspace], object]) -> None:
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
