"""Evaluate layers and shape-preserving functions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence

from shapecalc.core.ops.broadcast import BROADCAST
from shapecalc.core.ops.expand import EXPAND
from shapecalc.core.ops.strides import compute_format_strides, has_memory_format, suggests_channels_last
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import replace
from shapecalc.core.text import truncate
from shapecalc.reading.checks import CHECKED_FUNCTIONS, CHECKED_LAYERS, CheckedLayer
from shapecalc.reading.code.arguments import Call
from shapecalc.reading.code.calls import call_function, is_known_function
from shapecalc.reading.code.expressions import ExpressionEvaluator
from shapecalc.reading.code.kind_checks import apply_kind_rule
from shapecalc.reading.code.kinds import ANY_KIND, parse_type_name
from shapecalc.reading.code.logic import freeze_value
from shapecalc.reading.code.operands import apply_multi_operand
from shapecalc.reading.code.results import StatementRecord
from shapecalc.reading.code.source import dotted_name, is_preserving_layer
from shapecalc.reading.code.tuple_layers import (
    FUNCTIONS_OF_LAYERS,
    IMPLIED_ARGUMENTS,
    OPLESS_LAYERS,
    OTHER_TENSOR_PARAMETERS,
    TENSOR_PARAMETERS,
    pad_arguments,
)
from shapecalc.reading.code.values import (
    Binding,
    CheckRefused,
    CodeValue,
    ErrorFactory,
    LayerInstance,
    ObjectValue,
    TracedTensor,
)
from shapecalc.reading.preserving import (
    CAST,
    CASTING_FUNCTIONS,
    ELEMENT_TYPE_NAME,
    ELEMENTWISE,
    PRESERVING_FUNCTIONS,
    SAME_STRIDES,
    find_preserving_layer,
)

MEMORY_FORMAT_RANKS = {"channels_last": 4, "channels_last_3d": 5}
"""The tensor rank that each memory format requires."""
DEVICE_NAME = r"(?i)device|cuda|cpu|mps|^-?\d+$"
"""A regular expression for the arguments of `to` that name a device."""


def is_not_float32(name: str) -> bool:
    """Return whether the name of a dtype denotes a type other than float32."""
    return re.fullmatch(ELEMENT_TYPE_NAME, name) is not None and name not in ("float", "float32")


def is_known_layer(name: str) -> bool:
    """Return whether a layer is supported."""
    is_listed = name in OPLESS_LAYERS or name in FUNCTIONS_OF_LAYERS or pad_arguments(name, (0,)) is not None
    return name == "Sequential" or is_shape_preserving(name) or is_listed or is_known_function(name)


def reshape_numpy_input(name: str, tensor: TracedTensor, *, has_axis: bool) -> TracedTensor:
    """Reshape the input of a NumPy function that changes the rank.

    Without an axis, `cumsum` and `cumprod` flatten their input. `tril` and `triu` expand a vector to a matrix. Source:
    numpy.cumsum, numpy.tril.
    """
    if name in ("cumsum", "cumprod") and not has_axis and tensor.rank != 1:
        return tensor.reshape(-1)
    if name in ("tril", "triu") and tensor.rank == 1:
        return tensor.apply(EXPAND, target=tensor.shape * 2)
    return tensor


def is_shape_preserving(layer_name: str) -> bool:
    """Return whether a layer preserves the shape, according to the tables of layers or to its name."""
    return layer_name in (*CHECKED_LAYERS, "Activation") or (
        is_preserving_layer(layer_name) and layer_name not in FUNCTIONS_OF_LAYERS
    )


class LayerEvaluator(ExpressionEvaluator):
    """An evaluator of layers and shape-preserving functions."""

    def call_object(
        self,
        instance: ObjectValue,
        positional: Sequence[Binding],
        keywords: Mapping[str, Binding],
        error: ErrorFactory,
    ) -> CodeValue:
        """Call an instance of a class that the code defines."""
        raise NotImplementedError

    def apply_layer(
        self, layer: LayerInstance, values: list[CodeValue], keywords: Mapping[str, CodeValue], error: ErrorFactory
    ) -> CodeValue:
        """Apply a layer to a tensor.

        For a `Sequential`, its layers are applied in order.
        """
        keywords = {**keywords}
        first = TENSOR_PARAMETERS.get(layer.name, "input")
        second = OTHER_TENSOR_PARAMETERS.get(layer.name, "target")
        if not values and isinstance(keywords.get(first), TracedTensor):
            values = [keywords.pop(first)]
        if layer.name in FUNCTIONS_OF_LAYERS and len(values) == 1 and second in keywords:
            values = [*values, keywords.pop(second)]  # the target precedes the arguments of the layer
        if layer.name == "Sequential" and values:
            for index, inner in enumerate(layer.positional):
                if isinstance(inner, ObjectValue):
                    values = [self.call_object(inner, values, {}, error)]
                    continue
                if not isinstance(inner, LayerInstance):
                    raise self.unknown_layer_error(error)
                values = [self.apply_layer(inner, values, {}, error)]
                self.record_layer(index, inner, values[0])
            return values[0]
        result = self.apply_single_layer(layer, values, keywords, error)
        name = FUNCTIONS_OF_LAYERS.get(layer.name, layer.name)
        return apply_kind_rule(name, [*values, *layer.positional], {}, result, error)

    def unknown_layer_error(self, error: ErrorFactory) -> ShapeError:
        """Return the error for an unknown layer of a `Sequential`.

        The layer is recorded as a call whose result the user can provide.
        """
        # the node is the first argument of the partial that `error_factory` returns
        called: object = getattr(error, "args", [None])[0]
        return self.unknown_function_error(called) if isinstance(called, ast.Call) else error("this is no layer")

    def apply_single_layer(
        self, layer: LayerInstance, values: list[CodeValue], keywords: Mapping[str, CodeValue], error: ErrorFactory
    ) -> CodeValue:
        """Apply a layer that contains no other layers of the code."""
        if is_shape_preserving(layer.name) and values:
            return self.apply_shape_preserving_layer(layer, values[0], error)
        if (padding := pad_arguments(layer.name, layer.positional)) is not None:
            return call_function("pad", [*values, *padding], {}, error)
        if layer.name in OPLESS_LAYERS and values and isinstance(values[0], TracedTensor):
            own = Call(layer.name, layer.positional, layer.keywords, error)
            return OPLESS_LAYERS[layer.name].apply(values[0], own, Call(layer.name, tuple(values[1:]), keywords, error))
        order = layer.positional[0] if layer.positional else None
        # the axes of Keras's `Permute` start at 1
        if layer.name == "Permute" and isinstance(order, tuple) and 0 in order:
            return call_function("permute", [*values, *layer.positional], {**layer.keywords}, error)
        name = FUNCTIONS_OF_LAYERS.get(layer.name, layer.name)
        if not is_known_function(name):
            raise error(f"{truncate(layer.name)} is not known here")
        named = {**keywords, **layer.keywords, **IMPLIED_ARGUMENTS.get(layer.name, {})}
        return call_function(name, [*values, *layer.positional], named, error)

    def apply_shape_preserving_layer(self, layer: LayerInstance, value: CodeValue, error: ErrorFactory) -> CodeValue:
        """Apply a layer that preserves the shape.

        A layer without a check of its input is recorded in `unchecked`.
        """
        if not isinstance(value, TracedTensor):
            return value
        row = CHECKED_LAYERS.get(layer.name)
        if row is None and layer.name != "Activation":
            self.unchecked[self.line, layer.name] = None
        elif row is not None:
            value = self.check_layer(layer.name, row, value, layer.positional, layer.keywords, error)
        function = find_preserving_layer(layer.name)
        is_in_place = any(value is True for value in (layer.keywords.get("inplace"), *layer.positional))
        if function is ELEMENTWISE and is_in_place:
            self.in_place_change, function = self.in_place_change or layer.name, SAME_STRIDES
        return value.apply_shape_preserving(function)

    def record_layer(self, index: int, layer: LayerInstance, value: CodeValue) -> None:
        """Record the result of a layer in a `Sequential`."""
        if not self.is_quiet and layer.name != "Sequential":
            place = (self.line, self.line, self.frame.function, self.frame.depth + 1)
            self.records.append(StatementRecord(*place, {"": value}, f"{index}  {layer}", layer))

    def apply_preserving_function(
        self, node: ast.Call, name: str, tensor: TracedTensor, arguments: Sequence[ast.expr]
    ) -> TracedTensor:
        """Apply a shape-preserving function to a tensor.

        `arguments` are the arguments other than the tensor.
        """
        function, keywords = PRESERVING_FUNCTIONS[name], {word.arg: word.value for word in node.keywords}
        if tensor.conventions.numpy_arguments:
            tensor = reshape_numpy_input(name, tensor, has_axis=bool(arguments) or "axis" in keywords)
        if name in CHECKED_FUNCTIONS and tensor.conventions.torch_checks:
            named = {word.arg or "": self.evaluate_frozen(word.value) for word in node.keywords}
            positional = [*map(self.evaluate_frozen, arguments)]
            error = self.error_factory(node)
            tensor = self.check_layer(name, CHECKED_FUNCTIONS[name], tensor, positional, named, error)
        nodes = [*arguments, *filter(None, [keywords.get("dtype")])]
        types = self.find_cast_types(nodes) if name in CASTING_FUNCTIONS else []
        if types:
            function = CAST if all(map(is_not_float32, types)) else SAME_STRIDES
        if name == "dropout" and "training" not in keywords and len(arguments) < 2:
            function = ELEMENTWISE  # F.dropout returns a new tensor by default, even in evaluation mode
        is_in_place = getattr(keywords.get("inplace"), "value", False) is True
        if is_in_place or (name.endswith("_") and not function.keeps_elements):
            self.in_place_change, function = self.in_place_change or self.source_text(node), SAME_STRIDES
        result = tensor.apply_shape_preserving(function)
        if name in CASTING_FUNCTIONS or name in ("long", "short", "char"):
            kinds = self.cast_kinds(nodes, tensor) if name in CASTING_FUNCTIONS else "i"
            result = replace(
                result,
                kinds=kinds,
                extremes=tensor.extremes if kinds in ("i", "f") and "b" not in tensor.kinds else None,
            )
        if "memory_format" not in keywords or not tensor.conventions.is_strided:
            return result
        return self.apply_memory_format(node, name, tensor, result)

    def evaluate_frozen(self, node: ast.expr) -> Binding:
        """Evaluate an expression, and return its value or error, with lists converted to tuples."""
        try:
            return freeze_value(self.evaluate(node))
        except ShapeError as error:
            return error

    def find_cast_types(self, nodes: Iterable[ast.expr]) -> list[str]:
        """Return the element type names among the arguments of a cast."""
        texts = [
            self.source_text(node)
            for node in nodes
            if not (isinstance(node, ast.Constant) and node.value in (True, False, None))
        ]
        return [text.rpartition(".")[2].strip("'\"") for text in texts if not re.search(DEVICE_NAME, text)]

    def cast_kinds(self, nodes: Iterable[ast.expr], tensor: TracedTensor) -> str:
        """Return the possible element kinds after a cast with the arguments `nodes`."""
        kinds = [
            self.type_kinds(node)
            for node in nodes
            if not (isinstance(node, ast.Constant) and node.value in (True, False, None))
            and not re.search(DEVICE_NAME, self.source_text(node))
        ]
        return kinds[0] if kinds else tensor.kinds

    def type_kinds(self, node: ast.expr) -> str:
        """Return the possible kinds of an element type, given its name or a tensor of this type."""
        owner = node.value if isinstance(node, ast.Attribute) and node.attr == "dtype" else node
        value = self.evaluate_binding(owner)
        if isinstance(value, TracedTensor):
            return value.kinds
        return parse_type_name(self.source_text(node).rpartition(".")[2].strip("'\"")) or ANY_KIND

    def keyword_kinds(self, node: ast.Call) -> str:
        """Return the possible kinds that the argument `dtype` of a call requests.

        Returns an empty string if the call has no such argument.
        """
        types = [word.value for word in node.keywords if word.arg == "dtype"]
        is_given = types and not (isinstance(types[0], ast.Constant) and types[0].value is None)
        return self.type_kinds(types[0]) if is_given else ""

    def apply_memory_format(
        self, node: ast.Call, name: str, tensor: TracedTensor, result: TracedTensor
    ) -> TracedTensor:
        """Apply the argument `memory_format` of a call to its result.

        `to` returns the tensor itself if PyTorch considers it to be in this format. `contiguous` does the same if the
        tensor is dense in this format. The other functions copy.
        """
        (value,) = [word.value for word in node.keywords if word.arg == "memory_format"]
        memory_format = dotted_name(value).rpartition(".")[2]
        rank = MEMORY_FORMAT_RANKS.get(memory_format, result.rank)
        if result.rank != rank:
            raise self.error(node, f"{memory_format} needs {rank} dims, and the tensor has {result.rank}")
        if memory_format == "preserve_format" or result.strides is None or tensor.strides is None:
            return result
        shape, is_last = result.shape, memory_format in MEMORY_FORMAT_RANKS
        returns_itself = (
            has_memory_format(shape, tensor.strides, memory_format)
            if name == "contiguous"
            else name in ("to", "float") and suggests_channels_last(shape, tensor.strides) == is_last
        )
        return replace(
            result, strides=tensor.strides if returns_itself else compute_format_strides(shape, memory_format)
        )

    def apply_broadcasting_method(
        self, node: ast.Call, name: str, tensor: TracedTensor, arguments: Sequence[ast.expr]
    ) -> TracedTensor:
        """Apply an elementwise method with tensor arguments, such as `masked_fill`."""
        nodes = [*arguments, *[word.value for word in node.keywords]]
        self.require_operand_shapes(nodes)
        others = [value for value in map(self.evaluate_binding, nodes) if isinstance(value, TracedTensor)]
        kept = self.apply_preserving_function(node, name, tensor, arguments)
        if not others:
            return kept
        if name.endswith("_"):
            for other in others:
                other.apply(EXPAND, target=tensor.shape)
            return kept
        result = apply_multi_operand(BROADCAST, (tensor, *others), self.error_factory(node))
        return replace(result, strides=kept.strides) if result.shape == tensor.shape else result

    def check_layer(
        self,
        name: str,
        row: CheckedLayer,
        tensor: TracedTensor,
        positional: Sequence[Binding],
        keywords: Mapping[str, Binding],
        error: ErrorFactory,
    ) -> TracedTensor:
        """Check the input of a layer, and return it with the conditions under which the layer accepts it.

        Raises `CheckRefused` if the layer refuses the shape.
        """

        def shape_or_value(value: Binding) -> object:
            return value.shape if isinstance(value, TracedTensor) else None if isinstance(value, ShapeError) else value

        values = tuple(map(shape_or_value, positional))
        named = {word: shape_or_value(value) for word, value in keywords.items()}
        try:
            conditions = row.conditions(tensor.shape, values, named)
        except ShapeError as refused:
            message = f"{name}: {refused.problem.message}"
            raise CheckRefused(error(message), refused.problem.rule) from None
        earlier = tuple(dict.fromkeys((*tensor.earlier_conditions, *conditions)))
        return replace(tensor, earlier_conditions=earlier) if conditions else tensor
