"""The embedding model as a graph for onnxruntime, its products those of 8-bit integers."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.capi.onnxruntime_inference_collection import InferenceSession

HEADS = 12
SIZE = 32  # numbers of a head
PARTS = 6  # products of a layer: query, key, value, out, up and down
_EPSILON = 1e-12
_CONTRIB = "com.microsoft"


def with_integer_products(path: Path, apart: bool) -> bytes:
    """Return the model with its int8 weights multiplied as integers, serialized.

    Token ids, shape (texts, tokens), become `states`, (texts, tokens, 384). The file widens its
    weights to float before each product; integer instructions take a quarter of that time. It also
    makes a mask, which texts of equal length do not need, and widens every word it knows. For
    each product the states are scaled to 8 bits by the largest of the pass, or, if `apart`, by the
    largest of each text: then short texts share a pass, each with the states that it has alone.
    """
    model = onnx.load(str(path))
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    products = [node.input[1] for node in model.graph.node
                if node.op_type == "MatMul" and f"{node.input[1]}_q" in weights]
    places = "inner.embeddings.position_embeddings.weight"
    weights[places] = weights[f"{places}_q"].astype(np.float32) * weights[f"{places}_scale"]
    del model  # the largest part of a reading process's memory would be copies of it
    return encoder_of(weights, products, apart)


def encoder_of(weights: dict[str, Any], products: Sequence[str], apart: bool) -> bytes:
    """Return a BERT of `PARTS` products a layer as a serialized graph; see `with_integer_products`.

    The weights are taken out of `weights` one after the other, so that few are in memory twice.

    Weights without a table of words make a graph that takes `words`, (texts, tokens, 384), instead
    of token ids.
    """
    return _Encoder(weights, products, apart).build()


@cache
def sums_are_exact() -> bool:
    """Return True if products of unsigned with signed bytes add up exactly on this processor.

    AVX2 without VNNI adds two of them in 16 bits, which clips sums beyond 32,767.
    """
    left, right = np.full((8, 64), 255, np.uint8), np.full((64, 64), 127, np.int8)
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["left", "right"], ["sums"])], "largest sums",
        [helper.make_tensor_value_info("left", TensorProto.UINT8, left.shape)],
        [helper.make_tensor_value_info("sums", TensorProto.INT32, (8, 64))],
        [numpy_helper.from_array(right, "right")])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    session = InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (sums,) = session.run(None, {"left": left})
    return bool(np.all(sums == 255 * 127 * 64))


class _Encoder:
    """The nodes of BERT, in order; each method adds nodes and returns the name of the last.

    Parameters
    ----------
    products : list of str
        Names of the weights: query, key, value, out, up and down of each layer.
    """

    def __init__(self, weights: dict[str, Any], products: Sequence[str], apart: bool) -> None:
        self._weights = weights
        self._products = products
        self._apart = apart
        self._input = helper.make_tensor_value_info(
            "input_ids", TensorProto.INT64, ["texts", "tokens"])
        self._model = helper.make_model(
            helper.make_graph([], "encoder", [], []), ir_version=8,
            opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(_CONTRIB, 1)])
        self._nodes, self._kept = self._model.graph.node, self._model.graph.initializer

    def build(self) -> bytes:
        """Return the graph, serialized."""
        states = self._embed()
        for layer in range(len(self._products) // PARTS):
            states = self._layer(states, layer)
        self._nodes[-1].output[0] = "states"
        self._model.graph.input.append(self._input)
        self._model.graph.output.append(
            helper.make_tensor_value_info("states", TensorProto.FLOAT, ["texts", "tokens", None]))
        return bytes(self._model.SerializeToString())

    def _add(self, kind: str, *inputs: str, **settings: Any) -> str:
        name = f"made{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [name], **settings))
        return name

    def _keep(self, value: Any) -> str:
        name = f"kept{len(self._kept)}"
        self._kept.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def _kept_weight(self, name: str) -> str:
        return self._keep(self._weights.pop(name))

    def _embed(self) -> str:
        at = "inner.embeddings."
        word = self._look_up(f"{at}word_embeddings.weight")
        kind = self._keep(self._weights.pop(f"{at}token_type_embeddings.weight")[0])
        places = self._weights.pop(f"{at}position_embeddings.weight")
        length = self._add("Shape", self._input.name, start=1, end=2)
        place = self._add("Slice", self._keep(places), self._keep(np.array([0])), length)
        return self._add("LayerNormalization",
                         self._add("Add", self._add("Add", word, kind), place),
                         self._kept_weight(f"{at}LayerNorm.weight"),
                         self._kept_weight(f"{at}LayerNorm.bias"), axis=-1, epsilon=_EPSILON)

    def _look_up(self, table: str) -> str:
        if f"{table}_q" not in self._weights:
            self._input = helper.make_tensor_value_info(
                "words", TensorProto.FLOAT, ["texts", "tokens", HEADS * SIZE])
            return "words"
        parts = [self._kept_weight(f"{table}_{part}") for part in ("q", "scale")]
        found = [self._add("Gather", part, "input_ids") for part in parts]
        return self._add("Mul", self._add("Cast", found[0], to=TensorProto.FLOAT), found[1])

    def _layer(self, states: str, number: int) -> str:
        at = f"inner.encoder.layer.{number}."
        query, key, value, out, up, down = self._products[PARTS * number:PARTS * (number + 1)]
        of_all = [f"{at}attention.self.{part}.bias" for part in ("query", "key", "value")]
        asked = self._product(states, [query, key, value], of_all)
        met = self._product(self._attention(asked), [out])
        states = self._add_up(met, states, f"{at}attention.output.")
        wide = self._product(states, [up], [f"{at}intermediate.dense.bias"])
        # the half of Gelu is in the scale of these weights, which changes no bit
        return self._add_up(self._product(self._gelu(wide), [down], share=0.5), states, f"{at}output.")

    def _attention(self, asked: str) -> str:
        """Compute the attention among the tokens of a text; `asked` are queries, keys and values."""
        heads = self._add("Reshape", asked, self._keep(np.array([0, 0, 3 * HEADS, SIZE])))
        turned = self._add("Transpose", heads, perm=[0, 2, 1, 3])
        parts = [f"{turned}{part}" for part in "qkv"]
        self._nodes.append(helper.make_node(
            "Split", [turned, self._keep(np.array([HEADS] * 3))], parts, axis=1))
        likeness = self._add("FusedMatMul", parts[0], parts[1], domain=_CONTRIB, transB=1,
                             alpha=float(np.float32(SIZE ** -0.25)) ** 2)
        heard = self._add("MatMul", self._add("Softmax", likeness, axis=-1), parts[2])
        back = self._add("Transpose", heard, perm=[0, 2, 1, 3])
        return self._add("Reshape", back, self._keep(np.array([0, 0, HEADS * SIZE])))

    def _gelu(self, states: str) -> str:
        """Compute twice Gelu, in the steps of the file: the operator Gelu rounds differently."""
        root, one = (self._keep(np.float32(x)) for x in (np.sqrt(2), 1))
        error = self._add("Erf", self._add("Div", states, root))
        return self._add("Mul", states, self._add("Add", error, one))

    def _add_up(self, states: str, before: str, at: str) -> str:
        parts = [self._kept_weight(f"{at}{part}")
                 for part in ("LayerNorm.weight", "LayerNorm.bias", "dense.bias")]
        return self._add("SkipLayerNormalization", states, before, *parts, domain=_CONTRIB,
                         epsilon=_EPSILON)

    def _product(self, states: str, names: list[str], biases: list[str] | None = None,
                 share: float = 1.0) -> str:
        """Multiply the states by a share of these weights, concatenated, and add the biases."""
        wide = np.concatenate([self._weights.pop(f"{name}_q") for name in names], axis=1)
        scale = np.concatenate([self._weights.pop(f"{name}_scale").ravel() for name in names])
        scale *= np.float32(share)
        bias = self._keep(np.concatenate([self._weights.pop(name) for name in biases])) if biases else ""
        if self._apart:
            product = self._product_apart(states, wide, scale)
            return self._add("Add", product, bias) if bias else product
        more = ("", bias) if bias else ()
        return self._add("DynamicQuantizeMatMul", states, self._keep(wide), self._keep(scale),
                         *more, domain=_CONTRIB)

    def _product_apart(self, states: str, wide: Any, scale: Any) -> str:
        """Compute the numbers of DynamicQuantizeMatMul for one text, step by step for each text."""
        flat = self._add("Reshape", states, self._keep(np.array([0, -1])))
        none, column = self._keep(np.float32(0)), self._keep(np.array([-1, 1, 1]))
        ends = []
        for kind in ("Min", "Max"):
            most = self._add(f"Reduce{kind}", flat, axes=[1], keepdims=0)
            ends.append(self._add(kind, most, none))
        step = self._add("Div", self._add("Sub", ends[1], ends[0]), self._keep(np.float32(255)))
        zero = self._add("Cast", self._add("Round", self._add(
            "Sub", none, self._add("Div", ends[0], step))), to=TensorProto.UINT8)
        bytes_of = self._add("QuantizeLinear", states, step, zero, axis=0)
        sums = self._keep(wide.sum(axis=0, dtype=np.int32))
        whole = self._add("Sub", self._add("MatMulInteger", bytes_of, self._keep(wide)), self._add(
            "Mul", self._add("Reshape", self._add("Cast", zero, to=TensorProto.INT32), column), sums))
        return self._add("Mul", self._add("Cast", whole, to=TensorProto.FLOAT), self._add(
            "Mul", self._add("Reshape", step, column), self._keep(scale)))
