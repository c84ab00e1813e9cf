"""Pairs of entities that may be one, to accept or to refuse; those that join most come first."""

from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from qafd.app.escaping import plain
from qafd.app.graph.putting_right import put_right, state_of
from qafd.curate import entities as curate
from qafd.curate.entities import Entity, Suggestion, suggestions
from qafd.edits import Edit
from qafd.knowledge import KnowledgeGraph
from qafd.storage import Workspace
from qafd.view.panel import clean
from qafd.wording import say, say_count
from qafd.wording.counts import count
from qafd.wording.entities import say_likeness, say_type

PAIRS = 8  # shown at a time


def pairs(knowledge: KnowledgeGraph) -> None:
    """The pairs, each with a sentence about both."""
    with st.spinner(say("Looking for names that may be one")):
        found = _suggestions(state_of(knowledge), knowledge)
    if not found:
        st.write(say("No two names look like one entity."))
        return
    st.caption(say("Two names may mean one entity: in one or both of its spellings. Nothing is merged "
                   "by itself, and Edits takes back what you decide here."))
    for pair in found[:PAIRS]:
        with st.container(border=True):
            _pair(knowledge, pair)
    if len(found) > PAIRS:
        st.caption(say("{found} more wait behind these.", found=len(found) - PAIRS))


@st.cache_resource(max_entries=4, show_spinner=False)
def _suggestions(state: tuple[str, str, tuple[Edit, ...]],  # noqa: ARG001
                 _knowledge: KnowledgeGraph) -> tuple[Suggestion, ...]:
    with _knowledge.store() as store:
        return suggestions(store, _knowledge.graph)


def _pair(knowledge: KnowledgeGraph, pair: Suggestion) -> None:
    left, right = st.columns(2, gap="medium")
    _side(left, pair.second)
    _side(right, pair.first)
    st.caption(plain(" · ".join(_facts(pair))))
    with st.container(horizontal=True):
        for kept, other in ((pair.second, pair.first), (pair.first, pair.second)):
            if st.button(plain(say("Both are {name}", name=clean(kept.name, 60))),
                         key=f"{kept.id} also {other.id}"):
                put_right(knowledge, partial(curate.call, known=other.name, name=kept.name))
        if st.button(say("Different"), key=f"apart {pair.first.id} {pair.second.id}"):
            put_right(knowledge, partial(_tell_apart, pair=pair))


def _tell_apart(store: Workspace, pair: Suggestion) -> None:
    curate.keep_apart(store, pair.first.name, pair.second.name)


def _side(column: DeltaGenerator, entity: Entity) -> None:
    facts = [count(entity.passages, "passage")]
    if entity.type:
        facts.insert(0, say_type(curate.type_words(entity.type)))
    column.markdown(f"**{plain(clean(entity.name, 120))}** :gray[{plain(' · '.join(facts))}]")
    column.markdown(plain(clean(entity.evidence, 300)) or say("Only in titles."))


def _facts(pair: Suggestion) -> list[str]:
    """Why the two may be one, and what speaks against it."""
    facts = [say_likeness(pair),
             say("names alike by {similarity:.2f}", similarity=pair.similarity)]
    own, other = (curate.type_words(one.type) for one in (pair.second, pair.first))
    if own and other and own != other:
        facts.append(say("types differ: {own}, {other}", own=say_type(own), other=say_type(other)))
    if pair.together:
        facts.append(say_count(pair.together, "{number} sentence with both names",
                               "{number} sentences with both names"))
    return facts
