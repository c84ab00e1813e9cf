"""The graph that the embedding model before this one would make, from its vectors."""

from qafd.arrays import ByteRows, to_bytes
from qafd.errors import StoreError
from qafd.graph import Graph
from qafd.storage import Workspace
from qafd.storage.log_assembly import assemble_stored

NEVER = -1  # no revision of a workspace: no layer was built for this graph


def earlier_graph(store: Workspace) -> Graph:
    """The present documents as a graph with the earlier model's vectors; rows are sorted by id.

    Passages that came after the change of the model are left out.

    Raises
    ------
    StoreError
        No vectors of an earlier model are kept, or names came after the change.
    """
    model, _ = store.vectors.earlier
    if not model:
        raise StoreError(f"{store.place.name} has vectors of one embedding model only; embed "
                         "it anew with another one to compare the two.")
    made = assemble_stored(store, store.log.read(), model)
    order = sorted(range(len(made.nodes)), key=lambda i: made.nodes[i].id)
    nodes = [made.nodes[i] for i in order]
    row = {node.id: i for i, node in enumerate(nodes)}
    return Graph.build(
        [node.id for node in nodes], [node.name for node in nodes], [node.kind for node in nodes],
        [row[edge.source] for edge in made.edges], [row[edge.target] for edge in made.edges],
        made.similarities(), [edge.kind for edge in made.edges],
        vectors=ByteRows.of(to_bytes(made.alignment[order])),
        name_vectors=ByteRows.of(to_bytes(made.names[order])),
        tokens=[node.tokens for node in nodes], revision=NEVER)
