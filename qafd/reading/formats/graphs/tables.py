"""GraphML, GEXF, tables and JSON to rows: node-link, records, GraphRAG's tables, LightRAG's chunks."""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from lxml import etree

from qafd.errors import ParseError
from qafd.reading.formats.draft import Limits
from qafd.reading.formats.graphs.graph import SOURCES, TARGETS, Row, Rows
from qafd.reading.formats.page import parse_xml
from qafd.reading.text.plaintext import one_line

if TYPE_CHECKING:
    from lxml.etree import _Element

_SCALARS = (str, int, float)
_NEO4J = re.compile(r"[^:]*:(id|start_id|end_id|type|label)(?:\(.*\))?|_(id|start|end|type|labels)")
_NEO4J_NAMES = {"id": "id", "start_id": "source", "start": "source", "end_id": "target", "end": "target",
                "type": "label", "label": "type", "labels": "type"}
_NODES = {"name", "title", "label", "entity", "entity_name", "id"}


def as_node_link(value: Any) -> dict[str, Any] | None:
    """Return JSON of networkx, D3, vis.js, Cytoscape or Neo4j as {"nodes", "edges"}; None for any other."""
    if isinstance(value, list):
        return _of_neo4j(value)
    if not isinstance(value, dict):
        return None
    if "elements" in value:
        return _of_cytoscape(value["elements"])
    nodes = value.get("nodes")
    edges = value.get("edges", value.get("links"))
    if not isinstance(nodes, list) or not edges or not isinstance(edges, list):
        rels = value.get("rels", value.get("relationships"))
        return _of_neo4j([*nodes, *rels]) if isinstance(nodes, list) and isinstance(rels, list) else None
    if _all_have(edges, "source", "target"):
        return {**value, "edges": edges}
    if _all_have(edges, "from", "to") and _all_have(nodes, "id"):
        return {"nodes": nodes, "edges": edges, "graph": {"format": "vis.js"}}
    return None


def _all_have(rows: Sequence[Any], *keys: str) -> bool:
    return all(isinstance(row, dict) and row.keys() >= set(keys) for row in rows)


def _of_cytoscape(elements: Any) -> dict[str, Any] | None:
    """Return the elements of Cytoscape, in one list or in two, as node-link JSON."""
    if isinstance(elements, dict):
        elements = [*elements.get("nodes", ()), *elements.get("edges", ())]
    if not isinstance(elements, list) or not _all_have(elements, "data"):
        return None
    rows = [element["data"] for element in elements if isinstance(element["data"], dict)]
    edges = [row for row in rows if {"source", "target"} <= row.keys()]
    nodes = [row for row in rows if "source" not in row]
    return {"nodes": nodes, "edges": edges, "graph": {"format": "Cytoscape"}} if edges else None


def _of_neo4j(rows: Sequence[Any]) -> dict[str, Any] | None:
    """Return what apoc.export.json writes, as node-link JSON."""
    if not rows or not _all_have(rows, "type", "id"):
        return None
    nodes = [row for row in rows if row["type"] == "node"]
    edges = [row for row in rows if row["type"] == "relationship"]
    if not edges or len(nodes) + len(edges) < len(rows):
        return None
    linked: list[dict[str, Any]] = []
    for edge in edges:
        if not _all_have((edge.get("start"), edge.get("end")), "id"):
            return None
        linked.append({**(edge.get("properties") or {}), "label": edge.get("label", ""),
                       "source": edge["start"]["id"], "target": edge["end"]["id"]})
    named = [{"type": ", ".join(map(str, node.get("labels") or ())), **(node.get("properties") or {}),
              "id": node["id"]} for node in nodes]
    return {"nodes": named, "edges": linked, "graph": {"format": "Neo4j JSON"}}


def read_node_link(value: Mapping[str, Any]) -> Rows:
    """Return the rows of `as_node_link`; nodes without an id are numbered from 0, as in D3."""
    about = value.get("graph")
    about = about if isinstance(about, dict) else {}
    form = about.get("format")
    rows = Rows(one_line(form, 80) if isinstance(form, str) else "node-link JSON")
    for number, node in enumerate(value["nodes"]):
        node = _lower(node) if isinstance(node, dict) else {"id": node}
        rows.nodes.append(node if "id" in node else {"id": number, **node})
    rows.edges = [_lower(edge) for edge in value["edges"]]
    rows.texts = [_lower(text) for text in value.get("texts", []) if isinstance(text, dict)]
    rows.notices = [note for note in about.get("notices", []) if isinstance(note, str)]
    rows.check()
    return rows


def read_json_graph(text: str) -> Rows:
    """Return a graph of `as_node_link`, records in a list or in lines, or the chunks of a LightRAG graph.

    Raises
    ------
    ParseError
        It is none of these.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = _read_lines(text)
    if (linked := as_node_link(value)) is not None:
        return read_node_link(linked)
    if isinstance(value, dict) and "nodes" not in value and all(map(_is_cell, value.values())):
        value = [value]  # a table of one row, in lines
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        return read_records("JSON records", [_lower(row) for row in value])
    if isinstance(value, dict) and value and all(
            isinstance(one, dict) and "content" in one for one in value.values()):
        return Rows("LightRAG texts", texts=[
            {"id": key, "text": one["content"], "title": one.get("file_path", "")}
            for key, one in value.items()])
    raise ParseError('The JSON is no graph: it needs "nodes" and "edges" or "links" with source '
                     "and target, or records with them.")


def _read_lines(text: str) -> list[Any]:
    """Return the values of JSON lines."""
    try:
        return [json.loads(line) for line in text.split("\n") if line.strip()]
    except (ValueError, RecursionError):
        raise ParseError("The JSON is damaged or nested too deeply; export the graph again."
                         ) from None


def _is_cell(value: Any) -> bool:
    """Return True if a value can stand in a row of a table."""
    if isinstance(value, list):
        return all(isinstance(one, str) for one in value)
    return value is None or isinstance(value, _SCALARS)


def read_delimited(text: str, limits: Limits) -> Rows:
    """Return the rows of CSV or TSV whose first line names the columns."""
    csv.field_size_limit(limits.text_characters)
    head = text.lstrip("\ufeff").replace("\0", "")
    first = head.split("\n", 1)[0]
    delimiter = max("\t;,|", key=first.count)
    try:
        lines = list(csv.reader(io.StringIO(head, newline=""), delimiter=delimiter, strict=True))
    except csv.Error:
        raise ParseError("The table is damaged: a quotation mark in it is not closed or stands "
                         "alone; save it as CSV again.") from None
    columns = [_column_of(column) for column in next(iter(lines), [])]
    records: list[Row] = [dict(zip(columns, line, strict=False)) for line in lines[1:] if any(line)]
    if not {"id", "source", "target"} <= set(columns):
        return read_records("CSV", records, columns)
    rows = read_records("CSV", [row for row in records if row.get("source")], columns)
    rows.nodes = [row for row in records if not row.get("source")]  # apoc.export.csv has both in one table
    return rows


def _column_of(column: str) -> str:
    """Return the name of a column, or the meaning of Neo4j's "personId:ID(Person)", ":START_ID", "_end"."""
    name = column.strip().lower()
    special = _NEO4J.fullmatch(name)
    if special is None:
        return name.partition(":")[0] or name
    return _NEO4J_NAMES[special[1] or special[2]]


def read_parquet(data: bytes) -> Rows:
    """Return the rows of a Parquet table, as GraphRAG writes them.

    Columns of vectors are not read.
    """
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    # The arenas of the usual one reserve more address space than a parser may have.
    arrow.set_memory_pool(arrow.system_memory_pool())
    try:
        file = parquet.ParquetFile(io.BytesIO(data))
        columns = [name for name in file.schema_arrow.names if not name.endswith("_embedding")]
        records = file.read(columns, use_threads=False).to_pylist()
    except (arrow.ArrowException, OSError) as error:
        raise ParseError(f"The Parquet table is damaged ({type(error).__name__}); export it "
                         "again.") from None
    return read_records("Parquet", [_lower(record) for record in records],
                        [column.lower() for column in columns])


def read_records(form: str, records: list[Row], columns: list[str] | None = None) -> Rows:
    """Return records as edges, texts or nodes, by their columns; communities are counted as left out.

    Raises
    ------
    ParseError
        The columns are of none of these.
    """
    names = set(columns or ())
    if columns is None:
        names.update(*records)
    rows = Rows(form)
    ends = any(name in names for name in SOURCES), any(name in names for name in TARGETS)
    if all(ends):
        rows.edges = records
    elif "level" in names and names & {"community", "raw_community"}:
        rows.notices.append(f"Left out: {len(records):,} rows about communities, which are computed here.")
    elif "text" in names and names & {"id", "tuid"} and not names & (_NODES - {"id"}):
        rows.texts = records
    elif names & _NODES and not ends[1]:
        rows.nodes = records
    else:
        shown = ", ".join(sorted(names)[:8])
        raise ParseError("The table names no edges: it needs a column source and a column "
                         "target (or from and to, head and tail, subject and object) but "
                         f"has {shown}.")
    rows.check()
    return rows


def _lower(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with plain column names; lists stay, other nested values go."""
    return dict(_plain(row))


def _plain(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in row.items():
        name = str(key).strip().lower()
        if isinstance(value, bool) or value is None:
            continue
        if isinstance(value, _SCALARS):
            yield name, value
        elif isinstance(value, list) and name in ("id", "source", "target"):
            yield name, ", ".join(map(str, value))  # networkx writes tuples as lists
        elif isinstance(value, list) and all(isinstance(one, str) for one in value):
            yield name, value


_VALUES = ("data", "attvalue", "NodeLabel", "EdgeLabel")  # the last two of yEd


def read_markup(text: str) -> Rows:
    """Return the nodes and edges of a GraphML or GEXF text, as yEd, Gephi and networkx write it.

    Raises
    ------
    ParseError
        It is damaged, or declares entities, which could expand without end.
    """
    try:
        root = parse_xml(text.strip().encode("utf-8", "replace"))
    except etree.XMLSyntaxError as error:
        raise ParseError(f"The graph is damaged in line {error.lineno}; export it again.") from None
    form = {"graphml": "GraphML", "gexf": "GEXF"}
    rows = Rows(form.get(etree.QName(root).localname.lower(), "XML"))
    names = _attribute_names(root)
    for element in root.iter("{*}node", "{*}edge"):
        kind = etree.QName(element).localname
        row = dict(element.attrib)
        if kind == "edge":
            row.pop("id", None)
        (rows.nodes if kind == "node" else rows.edges).append(row)
        rows.check()
        for name, value in _values_of(element):
            if value.strip():
                row.setdefault(names.get((kind, name), name).strip().lower(), value.strip())
    return rows


def _attribute_names(root: "_Element") -> dict[tuple[str, str], str]:
    """Return the name of each attribute by the kind of element and its id."""
    names: dict[tuple[str, str], str] = {}
    for key in root.iter("{*}key"):
        identity = key.get("id", "")
        about = key.get("for", "all")
        for kind in ("node", "edge") if about == "all" else (about,):
            names[kind, identity] = key.get("attr.name") or key.get("yfiles.type") or identity
    for group in root.iter("{*}attributes"):
        for attribute in group:
            names[group.get("class", ""), attribute.get("id", "")] = attribute.get("title", "")
    return names


def _values_of(element: "_Element") -> list[tuple[str, str]]:
    """Return the ids and values of the attributes of a node or an edge, without those of nodes in it."""
    found = []
    for value in element.iter(*(f"{{*}}{name}" for name in _VALUES)):
        if next(value.iterancestors("{*}node", "{*}edge")) is not element:
            continue
        name = etree.QName(value).localname
        if name == "attvalue":
            found.append((value.get("for") or value.get("id") or "", value.get("value", "")))
        elif name == "data":
            found.append((value.get("key", ""), value.text or ""))
        else:
            found.append(("label", value.text or ""))
    return found
