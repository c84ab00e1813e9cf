"""The graph that the embedding model before this one would make, from its vectors."""

from collections.abc import Sequence

import numpy as np

from qafd.assemble import Reading, assemble
from qafd.edits import apply_edits, connect_by_hand
from qafd.errors import StoreError
from qafd.graph import Graph
from qafd.records import Vectors
from qafd.storage import Workspace
from qafd.storage.rows import embedding_key, vector_keys

NEVER = -1  # no revision of a workspace: no layer was built for this graph


def earlier_graph(store: Workspace) -> Graph:
    """The present documents as a graph with the earlier model's vectors; rows are sorted by id.

    Passages that came after the change of the model are left out.

    Raises
    ------
    StoreError
        No vectors of an earlier model are kept, or names came after the change.
    """
    model, dimension = store.vectors.earlier
    if not model:
        raise StoreError(f"{store.path.name} has vectors of one embedding model only; "
                         "embed it anew with another one to compare the two.")
    log = store.log.read()
    keys = [vector_keys(model, chunk.title, chunk.text, extraction.sentences)
            for chunk, extraction in zip(log.chunks, log.extractions, strict=True)]
    stored = store.vectors.get(key for some in keys for key in some)
    extractions = apply_edits(log.extractions, log.edits)
    readings = [
        Reading(chunk, extraction, stored[some[0]],
                np.array([stored[key] for key in some[1:]]).reshape(-1, dimension))
        for chunk, extraction, some in zip(log.chunks, extractions, keys, strict=True)
        if all(key in stored for key in some)]

    def named(names: Sequence[str]) -> Vectors:
        found = store.vectors.get(embedding_key(model, name) for name in names)
        missing = len(names) - len(found)
        if missing:
            raise StoreError(f"{missing} of {len(names)} names came after the vectors of {model}; "
                             "to compare the two models, embed anew with each.")
        return np.array([found[embedding_key(model, name)] for name in names])

    made = connect_by_hand(assemble(readings, named), log.edits)
    order = sorted(range(len(made.nodes)), key=lambda i: made.nodes[i].id)
    nodes = [made.nodes[i] for i in order]
    row = {node.id: i for i, node in enumerate(nodes)}
    return Graph.build(
        [node.id for node in nodes], [node.name for node in nodes], [node.kind for node in nodes],
        [row[edge.source] for edge in made.edges], [row[edge.target] for edge in made.edges],
        [edge.similarity for edge in made.edges], [edge.kind for edge in made.edges],
        vectors=made.alignment[order], name_vectors=made.names[order],
        tokens=[node.tokens for node in nodes], revision=NEVER)
