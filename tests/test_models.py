import numpy as np
import pytest
from local_models import embedder
from onnxruntime import InferenceSession
from tokenizers import Tokenizer

from qafd.errors import ModelError
from qafd.models.embedder import MODEL_FILE, TOKENIZER_FILE, LocalEmbedder, checked_file
from qafd.models.multilingual import MultilingualEmbedder, multilingual_embedder

TEXTS = ["Malus domestica", "the Andes", "Steve Jobs", "A river in South America carries water.",
         "", "iOS", "Granny Smith", "x " * 700, "Apple", "\u82f9\u679c"]


@pytest.fixture(params=[embedder, multilingual_embedder], ids=["english", "languages"])
def model(request):
    return request.param()


def test_vectors_are_unit_rows_of_float32(model):
    vectors = model.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), model.dimension)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_a_text_has_the_same_bits_whatever_its_neighbors_are(model):
    many = [f"{word} {place}" for word in ("Lake", "Mount", "City") for place in
            ("Como", "Etna", "Ohrid", "Fuji", "Turin", "Nemi", "Bled", "Garda", "Tahoe")]
    together = model.embed(many)
    alone = np.concatenate([model.embed([text]) for text in many])
    reversed_order = model.embed(many[::-1])[::-1]
    assert np.array_equal(together, alone)
    assert np.array_equal(together, reversed_order)


@pytest.mark.parametrize("made", [LocalEmbedder, MultilingualEmbedder])
def test_a_text_has_the_same_bits_on_two_threads(made):
    assert np.array_equal(made(threads=2).embed(TEXTS), made().embed(TEXTS))


def test_integer_products_give_nearly_the_vectors_of_float_products():
    session = InferenceSession(checked_file(*MODEL_FILE), providers=["CPUExecutionProvider"])
    tokens = Tokenizer.from_file(str(checked_file(*TOKENIZER_FILE)))
    tokens.no_padding()
    for text in ("Malus domestica", "iOS", "A river in South America carries water."):
        ids = np.array([tokens.encode(text).ids], np.int64)
        (states,) = session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids),
                                       "token_type_ids": np.zeros_like(ids)})
        exact = states[0].mean(axis=0) / np.linalg.norm(states[0].mean(axis=0))
        assert 0.97 < embedder().embed([text])[0] @ exact < 1 - 1e-7


@pytest.mark.parametrize("made", [LocalEmbedder, MultilingualEmbedder])
def test_kernels_that_add_exactly_give_the_same_bits(made):
    slow = made()
    slow._options.add_session_config_entry("session.x64quantprecision", "1")
    assert np.array_equal(slow.embed(TEXTS), made().embed(TEXTS))


def test_a_long_text_is_the_mean_of_the_token_states_of_its_windows():
    model = embedder()
    text = "river " * 254 + "mill " * 9
    ids = model._tokenizer.encode(text, add_special_tokens=False).ids
    assert len(ids) == 254 + 9
    states = np.concatenate([model._pass(model._long, [some])[0] for some in (ids[:254], ids[254:])])
    mean = states.mean(axis=0)
    assert model.embed([text])[0] == pytest.approx(mean / np.linalg.norm(mean), abs=1e-6)


def test_a_span_is_read_alone(model):
    text = "Apple sells the iPhone. The Nile floods its banks."
    _, spans = model.embed_spans(text, [(0, 23), (23, 50)])
    alone = [model.embed_spans(part, [])[0] for part in ("Apple sells the iPhone.",
                                                         "The Nile floods its banks.")]
    assert np.array_equal(spans, np.stack(alone))


def test_another_hash_is_refused():
    package, name, _ = MODEL_FILE
    with pytest.raises(ModelError, match=r"SHA-256 8199be6f699a.*not the expected 000000"):
        checked_file(package, name, "0" * 64)
