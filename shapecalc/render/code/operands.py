"""Framework expressions for ops with several operands, such as `matmul`.

One operand is the output of the preceding stages. The other operands are the inputs `x1`, `x2`, ...
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from shapecalc.core.answers import EMPTY_DICT, Trace
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.onnx import ONNX
from shapecalc.core.dims import Shape
from shapecalc.core.moves import CONSTANT, Combine, Pad
from shapecalc.core.ops.broadcast import BROADCAST
from shapecalc.core.ops.calls import parse_signatures
from shapecalc.core.ops.concat import CONCAT
from shapecalc.core.ops.conv import CONV, CONV_SEMANTICS
from shapecalc.core.ops.einsum import EINSUM
from shapecalc.core.ops.linear import LINEAR
from shapecalc.core.ops.matmul import MATMUL
from shapecalc.core.ops.mean import KINDS as MEAN_KINDS
from shapecalc.core.ops.mean import MEAN, REDUCED
from shapecalc.core.ops.op import Op
from shapecalc.core.ops.operands import number_operands
from shapecalc.core.ops.pad import PAD, PAD_SEMANTICS
from shapecalc.core.ops.pool import GLOBAL, POOL, POOL_SEMANTICS
from shapecalc.core.ops.stack import STACK
from shapecalc.core.ops.upsample import UPSAMPLE
from shapecalc.core.ops.windows import WINDOW_SEMANTICS, Window, numbers_per_axis
from shapecalc.core.problem import usage_error
from shapecalc.core.record import Record, replace
from shapecalc.core.requests import make_request
from shapecalc.core.resolve import resolve
from shapecalc.render.code.calls import ArgumentReader, find_signature, format_call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NUMPY_TEMPLATES = {
    BROADCAST.name: "np.broadcast_arrays({all})[{place}]",
    LINEAR.name: "np.matmul({x}, {weight}.T)",
    MEAN.name: "np.{kind}({x}, axis={reduced}, keepdims={keepdims})",
}
OPERAND_TEMPLATES: Mapping[str, Mapping[str, str]] = {
    "numpy": NUMPY_TEMPLATES,
    "jax": {op: form.replace("np.", "jnp.") for op, form in NUMPY_TEMPLATES.items()},
    "torch": {
        BROADCAST.name: "torch.broadcast_tensors({all})[{place}]",
        MEAN.name: "{x}.{torch_kind}({torch_axes})",
    },
    "tensorflow": {
        MEAN.name: "tf.reduce_{kind}({x}, axis={reduced}, keepdims={keepdims})",
        BROADCAST.name: "tf.broadcast_to({x}, tf.broadcast_dynamic_shape(tf.shape({x}), tf.shape({other})))",
        f"{MATMUL.name} of vectors": "tf.experimental.numpy.matmul({all})",
        LINEAR.name: "tf.linalg.matmul({x}, {weight}, transpose_b=True)",
        f"{LINEAR.name} of vectors": "tf.experimental.numpy.matmul({x}, tf.transpose({weight}))",
    },
    "paddle": {
        BROADCAST.name: "paddle.broadcast_tensors([{all}])[{place}]",
        LINEAR.name: "paddle.matmul({x}, {weight}, transpose_y=True)",
        PAD.name: "paddle.nn.functional.pad({x}, {padding}{pad_options})",
    },
    "openvino": {
        MEAN.name: "ops.reduce_{kind}({x}, {reduced_list}, {keepdims})",
        BROADCAST.name: 'ops.broadcast({x}, ops.shape_of({other}), broadcast_spec="BIDIRECTIONAL")',
        MATMUL.name: "ops.matmul({all}, False, False)",
        LINEAR.name: "ops.matmul({x}, {weight}, False, True)",
        STACK.name: "ops.concat([{raised}], {joined})",
        PAD.name: "ops.pad({x}, {begins}, {ends}, {mode_word}{pad_value})",
    },
    "tensorrt": {
        MATMUL.name: "add_matrix_multiply({first}, trt.MatrixOperation.NONE, {weight}, trt.MatrixOperation.NONE)",
        CONCAT.name: "add_concatenation([{all}])",
        EINSUM.name: "add_einsum([{all}], {pattern})",
    },
}
"""The templates of expressions that a signature cannot describe, keyed by framework and op.

The fields are keys of `FIELDS`. A template with `{other}` is applied once for each operand except `{x}`. After the
first application, `{x}` is the result of the previous application.
"""
OPS_WITH_SIGNATURES = {op.name: op for op in (MATMUL, LINEAR, CONCAT, STACK, EINSUM, PAD)}
"""The ops that are formatted from a signature if they have no template, keyed by name.

If neither the template nor the signature reads an argument of a request, the request is refused, because the code would
ignore the argument.
"""
PAD_MODES: Mapping[str, Mapping[str, str]] = {
    "torch": {"edge": "replicate", "wrap": "circular"},
    "paddle": {"edge": "replicate", "wrap": "circular"},
    "tensorflow": {"reflect": "REFLECT", "symmetric": "SYMMETRIC"},
}
"""The framework's name of each padding mode that NumPy names differently, keyed by framework."""
FIRST_PADDED_AXIS = {"torch": "last", "paddle": "first"}
"""The axis with which the list of padding sizes begins, keyed by framework.

Other frameworks have one pair of sizes per axis instead.
"""
PADDLE_LAYOUTS = {3: "NCL", 4: "NCHW", 5: "NCDHW"}
"""Paddle's data format for each rank."""
ONNX_OPERATORS = {op.name: op.operators["onnx"].name for op in (MATMUL, CONCAT, STACK, EINSUM)}
ONNX_OPERATORS[LINEAR.name] = ONNX_OPERATORS[MATMUL.name]
"""The ONNX operator of each op that is one node with its operands as inputs."""
TORCH_REDUCTIONS = {"max": "amax", "min": "amin"}
"""PyTorch's name of each reduction that has a different name in the request."""
TORCH_FUNCTIONAL = "torch.nn.functional."
ENDS = ("begin", "end")
TORCH_DEFAULTS = {
    (argument.param, argument.default)
    for signature in parse_signatures(CONV.name)
    for argument in signature.arguments
    if signature.path.startswith(TORCH_FUNCTIONAL) and argument.param != "stride"
}
"""The default arguments of PyTorch's window functions, as (name, value) pairs.

Calls omit an argument that equals its default. A stride is never omitted, because its default depends on the function.
"""


def operand_variables(trace: Trace, tensor: str, first_number: int) -> list[str]:
    """Return the variable of each operand of a request, in order.

    `tensor` is the variable for the output of the preceding stages. The other operands are `x1`, `x2`, ..., numbered
    from `first_number`.
    """
    operands = trace.request.arguments.get("operands")
    if operands is None:
        count = sum([len(stage.move.operands) - 1 for stage in trace.stages if isinstance(stage.move, Combine)])
        return [tensor, *[f"x{first_number + number}" for number in range(count)]]
    operand_list = number_operands(trace.input, operands)
    return [f"x{first_number + operand.number - 1}" if operand.number else tensor for operand in operand_list]


class OperandCall(Record):
    """A pad, or an op with several operands, that is formatted as a framework call."""

    framework: str
    arguments: ArgumentReader
    tensor: str
    variables: tuple[str, ...]
    """The variables of all operands, in order."""

    @property
    def trace(self) -> Trace:
        """The trace of the op."""
        return self.arguments.trace

    def read_variables(self) -> tuple[str, ...]:
        """Mark the operands as read, and return their variables in order."""
        self.arguments.mark_read("operands", "weight", "out_features")
        return self.variables

    def read_pads(self) -> list[tuple[int, int]]:
        """Return the padding before and after each axis."""
        self.arguments.mark_read("padding", "axes")
        _, move = self.pad_stage
        return [*zip(move.begins, move.ends, strict=True)]

    @property
    def pad_stage(self) -> tuple[Shape, Pad]:
        """The input shape and the move of the padding stage."""
        [found] = [(stage.before, stage.move) for stage in self.trace.stages if isinstance(stage.move, Pad)]
        return found

    def read_pad_mode(self) -> str | None:
        """Return the framework's name of the padding mode, in quotes.

        Returns None for the mode `constant`.
        """
        mode = self.arguments.read("mode", CONSTANT)
        return None if mode == CONSTANT else f'"{PAD_MODES.get(self.framework, {}).get(mode, mode)}"'

    def read_fill_value(self) -> str | None:
        """Return the value with which a pad fills, or None for the default."""
        fill = self.arguments.read("fill", 0)
        return str(fill) if fill else None

    def read_openvino_fill_value(self) -> str:
        """Return OpenVINO's expression for the fill value of a pad.

        The value is converted to the element type of the tensor.
        """
        fill = self.read_fill_value()
        return f", ops.convert_like(ops.constant({fill}), {self.tensor})" if fill else ""

    def read_padding(self) -> str | list[int]:
        """Return the padding in the format of the framework.

        The format is one pair per axis or, for the frameworks in `FIRST_PADDED_AXIS`, one list for all axes. If the
        framework can pad only trailing axes in this mode, the list begins with the last axis and is as short as
        possible.
        """
        pairs, mode = self.read_pads(), self.trace.request.arguments.get("mode", CONSTANT)
        if self.framework not in FIRST_PADDED_AXIS:
            return str(pairs)
        count: int | None = len(pairs)
        if PAD_SEMANTICS[self.framework].pads_trailing_dims_only(mode, pairs):
            first = next((axis for axis, ends in enumerate(pairs) if any(ends)), len(pairs) - 1)
            count = PAD_SEMANTICS[self.framework].min_trailing_dims(len(pairs), first)
        elif FIRST_PADDED_AXIS[self.framework] == "first":
            pairs.reverse()
        return [number for ends in pairs[: -(count or 0) - 1 : -1] for number in ends]

    def read_paddle_pad_options(self) -> str:
        """Return Paddle's keyword arguments for a pad.

        They are the mode, the layout if it is necessary, and the fill value.
        """
        mode, (_, move) = self.read_pad_mode(), self.pad_stage
        limited = PAD_SEMANTICS[self.framework].pads_trailing_dims_only(
            move.mode, zip(move.begins, move.ends, strict=True)
        )
        layout = f'"{PADDLE_LAYOUTS[len(self.trace.input)]}"' if limited else None
        options = {"mode": mode, "data_format": layout, "value": self.read_fill_value()}
        return "".join([f", {name}={text}" for name, text in options.items() if text is not None])

    def read_concat_axis(self) -> int | None:
        """Return the output axis along which operands are concatenated."""
        self.arguments.mark_read("axis")
        moves = [stage.move for stage in self.trace.stages]
        return next((move.concat_axis for move in moves if isinstance(move, Combine)), None)

    def read_reduced_axes(self) -> list[int]:
        """Return the reduced axes, counted from 0."""
        self.arguments.mark_read("axes")
        return [step.sources[0] for step in self.trace.steps if step.rule is REDUCED]

    def read_keepdims(self) -> bool:
        """Return whether a reduction keeps the rank of its input."""
        self.arguments.mark_read("keepdims")
        return len(self.trace.output or ()) == len(self.trace.input)

    def read_torch_axes(self) -> str:
        """Return the axes of a reduction as PyTorch's argument.

        Raises `ShapeError` (usage) if there are no axes.
        """
        axes, keeps = self.read_reduced_axes(), self.read_keepdims()
        if self.trace.input and not axes:
            raise usage_error("torch reduces all axes if none is named", argument="axes")
        is_default = len(axes) == len(self.trace.input) and not keeps
        return "" if is_default or not axes else f"dim={axes}, keepdim={keeps}"


FIELDS: Mapping[str, Callable[[OperandCall], Any]] = {
    "kind": lambda call: call.arguments.read("kind", MEAN_KINDS[0]),
    "torch_kind": lambda call: TORCH_REDUCTIONS.get(kind := call.arguments.read("kind", MEAN_KINDS[0]), kind),
    "torch_axes": OperandCall.read_torch_axes,
    "reduced": lambda call: tuple(call.read_reduced_axes()),
    "reduced_list": OperandCall.read_reduced_axes,
    "keepdims": OperandCall.read_keepdims,
    "x": lambda call: call.tensor,
    "all": lambda call: ", ".join(call.read_variables()),
    "operands": OperandCall.read_variables,
    "first": lambda call: call.read_variables()[0],
    "weight": lambda call: call.read_variables()[-1],
    "place": lambda call: call.read_variables().index(call.tensor),
    "axis": lambda call: call.arguments.read("axis", 0),
    "joined": OperandCall.read_concat_axis,
    "raised": lambda call: ", ".join(
        [f"ops.unsqueeze({name}, {call.read_concat_axis()})" for name in call.read_variables()]
    ),
    "pattern": lambda call: f'"{call.arguments.read("pattern", "")}"',
    "padding": OperandCall.read_padding,
    "begins": lambda call: [begin for begin, _ in call.read_pads()],
    "ends": lambda call: [end for _, end in call.read_pads()],
    "mode": OperandCall.read_pad_mode,
    "mode_word": lambda call: call.read_pad_mode() or f'"{CONSTANT}"',
    "fill": OperandCall.read_fill_value,
    "pad_value": OperandCall.read_openvino_fill_value,
    "pad_options": OperandCall.read_paddle_pad_options,
}
"""The function that computes each field of a template, or parameter of a signature, from a call.

The field `all` is the list of all operands in order, and `place` is the index of the tensor `x` in this list. A field
with the value None is omitted from the code.
"""


def has_transposed_weight(trace: Trace) -> bool:
    """Return whether the weight of a `linear` has the shape (out, in)."""
    (weight,) = [stage.move.operands[1] for stage in trace.stages if isinstance(stage.move, Combine)]
    return len(weight) == 2 and any(step.facts.get("operand") and step.facts["axis"] == 0 for step in trace.steps)


def check_pad_accepted(call: OperandCall, opset: int | None = None) -> None:
    """Raise `ShapeError` (usage) if the framework refuses a pad, or pads differently."""
    framework, (shape, move) = call.framework, call.pad_stage
    padding = (*move.begins, *move.ends)
    if not PAD_SEMANTICS[framework].allows_negative_padding and min(padding, default=0) < 0:
        raise usage_error(f"{framework} takes no pads below 0", "write a slice", argument="padding")
    if move.mode == CONSTANT and min(padding, default=0) >= 0:
        return
    trace = resolve(
        make_request(PAD.name, shape, {"padding": padding, "mode": move.mode, "dialect": framework, "opset": opset})
    )
    if trace.problem is not None:
        raise usage_error(f"{framework} refuses this pad: {trace.problem.message}", argument="mode")
    if len(trace.stages) > 1:
        message = f"{framework} removes positions before it pads, and {call.trace.dialect} afterwards"
        raise usage_error(message, "write a slice", argument="padding")


def operand_expression(framework: str, arguments: ArgumentReader, tensor: str, first_number: int) -> str:
    """Return the expression of a framework for an op with several operands.

    `tensor` and `first_number` have the same meaning as in `operand_variables`. Raises `ShapeError` (usage) if the
    framework does not support the op.
    """
    trace = arguments.trace
    call = OperandCall(framework, arguments, tensor, tuple(operand_variables(trace, tensor, first_number)))
    if trace.op == PAD.name and framework in PAD_SEMANTICS:
        check_pad_accepted(call)
    if framework in WINDOW_CALL_FORMATTERS and trace.op in (CONV.name, POOL.name, UPSAMPLE.name):
        return WINDOW_CALL_FORMATTERS[framework](call)
    shapes = [
        trace.input,
        *[shape for stage in trace.stages if isinstance(stage.move, Combine) for shape in stage.move.operands],
    ]
    name = MATMUL.name if trace.op == LINEAR.name and not has_transposed_weight(trace) else trace.op
    forms, op = OPERAND_TEMPLATES.get(framework, {}), OPS_WITH_SIGNATURES.get(name)
    template = (forms.get(f"{name} of vectors") if any(len(shape) < 2 for shape in shapes) else None) or forms.get(name)
    if template is not None:
        return _fill_template(template, call)
    signature = find_signature(op, framework) if op is not None else None
    if op is None or signature is None:
        raise usage_error(f"{trace.op} is not written as {framework} code")
    params = [argument.param for argument in signature.arguments if argument.param in FIELDS]
    fields = {param: FIELDS[param](call) for param in params}
    return format_call(op, framework, tensor, **{name: value for name, value in fields.items() if value is not None})


def _fill_template(template: str, call: OperandCall) -> str:
    """Fill a template with the fields of a call.

    A template that contains `{other}` is applied once for each other operand.
    """
    tensor, fields = call.tensor, {*re.findall(r"\{(\w+)\}", template)}
    values = {name: FIELDS[name](call) for name in fields - {"x", "other"}}
    others = [name for name in call.read_variables() if name != tensor] if "other" in fields else [""]
    for other in others:
        tensor = template.format(**values, x=tensor, other=other)
    return tensor


def read_windows(arguments: ArgumentReader) -> list[Window]:
    """Return the windows of a convolution or pool, one per spatial axis."""
    arguments.mark_read("stride", "padding", "dilation")
    return [step.facts["window"] for step in arguments.trace.stages[0].steps if "window" in step.facts]


def check_window_rules(arguments: ArgumentReader, target: str) -> None:
    """Raise `ShapeError` (usage) for window rules that neither PyTorch nor ONNX supports.

    Examples are channels in the last dim, windows that start in the padding, and the output sizes of ONNX Runtime.
    """
    trace, dialect = arguments.trace, DIALECTS[arguments.trace.dialect]
    semantics = WINDOW_SEMANTICS.for_dialect(dialect)
    layout = arguments.read("layout") or semantics.default_layout
    if layout == "nhwc" or (trace.op == CONV.name and CONV_SEMANTICS.for_dialect(dialect).filters_last):
        what = "channels" if layout == "nhwc" else "filters"
        raise usage_error(f"{trace.op} with the {what} last is not written as {target} code", argument="layout")
    if semantics.computes_as_runtime and resolve(replace(trace.request, dialect=ONNX.name)).output != trace.output:
        raise usage_error(f"a size that {dialect.name} alone computes is not written as {target} code")
    for step in trace.steps if semantics.counts_padding_windows else ():
        window, dim, count = step.facts.get("window"), step.facts.get("dim"), step.value
        if window is None or not window.ceil or window.auto_padding:
            continue
        is_known = isinstance(dim, int) and isinstance(count, int)
        if not is_known or (count - 1) * window.stride >= dim + window.begin:  # type: ignore[operator]  # numbers
            message = f"a window that begins in the padding is not written as {target} code"
            raise usage_error(message, argument="ceil")


def torch_window_call(call: OperandCall) -> str:
    """Return the PyTorch call for a convolution, a pool or an upsampling.

    Raises `ShapeError` (usage) if PyTorch does not support the arguments.
    """
    trace, tensor, arguments = call.trace, call.tensor, call.arguments
    check_window_rules(arguments, call.framework)
    if trace.op == UPSAMPLE.name:
        sizes, scale = arguments.read("size"), arguments.read("scale") or ""
        size_argument = (
            f"size={_format_sizes(sizes)}" if sizes else f"scale_factor={f'({scale})' if ',' in scale else scale}"
        )
        return f"{_find_torch_function(UPSAMPLE)}({tensor}, {size_argument})"
    windows = read_windows(arguments)
    count = len(windows)
    kind = {"kind": "average"} if trace.op == POOL.name and _pool_kind(arguments) == "avg" else {}
    if trace.op == POOL.name and arguments.read("kernel") == GLOBAL:
        return f"{_find_torch_function(POOL, count, 'output_size', kind)}({tensor}, 1)"
    keywords: dict[str, Any] = {
        "stride": [window.stride for window in windows],
        "padding": _torch_padding(windows, is_pool=trace.op == POOL.name),
    }
    keywords["dilation"] = [window.dilation for window in windows]
    if trace.op == POOL.name:
        kernel = _format_sizes(numbers_per_axis(arguments.read("kernel"), [count], "kernel"))
        texts = [tensor, kernel, *_format_keywords(keywords), *(["ceil_mode=True"] if arguments.read("ceil") else [])]
        texts += ["count_include_pad=False"] if kind and not _counts_padding(trace) else []
        return f"{_find_torch_function(POOL, count, 'kernel', kind)}({', '.join(texts)})"
    keywords["groups"] = arguments.read("groups", 1)
    keywords["output_padding"] = numbers_per_axis(arguments.read("output_padding"), [count], "output_padding", 0)
    implied = {"transposed": True} if arguments.read("transposed") else {}
    function = _find_torch_function(CONV, count, "weight", implied)
    weight = call.read_variables()[-1]
    return f"{function}({', '.join([tensor, weight, *_format_keywords(keywords)])})"


def _find_torch_function(
    op: Op, rank: int = 0, param: str = "", implied_options: Mapping[str, object] = EMPTY_DICT
) -> str:
    """Return the qualified name of PyTorch's function for an op.

    A function for `rank` spatial dims has a parameter that corresponds to `param`; these two are not compared if `rank`
    is 0. `implied_options` are arguments of the op that the name of the function implies, such as the kind of a pool.
    """
    return next(
        signature.path
        for signature in parse_signatures(op.name)
        if signature.path.startswith(TORCH_FUNCTIONAL) and signature.options == implied_options
        if not rank or (str(rank) in signature.path and param in [argument.param for argument in signature.arguments])
    )


def _torch_padding(windows: Sequence[Window], *, is_pool: bool) -> str | list[int]:
    """Return PyTorch's padding argument.

    The argument is a quoted mode, or one number per window. Raises `ShapeError` (usage) if PyTorch does not support the
    padding.
    """
    word, paddings = windows[0].auto_padding, [window.begin for window in windows]
    is_even = all(window.begin == window.end for window in windows)
    if word:
        added = [window.dilation * (window.kernel - 1) if isinstance(window.kernel, int) else 1 for window in windows]
        is_even = all(window.stride == 1 for window in windows)
        is_even &= (word == "same" and not is_pool) or all(number % 2 == 0 for number in added)
        paddings = [number // 2 for number in added]
    if not is_even:
        raise usage_error(
            "PyTorch pads both ends alike, and this does not", "pad first: pad INPUT PADS", argument="padding"
        )
    pairs = zip(windows, paddings, strict=True)
    if is_pool and any(2 * padding > window.kernel for window, padding in pairs):  # type: ignore[operator]
        message = "PyTorch pads a pool by at most half of its kernel"
        raise usage_error(message, "pad first: pad INPUT PADS", argument="padding")
    return '"same"' if word and not is_pool else paddings


def _pool_kind(arguments: ArgumentReader) -> str:
    return "avg" if arguments.read("kind") == "average" else "max"


def _format_sizes(sizes: Sequence[object]) -> str:
    """Format sizes as a tuple, or as a single number if they are equal."""
    return str(sizes[0]) if len(set(sizes)) == 1 else f"({', '.join(map(str, sizes))})"


def _format_keywords(arguments: Mapping[str, Any]) -> list[str]:
    """Format keyword arguments, except those that equal PyTorch's defaults."""
    argument_texts = {
        name: value if isinstance(value, (str, int)) else _format_sizes(value) for name, value in arguments.items()
    }
    return [f"{name}={text}" for name, text in argument_texts.items() if (name, str(text)) not in TORCH_DEFAULTS]


WINDOW_CALL_FORMATTERS: Mapping[str, Callable[[OperandCall], str]] = {"torch": torch_window_call}
"""The function that formats the call of a convolution, a pool or an upsampling, keyed by framework."""


def _counts_padding(trace: Trace) -> bool:
    return POOL_SEMANTICS.for_dialect(DIALECTS[trace.dialect]).counts_padding


def onnx_window_node(arguments: ArgumentReader) -> tuple[str, dict[str, object]]:
    """Return the ONNX operator and the attributes of a convolution or pool."""
    trace, windows, pool_kind = arguments.trace, read_windows(arguments), _pool_kind(arguments)
    check_window_rules(arguments, "onnx")
    if trace.op == POOL.name and arguments.read("kernel") == GLOBAL:
        return ("GlobalAveragePool" if pool_kind == "avg" else "GlobalMaxPool"), {}
    attributes: dict[str, object] = {"strides": [window.stride for window in windows]}
    if windows[0].auto_padding:
        attributes["auto_pad"] = '"SAME_LOWER"' if windows[0].auto_padding == "same-lower" else '"SAME_UPPER"'
    else:
        attributes["pads"] = [getattr(window, end) for end in ENDS for window in windows]
    if max(window.dilation for window in windows) > 1:
        attributes["dilations"] = [window.dilation for window in windows]
    if trace.op == POOL.name:
        attributes |= {"kernel_shape": [*numbers_per_axis(arguments.read("kernel"), [len(windows)], "kernel")]}
        attributes |= {"ceil_mode": 1} if arguments.read("ceil") else {}
        attributes |= {"count_include_pad": 1} if pool_kind == "avg" and _counts_padding(trace) else {}
        return ("AveragePool" if pool_kind == "avg" else "MaxPool"), attributes
    arguments.mark_read("weight")
    groups, output_padding = arguments.read("groups", 1), arguments.read("output_padding")
    attributes |= {"group": groups} if groups > 1 else {}
    if output_padding:
        attributes["output_padding"] = [*numbers_per_axis(output_padding, [len(windows)], "output_padding", 0)]
    return ("ConvTranspose" if arguments.read("transposed") else "Conv"), attributes
