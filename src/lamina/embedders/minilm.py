"""Build the ONNX file of the sentence model all-MiniLM-L6-v2 from its weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lamina.embedders import required
from lamina.embedders.encoder import MAX_TOKENS
from lamina.home import extras

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HEADS = 12
EPSILON = 1e-12
# Fixed, so that a new onnx writes files that an older onnxruntime can read.
OPSET, IR_VERSION = 20, 10


def build(tensors: Mapping[str, NDArray[np.float32]], heads: int) -> bytes:
    """Build the ONNX file: BERT with these weights, up to the final hidden states of the tokens."""
    graph = _Graph()
    hidden = _embedding(graph, tensors)
    layer = 0
    while f"encoder.layer.{layer}.output.dense.weight" in tensors:
        weights = _Weights(graph, tensors, f"encoder.layer.{layer}.")
        hidden = _attention(graph, weights, heads, hidden)
        hidden = _feed_forward(graph, weights, hidden)
        layer += 1
    graph.node("Identity", hidden, output="states")
    return graph.file()


def _embedding(graph: _Graph, tensors: Mapping[str, NDArray[np.float32]]) -> str:
    weights = _Weights(graph, tensors, "embeddings.")
    words = graph.node("Gather", weights("word_embeddings.weight"), "tokens")
    # There is one text, not a pair, so every token gets the embedding for the first of a pair.
    first_of_pair = weights.tensor("token_type_embeddings.weight")[0]
    positions = (weights.tensor("position_embeddings.weight") + first_of_pair)[:MAX_TOKENS]
    length = graph.node("Shape", "tokens", start=1, end=2)
    zero, axis = graph.integers(0), graph.integers(0)
    used = graph.node("Slice", graph.constant(positions), zero, length, axis)
    return weights.normalised("LayerNorm", graph.node("Add", words, used))


def _attention(graph: _Graph, weights: _Weights, heads: int, hidden: str) -> str:
    """Add a self-attention layer."""
    size = len(weights.tensor("attention.self.query.bias")) // heads
    split = graph.integers(0, 0, heads, size)

    def heads_of(name: str, order: Sequence[int], scale: float = 1.0) -> str:
        wide = graph.node("Reshape", weights.dense(f"attention.self.{name}", hidden, scale), split)
        return graph.node("Transpose", wide, perm=order)

    query = heads_of("query", (0, 2, 1, 3), size**-0.5)
    scores = graph.node("MatMul", query, heads_of("key", (0, 2, 3, 1)))
    shares = graph.node("Softmax", scores, axis=-1)
    mixed = graph.node("MatMul", shares, heads_of("value", (0, 2, 1, 3)))
    ordered = graph.node("Transpose", mixed, perm=(0, 2, 1, 3))
    joined = graph.node("Reshape", ordered, graph.integers(0, 0, heads * size))
    change = weights.dense("attention.output.dense", joined)
    return weights.normalised("attention.output.LayerNorm", graph.node("Add", change, hidden))


def _feed_forward(graph: _Graph, weights: _Weights, hidden: str) -> str:
    """Add a feed-forward layer: two dense layers with a residual connection."""
    wide = graph.node("Gelu", weights.dense("intermediate.dense", hidden))
    change = weights.dense("output.dense", wide)
    return weights.normalised("output.LayerNorm", graph.node("Add", change, hidden))


class _Graph:
    """Builds an ONNX graph. The output of a node is referred to by name."""

    def __init__(self) -> None:
        self.onnx = required("onnx", extras.remedy("minilm"))
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def node(self, operator: str, *inputs: str, output: str = "", **attributes: object) -> str:
        output = output or f"{operator}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, [output], **attributes))
        return output

    def constant(self, value: NDArray[Any]) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants[name] = self.onnx.numpy_helper.from_array(value, name)
        return name

    def integers(self, *values: int) -> str:
        import numpy as np

        return self.constant(np.array(values, np.int64))

    def file(self) -> bytes:
        helper, types = self.onnx.helper, self.onnx.TensorProto
        tokens = helper.make_tensor_value_info("tokens", types.INT64, ["texts", "length"])
        states = helper.make_tensor_value_info("states", types.FLOAT, ["texts", "length", None])
        constants = list(self.constants.values())
        graph = helper.make_graph(self.nodes, "minilm", [tokens], [states], constants)
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)
        content: bytes = model.SerializeToString()
        return content


class _Weights:
    """The weights with a common prefix, and the two operations that every layer applies to them."""

    def __init__(
        self, graph: _Graph, tensors: Mapping[str, NDArray[np.float32]], prefix: str
    ) -> None:
        self.graph, self.tensors, self.prefix = graph, tensors, prefix

    def __call__(self, name: str) -> str:
        return self.graph.constant(self.tensor(name))

    def tensor(self, name: str) -> NDArray[np.float32]:
        return self.tensors[self.prefix + name]

    def dense(self, name: str, hidden: str, scale: float = 1.0) -> str:
        import numpy as np

        weight = np.ascontiguousarray(self.tensor(f"{name}.weight").T)
        matrix = self.graph.constant(weight * np.float32(scale))
        bias = self.graph.constant(self.tensor(f"{name}.bias") * np.float32(scale))
        return self.graph.node("Add", self.graph.node("MatMul", hidden, matrix), bias)

    def normalised(self, name: str, hidden: str) -> str:
        scale, bias = self(f"{name}.weight"), self(f"{name}.bias")
        return self.graph.node("LayerNormalization", hidden, scale, bias, axis=-1, epsilon=EPSILON)
