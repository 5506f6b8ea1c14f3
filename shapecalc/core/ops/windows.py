"""Helpers for ops with windows: spatial axes, strides and padding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from shapecalc.core.answers import EMPTY_DICT, ResolvedDim, StageBuilder, Stages, Step, StepRule, make_step
from shapecalc.core.conditions import Conditions, require_at_least, require_relation
from shapecalc.core.dialects.base import Param, ParamType, RequestRules, compute_volume
from shapecalc.core.dims import Dim, Shape, product
from shapecalc.core.moves import Combine, OperandAxis
from shapecalc.core.ops.op import DialectTable
from shapecalc.core.ops.operands import input_axes
from shapecalc.core.problem import Rule, ShapeError, rule_error
from shapecalc.core.record import Record, replace
from shapecalc.core.rules import KEPT_DIM, NEEDS_SIZE
from shapecalc.core.text import format_count, rank_text, truncate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")

WeightAxes = Mapping[int, tuple[OperandAxis, ...]]
"""A mapping from output axes to operand axes, for the output axes that depend on the weight."""
DimResolver = Callable[[], ResolvedDim]
"""A function that resolves an output dim."""

SOURCE = (
    "ONNX Conv, ONNX ConvTranspose, ONNX MaxPool, ONNX AveragePool, torch.nn.Conv2d, torch.nn.MaxPool2d, "
    "tf.nn.conv2d, layers of Keras, paddle.nn, shape rules of pooling in OpenVINO, TensorRT PaddingMode"
)

WINDOW_RANK = Rule(
    "window-rank",
    "the input does not have a batch, channels and spatial dims",
    "A window moves along all dims except the batch and the channels. A kernel has one size for each dim along which "
    "the window moves. PyTorch also accepts an input without a batch. PyTorch, OpenVINO, Paddle and TensorFlow "
    "support windows with at most 3 dims.",
    "shapecalc conv 3,32,32 8,3,3,3",
    SOURCE,
)
WINDOW_VALUES = Rule(
    "window-values",
    "the parameters of a window are too small, or their number is wrong",
    "One number applies to every spatial dim; otherwise, each spatial dim needs its own number. Padding may list the "
    "begins of all dims, followed by the ends of all dims. Kernels, strides, dilations and groups must be at least 1. "
    "Paddings must be at least 0.",
    "shapecalc pool 1,3,8,8 2 --stride 2,2,2",
    SOURCE,
)
WINDOW_TOO_LARGE = Rule(
    "window-too-large",
    "the window is larger than the padded dim",
    "A window with kernel size k and dilation d spans d*(k - 1) + 1 elements. The padded dim must have at least as "
    "many elements as the window spans.",
    "shapecalc conv 1,3,5,5 8,3,7,7",
    SOURCE,
)
NOTHING_LEFT = Rule(
    "nothing-left",
    "the resulting dim is smaller than the framework allows",
    "A negative pad removes at most the elements of the axis; in ONNX, it may also remove elements added at the "
    "other end. A transposed convolution must produce more elements than the padding removes. A "
    "scaled size is rounded down. PyTorch and Paddle refuse a rounded size of 0, but ONNX accepts it.",
    "shapecalc upsample 1,3,4,4 0.1 -d torch",
    "ONNX Pad, ONNX ConvTranspose, ONNX Resize, torch.nn.functional.interpolate",
)
BAD_PADDING = Rule(
    "bad-padding",
    "the framework does not accept this padding",
    "PyTorch pads both ends of an axis equally, limits the padding of a pool to half of the kernel, and accepts the "
    "padding same only with a stride of 1. TensorFlow Lite accepts only the paddings same and valid. TensorRT does "
    "not accept the padding valid. The output padding of a transposed convolution must be less than its stride or its "
    "dilation. In ONNX Runtime, the padding of a pool must be less than its kernel, the output padding must be less "
    "than the stride, and a convolution with the padding same must not have a dilation.",
    "shapecalc conv 1,3,8,8 8,3,3,3 --padding same --stride 2 -d torch",
    SOURCE,
)


class WindowSemantics(Record):
    """The windows of convolutions and pools that a dialect accepts."""

    paddings: str = "numbers same same-lower valid"
    """The accepted kinds of padding, separated by spaces.

    A kind may be followed by a colon and the operators that accept it: `conv`, `transposed`, `max`, `average`.
    """
    spatial_ranks: tuple[int, int] = (1, 62)
    """The minimum and the maximum number of spatial dims."""
    default_layout: str = "nchw"
    """The default layout: `nchw` (channels second) or `nhwc` (channels last)."""
    has_layouts: bool = False
    """Whether the layout is a parameter."""
    allows_unbatched: bool = False
    """Whether an input without a batch axis is accepted."""
    refuses_empty_channels: bool = False
    """Whether pool and upsample refuse an input with 0 channels."""
    requires_symmetric_padding: bool = False
    """Whether the padding at both ends must be equal.

    If so, the padding of a pool is at most half of its kernel, and `same` requires a stride of 1.
    """
    counts_padding_windows: bool = False
    """Whether ceil mode counts windows that start in the end padding."""
    allows_dilated_strides: bool = True
    """Whether stride and dilation may both exceed 1."""
    computes_as_runtime: bool = False
    """Whether output sizes follow ONNX Runtime instead of the ONNX specification.

    ONNX Runtime deviates as follows. A convolution with `same` has no dilation. The padding of a pool is smaller than
    its kernel. Ceil mode of a pool also applies to `valid`, and the `same` padding of a pool ignores the dilation. If
    no window fits, the output size is rounded towards 0. A transposed convolution with `same` adds no elements to reach
    the size H*s, and its output padding is smaller than the stride.
    """


WINDOW_SEMANTICS = DialectTable(
    {
        "onnx": WindowSemantics(),
        "onnxruntime": WindowSemantics(computes_as_runtime=True),
        "tensorrt": WindowSemantics("numbers same same-lower", (2, 3), counts_padding_windows=True),
        "openvino": WindowSemantics(
            "numbers valid same:conv,max,average same-lower:conv,max,average", (1, 3), counts_padding_windows=True
        ),
        "torch": WindowSemantics(
            "numbers same:conv valid:conv",
            (1, 3),
            allows_unbatched=True,
            refuses_empty_channels=True,
            requires_symmetric_padding=True,
        ),
        "paddle": WindowSemantics(
            "numbers valid same:conv,max,average", (1, 3), has_layouts=True, counts_padding_windows=True
        ),
        "tensorflow": WindowSemantics(
            "valid same numbers:conv,max", (1, 3), "nhwc", has_layouts=True, allows_dilated_strides=False
        ),
        "tflite": WindowSemantics("valid same", (2, 2), "nhwc"),
    }
)


class Window(Record):
    """The kernel, stride, dilation and padding of a window along one axis."""

    axis: int
    kernel: Dim
    operator_kind: str = ""
    """The kind of the operator: `conv`, `transposed`, `max` or `average`."""
    stride: int = 1
    dilation: int = 1
    begin: int = 0
    end: int = 0
    auto_padding: str = ""
    """The automatic padding: `same` or `same-lower`, or an empty string for explicit padding."""
    ceil: bool = False
    """Whether the last window may extend past the end of the axis (ceil mode)."""
    is_dilated: bool = False
    """Whether the window is dilated along at least one axis."""
    must_fit: bool = False
    """Whether the kernel must fit into the unpadded dim."""

    @property
    def is_pool(self) -> bool:
        """Whether the window belongs to a pool."""
        return self.operator_kind in ("max", "average")

    @property
    def is_identity(self) -> bool:
        """Whether each output element reads only the input element at the same index."""
        return self.kernel == self.stride == 1 and self.begin == self.end == 0

    @property
    def dilated_kernel_terms(self) -> tuple[Dim, int]:
        """The extent of the window, d*(k - 1) + 1, as two terms.

        The first term is symbolic, or 0 if the kernel size is an integer. The second term is an integer.
        """
        if isinstance(self.kernel, int):
            return 0, self.dilation * (self.kernel - 1) + 1
        return product((self.dilation, self.kernel)), 1 - self.dilation

    def format_padded(self, dim: Dim, sign: str) -> str:
        """Format a dim plus or minus the padding of both ends."""
        return "".join([truncate(str(dim)), *[f" {sign} {padding}" for padding in (self.begin, self.end) if padding]])


def _explain_window_count(step: Step, dim: Dim, window: Window) -> str:
    kernel, stride = truncate(str(window.kernel)), window.stride
    if window.auto_padding:
        return f"{truncate(str(dim))} / {stride}, rounded up, = {step.value}: there is as much padding as that takes"
    length = kernel if window.dilation == 1 else f"({window.dilation}*({kernel} - 1) + 1)"
    text = f"{window.format_padded(dim, '+')} - {length}"
    divided = f"({text}) / {stride}, rounded up," if window.ceil else text if stride == 1 else f"({text})//{stride}"
    if stride > 1 and not window.ceil and isinstance(dim, int) and dim + window.begin + window.end < _extent(window):
        divided = f"({text}) / {stride}, rounded towards 0,"
    return f"{divided} + 1 = {step.value}"


def _extent(window: Window) -> int:
    """Return the number of input elements that a window spans, including gaps.

    The number is 0 if the kernel is symbolic.
    """
    spanned, length = window.dilated_kernel_terms
    return 0 if spanned else length


WINDOW_SLIDE = StepRule(
    "slide",
    "a window moves along an axis, and each of its positions gives one output element",
    "Let H be the size of the dim, k the size of the kernel, d the dilation, s the stride, and p and q the "
    "paddings at the start and the end. The number of positions is then (H + p + q - d*(k - 1) - 1)//s + 1. With "
    "ceil, the last window may extend past the end. If a window starts in the padding at the end, ONNX and "
    "PyTorch omit it, but Paddle, OpenVINO and TensorRT count it. With same padding, there are H/s positions, "
    "rounded up; ONNX Runtime then ignores the dilation of a pool. If no window fits, (H - k)//s "
    "is rounded towards 0.",
    "shapecalc pool 1,64,112,112 3 --stride 2 --padding 1",
    SOURCE,
    why=_explain_window_count,
)


def _explain_transposed_dim(step: Step, dim: Dim, window: Window, more: int) -> str:
    """Format the output size of a transposed convolution as a formula.

    `more` is the output padding.
    """
    apart = f"{truncate(str(dim))}*{window.stride}"
    if window.auto_padding:
        return f"{apart} = {step.value}: the padding takes the rest away"
    length = window.format_padded(f"{window.dilation}*({window.kernel} - 1) + 1", "-")  # type: ignore[arg-type]  # a text
    return f"{apart} - {window.stride} + {length}{f' + {more}' if more else ''} = {step.value}"


WINDOW_SPREAD = StepRule(
    "spread",
    "each element is spread over a window, and consecutive windows are one stride apart",
    "A transposed convolution inverts the size of a convolution: it is (H - 1)*s - begin - end + d*(k - 1) + 1, plus "
    "the output padding. With same padding, the size is H*s, and the output padding is ignored; ONNX Runtime adds no "
    "elements to reach this size. The layers of Keras give H*s + max(d*(k - 1) + 1 - s, 0) if no output padding is "
    "given.",
    "shapecalc conv 1,64,16,16 64,32,2,2 --transposed --stride 2",
    "ONNX ConvTranspose, torch.nn.ConvTranspose2d, keras.layers.Conv2DTranspose, OpenVINO ConvolutionBackpropData",
    why=_explain_transposed_dim,
)
NO_WEIGHT_AXES: WeightAxes = {}
WINDOW_RULES = (WINDOW_SLIDE, WINDOW_SPREAD, WINDOW_RANK, WINDOW_VALUES, WINDOW_TOO_LARGE, NOTHING_LEFT, BAD_PADDING)
PADDING_HELP = "the padding: one size for all spatial dims, one for each, or all starts and then all ends"
WINDOW_PARAMS = (
    Param("stride", ParamType.SIZES, "the step of the window: one for all spatial dims, or one for each"),
    Param("padding", ParamType.SIZES, PADDING_HELP, choices=("same", "same-lower", "valid")),
    Param("dilation", ParamType.SIZES, "the distance between the elements of a window, by default 1"),
)
LAYOUT_PARAM = Param(
    "layout",
    ParamType.CHOICE,
    "TensorFlow and Paddle: the order of the dims",
    choices=("nchw", "nhwc"),
    supported_by=lambda dialect: WINDOW_SEMANTICS.for_dialect(dialect).has_layouts,
)


def spatial_axes(
    shape: Shape, rules: RequestRules, count: int, layout: str | None = None
) -> tuple[int, tuple[int, ...]]:
    """Return the channel axis and the spatial axes.

    `count` is the number of spatial dims. Raises `ShapeError` (window-rank) if the dialect does not support `count`
    spatial dims, or if the rank of the input does not match.
    """
    semantics, rank = WINDOW_SEMANTICS.for_dialect(rules.dialect), len(shape)
    batch, (least, most) = rank - count - 1, semantics.spatial_ranks
    if batch not in ((0, 1) if semantics.allows_unbatched else (1,)) or not least <= count <= most:
        takes = f"{least} to {most} spatial dims behind a batch and channels"
        if least <= count <= most:
            takes = f"{rank_text(count + 2)} if {format_count(count, 'is', 'are')} spatial"
        message = f"{rules.dialect.name} {rules.operator.name} takes {takes}, and the input has {rank_text(rank)}"
        raise rule_error(WINDOW_RANK, message, argument="input")
    last = (layout or semantics.default_layout) == "nhwc"
    return (rank - 1, (*range(batch, rank - 1),)) if last else (batch, (*range(batch + 1, rank),))


def require_channels(shape: Shape, channels: int, rules: RequestRules) -> None:
    """Raise `ShapeError` (nothing-left) if the input must have channels but has none.

    Source: torch.nn.functional.max_pool2d, avg_pool2d and interpolate, measured.
    """
    if WINDOW_SEMANTICS.for_dialect(rules.dialect).refuses_empty_channels and shape[channels] == 0:
        message = f"{rules.dialect.name} {rules.operator.name} requires at least one channel"
        raise rule_error(NOTHING_LEFT, message, argument="input")


def values_per_axis(values: Sequence[T], counts: Iterable[int], name: str) -> tuple[T, ...]:
    """Repeat values until there is one value for each axis.

    `counts` contains the accepted numbers of values. The result has as many values as the last of these counts. Raises
    `ShapeError` (window-values).

    >>> values_per_axis((3,), [2, 4], "padding"), values_per_axis((1, 2), [2, 4], "padding")
    ((3, 3, 3, 3), (1, 2, 1, 2))
    >>> values_per_axis((1, 2, 3, 4), [2, 4], "padding")
    (1, 2, 3, 4)
    """
    *_, most = allowed = (1, *counts)
    if len(values) not in allowed:
        listed = " or ".join(map(str, dict.fromkeys(allowed)))
        raise rule_error(WINDOW_VALUES, f"{name} has {listed} numbers here, not {len(values)}", argument=name)
    return (*values,) * (most // (len(values) or 1))


def numbers_per_axis(values: Shape | None, counts: Iterable[int], name: str, least: int = 1) -> tuple[int, ...]:
    """Return one integer for each axis.

    The minimum and default of each integer is `least`. `counts` contains the accepted numbers of values. The result has
    as many integers as the last of these counts. Raises `ShapeError` (window-values).
    """
    numbers: tuple[int, ...] = (least,) if values is None else values  # type: ignore[assignment]  # read as numbers
    for index, number in enumerate(numbers):
        if isinstance(number, int) and number < least:
            raise rule_error(
                WINDOW_VALUES, f"{name} is at least {least}, and this is {number}", argument=name, index=index
            )
    return values_per_axis(numbers, counts, name)


def build_windows(
    axes: tuple[int, ...], rules: RequestRules, operator_kind: str, kernel: Shape, options: Mapping[str, Any]
) -> list[Window]:
    """Return the window along each spatial axis.

    `operator_kind` is conv, transposed, max or average. `options` may contain stride, padding, dilation and ceil.
    Raises `ShapeError` (window-values or bad-padding).
    """
    count, semantics, padding = len(axes), WINDOW_SEMANTICS.for_dialect(rules.dialect), options.get("padding")
    strides, dilations = (numbers_per_axis(options.get(name), [count], name) for name in ("stride", "dilation"))
    if not semantics.allows_dilated_strides and max(strides) > 1 < max(dilations):
        message = f"{rules.dialect.name} {rules.operator.name} takes no stride above 1 beside a dilation above 1"
        raise rule_error(WINDOW_VALUES, message, argument="dilation")
    operators_by_word = dict([entry.partition(":")[::2] for entry in semantics.paddings.split()])
    words = [
        word for word, operators in operators_by_word.items() if not operators or operator_kind in operators.split(",")
    ]
    word = padding if isinstance(padding, str) else "numbers"
    ceil = options.get("ceil", False) and (word != "valid" or semantics.computes_as_runtime)
    if word not in words and padding is not None:
        message = f"{rules.dialect.name} {rules.operator.name} takes {' or '.join(words)} as padding, not {word}"
        raise rule_error(BAD_PADDING, message, argument="padding")
    paddings = numbers_per_axis(None if isinstance(padding, str) else padding, [count, 2 * count], "padding", 0)
    result = list[Window]()
    for index, axis in enumerate(axes):
        pads = paddings[index], paddings[index + count], word if word[:4] == "same" else ""
        own = kernel[index], operator_kind, strides[index], dilations[index]
        window = Window(axis, *own, *pads, ceil, max(dilations) > 1)
        fault = _find_padding_fault(window, rules)
        if fault:
            raise rule_error(BAD_PADDING, f"{rules.dialect.name} {fault}", argument="padding")
        result.append(window)
    return result


def _find_padding_fault(window: Window, rules: RequestRules) -> str:
    """Return the reason why the dialect refuses the padding of a window.

    Returns an empty string if the padding is valid.
    """
    semantics, kernel = WINDOW_SEMANTICS.for_dialect(rules.dialect), window.kernel
    if semantics.requires_symmetric_padding and window.begin != window.end:
        return f"pads both ends alike, not {window.begin} and {window.end}; pad the input before"
    if semantics.requires_symmetric_padding and window.auto_padding and window.stride > 1:
        return f"takes same with a stride of 1 alone, and it is {window.stride}"
    if window.is_pool and isinstance(kernel, int):
        padding = max(window.begin, window.end)
        if semantics.requires_symmetric_padding and 2 * padding > kernel:
            return f"pads at most half of the kernel, which is {kernel}, and this is {padding}"
        if semantics.computes_as_runtime and padding >= kernel:
            return f"pads less than the kernel, which is {kernel}, and this is {padding}"
    if semantics.computes_as_runtime and window.operator_kind == "conv" and window.auto_padding and window.is_dilated:
        return f"takes {window.auto_padding} without a dilation alone"
    return ""


def require_min_dim(dim: Dim, least: Dim, make_error: Callable[[], ShapeError]) -> Conditions:
    """Return the conditions under which a dim is at least `least` and nonempty.

    If no sizes satisfy these conditions, raise the error that `make_error` returns.
    """
    return require_relation(require_at_least, dim, max(least, 1) if isinstance(least, int) else least, make_error)


def resolve_window_dim(dim: Dim, window: Window, rules: RequestRules) -> ResolvedDim:
    """Return the output dim for a dim along which a window slides.

    Source: ONNX MaxPool ("floor((input_spatial_shape[i] + pad_shape[i] - dilation[i] * (kernel_shape[i] - 1) - 1) /
    strides_spatial_shape[i] + 1)"; "sliding windows that would start in the right padded region are ignored"). Raises
    `ShapeError` (window-too-large) if no window fits. For the `same` padding of ONNX Runtime, also raises `ShapeError`
    (bad-padding or needs-size).
    """
    conditions: Conditions = ()
    semantics = WINDOW_SEMANTICS.for_dialect(rules.dialect)
    as_runtime = window.is_pool and semantics.computes_as_runtime
    if as_runtime and window.auto_padding:
        window = _resolve_undilated_padding(dim, window, rules)
    stride, (spanned, length) = window.stride, window.dilated_kernel_terms
    rest = window.begin + window.end - length + (stride - 1) * window.ceil
    if window.ceil and not semantics.counts_padding_windows:
        rest = window.begin + min(window.end - length + stride, 0) - 1

    def make_error() -> ShapeError:
        message = f"a window of {truncate(str(spanned or length))} fits nowhere in {truncate(str(dim))} and its padding"
        return rule_error(WINDOW_TOO_LARGE, message, argument="input", index=window.axis)

    if window.auto_padding:
        size = rules.names.floor_dim((dim, -1), stride, 1)
    elif as_runtime and isinstance(dim, int):
        size = _count_runtime_windows(dim, rest, window)
        if size < 0 or dim == 0:
            raise make_error()
    else:
        least = max(-rest, length if window.must_fit else 0)
        conditions = require_min_dim(dim, spanned or least, make_error)
        size = rules.names.floor_dim((dim, rest, product((-1, spanned))), stride, 1)
    return WINDOW_SLIDE, size, conditions, {"dim": dim, "window": window}


def _count_runtime_windows(dim: int, rest: int, window: Window) -> int:
    """Return the output size of a pool in ONNX Runtime.

    The size is rounded towards 0, or up in ceil mode.
    """
    if window.ceil or dim + rest >= 0:
        return (dim + rest) // window.stride + 1
    return 1 - -(dim + rest) // window.stride


def _resolve_undilated_padding(dim: Dim, window: Window, rules: RequestRules) -> Window:
    """Replace `same` padding with explicit padding that ignores the dilation.

    Source: ONNX Runtime, measured. Raises `ShapeError` (bad-padding or needs-size).
    """
    kernel, stride = window.kernel, window.stride
    if not isinstance(kernel, int) or (not isinstance(dim, int) and window.dilation == 1 and kernel >= stride):
        return window
    if not isinstance(dim, int) and stride > 1:
        message = f"how much {window.auto_padding} pads dim {window.axis}, {truncate(str(dim))}, depends on its size"
        raise rule_error(NEEDS_SIZE, message, argument="padding")
    total = kernel - 1 if not isinstance(dim, int) else (-(-dim // stride) - 1) * stride + kernel - dim
    if total < 0 and window.operator_kind == "max" and not window.is_dilated:
        message = f"{rules.dialect.name} takes {window.auto_padding} with a kernel of at least the stride alone here"
        raise rule_error(BAD_PADDING, message, argument="padding")
    begin = total // 2 if window.auto_padding == "same" else total - total // 2
    return replace(window, begin=begin, end=total - begin, auto_padding="")


def resolve_transposed_dim(dim: Dim, window: Window, extra: int | None, rules: RequestRules) -> ResolvedDim:
    """Return the output dim for a spatial dim of a transposed convolution.

    `extra` is the output padding: the number of elements to add at the end of the dim. Source: ONNX ConvTranspose
    ("stride[i] * (input_size[i] - 1) + output_padding[i] + ((kernel_shape[i] - 1) * dilations[i] + 1) - pads[start_i] -
    pads[end_i]"), keras.layers.Conv2DTranspose. Raises `ShapeError` (bad-padding or nothing-left).
    """
    semantics, stride = WINDOW_SEMANTICS.for_dialect(rules.dialect), window.stride
    keras, as_runtime = not semantics.allows_dilated_strides, semantics.computes_as_runtime
    below_stride = keras or as_runtime
    if extra and extra >= max(stride, 1 if below_stride else window.dilation):
        limit = "the stride" if below_stride else "the stride or the dilation"
        message = f"the output padding is less than {limit}, and this is {extra}"
        raise rule_error(BAD_PADDING, message, argument="output_padding")
    spanned, length = window.dilated_kernel_terms
    needs_extent = bool(spanned) and (bool(window.auto_padding) if as_runtime else keras and extra is None)
    rest = length - stride - window.begin - window.end + (extra or 0)
    if keras and extra is not None and window.auto_padding:
        spanned, rest = 0, extra - stride + (1 if spanned else length % 2)
    elif window.auto_padding and as_runtime and not spanned:
        rest = min(rest, 0)
    elif window.auto_padding or (keras and extra is None and not spanned and length < stride):
        spanned, rest = 0, 0
    apart = product((stride, dim))

    def make_error() -> ShapeError:
        message = f"nothing is left of {truncate(str(dim))}: the padding is more than the windows"
        return rule_error(NOTHING_LEFT, message, argument="input", index=window.axis)

    conditions = require_min_dim(apart, 1 - rest - (window.dilation if spanned else 0), make_error)
    if needs_extent and not (keras and window.auto_padding):
        # Keras adds max(extent - stride, 0), and ONNX Runtime adds min(extent - stride, 0): require extent >= stride
        least = -(-(stride - length - (extra or 0)) // window.dilation)
        conditions += require_min_dim(window.kernel, least, make_error)
    size = rules.names.floor_dim((apart, spanned, rest))
    return WINDOW_SPREAD, size, conditions, {"dim": dim, "window": window, "more": extra or 0}


def finish_window_stage(
    stage: StageBuilder,
    resolvers: Mapping[int, DimResolver],
    window_axes: Iterable[int],
    *weight_shapes: Shape,
    weight_axes: WeightAxes = NO_WEIGHT_AXES,
    make_move: Callable[..., Combine] = Combine,
) -> Stages:
    """Finish a stage in which a window slides along some axes.

    `resolvers` maps axes to functions that return their output dims; the other axes are unchanged. Along `window_axes`,
    an output element depends on several input elements. `weight_shapes` contains the shape of the weight, if any.
    `weight_axes` maps the output dims that depend on the weight to their operand axes. `make_move` accepts the fields
    of `Combine`. Raises `ShapeError` (overflow).
    """
    shape, resolved = stage.before, list[ResolvedDim]()
    operand_axes = tuple([weight_axes.get(axis, ((0, axis),)) for axis in range(len(shape))])
    stage.add_explanation(
        lambda _: [make_step(axis, input_axes(operand_axes[axis]), dim) for axis, dim in enumerate(resolved)]
    )
    for axis, dim in enumerate(shape):
        resolved.append(resolvers[axis]() if axis in resolvers else (KEPT_DIM, dim, (), EMPTY_DICT))
    output = tuple([dim for _, dim, *_ in resolved])
    compute_volume(output, "input")
    return stage.finish(make_move(output, (shape, *weight_shapes), operand_axes, None, tuple(window_axes)))
