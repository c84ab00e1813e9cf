"""The sources of the answer: how each was found, its mass of entry, and the graph's additions."""

from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st

from qafd.answer import Citation
from qafd.app.escaping import plain, safe
from qafd.app.explore.explanation import entered_path, explanation_of
from qafd.app.markup import find_names, fold, mark_names, paragraph, read_table
from qafd.app.result import View, retrieve_by
from qafd.app.session import compute_shared
from qafd.explain.chains import Chain
from qafd.explain.reach import Added, compare_first, find_reached, signal_shares
from qafd.flow.homotopy import Path
from qafd.plan.kinds import Asked
from qafd.plan.question import parse_question
from qafd.retrieve.base import Retrieval
from qafd.retrieve.by_score import FusedPassages
from qafd.view.panel import clean
from qafd.wording.explanations import say_added, say_chain, say_entered, say_place, say_signals

SEARCHED = 100  # passages that search without the graph ranks
LISTED = 10  # of each ranking that are shown next to each other
NAMED = (Asked.PERSON, Asked.PLACE, Asked.OPEN)  # kinds of questions that a name may answer
CHAINS = 8  # names that may answer
NEAR = 0.5  # of the best chain's score, from which the end of another may answer too


def found_by(view: View, citation: Citation) -> str:
    """Word the signals that found a source."""
    passage = citation.passage
    return say_signals(signal_shares(passage.parts), passage.id in find_reached(view.retrieval))


def draw_reach(view: View, citations: Sequence[Citation]) -> None:
    """Draw the mass from which the flow reaches all sources, if it is known."""
    found = entered_path(view)
    if found is not None and citations:
        masses = [enter_mass(view, found, citation.passage.id) for citation in citations]
        known = [mass for mass in masses if mass is not None]
        st.caption(say_entered(len(citations), known, view.method.mass))


def enter_mass(view: View, entered: Path, passage: str) -> float | None:
    """Return the mass at which the flow reaches a passage or the name that is its title."""
    passages = view.corpus.passages
    rows = [view.graph.row[passage]]
    place = np.flatnonzero(passages.rows == rows[0])
    if len(place) and passages.title[place[0]] >= 0:
        rows.append(int(passages.title[place[0]]))
    masses = entered.alphas[np.isin(entered.rows, rows)]
    return float(masses.min()) if len(masses) else None


def search_without_graph(view: View) -> Retrieval:
    """Retrieve by hybrid search, without the graph."""
    return retrieve_by(view.knowledge, view.graph, view.version,
                     FusedPassages(top=SEARCHED), view.plan)


def draw_added(view: View) -> None:
    """Draw one line on the passages that the graph added to search; it opens both lists."""
    if not view.retrieval.ranking:
        return
    searched = search_without_graph(view)
    added = compare_first(view.retrieval.ranking, searched.ranking)
    st.caption(plain(say_added(added, _titles(view, searched, added), SEARCHED)))
    box = st.popover("Both lists", icon=":material/compare_arrows:", type="tertiary", key="lists",
                     on_change="rerun")
    if box.open:
        with box:
            _both_lists(view, searched)


def _titles(view: View, searched: Retrieval, added: Added) -> Mapping[str, str]:
    """Return the titles of the passages that moved, by id."""
    names = {passage.id: passage.title for passage in (*searched.passages, *view.retrieval.passages)}
    moved = [passage.id for passage in (*added.gained, *added.lost)]
    return {id: clean(names.get(id) or view.graph.names[view.graph.row[id]], 60) for id in moved}


def _both_lists(view: View, searched: Retrieval) -> None:
    """Draw the first passages of both rankings, each with its place in the other."""
    graph = view.graph
    lists = []
    for ranking, other in ((view.retrieval.ranking, searched.ranking),
                           (searched.ranking, view.retrieval.ranking)):
        places = {passage.id: place for place, passage in enumerate(other, 1)}
        lists.append([(f"{place}. {clean(graph.names[graph.row[passage.id]], 50)}",
                       say_place(places.get(passage.id)))
                      for place, passage in enumerate(ranking[:LISTED], 1)])
    left, right = st.columns(2)
    left.html(read_table(("with the graph", "in search"), lists[0]))
    right.html(read_table(("search alone", "with the graph"), lists[1]))


def answer_names(view: View) -> Mapping[str, str]:
    """Return the names of the picture to mark in an answer, with their node ids.

    Of nodes that share a name the most important one is meant.
    """
    names: dict[str, str] = {}
    for node in view.retrieval.nodes:
        name = clean(node.name, 80)
        if node.kind != "passage" and len(name) > 1:
            names.setdefault(name, node.id)
    return names


def best_names(view: View) -> tuple[str, ...]:
    """Return the ids that the picture always labels: the names of the best sentence and those listed."""
    text = " ".join(sentence.text for sentence in view.answer.sentences[:1])
    names = answer_names(view)
    found = [names[name] for _, _, name in find_names(text, names)]
    return tuple(dict.fromkeys([*found, *(chain.nodes[-1] for chain in _listed_chains(view))]))


def draw_listed(view: View) -> None:
    """Draw the retrieved names that may answer a question for names, over the sentence of each."""
    chains = _listed_chains(view)
    if not chains:
        return
    names = {clean(chain.hops[-1].name, 60): chain.nodes[-1] for chain in chains}
    sentences = [safe(f"{chain.hops[-1].name}: {chain.hops[-1].sentence}", 400) for chain in chains]
    chips = mark_names(safe(f"Retrieved: {', '.join(names)}"), names)
    # the names can be clicked, so they are no part of the summary, which is a button itself
    st.html(paragraph(chips) + fold("Their sentences", "".join(map(paragraph, sentences))))


def _listed_chains(view: View) -> tuple[Chain, ...]:
    """Return the chains to retrieved names of the asked kind, if the question asks for names."""
    if parse_question(view.plan.words).asked not in NAMED:
        return ()
    retrieved = {node.id for node in view.retrieval.retrieved}
    found = _chains(view)
    least = NEAR * max((chain.score for chain in found), default=0.0)
    return tuple(chain for chain in found if chain.nodes[-1] in retrieved
                 and (chain is found[0] or chain.score >= least))


def _chains(view: View) -> tuple[Chain, ...]:
    """Return the best ways from the question to the answering name and to names of the asked kind."""
    return compute_shared("chains", (view.about, view.method), lambda: _find_chains(view), view.at)


def _find_chains(view: View) -> tuple[Chain, ...]:
    explanation, name = explanation_of(view), answering_name(view)
    first = explanation.chains(1, name) if name else ()
    ends = {chain.nodes[-1] for chain in first}
    return (*first, *(chain for chain in explanation.chains(CHAINS) if chain.nodes[-1] not in ends))


def answering_name(view: View) -> str | None:
    """Return the id of the first name of the best sentence that the question does not have."""
    names = answer_names(view)
    asked = {name for _, _, name in find_names(view.question, names)}
    for sentence in view.answer.sentences[:1]:
        for _, _, name in sorted(find_names(sentence.text, names)):
            if name not in asked:
                return names[name]
    return None


def draw_chain(view: View) -> None:
    """Draw the best way from a name of the question to the answer, in one line."""
    if chains := _chains(view):
        st.caption(plain(say_chain(chains[0])))
