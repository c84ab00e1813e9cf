"""The embedding model of 100 languages: its pieces, products and vectors, and workspaces with it."""

import math
import struct
from pathlib import Path

import numpy as np
import pytest
from scipy.special import erf
from tiny import tiny_index

from qafd.cli import main
from qafd.errors import EmbedderMismatchError, ModelError
from qafd.ingest.reader import choose, needs_languages, read_choice
from qafd.knowledge import KnowledgeGraph
from qafd.models.embedder import LocalEmbedder, checked_file
from qafd.models.multilingual import (
    EXTRA,
    MODEL_FILE,
    ModelFile,
    MultilingualEmbedder,
    multilingual_embedder,
)
from qafd.storage import open_workspace

GERMAN = [(f"{i}.txt", f"Die Fähre nach Lindau {i} fährt nicht, wenn der Wind über den See weht.".encode())
          for i in range(3)]


@pytest.fixture(scope="module")
def file():
    return ModelFile(checked_file(*MODEL_FILE))


def test_weights_of_four_bits_are_unpacked(file):
    packed = Path(checked_file(*MODEL_FILE)).read_bytes()
    start = packed.index(b"emb.word") + len(b"emb.word") + 1 + 4
    (place,) = struct.unpack_from("<Q", packed, start)
    row = []
    for block in range(12):  # of the 7th word
        at = place + (7 * 12 + block) * 18
        (scale,) = struct.unpack_from("<e", packed, at)
        low = [(byte & 15) - 8 for byte in packed[at + 2:at + 18]]
        high = [(byte >> 4) - 8 for byte in packed[at + 2:at + 18]]
        row += [scale * number for number in low + high]
    assert np.array_equal(file.rows("emb.word", 384, [7])[0], np.array(row, np.float32))


def float_vector(file, ids):
    """The unit mean of the states of some tokens, computed with floats from the weights as packed."""
    def norm(states, name):
        apart = states - states.mean(-1, keepdims=True)
        scale = np.sqrt((apart ** 2).mean(-1, keepdims=True) + 1e-12)
        return apart / scale * file.numbers(f"{name}.w") + file.numbers(f"{name}.b")

    def times(states, name, size):
        return states @ file.rows(f"{name}.w", size).T + file.numbers(f"{name}.b")

    places, kinds = (file.numbers(f"emb.{name}").reshape(-1, 384) for name in ("pos", "type"))
    states = norm(file.rows("emb.word", 384, ids) + places[:len(ids)] + kinds[0], "emb.ln")
    for layer in range(12):
        query, key, value = (times(states, f"l{layer}.{part}", 384).reshape(-1, 12, 32).swapaxes(0, 1)
                             for part in "qkv")
        heard = np.exp(query @ key.swapaxes(1, 2) / math.sqrt(32))
        heard = (heard / heard.sum(-1, keepdims=True)) @ value
        states = norm(states + times(heard.swapaxes(0, 1).reshape(-1, 384), f"l{layer}.ao", 384),
                      f"l{layer}.aln")
        wide = times(states, f"l{layer}.fi", 384)
        wide = wide * (1 + erf(wide / math.sqrt(2))) / 2
        states = norm(states + times(wide, f"l{layer}.fo", 1536), f"l{layer}.oln")
    mean = states.mean(axis=0)
    return mean / np.linalg.norm(mean)


@pytest.mark.parametrize("text", ["Berlin", "Die Fähre fährt nicht, wenn der Wind über den See weht.",
                                  "为审议外党人士提交的个人议案建立了什么组织？"])
def test_integer_products_give_nearly_the_vectors_of_float_products(file, text):
    embedder = multilingual_embedder()
    (ids,) = embedder._cut([f"query: {text}"])
    exact = float_vector(file, [0, *ids, 2]) - embedder._common
    assert 0.97 < embedder.embed([text])[0] @ exact / np.linalg.norm(exact) < 1 - 1e-7


def test_meanings_meet_across_languages_and_unrelated_names_stay_below_the_limit_of_synonyms():
    names = ["Munich", "München", "Moscow", "москва", "IBM", "Nile", "Yale University", "Albert Einstein"]
    cosines = multilingual_embedder().embed(names) @ multilingual_embedder().embed(names).T
    assert cosines[0, 1] > 0.8
    others = cosines[np.triu_indices(len(names), 1)]
    assert np.median(others) < 0.35
    assert np.sort(others)[-3] < 0.6


def test_a_passage_is_read_as_a_passage_and_a_question_as_a_question():
    whole, spans = multilingual_embedder().embed_spans("A ferry. A lake.", [(0, 8)])
    asked = multilingual_embedder().embed(["A ferry. A lake.", "A ferry."])
    assert 0.5 < whole @ asked[0] < 1 - 1e-4
    assert 0.5 < spans[0] @ asked[1] < 1 - 1e-4


def test_a_missing_package_is_one_sentence_with_the_extra():
    with pytest.raises(ModelError, match=r"run pip install 'qafd\[languages\]'\.$"):
        checked_file("no-such-package", "e5-small-q4.bin", "0" * 64, wanted=EXTRA)


def test_another_model_embeds_the_whole_workspace_again(tmp_path):
    path = tmp_path / "work.db"
    before = tiny_index(path, GERMAN)
    with open_workspace(path) as store:
        assert store.vectors.embedder == ("tiny", 8)
        assert needs_languages(store)
    KnowledgeGraph.open(path, languages=True)
    with open_workspace(path) as store:
        assert not needs_languages(store)
        assert store.graph.stale
    tiny_index(path, [])
    with open_workspace(path) as store:
        assert store.vectors.embedder == (MultilingualEmbedder.name, 384)
        stored = store.graph.read()
        assert stored.vectors.shape[1] == 384
    found = KnowledgeGraph.open(path).retrieve("When does the ferry not run?", "vector").passages
    assert len(found) == 3
    KnowledgeGraph.open(path, languages=False)
    assert tiny_index(path, []) == before


def test_vectors_of_another_model_are_refused(tmp_path):
    path = tmp_path / "work.db"
    tiny_index(path, GERMAN)
    with pytest.raises(EmbedderMismatchError, match=r"indexed with tiny \(8 dimensions\), not with "):
        KnowledgeGraph(path, multilingual_embedder()).plan("When?")


@pytest.mark.usefixtures("alone")
def test_the_command_offers_the_model_and_embeds_again_with_it(tmp_path, capsys):
    for name, data in GERMAN:
        (tmp_path / name).write_bytes(data)
    names = [str(tmp_path / name) for name, _ in GERMAN]
    index = ["index", "--db", str(tmp_path / "work.db")]
    assert main([*index, *names]) == 0
    assert "qafd index --languages" in capsys.readouterr().err
    assert main([*index, "--languages"]) == 0
    assert "--languages" not in capsys.readouterr().err
    with open_workspace(tmp_path / "work.db") as store:
        assert store.vectors.embedder[0] == MultilingualEmbedder.name
        assert not store.graph.stale
        kept = read_choice(store)
        choose(store, kept)
        assert store.vectors.embedder[0] == MultilingualEmbedder.name
    assert main([*index, "--english"]) == 0
    with open_workspace(tmp_path / "work.db") as store:
        assert store.vectors.embedder[0] == LocalEmbedder.name


def test_english_documents_need_no_other_model(tmp_path):
    tiny_index(tmp_path / "work.db", [("a.txt", b"The ferry does not run when the wind is strong.")])
    with open_workspace(tmp_path / "work.db") as store:
        assert not needs_languages(store)
