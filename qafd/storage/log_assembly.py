"""Readings and graph of a log with the vectors that its workspace stores."""

from collections.abc import Sequence

import numpy as np

from qafd.assemble import Assembly, assemble
from qafd.assemble.readings import Reading
from qafd.edits import apply_edits, connect_by_hand
from qafd.errors import StoreError
from qafd.records import Chunk, Extraction, Vectors
from qafd.storage.packing import embedding_key, key_of
from qafd.storage.relational.workspace import Workspace
from qafd.storage.rows import Log


def stored_readings(store: Workspace, model: str, pairs: Sequence[tuple[Chunk, Extraction]]
                    ) -> dict[str, Reading]:
    """The passages whose vectors of a model are all kept, by id."""
    keys = [key_of(model, *pair) for pair in pairs]
    stored = store.vectors.rows(keys)
    return {chunk.id: Reading(chunk, extraction, stored[key][0], stored[key][1:])
            for (chunk, extraction), key in zip(pairs, keys, strict=True) if key in stored}


def assemble_stored(store: Workspace, log: Log, model: str) -> Assembly:
    """The graph of a log with the vectors of a model; passages that have none are left out.

    Raises
    ------
    StoreError
        A name has none.
    """
    def embed_names(names: Sequence[str]) -> Vectors:
        found = store.vectors.get(embedding_key(model, name) for name in names)
        missing = len(names) - len(found)
        if missing:
            raise StoreError(f"{missing} of {len(names)} names came after the vectors of "
                             f"{model}; to compare the two models, embed anew with each.")
        return np.array([found[embedding_key(model, name)] for name in names])

    pairs = list(zip(log.chunks, apply_edits(log.extractions, log.edits), strict=True))
    readings = stored_readings(store, model, pairs)
    return connect_by_hand(assemble(readings.values(), embed_names), log.edits)
