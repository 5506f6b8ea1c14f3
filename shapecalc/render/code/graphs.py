"""Code that builds graphs for ONNX, OpenVINO and TensorRT.

Nodes of the graph compute the sizes that are not constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import groupby

from shapecalc.core.answers import Chain, StageKind, Trace
from shapecalc.core.conditions import solve_equalities
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import SINCE_25, check_rank, element_type_name
from shapecalc.core.dialects.onnx import ONNX
from shapecalc.core.dims import (
    Dim,
    Monomial,
    Shape,
    dim_names,
    is_concrete,
    lowest_terms,
    monomial,
    named_dim,
    substitute_dims,
)
from shapecalc.core.moves import CONSTANT, Combine, Permute, ShapeVector, StridedSlice, Take
from shapecalc.core.ops import OPS
from shapecalc.core.ops.broadcast import BROADCAST
from shapecalc.core.ops.concat import CONCAT
from shapecalc.core.ops.conv import CONV
from shapecalc.core.ops.einsum import EINSUM
from shapecalc.core.ops.linear import LINEAR
from shapecalc.core.ops.mean import MEAN
from shapecalc.core.ops.op import Op
from shapecalc.core.ops.pad import PAD
from shapecalc.core.ops.pool import POOL
from shapecalc.core.ops.roll import ROLL
from shapecalc.core.ops.squeeze import SQUEEZE
from shapecalc.core.ops.stack import STACK
from shapecalc.core.ops.tile import TILE
from shapecalc.core.ops.transpose import TRANSPOSE
from shapecalc.core.ops.unsqueeze import UNSQUEEZE
from shapecalc.core.problem import ShapeError, usage_error
from shapecalc.core.record import replace
from shapecalc.core.requests import DEFAULT_OPSET
from shapecalc.core.resolve import resolve_chain
from shapecalc.core.text import shape_text, truncate
from shapecalc.reasoning.answers import batch_hint
from shapecalc.reasoning.costs import MAX_SHUFFLE_RANK, Goal, group_into_shuffles
from shapecalc.reasoning.simplify import simplify
from shapecalc.render.code import GeneratedCode
from shapecalc.render.code import dims as code
from shapecalc.render.code.calls import ArgumentReader, ArgumentValue, format_call, operand_shapes
from shapecalc.render.code.operands import (
    ONNX_OPERATORS,
    OperandCall,
    check_pad_accepted,
    has_transposed_weight,
    onnx_window_node,
    operand_variables,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar

INTEGER_ARITHMETIC_OPSET = 6
"""The first ONNX opset in which Mul and Div support integers."""
SHAPE_INPUT_OPSET = 5
"""The first ONNX opset in which the shape of a Reshape is an input."""
NEGATIVE_INDEX_OPSET = 11
"""The first ONNX opset in which negative indices count from the end."""
SLICE_STEPS_OPSET = 10
"""The first ONNX opset in which Slice has steps and its arguments are inputs."""
PAD_INPUT_OPSET = 11
"""The first ONNX opset in which the pads of a Pad are an input."""
TILE_REPEATS_OPSET = 6
"""The first ONNX opset in which the repeats of a Tile are a vector."""


class GraphWriter(code.CodeWriter):
    """The base class of code writers for graphs.

    Equal computations of sizes share one node.
    """

    templates: ClassVar[Mapping[str, str]]
    """The templates of the nodes that compute sizes, keyed by kind of node.

    Each node outputs a vector with the name `{name}`. The template `sizes` is the shape of `x`, `axis` is the item of
    this shape at index `{0}`, and `constant` contains the list `{0}` of `{1}` numbers. The templates `multiply` and
    `divide` have the operands `{0}` and `{1}`, and `concat` concatenates the vectors in the list `{0}`.
    """
    quote: ClassVar[str] = ""
    """The quotation mark around tensor names in `concat`; empty if the names are Python variables."""

    def __init__(self, answer: Trace | Chain) -> None:
        """Create an empty program whose current tensor is `x`."""
        super().__init__(answer)
        self.size_tensors: dict[tuple[str, ...], str] = {}
        """The name of each emitted size tensor, keyed by its template and the arguments of the template."""

    def bidirectional_dims(self, call: code.EmittedCall) -> Shape:
        """Return the target shape of an expand that broadcasts in both directions.

        A dim that the op does not change is requested as 1, so that the input dim is kept.
        """
        dims, before = list[Dim](), call.stage.before
        for axis, dim in enumerate(call.dims, len(before) - len(call.dims)):
            is_unchanged = axis >= 0 and before[axis] == dim.value and isinstance(dim.value, Monomial)
            dims.append(1 if dim.axes or is_unchanged else self.sizes.express_dim(dim.value))
        return tuple(dims)

    def compute_dims(self, dims: Iterable[Dim]) -> str:
        """Emit nodes that compute dims, and return the name of the vector of these dims."""
        parts = list[str]()
        for needs_nodes, run in groupby(dims, lambda dim: code.has_runtime_size([dim])):
            row = tuple(run)
            parts += map(self._compute_dim, row) if needs_nodes else [self._add_constant_vector(row)]
        quote = self.quote
        quoted_parts = ", ".join(f"{quote}{part}{quote}" for part in parts)
        return parts[0] if len(parts) == 1 else self._add_size_node("concat", quoted_parts)

    def _compute_dim(self, dim: Dim) -> str:
        ratio = monomial(dim)
        numerator = self._compute_product(ratio.numerator, {name: power for name, power in ratio.powers if power > 0})
        divisor_powers = {name: -power for name, power in ratio.powers if power < 0}
        if ratio.denominator == 1 and not divisor_powers:
            return numerator
        return self._add_size_node("divide", numerator, self._compute_product(ratio.denominator, divisor_powers))

    def _compute_product(self, number: int, powers: Mapping[str, int]) -> str:
        """Emit nodes that compute a product, and return the name of the result.

        The factors are `number`, and powers of named sizes and of sizes of `x`.
        """
        axes = [name[1:-1] for name, power in powers.items() if name.startswith("[") for _ in range(power)]
        factor = lowest_terms(number, 1, {name: power for name, power in powers.items() if not name.startswith("[")})
        factors = [self._add_size_node("axis", axis) for axis in axes]
        if factor != 1 or not factors:
            factors.append(self._add_constant_vector((factor,)))
        return reduce(lambda first, second: self._add_size_node("multiply", first, second), factors)

    def _add_constant_vector(self, dims: Shape) -> str:
        return self._add_size_node("constant", format_dims(dims), str(len(dims)))

    def _add_size_node(self, template: str, *inputs: str) -> str:
        """Emit a node unless it exists already, and return the name of its output.

        `template` is a key of `templates`, and `inputs` are the values of the template's fields.
        """
        if template == "axis" and not any(key[0] == template for key in self.size_tensors):
            self.lines.append(self.templates["sizes"])
        key = (template, *inputs)
        if key not in self.size_tensors:
            self.size_tensors[key] = f"size{len(self.size_tensors) + 1}"
            self.lines.append(self.templates[template].format(*inputs, name=self.size_tensors[key]))
        return self.size_tensors[key]


class OnnxWriter(GraphWriter):
    """A code writer for ONNX models."""

    name = "onnx"
    templates: ClassVar[Mapping[str, str]] = {
        "sizes": 'helper.make_node("Shape", ["x"], ["sizes"]),',
        "constant": 'helper.make_node("Constant", [], ["{name}"], value=helper.make_tensor("", TensorProto.INT64, '
        "[{1}], [{0}])),",
        "axis": 'helper.make_node("Constant", [], ["{name}_at"], value=helper.make_tensor("", TensorProto.INT64, [1], '
        '[{0}])),\n    helper.make_node("Gather", ["sizes", "{name}_at"], ["{name}"]),',
        "multiply": 'helper.make_node("Mul", ["{0}", "{1}"], ["{name}"]),',
        "divide": 'helper.make_node("Div", ["{0}", "{1}"], ["{name}"]),',
        "concat": 'helper.make_node("Concat", [{0}], ["{name}"], axis=0),',
    }
    quote = '"'

    def __init__(self, answer: Trace | Chain, opset: int) -> None:
        """Create an empty program whose current tensor is `x`."""
        super().__init__(answer)
        self.opset = opset
        self.constants: list[str] = []
        self.node_count = 0

    def add_node(self, operator: str, *inputs: str, **attributes: object) -> None:
        """Emit a node whose inputs are the current tensor and `inputs`.

        Raises `ShapeError` (usage) if the opset does not have the operator or an attribute.
        """
        for feature in (operator, *attributes):
            # `first` is the first opset with the operator or the attribute
            first = {"Expand": 8, "start": 15, "steps": SLICE_STEPS_OPSET}.get(feature, 1)
            if self.opset < first:
                raise usage_error(f"onnx has no {feature} before opset {first}", f"use --opset {first} or later")
        self.node_count += 1
        quoted = ", ".join(f'"{name}"' for name in (self.tensor, *inputs))
        attribute_text = "".join(f", {name}={value}" for name, value in attributes.items())
        self.tensor = f"t{self.node_count}"
        self.lines.append(f'helper.make_node("{operator}", [{quoted}], ["{self.tensor}"]{attribute_text}),')

    @property
    def element_type(self) -> str:
        """The ONNX constant for the element type of `x`."""
        return _element_type_code(next((trace.request.dtype for trace in self.answer.traces), None))

    def add_constant(self, name_prefix: str, values: str, dims: str, element_type: str = "TensorProto.INT64") -> str:
        """Emit a constant for the next node, and return its name."""
        name = f"{name_prefix}{self.node_count + 1}"
        self.constants.append(f'{name} = helper.make_tensor("{name}", {element_type}, [{dims}], [{values}])')
        self.lines.append(f'helper.make_node("Constant", [], ["{name}"], value={name}),')
        return name

    def add_vector(self, name_prefix: str, dims: Sequence[Dim]) -> str:
        """Emit a vector of dims for the next node, and return its name."""
        if not code.has_runtime_size(dims):
            return self.add_constant(name_prefix, format_dims(dims), str(len(dims)))
        if self.opset < INTEGER_ARITHMETIC_OPSET:
            raise usage_error(
                "a model of this opset computes no sizes", f"use --opset {INTEGER_ARITHMETIC_OPSET} or later"
            )
        return self.compute_dims(dims)

    def emit_transpose(self, call: code.EmittedCall) -> None:
        """Emit a Transpose."""
        self.add_node("Transpose", perm=list(call.require_move(Permute).axes))

    def emit_reshape(self, call: code.EmittedCall) -> None:
        """Emit a Reshape or a Flatten.

        A 0 or -1 in the requested shape is kept if ONNX gives it the same meaning. If a 0 is a literal size, the
        attribute `allowzero` is set.
        """
        if call.stage.kind is StageKind.MERGE and len(call.dims) == 2:
            self.add_node("Flatten", axis=len(call.dims[0].axes or ()))
            return
        target = code.target_shape(
            call, self.sizes, code.ReshapeRules("onnx", "allowzero", zero_is_size_value=True, opset=self.opset)
        )
        self.warnings += target.warnings
        if self.opset >= SHAPE_INPUT_OPSET or code.has_runtime_size(target.dims):
            self.add_node(
                "Reshape", self.add_vector("shape", target.dims), **({"allowzero": 1} if target.zero_is_size else {})
            )
        elif target.dims:
            self.add_node("Reshape", shape=f"[{format_dims(target.dims)}]")
        else:
            raise usage_error("an attribute cannot be an empty shape", f"use --opset {SHAPE_INPUT_OPSET} or later")

    def emit_squeeze(self, call: code.EmittedCall) -> None:
        """Emit a Squeeze."""
        if call.is_full_squeeze():
            self.add_node("Squeeze")
        else:
            self._add_node_with_axes("Squeeze", call.axes_to_drop())

    def emit_unsqueeze(self, call: code.EmittedCall) -> None:
        """Emit an Unsqueeze."""
        self._add_node_with_axes("Unsqueeze", call.axes_to_insert())

    def _add_node_with_axes(self, operator: str, axes: Sequence[int]) -> None:
        if self.opset < 13:
            self.add_node(operator, axes=list(axes))
        else:
            self.add_node(operator, self.add_vector("axes", axes))

    def emit_expand(self, call: code.EmittedCall) -> None:
        """Emit an Expand."""
        self.add_node("Expand", self.add_vector("shape", self.bidirectional_dims(call)))

    def emit_tile(self, call: code.EmittedCall) -> None:
        """Emit a Tile, preceded by an Unsqueeze if axes are added."""
        if self.opset < TILE_REPEATS_OPSET:
            raise usage_error(
                f"tile is not written for opsets before {TILE_REPEATS_OPSET}",
                f"use --opset {TILE_REPEATS_OPSET} or later",
            )
        if new := len(call.repeats) - len(call.stage.before):
            self._add_node_with_axes("Unsqueeze", range(new))
        self.add_node("Tile", self.add_vector("repeats", [*map(self.sizes.express_dim, call.repeats)]))

    def emit_indexing(self, call: code.EmittedCall) -> None:
        """Emit a Gather for a single index, otherwise a Slice."""
        kept = call.partial_ranges()
        if not kept[0].drops_axis:
            self._add_slice(kept)
            return
        self._add_gather(kept[0].axis, [kept[0].first_index], "")

    def emit_take(self, call: code.EmittedCall) -> None:
        """Emit a Gather."""
        move = call.require_move(Take)
        self._add_gather(move.axis, move.positions, str(len(move.positions)))

    def _add_gather(self, axis: int, indices: Sequence[int], dims: str) -> None:
        """Emit a Gather along an axis.

        `dims` is the shape of the indices as text, such as `2,3`.
        """
        if min(indices, default=0) < 0 and self.opset < NEGATIVE_INDEX_OPSET:
            raise usage_error(
                "an index from the end of a dim with a name", f"use --opset {NEGATIVE_INDEX_OPSET} or later"
            )
        self.add_node(
            "Gather", self.add_constant("index", format_dims(indices), dims), **({"axis": axis} if axis else {})
        )

    def _add_slice(self, ranges: Sequence[code.IndexSelection]) -> None:
        """Emit a Slice.

        The ranges are inputs, or attributes before opset `SLICE_STEPS_OPSET`.
        """
        arguments = {
            "starts": [axis_range.first_index for axis_range in ranges],
            "ends": [axis_range.end_index for axis_range in ranges],
            "axes": [axis_range.axis for axis_range in ranges],
        }
        steps = [axis_range.step for axis_range in ranges]
        if {*steps} != {1}:
            arguments["steps"] = steps
        if self.opset < SLICE_STEPS_OPSET:
            self.add_node("Slice", **arguments)
        else:
            self.add_node("Slice", *(self.add_vector(name, values) for name, values in arguments.items()))

    def emit_split(self, call: code.EmittedCall) -> None:
        """Emit a Slice if all sizes are numbers, otherwise a Split."""
        if is_concrete(call.stage.before):
            self._add_slice(call.partial_ranges())
            return
        axis, parts, part = call.split_arguments()
        if parts > 1024:  # each part is a named output, and more names would be unreadable
            raise usage_error(f"a Split into {truncate(str(parts))} parts", "give the sizes with --where")
        self.add_node("Split", axis=axis, **({"num_outputs": parts} if self.opset >= 18 else {}))
        unused_prefix = f'"unread{self.node_count}_'
        outputs = ", ".join(
            f'"{self.tensor}"' if index == part else f'{unused_prefix}{index}"' for index in range(parts)
        )
        self.lines[-1] = self.lines[-1].replace(f'["{self.tensor}"]', f"[{outputs}]")

    def emit_shape(self, call: code.EmittedCall) -> None:
        """Emit a Shape."""
        move = call.require_move(ShapeVector)
        is_full_range = (move.start, move.end) == (0, len(call.stage.before))
        self.add_node("Shape", **({} if is_full_range else {"start": move.start, "end": move.end}))

    def emit_combination_code(self, call: code.EmittedCall, arguments: ArgumentReader) -> None:
        """Emit the nodes of an op with several operands.

        Raises `ShapeError` (usage) if the op is not supported.
        """
        trace, operands = call.trace, operand_variables(call.trace, self.tensor, self.operand_count + 1)
        arguments.mark_read("operands")
        attributes: dict[str, object] = {}
        if trace.op == EINSUM.name:
            attributes["equation"] = f'"{arguments.read("pattern")}"'
        if trace.op in (CONCAT.name, STACK.name):
            attributes["axis"] = arguments.read("axis", 0)
        if trace.op == LINEAR.name:
            operands[1] = self._transpose_weight(operands[1], arguments)
        if trace.op == STACK.name:
            attributes["axis"] = axis = call.require_move(Combine).concat_axis or 0
            operands = [
                self._apply_to_operand(name, lambda: self._add_node_with_axes("Unsqueeze", [axis])) for name in operands
            ]
        if trace.op == BROADCAST.name:
            for other in [name for name in operands if name != self.tensor]:
                self.add_node("Expand", self._apply_to_operand(other, lambda: self.add_node("Shape")))
        elif trace.op in ONNX_OPERATORS:
            self.add_operand_node(ONNX_OPERATORS[trace.op], operands, **attributes)
        elif trace.op in (CONV.name, POOL.name):
            operator, attributes = onnx_window_node(arguments)
            self.add_operand_node(operator, operands, **attributes)
        elif trace.op in (PAD.name, MEAN.name):
            (self._add_pad if trace.op == PAD.name else self._add_reduction)(arguments)
        else:
            raise usage_error(f"{trace.op} is not written as onnx code", argument="as")

    def _transpose_weight(self, name: str, arguments: ArgumentReader) -> str:
        """Return the name of a linear layer's weight with the shape (in, out).

        If the operand has the shape (out, in), a Transpose is emitted.
        """
        arguments.mark_read("out_features", "weight")
        if not has_transposed_weight(arguments.trace):
            return name
        return self._apply_to_operand(name, lambda: self.add_node("Transpose", perm=[1, 0]))

    def _add_pad(self, arguments: ArgumentReader) -> None:
        """Emit a Pad.

        Raises `ShapeError` (usage) if the opset does not support the mode, or is below `PAD_INPUT_OPSET`.
        """
        if self.opset < PAD_INPUT_OPSET:
            raise usage_error(f"{arguments.trace.op} is not written as onnx code", argument="as")
        call = OperandCall(self.name, arguments, self.tensor, (self.tensor,))
        check_pad_accepted(call, self.opset)
        pairs, mode, fill = call.read_pads(), arguments.read("mode", CONSTANT), arguments.read("fill", 0)
        inputs = [self.add_vector("pads", [ends[index] for index in (0, 1) for ends in pairs])]
        if fill:
            inputs.append(self.add_constant("fill", str(fill), "", self.element_type))
        self.add_node("Pad", *inputs, **({"mode": f'"{mode}"'} if mode != CONSTANT else {}))

    def _add_reduction(self, arguments: ArgumentReader) -> None:
        """Emit a reduction.

        The axes are an input since opset 18, for a sum since opset 13; in earlier opsets, they are an attribute. Raises
        `ShapeError` (usage) if there are no axes, because ONNX interprets an empty list as all axes.
        """
        call = OperandCall(self.name, arguments, self.tensor, (self.tensor,))
        kind, axes, keeps = arguments.read("kind", "mean"), call.read_reduced_axes(), call.read_keepdims()
        if arguments.trace.input and not axes:
            raise usage_error("onnx reduces all axes if none is named", argument="axes")
        operator, keepdims = f"Reduce{kind.capitalize()}", int(keeps)
        if self.opset < (13 if kind == "sum" else 18):
            self.add_node(operator, **({"axes": axes} if axes else {}), keepdims=keepdims)
        else:
            self.add_node(operator, *([self.add_vector("axes", axes)] if axes else []), keepdims=keepdims)

    def add_operand_node(self, operator: str, tensors: Sequence[str], **attributes: object) -> None:
        """Emit a node with the given inputs; its output is the current tensor."""
        self.tensor, *others = tensors
        self.add_node(operator, *others, **attributes)

    def _apply_to_operand(self, name: str, write_node: Callable[[], object]) -> str:
        """Emit a node that reads an operand, and return the name of the node's output.

        `write_node` emits the node. The current tensor is not changed.
        """
        tensor, self.tensor = self.tensor, name
        write_node()
        output, self.tensor = self.tensor, tensor
        return output

    def text(self) -> str:
        """Return the program that builds the model with input `x` and output `y`."""
        if not self.node_count:
            self.add_node("Identity")
        self.lines[-1] = self.lines[-1].replace(f'"{self.tensor}"', '"y"')
        answer, kind = self.answer, self.element_type
        after, vector = answer.output or (), any(OPS[trace.op].ends_chain for trace in answer.traces)
        inputs = {"x": answer.input, **operand_shapes(answer.traces)}
        output = f"TensorProto.INT64, [{len(after)}]" if vector else f"{kind}, {_format_declared_dims(after)}"
        lines = [
            "from onnx import TensorProto, helper",
            code.shape_comment(answer),
            *self.constants,
            "nodes = [",
            *(f"    {node}" for node in self.lines),
            "]",
            *[
                f'{name} = helper.make_tensor_value_info("{name}", {kind}, {_format_declared_dims(shape)})'
                for name, shape in inputs.items()
            ],
            f'y = helper.make_tensor_value_info("y", {output})',
            f'graph = helper.make_graph(nodes, "shapecalc", [{", ".join(inputs)}], [y])',
            f'model = helper.make_model_gen_version(graph, opset_imports=[helper.make_opsetid("", {self.opset})])',
        ]
        return "\n".join(lines)


def generate_onnx(answer: Trace | Chain, opset: int | None = None) -> GeneratedCode:
    """Generate code that builds an ONNX model with input `x` and output `y`.

    If `opset` is None, the model has the largest opset of the requests. Raises `ShapeError` (usage) if ONNX does not
    have the element type, or the opset does not have an operator.
    """
    opset, *other_opsets = [opset] if opset else _model_opsets(answer)
    model = OnnxWriter(answer, opset)
    if other_opsets:
        model.warnings.append(f"a model has one opset: {opset} for all stages")
    return model.build_code(code.build_calls(answer), *batch_warnings(answer, declares_shape=True))


def _model_opsets(answer: Trace | Chain) -> list[int]:
    """Return the opsets of the requests in descending order.

    If no request has an opset, the list contains only the default opset.
    """
    requests = [trace.request for trace in answer.traces if DIALECTS[trace.dialect].newest_opset]
    return sorted({request.opset or DEFAULT_OPSET for request in requests}, reverse=True) or [DEFAULT_OPSET]


def _element_type_code(dtype: str | None) -> str:
    """Return the ONNX constant for an element type, by default for float32.

    Raises `ShapeError` (usage) if ONNX does not have the type.
    """
    if dtype and dtype not in SINCE_25:
        raise usage_error(f"onnx has no element type {dtype}", argument="dtype")
    return f"TensorProto.{element_type_name(dtype or 'float32', ONNX).upper()}"


def _format_declared_dims(shape: Sequence[Dim]) -> str:
    """Format a shape for ONNX's function `make_tensor_value_info`.

    A dim that is an expression, such as `2*N`, becomes None.
    """
    texts = []
    for dim in shape:
        is_name = isinstance(dim, Monomial) and str(dim).isidentifier()
        texts.append(str(dim) if isinstance(dim, int) else f'"{dim}"' if is_name else "None")
    return f"[{', '.join(texts)}]"


class OpenVinoWriter(GraphWriter):
    """A code writer for OpenVINO's Python operators."""

    name = "openvino"
    templates: ClassVar[Mapping[str, str]] = {
        "sizes": "sizes = ops.shape_of(x)",
        "constant": "{name} = ops.constant([{0}])",
        "axis": "{name} = ops.gather(sizes, [{0}], 0)",
        "multiply": "{name} = ops.multiply({0}, {1})",
        "divide": "{name} = ops.divide({0}, {1})",
        "concat": "{name} = ops.concat([{0}], 0)",
    }
    intro = ("from openvino import opset13 as ops", "# x is a node of an openvino.Model")
    reshape_rules = code.ReshapeRules("openvino", "special_zero", zero_is_size_value=False, always_passes_switch=True)

    def add_node(self, operator: str, *arguments: object, output_suffix: str = "") -> None:
        """Emit the call of an operator on the current tensor.

        `output_suffix` is appended to the call, as in `.output(1)`.
        """
        self.emit_assignment(f"ops.{operator}({', '.join([self.tensor, *map(str, arguments)])}){output_suffix}")

    def add_call(self, op: Op, **arguments: ArgumentValue) -> None:
        """Emit the call of an op on the current tensor."""
        self.emit_assignment(format_call(op, self.name, self.tensor, **arguments))

    def vector_expression(self, dims: Sequence[Dim]) -> str:
        """Return the expression for a vector of dims.

        Dims that are not constant are computed by nodes.
        """
        if not dims:
            return "np.array([], dtype=np.int64)"
        return self.compute_dims(dims) if code.has_runtime_size(dims) else f"[{format_dims(dims)}]"

    def emit_transpose(self, call: code.EmittedCall) -> None:
        """Emit a Transpose."""
        self.add_call(TRANSPOSE, perm=call.require_move(Permute).axes)

    def emit_reshape(self, call: code.EmittedCall) -> None:
        """Emit a Reshape.

        A 0 copies an input dim, unless the shape contains a dim of size 0.
        """
        target = code.target_shape(call, self.sizes, self.reshape_rules)
        self.add_node("reshape", self.vector_expression(target.dims), f"special_zero={not target.zero_is_size}")
        self.warnings += target.warnings

    def emit_squeeze(self, call: code.EmittedCall) -> None:
        """Emit a Squeeze."""
        self.add_call(SQUEEZE, axes=call.axes_to_drop())

    def emit_unsqueeze(self, call: code.EmittedCall) -> None:
        """Emit an Unsqueeze."""
        self.add_call(UNSQUEEZE, axes=call.axes_to_insert())

    def emit_expand(self, call: code.EmittedCall) -> None:
        """Emit a Broadcast, preceded by an Unsqueeze if axes are added.

        Without the Unsqueeze, OpenVINO drops a new dim if the requested shape contains only 1s.
        """
        dims = self.bidirectional_dims(call)
        if added := len(dims) - len(call.stage.before):
            self.add_call(UNSQUEEZE, axes=range(added))
        self.add_node("broadcast", self.vector_expression(dims), 'broadcast_spec="BIDIRECTIONAL"')

    def emit_tile(self, call: code.EmittedCall) -> None:
        """Emit a Tile.

        If there are more repeats than dims, the Tile adds axes.
        """
        self.add_call(TILE, repeats=self.vector_expression([*map(self.sizes.express_dim, call.repeats)]))

    def emit_indexing(self, call: code.EmittedCall) -> None:
        """Emit a Gather for a single index, otherwise a Slice."""
        kept = call.partial_ranges()
        if kept[0].drops_axis:
            self.add_node("gather", kept[0].first_index, kept[0].axis)
        else:
            rows = zip(
                *(
                    (axis_range.first_index, axis_range.end_index, axis_range.step, axis_range.axis)
                    for axis_range in kept
                ),
                strict=True,
            )
            self.add_node("slice", *([*row] for row in rows))

    def emit_split(self, call: code.EmittedCall) -> None:
        """Emit a Split, and make its selected output the current tensor."""
        axis, parts, part = call.split_arguments()
        self.add_node("split", axis, parts, output_suffix=f".output({part})")

    def emit_take(self, call: code.EmittedCall) -> None:
        """Emit a Gather."""
        move = call.require_move(Take)
        self.add_node("gather", self.vector_expression(move.positions), move.axis)

    def emit_roll(self, call: code.EmittedCall) -> None:
        """Emit a Roll."""
        roll = call.int32_roll(self.name)
        self.add_call(ROLL, shift=[roll.shift], axis=[roll.axis])

    def emit_shape(self, call: code.EmittedCall) -> None:
        """Emit a ShapeOf, followed by a Slice for a range of dims."""
        self.add_node("shape_of")
        move = call.require_move(ShapeVector)
        if len(call.output_shape) < len(call.stage.before):
            self.add_node("slice", [move.start], [move.end], [1])


def generate_openvino(answer: Trace | Chain) -> GeneratedCode:
    """Generate code that adds OpenVINO nodes after the node `x`.

    Raises `ShapeError` (usage) if OpenVINO does not support the request.

    >>> import shapecalc as sc
    >>> print(generate_openvino(sc.reshape("N,C,H,W", "0,-1")).text.splitlines()[-1])
    y = ops.reshape(x, [0, -1], special_zero=True)
    """
    return OpenVinoWriter(answer).build_code(code.build_calls(answer), *batch_warnings(answer))


class TensorRTWriter(GraphWriter):
    """A code writer that adds TensorRT layers to a network.

    A Shuffle layer can transpose, reshape, and transpose again.
    """

    name = "tensorrt"
    templates: ClassVar[Mapping[str, str]] = {
        "sizes": "sizes = network.add_shape(x).get_output(0)",
        "constant": "{name} = network.add_constant(({1},), np.array([{0}], dtype=np.int64)).get_output(0)",
        "axis": "{name} = network.add_slice(sizes, start=({0},), shape=(1,), stride=(1,)).get_output(0)",
        "multiply": "{name} = network.add_elementwise({0}, {1}, trt.ElementWiseOperation.PROD).get_output(0)",
        "divide": "{name} = network.add_elementwise({0}, {1}, trt.ElementWiseOperation.FLOOR_DIV).get_output(0)",
        "concat": "{name} = network.add_concatenation([{0}]).get_output(0)",
    }
    intro = ("# network is a trt.INetworkDefinition, x one of its tensors",)
    reshape_rules = code.ReshapeRules("tensorrt", "zero_is_placeholder", zero_is_size_value=False)

    def add_layer(self, method: str, arguments: str = "", *settings: str) -> None:
        """Emit a layer that reads the current tensor.

        `method` is the network's method. Each of `settings` is an assignment or a call on the layer.
        """
        call = f"layer = network.{method}({self.tensor}{arguments})"
        self.lines += [call, *(f"layer.{setting}" for setting in settings)]
        self.emit_assignment("layer.get_output(0)")

    def dims_setting(self, name: str, index: int, dims: Shape) -> str:
        """Return a setting that passes dims to a layer, such as `reshape_dims = (2, 3)`.

        Constant dims are assigned to the property `name`; dims that are computed at run time are input `index` of the
        layer.
        """
        if not code.has_runtime_size(dims):
            return f"{name} = {_format_tuple(dims)}"
        return f"set_input({index}, {self.compute_dims(dims)})"

    def add_shuffle(self, calls: Iterable[code.EmittedCall]) -> None:
        """Emit one Shuffle that performs up to three calls.

        The calls are at most a transpose, a reshape and a second transpose, in this order.
        """
        settings = list[str]()
        for call in calls:
            if call.stage.kind is StageKind.PERMUTE:
                settings.append(f"{'second' if settings else 'first'}_transpose = {call.require_move(Permute).axes}")
            else:
                settings += self.reshape_settings(call)
        self.add_layer("add_shuffle", "", *settings)

    def reshape_settings(self, call: code.EmittedCall, *, zero_is_size: bool = False) -> list[str]:
        """Return the settings of a Shuffle layer for a reshape."""
        target = code.target_shape(call, self.sizes, self.reshape_rules, zero_is_size=zero_is_size)
        self.warnings += target.warnings
        dims = self.dims_setting("reshape_dims", 1, target.dims)
        return [dims, *(["zero_is_placeholder = False"] if target.zero_is_size else [])]

    def emit_transpose(self, call: code.EmittedCall) -> None:
        """Emit a Shuffle."""
        self.add_shuffle([call])

    emit_reshape = emit_squeeze = emit_unsqueeze = emit_transpose

    def emit_expand(self, call: code.EmittedCall) -> None:
        """Emit a slice layer with stride 0 along the repeated axes.

        If axes are added, a Shuffle inserts them first.
        """
        output, before = call.output_shape, call.stage.before
        added = len(output) - len(before)
        if added:
            requested = (
                *(code.RequestedDim(1),) * added,
                *(code.RequestedDim(dim, (axis,)) for axis, dim in enumerate(before)),
            )
            self.add_layer(
                "add_shuffle", "", *self.reshape_settings(replace(call, dims=requested), zero_is_size=0 in before)
            )
        solved = solve_equalities(call.trace.conditions)
        strides = tuple(int(substitute_dims(dim, solved) != 1) for dim in ((1,) * added + before))
        expressed = tuple(map(self.sizes.express_dim, output))
        self._add_slice((0,) * len(expressed), expressed, strides)

    def emit_indexing(self, call: code.EmittedCall) -> None:
        """Emit a slice layer, followed by a Shuffle if an axis is removed."""
        before, output, move = call.stage.before, call.output_shape, call.require_move(StridedSlice)
        if not is_concrete((*before, *output)):
            message = f"{call.stage.label} of sizes with names is not written as tensorrt code"
            raise usage_error(message, "give the sizes with --where")
        starts = [
            start % dim if size != 0 else 0 for (start, _, size), dim in zip(move.axis_ranges, before, strict=True)
        ]
        self._add_slice(starts, tuple(1 if size is None else size for size in move.sizes), move.steps)
        if None in move.sizes:
            zeros = ["zero_is_placeholder = False"] if 0 in output else []
            self.add_layer("add_shuffle", "", self.dims_setting("reshape_dims", 1, output), *zeros)

    emit_split = emit_indexing

    def emit_combination_code(self, call: code.EmittedCall, arguments: ArgumentReader) -> None:
        """Emit a concatenation layer, a matrix multiply layer or an Einsum layer."""
        self.lines.append(f"layer = network.{self.combination_expression(arguments)}")
        if call.trace.op == CONCAT.name:
            arguments.mark_read("axis")
            self.lines.append(f"layer.axis = {call.require_move(Combine).concat_axis}")
        self.emit_assignment("layer.get_output(0)")

    def emit_shape(self, call: code.EmittedCall) -> None:
        """Emit a shape layer, followed by a slice layer for a range of dims."""
        dims_move, count = call.require_move(ShapeVector), len(call.output_shape)
        self.add_layer("add_shape")
        if count < len(call.stage.before):
            self._add_slice((dims_move.start if count else 0,), (count,), (1,))

    def _add_slice(self, start: Sequence[Dim], shape: Shape, stride: Sequence[Dim]) -> None:
        computed = code.has_runtime_size(shape)
        known = _format_tuple((0,) * len(shape) if computed else shape)
        arguments = f", start={_format_tuple(start)}, shape={known}, stride={_format_tuple(stride)}"
        self.add_layer("add_slice", arguments, *([self.dims_setting("shape", 2, shape)] if computed else []))


def generate_tensorrt(answer: Trace | Chain) -> GeneratedCode:
    """Generate code that adds TensorRT layers, with as few Shuffles as possible.

    The layers are applied to the tensor `x` of the network. The answer is first simplified if an equivalent chain has
    fewer Shuffles, or if a rank exceeds the limit of a Shuffle. Raises `ShapeError` (usage) if TensorRT does not
    support an op, a rank or a symbolic dim.
    """
    network = TensorRTWriter(answer)
    check_rank(answer.input, DIALECTS["tensorrt"], "input")
    simplification = simplify(answer, Goal.SHUFFLES, "float32")  # the result does not depend on the element type
    too_wide = any(len(stage.after or ()) > MAX_SHUFFLE_RANK for stage in answer.stages)
    fewest = (
        simplification.chain if too_wide or simplification.after.shuffles < simplification.before.shuffles else answer
    )
    for run in group_into_shuffles(code.build_calls(fewest, ()), lambda call: call.stage.move):
        for call in run:
            check_rank(call.output_shape, DIALECTS["tensorrt"], "input")
        if run[0].stage.kind in (StageKind.PERMUTE, *code.ORDER_PRESERVING_KINDS):
            network.add_shuffle(run)
        else:
            network.emit_call(run[0])
    return network.build_code((), *batch_warnings(answer))


def _format_tuple(dims: Sequence[Dim]) -> str:
    return f"({format_dims(dims)},)" if len(dims) == 1 else f"({format_dims(dims)})"


def format_dims(dims: Iterable[Dim]) -> str:
    """Format dims as a comma-separated list.

    The dims must not depend on the shape of `x`.
    """
    return ", ".join(map(code.size_text, dims))


def batch_warnings(answer: Trace | Chain, *, declares_shape: bool = False) -> list[str]:
    """Return a warning if generated code is valid for one batch size only.

    The batch size is the first dim of the input. The warning contains an input with a symbolic batch size instead. If
    `declares_shape` is True, a declared input shape with a fixed batch size is reported, too.

    >>> from shapecalc.core.requests import make_request
    >>> from shapecalc.core.resolve import resolve
    >>> batch_warnings(resolve(make_request("reshape", "8,3,4", {"target": "8,6,2"})))[0].partition(";")[0]
    'this code is right for a first dim of 8 only, as the input N,3,4 shows'
    """
    batch, *others = answer.input or (None,)
    if not isinstance(batch, int) or not others or not answer.traces:
        return []
    requests = [trace.request for trace in answer.traces]
    used = dim_names([dim for request in requests for dim in request.dims])
    name = next(name for name in ("N", "B", "BATCH") if name not in used)
    shape = (named_dim(name), *others)
    try:
        batch_answer = resolve_chain([replace(requests[0], input=shape), *requests[1:]])
    except ShapeError:
        return []
    shown = truncate(shape_text(shape))
    if solve_equalities(batch_answer.conditions).get(name) == batch:
        message = f"this code is right for a first dim of {batch} only, as the input {shown} shows"
        return ["; ".join(filter(None, (message, batch_hint(batch_answer))))]
    first, *rest = batch_answer.output or (None,)
    if first == batch and name in dim_names(rest):
        return [f"the first dim is {batch} for every batch: from {shown} comes {truncate(shape_text((first, *rest)))}"]
    if not declares_shape or batch == 0:
        return []
    return [f"the code declares a first dim of {batch}; for other sizes of it write the input as {shown}"]


WRITERS: dict[str, Callable[..., GeneratedCode]] = {
    "onnx": generate_onnx,
    "openvino": generate_openvino,
    "tensorrt": generate_tensorrt,
}
