from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from local_models import embedder, extractor

from qafd.assemble.edges import may_be_near, signs_of
from qafd.assemble.entities import BLOCK, STEPS, Occurrences, Reading, read
from qafd.reading.text import canonical
from qafd.records import Assertion, Chunk, Edge, Extraction, Mention, Node
from qafd.storage.full_assembly import FullAssembly, PackedLog
from qafd.storage.relational.graph import edge_of
from qafd.storage.rows import Log, hash_number


def axis(key):
    """A unit vector of its own for each name; two that differ in an ending are near."""
    vector = np.zeros(16, np.float32)
    vector[sum(map(ord, key)) % 16] = 1
    return vector


def embed(names):
    return np.array([axis(name) for name in names], np.float32).reshape(-1, 16)


def reading(text, mentions=(), assertions=(), *, document="d", title="", start=0, at=0):
    """A passage of sentences that end in a period; mentions are (name, kind) in order."""
    spans, begin = [], 0
    for part in text.split(". "):
        spans.append((begin, begin + len(part)))
        begin += len(part) + 2
    found, cursor = [], 0
    for name, kind, *key in mentions:
        if kind == "title":
            found.append(Mention(canonical(name), name, 0, 0, 0, kind))
            continue
        cursor = text.index(name, cursor)
        sentence = max(i for i, (a, _) in enumerate(spans) if a <= cursor)
        found.append(Mention(key[0] if key else canonical(name), name, cursor,
                             cursor + len(name), sentence, kind))
        cursor += len(name)
    chunk = Chunk(f"{document}-{start}", document, title, text, start, start + len(text))
    vector = np.zeros(16, np.float32)
    vector[at] = 1
    return Reading(chunk, Extraction(chunk.id, "test", tuple(spans), tuple(found),
                                     tuple(Assertion(*a) for a in assertions)),
                   vector, np.tile(vector, (len(spans), 1)))


@dataclass
class Made:
    """The result of assembling a log."""

    nodes: tuple[Node, ...]
    scales: np.ndarray
    edges: tuple[Edge, ...]


def assemble(readings, embed, **told):
    """The graph of readings, by the code that makes that of a workspace."""
    log = PackedLog(1, (), "test")
    if readings:
        log.add(Log(1, tuple(one.chunk for one in readings),
                    tuple(one.extraction for one in readings), ()))
    vectors = {one.chunk.id: np.vstack([one.vector[None], one.sentences]) for one in readings}
    whole = FullAssembly(log, lambda some: [vectors[chunk.id] for chunk in some.chunks], embed, **told)
    placed = list(chain(*whole.nodes()))
    nodes = tuple(one.node for one in placed)
    node_of = {hash_number(node.id): node for node in nodes}
    chunks = {number: node.key for number, node in node_of.items()}
    found = [edge_of((node_of[source].id, node_of[target].id, kind, similarity, label, count, evidence,
                      node_of[target].key), chunks)
             for source, target, kind, label, similarity, count, evidence in chain(*whole.edges())]
    found.sort(key=lambda edge: (edge.source, edge.target, edge.kind))
    return Made(nodes, np.array([one.scale for one in placed]), tuple(found))


def keys(assembly):
    return {node.key for node in assembly.nodes if node.kind == "entity"}


def edges(assembly, kind):
    name = {node.id: node.key for node in assembly.nodes}
    scale = dict(zip(name, assembly.scales.tolist(), strict=True))
    return {(name[e.source], name[e.target]):
            replace(e, similarity=e.similarity * (scale[e.source] if kind == "mention" else 1))
            for e in assembly.edges if e.kind == kind}


def test_mention_weights_are_cosines_times_title_term_and_hub_factors():
    at = int(axis("mac").argmax())
    mac = [("Mac", "PRODUCT")]
    alone = assemble([reading("The Mac sold", mac, at=at)], embed)
    titled = assemble([reading("The Mac sold", [("Mac", "title"), *mac], title="Mac", at=at)],
                      embed)
    unlike = assemble([reading("The Mac sold", mac, at=(at + 1) % 16)], embed)
    twice = assemble([reading("The Mac sold", mac, at=at),
                      reading("The Mac was new", mac, start=50, at=at)], embed)
    assert edges(alone, "mention")["mac", "d-0"].similarity == pytest.approx(1)
    assert edges(titled, "mention")["mac", "d-0"].similarity == pytest.approx(4)
    assert edges(unlike, "mention")["mac", "d-0"].similarity == pytest.approx(0.001)
    assert edges(twice, "mention")["mac", "d-0"].similarity == pytest.approx(0.5 ** 0.2)


@pytest.mark.parametrize(("passages", "factor"), [(16, 4), (17, 0.1)])
def test_a_title_of_many_passages_is_no_hub(passages, factor):
    at = int(axis("mac").argmax())
    found = [("Mac", "title"), ("Mac", "PRODUCT")]
    long = assemble([reading(f"The Mac sold {number}", found, title="Mac", start=50 * number, at=at)
                     for number in range(passages)], embed)
    assert edges(long, "mention")["mac", "d-0"].similarity == pytest.approx(factor / passages ** 0.2)


def test_relations_count_sentences_and_keep_the_commonest_label():
    pair = [("Apple", "ORG"), ("Mac", "PRODUCT")]
    assembly = assemble([
        reading("Apple sells Mac. Apple made Mac. Apple made Mac", pair * 3,
                [("apple", "mac", 0, "sells"), ("apple", "mac", 1, "made"),
                 ("apple", "mac", 2, "made")]),
        reading("Mac helped Apple", pair[::-1], [("mac", "apple", 0, "helped")], start=90),
    ], embed)
    (ends, edge), = edges(assembly, "relation").items()
    assert ends == ("apple", "mac")
    assert (edge.label, edge.count) == ("made", 4)
    assert edge.evidence == (("d-0", 0), ("d-0", 1), ("d-0", 2), ("d-90", 0))


def link_names(unit, **told):
    """The graph of one passage that names "Link 0" and so on, and the row of each node's key."""
    names = [f"Link {i:04}" for i in range(len(unit))]
    row = {canonical(name): i for i, name in enumerate(names)}
    made = reading(" and ".join(names), [(name, "NODE") for name in names])
    return assemble(
        [Reading(made.chunk, made.extraction, unit[0], np.tile(unit[0], (len(made.sentences), 1)))],
        lambda some: unit[[row[key] for key in some]], **told), row


@pytest.mark.parametrize("spread", [0.5, 0.2], ids=["few near", "crowds"])
def test_of_many_names_no_near_pair_is_missed(spread, monkeypatch):
    monkeypatch.setattr("qafd.assemble.edges.MANY", 500)  # from here on bounds are compared first
    rng = np.random.default_rng(3)
    group = rng.integers(0, 300 if spread > 0.3 else 5, 900)
    raw = rng.normal(size=(300, 160))[group] + spread * rng.normal(size=(900, 160))
    unit = (raw / np.linalg.norm(raw, axis=1, keepdims=True)).astype(np.float32)
    told = []
    assembly, row = link_names(unit, compared=lambda done, total: told.append((done, total)))
    wide = unit.astype(np.float64)
    cosines = (wide @ wide.T).astype(np.float32)
    np.fill_diagonal(cosines, 0)
    expected = {frozenset((u, int(v))) for u, some in enumerate(cosines)
                for v in np.lexsort((np.arange(len(some)), -some))[:16] if some[v] >= 0.8}
    assert len(expected) > 200
    synonyms = edges(assembly, "synonym")
    assert {frozenset((row[u], row[v])) for u, v in synonyms} == expected
    for (u, v), edge in synonyms.items():
        assert edge.similarity == pytest.approx(0.1 * cosines[row[u], row[v]], rel=1e-5)
    assert told == sorted(told)
    assert {total for _, total in told} == {900}
    assert len(told) > 2


@pytest.mark.parametrize("d", [5, 160, 384])
def test_no_near_name_is_missed_by_signs(d):
    rng = np.random.default_rng(d)
    names = rng.normal(size=(40, d)).repeat(20, axis=0)
    names += rng.uniform(0, 0.8, (800, 1)) * rng.normal(size=(800, d))
    unit = (names / np.linalg.norm(names, axis=1, keepdims=True)).astype(np.float32)
    unit[:3] = np.eye(d)[:3]  # as far from its signs as a vector can be
    asked = unit[::90]
    found = may_be_near(signs_of(unit), asked)
    near = np.flatnonzero((unit @ asked.T >= 0.8).any(axis=1))
    assert set(near) <= set(found)
    assert len(near) > len(asked)
    assert d < 160 or len(found) < 400  # or it is no use


SOME = [
    reading("Apple sells Mac. Jobs left", [("Apple", "ORG"), ("Mac", "PRODUCT"),
                                          ("Jobs", "PERSON")], [("apple", "mac", 0, "sells")]),
    reading("Steve Jobs met Amazon", [("Steve Jobs", "PERSON"), ("Amazon", "ORG")],
            [("steve jobs", "amazon", 0, "met")], start=50, at=1),
    reading("Amazon River and an app store. An app store", [
        ("Amazon River", "LOC"), ("app store", "term"), ("app store", "term")],
        document="e", title="Amazon", at=2),
    reading("Fuji is near Amazon River", [("Amazon", "title"), ("Fuji", "PROPN"),
                                          ("Amazon River", "LOC")],
            document="e", title="Amazon", start=70, at=3),
]


@given(st.permutations(SOME))
def test_the_graph_does_not_depend_on_the_order_of_the_log(log):
    expected, found = assemble(SOME, embed), assemble(log, embed)
    assert (set(found.nodes), found.edges) == (set(expected.nodes), expected.edges)


def test_read_gives_unit_vectors_for_the_passage_and_each_sentence():
    text = "The Nile floods its banks. Apple sells the iPhone."
    chunk = Chunk("c", "d", "Two topics", text, 0, len(text))
    found = read(chunk, extractor().extract(chunk), embedder())
    assert found.sentences.shape == (2, 384)
    np.testing.assert_allclose(np.linalg.norm(found.sentences, axis=1), 1, atol=1e-6)
    assert np.array_equal(found.vector, embedder().embed([f"Two topics\n{text}"])[0])
    river = embedder().embed(["a river in Egypt"])[0]
    assert found.sentences[0] @ river > found.sentences[1] @ river + 0.1


def test_no_bit_of_an_edge_depends_on_the_order_in_which_a_processor_adds():
    rng = np.random.default_rng(0)
    order = rng.permutation(384)
    names = [f"Person{i} Surname{i}" for i in range(40)]
    vector = {canonical(name): row for name, row in zip(
        names, rng.standard_normal((40, 384)) + 4 * rng.standard_normal(384), strict=True)}
    text = ". ".join(" met ".join(pair) for pair in zip(names, names[1:] + names[:1], strict=True))
    log = reading(text, [(n, "PERSON") for pair in zip(
        names, names[1:] + names[:1], strict=True) for n in pair],
        [(canonical(a), canonical(b), i, "meet") for i, (a, b) in enumerate(
            zip(names, names[1:], strict=False))])
    whole = rng.standard_normal(384)

    def made(columns):
        def unit(row):
            return (row / np.linalg.norm(row)).astype(np.float32)[columns]
        return assemble([Reading(log.chunk, log.extraction, unit(whole), np.tile(
            unit(whole), (len(log.extraction.sentences), 1)))],
            lambda keys: np.array([unit(vector[key]) for key in keys]))

    plain, shuffled = made(np.arange(384)), made(order)
    assert {e.kind for e in plain.edges} == {"mention", "relation", "synonym"}
    assert plain.edges == shuffled.edges


def test_the_sums_of_many_names_at_once_are_those_of_each_alone():
    rng = np.random.default_rng(7)
    count, many = 2 * BLOCK + 3, 4000
    names = np.sort(rng.choice(3 * count, count, replace=False))
    vectors = rng.uniform(-1, 1, (90, 6)).astype(np.float32)
    owner = np.sort(rng.integers(0, count, many))
    row, close = rng.integers(0, 90, many), rng.random(many) < 0.6
    wholes = np.rint(vectors.astype(np.float64) * STEPS).astype(np.int64)
    expected = np.zeros((2, count, 6), np.int64)
    for name, place, sentence in zip(owner, row, close, strict=True):
        expected[int(sentence), name] += wholes[place]
    blocks = list(Occurrences(names, names[owner], row, close).sums(lambda rows: vectors[rows]))
    for place, found in enumerate((names, *expected)):
        assert np.array_equal(np.concatenate([block[place] for block in blocks]), found)
