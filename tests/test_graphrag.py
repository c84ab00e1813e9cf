"""An index of GraphRAG comes in with its communities and its reports on them."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from qafd.answer.context import build_context
from qafd.errors import ParseError
from qafd.ingest import refresh
from qafd.ingest.imports import read_graph
from qafd.knowledge import KnowledgeGraph, read_corpus, read_layer_states
from qafd.reading.formats.graphs.graph import ImportedGraph
from qafd.reading.parsing import parse_graph
from qafd.retrieve.layers.communities import Communities

Table = list[dict[str, Any]]
REPORT = "The harbor lives on salt. Its warden, O'Brien, keeps the ledger of every barge."


def index_of(**changed: Table) -> dict[str, Table]:
    """Two communities on level 0, the first of which has one on level 1, as GraphRAG writes it."""
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
    groups = [(0, -1, 0, ["e0", "e1", "e2"]), (1, -1, 0, ["e3", "e4"]), (2, 0, 1, ["e0", "e2"])]
    communities = [{"id": f"c{number}", "community": number, "parent": parent, "level": level,
                    "title": f"Community {number}", "entity_ids": members, "size": len(members)}
                   for number, parent, level, members in groups]
    reports = [{"id": f"p{number}", "community": number, "parent": parent, "level": level,
                "title": f"Report {number}", "summary": "Short.",
                "full_content": REPORT if number == 0 else f"All about number {number}.",
                "rank": 5.0 + number}
               for number, parent, level, _ in groups]
    whole = {"entities": entities, "relationships": relationships, "text_units": text_units,
             "communities": communities, "community_reports": reports}
    return whole | changed


def as_parquet(table: Table, path: Path) -> None:
    parquet.write_table(pa.Table.from_pylist(table), path)


def as_lines(table: Table, path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in table))


def as_json(table: Table, path: Path) -> None:
    path.write_text(json.dumps(table))


def as_csv(table: Table, path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]))
        writer.writeheader()
        writer.writerows(table)


WRITERS: dict[str, Callable[[Table, Path], None]] = {
    "parquet": as_parquet, "jsonl": as_lines, "json": as_json, "csv": as_csv}


def written(folder: Path, ending: str = "jsonl", **changed: Table) -> Path:
    folder.mkdir(exist_ok=True)
    for name, table in index_of(**changed).items():
        if table:
            WRITERS[ending](table, folder / f"{name}.{ending}")
    return folder


def members(knowledge: KnowledgeGraph) -> list[set[str]]:
    """The names in each community of the layer, in its order."""
    layer = read_corpus(knowledge).layer("communities")
    assert isinstance(layer, Communities)
    names = knowledge.graph.names
    return [{names[row] for community, row in layer.members.tolist() if community == at}
            for at in range(len(layer))]


def state_of(knowledge: KnowledgeGraph) -> tuple[str, str]:
    """How the layer of communities stands, and where it is from."""
    layer = next(one for one in read_layer_states(knowledge) if one.name == "communities")
    return layer.state, layer.origin


GIVEN = [{"O'BRIEN", "SALT HARBOR", "LEDGER"}, {"MILL", "MILLER"}, {"O'BRIEN", "LEDGER"}]


@pytest.mark.parametrize("ending", WRITERS)
def test_every_form_of_the_tables_is_the_same_graph(ending: str, tmp_path: Path) -> None:
    graph = read_graph(written(tmp_path / "output", ending))[1]
    names = {node.id: node.name for node in graph.nodes}
    assert [{names[node] for node in one.members} for one in graph.communities] == GIVEN
    assert [(one.level, one.parent) for one in graph.communities] == [(0, ""), (0, ""), (1, "0")]
    assert [one.title for one in graph.communities] == ["Report 0", "Report 1", "Report 2"]
    assert graph.communities[0].text == REPORT
    assert [one.rank for one in graph.communities] == [5, 6, 7]
    assert (len(graph.nodes), len(graph.edges), len(graph.texts)) == (5, 5, 2)
    assert parse_graph([graph.to_json()]) == graph


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeGraph:
    folder = tmp_path_factory.mktemp("graphrag")
    knowledge = KnowledgeGraph.open(folder / "w.db")
    knowledge.add_graph(written(folder / "output"), processes=1)
    return knowledge


def test_imported_communities_are_retrieved_and_their_reports_reach_the_prompt(
        imported: KnowledgeGraph) -> None:
    assert state_of(imported) == ("built", "imported")
    assert members(imported) == GIVEN
    graph = imported.graph
    entities = {name for name, kind in zip(graph.names, graph.kinds, strict=True) if kind == "entity"}
    assert entities == GIVEN[0] | GIVEN[1]
    found = imported.retrieve("Who keeps the ledger of Salt Harbor?", method="community", level=0,
                              communities=1)
    assert {node.name for node in found.nodes if node.kind == "entity"} >= GIVEN[0]
    assert [(one.title, one.text) for one in found.structures] == [("Report 0", REPORT)]
    with imported.store() as store:
        assert REPORT in build_context(found, store).text


def test_another_document_an_edit_or_a_deletion_makes_them_stale(tmp_path: Path) -> None:
    knowledge = KnowledgeGraph.open(tmp_path / "w.db")
    knowledge.add_graph(written(tmp_path / "output"), processes=1)

    edit = knowledge.hide("MILLER")
    assert state_of(knowledge) == ("stale", "imported")
    knowledge.build_layers(["communities"])
    assert state_of(knowledge) == ("built", "computed")
    knowledge.undo_edit(edit)
    knowledge.build_layers(["communities"])
    assert state_of(knowledge) == ("built", "imported")
    assert members(knowledge) == GIVEN

    knowledge.add_text("new.txt", "Ada Lovelace met Charles Babbage in London.")
    assert state_of(knowledge) == ("stale", "imported")
    knowledge.build_layers(["communities"])
    assert state_of(knowledge) == ("built", "computed")

    with knowledge.store() as store:
        store.documents.delete("output/entities.jsonl")
    refresh(knowledge.url)
    knowledge.build_layers(["communities"])
    layer = read_corpus(knowledge).layer("communities")
    assert isinstance(layer, Communities)
    assert REPORT not in layer.texts
    with knowledge.store() as store:
        store.documents.purge("output/entities.jsonl")
        assert not store.layers.rows()


def notices(graph: ImportedGraph, about: str) -> list[str]:
    return [one for one in graph.notices if about in one]


@pytest.mark.parametrize(("table", "about"), [
    ("text_units", "no table text_units"), ("communities", "no table communities"),
    ("community_reports", "3 of 3 communities have no report")])
def test_another_table_that_is_missing_is_named_in_one_notice(
        table: str, about: str, tmp_path: Path) -> None:
    changed: dict[str, Table] = {table: []}
    graph = read_graph(written(tmp_path / "output", **changed))[1]
    assert len(notices(graph, about)) == 1
    assert len(graph.communities) == (0 if table == "communities" else 3)


def test_levels_that_go_in_a_circle_are_refused_in_one_sentence(tmp_path: Path) -> None:
    communities = index_of()["communities"]
    communities[0]["parent"] = 2
    with pytest.raises(ParseError, match="the levels are no hierarchy"):
        read_graph(written(tmp_path / "output", communities=communities))
