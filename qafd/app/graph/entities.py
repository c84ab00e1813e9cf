"""Entities: a table of them, and the card of the chosen one with its edits."""

from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from qafd.app import markup
from qafd.app.escaping import brief, plain
from qafd.app.explore.card import draw_remarks, draw_sentences
from qafd.app.graph.edits import known_entities, save_edit
from qafd.app.markup import paragraph
from qafd.app.pages import way
from qafd.app.session import bound
from qafd.app.tables import columns_of, table
from qafd.curate import entities as curate
from qafd.curate.entities import Entity, find
from qafd.curate.neighbors import (
    LABEL,
    NOTE,
    Neighbor,
    Remark,
    connect,
    disconnect,
    neighbors,
    remarks,
)
from qafd.edits import STRENGTH, entity_names
from qafd.knowledge import KnowledgeGraph
from qafd.plan.suggest import about
from qafd.reading.text import canonical
from qafd.records import node_id
from qafd.view.panel import clean
from qafd.wording import count
from qafd.wording.documents import say_grounds

ROWS = 500  # entities of the table
LISTED = 2000  # names that a box offers
SENTENCES, MOST = 8, 60
NEIGHBORS, LABELS, REMARKS, ALSO = 6, 4, 3, 6
DRAWN = "drawn entity"  # the workspace, id and name of the last card
CARD = "entity"  # where a link leads that stands above the table


def entity_table(knowledge: KnowledgeGraph) -> None:
    """Draw the entities, all or those that match the search, and the selected one's card."""
    known = known_entities(knowledge)
    if not known:
        st.write("No name was found in these documents.")
        return
    with st.container(key="sift"):
        finding, typing = st.columns([5, 3])
    words = finding.text_input("Find", **bound("find"),
                               placeholder="a name, or the beginnings of its words")
    types = sorted({_type(one) for one in known})
    kind = typing.selectbox("Type", types, index=None, placeholder="all",
                            **bound("type"),
                            format_func=lambda name: name or "(none)")
    found = find(known, words)
    if kind is not None:
        found = tuple(one for one in found if _type(one) == kind)
    awaited = _find_renamed(knowledge, known)
    _warn_of_gone(knowledge, known, awaited)
    if awaited:
        st.caption(plain(f"“{clean(awaited, 80)}” is listed when the graph is up to date."))
    if not found:
        st.caption(f"None of {count(len(known), 'entity')} matches.")
        return
    left, right = st.columns([3, 2], gap="medium")
    with left:
        chosen = _choose(found, bool(awaited))
    if chosen is not None:
        st.session_state[DRAWN] = knowledge.id, chosen.id, chosen.name
        with right:
            _card(knowledge, chosen, known)


def _warn_of_gone(knowledge: KnowledgeGraph, known: Sequence[Entity], awaited: str) -> None:
    """Warn once that the entity of the last card is gone, unless its own new name is `awaited` or linked."""
    workspace, drawn, name = st.session_state.pop(DRAWN, ("", "", ""))
    linked = st.query_params.get("entity", drawn)
    gone = workspace == knowledge.id and all(one.id != drawn for one in known)
    if gone and linked == drawn and not awaited:
        st.warning(plain(f"“{clean(name, 80)}” is no longer in the graph: an edit or a change of documents "
                         "took it away. What you just entered for it was not saved."))


def _find_renamed(knowledge: KnowledgeGraph, known: Sequence[Entity]) -> str:
    """Return the name that an edit gave to the linked entity, until the graph has it; else ""."""
    linked = st.query_params.get("entity")
    if any(one.id == linked for one in known):
        return ""
    with knowledge.store() as store:
        given = entity_names(store.edits.all()).values()
    return next((name for name in given if node_id("entity", canonical(name)) == linked), "")


def _choose(found: Sequence[Entity], waits: bool) -> Entity | None:
    """Draw the table; return the selected entity, or the first one if none `waits`."""
    linked = st.query_params.get("entity")
    rows = found[:ROWS]
    ids = tuple(one.id for one in rows)
    begun = [ids.index(linked)] if linked in ids else [] if waits else [0]
    above = st.empty()
    event = table(
        columns_of(("name", "type", "passages", "relations", "also"), [
            (one.name, _type(one), one.passages, one.relations, ", ".join(one.also))
            for one in rows]),
        on_select="rerun", selection_mode="single-row", height=min(420, 37 + 35 * len(rows)),
        # a choice is the number of a row: other rows are another table
        key=f"entities {hash(ids)}", selection_default={"selection": {"rows": begun}},
        column_config={"name": st.column_config.TextColumn(width=200)})
    picked = event["selection"]["rows"]
    chosen = None if waits and not picked else found[picked[0] if picked else 0]
    if picked and chosen is not None:
        st.query_params["entity"] = chosen.id
    if chosen is not None:
        title = f"What the documents say about {clean(chosen.name, 80)}"
        above.html(paragraph(markup.jump(title, f"{CARD}-1"), "narrow"))
    shown = count(len(found), "entity")
    if len(found) > ROWS:
        shown = f"The first {ROWS} of {shown}"
    st.caption(f"{shown}. Choose a row to read what the documents say about it, to rename it, or to merge "
               "it with another. A type with “?” is a guess.")
    return chosen


def _card(knowledge: KnowledgeGraph, one: Entity, known: Sequence[Entity]) -> None:
    facts = [_type(one), count(one.passages, "passage"), count(one.relations, "relation")]
    if one.also:
        facts.append(f"also {clean(', '.join(one.also[:ALSO]), 300)}")
    name = markup.heading(clean(one.name, 120), " · ".join(filter(None, facts)))
    st.html(markup.anchor_source(name, CARD, 1))
    with knowledge.store() as store:
        said = remarks(store, one.id)
    draw_remarks(said.get("", ()))
    sentences, edges, right = st.tabs(["Sentences", "Neighbors", "Edit"])
    with sentences:
        draw_sentences(knowledge, one.id, SENTENCES, MOST)
    with edges:
        _edges(knowledge, one, known, said)
    with right:
        _naming(knowledge, one, known)
    way("explore", "Ask about it", q=about(one.name))


def _naming(knowledge: KnowledgeGraph, one: Entity, known: Sequence[Entity]) -> None:
    """Draw the form that renames, merges or hides an entity."""
    with st.form(f"call {one.id}", border=False):
        name = _name("Call it", known, one, "another name, or another entity",
                     "A new name renames it. The name of another entity merges the two.")
        with st.container(horizontal=True):
            called = st.form_submit_button("Rename or merge", type="primary")
            hidden = st.form_submit_button("Hide",
                                           help="Remove from the graph what is not an entity.")
    if called and name:
        save_edit(knowledge, partial(curate.call, known=one.name, name=name), name)
    if hidden:
        save_edit(knowledge, partial(curate.hide, known=one.name))


def _name(label: str, known: Sequence[Entity], one: Entity, placeholder: str,
          meaning: str | None = None) -> str:
    """Draw a box for a name: the best connected entities are offered, any other name can be typed."""
    offered = [other.name for other in known[:LISTED] if other.id != one.id]
    return st.selectbox(label, offered, index=None, accept_new_options=True, placeholder=placeholder,
                        help=meaning) or ""


def _edges(knowledge: KnowledgeGraph, one: Entity, known: Sequence[Entity],
           said: Mapping[str, Sequence[Remark]]) -> None:
    """List the edges at an entity, each to be removed, above a form that adds one."""
    with knowledge.store() as store:
        near = neighbors(store, one)
    if not near:
        st.caption("No edge joins it to another entity. Passages that name both still connect them.")
    for other in near[:NEIGHBORS]:
        _neighbor(knowledge, one, other, said.get(other.id, ()))
    more = near[NEIGHBORS:]
    if more:
        with st.expander(f"{len(more):,} more"):
            for other in more[:MOST]:
                _neighbor(knowledge, one, other, said.get(other.id, ()))
            if len(more) > MOST:
                st.caption(f"The first {MOST} of them; each of the others lists this one too.")
    # another name empties the form once an edge is added, and not where it was refused
    joined = sum(len(other.joined) for other in near)
    with st.popover("Connect to another entity", icon=":material/add_link:"), \
            st.form(f"connect {one.id} {joined}", border=False):
        _connecting(knowledge, one, known)


def _connecting(knowledge: KnowledgeGraph, one: Entity, known: Sequence[Entity]) -> None:
    other = _name("Connect to", known, one, "another entity")
    label = st.text_input(
        "Label of the relation", max_chars=LABEL, placeholder="founded",
        help=(f"The edge leads from {brief(one.name, 60)} to the other entity, with this label. Without "
              "one, it says only that they are related."))
    note = st.text_input("Note", max_chars=NOTE, placeholder="your source",
                         help="Shown with the date in place of a quoted sentence.")
    pressed = st.form_submit_button("Connect")
    st.caption(f"Its strength is {STRENGTH:g}, like that of a name that fits its passage well. A removed "
               "edge stays removed when documents are read again, but passages that name both still "
               "connect them. Undo either under Edits.")
    if pressed and other:
        save_edit(knowledge, partial(connect, one=one.name, other=other, label=label, note=note))


def _neighbor(knowledge: KnowledgeGraph, one: Entity, other: Neighbor,
              said: Sequence[Remark]) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.container(width="stretch", gap="xxsmall"):
            st.markdown(f"**{brief(other.name)}**")
            facts = [", ".join(other.labels[:LABELS]), say_grounds(other)]
            st.caption(brief(" · ".join(filter(None, facts)), 900))
            draw_remarks(said, REMARKS)
        if st.button("Remove", key=f"cut {one.id} {other.id}", type="tertiary",
                     help=brief(other.evidence, 300) or None):
            save_edit(knowledge, partial(disconnect, one=one.name, other=other.name))


def _type(one: Entity) -> str:
    return clean(curate.type_words(one.type), 40)
