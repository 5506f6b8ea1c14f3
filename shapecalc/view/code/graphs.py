"""ONNX, OpenVINO and TensorRT code: what makes the nodes of a graph, one after another. Sizes are nodes, too."""

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
SHAPES_ARE_INPUTS = 5
"""The first ONNX opsets in which axes are inputs of a node, Mul and Div take integers, and shapes are inputs."""
INDICES_FROM_THE_END = 11
"""The first opset in which negative indices count from the end."""
STEPS = 10
"""The first opset in which a Slice has steps, and inputs in place of attributes."""
PADS_ARE_INPUTS = 11
"""The first opset in which a Pad takes pads as a vector."""
REPEATS = 6
"""The first opset in which a Tile takes repeats as a vector."""


class Graph(code.Writer):
    """A graph while code for it is written. Each node that computes sizes is written once."""

    forms: ClassVar[Mapping[str, str]]
    """How the framework writes the nodes that compute sizes, as templates. Each makes a tensor of one axis, `{name}`.

    `sizes` is the shape of `x`, `axis` item `{0}` of it, `constant` the items `{0}`, `{1}` of them, and `concat` all
    items of the tensors `{0}`.
    """
    quote: ClassVar[str] = ""
    """What stands around the name of a tensor in `concat`."""

    def __init__(self, answer: Trace | Chain) -> None:
        """Start at the input `x`."""
        super().__init__(answer)
        self.made: dict[tuple[str, ...], str] = {}
        """The tensors that hold sizes, each by the form of its node and what the node reads."""

    def two_way_dims(self, call: code.Call) -> Shape:
        """Return the shape to request from a broadcast that lets either side grow: 1 for a dim that the tensor has."""
        dims, before = list[Dim](), call.stage.before
        for axis, dim in enumerate(call.dims, len(before) - len(call.dims)):
            same = axis >= 0 and before[axis] == dim.value and isinstance(dim.value, Monomial)
            dims.append(1 if dim.axes or same else self.readings.read(dim.value))
        return tuple(dims)

    def computed(self, dims: Iterable[Dim]) -> str:
        """Return the name of the tensor that holds dims of which some are computed."""
        parts = list[str]()
        for computed, run in groupby(dims, lambda dim: code.is_computed([dim])):
            row = tuple(run)
            parts += map(self._size, row) if computed else [self._constant(row)]
        quote = self.quote
        joined = ", ".join(f"{quote}{part}{quote}" for part in parts)
        return parts[0] if len(parts) == 1 else self._make("concat", joined)

    def _size(self, dim: Dim) -> str:
        whole = monomial(dim)
        above = self._product(whole.numerator, {name: power for name, power in whole.powers if power > 0})
        below = {name: -power for name, power in whole.powers if power < 0}
        if whole.denominator == 1 and not below:
            return above
        return self._make("divide", above, self._product(whole.denominator, below))

    def _product(self, number: int, powers: Mapping[str, int]) -> str:
        """Return the name of the tensor that holds a product of axes, names that are given, and a number."""
        axes = [name[1:-1] for name, power in powers.items() if name.startswith("[") for _ in range(power)]
        given = lowest_terms(number, 1, {name: power for name, power in powers.items() if not name.startswith("[")})
        factors = [self._make("axis", axis) for axis in axes]
        if given != 1 or not factors:
            factors.append(self._constant((given,)))
        return reduce(lambda first, second: self._make("multiply", first, second), factors)

    def _constant(self, dims: Shape) -> str:
        return self._make("constant", texts_of(dims), str(len(dims)))

    def _make(self, form: str, *inputs: str) -> str:
        """Return the name of what a node makes; the node is written when it is first asked for."""
        if form == "axis" and not any(key[0] == form for key in self.made):
            self.lines.append(self.forms["sizes"])
        key = (form, *inputs)
        if key not in self.made:
            self.made[key] = f"size{len(self.made) + 1}"
            self.lines.append(self.forms[form].format(*inputs, name=self.made[key]))
        return self.made[key]


class OnnxModel(Graph):
    """The nodes of an ONNX model, with the constants that they read."""

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
        """Write a node that reads the tensor and other inputs; raise `ShapeError` (usage) if the opset has none."""
        for lacking in (operator, *attributes):
            # the first opsets with an operator, or with an attribute
            first = {"Expand": 8, "start": 15, "steps": STEPS}.get(lacking, 1)
            if self.opset < first:
                raise misuse(f"onnx has no {lacking} before opset {first}", f"use --opset {first} or later")
        self.count += 1
        quoted = ", ".join(f'"{name}"' for name in (self.tensor, *inputs))
        given = "".join(f", {name}={value}" for name, value in attributes.items())
        self.tensor = f"t{self.count}"
        self.lines.append(f'helper.make_node("{operator}", [{quoted}], ["{self.tensor}"]{given}),')

    def constant(self, kind: str, texts: str, dims: str) -> str:
        """Return the name of a tensor that holds numbers, for the node that comes next."""
        name = f"{kind}{self.count + 1}"
        self.constants.append(f'{name} = helper.make_tensor("{name}", TensorProto.INT64, [{dims}], [{texts}])')
        self.lines.append(f'helper.make_node("Constant", [], ["{name}"], value={name}),')
        return name

    def vector(self, kind: str, dims: Sequence[Dim]) -> str:
        """Return the name of the tensor that holds numbers or dims that were read, for the node that comes next."""
        if not code.is_computed(dims):
            return self.constant(kind, texts_of(dims), str(len(dims)))
        if self.opset < INTEGERS_ARE_COMPUTED:
            raise misuse("a model of this opset computes no sizes", f"use --opset {INTEGERS_ARE_COMPUTED} or later")
        return self.computed(dims)

    def transpose(self, call: code.Call) -> None:
        """Write a Transpose."""
        self.node("Transpose", perm=list(call.move(Permute).axes))

    def reshape(self, call: code.Call) -> None:
        """Write a Reshape or a Flatten. 0 and -1 stay if they mean the same; allowzero is set if 0 is a size."""
        if call.stage.kind is Kind.MERGE and len(call.dims) == 2:
            self.node("Flatten", axis=len(call.dims[0].axes or ()))
            return
        made = code.requested_shape(call, self.readings, code.Rules("onnx", "allowzero", on=True, opset=self.opset))
        self.warnings += made.warnings
        if self.opset >= SHAPES_ARE_INPUTS or code.is_computed(made.dims):
            self.node("Reshape", self.vector("shape", made.dims), **({"allowzero": 1} if made.literal else {}))
        elif made.dims:
            self.node("Reshape", shape=f"[{texts_of(made.dims)}]")
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
        """Write a Tile; new axes are inserted before it."""
        if self.opset < REPEATS:
            raise misuse(f"tile is not written for opsets before {REPEATS}", f"use --opset {REPEATS} or later")
        if new := len(call.repeats) - len(call.stage.before):
            self._with_axes("Unsqueeze", range(new))
        self.node("Tile", self.vector("repeats", [*map(self.readings.read, call.repeats)]))

    def pick(self, call: code.Call) -> None:
        """Write a Gather of one index, or a Slice of some axes."""
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
        """Write a Gather of positions, whose indices have these dims."""
        if min(places, default=0) < 0 and self.opset < INDICES_FROM_THE_END:
            raise misuse("the last index of a dim with a name", f"use --opset {INDICES_FROM_THE_END} or later")
        self.node("Gather", self.constant("index", texts_of(places), dims), **({"axis": axis} if axis else {}))

    def _slice(self, kept: Sequence[code.Kept]) -> None:
        """Write a Slice of some axes. Its arguments are attributes in the opsets that have no steps."""
        arguments = {
            "starts": [each.first for each in kept],
            "ends": [each.end for each in kept],
            "axes": [each.axis for each in kept],
        }
        steps = [each.step for each in kept]
        if {*steps} != {1}:
            arguments["steps"] = steps
        if self.opset < STEPS:
            self.node("Slice", **arguments)
        else:
            self.node("Slice", *(self.vector(name, values) for name, values in arguments.items()))

    def split(self, call: code.Call) -> None:
        """Write a Split of a dim with a name, of whose outputs one is read, or a Slice."""
        if all_known(call.stage.before):
            self._slice(call.cut_axes())
            return
        axis, parts, part = call.split_axis()
        if parts > 1024:  # nobody reads so many names
            raise misuse(f"a Split into {brief(str(parts))} parts", "give the sizes with --where")
        self.node("Split", axis=axis, **({"num_outputs": parts} if self.opset >= 18 else {}))
        unread = f'"unread{self.count}_'
        outputs = ", ".join(f'"{self.tensor}"' if each == part else f'{unread}{each}"' for each in range(parts))
        self.lines[-1] = self.lines[-1].replace(f'["{self.tensor}"]', f"[{outputs}]")

    def shape(self, call: code.Call) -> None:
        """Write a Shape."""
        move = call.move(Dims)
        whole = (move.start, move.end) == (0, len(call.stage.before))
        self.node("Shape", **({} if whole else {"start": move.start, "end": move.end}))

    def combine(self, call: code.Call) -> None:
        """Write the nodes of an op of several operands; raise `ShapeError` (usage) if nothing is known to write."""
        trace, named = call.trace, named_operands(call.trace, self.tensor, self.operands + 1)
        attributes: dict[str, object] = {}
        if trace.op == "einsum":
            attributes["equation"] = f'"{trace.request.arguments["pattern"]}"'
        if trace.op in ("concat", "stack"):
            attributes["axis"] = trace.request.arguments.get("axis", 0)
        if trace.op == "linear":
            named[1] = self._beside(named[1], lambda: self.node("Transpose", perm=[1, 0]))
        if trace.op == "stack":
            attributes["axis"] = axis = call.move(Combine).joined or 0
            named = [self._beside(name, lambda: self._with_axes("Unsqueeze", [axis])) for name in named]
        if trace.op == "broadcast":
            for other in [name for name in named if name != self.tensor]:
                self.node("Expand", self._beside(other, lambda: self.node("Shape")))
        elif trace.op in NODES:
            self.read(NODES[trace.op], named, **attributes)
        elif trace.op in ("conv", "pool") and trace.request.arguments.get("layout") != "nhwc":
            operator, attributes = onnx_windows(trace)
            self.read(operator, named, **attributes)
        elif trace.op == "pad" and self.opset >= PADS_ARE_INPUTS:
            pads = [step.facts.get(end, 0) for end in ENDS for step in call.stage.steps]
            self.node("Pad", self.vector("pads", pads))
        else:
            raise misuse(f"{trace.op} is not written as onnx code", argument="as")
        self.count_operands(call)

    def read(self, operator: str, named: Sequence[str], **attributes: object) -> None:
        """Write a node that reads tensors, the chain's among them, in this order."""
        self.tensor, *others = named
        self.node(operator, *others, **attributes)

    def _beside(self, name: str, write: Callable[[], object]) -> str:
        """Return the name of what a node makes of another tensor than the chain's."""
        tensor, self.tensor = self.tensor, name
        write()
        made, self.tensor = self.tensor, tensor
        return made

    def text(self) -> str:
        """Return the code of a model with the input `x` and the output `y`, which the last node makes."""
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
    """Return the code of an ONNX model with the input `x` and the output `y`. Without `opset`, the stages say it.

    Raises `ShapeError` (usage) if ONNX has no such element type, or if the opset cannot say it.
    """
    opset, *others = [opset] if opset else _model_opsets(answer)
    model = OnnxModel(answer, opset)
    if others:
        model.warnings.append(f"a model has one opset: {opset} for all stages")
    return model.code(code.calls_of(answer), *batch_warnings(answer, declared=True))


def _model_opsets(answer: Trace | Chain) -> list[int]:
    """Return the opsets that stages ask for, the largest first; the default if none asks for one."""
    asking = [trace.request for trace in answer.traces if DIALECTS[trace.dialect].newest_opset]
    return sorted({request.opset or DEFAULT_OPSET for request in asking}, reverse=True) or [DEFAULT_OPSET]


def _element_type(dtype: str | None) -> str:
    """Return the element type as code; float if none is named."""
    if dtype and dtype not in SINCE_25:
        raise misuse(f"onnx has no element type {dtype}", argument="dtype")
    return f"TensorProto.{spelled(dtype or 'float32', ONNX).upper()}"


def _declared(shape: Sequence[Dim]) -> str:
    """Return the dims of an input or output as code. A dim that is a product of names is left open."""
    texts = []
    for dim in shape:
        named = isinstance(dim, Monomial) and str(dim).isidentifier()
        texts.append(str(dim) if isinstance(dim, int) else f'"{dim}"' if named else "None")
    return f"[{', '.join(texts)}]"


class OpenVinoGraph(Graph):
    """Nodes of an OpenVINO model, made by its Python operators."""

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
        """Write one operator on the tensor; `read` says which of its outputs is read, if it has several."""
        self.put(f"ops.{operator}({', '.join([self.tensor, *map(str, arguments)])}){read}")

    def vector(self, dims: Sequence[Dim]) -> str:
        """Return the expression for a vector of dims that were read."""
        if not dims:
            return "np.array([], dtype=np.int64)"
        return self.computed(dims) if code.is_computed(dims) else f"[{texts_of(dims)}]"

    def transpose(self, call: code.Call) -> None:
        """Write a Transpose."""
        self.node("transpose", list(call.move(Permute).axes))

    def reshape(self, call: code.Call) -> None:
        """Write a Reshape; 0 copies a dim unless it has to be a size."""
        made = code.requested_shape(call, self.readings, self.rules)
        self.node("reshape", self.vector(made.dims), f"special_zero={not made.literal}")
        self.warnings += made.warnings

    def squeeze(self, call: code.Call) -> None:
        """Write a Squeeze."""
        self.node("squeeze", call.dropped_axes())

    def unsqueeze(self, call: code.Call) -> None:
        """Write an Unsqueeze."""
        self.node("unsqueeze", call.inserted_axes())

    def expand(self, call: code.Call) -> None:
        """Write a Broadcast. New dims are inserted before it: OpenVINO drops one whose shape holds only 1."""
        dims = self.two_way_dims(call)
        if added := len(dims) - len(call.stage.before):
            self.node("unsqueeze", list(range(added)))
        self.node("broadcast", self.vector(dims), 'broadcast_spec="BIDIRECTIONAL"')

    def tile(self, call: code.Call) -> None:
        """Write a Tile, which makes new axes where it has more repeats than there are dims."""
        self.node("tile", self.vector([*map(self.readings.read, call.repeats)]))

    def pick(self, call: code.Call) -> None:
        """Write a Gather of one index, or a Slice of some axes."""
        kept = call.cut_axes()
        if kept[0].goes:
            self.node("gather", kept[0].first, kept[0].axis)
        else:
            rows = zip(*((each.first, each.end, each.step, each.axis) for each in kept), strict=True)
            self.node("slice", *([*row] for row in rows))

    def split(self, call: code.Call) -> None:
        """Write a Split, of whose outputs one is read."""
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
        """Write a ShapeOf, with a Slice of it if not every dim is asked for."""
        self.node("shape_of")
        move = call.move(Dims)
        if len(call.after) < len(call.stage.before):
            self.node("slice", [move.start], [move.end], [1])


def openvino(answer: Trace | Chain) -> Code:
    """Return the code that makes nodes after the node `x`; raise `ShapeError` (usage) if OpenVINO refuses the request.

    >>> import shapecalc as sc
    >>> print(openvino(sc.reshape("N,C,H,W", "0,-1")).text.splitlines()[-1])
    y = ops.reshape(x, [0, -1], special_zero=True)
    """
    return OpenVinoGraph(answer).code(code.calls_of(answer), *batch_warnings(answer))


class TensorRTNetwork(Graph):
    """Layers of a TensorRT network, for its Python API. One Shuffle transposes, reshapes and transposes."""

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
        """Write a layer on the tensor, with what is set or called on it."""
        call = f"layer = network.{method}({self.tensor}{arguments})"
        self.lines += [call, *(f"layer.{setting}" for setting in settings)]
        self.put("layer.get_output(0)")

    def setting(self, name: str, index: int, dims: Shape) -> str:
        """Return what sets dims: as a property if they are known, otherwise as an input of the layer."""
        if not code.is_computed(dims):
            return f"{name} = {_tuple(dims)}"
        return f"set_input({index}, {self.computed(dims)})"

    def shuffle(self, calls: Iterable[code.Call]) -> None:
        """Write the one layer that transposes, reshapes and transposes."""
        settings = list[str]()
        for call in calls:
            if call.stage.kind is Kind.PERMUTE:
                settings.append(f"{'second' if settings else 'first'}_transpose = {call.move(Permute).axes}")
            else:
                settings += self.reshape_settings(call)
        self.layer("add_shuffle", "", *settings)

    def reshape_settings(self, call: code.Call, *, literal: bool = False) -> list[str]:
        """Return what sets the requested shape of a Shuffle."""
        made = code.requested_shape(call, self.readings, self.rules, literal=literal)
        self.warnings += made.warnings
        dims = self.setting("reshape_dims", 1, made.dims)
        return [dims, *(["zero_is_placeholder = False"] if made.literal else [])]

    def transpose(self, call: code.Call) -> None:
        """Write a Shuffle."""
        self.shuffle([call])

    reshape = squeeze = unsqueeze = transpose

    def expand(self, call: code.Call) -> None:
        """Write a slice that reads the dims of 1 again and again. New dims are inserted before it by a Shuffle."""
        output, before = call.after, call.stage.before
        added = len(output) - len(before)
        if added:
            asked = (
                *(code.RequestedDim(1),) * added,
                *(code.RequestedDim(dim, (axis,)) for axis, dim in enumerate(before)),
            )
            self.layer("add_shuffle", "", *self.reshape_settings(replace(call, dims=asked), literal=0 in before))
        solved = solved_names(call.trace.conditions)
        strides = tuple(int(rewrite(dim, solved) != 1) for dim in ((1,) * added + before))
        read = tuple(map(self.readings.read, output))
        self._slice((0,) * len(read), read, strides)

    def pick(self, call: code.Call) -> None:
        """Write a slice, with a Shuffle after it that drops the axes of which one position is taken."""
        before, output, move = call.stage.before, call.after, call.move(Pick)
        if not all_known((*before, *output)):
            named = f"{call.stage.label} of sizes with names is not written as tensorrt code"
            raise misuse(named, "give the sizes with --where")
        starts = [start % dim if size != 0 else 0 for (start, _, size), dim in zip(move.axes, before, strict=True)]
        self._slice(starts, tuple(1 if size is None else size for size in move.sizes), move.steps)
        if None in move.sizes:
            zeros = ["zero_is_placeholder = False"] if 0 in output else []
            self.layer("add_shuffle", "", self.setting("reshape_dims", 1, output), *zeros)

    split = pick

    def combine(self, call: code.Call) -> None:
        """Write a concatenation, a matrix product or an Einsum layer."""
        self.lines.append(f"layer = network.{self.combined(call)}")
        if call.trace.op == "concat":
            self.lines.append(f"layer.axis = {call.move(Combine).joined}")
        self.put("layer.get_output(0)")

    def shape(self, call: code.Call) -> None:
        """Write a shape layer, with a slice of it if not every dim is asked for."""
        move, count = call.move(Dims), len(call.after)
        self.layer("add_shape")
        if count < len(call.stage.before):
            self._slice((move.start if count else 0,), (count,), (1,))

    def _slice(self, start: Sequence[Dim], shape: Shape, stride: Sequence[Dim]) -> None:
        computed = code.is_computed(shape)
        known = _tuple((0,) * len(shape) if computed else shape)
        arguments = f", start={_tuple(start)}, shape={known}, stride={_tuple(stride)}"
        self.layer("add_slice", arguments, *([self.setting("shape", 2, shape)] if computed else []))


def tensorrt(answer: Trace | Chain) -> Code:
    """Return the code that adds layers to a `network` after its tensor `x`, with the fewest Shuffles.

    If TensorRT takes the answer as it was asked, and no chain has fewer, that is written.

    Raises `ShapeError` for more dims than TensorRT has, or a size that nobody knows.
    """
    network = TensorRTNetwork(answer)
    check_rank(answer.input, DIALECTS["tensorrt"], "input")
    found = simplify(answer, Goal.SHUFFLES, "float32")  # of any type: bytes do not count
    too_wide = any(len(stage.after or ()) > MOST_DIMS for stage in answer.stages)
    fewest = found.chain if too_wide or found.after.shuffles < found.before.shuffles else answer
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
    """Return dims that are known before a model runs as the items of a list."""
    return ", ".join(map(code.size_text, dims))


def batch_warnings(answer: Trace | Chain, *, declared: bool = False) -> list[str]:
    """Return the warning that the code says how large the first dim is, and what is right for every size of it.

    With `declared` the code holds the shape of the input, and so its first dim in any case.

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
        named = resolve_chain([replace(requests[0], input=shape), *requests[1:]])
    except ShapeError:
        return []
    shown = brief(shape_text(shape))
    if solved_names(named.conditions).get(name) == batch:
        only = f"this code is right for a first dim of {batch} only, as the input {shown} shows"
        return ["; ".join(filter(None, (only, lasting_hint(named))))]
    first, *rest = named.output or (None,)
    if first == batch and name in names(rest):
        return [f"the first dim is {batch} for every batch: from {shown} comes {brief(shape_text((first, *rest)))}"]
    if not declared or batch == 0:
        return []
    return [f"the code declares a first dim of {batch}; for other sizes of it write the input as {shown}"]


WRITERS: dict[str, Callable[..., Code]] = {"onnx": onnx, "openvino": openvino, "tensorrt": tensorrt}
