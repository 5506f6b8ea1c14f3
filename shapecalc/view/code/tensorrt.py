"""TensorRT code: layers of a network, for its Python API."""

from __future__ import annotations

from itertools import groupby

from shapecalc.core.dims import all_known
from shapecalc.core.limits import check_rank
from shapecalc.core.problem import misuse
from shapecalc.core.record import Record
from shapecalc.core.rules import DIALECTS
from shapecalc.core.trace import Permute, Slice
from shapecalc.view.code import Code
from shapecalc.view.code.actions import Action, actions, general_warnings, title, written_out
from shapecalc.view.code.requested import requested

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shapecalc.core.dims import Dim
    from shapecalc.core.trace import Chain, Trace


class Layer(Record):
    """A layer: the network's method, what follows the tensor in the call, and the properties to set, as code."""

    method: str
    arguments: str = ""
    properties: Mapping[str, object] = {}
    warnings: tuple[str, ...] = ()

    def lines(self, tensor: str) -> list[str]:
        """Return the code that adds the layer to the network and takes its output."""
        settings = [f"layer.{name} = {value}" for name, value in self.properties.items()]
        return [f"layer = network.{self.method}({tensor}{self.arguments})", *settings, "y = layer.get_output(0)"]


def tensorrt(answer: Trace | Chain) -> Code:
    """Return the code that adds layers to a `network` after its tensor `x`; a Shuffle stays one layer."""
    layers = list[Layer]()
    for _, stage in groupby(actions(answer), key=lambda action: id(action.trace)):
        layers += _layers(list(stage))
    lines = [line for place, layer in enumerate(layers) for line in layer.lines("y" if place else "x")]
    start = ["# network is a trt.INetworkDefinition, x one of its tensors", title(answer)]
    warnings = [warning for layer in layers for warning in layer.warnings]
    told = (*general_warnings(answer, "tensorrt"), *written_out(answer, "tensorrt"), *warnings)
    return Code("\n".join([*start, *(lines or ["y = x"])]), told)


def _layers(stage: Sequence[Action]) -> list[Layer]:
    """Return the layers for the actions of one op."""
    for action in stage:
        check_rank(action.shape, DIALECTS["tensorrt"], "input")
        check_rank(action.output, DIALECTS["tensorrt"], "input")
    if stage[0].kind == "expand":
        return _expanded(stage[0])
    if stage[0].kind == "shape":
        return _dims(stage[0])
    return [_shuffle(stage)]


def _shuffle(stage: Sequence[Action]) -> Layer:
    """Return the one layer that transposes, reshapes and transposes."""
    properties, warnings = dict[str, object](), list[str]()
    for action in stage:
        if isinstance(action.last.move, Permute):
            which = "second" if action.last.stage == "second" else "first"
            properties[f"{which}_transpose"] = action.last.move.axes
            continue
        literal = action.trace.options.get("zero_is_placeholder") is False
        found = requested(action, {"dialect": "tensorrt"}, "zero_is_placeholder", on=False, literal=literal)
        properties["reshape_dims"] = found.dims
        if found.literal:
            properties["zero_is_placeholder"] = False
        warnings += found.warnings
    return Layer("add_shuffle", "", properties, tuple(warnings))


def _expanded(action: Action) -> list[Layer]:
    """Return a slice that reads the dims of 1 again and again; before it, dims of 1 in front where there are more."""
    if not all_known((*action.shape, *action.output)):
        raise misuse("a slice needs numbers", "give the sizes with --where")
    shape: Sequence[Dim] = (1,) * (len(action.output) - len(action.shape)) + action.shape
    properties = {"reshape_dims": shape} | ({"zero_is_placeholder": False} if 0 in shape else {})
    grown = [Layer("add_shuffle", "", properties)] if len(shape) > len(action.shape) else []
    strides = tuple(int(before == after) for before, after in zip(shape, action.output, strict=True))
    return [*grown, _slice((0,) * len(shape), action.output, strides)]


def _dims(action: Action) -> list[Layer]:
    """Return a shape layer, and a slice of it where not every dim is asked for."""
    assert isinstance(action.last.move, Slice)
    start, count = action.last.move.start, len(action.output)
    part = [] if count == len(action.shape) else [_slice((start if count else 0,), (count,), (1,))]
    return [Layer("add_shape"), *part]


def _slice(start: Sequence[Dim], shape: Sequence[Dim], stride: Sequence[Dim]) -> Layer:
    return Layer("add_slice", f", start={tuple(start)}, shape={tuple(shape)}, stride={tuple(stride)}")
