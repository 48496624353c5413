"""Run the sentence model all-MiniLM-L6-v2 on the CPU, and build its ONNX file.

It is slower than word vectors, and knows the order of words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamina.embedders import required, unit
from lamina.errors import EmbedderFailed
from lamina.home import extras

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FOLDER = "minilm"
MODEL = "model.onnx"
TOKENIZER = "tokenizer.json"
PULL = "`lamina model pull minilm` fetches it"
DIMENSIONS = 384
HEADS = 12
# The model was made for texts up to here; what is behind it is not looked at. Tokens of so many
# characters are rare.
MAX_TOKENS = 256
MAX_CHARACTERS = 16_384
MARKS = 2  # every text begins and ends with a token that is not its own
EPSILON = 1e-12
# Its errors are raised as well as printed, and it warns about graphics cards that nobody asked for.
QUIET = 4
# Fixed, so that a new onnx makes files that an older onnxruntime can read.
OPSET, IR_VERSION = 20, 10


class MiniLM:
    """The model that `models.pull` has put into the cache."""

    name = "minilm-384"

    def __init__(self, cache: Path, *, dimensions: int = DIMENSIONS, threads: int = 1) -> None:
        self.folder = cache / FOLDER
        self.dimensions = dimensions
        self.threads = threads

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(rows, texts, strict=True):
            tokens = self._tokenizer.encode(text[:MAX_CHARACTERS]).ids
            if len(tokens) > MARKS:
                row[:] = self._vector(np.array([tokens], np.int64))
        return unit(rows)

    def _vector(self, tokens: NDArray[np.int64]) -> NDArray[np.float32]:
        """Embed one text at a time, for the same bits whatever else is in the batch.

        Batches of equal length would not give them, and are only a tenth faster.
        """
        session = self._session
        try:
            vector: NDArray[np.float32] = session.run(None, {"tokens": tokens})[0][0]
        except Exception as error:  # its exceptions have no common name
            raise self._broken(MODEL, error) from error
        if vector.shape != (self.dimensions,):
            raise self._broken(MODEL, f"it has {vector.shape} dimensions, not {self.dimensions}")
        return vector

    @cached_property
    def _tokenizer(self) -> Any:
        tokenizers, path = required("tokenizers", "`pip install tokenizers`"), self._file(TOKENIZER)
        try:
            tokenizer = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # that is what it raises
            raise self._broken(TOKENIZER, error) from error
        tokenizer.no_padding()
        tokenizer.enable_truncation(MAX_TOKENS)
        return tokenizer

    @cached_property
    def _session(self) -> Any:
        runtime, path = required("onnxruntime", extras.remedy("minilm")), self._file(MODEL)
        runtime.set_default_logger_severity(QUIET)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.log_severity_level = QUIET
        try:
            return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its exceptions have no common name
            raise self._broken(MODEL, error) from error

    def _file(self, name: str) -> Path:
        if not (path := self.folder / name).is_file():
            raise EmbedderFailed(f"the model minilm is not in {self.folder.parent}; {PULL}")
        return path

    def _broken(self, name: str, error: object) -> EmbedderFailed:
        problem = f"{str(error)[:200]}; {PULL} again"
        return EmbedderFailed(f"{self.folder / name} cannot be used: {problem}")


def build(tensors: Mapping[str, NDArray[np.float32]], heads: int) -> bytes:
    """Build the ONNX file: BERT of these weights, and the mean over the tokens of a text."""
    graph = _Graph()
    hidden = _embedding(graph, tensors)
    layer = 0
    while f"encoder.layer.{layer}.output.dense.weight" in tensors:
        weights = _Weights(graph, tensors, f"encoder.layer.{layer}.")
        hidden = _attention(graph, weights, heads, hidden)
        hidden = _feed_forward(graph, weights, hidden)
        layer += 1
    graph.node("ReduceMean", hidden, graph.integers(1), keepdims=0, output="vector")
    return graph.file()


def _embedding(graph: _Graph, tensors: Mapping[str, NDArray[np.float32]]) -> str:
    weights = _Weights(graph, tensors, "embeddings.")
    words = graph.node("Gather", weights("word_embeddings.weight"), "tokens")
    # There is one text, not a pair, so what marks the first of a pair is the same everywhere.
    first_of_pair = weights.tensor("token_type_embeddings.weight")[0]
    positions = (weights.tensor("position_embeddings.weight") + first_of_pair)[:MAX_TOKENS]
    length = graph.node("Shape", "tokens", start=1, end=2)
    zero, axis = graph.integers(0), graph.integers(0)
    used = graph.node("Slice", graph.constant(positions), zero, length, axis)
    return weights.normalised("LayerNorm", graph.node("Add", words, used))


def _attention(graph: _Graph, weights: _Weights, heads: int, hidden: str) -> str:
    """Add to each token what it takes from the others of its text."""
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
    """Add to each token what two dense layers make of it."""
    wide = graph.node("Gelu", weights.dense("intermediate.dense", hidden))
    change = weights.dense("output.dense", wide)
    return weights.normalised("output.LayerNorm", graph.node("Add", change, hidden))


class _Graph:
    """An ONNX graph in the making. The output of a node is known by a name."""

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
        vector = helper.make_tensor_value_info("vector", types.FLOAT, ["texts", None])
        constants = list(self.constants.values())
        graph = helper.make_graph(self.nodes, FOLDER, [tokens], [vector], constants)
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)
        content: bytes = model.SerializeToString()
        return content


class _Weights:
    """The weights under a prefix, and the two operations that every layer does with them."""

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
