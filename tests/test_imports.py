"""Graphs from other programs come in as they are, by Python, page and command."""

import json
import math

import networkx as nx
import pyarrow as pa
import pytest
from clicks import page, press, shown
from hypothesis import example, given
from hypothesis import strategies as st
from pyarrow import parquet

from qafd.cli import main
from qafd.errors import ParameterError, ParseError
from qafd.ingest import extend, index, plan
from qafd.ingest.engine import Here
from qafd.ingest.imports import read_graph
from qafd.ingest.llm_extract import ModelEngine, ModelExtractor
from qafd.ingest.reader import ModelChoice
from qafd.knowledge import KnowledgeGraph, find_evidence
from qafd.models import Recorded
from qafd.models.embedder import LocalEmbedder
from qafd.reading.formats.draft import Limits
from qafd.reading.formats.graphs import read_graph_files
from qafd.reading.formats.graphs.graph import ImportedEdge, ImportedGraph, ImportedNode
from qafd.reading.formats.graphs.passages import drafts_of, given_for
from qafd.reading.names import LocalExtractor
from qafd.reading.parsing import parse_graph
from qafd.reading.text import canonical, chunk
from qafd.records import Document
from qafd.storage import open_workspace

JOBS = ImportedGraph("a test", (
    ImportedNode("1", "Steve Jobs", "person", "Steve Jobs sold computers. He wore black."),
    ImportedNode("2", "Apple Inc.", "organization"),
    ImportedNode("3", "Atari")), (
    ImportedEdge("1", "2", "founded", "In 1976. With others.", 8.0),
    ImportedEdge("1", "3", "worked at", weight=2.0)))


def entities(knowledge):
    graph = knowledge.graph
    return {graph.names[i] for i in range(len(graph)) if graph.kinds[i] == "entity"}


def relations(knowledge):
    """The two names of a relation to its label and similarity."""
    graph = knowledge.graph
    names = dict(zip(graph.ids, graph.names, strict=True))
    with knowledge.store() as store:
        return {frozenset((names[e.source], names[e.target])): (e.label, e.similarity)
                for e in store.graph.edges(graph.ids) if e.kind == "relation"}


def taken_in(place, *files):
    knowledge = KnowledgeGraph.open(place)
    knowledge.add_graph(files, processes=1)
    return knowledge


def put(place, graph):
    index(place, [("g.json", graph.to_json())], processes=1)
    return KnowledgeGraph.open(place)


@pytest.fixture(scope="module")
def hugo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hugo")
    graph = nx.les_miserables_graph()
    nx.write_graphml(graph, folder / "hugo.graphml")
    return taken_in(folder / "hugo.db", folder / "hugo.graphml"), graph


def test_an_edge_is_the_cosine_of_its_names_times_its_weight_over_the_geometric_mean(hugo):
    knowledge, graph = hugo
    weights = [weight for _, _, weight in graph.edges(data="weight")]
    mean = math.prod(weights) ** (1 / len(weights))
    whole = knowledge.graph
    vectors = {whole.names[i]: whole.name_vectors[i] for i in range(len(whole))
               if whole.kinds[i] == "entity"}
    for ends, (_, similarity) in relations(knowledge).items():
        u, v = ends
        assert similarity == pytest.approx(
            max(1e-3, float(vectors[u] @ vectors[v])) * graph.edges[u, v]["weight"] / mean,
            rel=1e-3, abs=1e-5)


WRITERS = {
    "graphml": nx.write_graphml, "gexf": nx.write_gexf,
    "links": lambda graph, path: path.write_text(
        json.dumps(nx.node_link_data(graph, edges="links"))),
    "edges": lambda graph, path: path.write_text(
        json.dumps(nx.node_link_data(graph, edges="edges"))),
    "csv": lambda graph, path: path.write_text("From;To;Weight\n" + "".join(
        f"{u};{v};{w}\n" for u, v, w in graph.edges(data="weight")))}


@pytest.mark.parametrize("form", WRITERS)
def test_one_graph_is_the_same_in_every_format(form, tmp_path):
    graph = nx.les_miserables_graph()
    WRITERS[form](graph, tmp_path / "graph")
    name, found = read_graph(tmp_path / "graph")
    assert name == "graph"
    assert {node.name for node in found.nodes} == set(graph)
    assert {(frozenset((e.source, e.target)), e.weight) for e in found.edges} == {
        (frozenset((u, v)), float(w)) for u, v, w in graph.edges(data="weight")}


def test_a_node_becomes_a_passage_of_its_description_and_a_line_for_each_edge():
    drafts = drafts_of(JOBS, "g.graphml", Limits(), [])
    assert [(draft.name, draft.title, draft.text) for draft in drafts] == [(
        "g.graphml#1", "Steve Jobs",
        "Steve Jobs sold computers. He wore black.\n\n"
        "Steve Jobs — founded — Apple Inc.: In 1976. With others.\n"
        "Steve Jobs — worked at — Atari")]
    said = drafts[0].given
    text = drafts[0].text
    assert [text[start:end] for start, end in said.sentences] == [
        "Steve Jobs sold computers.", "He wore black.",
        "Steve Jobs — founded — Apple Inc.: In 1976.", "With others.",
        "Steve Jobs — worked at — Atari"]
    assert [(a.source, a.label, a.target, a.sentence) for a in said.assertions] == [
        ("steve jobs", "founded", "apple", 2), ("steve jobs", "worked at", "atari", 4)]
    # 8 and 2 have the geometric mean 4.
    assert [(d.source, d.target, d.strength) for d in said.descriptions] == [
        ("steve jobs", "", 0.0), ("steve jobs", "apple", 2.0), ("steve jobs", "atari", 0.5)]
    assert said.descriptions[0].kind == "person"


TEXT = st.text(st.characters(codec="utf-8"), max_size=40) | st.sampled_from(
    ["A.B. Smith", "x. Y! Z?", "e\u0301", "\u0301", "\u200dक", "the", "--", "Ann (1)", "ann"])


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=5), TEXT,
       st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), TEXT, TEXT), min_size=1))
@example([("A", "A. A")] * 2, "", [(0, 1, "", "")])
@example([("a" * 200, "word " * 400), ("b", "")], "", [(0, 1, "is", "Long. " * 300)] * 20)
def test_every_mention_stands_where_it_says_and_every_edge_is_asserted_once(nodes, label, edges):
    data = {"nodes": [{"id": i, "name": name, "description": text}
                      for i, (name, text) in enumerate(nodes)],
            "edges": [{"source": u, "target": v, "label": label + verb, "description": text}
                      for u, v, verb, text in edges]}
    try:
        graph = read_graph_files([json.dumps(data).encode()], Limits())
    except ParseError:
        assert all(u == v for u, v, _, _ in edges)
        return
    asserted, keys = 0, set()
    for draft in drafts_of(graph, "g", Limits(), []):
        for m in draft.given.mentions:
            assert m.start == m.end == 0 or canonical(draft.text[m.start:m.end]) == m.key
        whole = Document(draft.name, draft.title, draft.kind, draft.text)
        for number, passage in enumerate(chunk(whole, 40)):
            said = given_for(draft.given, passage, opening=not number)
            asserted += len(said.assertions)
            keys |= {m.key for m in said.mentions}
            assert all(0 <= start < end <= len(passage.text) for start, end in said.sentences)
            assert all(0 <= one.sentence < len(said.sentences)
                       for one in (*said.mentions, *said.assertions))
            for m in said.mentions:
                assert m.start == m.end == 0 or canonical(passage.text[m.start:m.end]) == m.key
    assert asserted == len(graph.edges)
    assert len(keys) == len(graph.nodes)


def tables(folder, entity, relationship, unit):
    parquet.write_table(pa.table({
        "id": ["e1", "e2", "e3"], "title": ["STEVE JOBS", "APPLE", "NEXT"],
        "type": ["PERSON", "ORGANIZATION", ""],
        "description": ["A founder.", "A company.", "Another company."],
        "text_unit_ids": [["u1"], ["u1"], ["gone"]],
        "description_embedding": [[0.5], [0.5], [0.5]]}), folder / entity)
    parquet.write_table(pa.table({
        "source": ["STEVE JOBS", "STEVE JOBS"], "target": ["APPLE", "NEXT"],
        "description": ["He founded it.", "He founded it too."], "weight": [9.0, 1.0],
        "text_unit_ids": [["u1"], ["gone"]]}), folder / relationship)
    parquet.write_table(pa.table({
        "id": ["u1"], "text": ["In 1976 a company was born. Steve Jobs founded Apple then."],
        "n_tokens": [12]}), folder / unit)


def test_graphrag_tables_are_mentioned_in_their_texts(tmp_path):
    folder = tmp_path / "output"
    folder.mkdir()
    tables(folder, "entities.parquet", "relationships.parquet", "text_units.parquet")
    knowledge = taken_in(tmp_path / "w.db", tmp_path)
    assert entities(knowledge) == {"STEVE JOBS", "APPLE", "NEXT"}
    assert relations(knowledge).keys() == {
        frozenset({"STEVE JOBS", "APPLE"}), frozenset({"STEVE JOBS", "NEXT"})}
    with knowledge.store() as store:
        documents = {one.title: store.documents.get(one.name).text for one in store.documents.all()}
        apple = next(n for n in store.graph.nodes(knowledge.graph.ids).values() if n.name == "APPLE")
    assert documents["STEVE JOBS"] == "STEVE JOBS — NEXT: He founded it too."
    assert documents["NEXT"] == "Another company."
    assert apple.text == "A company."
    assert [e.text for e in find_evidence(knowledge, [apple.id])] == ["Steve Jobs founded Apple then."]


def test_lightrag_descriptions_keywords_and_chunks_are_understood(tmp_path):
    graph = nx.Graph()
    graph.add_node("Ada", entity_id="Ada", entity_type="person", source_id="chunk-1<SEP>chunk-2",
                   description="Wrote notes.<SEP>Knew Babbage.<SEP>Wrote notes.")
    graph.add_node("Engine", entity_type="object", description="A machine.", source_id="chunk-1")
    graph.add_edge("Ada", "Engine", weight=2.0, keywords="described, admired",
                   description="Ada described the Engine.", source_id="chunk-1")
    nx.write_graphml(graph, tmp_path / "graph_chunk_entity_relation.graphml")
    alone = read_graph(tmp_path)[1]
    assert alone.nodes[0].description == "Wrote notes.\n\nKnew Babbage."
    assert (alone.edges[0].label, alone.edges[0].weight) == ("described", 2.0)
    assert alone.nodes[0].texts == ()
    (tmp_path / "kv_store_text_chunks.json").write_text(json.dumps({
        key: {"content": text, "full_doc_id": "d", "chunk_order_index": i, "tokens": 9}
        for i, (key, text) in enumerate([("chunk-1", "Ada wrote on the Engine."),
                                         ("chunk-2", "She knew many people.")])}))
    whole = read_graph(tmp_path)[1]
    assert [node.texts for node in whole.nodes] == [("chunk-1", "chunk-2"), ("chunk-1",)]
    drafts = drafts_of(whole, "rag", Limits(), [])
    assert [draft.name for draft in drafts] == ["rag#chunk-1", "rag#chunk-2"]
    first, second = (draft.given for draft in drafts)
    assert [(m.name, m.start) for m in first.mentions] == [("Ada", 0), ("Engine", 17)]
    assert [(m.name, m.start, m.end) for m in second.mentions] == [("Ada", 0, 0)]


@pytest.mark.parametrize(("files", "why"), [
    ([b"Just a text."], "needs a column source"),
    ([b"<html><p>no graph</p></html>"], "no edge"),
    ([b"<graphml><graph><node id='a'/></graph></graphml>"], "no edge"),
    ([b"<graphml><graph><node id='a'>"], "damaged in line 1"),
    ([b"<?xml version='1.0'?><!DOCTYPE g [<!ENTITY a 'aaaa'>]><graphml>&a;</graphml>"],
     "declares XML entities"),
    ([b'{"nodes": [1, 2]}'], 'needs "nodes" and "edges"'),
    ([b"[" * 100_000], "damaged or nested"),
    ([b"PAR1" + bytes(100)], "Parquet table is damaged"),
    ([bytes(range(256)) * 20], "binary"),
    ([b"source,target\na,a\n"], "no edge between two nodes"),
    ([b"source,target\n" + b"".join(b"%d,%d\n" % (i, i + 1) for i in range(50_001))],
     "more than 50,000 nodes"),
])
def test_what_is_no_graph_is_refused_in_one_sentence(files, why):
    with pytest.raises(ParseError, match=why) as refused:
        parse_graph(files)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("paths", "why"), [
    ([""], "no file or folder ''"), (["none.csv"], "no file or folder 'none.csv'"), ([], "no file is named")])
def test_a_graph_without_files_is_refused(paths, why, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParameterError, match=why):
        read_graph(paths)


@pytest.mark.parametrize("weight", ["nan", "-3", "0", "inf", "heavy"])
def test_a_weight_that_is_no_positive_number_counts_as_the_mean(weight):
    graph = parse_graph([f"source,target,weight\na,b,{weight}\nb,c,2\n".encode()])
    assert [edge.weight for edge in graph.edges] == [None, 2.0]
    assert any(note.startswith("1 weights are not positive numbers") for note in graph.notices)


def digest(knowledge):
    with knowledge.store() as store:
        return store.graph.digest()


def test_adding_a_graph_twice_changes_nothing_and_deleting_it_leaves_nothing(tmp_path):
    knowledge = KnowledgeGraph.open(tmp_path / "w.db")
    knowledge.add_text("ada.txt", "Ada Lovelace met Charles Babbage in London.")
    before = digest(knowledge)
    with_graph = digest(put(knowledge.url, JOBS))
    assert digest(put(knowledge.url, JOBS)) == with_graph != before
    with knowledge.store() as store:
        store.documents.delete("g.json")
    index(knowledge.url, processes=1)
    assert digest(knowledge) == before
    with knowledge.store() as store:
        store.documents.undo("g.json")
    index(knowledge.url, processes=1)
    assert digest(knowledge) == with_graph


def test_a_changed_weight_replaces_the_old_one_where_texts_stay(tmp_path):
    old = put(tmp_path / "w.db", JOBS)
    pair = frozenset({"Steve Jobs", "Apple Inc."})
    before = relations(old)[pair][1]
    even = ImportedGraph("a test", JOBS.nodes, tuple(
        ImportedEdge(e.source, e.target, e.label, e.description, 1.0) for e in JOBS.edges))
    changed = put(tmp_path / "w.db", even)
    assert relations(changed)[pair][1] == pytest.approx(before / 2, rel=1e-3)
    assert digest(changed) == digest(put(tmp_path / "fresh.db", even))


def test_another_extractor_keeps_what_is_given_and_is_not_asked_about_it(tmp_path):
    knowledge = put(tmp_path / "w.db", JOBS)
    before = relations(knowledge), entities(knowledge)
    nobody = Recorded([], "nobody")
    with open_workspace(knowledge.url) as store, store.lease.hold():
        extend(store, [], ModelEngine(ModelExtractor(nobody), Here(
            LocalExtractor(), LocalEmbedder())))
        assert store.log.extractor.startswith("nobody/")
        assert [file.status for file in store.files.all()] == ["done"]
    assert (relations(knowledge), entities(knowledge)) == before


def test_what_is_given_costs_no_call_of_a_language_model(tmp_path):
    knowledge = put(tmp_path / "w.db", JOBS)
    model = ModelChoice(model="m", base_url="http://127.0.0.1:9/v1")
    assert plan(knowledge.url, [("h.json", JOBS.to_json())], model).passages == 0
    assert plan(knowledge.url, [("a.txt", b"Ada met Charles.")], model).passages == 1


EDGES = b"from,to,relation,year\nAda,Engine,described,1843\nBabbage,Engine,built,\n"


@pytest.fixture
def mine(tmp_path, monkeypatch):
    monkeypatch.setenv("QAFD_HOME", str(tmp_path))
    monkeypatch.setattr("qafd.app.documents.models.start_worker", lambda *_: None)
    return KnowledgeGraph.open(tmp_path / "mine.db")


def test_a_graph_is_shown_before_it_is_added_and_then_waits_for_the_worker(mine):
    app = page("documents", ws="mine")
    app.get("file_uploader")[-1].set_value([("edges.csv", EDGES, "text/csv")]).run()
    assert "CSV, 3 nodes, 2 edges" in shown(app)
    assert "Attributes that were not read: year." in shown(app)
    press(app, "Add the graph")
    assert not any(button.label == "Add the graph" for button in app.button)
    with mine.store() as store:
        assert [(file.name, file.status) for file in store.files.all()] == [("edges.csv", "queued")]
        (_, data), = store.files.unread()
    assert data.startswith(b'{"graph": {"format": "CSV"')


@pytest.mark.usefixtures("alone")
def test_import_prints_what_it_took_in_and_the_graph_can_be_asked(tmp_path, capsys):
    table, db = tmp_path / "edges.csv", str(tmp_path / "w.db")
    table.write_bytes(EDGES)
    assert main(["import", str(table), "--db", db, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["name"], said["nodes"], said["edges"], said["passages"]) == ("edges.csv", 3, 2, 2)
    assert "Attributes that were not read: year." in said["notices"]
    assert main(["query", "Who described the Engine?", "--db", db, "--json"]) == 0
    assert "Ada" in {node["name"] for node in json.loads(capsys.readouterr().out)["nodes"]}


@pytest.mark.usefixtures("alone")
def test_what_is_no_graph_fails_and_a_missing_file_is_wrong_usage(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("prose")
    db = ["--db", str(tmp_path / "w.db")]
    assert main(["import", str(tmp_path / "a.txt"), *db]) == 1
    refused = capsys.readouterr()
    assert refused.out == ""
    assert "needs a column source" in refused.err
    assert main(["import", str(tmp_path / "b.txt"), *db]) == 2
    assert not (tmp_path / "w.db").exists()
