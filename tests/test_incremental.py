"""What a change touches is made anew, and then the graph is that of the whole log."""

import random
import re
import time
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import killed, started

from qafd.arrays import ByteRows, TextBlock, open_columns, to_bytes
from qafd.errors import QafdError
from qafd.graph_cache import follow_columns, keep_columns, pack, read_all, read_graph, unpack
from qafd.ingest import extend
from qafd.ingest.engine import Here
from qafd.ingest.update import GraphUpdate
from qafd.plan.name_columns import columns_of
from qafd.reading.text import canonical
from qafd.records import Assertion, Chunk, Description, Document, Extraction, Mention
from qafd.retrieve.seeds import passages_of
from qafd.storage import open_workspace
from qafd.storage.full_assembly import assemble_stored

WORDS = ("Ada", "Ada Lovelace", "Lovelace", "Boris", "New York", "New York City", "York", "Radium",
         "radium", "Radium Institute", "ice", "ice cream", "Fuji", "fuji", "file 1", "File 2", "Ann 1",
         "Ann 2", "Москва", "Москве", "واشنطن", "وواشنطن", "東京", "東京都", "Αθήνα", "the", "saw",
         "I.B.M.", "Köln")
KINDS = ("PERSON", "PROPN", "ORG?", "term", "term", "heading", "LOC")
FILES = tuple(f"file_{number}.txt" for number in range(1, 7))


class Drawn:
    """Reads words of `WORDS` as it is drawn from the text itself, aliases and descriptions too."""

    name = "drawn-1"

    def extract_all(self, chunks):
        """One extraction per chunk."""
        for chunk in chunks:
            rng = random.Random(chunk.text)
            sentences = [m.span() for m in re.finditer(r"[^.\s][^.]*\.?", chunk.text)]
            mentions, assertions, said = [], [], []
            for number, (start, end) in enumerate(sentences):
                here = []
                for match in re.finditer("|".join(sorted(map(re.escape, WORDS), key=len,
                                                         reverse=True)), chunk.text[start:end]):
                    key = canonical(match.group())
                    if rng.random() < 0.5 or not key:
                        continue
                    if rng.random() < 0.1:
                        key = canonical(rng.choice(WORDS[:12]))
                    here.append(Mention(key, match.group(), start + match.start(),
                                        start + match.end(), number, rng.choice(KINDS)))
                mentions += here
                assertions += [Assertion(a.key, b.key, number, rng.choice(("", "met", "left")))
                               for a, b in zip(here, here[1:], strict=False)]
                for one in here[:1]:
                    said.append(Description(one.key, "", "", f"{one.name} in {number}"))
                    said.append(Description(one.key, here[-1].key, "weight", strength=1.5))
            if rng.random() < 0.3:
                said.append(Description(canonical(rng.choice(WORDS)), text="Heard of."))
            mentions.append(Mention(canonical(chunk.title), chunk.title, 0, 0, 0, "title"))
            yield Extraction(chunk.id, self.name, tuple(sentences), tuple(mentions),
                             tuple(assertions), tuple(said))


class Reticent(Drawn):
    """Describes next to nothing, so that names of many passages are hubs."""

    name = "reticent-1"

    def extract_all(self, chunks):
        """One extraction per chunk."""
        for chunk, extraction in zip(chunks, super().extract_all(chunks), strict=True):
            described = "Köln" in chunk.text
            yield extraction if described else replace(extraction, descriptions=())


class Crowded:
    """Few directions, so that many names are near each other, some of them equally.

    Its vectors are as they are kept, so that an assembly without a workspace has the same.
    """

    name, dimension = "crowded", 5

    def embed(self, texts):
        """Unit rows, shape (k, 5)."""
        rows = np.array([self._draw(text) for text in texts], np.float32).reshape(-1, 5)
        return ByteRows.of(to_bytes(rows))[:]

    def embed_spans(self, text, spans):
        """The text's vector and one for each span."""
        return self.embed([text])[0], self.embed([text[a:b] for a, b in spans])

    def _draw(self, text):
        rng = random.Random(text)
        return np.eye(5)[rng.randrange(5)] + 0.2 * np.array([rng.randint(0, 2) for _ in range(5)])


def engine(drawn=Drawn):
    return Here(drawn(), Crowded())


def put(store, name, words, title):
    """Log a document of up to three passages of these words; an empty one is not there."""
    passages, start = [], 0
    for number in range(0, len(words), 6):
        text = " ".join(words[number:number + 3]) + ". " + " ".join(words[number + 3:number + 6])
        passages.append(Chunk(f"{name}-{text}-{number}", name, title, text, start,
                              start + len(text)))
        start += len(text) + 2
    document = Document(name, title, "txt", "\n\n".join(one.text for one in passages))
    store.files.add(name, f"{title}\n{document.text}".encode())
    if store.files.claim(name) is not None:
        store.documents.put(name, [(document, tuple(passages))])


def faults(store):
    """What the graph has otherwise than the one that its log gives, assembled as a whole."""
    found = {table for table, many in store.assembly.differences(assemble_stored(store)).items() if many}
    before = seen(store)
    with suppress(Undone), store.transaction():
        store.assembly.drop()
        GraphUpdate(store, engine()).run()
        after = seen(store)
        raise Undone
    return found | {part for part in before if before[part] != after[part]}


class Undone(Exception):
    """Ends a transaction, so that nothing of it is written."""


def seen(store):
    graph = store.graph.read()
    return {"digest": store.graph.digest(), "vectors": graph.vectors[:].tobytes(),
            "names": graph.name_vectors[:].tobytes()}


def keys_of(store):
    with store.snapshot() as connection:
        return [row[0] for row in connection.execute(
            "SELECT name FROM nodes WHERE kind = 'entity' ORDER BY id")]


texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=14)
steps = st.lists(st.tuples(
    st.sampled_from(["put", "put", "put", "delete", "undo", "purge", "same", "same", "hide", "split",
                     "join", "cut", "undo edit"]),
    st.sampled_from(FILES), texts, st.integers(0, 50), st.integers(0, 50)), max_size=10)


def act(store, step, drawn=Drawn):
    """Do one step; what cannot be done is left."""
    verb, name, words, one, other = step
    names = keys_of(store) or ["Ada"]
    first, second = names[one % len(names)], names[other % len(names)]
    try:
        if verb == "put":
            title = ("file 1", "Radium", "Radium (song)", words[0], name.removesuffix(".txt"))[one % 5]
            put(store, name, words, title)
            extend(store, [name], engine(drawn))
        elif verb in ("delete", "undo", "purge"):
            getattr(store.documents, verb)(name)
        elif verb == "undo edit":
            store.edits.undo(1 + one % 5)
        elif verb == "same":
            store.edits.add("same", canonical(first), (second, f"{first} I")[one % 2])
        elif verb == "split":
            chunks = [chunk.id for chunk in store.log.read().chunks]
            store.edits.add("split", canonical(first), (second, f"{first} II")[one % 2],
                            passages=chunks[other % 3::2])
        else:
            label = ("", "met")[one % 2] if verb == "join" else ""
            store.edits.add(verb, canonical(first), canonical(second), label)
    except QafdError:
        pass
    before = store.graph.digest()
    changed = GraphUpdate(store, engine(drawn)).run()
    assert changed or store.graph.digest() == before


@pytest.mark.chaos
@given(st.lists(texts, min_size=6, max_size=6), steps)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_after_every_change_the_graph_is_that_of_the_whole_log(tmp_path_factory, documents, changes):
    folder = tmp_path_factory.mktemp("change")
    with open_workspace(folder / "grown.db") as store:
        store.vectors.stamp("crowded", 5)
        for name, words in zip(FILES, documents, strict=True):
            put(store, name, words, name.removesuffix(".txt"))
        extend(store, FILES, engine())
        for step in changes:
            act(store, step)
            assert not faults(store), step


@given(st.lists(texts, min_size=1, max_size=6), st.integers(1, 5), steps)
@settings(max_examples=25, deadline=None, derandomize=True)
def test_a_log_gone_through_in_slices_gives_the_graph_of_the_whole_log(
        tmp_path_factory, documents, many, changes):
    edits = [step for step in changes if step[0] in ("same", "hide", "split", "join", "cut")]
    with open_workspace(tmp_path_factory.mktemp("slices") / "whole.db") as store:
        store.vectors.stamp("crowded", 5)
        for name, words in zip(FILES, documents, strict=False):
            put(store, name, words, name.removesuffix(".txt"))
        extend(store, FILES[:len(documents)], engine())
        for step in edits:
            act(store, step)
        digest = store.graph.digest()
        store.assembly.drop()
        GraphUpdate(store, engine(), at_once=many).run()
        assert not faults(store)
        assert store.graph.digest() == digest
        put(store, FILES[0], ["Ada", "met", "Köln"], "other")
        extend(store, FILES[:1], engine())  # by facts that the whole log left
        assert not faults(store)


FREQUENT = (*["Ada", "Boris", "Ada Lovelace", "New York", "radium"] * 6, *WORDS)
MORE_FILES = tuple(f"file_{number}.txt" for number in range(1, 21))
VERBS = ("put", "put", "put", "delete", "undo", "purge", "same", "hide", "split", "join", "undo edit")


def fill(store, rng):
    """Read twenty files of frequent names."""
    store.vectors.stamp("crowded", 5)
    for name in MORE_FILES:
        put(store, name, rng.choices(FREQUENT, k=rng.randint(8, 24)), name.removesuffix(".txt"))
    extend(store, MORE_FILES, engine(Reticent))


def draw_step(rng):
    """A change of a file or of the entities."""
    return (rng.choice(VERBS), rng.choice(MORE_FILES), rng.choices(FREQUENT, k=rng.randint(1, 20)),
            rng.randrange(50), rng.randrange(50))


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(8))
def test_a_name_of_many_passages_follows_each_change_as_if_all_were_read(tmp_path, seed):
    rng = random.Random(seed)
    frequent = set()
    with open_workspace(tmp_path / "grown.db") as store:
        fill(store, rng)
        for _ in range(12):
            step = draw_step(rng)
            act(store, step, Reticent)
            assert not faults(store), step
            frequent.update(store.assembly.hubs(map(canonical, WORDS)))
    assert frequent


def test_a_title_that_becomes_one_of_many_passages_weighs_less_in_all_of_them(tmp_path):
    rng = random.Random(3)
    with open_workspace(tmp_path / "grown.db") as store:
        store.vectors.stamp("crowded", 5)
        names = [f"{number}.txt" for number in range(20)]
        for number, name in enumerate((*names, "more.txt")):
            put(store, name, rng.choices(("Ada", "saw"), k=6), "Radium" if 16 <= number < 20 else "Ada")
        extend(store, names, engine(Reticent))
        (before,) = store.assembly.hubs(["ada"]).values()
        extend(store, ["more.txt"], engine(Reticent))
        (after,) = store.assembly.hubs(["ada"]).values()
        assert (before.titled, after.titled, after.heading < before.heading) == (16, 17, True)
        assert not faults(store)


def vectors_in(arrays):
    graph = unpack(arrays, 1)
    return graph.vectors, graph.name_vectors, columns_of(graph).vectors, passages_of(graph, list).vectors


@pytest.mark.parametrize(("seed", "spare"), [(0, 0.1), (1, 0.1), (2, 0.7), (3, 0.7), (4, 0.7)])
def test_columns_that_follow_changes_are_those_of_the_graph_read_anew(tmp_path, monkeypatch, seed, spare):
    monkeypatch.setattr("qafd.graph_cache.SPARE", spare)
    rng = random.Random(seed)
    followed, unused = 0, []
    with open_workspace(tmp_path / "grown.db") as store:
        fill(store, rng)
        for number in range(16):
            if number % 3 == 0:  # several changes are followed at once
                keep_columns(store, large=1)
                store.assembly.follow(store.graph.revision, 10_000)
            step = draw_step(rng)
            act(store, step, Reticent)
            merged = follow_columns(store, open_columns(store.place.columns))
            if merged is None:
                assert store.assembly.read_moved()[0] < 0
                continue
            followed += 1
            anew = pack(*read_all(store))
            arrays = pack(*merged)
            graph = read_graph(store)
            assert isinstance(graph.ids, TextBlock)  # it follows too
            assert list(graph.ids) == list(store.graph.read().ids)
            assert arrays.keys() == anew.keys()
            for column, array in anew.items():
                assert arrays[column].dtype == array.dtype, (step, column)
                if not column.endswith((".numbers", ".lengths", ".places")):
                    assert np.array_equal(arrays[column], array), (step, column)
            for vectors, known in zip(vectors_in(arrays), vectors_in(anew), strict=True):
                assert np.array_equal(vectors[:], known[:]), step
                asked = known[:3].T
                assert np.allclose(vectors @ asked, known @ asked, atol=1e-6), step
            count = len(graph)
            unused.append(arrays["graph.vectors.numbers"].shape[0] - 2 * count + graph.count("passage"))
            assert unused[-1] <= spare * count
    assert followed >= 5
    assert any(unused) or spare < 0.7  # vectors of nodes that went are left where they are


@pytest.mark.chaos
def test_killed_at_any_moment_of_a_change_the_graph_is_that_of_the_whole_log(tmp_path):
    rng = random.Random(7)
    path = tmp_path / "killed.db"
    with open_workspace(path) as store:
        store.vectors.stamp("crowded", 5)
        for name in FILES:
            put(store, name, rng.choices(WORDS, k=14), name)
        extend(store, FILES, engine())
    for number in range(15):
        process = started(change_for_ever, path, number)
        time.sleep(rng.uniform(1.5, 2.5))  # it has loaded, and is at work
        killed(process)
        with open_workspace(path) as store:
            extend(store, FILES, engine())
            assert not faults(store)


def change_for_ever(path, seed):
    rng = random.Random(seed)
    with open_workspace(path) as store:
        while True:
            act(store, (rng.choice(["put", "delete", "undo", "same", "undo edit"]),
                        rng.choice(FILES), rng.choices(WORDS, k=rng.randint(1, 14)),
                        rng.randrange(50), rng.randrange(50)))


