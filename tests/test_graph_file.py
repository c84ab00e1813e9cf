"""A graph that is mapped from columns answers as the one that was packed into them."""

from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import OSA
from tiny import killed, started

from qafd.arrays import (
    ByteRows,
    PlaceOf,
    TextBlock,
    append_rows,
    join,
    lay_out,
    open_columns,
    pick,
    to_bytes,
    write_columns,
)
from qafd.graph import EDGE_KINDS, Graph
from qafd.graph_cache import keep_columns, pack, read_graph, unpack
from qafd.knowledge import KnowledgeGraph
from qafd.plan.linking import Names
from qafd.plan.name_columns import NameColumns
from qafd.reading.text import NameIndex, as_typed, canonical
from qafd.records import Keyword, QueryPlan, node_id
from qafd.retrieve import METHODS
from qafd.retrieve.base import Corpus, Work
from qafd.retrieve.pagerank import PageRank
from qafd.retrieve.qafd import PRESETS
from qafd.retrieve.seeds import PassageColumns, Passages, passages_of
from qafd.storage.rows import hash_number, hash_numbers, pack_vectors, unpack_vectors

QUESTIONS = ("Who founded Apple?", "Which company did Steve Jobs lead?",
             "what do rivers and orchards have in common", "Where does the Amazon flow?")
WORDS = ("Ada", "Boris", "river", "Grant Park", "Atlanta", "winter", "Köln", "Москва")

texts = st.lists(st.text(max_size=6), max_size=12)


@given(texts)
def test_texts_are_those_that_went_in_and_are_found(some):
    own = TextBlock.of(sorted(some))
    assert list(own) == sorted(some)
    assert [own[at] for at in range(-len(own), len(own))] == 2 * sorted(some)
    assert own.pick(np.arange(len(own))) == pick(sorted(some), np.arange(len(own)))
    assert dict(PlaceOf(own)) == {text: sorted(some).index(text) for text in some}
    for start in {*some, *(text[:1] for text in some), "\U0010ffff"}:
        assert [own[at] for at in own.beginning(start)] == [
            text for text in sorted(some) if text.startswith(start)]


@given(st.lists(st.text(st.sampled_from("ab \u00e9"), max_size=6), max_size=12))
def test_texts_are_found_by_a_word(some):
    own = TextBlock.of(some)
    for word in {"a", "ab", "\u00e9", *(word for text in some for word in text.split(" ") if word)}:
        assert own.having(word) == [at for at, text in enumerate(some) if word in text.split(" ")]


@given(st.lists(st.text(st.sampled_from("ab\u00e9\u4e2d "), max_size=6), max_size=12),
       st.text(st.sampled_from("abc\u00e9"), max_size=6), st.integers(0, 2))
def test_no_text_within_some_slips_is_left_out_and_few_others_are_read(some, text, most):
    near = TextBlock.of(some).near(text, most).tolist()
    assert {at for at, other in enumerate(some) if OSA.distance(text, other) <= most} <= set(near)
    assert all(abs(len(some[at]) - len(text)) <= most for at in near)
    assert all(len(({*text} ^ {*some[at]}) - {"\u00e9", "\u4e2d"}) <= 2 * most for at in near)


@given(st.lists(st.text(st.sampled_from("0123456789abcdefg"), max_size=24)), st.booleans())
def test_the_ids_of_a_block_have_the_numbers_of_each(ids, padded):
    ids = [id.rjust(24, "0") for id in ids] if padded else ids
    numbers = [hash_number(id) for id in ids]
    assert hash_numbers(ids).tolist() == hash_numbers(TextBlock.of(ids)).tolist() == numbers
    assert all(number == -1 for number, id in zip(numbers, ids, strict=True) if "g" in id[:15])


COLUMNS = {"a": np.arange(5), "b": np.zeros((0, 3), np.float32),
                             "c": np.array(["entity", "passage"])}


def map_columns(path, label):
    found = open_columns(path)
    return found.arrays if found is not None and found.label == label else None


def equal(some):
    return some is not None and some.keys() == COLUMNS.keys() and all(
        np.array_equal(some[name], COLUMNS[name]) for name in COLUMNS)


def test_columns_are_mapped_as_they_were_written(tmp_path):
    write_columns(tmp_path / "w", "1", COLUMNS)
    assert equal(map_columns(tmp_path / "w", "1"))
    assert map_columns(tmp_path / "w", "2") is None
    assert map_columns(tmp_path / "none", "1") is None
    assert list(tmp_path.iterdir()) == [tmp_path / "w"]


@settings(max_examples=200)
@given(st.data())
def test_a_torn_file_is_none(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("torn") / "w"
    write_columns(path, "1", COLUMNS)
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    path.write_bytes(whole[:at])
    assert map_columns(path, "1") is None
    path.write_bytes(whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1:])
    found = map_columns(path, "1")
    assert found is None or equal(found)  # the latter where nothing is kept there


def write_again_and_again(path):
    for number in range(10_000):
        write_columns(path, "1", COLUMNS | {"d": np.full(200_000, number)})


def test_a_writer_that_is_killed_leaves_whole_columns(tmp_path):
    write_columns(tmp_path / "w", "1", COLUMNS)
    process = started(write_again_and_again, tmp_path / "w")
    try:
        for _ in range(50):
            found = map_columns(tmp_path / "w", "1")
            assert len(set(found.get("d", np.zeros(1)).tolist())) == 1
    finally:
        killed(process)
    assert map_columns(tmp_path / "w", "1") is not None


@pytest.mark.parametrize("numbers", [2, 384])
def test_rows_of_bytes_are_the_rows_that_were_kept(numbers):
    rng = np.random.default_rng(numbers)
    drawn = rng.standard_normal((3000, numbers)).astype(np.float32)
    drawn[7] = 0
    kept = ByteRows.of(to_bytes(drawn))
    assert kept.shape == drawn.shape
    rows = unpack_vectors(pack_vectors(drawn), numbers)
    for some in (slice(None), slice(3, 9), 7, [2500, 0, 7]):
        assert np.array_equal(kept[some], rows[some])
    for places in (np.arange(5, 2900), np.array([9, 3, 3]), np.zeros(0, np.int64)):
        assert np.array_equal(kept.take(places)[:], rows[places])
    for asked in (rows[2500], rows[:3].T, rows[:3].T.astype(np.float64)):
        assert np.allclose(kept @ asked, rows.astype(np.float64) @ asked, atol=1e-6)


def test_columns_that_share_numbers_have_their_rows_when_others_are_appended():
    rng = np.random.default_rng(3)
    columns = []
    for many in (9, 4):
        vectors, names = (to_bytes(rng.standard_normal((many, 6)).astype(np.float32)) for _ in range(2))
        same = rng.random(many) < 0.5
        names[same] = vectors[same]
        shared = lay_out(ByteRows.of(vectors), ByteRows.of(names), same)
        assert len(shared[0].numbers) == 2 * many - same.sum()
        assert np.array_equal(shared[0].places[same], np.arange(same.sum()))
        assert np.array_equal(shared[0][:], ByteRows.of(vectors)[:])
        assert np.array_equal(shared[1][:], ByteRows.of(names)[:])
        columns.append(shared)
    places = np.array([2, 12, 0, 9, 8, 10])
    for number, merged in enumerate(append_rows(*columns, places)):
        rows = ByteRows(join(merged.numbers), merged.lengths, merged.places)
        both = np.concatenate([shared[number][:] for shared in columns])
        assert np.array_equal(rows[:], both[places])


@st.composite
def graphs(draw):
    """A graph of entities and passages, and the texts of the passages by id."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    names = draw(st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=2).map(" ".join),
                          min_size=1, max_size=8, unique_by=canonical))
    nodes = {node_id("entity", canonical(name)): (name, "entity") for name in names}
    said = {}
    for number in range(draw(st.integers(1, 8))):
        key = node_id("passage", str(number))
        nodes[key] = str(rng.choice(names)), "passage"
        said[key] = f"{nodes[key][0]}\n{' '.join(rng.choice(WORDS, 5))}."
    ids = sorted(nodes)
    vectors = rng.standard_normal((2, len(ids), 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
    rows = list(vectors)
    if draw(st.booleans()):  # as in a workspace
        rows = [ByteRows.of(to_bytes(some)) for some in vectors]
    ends = rng.integers(0, len(ids), (2, 3 * len(ids)))
    return Graph.build(ids, ends[0], ends[1], rng.uniform(0.01, 1, ends.shape[1]),
                       rng.choice(EDGE_KINDS, ends.shape[1]).tolist(), names=[nodes[key][0] for key in ids],
                       kinds=[nodes[key][1] for key in ids], vectors=rows[0], name_vectors=rows[1],
                       tokens=rng.integers(1, 50, len(ids)), revision=3), said


def both_forms(graph, said):
    """What methods retrieve from, in memory and mapped."""
    columns = PassageColumns.build(graph, lambda ids: [said[key] for key in ids], titled=True)
    with TemporaryDirectory() as folder:
        write_columns(Path(folder, "w"), "1", pack(graph, columns, NameColumns.build(graph)))
        arrays = map_columns(Path(folder, "w"), "1")  # a mapped file lasts as long as it is read
    assert arrays is not None
    mapped = unpack(arrays, graph.revision)

    def make():
        raise AssertionError

    return Corpus(graph, Passages(graph, columns)), Corpus(mapped, passages_of(mapped, make))


def untimed(retrieval):
    return replace(retrieval, work=Work(), parts=tuple(map(untimed, retrieval.parts)))


@settings(max_examples=60, deadline=None)
@given(graphs(), st.sampled_from(["river", "Ada", "Grant Park in Atlanta", "Москве"]),
       st.sampled_from(sorted(PRESETS)), st.floats(0.5, 8))
def test_support_ranking_and_certificate_are_those_of_the_graph_in_memory(
        drawn, asked, preset, mass):
    corpora = both_forms(*drawn)
    rng = np.random.default_rng(len(asked))
    asked_by = rng.standard_normal((2, 8)).astype(np.float32)
    found = []
    for corpus in corpora:
        keys = tuple(key for key, _, _ in Names(corpus.graph).find(asked, set()))
        plan = QueryPlan(asked, (Keyword(asked, "low"),), asked_by[0], asked_by[1:], keys, ())
        for method in (replace(PRESETS[preset].method, mass=mass), PageRank()):
            found.append(untimed(method.retrieve(corpus, plan)))
    assert found[:2] == found[2:]


@settings(max_examples=10, deadline=None)
@given(graphs())
def test_both_forms_are_of_the_types_that_the_solver_is_compiled_for(drawn):
    read, mapped = (corpus.graph for corpus in both_forms(*drawn))
    for layer in (None, {"mention", "synonym", "by_hand"}):
        for column in ("indptr", "neighbors", "similarity", "edge_kinds", "component", "vectors",
                       "vectors.numbers", "vectors.lengths", "vectors.places"):
            if column.startswith("vectors") and isinstance(read.vectors, ByteRows) != ("." in column):
                continue
            one, other = (attrgetter(column)(graph.layer(layer)) for graph in (read, mapped))
            assert (one.dtype, one.flags.writeable, one.flags.aligned, one.flags.c_contiguous) == (
                other.dtype, other.flags.writeable, other.flags.aligned, other.flags.c_contiguous)


def mean_by_tables(graph, merged):
    """What names mean, and what may be typed, by tables of all of it."""
    shown = {canonical(name): name for name, kind in zip(graph.names, graph.kinds, strict=True)
             if kind == "entity"}
    exact = {name: key for name, key in merged.items() if key in shown} | {key: key for key in shown}
    regions = {as_typed(key[:-3]): key for key, name in shown.items()
               if len(name) > 3 and name[-3] == "-" and name[-2:].isupper() and name[-4].isalnum()}
    return exact, regions | {as_typed(name): exact[name] for name in sorted(exact)}


parts = st.sampled_from([
    "ada", "Ada", "Adä", "grant park", "Grant Park, Atlanta", "Grant Park, Rome", "grant park, röme",
    "Actor-GB", "actor", "Москва", "Москвы ночь", "東京", "new york"])


@settings(max_examples=200, deadline=None)
@given(st.lists(parts, min_size=1, unique_by=canonical),
       st.dictionaries(parts.map(canonical), parts.map(canonical), max_size=4),
       st.lists(parts, max_size=4).map(" ".join))
def test_names_and_edits_mean_what_tables_of_all_of_them_say(names, merged, asked):
    graph = Graph.build([str(at) for at in range(len(names))], names=names)
    (exact, typed), own = mean_by_tables(graph, merged), Names(graph, merged)
    for name in {*exact, *typed, "ada", "grant park", "actor", "grant park, rome"}:
        assert own.get(name) == (exact.get(name) or typed.get(as_typed(name)))
    index = NameIndex(typed)
    wanted = [(exact.get(canonical(asked[start:end])) or typed[name], start, end)
              for name, start, end in index.find(as_typed(asked), anyhow=True)]
    assert list(own.matches(asked)) == wanted


@pytest.fixture
def sample(tmp_path):
    return KnowledgeGraph.sample("apple-amazon", tmp_path)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_sample_is_asked_alike_in_both_forms(sample, method):
    with sample.store() as store:
        read = read_graph(store)
        assert keep_columns(store, large=1)
        assert not keep_columns(store, large=1)
        mapped = read_graph(store)
    assert isinstance(read.ids, tuple)
    assert isinstance(mapped.ids, TextBlock)
    needs = METHODS[method].needs
    if needs:
        sample.build_layers(needs)
    for question in QUESTIONS:
        plans = [sample.plan(question, graph) for graph in (read, mapped)]
        assert plans[0].names == plans[1].names
        assert plans[0].notices == plans[1].notices
        one, other = (untimed(sample.retrieve(plans[0], method, graph=graph))
                      for graph in (read, mapped))
        assert one == other


def test_a_graph_follows_a_change_and_its_columns_go_with_what_is_erased(sample):
    with sample.store() as store:
        keep_columns(store, large=1)
        place = store.place.columns
    sample.add_text("note.txt", "Ada Lovelace wrote to Charles Babbage.")
    with sample.store() as store:
        graph = read_graph(store)
        assert "Ada Lovelace" in graph.names
        assert keep_columns(store, large=1)
        assert "Ada Lovelace" in read_graph(store).names
    sample.erase("note.txt")
    assert not place.exists()


def test_without_room_for_columns_the_graph_is_read(sample):
    with sample.store() as store:
        store.place.columns.mkdir()
        assert not keep_columns(store, large=1)
        assert len(read_graph(store))
