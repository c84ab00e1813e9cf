"""The Lab's tab Embeddings: two models on the same documents, side by side."""

from dataclasses import astuple
from shlex import quote

import numpy as np
import streamlit as st

from qafd.app import figures
from qafd.app.documents.models import choice_of, embedders
from qafd.app.escaping import brief, said
from qafd.app.explore.contrast import drawn
from qafd.app.lab.experiments import GATE_COLUMNS, chart, compute_once
from qafd.app.pages import way
from qafd.app.result import View
from qafd.app.tables import SHARE_BAR, columns_of, table
from qafd.errors import StoreError
from qafd.graph import Graph
from qafd.knowledge import KnowledgeGraph
from qafd.lab.embeddings import NEAREST, NeighborShare, Side, neighbors_kept, side
from qafd.models.embedder import Embedder, LocalEmbedder, local_embedder
from qafd.view.panel import clean


def embeddings_tab(knowledge: KnowledgeGraph, view: View | None) -> None:
    """Which embeddings the workspace has; two are compared."""
    with knowledge.store() as store:
        name, dimension = store.vectors.embedder
        earlier, size = store.vectors.earlier
    if not name:
        st.write("This workspace has no embedding yet.")
        return
    st.caption("An embedding turns each text into a list of numbers; the closer two texts are "
                "in meaning, the larger the cosine of their lists. It decides which edges a "
                "question opens.")
    if not earlier:
        st.write(f"This workspace has one embedding: {brief(name)}. Compute all vectors anew "
                  "with another model, and both can be compared here: the vectors there are "
                  "now are kept.")
        way("settings", "Choose another embedding model in Settings")
        st.code(f"qafd index --db {quote(knowledge.place.written)} --embed-model NAME "
                "--embed-url URL --re-embed",
                language="bash", wrap_lines=True)
        return
    st.write(f"Now: {brief(name)}, {dimension} dimensions. Earlier: {brief(earlier)}, {size} "
              "dimensions.")
    try:
        before = _earlier(knowledge, name, earlier)
    except StoreError as error:
        st.write(said(error))
        return
    _neighbors(knowledge, before, earlier)
    if view is not None:
        _sides(view, before, earlier)
    if st.button("Drop the earlier vectors", help=("They take room in the file; to compare "
                                                   "again, embed anew.")):
        with knowledge.store() as store:
            store.vectors.drop_earlier()
        st.rerun()


def _earlier(knowledge: KnowledgeGraph, name: str, earlier: str) -> Graph:
    asked = knowledge.id, knowledge.version(knowledge.graph), name, earlier
    found: Graph = compute_once("earlier", asked, lambda _: knowledge.earlier())
    return found


def _neighbors(knowledge: KnowledgeGraph, before: Graph, earlier: str) -> None:
    st.header("Neighbors", anchor=False)
    asked = knowledge.id, knowledge.version(knowledge.graph), earlier
    kept: tuple[NeighborShare, ...] = compute_once("neighbors", asked, lambda _: neighbors_kept(
        before, knowledge.graph, np.random.default_rng(0)))
    if not kept:
        st.write("There are too few nodes to have neighbors.")
        return
    mean = float(np.mean([node.share for node in kept]))
    st.caption(f"Of the {NEAREST} nodes nearest to a node with the earlier model, {mean:.0%} "
                f"are still among its nearest now: mean of {len(kept):,} nodes. The table has "
                "those that changed most.")
    left, right = st.columns(2, gap="medium")
    with left:
        chart(figures.kept_histogram([node.share for node in kept]),
              f"Histogram of the share of nearest nodes that stayed; the mean is {mean:.0%}.",
              "neighbors", ("node", "kind", "share of neighbors kept"),
              [(node.name, node.kind, node.share) for node in kept])
    with right:
        table(columns_of(("node", "neighbors kept"), [(node.name, node.share) for node in kept[:100]]),
              column_config={"neighbors kept": SHARE_BAR})


def _sides(view: View, before: Graph, earlier: str) -> None:
    knowledge = view.knowledge
    embedder = _embedder(knowledge, earlier)
    st.header("Gates and what is retrieved", anchor=False)
    if embedder is None:
        st.write(f"To see what {brief(earlier)} retrieves, the question must be embedded with "
                  "it too: name it and its endpoint in Settings.")
        way("settings", "Settings")
        return
    asked = view.about, view.method, earlier
    both: tuple[Side, Side] = compute_once("sides", asked, lambda _: (
        side(knowledge, before, embedder, view.question, view.method),
        side(knowledge, view.graph, knowledge.embedder, view.question, view.method)))
    for place, one, other, word in zip(st.columns(2, gap="medium"), both, both[::-1],
                                       ("Earlier", "Now"), strict=True):
        with place:
            closed = sum(gate.closed for gate in one.gates)
            st.caption(f"{word}, {brief(one.model, 60)}: {len(one.gates):,} gates were read, "
                        f"{closed:,} of them closed.")
            if one.gates:
                chart(figures.gate_histogram(one.gates, other.gates),
                      f"Histogram of {len(one.gates)} edge weights with {clean(one.model, 60)}.",
                      f"gates-{word.lower()}", GATE_COLUMNS,
                      [astuple(gate) for gate in one.gates])
    drawn(view, (both[0].retrieval, both[1].retrieval),
          (f"earlier: {clean(both[0].model, 60)}",
           f"now: {clean(both[1].model, 60)}"))


def _embedder(knowledge: KnowledgeGraph, name: str) -> Embedder | None:
    """The model of that name, of this installation or one that the settings know."""
    if name == LocalEmbedder.name:
        return local_embedder()
    choices = embedders(choice_of(knowledge))
    choice = next((choice for choice in choices if choice.embedder == name), None)
    return None if choice is None else knowledge.embedder_by(choice)
