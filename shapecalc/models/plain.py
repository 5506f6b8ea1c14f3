"""Nodes that are not listed, on a walk: small tensors in NumPy, broadcasts, and ONNX's inference for the rest."""

from __future__ import annotations

from operator import add

from shapecalc.models.element_kinds import BOOL, INT64, NUMBERS
from shapecalc.models.inference import CARRYING, LARGEST_PART, Inference
from shapecalc.models.learned import RULES, dtypes_of
from shapecalc.models.runtime_rules import size_refusal
from shapecalc.models.state import broadcast, once
from shapecalc.models.values import VALUES, constant, value_of, vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from shapecalc.models.inference import InLanes
    from shapecalc.models.model import Node
    from shapecalc.models.state import Refused, State
    from shapecalc.models.walk import Shapes, Values

    Inferred = tuple[Sequence[Shapes], Sequence[int], Refused | None]
    """The shapes of a node's outputs in each lane, their element types, and why it fails, if it does."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


SAME = _names(
    "Relu LeakyRelu Sigmoid Tanh Erf Exp Log Sqrt Neg Abs Floor Ceil Round Sign Clip Elu Selu Celu Softplus Softsign "
    "HardSigmoid HardSwish Gelu Mish Identity Softmax LogSoftmax Hardmax ThresholdedRelu Sin Cos Tan Asin Acos Atan "
    "Sinh Cosh Asinh Acosh Atanh Reciprocal Not CumSum LpNormalization LRN InstanceNormalization Swish Shrink"
)
"""The operators whose output has the shape and the element type of their first input, whatever the others are."""
BROADCAST = _names(
    "Add Sub Mul Div Pow Mod And Or Xor Min Max Sum Mean Equal Greater Less GreaterOrEqual LessOrEqual Where "
    "BitwiseAnd BitwiseOr BitwiseXor"
)
"""The operators that broadcast their inputs."""
COMPARES = _names("Equal Greater Less GreaterOrEqual LessOrEqual And Or Xor")
PADS_AS_INPUT = 11
"""The opset since which Pad reads its pads from an input."""
BROADCAST_SINCE = 7
"""The opset since which operators broadcast as NumPy does; Min, Max, Sum and Mean since 8."""
READ = _names(
    "Resize Upsample Pad Slice Tile Expand ConstantOfShape Range OneHot TopK Split ReduceSum ReduceMean ReduceMax "
    "ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare CenterCropPad Col2Im "
    "MaxUnpool DFT STFT HannWindow HammingWindow BlackmanWindow MelWeightMatrix AffineGrid SplitToSequence "
    "RandomNormal Gather GatherND Squeeze Unsqueeze Reshape"
)
"""The operators whose outputs have sizes that are read from the elements of inputs."""


class PlainNodes:
    """Passes the nodes that are not listed and hold no graphs."""

    def __init__(self, state: State) -> None:
        """Begin with no answers."""
        self._state = state
        self._lanes: dict[object, tuple[Shapes, Refused | None]] = {}
        self._inferred: dict[object, Inferred] = {}
        self._asks: Inference | None = None

    def pass_node(self, node: Node) -> None:
        """Put down the outputs of a node."""
        state, op, inputs = self._state, node.op, node.inputs
        if node.domain:
            if node.domain == "ai.onnx.ml" and op in RULES:
                self._learned(node)
            else:
                self._infer(node)
            return
        if op in VALUES or op == "Constant":
            first = inputs[0] if inputs else 0
            if (not first or first in state.values or first in state.constants or op == "Size") and self._value(node):
                state.carry(node)
                return
        self._pass_shapes(node)

    def _pass_shapes(self, node: Node) -> None:
        """Put down the shapes of a node's outputs."""
        state, op, inputs = self._state, node.op, node.inputs
        if not inputs:
            self._infer(node)
        elif op in SAME and state.live is None and len(node.outputs) == 1 and (shapes := state.shapes[inputs[0]]):
            state.shapes[node.outputs[0]] = shapes
            state.dtypes[node.outputs[0]] = state.dtypes[inputs[0]]
            state.carry(node)
        elif op in BROADCAST and node.opset >= BROADCAST_SINCE + (op in ("Min", "Max", "Sum", "Mean")):
            self._broadcast(node)
        elif op == "Pad" and (padded := self._padded(node)):
            state.settle(node, (padded,), (state.dtypes[inputs[0]],), None)
        else:
            self._infer(node)

    def _padded(self, node: Node) -> Shapes | None:
        """Return what a Pad gives in each lane if it adds known numbers to all axes; None if ONNX is to be asked."""
        state, inputs = self._state, node.inputs
        if node.opset < PADS_AS_INPUT or len(inputs) not in (2, 3) or state.dtypes[inputs[1]] != INT64:
            return None
        known, shapes = state.known(inputs[1]), state.shapes[inputs[0]]
        pads = vector(known[0]) if known and once(known) else None
        if pads is None or shapes is None or min(pads, default=0) < 0:
            return None
        added = [*map(add, pads, pads[len(pads) // 2 :])]
        for shape in shapes:
            if shape is not None and (2 * len(shape) != len(pads) or max((*shape, *pads), default=0) > LARGEST_PART):
                return None
        return tuple([None if shape is None else tuple(map(add, shape, added)) for shape in shapes])

    def _value(self, node: Node) -> bool:
        """Put down the elements of a node's outputs; say whether they are known in some lane."""
        state = self._state
        if node.op == "Constant":
            return self._constant(node)
        if node.op == "Size":
            return self._size(node)
        for number in node.inputs:
            if number and number not in state.values and number not in state.constants:
                return False
        inputs = [state.known(number) or state.nobody if number else None for number in node.inputs]
        if any(lanes is state.nobody for lanes in inputs):
            return False
        made, refused = self._computed(node, inputs)
        if refused is not None and any(refused):
            dtype = state.dtypes[node.inputs[0]]
            state.settle(node, [state.nobody] * len(node.outputs), [dtype] * len(node.outputs), refused)
            return True
        if all(each is None for each in made):
            return False
        self._put_values(node, made)
        return True

    def _put_values(self, node: Node, made: Sequence[Any]) -> None:
        """Put down the elements of a node's outputs, and their shapes in the lanes in which they are not known."""
        state = self._state
        folded = all(
            state.walk.origins.get(number) in ("initializer", "Constant", "folded") for number in node.inputs if number
        )
        if any(each is None for each in made):
            self._pass_shapes(node)
        for place, number in enumerate(node.outputs):
            arrays = [None if each is None or place >= len(each) else each[place] for each in made]
            dtype = next((NUMBERS.get(each.dtype.name, 0) for each in arrays if each is not None), 0)
            state.put_values(number, arrays, dtype, state.shapes[number])
            if folded:
                state.walk.origins[number] = "folded"

    def _computed(self, node: Node, inputs: Sequence[Values | None]) -> tuple[list[Any], Refused | None]:
        """Return a node's outputs in each lane, None where they are not known, and why it fails, if it does."""
        state = self._state
        if all(lanes is None or once(lanes) for lanes in inputs):
            lanes = [[None if each is None else each[0] for each in inputs]]
        else:
            lanes = [[None if each is None else each[lane] for each in inputs] for lane in state.lanes]
        made: list[Any] = []
        refused: list[str | None] = []
        for arrays in lanes:
            lacking = any(array is None and given is not None for array, given in zip(arrays, inputs, strict=True))
            try:
                made.append(None if lacking else value_of(node.op, node.attributes, arrays))
                refused.append(None)
            except IndexError as error:
                made.append(None)
                refused.append(str(error))
        times = len(state.lanes) // len(lanes)
        return made * times, tuple(refused * times) if any(refused) else None

    def _constant(self, node: Node) -> bool:
        """Put down a Constant: its elements if they are few, otherwise what its message says of it."""
        state = self._state
        array = constant(node.attributes)
        if array is not None:
            state.put_values(node.outputs[0], (array,) * len(state.lanes), NUMBERS[array.dtype.name])
            state.walk.origins[node.outputs[0]] = "Constant"
            return True
        proto = node.attributes.get("value")
        if proto is None:
            return False
        state.put(node.outputs[0], (tuple(proto.dims),) * len(state.lanes), proto.data_type)
        return True

    def _size(self, node: Node) -> bool:
        """Put down what a Size counts."""
        import numpy as np

        shapes = self._state.shapes_of(node.inputs[0])
        counts = [None if shape is None else np.array(np.prod(shape, dtype=np.int64)) for shape in shapes]
        self._state.put_values(node.outputs[0], counts, INT64)
        return True

    def _broadcast(self, node: Node) -> None:
        """Put down the output of an operator that broadcasts its inputs."""
        state = self._state
        key = tuple([state.shapes_of(number) for number in node.inputs])
        found = self._lanes.get(key)
        if found is None:
            told = [None if None in shapes else broadcast(shapes) for shapes in zip(*key, strict=True)]
            refused = tuple([each if isinstance(each, str) else None for each in told])
            output = tuple([None if isinstance(each, str) else each for each in told])
            found = self._lanes[key] = output, refused if any(refused) else None
        dtype = BOOL if node.op in COMPARES else state.dtypes[node.inputs[-1]]
        state.settle(node, (found[0],), (dtype,), found[1])

    def _learned(self, node: Node) -> None:
        """Put down the outputs of an operator for classical machine learning."""
        state, rule = self._state, RULES[node.op]
        given = [state.shapes_of(number) for number in node.inputs]
        told = [rule(node.attributes, shapes) for shapes in zip(*given, strict=True)]
        outputs: list[Shapes] = [*zip(*told, strict=True)]
        state.settle(node, outputs, dtypes_of(node.op, node.attributes, state.dtypes[node.inputs[0]]), None)

    def _infer(self, node: Node) -> None:
        """Put down the outputs of a node as ONNX infers them."""
        state = self._state
        if self._asks is None:
            self._asks = Inference()
        form = self._asks.form(node)
        if form is None:
            for number in node.outputs:
                state.put(number, None, 0, f"custom operator {node.op}")
            state.carry(node)
            return
        values: list[Values | None] = [None] * len(node.inputs)
        if node.op in READ or node.domain:
            values = [state.known(number) if number else None for number in node.inputs]
        kinds = tuple([(state.dtypes[number], state.shapes_of(number)) if number else None for number in node.inputs])
        if any(values) or (state.others and any(number in state.others for number in node.inputs)):
            found = self._asked(node, form, kinds, values)
        else:
            key = (form, kinds)
            found = self._inferred.get(key) or self._asked(node, form, kinds, values)
            self._inferred[key] = found
        state.settle(node, *found)

    def _asked(
        self, node: Node, form: int, kinds: Sequence[InLanes | None], values: Sequence[Values | None]
    ) -> Inferred:
        """Return what ONNX infers of a node: asked for all lanes in one go, if it can be, otherwise one by one."""
        if node.op in CARRYING and not node.domain and all(each is None or once(each) for each in values):
            arrays = tuple([each and each[0] for each in values])
            found = self._asks.in_all(node, form, kinds, arrays)  # type: ignore[union-attr]
            if found is not None:
                return *found, None
        return self._asked_in_each(node, form, values)

    def _asked_in_each(self, node: Node, form: int, values: Sequence[Values | None]) -> Inferred:
        """Return the shapes of a node's outputs in each lane, their element types, and why it fails, if it does."""
        state, asks = self._state, self._asks
        told = []
        for lane in state.lanes:
            kinds = tuple([self._kind(number, lane) if number else None for number in node.inputs])
            arrays = tuple([None if each is None else each[lane] for each in values])
            refused = size_refusal(node, kinds, state.constants)
            told.append(refused or asks.outputs(node, form, kinds, arrays))  # type: ignore[union-attr]
        shapes, dtypes = [], []
        for place, number in enumerate(node.outputs):
            each = [None if isinstance(kinds, str) else kinds[place] for kinds in told]
            shapes.append(tuple([kind[1] if type(kind) is tuple else None for kind in each]))
            dtypes.append(next((kind[0] for kind in each if type(kind) is tuple and kind[0]), 0))
            if any(type(kind) is bytes for kind in each):
                state.others[number] = tuple([kind if type(kind) is bytes else None for kind in each])
        refusals = tuple([kinds if isinstance(kinds, str) else None for kinds in told])
        return shapes, dtypes, refusals if any(refusals) else None

    def _kind(self, number: int, lane: int) -> Any:
        """Return what is known of a tensor in a lane."""
        other = self._state.others.get(number)
        if other is not None and other[lane] is not None:
            return other[lane]
        return (self._state.dtypes[number], self._state.shapes_of(number)[lane])
