"""TensorRT code: layers of a network, for its Python API."""

from __future__ import annotations

from typing import assert_never

from shapecalc.core.answers.moves import Permute, Slice
from shapecalc.core.answers.stage import Kind, Stage
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.limits import check_rank
from shapecalc.core.sizes.dims import all_known
from shapecalc.core.sizes.problem import misuse
from shapecalc.core.sizes.record import Record
from shapecalc.view.code import Code
from shapecalc.view.code.constants import constants_for
from shapecalc.view.code.slices import pick_of
from shapecalc.view.code.written import empty_warnings, general_warnings, shape_after, title

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shapecalc.core.answers.trace import Chain, Trace
    from shapecalc.core.sizes.dims import Dim


class Layer(Record):
    """A layer: the network's method, the call's arguments after the tensor, and the properties to set, as code."""

    method: str
    arguments: str = ""
    properties: Mapping[str, object] = {}
    warnings: tuple[str, ...] = ()

    def lines(self, tensor: str) -> list[str]:
        """Return the code that adds the layer to the network and takes its output."""
        settings = [f"layer.{name} = {value}" for name, value in self.properties.items()]
        return [f"layer = network.{self.method}({tensor}{self.arguments})", *settings, "y = layer.get_output(0)"]


def tensorrt(answer: Trace | Chain) -> Code:
    """Return the code that adds layers to a `network` after its tensor `x`. A Shuffle stays one layer.

    Raises `ShapeError` for more dims than TensorRT has, or if a name would have to be a constant.
    """
    layers = [layer for trace in answer.traces for layer in _layers(trace)]
    lines = [line for place, layer in enumerate(layers) for line in layer.lines("y" if place else "x")]
    start = ["# network is a trt.INetworkDefinition, x one of its tensors", title(answer)]
    warnings = [warning for layer in layers for warning in layer.warnings]
    all_warnings = (*general_warnings(answer, "tensorrt"), *empty_warnings(answer, "tensorrt"), *warnings)
    return Code("\n".join([*start, *(lines or ["y = x"])]), all_warnings)


def _layers(trace: Trace) -> list[Layer]:
    """Return the layers for the stages of one op, with as few Shuffles as possible."""
    layers, waiting = list[Layer](), list[Stage]()
    for stage in trace.stages:
        check_rank(stage.before, DIALECTS["tensorrt"], "input")
        check_rank(shape_after(stage), DIALECTS["tensorrt"], "input")
        match stage.kind:
            case Kind.EXPAND:
                layers += _expand(stage)
            case Kind.SELECT | Kind.SLICE | Kind.SPLIT | Kind.FLIP:
                layers += _picked(stage)
            case Kind.ROLL:
                raise misuse("tensorrt has no layer that rolls")
            case Kind.SHAPE:
                layers += _dims(stage)
            case Kind.PERMUTE | Kind.RESHAPE | Kind.VIEW | Kind.MERGE | Kind.SQUEEZE | Kind.UNSQUEEZE:
                if not _fits_one_shuffle([*waiting, stage]):
                    layers.append(_shuffle(trace, waiting))
                    waiting = []
                waiting.append(stage)
            case _:
                assert_never(stage.kind)
    return [*layers, *([_shuffle(trace, waiting)] if waiting else [])]


def _fits_one_shuffle(stages: Sequence[Stage]) -> bool:
    """Say whether a Shuffle can do these stages: one transpose, one reshape, one transpose, each optional."""
    order = "".join("p" if stage.kind is Kind.PERMUTE else "r" for stage in stages)
    return order in ("p", "r", "pp", "pr", "rp", "prp")


def _shuffle(trace: Trace, stages: Sequence[Stage]) -> Layer:
    """Return the one layer that transposes, reshapes and transposes."""
    properties, warnings = dict[str, object](), list[str]()
    for stage in stages:
        if isinstance(stage.move, Permute):
            which = "second" if properties or stage.argument == "second" else "first"
            properties[f"{which}_transpose"] = stage.move.axes
            continue
        literal = trace.options.get("zero_is_placeholder") is False
        made = constants_for(stage, {"dialect": "tensorrt"}, "zero_is_placeholder", on=False, literal=literal)
        properties["reshape_dims"] = made.dims
        if made.literal:
            properties["zero_is_placeholder"] = False
        warnings += made.warnings
    return Layer("add_shuffle", "", properties, tuple(warnings))


def _expand(stage: Stage) -> list[Layer]:
    """Return a slice that reads the dims of 1 again and again. New dims are inserted before it by a Shuffle."""
    output = shape_after(stage)
    if not all_known((*stage.before, *output)):
        raise misuse("a slice needs numbers", "give the sizes with --where")
    shape: Sequence[Dim] = (1,) * (len(output) - len(stage.before)) + stage.before
    properties = {"reshape_dims": shape} | ({"zero_is_placeholder": False} if 0 in shape else {})
    grown = [Layer("add_shuffle", "", properties)] if len(shape) > len(stage.before) else []
    strides = tuple(int(before == dim) for before, dim in zip(shape, output, strict=True))
    return [*grown, _slice((0,) * len(shape), output, strides)]


def _picked(stage: Stage) -> list[Layer]:
    """Return a slice, with a Shuffle after it that drops the axes of which one position is taken."""
    before, output, move = stage.before, shape_after(stage), pick_of(stage)
    if not all_known((*before, *output)):
        raise misuse("a slice needs numbers", "give the sizes with --where")
    starts = [start % dim if size != 0 else 0 for (start, _, size), dim in zip(move.axes, before, strict=True)]
    sizes = [1 if size is None else size for size in move.sizes]
    properties = {"reshape_dims": output} | ({"zero_is_placeholder": False} if 0 in output else {})
    dropped = [Layer("add_shuffle", "", properties)] if None in move.sizes else []
    return [_slice(starts, sizes, move.steps), *dropped]


def _dims(stage: Stage) -> list[Layer]:
    """Return a shape layer, with a slice of it if not every dim is asked for."""
    assert isinstance(stage.move, Slice)
    start, count = stage.move.start, len(shape_after(stage))
    part = [] if count == len(stage.before) else [_slice((start if count else 0,), (count,), (1,))]
    return [Layer("add_shape"), *part]


def _slice(start: Sequence[Dim], shape: Sequence[Dim], stride: Sequence[Dim]) -> Layer:
    return Layer("add_slice", f", start={tuple(start)}, shape={tuple(shape)}, stride={tuple(stride)}")
