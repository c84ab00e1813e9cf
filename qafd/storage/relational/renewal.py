"""What upgrades of the tables do to rows, for every backend; as released steps, none is ever edited."""

import hashlib
import json
import struct
from collections.abc import Iterator
from typing import Any

from qafd.storage.relational.part import Connection

KINDS = ("by_hand", "extracted", "mention", "relation", "synonym")


def number_graph(connection: Connection) -> None:
    """Fill `nodes_anew` and `edges_anew`, where numbers stand for ids of nodes and kinds of edges."""
    nodes = connection.execute("SELECT id, kind, key, name, text, tokens, vector, name_vector, scale "
                               "FROM nodes ORDER BY id")
    connection.executemany("INSERT INTO nodes_anew VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                           ((_number(row[0]), *row) for row in nodes))
    edges = connection.execute("SELECT source, target, kind, label, similarity, count, evidence "
                               "FROM edges ORDER BY source, target")
    connection.executemany("INSERT INTO edges_anew VALUES (?, ?, ?, ?, ?, ?, ?)", _numbered(edges))


def _number(node: str) -> int:
    return int(node[:15], 16)


def _numbered(edges: Any) -> Iterator[tuple[Any, ...]]:
    for source, target, kind, label, similarity, count, evidence in edges:
        packed = b""
        for chunk, sentence in json.loads(evidence):
            if kind == "mention":
                packed += struct.pack(">I", sentence)
            else:
                passage = hashlib.sha256(f"passage\n{chunk}".encode()).hexdigest()
                packed += struct.pack(">qI", _number(passage), sentence)
        yield _number(source), _number(target), KINDS.index(kind), label, similarity, count, packed
