"""What every backend keeps: a workspace with all its parts, over each of them.

A backend is one line of `BACKENDS`: the URL of a workspace that does not exist yet, in a folder.
"""

import hashlib
import json
import math
import os
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from servers import postgres_url
from tiny import TinyEmbedder, TinyExtractor, save_run, started, tiny_engine, tiny_index

from qafd.errors import BusyError, EmbedderMismatchError, ParameterError, StoreError
from qafd.ingest import extend, index
from qafd.ingest.engine import Here
from qafd.ingest.update import GraphUpdate
from qafd.records import GIVEN, Chunk, Description, Document, Extraction, Mark, Mention, node_id
from qafd.storage import BACKENDS as SCHEMES
from qafd.storage import examine, open_workspace, place_of, remove_workspace, size_of
from qafd.storage.full_assembly import FullAssembly, PackedLog
from qafd.storage.rows import Call, DocumentNameError, RunRow, clean_name, embedding_key, now

BACKENDS = {
    "sqlite": lambda folder, name: place_of(folder / f"{name}.db").url,
    "postgresql": lambda _, name: postgres_url(name),
}
ADA = ("ada.txt", b"Ada met Bob in Paris. Bob left.")
CYD = ("cyd.txt", b"Cyd wrote to Ada. Bob never knew Cyd.")
THREE = b"".join(
    json.dumps({"id": i, "title": t, "text": x}).encode() + b"\n" for i, t, x in (
        ("one", "Ada", "Ada met Bob."), ("two", "Bob", "Bob met Cyd."),
        ("three", "Cyd", "Cyd met Ada.")))
QUESTION = {"query": "q", "method": "m", "params": {}, "revision": 1, "passages": []}


def test_every_backend_keeps_this_contract():
    assert BACKENDS.keys() == SCHEMES.keys()


@pytest.fixture(params=BACKENDS)
def fresh(request, tmp_path):
    """The URL of a workspace that does not exist yet, by a name."""
    return lambda name: BACKENDS[request.param](tmp_path, name)


@pytest.fixture
def url(fresh):
    return fresh("work")


@pytest.fixture
def empty(url):
    with open_workspace(url) as opened:
        yield opened


@pytest.fixture
def store(url):
    """A workspace of two files."""
    tiny_index(url, [ADA, CYD])
    with open_workspace(url) as opened:
        yield opened


class Recording(TinyExtractor):
    """Remembers which texts it read."""

    def __init__(self):
        super().__init__()
        self.read: list[str] = []

    def extract_all(self, chunks):
        self.read += [chunk.text for chunk in chunks]
        return super().extract_all(chunks)


def chunk(document, text, start=0, title="T"):
    key = hashlib.sha256(f"{document}{text}".encode()).hexdigest()[:24]
    return Chunk(key, document, title, text, start, start + len(text))


def put(store, source, title, *texts):
    """Make these the passages of a one-document file, as indexing does."""
    whole = "\n".join(texts)
    chunks = tuple(chunk(source, text, whole.index(text), title) for text in texts)
    store.files.add(source, f"{title}{whole}".encode())
    store.files.claim(source)
    store.documents.put(source, [(Document(source, title, "txt", whole), chunks)])
    return chunks


def read_by(store, source):
    """The texts that are read when a file is brought into the log."""
    extractor = Recording()
    extend(store, [source], Here(extractor, TinyEmbedder()))
    return extractor.read


def named(store, name):
    return node_id("entity", name.lower())


# --- the workspace -----------------------------------------------------------------------------

def test_a_place_says_where_a_workspace_is_before_it_exists(url):
    place = place_of(url)
    assert (place.url, place.name, size_of(url)) == (url, "work", None)
    with open_workspace(url) as made:
        assert made.place == place
    assert (size_of(url) or 0) > 0


def test_two_workspaces_have_two_ids_and_two_versions(fresh):
    one, other = fresh("one"), fresh("other")
    assert tiny_index(one, [ADA]) == tiny_index(other, [ADA])
    assert place_of(one).id != place_of(other).id
    with open_workspace(one) as first, open_workspace(other) as second:
        assert first.graph.version != second.graph.version


def test_a_transaction_that_fails_writes_nothing(store):
    before = store.files.all()

    def two_files():
        with store.transaction():
            store.files.add("new.txt", b"x")
            store.files.add("\0", b"y")

    with pytest.raises(ParameterError):
        two_files()
    assert store.files.all() == before


def test_a_reader_keeps_its_version_while_another_writes(store, url):
    with open_workspace(url) as reader, reader.snapshot():
        before = reader.graph.revision, reader.graph.digest()
        store.documents.delete("cyd.txt")
        GraphUpdate(store, tiny_engine()).run()
        assert (reader.graph.revision, reader.graph.digest()) == before
    with open_workspace(url) as reader:
        assert reader.graph.revision == before[0] + 1


def count_up(url, times):
    with open_workspace(url) as store:
        for _ in range(times):
            with store.transaction():
                store.notes.put("count", str(int(store.notes.get("count") or 0) + 1))


def test_no_update_is_lost_between_threads_and_processes(empty, url):
    others = [started(count_up, url, 20) for _ in range(2)]
    threads = [threading.Thread(target=count_up, args=(url, 20)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for each in (*threads, *others):
        each.join()
    assert empty.notes.get("count") == "120"


def test_many_can_open_a_workspace_that_does_not_exist_yet(url):
    together = threading.Barrier(8)

    def files_in_it(_):
        together.wait()
        with open_workspace(url) as store:
            return len(store.files.all())

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(files_in_it, range(8))) == [0] * 8


def test_what_is_missing_is_neither_read_nor_made_against_the_wish(url):
    for wishes in ({"read_only": True}, {"make": False}):
        with pytest.raises(StoreError):
            open_workspace(url, **wishes)
    assert size_of(url) is None


def test_reading_only_refuses_to_write(store, url):
    with open_workspace(url, read_only=True) as reader:
        assert reader.graph.digest() == store.graph.digest()
        with pytest.raises(StoreError):
            reader.documents.delete("ada.txt")


def test_a_wiped_workspace_is_one_that_was_never_used(store, url, fresh):
    before = store.graph.version
    store.edits.add("hide", "ada")
    store.queue.add()
    store.wipe()
    assert (store.files.all(), store.edits.all(), store.queue.latest()) == ((), (), ())
    assert store.listing.size() == (0, 0)
    assert store.graph.version != before
    assert tiny_index(url, [ADA]) == tiny_index(fresh("other"), [ADA])


def test_a_removed_workspace_is_gone_unless_somebody_works_on_it(store, url):
    with store.lease.hold(), pytest.raises(BusyError):
        remove_workspace(url)
    store.close()
    remove_workspace(url)
    assert size_of(url) is None


def test_an_examination_finds_a_healthy_workspace_sound(store, url):
    save_run(store)
    assert [found.faults for found in examine(url, deep=True) if found.faults] == []


# --- files and documents -----------------------------------------------------------------------

@pytest.mark.parametrize("name", ["../../etc/passwd", "C:\\x", "a\0b", "x" * 4096,
                                  "\u202egnp.exe", "'; DROP TABLE files; --", "\udcff.txt"])
def test_a_file_name_is_a_label_and_never_a_path(empty, name):
    empty.files.add(name, b"x")
    (file,) = empty.files.all()
    assert file.name == clean_name(name)
    assert file.name.isprintable()
    assert len(file.name) <= 255


@pytest.mark.parametrize("name", [".", "...", " . ", "../..", "/", "C:", "\0\u202e"])
def test_a_name_of_nothing_is_refused(empty, name):
    with pytest.raises(ParameterError):
        empty.files.add(name, b"Ada met Bob.")


def test_a_file_goes_from_waiting_to_done_and_its_bytes_with_it(empty):
    empty.files.add(*ADA)
    assert empty.files.unread() == (ADA,)
    assert empty.files.claim("ada.txt") == empty.files.original("ada.txt") == ADA[1]
    extend(empty, ["ada.txt"], tiny_engine())
    (file,) = empty.files.all()
    assert (file.status, file.passages, file.extracted) == ("done", 1, 1)
    assert empty.files.original("ada.txt") is None
    assert empty.files.claim("ada.txt") is None


def test_a_file_that_is_too_large_has_failed_and_is_not_stored(empty):
    assert not empty.files.add("large.txt", b"word " * 10_000_001)
    (file,) = empty.files.all()
    assert (file.status, file.size) == ("failed", 50_000_005)
    assert file.error
    assert empty.files.unread() == ()
    assert empty.files.original("large.txt") is None
    assert empty.files.retry(["large.txt"]) == 0
    assert empty.files.add("large.txt", b"words")
    assert empty.files.claim("large.txt") == b"words"


def test_failed_and_cancelled_files_wait_again_when_they_are_retried(empty):
    empty.files.hold([ADA])
    empty.files.add(*CYD)
    empty.files.claim("cyd.txt")
    empty.files.fail("cyd.txt", "why")
    assert [(f.status, f.error) for f in empty.files.all()] == [("cancelled", ""), ("failed", "why")]
    assert empty.files.retry(["ada.txt", "cyd.txt", "nobody.txt"]) == 2
    assert [(f.status, f.error) for f in empty.files.all()] == [("queued", "")] * 2


def test_a_file_replaced_while_it_is_parsed_waits_for_its_turn(empty):
    empty.files.add("a.txt", b"old")
    assert empty.files.claim("a.txt") == b"old"
    empty.files.add("a.txt", b"new")
    parsed = [(Document("a.txt", "", "txt", "old"), (chunk("a.txt", "old"),))]
    assert not empty.documents.put("a.txt", parsed)
    empty.files.finish("a.txt")
    assert empty.files.claim("a.txt") == b"new"


def test_the_digest_depends_on_the_documents_and_not_on_what_happened_to_them(store, url, fresh):
    before = store.graph.digest()
    assert tiny_index(url, [CYD, ADA]) == before == tiny_index(fresh("turned"), [CYD, ADA])
    store.documents.delete("cyd.txt")
    alone = tiny_index(fresh("alone"), [ADA])
    assert tiny_index(url) == alone
    assert store.passages.search("Cyd").hits == ()
    store.documents.undo("cyd.txt")
    assert tiny_index(url) == before
    store.documents.delete("cyd.txt")
    assert store.files.add(*CYD) is False
    assert read_by(store, "cyd.txt") == []
    assert store.graph.digest() == before
    store.documents.purge("cyd.txt")
    assert tiny_index(url) == alone


def test_deleting_what_is_not_there_is_refused(store):
    for change in (store.documents.delete, store.documents.purge, store.documents.undo):
        with pytest.raises(StoreError):
            change("nobody.txt")


def test_what_was_deleted_before_it_was_read_is_read_when_it_comes_back(store):
    put(store, "eve.txt", "eve", "Eve met Ada.")
    store.documents.delete("eve.txt")
    assert read_by(store, "eve.txt") == []
    store.documents.undo("eve.txt")
    assert read_by(store, "eve.txt") == ["Eve met Ada."]


def test_a_document_deleted_by_itself_stays_deleted_when_its_file_returns(empty, url):
    tiny_index(url, [("three.jsonl", THREE)])
    empty.documents.delete("three.jsonl#two")
    empty.documents.delete("three.jsonl")
    assert all(row.deleted_at for row in empty.documents.all())
    empty.documents.undo("three.jsonl")
    assert [row.name for row in empty.documents.all("three.jsonl") if row.deleted_at is None] == [
        "three.jsonl#one", "three.jsonl#three"]
    assert empty.documents.titles("three.jsonl", 2) == {
        "three.jsonl#one": "Ada", "three.jsonl#two": "Bob"}


def test_two_documents_of_one_name_are_refused(empty):
    put(empty, "a.txt", "T", "Ada.")
    empty.files.add("b.txt", b"x")
    empty.files.claim("b.txt")
    same = [(Document("a.txt", "", "txt", "x"), ())]
    for parsed in (same, same * 2):
        with pytest.raises(DocumentNameError):
            empty.documents.put("b.txt", parsed)


def test_a_document_is_read_anew_only_where_it_or_its_title_changed(empty):
    put(empty, "a.txt", "T", "Ada met Bob.", "Cyd met Dan.")
    assert read_by(empty, "a.txt") == ["Ada met Bob.", "Cyd met Dan."]
    _, moved, _ = put(empty, "a.txt", "T", "Before it all.", "Ada met Bob.", "Eve met Dan.")
    assert read_by(empty, "a.txt") == ["Before it all.", "Eve met Dan."]
    assert empty.passages.get([moved.id])[moved.id].start == 15
    put(empty, "a.txt", "New", "Ada met Bob.")
    assert read_by(empty, "a.txt") == ["Ada met Bob."]


def test_a_document_is_read_in_parts(empty):
    texts = [f"Ada met Bob {number}." for number in range(5)]
    chunks = put(empty, "a.txt", "T", *texts)
    head = empty.documents.head("a.txt")
    assert (head.source, head.passages, head.characters, head.original) == (
        "a.txt", 5, len("\n".join(texts)), True)
    assert empty.documents.passages("a.txt", 2, 3) == chunks[1:4]
    assert empty.documents.number_of("a.txt", chunks[3].id) == 4
    assert empty.documents.number_of("b.txt", chunks[3].id) is None
    assert empty.documents.part("a.txt", 4, 7) == ("met", ())
    with pytest.raises(StoreError):
        empty.documents.head("b.txt")


def test_the_marks_of_a_document_come_back(empty):
    empty.files.add("a.pdf", b"x")
    empty.files.claim("a.pdf")
    document = Document("a.pdf", "A", "pdf", "Ada.", (Mark(0, 1), Mark(2, 2, "Bob")))
    empty.documents.put("a.pdf", [(document, ())])
    assert empty.documents.get("a.pdf") == document
    assert empty.documents.head("a.pdf").pages == 2


def test_purging_forgets_vectors_replies_and_what_was_retrieved(store, url):
    tiny_index(url, [("secret.txt", b"Zanzibar hid the Xylophone from Ada.")])
    quoting = save_run(store, passages=[{"document": "secret.txt"}])
    other = save_run(store)
    store.ledger.put(Call("k", "extract", "m", "ok", "said", 1, 1, document="secret.txt"))
    assert store.documents.names_of("secret.txt") == {"secret.txt"}
    assert store.documents.quoting({"secret.txt"}) == (quoting,)
    store.documents.purge("secret.txt")
    with pytest.raises(StoreError):
        store.runs.load(quoting)
    assert store.runs.load(other)["retrieval"] == QUESTION
    tiny_index(url)  # vectors follow with the graph
    keys = {name: embedding_key("tiny", name) for name in ("zanzibar", "xylophone", "ada")}
    assert store.vectors.get(keys.values()).keys() == {keys["ada"]}
    assert store.ledger.good_call("k") is None
    assert store.ledger.totals()[0].calls == 1


# --- the log -----------------------------------------------------------------------------------

def test_an_entry_of_the_log_comes_back_as_it_went_in(empty):
    (passage,) = put(empty, "a.txt", "T", "Ada met Bob.")
    found = Extraction(
        passage.id, "x", ((0, 12),),
        (Mention("ada", "Ada", 0, 3, 0, "PERSON"), Mention("t", "T", 0, 0, 0, "title")), (),
        (Description("ada", "", "person", "A mathematician.", ("numbers",)),))
    empty.log.use_extractor("x")
    assert empty.log.put(passage, found)
    assert not empty.log.put(passage, found)
    log = empty.log.read()
    assert (log.chunks, log.extractions) == ((passage,), (found,))
    assert empty.log.names([passage.id]) == ((passage.id, "ada", 0, 3),)


def test_an_extraction_of_a_passage_that_changed_meanwhile_is_dropped(empty):
    (old,) = put(empty, "a.txt", "Old", "Ada met Bob.")
    found = Extraction(old.id, "tiny-1", ((0, 12),), (), ())
    put(empty, "a.txt", "New", "Ada met Bob.")
    assert empty.log.put(old, found) is False
    empty.documents.purge("a.txt")
    assert empty.log.put(old, found) is False


def test_what_a_file_says_of_a_passage_is_not_read_and_any_extractor_adopts_it(empty):
    (passage,) = put(empty, "a.txt", "T", "Ada met Bob.")
    empty.log.give(passage, Extraction(passage.id, GIVEN, ((0, 12),), (), ()))
    assert empty.log.pending("a.txt", "x") == ()
    assert list(empty.log.given("a.txt", "x").values()) == [passage]
    empty.log.take_over("a.txt", "x")
    empty.log.use_extractor("x")
    assert [found.extractor for found in empty.log.read().extractions] == ["x"]


def test_another_extractor_reads_everything_anew_and_the_first_is_not_forgotten(store, url):
    before = store.graph.digest()

    class Silent(TinyExtractor):
        def extract_all(self, chunks):
            for found in super().extract_all(chunks):
                yield Extraction(found.chunk, "silent", found.sentences, (), ())

    index(url, [("x.txt", b"Eve.")], extractor=lambda: Silent("silent"), embedder=TinyEmbedder,
          processes=1)
    assert set(store.graph.read().kinds) == {"passage"}
    store.documents.purge("x.txt")
    assert tiny_index(url) == before


def test_a_doubtful_reading_is_told_and_read_again_when_it_is_retried(empty):
    (passage,) = put(empty, "a.txt", "T", "Ada met Bob.")
    empty.log.use_extractor("m/1")
    empty.log.put(passage, Extraction(passage.id, "m/1", ((0, 12),), (), ()), doubt="half of it")
    empty.files.finish("a.txt")
    assert empty.log.doubts() == {"a.txt": ("half of it",)}
    (row,) = empty.log.unread("a.txt")
    assert (row.chunk, row.number, row.reason) == (passage.id, 1, "half of it")
    assert empty.log.pending("a.txt", "m/1") == ()
    assert empty.files.retry(["a.txt"]) == 1
    assert empty.log.pending("a.txt", "m/1") == (passage,)


# --- vectors -----------------------------------------------------------------------------------

@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture],
          deadline=None)
@given(vectors=arrays(np.float32, (3, 4), elements=st.floats(width=32)))
@example(vectors=np.array([[0, 0, 0, 0], [np.nan, 0, 0, 0], [np.inf, 0, 0, 0]], np.float32))
def test_vectors_are_kept_by_direction_for_good_or_refused_for_nan_and_infinity(empty, vectors):
    empty.vectors.forget()
    empty.vectors.stamp(hashlib.sha256(vectors.tobytes()).hexdigest(), 4)
    keyed = {embedding_key("m", f"{i} {vectors.tobytes().hex()}"): vector
             for i, vector in enumerate(vectors)}
    if all(math.isfinite(x) for x in vectors.ravel().tolist()):
        empty.vectors.put(keyed)
        stored = empty.vectors.get(keyed)
        other = {key: embedding_key("again", key) for key in keyed}
        again = {other[key]: vector for key, vector in stored.items()}
        empty.vectors.put(again)
        kept = empty.vectors.get(again)
        for key, vector in keyed.items():
            assert kept[other[key]].tobytes() == stored[key].tobytes()
            wide = vector.astype(np.float64) / max(np.abs(vector).max().astype(np.float64), 1e-300)
            length = np.linalg.norm(wide)
            assert abs(stored[key] - wide / max(length, 1e-300)).max() < 0.01
        assert empty.vectors.missing([*keyed, "no"]) == {"no"}
    else:
        with pytest.raises(ParameterError):
            empty.vectors.put(keyed)
        assert empty.vectors.get(keyed) == {}


def test_a_workspace_is_bound_to_one_embedding_model(store, url):
    before = store.graph.digest()
    for name, dimension in (("tiny", 16), ("other", 8)):
        with pytest.raises(EmbedderMismatchError):
            store.vectors.check(name, dimension)
        with pytest.raises(EmbedderMismatchError):
            store.vectors.stamp(name, dimension)
    with pytest.raises(ParameterError):
        store.vectors.put({"k": np.ones(4, np.float32)})
    assert store.graph.digest() == before


def test_embedding_anew_equals_indexing_with_the_other_model(store, url, fresh):
    def other():
        return TinyEmbedder("other", 16)

    scratch = fresh("scratch")
    store.vectors.forget()
    index(url, extractor=TinyExtractor, embedder=other, processes=1)
    index(scratch, [ADA, CYD], extractor=TinyExtractor, embedder=other, processes=1)
    with open_workspace(scratch) as made:
        assert store.graph.digest() == made.graph.digest()
    assert store.graph.read().vectors.shape[1] == 16
    assert store.vectors.embedder == ("other", 16)
    with store.snapshot() as connection:
        sizes = connection.execute("SELECT DISTINCT length(vectors) % 16 FROM embeddings").fetchall()
    assert sizes == [(0,)]  # none of the model before is left


# --- the graph and its passages ----------------------------------------------------------------

def test_the_revision_counts_changes_of_the_graph_only(store, url):
    before = store.graph.revision
    store.documents.delete("cyd.txt")
    store.documents.undo("cyd.txt")
    assert store.graph.stale
    tiny_index(url)
    assert not store.graph.stale
    assert store.graph.revision == before
    store.documents.delete("cyd.txt")
    tiny_index(url)
    assert store.graph.revision == before + 1
    assert store.graph.version == store.graph.version_at(before + 1)


def test_a_graph_made_from_an_older_log_does_not_replace_a_newer_one(store):
    old = store.log.read()
    store.documents.delete("cyd.txt")
    GraphUpdate(store, tiny_engine()).run()
    newest = store.graph.digest()
    embed = TinyEmbedder().embed
    assert store.assembly.write(FullAssembly(PackedLog(old.revision, (), "tiny"), list, embed)) is False
    assert store.graph.digest() == newest


def test_the_graph_has_the_names_the_passages_and_what_joins_them(store):
    graph = store.graph.read()
    assert sorted(zip(graph.kinds, graph.names, strict=True)) == [
        ("entity", "Ada"), ("entity", "Bob"), ("entity", "Cyd"), ("entity", "Paris"),
        ("passage", "ada"), ("passage", "cyd")]
    ada = graph.row[named(store, "Ada")]
    near = {graph.names[row] for row in graph.expand(np.array([ada])).neighbors}
    assert near == {"ada", "cyd", "Bob", "Cyd"}
    assert graph.name_vectors[ada] @ TinyEmbedder().embed(["ada"])[0] > 0.999
    assert store.graph.nodes([named(store, "Ada"), "no"]).keys() == {named(store, "Ada")}
    ends = [{edge.source, edge.target} for edge in store.graph.edges([named(store, "Paris")])]
    assert all(named(store, "Paris") in pair for pair in ends)
    met = frozenset((named(store, "Bob"), named(store, "Paris")))
    assert store.graph.labels(met) == {met: "met"}
    assert store.graph.labels([named(store, "Bob")]) == {}


def test_evidence_points_at_the_sentence_and_the_name_in_the_document(store):
    found = store.passages.evidence([named(store, "Bob")])
    assert [e.text for e in found] == [
        "Ada met Bob in Paris.", "Bob left.", "Bob never knew Cyd."]
    for evidence in found:
        text = store.documents.get(evidence.document).text
        assert text[evidence.start:evidence.end] == evidence.text
        assert [text[start:end] for start, end in evidence.mentions] == ["Bob"]
    store.documents.delete("cyd.txt")
    assert {e.document for e in store.passages.evidence([named(store, "Bob")])} == {"ada.txt"}


def test_sentences_come_with_their_places_texts_and_vectors(store):
    passage = next(one for one in store.log.read().chunks if one.document == "ada.txt")
    texts = ["Ada met Bob in Paris.", "Bob left."]
    found = store.passages.sentences([passage.id, "unknown"])
    assert found.keys() == {passage.id}
    assert [passage.text[start:end] for start, end, _ in found[passage.id]] == texts
    np.testing.assert_allclose([vector for _, _, vector in found[passage.id]],
                               TinyEmbedder().embed(texts), atol=0.005)
    places = [(passage.id, 0), (passage.id, 1), (passage.id, 2), ("unknown", 0)]
    assert store.passages.sentence_texts(places) == dict(zip(places, texts, strict=False))
    names = store.passages.names([passage.id])
    assert {name.text for name in names[passage.id, len(texts[0])]} == {"Ada", "Bob", "Paris"}


def test_search_ranks_by_bm25(empty):
    texts = {"a": "apple apple pear", "b": "apple plum plum plum plum", "c": "fig fig",
             "d": "quince", "e": "melon melon melon"}
    for name, text in texts.items():
        put(empty, name, "", text)
    extend(empty, list(texts), tiny_engine())
    found = {hit.chunk.document: hit.score for hit in empty.passages.search("Apple or plum?").hits}
    sizes = {name: len(text.split()) for name, text in texts.items()}
    mean = sum(sizes.values()) / len(sizes)

    def score(name):
        total = 0.0
        for word in ("apple", "plum"):
            holding = sum(word in text for text in texts.values())
            often = texts[name].split().count(word)
            rarity = math.log((len(texts) - holding + 0.5) / (holding + 0.5))
            total += rarity * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * sizes[name] / mean))
        return total

    assert found == {"a": pytest.approx(score("a")), "b": pytest.approx(score("b"))}


HOSTILE = [
    '"', "'", '""', "*", "a*", "^a", "NEAR(a b)", "a AND", "OR", "NOT x", "title:ada", "(", ")", "{",
    "; DROP TABLE documents; --", '" OR 1=1', "\0", "%", "_", "\\", "\u202e", "\ud800", "", " ",
    "ada" * 4000, " ".join(map(str, range(3000))), "passages_fts", "\U0001f600",
]


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture],
          deadline=None)
@given(text=st.one_of(st.text(), st.sampled_from(HOSTILE)))
@example(text='"a')
def test_any_text_can_be_searched_and_changes_nothing(store, text):
    known = {one.id for one in store.log.read().chunks}
    assert {hit.chunk.id for hit in store.passages.search(text).hits} <= known
    assert store.passages.search("Paris").total == 1


@pytest.mark.parametrize(("word", "there"), [
    ("Paris", True), ("PARIS", True), ("Par", False), ("Oslo", False), ("", False), ("…", False)])
def test_a_word_is_there_when_a_search_finds_it(store, word, there):
    assert store.passages.has_word(word) is there


# --- surveys -----------------------------------------------------------------------------------

def test_a_survey_has_every_row_once(store):
    graph = store.graph.read()
    nodes, edges = list(store.listing.nodes()), list(store.listing.edges())
    assert store.listing.size() == (len(nodes), len(edges)) == (len(graph), len(edges))
    assert store.listing.count_nodes() == Counter(graph.kinds.tolist())
    assert store.listing.count_pairs() == graph.edge_count
    assert [row.node.id for row in nodes] == sorted(graph.ids)
    assert {(row.document, row.title) for row in nodes if row.node.kind == "passage"} == {
        ("ada.txt", "ada"), ("cyd.txt", "cyd")}
    assert set(edges) == set(store.graph.edges(graph.ids))
    counts = {row.node.name: row.passages for row in store.listing.entities()}
    assert counts == {"Ada": 2, "Bob": 2, "Cyd": 1, "Paris": 1}
    (one,) = store.listing.entities(named(store, "Cyd"))
    assert one.node.name == "Cyd"
    said = {(row.key, row.kind): row.count for row in store.listing.names(["bob"])}
    assert said == {("bob", "PERSON"): 3}
    assert store.listing.kinds()[0] == "PERSON"
    assert store.listing.sample(1) == store.listing.sample(9)[:1]
    assert len(store.listing.sample(9)) == 2


# --- layers, notes, runs -----------------------------------------------------------------------

def test_a_layer_is_kept_as_its_bytes_until_the_next_of_its_name(store):
    store.layers.put("tree", "v1", 1, b"one")
    store.layers.put("tree", "v2", 3, b"other")
    row = store.layers.rows()["tree"]
    assert (row.version, row.builder, row.size) == ("v2", 3, 5)
    assert store.layers.body("tree") == b"other"
    with pytest.raises(StoreError):
        store.layers.body("none")


def test_a_note_is_kept_under_its_name(empty):
    assert empty.notes.get("gold") == ""
    empty.notes.put("gold", "one")
    empty.notes.put("gold", "é\n")
    assert empty.notes.get("gold") == "é\n"


def test_a_saved_run_comes_back_as_it_was(empty):
    row = RunRow("k", now(), "Who\ud800?", "qafd", {"alpha": 0.1 + 0.2}, 7, 5, 60, None, "é")
    body = {"retrieval": {"nodes": [{"x": 1e-17}]}, "note": "Who\ud800?", "layout": {"n": [0.25, -1.5]}}
    empty.runs.save(row, body)
    assert empty.runs.load("k") == body
    assert empty.runs.history() == (replace(row, question="Who??"),)
    with pytest.raises(StoreError):
        empty.runs.load("x")


def test_the_history_is_what_was_saved_and_the_last_deletion_can_be_undone(empty):
    keys = [save_run(empty, f"note {number}", bool(number)) for number in range(2)]
    assert {(row.id, row.note, row.exact) for row in empty.runs.history()} == {
        (keys[0], "note 0", False), (keys[1], "note 1", True)}
    assert empty.runs.notes(keys[0]) == {keys[0]: "note 0"}
    empty.runs.annotate(keys[0], "other")
    assert empty.runs.notes(keys[0][:8])[keys[0]] == "other"
    empty.runs.delete([keys[0]])
    assert (empty.runs.list_deleted(), [row.id for row in empty.runs.history()]) == (1, [keys[1]])
    assert empty.runs.undo() == 1
    empty.runs.delete([keys[0]])
    empty.runs.delete([keys[1]])
    assert empty.runs.undo() == 1
    assert [row.id for row in empty.runs.history()] == [keys[1]]
    with pytest.raises(StoreError):
        empty.runs.load(keys[0])


# --- the ledger --------------------------------------------------------------------------------

def test_the_ledger_sums_what_was_spent_and_keeps_replies_of_use(empty):
    good = Call("k", "extract", "m", "ok", "yes", 10, 2, cost=0.5, seconds=1.0, chunk="c",
                document="a.txt", run="r1")
    bad = Call("k", "extract", "m", "rejected", "no", 10, 3, chunk="c", document="a.txt", run="r2")
    asked = Call("q", "answer", "n", "ok", "so", 1, 1, cost=0.25, question="Why?", run="r2")
    for call in (good, bad, asked):
        empty.ledger.put(call)
    assert empty.ledger.good_call("k") == good
    totals = {total.what: total for total in empty.ledger.totals("model")}
    assert (totals["m"].calls, totals["m"].tokens_out, totals["m"].cost, totals["m"].unpriced) == (
        2, 5, 0.5, 1)
    assert not totals["m"].estimated
    assert [total.what for total in empty.ledger.totals("purpose", "r2")] == ["answer", "extract"]
    assert empty.ledger.useless_replies(["c"], 2) == {"c": ("no",)}
    assert empty.ledger.replies({"a.txt"}) == 3
    empty.ledger.forget_replies(["a.txt"])
    assert empty.ledger.good_call("k") is None
    assert empty.ledger.replies({"a.txt"}) == 1
    assert sum(total.calls for total in empty.ledger.totals()) == 3


# --- the queue and the lease -------------------------------------------------------------------

def test_jobs_are_begun_in_order_and_over_once(empty):
    first, second = empty.queue.add(["tree"]), empty.queue.add()
    assert [job.state for job in empty.queue.open()] == ["queued", "queued"]
    assert empty.queue.claim() == first == empty.queue.claim()
    assert empty.queue.layers(first) == {"tree"}
    empty.queue.report(first, "parsing", 1, 2, "a.txt")
    (running,) = empty.queue.stuck(2)
    assert (running.id, running.done, running.current) == (first, 1, "a.txt")
    empty.queue.report(first, "extracting", 1, 2, "a.txt")
    assert empty.queue.stuck(1) == ()
    empty.queue.fail(first, "why")
    assert empty.queue.claim() == second
    assert [(job.id, job.state, job.error) for job in empty.queue.latest()] == [
        (second, "running", ""), (first, "failed", "why")]
    empty.queue.finish(second)
    assert empty.queue.claim() is None
    assert empty.queue.open() == ()


def test_a_job_that_waits_is_cancelled_at_once_and_one_that_runs_is_asked(empty):
    running, waiting = empty.queue.add(), empty.queue.add()
    empty.queue.claim()
    assert (empty.queue.cancel(waiting), empty.queue.cancel(running)) == (True, False)
    assert (empty.queue.is_cancelled(running), empty.queue.is_cancelled(99)) == (True, True)
    assert [job.id for job in empty.queue.open()] == [running]
    empty.queue.pause("full")
    assert [(job.state, job.error) for job in empty.queue.open()] == [("paused", "full")]
    assert empty.queue.claim() == running
    empty.queue.finish(running)
    assert empty.queue.latest(2)[1].state == "cancelled"


def test_a_job_has_its_files_and_those_that_nobody_else_will_read(empty):
    job, other = empty.queue.add(), empty.queue.add()
    empty.files.add("mine.txt", b"12345", job)
    empty.files.add("theirs.txt", b"123", other)
    empty.files.add("nobodys.txt", b"1")
    assert empty.queue.files(job) == ("mine.txt", "nobodys.txt")
    assert empty.queue.orphans() == 1
    assert empty.queue.measure_unparsed(job)[0] == 5
    assert empty.queue.measure_unparsed() == (9, 0, 0)
    empty.queue.finish(other)
    assert empty.queue.files(job) == ("mine.txt", "theirs.txt", "nobodys.txt")
    empty.files.claim("mine.txt")
    empty.files.fail("mine.txt", "why")
    assert empty.queue.failed_files(job) == 1


def test_two_processes_never_hold_the_lease_at_once(empty, url):
    with open_workspace(url) as other, other.lease.hold():
        with pytest.raises(BusyError), empty.lease.hold():
            pass
        assert empty.lease.writer == os.getpid()
        other.lease.check()
    assert empty.lease.writer is None
    with empty.lease.hold():
        empty.lease.give_back()
        with pytest.raises(BusyError):
            empty.lease.check()


def hold_and_die(url):
    store = open_workspace(url)
    store.lease.hold().__enter__()
    os._exit(0)


def test_the_lease_of_a_process_that_died_is_taken_over(empty, url):
    started(hold_and_die, url).join()
    with empty.lease.hold():
        assert empty.lease.writer == os.getpid()


def test_what_lost_the_lease_writes_nothing(empty, url):
    (passage,) = put(empty, "a.txt", "T", "Ada met Bob.")
    with open_workspace(url) as gone, gone.lease.hold():
        empty.wipe()
        with pytest.raises(BusyError):
            gone.log.put(passage, Extraction(passage.id, "x", (), (), ()))


# --- edits -------------------------------------------------------------------------------------

def test_an_edit_holds_until_it_is_undone_and_stays_in_the_list(store, url):
    before = store.graph.digest()
    same = store.edits.add("same", "bob", "Cyd")
    join = store.edits.add("join", "ada", "paris", "lived in", "a letter")
    assert store.edits.map_merged() == {"bob": "cyd"}
    assert store.edits.map_added_edges().keys() == {
        frozenset((named(store, "Ada"), named(store, "Paris")))}
    assert store.graph.stale
    assert tiny_index(url) != before
    for number in (same, join):
        store.edits.undo(number)
    assert tiny_index(url) == before
    assert [(edit.id, edit.undone_at is None) for edit in store.edits.all()] == [
        (same, False), (join, False)]
    with pytest.raises(StoreError):
        store.edits.undo(same)
