"""TensorRT code: layers of a network, for its Python API."""

from __future__ import annotations

from typing import assert_never

from shapecalc.core.answers import Kind
from shapecalc.core.conditions import solved_names
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import check_rank
from shapecalc.core.dims import all_known, rewrite
from shapecalc.core.moves import Dims, Permute
from shapecalc.core.problem import misuse
from shapecalc.core.simplify import MOST_DIMS, Goal, runs, simplify
from shapecalc.view.code import Code
from shapecalc.view.code.batch import batch_warnings
from shapecalc.view.code.computed import Forms, Sizes, is_computed, texts_of
from shapecalc.view.code.folding import Part, parts_of
from shapecalc.view.code.requested import Rules, requested
from shapecalc.view.code.sizes import Readings, given_warnings
from shapecalc.view.code.slices import pick_of
from shapecalc.view.code.written import WrittenDim, empty_warnings, general_warnings, shape_after, title

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapecalc.core.answers import Chain, Stage, Trace
    from shapecalc.core.dims import Dim, Shape

RULES = Rules({"dialect": "tensorrt"}, "zero_is_placeholder", on=False)
FORMS = Forms(
    sizes="sizes = network.add_shape(x).get_output(0)",
    constant="{name} = network.add_constant(({1},), np.array([{0}], dtype=np.int64)).get_output(0)",
    axis="{name} = network.add_slice(sizes, start=({0},), shape=(1,), stride=(1,)).get_output(0)",
    multiply="{name} = network.add_elementwise({0}, {1}, trt.ElementWiseOperation.PROD).get_output(0)",
    divide="{name} = network.add_elementwise({0}, {1}, trt.ElementWiseOperation.FLOOR_DIV).get_output(0)",
    concat="{name} = network.add_concatenation([{0}]).get_output(0)",
)
MODULES = {"np": "import numpy as np", "trt": "import tensorrt as trt"}


class Layers:
    """The layers so far, as code."""

    def __init__(self, answer: Trace | Chain) -> None:
        """Start at the tensor `x`."""
        self.tensor = "x"
        self.readings = Readings(answer.input)
        self.sizes = Sizes(FORMS)
        self.lines = self.sizes.lines
        self.warnings: list[str] = []

    def add(self, method: str, arguments: str = "", *settings: str) -> None:
        """Write a layer on the tensor, with what is set or called on it."""
        call = f"layer = network.{method}({self.tensor}{arguments})"
        self.lines += [call, *(f"layer.{setting}" for setting in settings), "y = layer.get_output(0)"]
        self.tensor = "y"

    def settings(self, name: str, index: int, dims: Shape) -> str:
        """Return what sets dims: as a property if they are known, otherwise as an input of the layer."""
        if not is_computed(dims):
            return f"{name} = {_tuple(dims)}"
        return f"set_input({index}, {self.sizes.vector(dims)})"


def tensorrt(answer: Trace | Chain) -> Code:
    """Return the code that adds layers to a `network` after its tensor `x`, with the fewest Shuffles.

    Raises `ShapeError` for more dims than TensorRT has, or a size that nobody knows.
    """
    layers = Layers(answer)
    check_rank(answer.input, DIALECTS["tensorrt"], "input")
    for run in runs(parts_of(_with_fewest_layers(answer)), lambda part: part.stage.move):
        for part in run:
            check_rank(shape_after(part.stage), DIALECTS["tensorrt"], "input")
        _add_run(run, layers)
    return _code(answer, layers)


def _code(answer: Trace | Chain, layers: Layers) -> Code:
    imports = [line for name, line in MODULES.items() if any(f"{name}." in text for text in layers.lines)]
    start = [*imports, "# network is a trt.INetworkDefinition, x one of its tensors", title(answer)]
    text = "\n".join([*start, *(layers.lines or ["y = x"])])
    about = (*general_warnings(answer, "tensorrt"), *batch_warnings(answer), *empty_warnings(answer, "tensorrt"))
    return Code(text, (*about, *given_warnings(text, answer), *layers.warnings))


def _with_fewest_layers(answer: Trace | Chain) -> Trace | Chain:
    """Return an answer as it is asked with the fewest Shuffles; as it was asked if TensorRT takes that as it is."""
    found = simplify(answer, Goal.SHUFFLES, "float32")  # of any type: bytes do not count
    too_wide = any(len(shape_after(stage)) > MOST_DIMS for stage in answer.stages)
    return found.chain if too_wide or found.after.shuffles < found.before.shuffles else answer


def _add_run(run: Sequence[Part], layers: Layers) -> None:
    """Write the layers of what one Shuffle can do, or of a single stage of another kind."""
    part = run[0]
    match part.stage.kind:
        case Kind.EXPAND:
            _add_expand(part, layers)
        case Kind.SELECT | Kind.SLICE | Kind.SPLIT | Kind.FLIP:
            _add_picked(part.stage, layers)
        case Kind.ROLL:
            raise misuse("tensorrt has no layer that rolls")
        case Kind.SHAPE:
            _add_dims(part, layers)
        case Kind.PERMUTE | Kind.RESHAPE | Kind.VIEW | Kind.MERGE | Kind.SQUEEZE | Kind.UNSQUEEZE:
            _add_shuffle(run, layers)
        case _:
            assert_never(part.stage.kind)


def _add_shuffle(parts: Sequence[Part], layers: Layers) -> None:
    """Write the one layer that transposes, reshapes and transposes."""
    settings = list[str]()
    for part in parts:
        if isinstance(part.stage.move, Permute):
            settings.append(f"{'second' if settings else 'first'}_transpose = {part.stage.move.axes}")
            continue
        literal = part.trace.options.get("zero_is_placeholder") is False
        settings += _reshape_settings(part.stage.before, part.dims, layers, literal=literal)
    layers.add("add_shuffle", "", *settings)


def _reshape_settings(before: Shape, asked: Sequence[WrittenDim], layers: Layers, *, literal: bool) -> list[str]:
    """Return what sets the requested shape of a Shuffle."""
    made = requested(before, asked, layers.readings, RULES, literal=literal)
    layers.warnings += made.warnings
    dims = layers.settings("reshape_dims", 1, made.dims)
    return [dims, *(["zero_is_placeholder = False"] if made.literal else [])]


def _add_expand(part: Part, layers: Layers) -> None:
    """Write a slice that reads the dims of 1 again and again. New dims are inserted before it by a Shuffle."""
    output, before = shape_after(part.stage), part.stage.before
    added = len(output) - len(before)
    if added:
        asked = [*[WrittenDim(1)] * added, *(WrittenDim(dim, (axis,)) for axis, dim in enumerate(before))]
        layers.add("add_shuffle", "", *_reshape_settings(before, asked, layers, literal=0 in before))
    grows = (1,) * added + before
    solved = solved_names(part.trace.conditions)
    strides = tuple(int(rewrite(dim, solved) != 1) for dim in grows)
    read = tuple(map(layers.readings.read, output))
    _add_slice((0,) * len(read), read, strides, layers)


def _add_picked(stage: Stage, layers: Layers) -> None:
    """Write a slice, with a Shuffle after it that drops the axes of which one position is taken."""
    before, output, move = stage.before, shape_after(stage), pick_of(stage)
    if not all_known((*before, *output)):
        raise misuse(
            f"{stage.label} of sizes with names is not written as tensorrt code", "give the sizes with --where"
        )
    starts = [start % dim if size != 0 else 0 for (start, _, size), dim in zip(move.axes, before, strict=True)]
    _add_slice(starts, tuple(1 if size is None else size for size in move.sizes), move.steps, layers)
    if None in move.sizes:
        zeros = ["zero_is_placeholder = False"] if 0 in output else []
        layers.add("add_shuffle", "", layers.settings("reshape_dims", 1, output), *zeros)


def _add_dims(part: Part, layers: Layers) -> None:
    """Write a shape layer, with a slice of it if not every dim is asked for."""
    assert isinstance(part.stage.move, Dims)
    start, count = part.stage.move.start, len(shape_after(part.stage))
    layers.add("add_shape")
    if count < len(part.stage.before):
        _add_slice((start if count else 0,), (count,), (1,), layers)


def _add_slice(start: Sequence[Dim], shape: Shape, stride: Sequence[Dim], layers: Layers) -> None:
    computed = is_computed(shape)
    known = _tuple((0,) * len(shape) if computed else shape)
    arguments = f", start={_tuple(start)}, shape={known}, stride={_tuple(stride)}"
    layers.add("add_slice", arguments, *([layers.settings("shape", 2, shape)] if computed else []))


def _tuple(dims: Sequence[Dim]) -> str:
    return f"({texts_of(dims)},)" if len(dims) == 1 else f"({texts_of(dims)})"
