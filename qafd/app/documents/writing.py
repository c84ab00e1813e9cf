"""Reports, summaries and merged descriptions that a language model writes for the layers."""

from dataclasses import replace

import streamlit as st

from qafd.app.escaping import escape_sentence, plain
from qafd.app.provider import language_model
from qafd.app.session import recall, remember
from qafd.errors import QafdError
from qafd.knowledge import KnowledgeGraph, plan_layers, read_layer_states, write_layers
from qafd.models.cost import Metered
from qafd.models.estimate import RunPlan
from qafd.retrieve.layers import WRITABLE, LayerState
from qafd.storage.rows import now
from qafd.view.panel import clean
from qafd.wording.documents import say_cap, say_origin, say_writing_plan

LABELS = {"communities": "Reports on communities (GraphRAG)", "summaries": "Summaries of passages (FlowRAG)",
          "tree": "Summaries of clusters (RAPTOR)", "descriptions": "Merged descriptions of entities"}


def writing_controls(knowledge: KnowledgeGraph) -> None:
    """Draw the choice of layers that a model writes, the cost, and the button that starts it."""
    client = language_model(knowledge.url, "write")
    layers = {layer.name: layer for layer in read_layer_states(knowledge) if layer.name in WRITABLE}
    if client is None or not len(knowledge.graph):
        return
    client = replace(client, run=f"write {now()}")
    with st.expander(f"Reports and summaries by {plain(clean(client.name, 60))}"):
        st.caption("Without a model they are made of sentences of the documents. What is "
                    "written is kept: after a change of the graph only what is new has to be "
                    "paid.")
        chosen = st.multiselect("To be written", WRITABLE, ["communities"],
                                format_func=lambda name: LABELS[name], key="written_layers")
        for layer in layers.values():
            _tell(layer)
        if not chosen:
            return
        key = (knowledge.id, knowledge.graph.revision, client.name, client.address, tuple(chosen),
               [layer.written for layer in layers.values()])
        if st.button("What it will cost"):
            with st.spinner("Estimating what this will cost"):
                remember("writing plan", key, lambda: plan_layers(knowledge, chosen, client))
        planned: RunPlan | None = recall("writing plan", key)
        if planned is None:
            return
        st.markdown(plain(say_writing_plan(planned)))
        st.caption(plain(say_cap(client.meter.cap)))
        if st.button("Write them", type="primary", disabled=planned.calls[0] == 0):
            _write(knowledge, client, chosen)


def _tell(layer: LayerState) -> None:
    origin = say_origin(layer.origin, layer.state, layer.model, layer.written, layer.texts)
    if origin:
        st.caption(plain(f"{LABELS[layer.name]}: {origin}"))


def _write(knowledge: KnowledgeGraph, client: Metered, names: list[str]) -> None:
    bar = st.progress(0.0, "Writing")

    def report(name: str, done: int, total: int) -> None:
        bar.progress(done / max(total, 1), plain(f"{LABELS[name]}: {done:,} of {total:,}"))

    try:
        write_layers(knowledge, names, client, progress=report)
    except QafdError as error:
        st.error(escape_sentence(error))
        st.caption("What was written is kept and used; start again to go on.")
        return
    st.rerun()
