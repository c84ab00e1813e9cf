"""Communities of an imported graph, stored next to the layers to become one of them."""

import json
from collections.abc import Mapping
from zlib import crc32

import numpy as np

from qafd.graph import Graph
from qafd.reading.formats.graphs.graph import ImportedGraph
from qafd.reading.formats.graphs.passages import names_of
from qafd.reading.text import canonical
from qafd.records import node_id
from qafd.retrieve.layers.communities import NAMES, Communities
from qafd.retrieve.layers.texts import Embeds
from qafd.storage import Workspace
from qafd.storage.rows import LayerRow

KEPT = "imported communities"  # the row; its version is the file that they came with


def keep_communities(store: Workspace, file: str, graph: ImportedGraph) -> None:
    """Keep the communities that came with a file, in the place of those of an earlier one.

    The builder of a layer made of them is the checksum below zero, so that others make it stale.
    """
    names = names_of(graph.nodes, [])
    number = {one.id: at for at, one in enumerate(graph.communities)}
    rows = []
    for one in graph.communities:
        entities = sorted({node_id("entity", canonical(names[node])) for node in one.members})
        rows.append({
            "level": one.level, "parent": number.get(one.parent, -1), "entities": entities,
            "title": one.title, "text": one.text, "rank": one.rank})
    body = json.dumps(rows, ensure_ascii=False).encode()
    store.layers.put(KEPT, file, -1 - crc32(body), body)


def find_kept(store: Workspace, rows: Mapping[str, LayerRow]) -> LayerRow | None:
    """Return the communities that are those of the graph: it is of their file alone, and as it was given."""
    kept = rows.get(KEPT)
    if kept is None or any(edit.undone_at is None for edit in store.edits.all()):
        return None
    documents = [one for one in store.documents.all() if one.deleted_at is None]
    whole = len(store.documents.all(kept.version))
    alone = all(one.source == kept.version for one in documents)
    return kept if alone and len(documents) == whole > 0 else None


def make_communities(graph: Graph, body: bytes, embedder: Embeds) -> Communities:
    """Return the layer of kept communities; where one has no report, it names its members."""
    titles, texts, members = [], [], []
    rows = json.loads(body)
    for at, row in enumerate(rows):
        inside = sorted(graph.row[one] for one in row["entities"] if one in graph.row)
        members += [(at, one) for one in inside]
        names = [graph.names[one] for one in inside[:NAMES]]
        titles.append(row["title"] or ", ".join(names[:3]))
        texts.append(row["text"] or f"{', '.join(names)}.")
    return Communities(
        np.array([row["level"] for row in rows], np.int64),
        np.array([row["parent"] for row in rows], np.int64),
        np.array(members, np.int64).reshape(-1, 2), tuple(titles), tuple(texts),
        embedder.embed(texts), np.array([row["rank"] for row in rows], np.float64))
