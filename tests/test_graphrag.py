"""An index of GraphRAG in every form of its tables."""

import csv
import json
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from qafd.ingest.imports import read_graph
from qafd.reading.parsing import parse_graph

Table = list[dict[str, Any]]


def index_of(**changed):
    """Five names in two texts, and three communities."""
    names = ["O'BRIEN", "SALT HARBOR", "LEDGER", "MILL", "MILLER"]
    entities = [{"id": f"e{at}", "human_readable_id": at, "title": name, "type": "THING",
                 "description": f"{name} is known.", "text_unit_ids": ["u1" if at < 3 else "u2"]}
                for at, name in enumerate(names)]
    ends = [(0, 1), (0, 2), (1, 2), (3, 4), (2, 3)]
    relationships = [{"id": f"r{at}", "source": names[u], "target": names[v], "weight": 2.0,
                      "description": "They belong together.",
                      "text_unit_ids": ["u1" if v < 3 else "u2"]}
                     for at, (u, v) in enumerate(ends)]
    text_units = [
        {"id": "u1", "text": "O'Brien wrote the ledger of Salt Harbor.", "n_tokens": 9},
        {"id": "u2", "text": "The miller owns the mill and read the ledger.", "n_tokens": 9}]
    communities = [{"id": f"c{number}", "community": number, "level": 0, "entity_ids": ["e0", "e1"]}
                   for number in range(3)]
    whole = {"entities": entities, "relationships": relationships, "text_units": text_units,
             "communities": communities}
    return whole | changed


def as_parquet(table, path):
    parquet.write_table(pa.Table.from_pylist(table), path)


def as_lines(table, path):
    path.write_text("".join(json.dumps(row) + "\n" for row in table))


def as_json(table, path):
    path.write_text(json.dumps(table))


def as_csv(table, path):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]))
        writer.writeheader()
        writer.writerows(table)


WRITERS = {
    "parquet": as_parquet, "jsonl": as_lines, "json": as_json, "csv": as_csv}


def written(folder, ending="jsonl", **changed):
    folder.mkdir(exist_ok=True)
    for name, table in index_of(**changed).items():
        if table:
            WRITERS[ending](table, folder / f"{name}.{ending}")
    return folder


@pytest.mark.parametrize("ending", WRITERS)
def test_every_form_of_the_tables_is_the_same_graph(ending, tmp_path):
    folder = written(tmp_path / "output", ending)
    graph = read_graph(folder if ending == "parquet" else sorted(folder.iterdir()))[1]
    assert [node.name for node in graph.nodes] == ["O'BRIEN", "SALT HARBOR", "LEDGER", "MILL", "MILLER"]
    assert [len(node.texts) for node in graph.nodes] == [1] * 5
    assert (len(graph.edges), len(graph.texts)) == (5, 2)
    assert parse_graph([graph.to_json()]) == graph
    assert not any("text_units" in notice for notice in graph.notices)


def test_missing_texts_are_named_in_one_notice(tmp_path):
    graph = read_graph(written(tmp_path / "output", "parquet", text_units=[]))[1]
    assert sum("no table text_units" in notice for notice in graph.notices) == 1


def test_communities_are_counted_as_left_out(tmp_path):
    folder = written(tmp_path / "output")
    graph = read_graph(sorted(folder.iterdir()))[1]
    assert sum(notice.startswith("Left out: 3 rows about communities") for notice in graph.notices) == 1
    assert len(graph.nodes) == 5
