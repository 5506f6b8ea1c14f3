"""The evaluation of calls: their arguments, functions, methods and layers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence

from shapecalc.core.ops.broadcast import BROADCAST
from shapecalc.core.ops.strides import has_memory_format, memory_format_strides, suggests_channels_last
from shapecalc.core.record import replace
from shapecalc.core.text import truncate
from shapecalc.reading.code.arguments import Call
from shapecalc.reading.code.calls import SHAPE_PRESERVING_FUNCTIONS, call_function, is_known_function
from shapecalc.reading.code.expressions import ExpressionEvaluator
from shapecalc.reading.code.ops import REDUCTION_FUNCTIONS, SHAPE_CHANGING_FUNCTIONS
from shapecalc.reading.code.sizes import CREATION_FUNCTIONS, SIZE_FUNCTIONS
from shapecalc.reading.code.source import MODULE_NAMES, dotted_name, is_preserving_layer
from shapecalc.reading.code.values import (
    CodeValue,
    ErrorFactory,
    LayerInstance,
    TracedTensor,
    initial_tensor,
    mark_change,
)
from shapecalc.reading.layers import MULTI_OPERAND_FUNCTIONS
from shapecalc.reading.preserving import (
    CAST,
    CAST_TYPES,
    CASTING_FUNCTIONS,
    ELEMENTWISE,
    PRESERVING_FUNCTIONS,
    SAME_STRIDES,
    find_preserving_layer,
)

MEMORY_FORMAT_RANKS = {"channels_last": 4, "channels_last_3d": 5}
"""The rank that a memory format requires."""
IGNORED_ARGUMENTS = {
    "dtype",
    "device",
    "out",
    "requires_grad",
    "name",
    "copy",
    "memory_format",
    "inplace",
    "non_blocking",
}
"""Keyword arguments that do not affect shapes."""
DEVICE = re.compile(r"(?i)device|cuda|cpu|mps|^-?\d+$")
"""A regular expression for the arguments of `to` that name a device."""


def is_other_type(name: str) -> bool:
    """Return whether an element type is not float32, the type that inputs are assumed to have."""
    return CAST_TYPES.fullmatch(name) is not None and name not in ("float", "float32")


class CallEvaluator(ExpressionEvaluator):
    """An evaluator of calls."""

    def evaluate_call(self, node: ast.Call) -> CodeValue:
        """Evaluate a call of a function, a method or an instantiated layer."""
        function, path = node.func, dotted_name(node.func)
        if any("(" in name for name in self.inputs) and ast.unparse(node) in self.inputs:
            return self.inputs[ast.unparse(node)]
        name = path if is_known_function(path) else getattr(function, "attr", path)
        callee = self.evaluate(function) if isinstance(function, ast.Call) or path in self.variables else None
        if isinstance(callee, LayerInstance):
            if not (callee.name == "Sequential" or is_preserving_layer(callee.name) or is_known_function(callee.name)):
                raise self.unknown_function_error(node)
            self.check_tensors_known(node.args[:1])
            return self.apply_layer(callee, *self.evaluate_arguments(node, node.args), self.error_factory(node))
        base = path.rpartition(".")[0]
        if is_preserving_layer(path) and node.args and (base or not is_known_function(name)):
            self.notes[f"{truncate(self.source_text(node))} is read as keeping the shape"] = None
            value = self.evaluate(node.args[0])
            return value.preserve(find_preserving_layer(path)) if isinstance(value, TracedTensor) else value
        return self.evaluate_function_call(node, function, base, name)

    def evaluate_function_call(self, node: ast.Call, function: ast.expr, base_name: str, name: str) -> CodeValue:
        """Evaluate a function or method call, or instantiate a layer."""
        is_class = name[:1].isupper() and name not in SIZE_FUNCTIONS
        if (base_name == "self" and not self.is_assigned("self")) or not (is_class or is_known_function(name)):
            raise self.unknown_function_error(node)
        is_method = (
            isinstance(function, ast.Attribute) and base_name.partition(".")[0] not in MODULE_NAMES - self.inputs.keys()
        )
        is_method = is_method and not is_class and (name not in CREATION_FUNCTIONS or self.is_assigned(base_name))
        operands = [function.value, *node.args] if is_method else node.args  # type: ignore[attr-defined]
        first = [*self.evaluate_all(operands[: name not in CREATION_FUNCTIONS])]
        self.in_shape_argument, outer = (
            name in SHAPE_CHANGING_FUNCTIONS or name in CREATION_FUNCTIONS,
            self.in_shape_argument,
        )
        others, keywords = self.evaluate_arguments(
            node, [] if name in SHAPE_PRESERVING_FUNCTIONS else operands[name not in CREATION_FUNCTIONS :]
        )
        self.in_shape_argument, values = outer, [*first, *others]
        if outer and name in SHAPE_PRESERVING_FUNCTIONS and values and isinstance(values[0], tuple):
            return values[0]  # a list in a tensor, as in `x.repeat_interleave(torch.tensor([1, 2]), 0)`
        if is_class and not any(isinstance(value, TracedTensor) for value in values):
            flags = {word.arg: self.evaluate(word.value) for word in node.keywords if word.arg == "inplace"}
            return LayerInstance(name, tuple(values), keywords | (flags if is_preserving_layer(name) else {}))
        if is_method or (
            name not in (SIZE_FUNCTIONS | CREATION_FUNCTIONS)
            and (isinstance(function, ast.Attribute) or name not in SHAPE_PRESERVING_FUNCTIONS)
        ):
            tensors = [item for operand in operands for item in getattr(operand, "elts", [operand])]
            self.check_tensors_known(
                tensors if MULTI_OPERAND_FUNCTIONS.get(name, BROADCAST) is not BROADCAST else operands[:1]
            )
        if not is_known_function(name):
            raise self.unknown_function_error(node)
        if name in CREATION_FUNCTIONS and not is_method:
            created = initial_tensor(
                CREATION_FUNCTIONS[name](Call(name, tuple(values), keywords, self.error_factory(node))), self.dialect
            )
            return mark_change(created) if self.inputs else created
        value = call_function(name, values, keywords, self.error_factory(node))
        if any(keyword.arg == "out" for keyword in node.keywords):
            self.in_place_change = self.in_place_change or self.source_text(node)
        if isinstance(value, TracedTensor) and name in SHAPE_PRESERVING_FUNCTIONS:
            value = self.apply_preserving(node, name, value, operands[1:])
        if name in REDUCTION_FUNCTIONS and isinstance(value, TracedTensor):
            self.notes[f"the chain begins with what {truncate(self.source_text(node))} returns"] = None
        return value

    def apply_layer(
        self, layer: LayerInstance, values: list[CodeValue], keywords: Mapping[str, CodeValue], error: ErrorFactory
    ) -> CodeValue:
        """Apply a layer, or each layer of a `Sequential`, to a tensor."""
        if layer.name == "Sequential" and values:
            for inner in layer.positional:
                if not isinstance(inner, LayerInstance):
                    raise error("this is no layer")
                values = [self.apply_layer(inner, values, {}, error)]
            return values[0]
        if is_preserving_layer(layer.name) and values:
            first = values[0]
            if not isinstance(first, TracedTensor):
                return first
            function = find_preserving_layer(layer.name)
            if function is ELEMENTWISE and True in (layer.keywords.get("inplace"), *layer.positional):
                self.in_place_change, function = self.in_place_change or layer.name, SAME_STRIDES
            return first.preserve(function)
        return call_function(layer.name, [*values, *layer.positional], {**keywords, **layer.keywords}, error)

    def apply_preserving(
        self, node: ast.Call, name: str, tensor: TracedTensor, arguments: Sequence[ast.expr]
    ) -> TracedTensor:
        """Return the tensor after a function that keeps its shape; `arguments` are the others of the call."""
        function, keywords = PRESERVING_FUNCTIONS[name], {word.arg: word.value for word in node.keywords}
        if name in CASTING_FUNCTIONS and (
            types := self.named_types([*arguments, *filter(None, [keywords.get("dtype")])])
        ):
            function = CAST if all(map(is_other_type, types)) else SAME_STRIDES
        if name == "dropout" and "training" not in keywords and len(arguments) < 2:
            function = ELEMENTWISE  # by default, F.dropout returns a new tensor, also during evaluation
        is_in_place = getattr(keywords.get("inplace"), "value", False) is True
        if is_in_place or (name.endswith("_") and not function.keeps_elements):
            self.in_place_change, function = self.in_place_change or self.source_text(node), SAME_STRIDES
        result = tensor.preserve(function)
        if "memory_format" not in keywords or tensor.dialect != "torch":
            return result
        return self.apply_memory_format(node, name, tensor, result)

    def named_types(self, nodes: Iterable[ast.expr]) -> list[str]:
        """Return the last component of each argument of a cast, except for devices and flags."""
        texts = [
            self.source_text(node)
            for node in nodes
            if not (isinstance(node, ast.Constant) and node.value in (True, False, None))
        ]
        return [text.rpartition(".")[2].strip("'\"") for text in texts if not DEVICE.search(text)]

    def apply_memory_format(
        self, node: ast.Call, name: str, tensor: TracedTensor, result: TracedTensor
    ) -> TracedTensor:
        """Return the result of a call with `memory_format`.

        `to` returns the tensor itself if PyTorch takes it for one of this format; `contiguous`, if it is dense in this
        format. The other functions copy.
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
            result, strides=tensor.strides if returns_itself else memory_format_strides(shape, memory_format)
        )

    def evaluate_arguments(
        self, node: ast.Call, operands: Sequence[ast.expr]
    ) -> tuple[list[CodeValue], dict[str, CodeValue]]:
        """Evaluate a call's positional arguments, `operands`, and its keyword arguments."""
        named = {word.arg or "**": word.value for word in node.keywords if word.arg not in IGNORED_ARGUMENTS}
        return [*self.evaluate_all(operands)], {name: self.evaluate(argument) for name, argument in named.items()}
