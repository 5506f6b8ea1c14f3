"""Code for the graphs of ONNX, OpenVINO and TensorRT.

Sizes that are not constant are computed by nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import groupby
from typing import ClassVar

from shapecalc.core.answers import Chain, Kind, Trace
from shapecalc.core.ask import DEFAULT_OPSET
from shapecalc.core.conditions import solved_names
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import SINCE_25, check_rank, spelled
from shapecalc.core.dialects.onnx import ONNX
from shapecalc.core.dims import Dim, Monomial, Shape, all_known, lowest_terms, monomial, named_dim, names, rewrite
from shapecalc.core.fixing import lasting_hint
from shapecalc.core.moves import Combine, Dims, Permute, Pick, Take
from shapecalc.core.ops import OPS
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.record import replace
from shapecalc.core.resolve import resolve_chain
from shapecalc.core.simplify import MOST_DIMS, Goal, runs, simplify
from shapecalc.core.text import brief, shape_text
from shapecalc.view.code import Code
from shapecalc.view.code import dims as code
from shapecalc.view.code.operands import ENDS, NODES, named_operands, onnx_windows, operand_names

INTEGERS_ARE_COMPUTED = 6
"""The first ONNX opset in which Mul and Div take integers."""
SHAPES_ARE_INPUTS = 5
"""The first opset in which the shape of a Reshape is an input."""
INDICES_FROM_THE_END = 11
"""The first opset in which negative indices count from the end."""
STEPS = 10
"""The first opset in which a Slice has steps, and its arguments are inputs."""
PADS_ARE_INPUTS = 11
"""The first opset in which the pads of a Pad are an input."""
REPEATS = 6
"""The first opset in which the repeats of a Tile are a vector."""


class Graph(code.Writer):
    """A writer of graph code; each node that computes sizes is written once."""

    forms: ClassVar[Mapping[str, str]]
    """The templates of the nodes that compute sizes.

    Each makes a tensor `{name}` of one axis. `sizes` is the shape of `x`, `axis` item `{0}` of it, `constant` a vector
    of `{1}` numbers `{0}`, and `concat` all items of the tensors `{0}`.
    """
    quote: ClassVar[str] = ""
    """The quotes around the name of a tensor in `concat`."""

    def __init__(self, answer: Trace | Chain) -> None:
        """Start at the input `x`."""
        super().__init__(answer)
        self.made: dict[tuple[str, ...], str] = {}
        """The tensors that hold sizes, by template and inputs of their nodes."""

    def two_way_dims(self, call: code.Call) -> Shape:
        """Return the shape to request from a bidirectional broadcast.

        It is 1 for an unchanged dim.
        """
        dims, before = list[Dim](), call.stage.before
        for axis, dim in enumerate(call.dims, len(before) - len(call.dims)):
            is_unchanged = axis >= 0 and before[axis] == dim.value and isinstance(dim.value, Monomial)
            dims.append(1 if dim.axes or is_unchanged else self.readings.read(dim.value))
        return tuple(dims)

    def computed(self, dims: Iterable[Dim]) -> str:
        """Return the name of the tensor that holds dims, some of which are computed."""
        parts = list[str]()
        for needs_nodes, run in groupby(dims, lambda dim: code.is_computed([dim])):
            row = tuple(run)
            parts += map(self._size, row) if needs_nodes else [self._constant(row)]
        quote = self.quote
        quoted_parts = ", ".join(f"{quote}{part}{quote}" for part in parts)
        return parts[0] if len(parts) == 1 else self._make("concat", quoted_parts)

    def _size(self, dim: Dim) -> str:
        ratio = monomial(dim)
        numerator = self._product(ratio.numerator, {name: power for name, power in ratio.powers if power > 0})
        divisor_powers = {name: -power for name, power in ratio.powers if power < 0}
        if ratio.denominator == 1 and not divisor_powers:
            return numerator
        return self._make("divide", numerator, self._product(ratio.denominator, divisor_powers))

    def _product(self, number: int, powers: Mapping[str, int]) -> str:
        """Return the name of the tensor with a product.

        Its factors are axes, named sizes and a number.
        """
        axes = [name[1:-1] for name, power in powers.items() if name.startswith("[") for _ in range(power)]
        factor = lowest_terms(number, 1, {name: power for name, power in powers.items() if not name.startswith("[")})
        factors = [self._make("axis", axis) for axis in axes]
        if factor != 1 or not factors:
            factors.append(self._constant((factor,)))
        return reduce(lambda first, second: self._make("multiply", first, second), factors)

    def _constant(self, dims: Shape) -> str:
        return self._make("constant", texts_of(dims), str(len(dims)))

    def _make(self, form: str, *inputs: str) -> str:
        """Return the name of the output of a node; write the node on first use."""
        if form == "axis" and not any(key[0] == form for key in self.made):
            self.lines.append(self.forms["sizes"])
        key = (form, *inputs)
        if key not in self.made:
            self.made[key] = f"size{len(self.made) + 1}"
            self.lines.append(self.forms[form].format(*inputs, name=self.made[key]))
        return self.made[key]


class OnnxModel(Graph):
    """A writer of an ONNX model: its nodes and the constants that they read."""

    name = "onnx"
    forms: ClassVar[Mapping[str, str]] = {
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
        """Start at the input `x`."""
        super().__init__(answer)
        self.opset = opset
        self.constants: list[str] = []
        self.count = 0

    def node(self, operator: str, *inputs: str, **attributes: object) -> None:
        """Write a node on the tensor and other inputs.

        Raises `ShapeError` (usage) if the opset lacks it.
        """
        for feature in (operator, *attributes):
            # the first opsets with an operator, or with an attribute
            first = {"Expand": 8, "start": 15, "steps": STEPS}.get(feature, 1)
            if self.opset < first:
                raise misuse(f"onnx has no {feature} before opset {first}", f"use --opset {first} or later")
        self.count += 1
        quoted = ", ".join(f'"{name}"' for name in (self.tensor, *inputs))
        attribute_text = "".join(f", {name}={value}" for name, value in attributes.items())
        self.tensor = f"t{self.count}"
        self.lines.append(f'helper.make_node("{operator}", [{quoted}], ["{self.tensor}"]{attribute_text}),')

    def constant(self, kind: str, texts: str, dims: str) -> str:
        """Return the name of a constant vector for the next node."""
        name = f"{kind}{self.count + 1}"
        self.constants.append(f'{name} = helper.make_tensor("{name}", TensorProto.INT64, [{dims}], [{texts}])')
        self.lines.append(f'helper.make_node("Constant", [], ["{name}"], value={name}),')
        return name

    def vector(self, kind: str, dims: Sequence[Dim]) -> str:
        """Return the name of a vector of numbers or dims for the next node."""
        if not code.is_computed(dims):
            return self.constant(kind, texts_of(dims), str(len(dims)))
        if self.opset < INTEGERS_ARE_COMPUTED:
            raise misuse("a model of this opset computes no sizes", f"use --opset {INTEGERS_ARE_COMPUTED} or later")
        return self.computed(dims)

    def transpose(self, call: code.Call) -> None:
        """Write a Transpose."""
        self.node("Transpose", perm=list(call.move(Permute).axes))

    def reshape(self, call: code.Call) -> None:
        """Write a Reshape or a Flatten.

        0 and -1 stay where they mean the same; allowzero is set if a 0 is a size.
        """
        if call.stage.kind is Kind.MERGE and len(call.dims) == 2:
            self.node("Flatten", axis=len(call.dims[0].axes or ()))
            return
        target = code.requested_shape(call, self.readings, code.Rules("onnx", "allowzero", on=True, opset=self.opset))
        self.warnings += target.warnings
        if self.opset >= SHAPES_ARE_INPUTS or code.is_computed(target.dims):
            self.node("Reshape", self.vector("shape", target.dims), **({"allowzero": 1} if target.literal else {}))
        elif target.dims:
            self.node("Reshape", shape=f"[{texts_of(target.dims)}]")
        else:
            raise misuse("an attribute cannot be an empty shape", f"use --opset {SHAPES_ARE_INPUTS} or later")

    def squeeze(self, call: code.Call) -> None:
        """Write a Squeeze."""
        if call.drops_every_one():
            self.node("Squeeze")
        else:
            self._with_axes("Squeeze", call.dropped_axes())

    def unsqueeze(self, call: code.Call) -> None:
        """Write an Unsqueeze."""
        self._with_axes("Unsqueeze", call.inserted_axes())

    def _with_axes(self, operator: str, axes: Sequence[int]) -> None:
        if self.opset < 13:
            self.node(operator, axes=list(axes))
        else:
            self.node(operator, self.vector("axes", axes))

    def expand(self, call: code.Call) -> None:
        """Write an Expand."""
        self.node("Expand", self.vector("shape", self.two_way_dims(call)))

    def tile(self, call: code.Call) -> None:
        """Write a Tile, with an Unsqueeze before it for new axes."""
        if self.opset < REPEATS:
            raise misuse(f"tile is not written for opsets before {REPEATS}", f"use --opset {REPEATS} or later")
        if new := len(call.repeats) - len(call.stage.before):
            self._with_axes("Unsqueeze", range(new))
        self.node("Tile", self.vector("repeats", [*map(self.readings.read, call.repeats)]))

    def pick(self, call: code.Call) -> None:
        """Write a Gather of one index, or a Slice."""
        kept = call.cut_axes()
        if not kept[0].goes:
            self._slice(kept)
            return
        self._gather(kept[0].axis, [kept[0].first], "")

    def take(self, call: code.Call) -> None:
        """Write a Gather."""
        move = call.move(Take)
        self._gather(move.axis, move.places, str(len(move.places)))

    def _gather(self, axis: int, places: Sequence[int], dims: str) -> None:
        """Write a Gather; `dims` is the shape of its indices as text."""
        if min(places, default=0) < 0 and self.opset < INDICES_FROM_THE_END:
            raise misuse("the last index of a dim with a name", f"use --opset {INDICES_FROM_THE_END} or later")
        self.node("Gather", self.constant("index", texts_of(places), dims), **({"axis": axis} if axis else {}))

    def _slice(self, kept: Sequence[code.Kept]) -> None:
        """Write a Slice, whose arguments are attributes in opsets without steps."""
        arguments = {
            "starts": [axis_range.first for axis_range in kept],
            "ends": [axis_range.end for axis_range in kept],
            "axes": [axis_range.axis for axis_range in kept],
        }
        steps = [axis_range.step for axis_range in kept]
        if {*steps} != {1}:
            arguments["steps"] = steps
        if self.opset < STEPS:
            self.node("Slice", **arguments)
        else:
            self.node("Slice", *(self.vector(name, values) for name, values in arguments.items()))

    def split(self, call: code.Call) -> None:
        """Write a Split with one used output for a named dim, otherwise a Slice."""
        if all_known(call.stage.before):
            self._slice(call.cut_axes())
            return
        axis, parts, part = call.split_axis()
        if parts > 1024:  # more names would make the code unreadable
            raise misuse(f"a Split into {brief(str(parts))} parts", "give the sizes with --where")
        self.node("Split", axis=axis, **({"num_outputs": parts} if self.opset >= 18 else {}))
        unused_prefix = f'"unread{self.count}_'
        outputs = ", ".join(
            f'"{self.tensor}"' if index == part else f'{unused_prefix}{index}"' for index in range(parts)
        )
        self.lines[-1] = self.lines[-1].replace(f'["{self.tensor}"]', f"[{outputs}]")

    def shape(self, call: code.Call) -> None:
        """Write a Shape."""
        move = call.move(Dims)
        is_full_range = (move.start, move.end) == (0, len(call.stage.before))
        self.node("Shape", **({} if is_full_range else {"start": move.start, "end": move.end}))

    def combine(self, call: code.Call) -> None:
        """Write the nodes of an op of several operands.

        Raises `ShapeError` (usage) if it is not supported.
        """
        trace, operands = call.trace, named_operands(call.trace, self.tensor, self.operands + 1)
        attributes: dict[str, object] = {}
        if trace.op == "einsum":
            attributes["equation"] = f'"{trace.request.arguments["pattern"]}"'
        if trace.op in ("concat", "stack"):
            attributes["axis"] = trace.request.arguments.get("axis", 0)
        if trace.op == "linear":
            operands[1] = self._beside(operands[1], lambda: self.node("Transpose", perm=[1, 0]))
        if trace.op == "stack":
            attributes["axis"] = axis = call.move(Combine).joined or 0
            operands = [self._beside(name, lambda: self._with_axes("Unsqueeze", [axis])) for name in operands]
        if trace.op == "broadcast":
            for other in [name for name in operands if name != self.tensor]:
                self.node("Expand", self._beside(other, lambda: self.node("Shape")))
        elif trace.op in NODES:
            self.read(NODES[trace.op], operands, **attributes)
        elif trace.op in ("conv", "pool") and trace.request.arguments.get("layout") != "nhwc":
            operator, attributes = onnx_windows(trace)
            self.read(operator, operands, **attributes)
        elif trace.op == "pad" and self.opset >= PADS_ARE_INPUTS:
            pads = [step.facts.get(end, 0) for end in ENDS for step in call.stage.steps]
            self.node("Pad", self.vector("pads", pads))
        else:
            raise misuse(f"{trace.op} is not written as onnx code", argument="as")
        self.count_operands(call)

    def read(self, operator: str, named: Sequence[str], **attributes: object) -> None:
        """Write a node on these tensors in order, the chain's among them."""
        self.tensor, *others = named
        self.node(operator, *others, **attributes)

    def _beside(self, name: str, write: Callable[[], object]) -> str:
        """Return the output of a node that is applied to an operand.

        The chain's tensor is unchanged.
        """
        tensor, self.tensor = self.tensor, name
        write()
        output, self.tensor = self.tensor, tensor
        return output

    def text(self) -> str:
        """Return the code of the model, from its input `x` to its output `y`."""
        if not self.count:
            self.node("Identity")
        self.lines[-1] = self.lines[-1].replace(f'"{self.tensor}"', '"y"')
        answer = self.answer
        kind = _element_type(next((trace.request.dtype for trace in answer.traces), None))
        after, vector = answer.output or (), any(OPS[trace.op].ends_chain for trace in answer.traces)
        inputs = {"x": answer.input, **operand_names(answer.traces)}
        output = f"TensorProto.INT64, [{len(after)}]" if vector else f"{kind}, {_declared(after)}"
        lines = [
            "from onnx import TensorProto, helper",
            code.title(answer),
            *self.constants,
            "nodes = [",
            *(f"    {node}" for node in self.lines),
            "]",
            *[
                f'{name} = helper.make_tensor_value_info("{name}", {kind}, {_declared(shape)})'
                for name, shape in inputs.items()
            ],
            f'y = helper.make_tensor_value_info("y", {output})',
            f'graph = helper.make_graph(nodes, "shapecalc", [{", ".join(inputs)}], [y])',
            f'model = helper.make_model_gen_version(graph, opset_imports=[helper.make_opsetid("", {self.opset})])',
        ]
        return "\n".join(lines)


def onnx(answer: Trace | Chain, opset: int | None = None) -> Code:
    """Return the code of an ONNX model with the input `x` and the output `y`.

    Without `opset`, the stages determine it. Raises `ShapeError` (usage) if ONNX lacks the element type, or the opset
    lacks a node.
    """
    opset, *other_opsets = [opset] if opset else _model_opsets(answer)
    model = OnnxModel(answer, opset)
    if other_opsets:
        model.warnings.append(f"a model has one opset: {opset} for all stages")
    return model.code(code.calls_of(answer), *batch_warnings(answer, declared=True))


def _model_opsets(answer: Trace | Chain) -> list[int]:
    """Return the opsets of the requests, largest first; the default if there is none."""
    requests = [trace.request for trace in answer.traces if DIALECTS[trace.dialect].newest_opset]
    return sorted({request.opset or DEFAULT_OPSET for request in requests}, reverse=True) or [DEFAULT_OPSET]


def _element_type(dtype: str | None) -> str:
    """Return the code of an element type, float by default.

    Raises `ShapeError` (usage) if ONNX lacks it.
    """
    if dtype and dtype not in SINCE_25:
        raise misuse(f"onnx has no element type {dtype}", argument="dtype")
    return f"TensorProto.{spelled(dtype or 'float32', ONNX).upper()}"


def _declared(shape: Sequence[Dim]) -> str:
    """Return the code of the dims of an input or output; a product of names is None."""
    texts = []
    for dim in shape:
        is_name = isinstance(dim, Monomial) and str(dim).isidentifier()
        texts.append(str(dim) if isinstance(dim, int) else f'"{dim}"' if is_name else "None")
    return f"[{', '.join(texts)}]"


class OpenVinoGraph(Graph):
    """A writer of OpenVINO nodes, created by its Python operators."""

    name = "openvino"
    forms: ClassVar[Mapping[str, str]] = {
        "sizes": "sizes = ops.shape_of(x)",
        "constant": "{name} = ops.constant([{0}])",
        "axis": "{name} = ops.gather(sizes, [{0}], 0)",
        "multiply": "{name} = ops.multiply({0}, {1})",
        "divide": "{name} = ops.divide({0}, {1})",
        "concat": "{name} = ops.concat([{0}], 0)",
    }
    intro = ("from openvino import opset13 as ops", "# x is a node of an openvino.Model")
    rules = code.Rules("openvino", "special_zero", on=False, required=True)

    def node(self, operator: str, *arguments: object, read: str = "") -> None:
        """Apply an operator to the tensor.

        `output_suffix` selects one of several outputs.
        """
        self.put(f"ops.{operator}({', '.join([self.tensor, *map(str, arguments)])}){read}")

    def vector(self, dims: Sequence[Dim]) -> str:
        """Return the expression for a vector of dims."""
        if not dims:
            return "np.array([], dtype=np.int64)"
        return self.computed(dims) if code.is_computed(dims) else f"[{texts_of(dims)}]"

    def transpose(self, call: code.Call) -> None:
        """Write a Transpose."""
        self.node("transpose", list(call.move(Permute).axes))

    def reshape(self, call: code.Call) -> None:
        """Write a Reshape; a 0 copies a dim unless the shape needs it as a size."""
        target = code.requested_shape(call, self.readings, self.rules)
        self.node("reshape", self.vector(target.dims), f"special_zero={not target.literal}")
        self.warnings += target.warnings

    def squeeze(self, call: code.Call) -> None:
        """Write a Squeeze."""
        self.node("squeeze", call.dropped_axes())

    def unsqueeze(self, call: code.Call) -> None:
        """Write an Unsqueeze."""
        self.node("unsqueeze", call.inserted_axes())

    def expand(self, call: code.Call) -> None:
        """Write a Broadcast, with an Unsqueeze before it.

        OpenVINO drops a dim whose shape holds only 1.
        """
        dims = self.two_way_dims(call)
        if added := len(dims) - len(call.stage.before):
            self.node("unsqueeze", list(range(added)))
        self.node("broadcast", self.vector(dims), 'broadcast_spec="BIDIRECTIONAL"')

    def tile(self, call: code.Call) -> None:
        """Write a Tile, which adds axes if it has more repeats than the tensor has dims."""
        self.node("tile", self.vector([*map(self.readings.read, call.repeats)]))

    def pick(self, call: code.Call) -> None:
        """Write a Gather of one index, or a Slice."""
        kept = call.cut_axes()
        if kept[0].goes:
            self.node("gather", kept[0].first, kept[0].axis)
        else:
            rows = zip(
                *((axis_range.first, axis_range.end, axis_range.step, axis_range.axis) for axis_range in kept),
                strict=True,
            )
            self.node("slice", *([*row] for row in rows))

    def split(self, call: code.Call) -> None:
        """Write a Split with one used output."""
        axis, parts, part = call.split_axis()
        self.node("split", axis, parts, read=f".output({part})")

    def take(self, call: code.Call) -> None:
        """Write a Gather."""
        move = call.move(Take)
        self.node("gather", self.vector(move.places), move.axis)

    def roll(self, call: code.Call) -> None:
        """Write a Roll."""
        roll = call.short_roll(self.name)
        self.node("roll", [roll.shift], [roll.axis])

    def shape(self, call: code.Call) -> None:
        """Write a ShapeOf, with a Slice for a range of dims."""
        self.node("shape_of")
        move = call.move(Dims)
        if len(call.after) < len(call.stage.before):
            self.node("slice", [move.start], [move.end], [1])


def openvino(answer: Trace | Chain) -> Code:
    """Return the code that adds OpenVINO nodes after the node `x`.

    Raises `ShapeError` (usage) if OpenVINO refuses the request.

    >>> import shapecalc as sc
    >>> print(openvino(sc.reshape("N,C,H,W", "0,-1")).text.splitlines()[-1])
    y = ops.reshape(x, [0, -1], special_zero=True)
    """
    return OpenVinoGraph(answer).code(code.calls_of(answer), *batch_warnings(answer))


class TensorRTNetwork(Graph):
    """A writer of TensorRT layers; one Shuffle transposes, reshapes and transposes."""

    name = "tensorrt"
    forms: ClassVar[Mapping[str, str]] = {
        "sizes": "sizes = network.add_shape(x).get_output(0)",
        "constant": "{name} = network.add_constant(({1},), np.array([{0}], dtype=np.int64)).get_output(0)",
        "axis": "{name} = network.add_slice(sizes, start=({0},), shape=(1,), stride=(1,)).get_output(0)",
        "multiply": "{name} = network.add_elementwise({0}, {1}, trt.ElementWiseOperation.PROD).get_output(0)",
        "divide": "{name} = network.add_elementwise({0}, {1}, trt.ElementWiseOperation.FLOOR_DIV).get_output(0)",
        "concat": "{name} = network.add_concatenation([{0}]).get_output(0)",
    }
    intro = ("# network is a trt.INetworkDefinition, x one of its tensors",)
    rules = code.Rules("tensorrt", "zero_is_placeholder", on=False)

    def layer(self, method: str, arguments: str = "", *settings: str) -> None:
        """Add a layer on the tensor with its assignments and method calls."""
        call = f"layer = network.{method}({self.tensor}{arguments})"
        self.lines += [call, *(f"layer.{setting}" for setting in settings)]
        self.put("layer.get_output(0)")

    def setting(self, name: str, index: int, dims: Shape) -> str:
        """Return the property assignment for known dims.

        Returns the `set_input` call for computed ones.
        """
        if not code.is_computed(dims):
            return f"{name} = {_tuple(dims)}"
        return f"set_input({index}, {self.computed(dims)})"

    def shuffle(self, calls: Iterable[code.Call]) -> None:
        """Write one Shuffle for a transpose, a reshape and a transpose."""
        settings = list[str]()
        for call in calls:
            if call.stage.kind is Kind.PERMUTE:
                settings.append(f"{'second' if settings else 'first'}_transpose = {call.move(Permute).axes}")
            else:
                settings += self.reshape_settings(call)
        self.layer("add_shuffle", "", *settings)

    def reshape_settings(self, call: code.Call, *, literal: bool = False) -> list[str]:
        """Return the settings of the requested shape of a Shuffle."""
        target = code.requested_shape(call, self.readings, self.rules, literal=literal)
        self.warnings += target.warnings
        dims = self.setting("reshape_dims", 1, target.dims)
        return [dims, *(["zero_is_placeholder = False"] if target.literal else [])]

    def transpose(self, call: code.Call) -> None:
        """Write a Shuffle."""
        self.shuffle([call])

    reshape = squeeze = unsqueeze = transpose

    def expand(self, call: code.Call) -> None:
        """Write a slice with stride 0 along the repeated dims.

        A Shuffle before it inserts new dims.
        """
        output, before = call.after, call.stage.before
        added = len(output) - len(before)
        if added:
            requested = (
                *(code.RequestedDim(1),) * added,
                *(code.RequestedDim(dim, (axis,)) for axis, dim in enumerate(before)),
            )
            self.layer("add_shuffle", "", *self.reshape_settings(replace(call, dims=requested), literal=0 in before))
        solved = solved_names(call.trace.conditions)
        strides = tuple(int(rewrite(dim, solved) != 1) for dim in ((1,) * added + before))
        expressed = tuple(map(self.readings.read, output))
        self._slice((0,) * len(expressed), expressed, strides)

    def pick(self, call: code.Call) -> None:
        """Write a slice; a Shuffle after it drops the axes of single positions."""
        before, output, move = call.stage.before, call.after, call.move(Pick)
        if not all_known((*before, *output)):
            message = f"{call.stage.label} of sizes with names is not written as tensorrt code"
            raise misuse(message, "give the sizes with --where")
        starts = [start % dim if size != 0 else 0 for (start, _, size), dim in zip(move.axes, before, strict=True)]
        self._slice(starts, tuple(1 if size is None else size for size in move.sizes), move.steps)
        if None in move.sizes:
            zeros = ["zero_is_placeholder = False"] if 0 in output else []
            self.layer("add_shuffle", "", self.setting("reshape_dims", 1, output), *zeros)

    split = pick

    def combine(self, call: code.Call) -> None:
        """Write a concatenation, a matrix multiplication or an Einsum layer."""
        self.lines.append(f"layer = network.{self.combined(call)}")
        if call.trace.op == "concat":
            self.lines.append(f"layer.axis = {call.move(Combine).joined}")
        self.put("layer.get_output(0)")

    def shape(self, call: code.Call) -> None:
        """Write a shape layer, with a slice for a range of dims."""
        dims_move, count = call.move(Dims), len(call.after)
        self.layer("add_shape")
        if count < len(call.stage.before):
            self._slice((dims_move.start if count else 0,), (count,), (1,))

    def _slice(self, start: Sequence[Dim], shape: Shape, stride: Sequence[Dim]) -> None:
        computed = code.is_computed(shape)
        known = _tuple((0,) * len(shape) if computed else shape)
        arguments = f", start={_tuple(start)}, shape={known}, stride={_tuple(stride)}"
        self.layer("add_slice", arguments, *([self.setting("shape", 2, shape)] if computed else []))


def tensorrt(answer: Trace | Chain) -> Code:
    """Return the code that adds layers with the fewest Shuffles.

    The layers follow the tensor `x` of `network`. The answer itself is written if TensorRT supports it and no chain has
    fewer. Raises `ShapeError` for a rank above TensorRT's maximum, or a size that has no name.
    """
    network = TensorRTNetwork(answer)
    check_rank(answer.input, DIALECTS["tensorrt"], "input")
    simplification = simplify(answer, Goal.SHUFFLES, "float32")  # the element type has no effect: bytes are not counted
    too_wide = any(len(stage.after or ()) > MOST_DIMS for stage in answer.stages)
    fewest = (
        simplification.chain if too_wide or simplification.after.shuffles < simplification.before.shuffles else answer
    )
    for run in runs(code.calls_of(fewest, tiles=False), lambda call: call.stage.move):
        for call in run:
            check_rank(call.after, DIALECTS["tensorrt"], "input")
        if run[0].stage.kind in (Kind.PERMUTE, *code.CUTS):
            network.shuffle(run)
        else:
            network.add(run[0])
    return network.code((), *batch_warnings(answer))


def _tuple(dims: Sequence[Dim]) -> str:
    return f"({texts_of(dims)},)" if len(dims) == 1 else f"({texts_of(dims)})"


def texts_of(dims: Iterable[Dim]) -> str:
    """Return dims that are known before run time as the items of a list."""
    return ", ".join(map(code.size_text, dims))


def batch_warnings(answer: Trace | Chain, *, declared: bool = False) -> list[str]:
    """Return a warning if the code fixes the first dim.

    It shows the input to write for any batch size. With `declares_shape`, the code declares the input's shape, and so
    fixes its first dim in any case.

    >>> from shapecalc.core.ask import ask
    >>> from shapecalc.core.resolve import resolve
    >>> batch_warnings(resolve(ask("reshape", "8,3,4", {"target": "8,6,2"})))[0].partition(";")[0]
    'this code is right for a first dim of 8 only, as the input N,3,4 shows'
    """
    batch, *others = answer.input or (None,)
    if not isinstance(batch, int) or not others or not answer.traces:
        return []
    requests = [trace.request for trace in answer.traces]
    used = names([dim for request in requests for dim in request.dims])
    name = next(name for name in ("N", "B", "BATCH") if name not in used)
    shape = (named_dim(name), *others)
    try:
        batch_answer = resolve_chain([replace(requests[0], input=shape), *requests[1:]])
    except ShapeError:
        return []
    shown = brief(shape_text(shape))
    if solved_names(batch_answer.conditions).get(name) == batch:
        message = f"this code is right for a first dim of {batch} only, as the input {shown} shows"
        return ["; ".join(filter(None, (message, lasting_hint(batch_answer))))]
    first, *rest = batch_answer.output or (None,)
    if first == batch and name in names(rest):
        return [f"the first dim is {batch} for every batch: from {shown} comes {brief(shape_text((first, *rest)))}"]
    if not declared or batch == 0:
        return []
    return [f"the code declares a first dim of {batch}; for other sizes of it write the input as {shown}"]


WRITERS: dict[str, Callable[..., Code]] = {"onnx": onnx, "openvino": openvino, "tensorrt": tensorrt}
