import hashlib
import json
import math
import os
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tiny import TinyEmbedder, TinyExtractor, started, tiny_engine, tiny_index

from qafd.assemble import node_id
from qafd.doctor import doctor
from qafd.errors import (
    BusyError,
    EmbedderMismatchError,
    NewerSchemaError,
    ParameterError,
    StoreError,
)
from qafd.ingest import Progress, bring_up_to_date, extend, index
from qafd.records import Chunk, Document, Extraction, Keyword, Mention, QueryPlan
from qafd.storage import Workspace, open_workspace, remove_workspace
from qafd.storage.rows import DocumentNameError, clean_name, embedding_key
from qafd.storage.sqlite import opening, schema, tables

ADA = ("ada.txt", b"Ada met Bob in Paris. Bob left.")
CYD = ("cyd.txt", b"Cyd wrote to Ada. Bob never knew Cyd.")
THREE = b"".join(
    json.dumps({"id": i, "title": t, "text": x}).encode() + b"\n" for i, t, x in (
        ("one", "Ada", "Ada met Bob."), ("two", "Bob", "Bob met Cyd."),
        ("three", "Cyd", "Cyd met Ada.")))


@pytest.fixture(scope="session")
def indexed(tmp_path_factory) -> Path:
    """A workspace of both files, to be copied and not to be changed."""
    original = tmp_path_factory.mktemp("indexed") / "work.db"
    tiny_index(original, [ADA, CYD])
    return original


@pytest.fixture
def store(path: Path, indexed: Path):
    path.write_bytes(indexed.read_bytes())
    with open_workspace(path) as opened:
        yield opened


def rows(path: Path) -> dict[str, int]:
    with closing(sqlite3.connect(path)) as connection:
        tables = [row[0] for row in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                for table in tables}


def bytes_on_disk(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(path.parent.glob(f"{path.name}*")))


def chunk(document: str, text: str, start: int = 0, title: str = "T", heading: str = "") -> Chunk:
    key = hashlib.sha256(f"{document}{text}".encode()).hexdigest()[:24]
    return Chunk(key, document, title, text, start, start + len(text), None, heading)


def put(store: Workspace, source: str, title: str, *texts: str) -> tuple[Chunk, ...]:
    """Make these the passages of a one-document file, as indexing does."""
    whole = "\n".join(texts)
    chunks = tuple(chunk(source, text, whole.index(text), title) for text in texts)
    store.files.add(source, f"{title}{whole}".encode())
    store.files.begin(source)
    store.documents.put(source, [(Document(source, title, "txt", whole), chunks)])
    return chunks


def entries(store: Workspace) -> dict[str, int]:
    """Row number of each log entry by the text it read."""
    with store.snapshot() as connection:
        return dict(connection.execute(
            "SELECT text, extractions.id FROM extractions JOIN chunks ON chunks.id = chunk"))


def test_adding_the_same_bytes_again_adds_no_row_and_changes_no_digest(path):
    first = tiny_index(path, [ADA, CYD])
    before = rows(path)
    assert tiny_index(path, [CYD, ADA]) == first
    assert rows(path) == before


def test_the_digest_does_not_depend_on_the_order_of_the_files(tmp_path):
    assert tiny_index(tmp_path / "a.db", [ADA, CYD]) == tiny_index(tmp_path / "b.db", [CYD, ADA])


def test_a_deleted_file_leaves_the_graph_as_if_it_had_never_been_there(store, path, tmp_path):
    store.documents.delete("cyd.txt")
    assert tiny_index(path) == tiny_index(tmp_path / "other.db", [ADA])
    assert store.passages.search("Cyd").hits == ()


def test_undo_of_a_deletion_restores_the_digest(store, path):
    before = store.graph.digest()
    store.documents.delete("cyd.txt")
    tiny_index(path)
    store.documents.undo("cyd.txt")
    assert tiny_index(path) == before


def test_adding_a_deleted_file_again_brings_it_back_without_reading_it(store, path):
    before, log = store.graph.digest(), entries(store)
    store.documents.delete("cyd.txt")
    assert store.files.add(*CYD) is False
    assert tiny_index(path) == before
    assert entries(store) == log


def test_what_was_deleted_before_it_was_read_is_read_when_it_comes_back(path):
    with open_workspace(path) as store:
        tiny_index(path, [ADA])
        put(store, "eve.txt", "eve", "Eve met Ada.")
        store.documents.delete("eve.txt")
        extend(store, ["eve.txt"], tiny_engine())
        assert [file.status for file in store.files.all()] == ["done", "done"]
        store.documents.undo("eve.txt")
        tiny_index(path)
        assert "Eve met Ada." in entries(store)
        assert [file.status for file in store.files.all()] == ["done", "done"]


def test_one_document_of_a_file_can_be_deleted_and_stays_deleted_when_the_file_returns(path):
    tiny_index(path, [("three.jsonl", THREE)])
    with open_workspace(path) as store:
        store.documents.delete("three.jsonl#two")
        store.documents.delete("three.jsonl")
        assert [d.name for d in store.documents.all() if d.deleted_at is None] == []
        store.documents.undo("three.jsonl")
        assert [d.name for d in store.documents.all("three.jsonl") if d.deleted_at is None] == [
            "three.jsonl#one", "three.jsonl#three"]


def test_deleting_what_is_not_there_is_refused(store):
    with pytest.raises(StoreError, match="nothing called 'nobody.txt'"):
        store.documents.delete("nobody.txt")
    with pytest.raises(StoreError, match="nothing called 'ada.txt' to bring back"):
        store.documents.undo("ada.txt")
    with pytest.raises(StoreError, match="nothing called 'nobody.txt'"):
        store.documents.purge("nobody.txt")


def test_a_replaced_document_is_read_anew_only_where_it_changed(path):
    with open_workspace(path) as store:
        put(store, "a.txt", "T", "Ada met Bob.", "Cyd met Dan.")
        extend(store, ["a.txt"], tiny_engine())
        before = entries(store)
        put(store, "a.txt", "T", "Ada met Bob.", "Eve met Dan.")
        extend(store, ["a.txt"], tiny_engine())
        after = entries(store)
    assert after.keys() == {"Ada met Bob.", "Eve met Dan."}
    assert after["Ada met Bob."] == before["Ada met Bob."]


def test_a_new_title_is_read_anew_since_the_extractor_reads_titles(path, tmp_path):
    with open_workspace(path) as store, open_workspace(tmp_path / "scratch.db") as scratch:
        put(store, "a.txt", "Old", "Ada met Bob.")
        extend(store, ["a.txt"], tiny_engine())
        put(store, "a.txt", "New", "Ada met Bob.")
        extend(store, ["a.txt"], tiny_engine())
        put(scratch, "a.txt", "New", "Ada met Bob.")
        extend(scratch, ["a.txt"], tiny_engine())
        assert store.graph.digest() == scratch.graph.digest()


def test_a_passage_that_only_moved_keeps_its_entry_and_gets_its_new_place(path):
    with open_workspace(path) as store:
        put(store, "a.txt", "T", "Ada met Bob.")
        extend(store, ["a.txt"], tiny_engine())
        before = entries(store)["Ada met Bob."]
        (_, moved) = put(store, "a.txt", "T", "Before it all.", "Ada met Bob.")
        extend(store, ["a.txt"], tiny_engine())
        assert entries(store)["Ada met Bob."] == before
        assert store.passages.get([moved.id])[moved.id].start == 15


def test_a_file_replaced_while_it_is_parsed_waits_for_its_turn(path):
    with open_workspace(path) as store:
        store.files.add("a.txt", b"old")
        assert store.files.begin("a.txt") == b"old"
        store.files.add("a.txt", b"new")
        old = chunk("a.txt", "old")
        assert not store.documents.put("a.txt", [(Document("a.txt", "", "txt", "old"), (old,))])
        store.files.finish("a.txt")
        assert store.files.begin("a.txt") == b"new"


def test_an_extraction_of_a_passage_that_changed_meanwhile_is_dropped(path):
    with open_workspace(path) as store:
        (old,) = put(store, "a.txt", "Old", "Ada met Bob.")
        found = Extraction(old.id, "tiny-1", ((0, 12),), (), ())
        put(store, "a.txt", "New", "Ada met Bob.")
        assert store.log.put(old, found) is False
        store.documents.purge("a.txt")
        assert store.log.put(old, found) is False


def test_two_documents_of_one_name_are_refused(path):
    with open_workspace(path) as store:
        put(store, "a.txt", "T", "Ada.")
        store.files.add("b.txt", b"x")
        store.files.begin("b.txt")
        same = [(Document("a.txt", "", "txt", "x"), ())]
        with pytest.raises(DocumentNameError, match=r"b\.txt has a document called 'a\.txt'"):
            store.documents.put("b.txt", same)
        with pytest.raises(DocumentNameError, match="2 records but only 1 different"):
            store.documents.put("b.txt", same * 2)


def test_purging_removes_every_byte_of_a_document(path):
    secret = b"Zanzibar hid the Xylophone from Ada."
    tiny_index(path, [ADA, ("secret.txt", secret)])
    with open_workspace(path) as store:
        quoting = store.runs.save(
            {"query": "q", "method": "m", "params": {}, "revision": 1,
             "passages": [{"document": "secret.txt", "text": secret.decode()}]}, {}, {})
        store.documents.purge("secret.txt")
        with pytest.raises(StoreError, match="no stored retrieval"):
            store.runs.load(quoting)
        keys = {name: embedding_key("tiny", name) for name in ("zanzibar", "xylophone", "ada")}
        assert store.vectors.get(keys.values()).keys() == {keys["ada"]}
        tiny_index(path)
    assert b"anzibar" not in bytes_on_disk(path)
    assert b"ylophone" not in bytes_on_disk(path)


def test_purging_equals_never_having_seen_the_document(path, tmp_path):
    tiny_index(path, [ADA, CYD])
    with open_workspace(path) as store:
        store.documents.purge("cyd.txt")
    assert tiny_index(path) == tiny_index(tmp_path / "other.db", [ADA])
    assert rows(path) == rows(tmp_path / "other.db")


def test_wiping_empties_the_file_and_leaves_it_usable(store, path, tmp_path):
    store.wipe()
    assert store.files.all() == ()
    assert b"Paris" not in bytes_on_disk(path)
    assert tiny_index(path, [ADA]) == tiny_index(tmp_path / "other.db", [ADA])


def test_the_revision_counts_changes_of_the_graph_only(store, path):
    before = store.graph.revision
    tiny_index(path, [ADA])
    store.documents.delete("cyd.txt")
    store.documents.undo("cyd.txt")
    assert store.graph.stale
    tiny_index(path)
    assert not store.graph.stale
    assert store.graph.revision == before
    store.documents.delete("cyd.txt")
    tiny_index(path)
    assert store.graph.revision == before + 1


def test_a_graph_made_from_an_older_log_does_not_replace_a_newer_one(store):
    engine = tiny_engine()
    old = store.log.read()
    store.documents.delete("cyd.txt")
    bring_up_to_date(store, engine)
    newest = store.graph.digest()
    nothing = np.zeros((0, 8), np.float32)
    assert store.graph.write(old, [], [], nothing, nothing) is False
    assert store.graph.digest() == newest


def test_the_graph_has_the_rows_of_its_tables(store):
    graph = store.graph.read()
    assert graph.revision == store.graph.revision
    # ada, bob, paris, cyd, and two passages
    assert sorted(zip(graph.kinds, graph.names, strict=True)) == [
        ("entity", "Ada"), ("entity", "Bob"), ("entity", "Cyd"), ("entity", "Paris"),
        ("passage", "ada"), ("passage", "cyd")]
    ada = graph.row[next(i for i in graph.ids if graph.names[graph.row[i]] == "Ada")]
    near = {graph.names[row] for row in graph.expand(np.array([ada])).neighbors}
    assert near == {"ada", "cyd", "Bob", "Cyd"}
    assert np.allclose(np.linalg.norm(graph.vectors, axis=1), 1)
    assert np.array_equal(graph.name_vectors[ada], TinyEmbedder().embed(["ada"])[0])


def test_a_workspace_without_documents_has_an_empty_graph(path):
    tiny_index(path)
    with open_workspace(path) as store:
        assert len(store.graph.read()) == 0
        assert store.passages.search("anything").hits == ()
        assert store.passages.evidence(["nothing"]) == ()


def test_deleting_everything_leaves_an_empty_graph(store, path):
    for name in ("ada.txt", "cyd.txt"):
        store.documents.delete(name)
    tiny_index(path)
    assert len(store.graph.read()) == 0
    assert rows(path)["passages_fts"] == 0


def test_evidence_points_at_the_sentence_and_the_name_in_the_document(store):
    bob = next(node for node in store.graph.nodes(store.graph.read().ids).values() if node.name == "Bob")
    found = store.passages.evidence([bob.id])
    assert [e.text for e in found] == [
        "Ada met Bob in Paris.", "Bob left.", "Bob never knew Cyd."]
    for evidence in found:
        text = store.documents.get(evidence.document).text
        assert text[evidence.start:evidence.end] == evidence.text
        assert [text[start:end] for start, end in evidence.mentions] == ["Bob"]


def test_evidence_outlives_the_document_it_quotes_only_until_the_next_assembly(store):
    graph = store.graph.read()
    store.documents.delete("cyd.txt")
    assert {e.document for e in store.passages.evidence(graph.ids)} == {"ada.txt"}


def test_sentences_come_with_their_places_and_vectors(store):
    passage = next(chunk for chunk in store.log.read().chunks if chunk.document == "ada.txt")
    found = store.passages.sentences([passage.id, "unknown"])
    texts = ["Ada met Bob in Paris.", "Bob left."]
    assert found.keys() == {passage.id}
    assert [passage.text[start:end] for start, end, _ in found[passage.id]] == texts
    assert np.array_equal([vector for _, _, vector in found[passage.id]],
                          TinyEmbedder().embed(texts))


def test_a_kept_plan_serves_until_the_graph_changes(store, path):
    plan = QueryPlan(
        "Who is Ada?", (Keyword("Ada", "low"), Keyword("people", "high")),
        TinyEmbedder().embed(["Who is Ada?"])[0], TinyEmbedder().embed(["Ada", "people"]),
        ("ada",), ("a notice",))
    store.runs.save_plan(plan)
    kept = store.runs.plan("Who is Ada?")
    assert (kept.keywords, kept.names, kept.notices) == (plan.keywords, plan.names, plan.notices)
    assert np.array_equal(kept.embedding, plan.embedding)
    assert np.array_equal(kept.keyword_embeddings, plan.keyword_embeddings)
    assert store.runs.plan("Who is Bob?") is None
    with store.transaction() as connection:
        connection.execute("UPDATE plans SET question = 'Who is Eve?'")
    assert store.runs.plan("Who is Eve?") is None  # not the one that was saved for it
    store.runs.save_plan(plan)
    for statement in ("UPDATE plans SET embedding = CAST(x'01' || substr(embedding, 2) AS BLOB)",
                      "UPDATE plans SET keyword_embeddings = substr(keyword_embeddings, 33)",
                      "UPDATE plans SET body = replace(body, 'low', 'lo')",
                      "UPDATE plans SET body = substr(body, 3)"):
        store.runs.save_plan(plan)
        assert store.runs.plan("Who is Ada?") is not None
        with store.transaction() as connection:
            connection.execute(statement)
        assert store.runs.plan("Who is Ada?") is None
    store.runs.save_plan(plan)
    store.documents.delete("cyd.txt")
    tiny_index(path)
    assert store.runs.plan("Who is Ada?") is None


def test_a_compact_file_is_one_file_with_the_same_graph(store, path):
    before = store.graph.digest()
    store.compact()
    store.close()
    assert list(path.parent.iterdir()) == [path]
    with open_workspace(path, read_only=True) as shipped:
        assert shipped.graph.digest() == before
    assert list(path.parent.iterdir()) == [path]


def test_search_ranks_by_bm25(path):
    texts = {"a": "apple apple pear", "b": "apple plum plum plum plum", "c": "fig fig",
             "d": "quince", "e": "melon melon melon"}
    with open_workspace(path) as store:
        for name, text in texts.items():
            put(store, name, "", text)
        extend(store, list(texts), tiny_engine())
        found = {hit.chunk.document: hit.score for hit in store.passages.search("Apple or plum?").hits}
    sizes = {name: len(text.split()) for name, text in texts.items()}
    mean = sum(sizes.values()) / len(sizes)

    def score(name: str) -> float:
        total = 0.0
        for word in ("apple", "plum"):
            holding = sum(word in text for text in texts.values())
            often = texts[name].split().count(word)
            rarity = math.log((len(texts) - holding + 0.5) / (holding + 0.5))
            total += rarity * often * 2.2 / (
                often + 1.2 * (0.25 + 0.75 * sizes[name] / mean))
        return total

    assert found == {"a": pytest.approx(score("a")), "b": pytest.approx(score("b"))}


HOSTILE = [
    '"', "'", '""', "*", "a*", "^a", "NEAR(a b)", "a AND", "OR", "NOT x", "title:ada", "a-b",
    "(", ")", "{", "-", "+", ";", "'; DROP TABLE documents; --", '" OR 1=1', "\0", "a\0b", "%",
    "_", "\\", "\u202e", "\u200b", "\ud800", "", " ", "ada" * 4000, " ".join(map(str, range(3000))),
    "<script>alert(1)</script>", "=HYPERLINK(1)", "{{7*7}}", "passages_fts", "rowid:1",
    "\U0001f600",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_search_text_is_an_error_or_changes_the_schema(store, text):
    with store.snapshot() as connection:
        before = connection.execute("SELECT sql FROM sqlite_master").fetchall()
    store.passages.search(text)
    store.passages.get([text.replace("\ud800", "")])
    store.graph.nodes([text.replace("\ud800", "")])
    with store.snapshot() as connection:
        assert connection.execute("SELECT sql FROM sqlite_master").fetchall() == before


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text())
@example('"a')
def test_any_text_can_be_searched(store, text):
    known = {chunk.id for chunk in store.log.read().chunks}
    assert {hit.chunk.id for hit in store.passages.search(text).hits} <= known


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "C:\\x", "a\0b", "x" * 4096,
                                  "\u202egnp.exe", "'; DROP TABLE files; --", "\udcff.txt"])
def test_a_file_name_is_a_label_and_never_a_path(path, name):
    before = set(path.parent.iterdir())
    with open_workspace(path) as store:
        store.files.add(name, b"x")
        assert [file.name for file in store.files.all()] == [clean_name(name)]
        assert len(clean_name(name)) <= 255
        assert clean_name(name).isprintable()
    assert {file.name for file in set(path.parent.iterdir()) - before} == {"work.db"}


def test_a_name_of_nothing_is_refused(path):
    with open_workspace(path) as store, pytest.raises(ParameterError, match="is no name for a file"):
        store.files.add("\0\u202e", b"x")


@settings(max_examples=100)
@given(arrays(np.float32, (3, 4), elements=st.floats(width=32)))
@example(np.array([[0, 0, 0, 0], [np.nan, 0, 0, 0], [np.inf, 0, 0, 0]], np.float32))
def test_a_vector_is_stored_bit_for_bit_or_refused_for_nan_and_infinity(tmp_path_factory, vectors):
    path = tmp_path_factory.getbasetemp() / "vectors.db"
    with open_workspace(path) as store:
        store.vectors.forget()
        store.vectors.stamp("m", 4)
        keyed = {str(i): vector for i, vector in enumerate(vectors)}
        bad = sum(not all(math.isfinite(x) for x in vector) for vector in vectors.tolist())
        if bad:
            with pytest.raises(ParameterError, match=f"{bad} of 3 embeddings hold NaN"):
                store.vectors.put(keyed)
            assert store.vectors.get(keyed) == {}
        else:
            store.vectors.put(keyed)
            stored = store.vectors.get(keyed)
            assert all(stored[key].tobytes() == keyed[key].tobytes() for key in keyed)


def test_a_vector_of_another_length_is_refused(store):
    with pytest.raises(ParameterError, match=r"shape \(4,\), but tiny .* gives 8 numbers"):
        store.vectors.put({"k": np.ones(4, np.float32)})


@pytest.mark.parametrize("bad", [b"", b"\0" * 12, None])
def test_the_file_itself_refuses_a_vector_of_another_length(store, bad):
    with store.snapshot() as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute("INSERT INTO embeddings VALUES ('k', 'tiny', 8, ?)", (bad,))


@pytest.mark.parametrize(("name", "dimension"), [("tiny", 16), ("other", 8)])
def test_another_embedding_model_is_refused_with_the_remedy(store, path, name, dimension):
    before = store.graph.digest()
    with pytest.raises(EmbedderMismatchError, match=r"with tiny \(8 dimensions\).*re-embed"):
        index(path, [("new.txt", b"Eve met Ada.")], extractor=TinyExtractor,
              embedder=lambda: TinyEmbedder(name, dimension), processes=1)
    assert store.graph.digest() == before
    with pytest.raises(EmbedderMismatchError):
        store.vectors.check(name, dimension)


def test_re_embedding_equals_indexing_with_the_other_model_and_hits_no_old_vector(
        store, path, tmp_path):
    def other() -> TinyEmbedder:
        return TinyEmbedder("other", 16)

    store.vectors.forget()
    index(path, extractor=TinyExtractor, embedder=other, processes=1)
    index(tmp_path / "o.db", [ADA, CYD], extractor=TinyExtractor, embedder=other, processes=1)
    with open_workspace(tmp_path / "o.db") as scratch:
        assert store.graph.digest() == scratch.graph.digest()
    assert store.graph.read().vectors.shape[1] == 16


def test_another_extractor_reads_everything_anew_and_the_first_is_not_forgotten(store, path):
    before = store.graph.digest()

    class Silent(TinyExtractor):
        def extract_all(self, chunks):
            for found in super().extract_all(chunks):
                yield Extraction(found.chunk, "silent", found.sentences, (), ())

    index(path, [("x.txt", b"Eve.")], extractor=lambda: Silent("silent"), embedder=TinyEmbedder,
          processes=1)
    assert set(store.graph.read().kinds) == {"passage"}
    store.documents.purge("x.txt")
    index(path, extractor=TinyExtractor, embedder=TinyEmbedder, processes=1)
    assert store.graph.digest() == before


def test_a_saved_retrieval_comes_back_as_it_was(store):
    retrieval = {"query": "Who\ud800?", "method": "qafd", "params": {"alpha": 0.1 + 0.2},
                 "revision": 7, "passages": [], "nodes": [{"x": 1e-17}]}
    key = store.runs.save(retrieval, {"keywords": ["é"]}, {"n": [0.25, -1.5]})
    saved = store.runs.load(key)
    assert (saved.retrieval, saved.plan, saved.layout, saved.revision) == (
        retrieval, {"keywords": ["é"]}, {"n": [0.25, -1.5]}, 7)


def test_a_saved_retrieval_never_changes(store):
    key = store.runs.save(
        {"query": "q", "method": "m", "params": {}, "revision": 1, "passages": []}, {}, {})
    with pytest.raises(sqlite3.IntegrityError, match="never changes"), \
            store.transaction() as connection:
        connection.execute("UPDATE retrievals SET query = 'x' WHERE id = ?", (key,))


def test_an_unknown_retrieval_is_refused(store):
    with pytest.raises(StoreError, match="no stored retrieval 'x'"):
        store.runs.load("x")


def test_reading_only_changes_nothing_and_writing_is_refused(store, tmp_path):
    copy = tmp_path / "sample" / "copy.db"
    copy.parent.mkdir()
    store.backup(copy)
    before = copy.read_bytes()
    with open_workspace(copy, read_only=True) as sample:
        assert sample.graph.digest() == store.graph.digest()
        with pytest.raises(StoreError, match="cannot be opened or written"):
            sample.documents.delete("ada.txt")
    assert list(copy.parent.iterdir()) == [copy]
    assert copy.read_bytes() == before


def test_a_missing_workspace_cannot_be_read(tmp_path):
    with pytest.raises(StoreError, match="There is no workspace at"):
        open_workspace(tmp_path / "none.db", read_only=True)
    with pytest.raises(StoreError, match="cannot be opened"):
        open_workspace(tmp_path / "no" / "folder.db")


@pytest.mark.parametrize("content", [b"hello " * 1000, b"SQLite format 3\0" + b"x" * 5000])
def test_what_is_no_workspace_is_refused_and_left_alone(path, content):
    path.write_bytes(content)
    with pytest.raises(StoreError, match="damaged or no workspace"):
        open_workspace(path)
    assert path.read_bytes() == content


def test_another_programs_database_is_refused(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE recipes (name)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="no qafd workspace"):
        open_workspace(path)
    assert path.read_bytes() == before  # its journal mode too


@pytest.mark.parametrize("left", ["closed", "open", "killed"])
@pytest.mark.parametrize("mode", ["delete", "wal"])
@pytest.mark.parametrize("version", range(len(tables.STEPS) + 2))
def test_another_programs_database_is_left_alone_whatever_its_version(path, version, mode, left):
    folder, live = path.parent / "theirs", path.parent / "live"
    folder.mkdir()
    live.mkdir()
    mine = folder / "places.sqlite"
    with closing(sqlite3.connect(live / mine.name)) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("CREATE TABLE places (id INTEGER PRIMARY KEY, url)")
        connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value)")
        connection.commit()
        if left != "closed":
            connection.execute("INSERT INTO places (url) VALUES ('x')")
            connection.commit()
        if left == "closed":
            connection.close()
        for file in live.iterdir():
            if left != "killed" or not file.name.endswith("-shm"):
                (folder / file.name).write_bytes(file.read_bytes())
    before = {file.name: file.read_bytes() for file in folder.iterdir()
              if not file.name.endswith("-shm")}
    names = {file.name for file in folder.iterdir()}
    for opened in (lambda: open_workspace(mine), lambda: open_workspace(mine, read_only=True),
                   lambda: remove_workspace(mine)):
        with pytest.raises(StoreError, match="somebody else's file .* left as it is"):
            opened()
        assert {file.name for file in folder.iterdir()} == names
        assert {name: (folder / name).read_bytes() for name in before} == before
    assert not doctor(mine)[-1].ok
    assert {file.name for file in folder.iterdir()} == names


def test_a_workspace_that_was_killed_before_its_first_checkpoint_is_opened(tmp_path):
    made, left = tmp_path / "made.db", tmp_path / "left.db"
    with open_workspace(made) as store:
        store.files.add("ada.txt", b"Ada met Bob.")
        left.write_bytes(made.read_bytes())
        Path(f"{left}-wal").write_bytes(Path(f"{made}-wal").read_bytes())
    with closing(sqlite3.connect(f"{left.as_uri()}?immutable=1", uri=True)) as alone:
        assert alone.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    with open_workspace(left) as store:
        assert [file.name for file in store.files.all()] == ["ada.txt"]


def test_the_names_of_all_tables_are_known(store):
    with store.snapshot() as connection:
        found = {name for (name,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' "
            "AND name NOT LIKE 'passages_fts_%' AND name != '_sqlite_migrations'")}
        assert connection.execute(
            "SELECT sql FROM sqlite_master WHERE name = 'meta'").fetchone()[0] == tables.META
    assert tables.names(len(tables.STEPS)) == found


def test_a_newer_schema_is_refused_and_left_alone(store, path):
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {len(tables.STEPS) + 1}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(NewerSchemaError, match="install a newer qafd"):
            open_workspace(path, read_only)
    assert path.read_bytes() == before


def add_color(db) -> None:
    db.execute("ALTER TABLE files ADD COLUMN color TEXT")
    db.execute("UPDATE files SET color = 'red'")


def test_an_older_schema_is_brought_up_to_date_after_a_backup(store, path):
    digest = store.graph.digest()
    store.close()
    with closing(opening.connect(path)) as connection:
        schema.migrate(connection, path, (*tables.STEPS, add_color))
        assert connection.execute("SELECT DISTINCT color FROM files").fetchall() == [("red",)]
    with open_workspace(path.with_name(f"{path.name}.schema{len(tables.STEPS)}.backup")) as kept:
        assert kept.graph.digest() == digest


def test_a_migration_that_fails_changes_nothing(store, path):
    def broken(db) -> None:
        add_color(db)
        raise RuntimeError

    digest = store.graph.digest()
    with closing(opening.connect(path)) as connection, pytest.raises(RuntimeError):
        schema.migrate(connection, path, (*tables.STEPS, broken))
    with open_workspace(path) as again:
        assert again.graph.digest() == digest


def test_every_file_can_be_opened_by_a_plain_sqlite_tool(indexed):
    with closing(sqlite3.connect(indexed)) as plain:
        assert plain.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert plain.execute("SELECT name FROM entities ORDER BY name").fetchall() == [
            ("Ada",), ("Bob",), ("Cyd",), ("Paris",)]
        assert plain.execute(
            "SELECT source, label, target, count FROM relations WHERE source = 'Bob' "
            "AND target = 'Paris' OR source = 'Paris'").fetchall() == [("Bob", "met", "Paris", 1)]


@pytest.mark.parametrize("name", [".", "...", "..", " . ", "../..", "/", "C:"])
def test_a_name_of_dots_is_refused(store, name):
    with pytest.raises(ParameterError, match="is no name for a file; rename the file"):
        store.files.add(name, b"Ada met Bob.")


def test_half_a_character_can_be_looked_for(store):
    assert store.passages.search("\ud800lone").total == 0
    assert store.passages.search("Paris \udcff").total == 1
    assert store.passages.search("\ud800").said == "No passage has this."


def test_a_transaction_that_fails_writes_nothing(store):
    before = store.files.all()

    def two_files() -> None:
        with store.transaction():
            store.files.add("new.txt", b"x")
            store.files.add("\0", b"y")

    with pytest.raises(ParameterError):
        two_files()
    assert store.files.all() == before


def test_a_reader_keeps_its_version_while_another_writes(store, path):
    with open_workspace(path) as reader, reader.snapshot():
        before = reader.graph.revision, reader.graph.digest()
        store.documents.delete("cyd.txt")
        bring_up_to_date(store, tiny_engine())
        assert (reader.graph.revision, reader.graph.digest()) == before
    with open_workspace(path) as reader:
        assert reader.graph.revision == before[0] + 1


def test_only_one_process_holds_the_lease(store, path):
    with open_workspace(path) as other, other.queue.lease():
        with pytest.raises(BusyError, match="is indexing this workspace"), store.queue.lease():
            pass
        assert store.queue.writer is not None
    assert store.queue.writer is None


@pytest.mark.parametrize("left", ["a dead process", "a process that fell silent",
                                  "a host whose clock was ahead"])
def test_the_lease_of_a_process_that_is_gone_is_taken_over(store, path, left, monkeypatch):
    monkeypatch.setattr("qafd.storage.sqlite.queue.HEARTBEAT_SECONDS", 600.0)  # it beats no more
    monkeypatch.setattr("qafd.storage.sqlite.queue.time.sleep", lambda _: None)
    (waiting,) = put(store, "new.txt", "T", "Eve.")
    found = Extraction(waiting.id, "tiny-1", (), (), ())
    with open_workspace(path) as gone, gone.queue.lease():
        with store.transaction() as connection:
            if left == "a dead process":
                connection.execute("UPDATE lease SET pid = ?", (2**22 + 1,))
            else:
                late = 3600 if left == "a host whose clock was ahead" else -60
                connection.execute("UPDATE lease SET heartbeat = heartbeat + ?, host = "
                                   "CASE WHEN ? > 0 THEN 'elsewhere' ELSE host END", (late, late))
        with store.queue.lease():
            with pytest.raises(BusyError, match="taken over"):
                gone.log.put(waiting, found)
            assert store.log.put(waiting, found)


@pytest.mark.parametrize("jump", [3600, -3600])
def test_a_clock_that_jumps_gives_no_second_lease(store, path, jump, monkeypatch):
    monkeypatch.setattr("qafd.storage.sqlite.queue.HEARTBEAT_SECONDS", 0.3)
    with open_workspace(path) as other, other.queue.lease():
        real = time.time
        monkeypatch.setattr("qafd.storage.sqlite.queue.time.time", lambda: real() + jump)
        with pytest.raises(BusyError, match="is indexing this workspace"), store.queue.lease():
            pass
        other.queue.check_lease()
    with store.queue.lease():
        pass


@pytest.mark.skipif(os.name == "nt", reason="open files cannot be deleted there")
@pytest.mark.parametrize("left", ["nothing", "another file"])
@pytest.mark.parametrize("stage", ["extracting", "assembling"])
def test_indexing_ends_with_a_sentence_when_its_file_is_deleted(path, left, stage):
    def delete(progress: Progress) -> None:
        if progress.stage == stage:
            path.unlink(missing_ok=True)
            if left == "another file":
                path.write_bytes(b"another")

    with pytest.raises(StoreError, match="was removed or replaced while it was indexed"):
        index(path, [("a.txt", b"Ann met Bob.")], extractor=TinyExtractor, embedder=TinyEmbedder,
              processes=1, progress=delete)
    assert (path.read_bytes() if path.exists() else b"") == (
        b"another" if left == "another file" else b"")
    assert path.exists() == (left == "another file")


def test_a_missing_file_is_not_made_where_one_was_open_before(path):
    with pytest.raises(StoreError, match="There is no workspace"):
        open_workspace(path, make=False)
    assert not path.exists()


def test_deleting_a_workspace_leaves_nothing_of_it_and_spares_its_neighbors(store, path):
    for name in ("work.db.log", "work.db.schema1.backup", "work.db2", "other.db"):
        (path.parent / name).write_bytes(b"x")
    with store.queue.lease():
        assert (path.parent / "work.db.reserve").exists()
        with pytest.raises(BusyError, match="cancel its jobs"):
            remove_workspace(path)
    assert not (path.parent / "work.db.reserve").exists()
    store.close()
    remove_workspace(path)
    assert {file.name for file in path.parent.iterdir()} == {"work.db2", "other.db"}


def count_up(path: Path, times: int) -> None:
    with open_workspace(path) as store:
        for _ in range(times):
            with store.transaction() as connection:
                (value,) = connection.execute(
                    "SELECT value FROM meta WHERE key = 'count'").fetchone()
                connection.execute(
                    "UPDATE meta SET value = ? WHERE key = 'count'", (int(value) + 1,))


def test_no_update_is_lost_between_eight_threads_and_two_processes(path):
    with open_workspace(path) as store:
        with store.transaction() as connection:
            connection.execute("INSERT INTO meta VALUES ('count', '0')")
        others = [started(count_up, path, 40) for _ in range(2)]
        threads = [threading.Thread(target=count_up, args=(path, 40)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for each in (*threads, *others):
            each.join()
        with store.snapshot() as connection:
            assert connection.execute(
                "SELECT value FROM meta WHERE key = 'count'").fetchone() == ("400",)


def test_many_can_open_a_workspace_that_does_not_exist_yet(path):
    together = threading.Barrier(8)

    def files_in_it(_: int) -> int:
        together.wait()
        with open_workspace(path) as store:
            return len(store.files.all())

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(files_in_it, range(8))) == [0] * 8


def test_a_backup_never_overwrites(store, tmp_path):
    store.backup(tmp_path / "copy.db")
    with pytest.raises(StoreError, match="never overwrites"):
        store.backup(tmp_path / "copy.db")
    with open_workspace(tmp_path / "copy.db") as copy:
        assert copy.graph.digest() == store.graph.digest()


def test_mentions_of_a_log_come_back_as_they_went_in(path):
    with open_workspace(path) as store:
        (passage,) = put(store, "a.txt", "T", "Ada met Bob.")
        found = Extraction(passage.id, "x", ((0, 12),), (
            Mention("ada", "Ada", 0, 3, 0, "PERSON"), Mention("t", "T", 0, 0, 0, "title")), ())
        store.log.use_extractor("x")
        store.log.put(passage, found)
        log = store.log.read()
    assert (log.chunks, log.extractions) == ((passage,), (found,))


def test_nothing_in_the_package_loads_pickles():
    for file in (Path(schema.__file__).parent).rglob("*.py"):
        assert "pickle" not in file.read_text().replace("allow_pickle=False", ""), file


def test_relations_are_called_by_their_label_where_both_ends_are_asked_for(store):
    ids = {name: node_id("entity", name.lower()) for name in ("Bob", "Paris", "Ada")}
    met = {frozenset((ids["Bob"], ids["Paris"])): "met"}
    assert store.graph.labels([ids["Bob"], ids["Paris"]]) == met
    assert store.graph.labels([ids["Bob"]]) == {}
    assert store.graph.labels([]) == {}
