"""Framework expressions for ops with several operands, such as `matmul`.

The chain's tensor is the operand that the stages before the op produce; the other operands are inputs `x1`, `x2`, ...
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shapecalc.core.answers import EMPTY_DICT, Stage, StageKind, Trace, shapes_in
from shapecalc.core.moves import Combine
from shapecalc.core.ops.broadcast import BROADCAST
from shapecalc.core.ops.calls import signatures_of
from shapecalc.core.ops.concat import CONCAT
from shapecalc.core.ops.conv import CONV
from shapecalc.core.ops.einsum import EINSUM
from shapecalc.core.ops.linear import LINEAR
from shapecalc.core.ops.matmul import MATMUL
from shapecalc.core.ops.op import Op
from shapecalc.core.ops.operands import order_operands
from shapecalc.core.ops.pad import PAD
from shapecalc.core.ops.pool import POOL
from shapecalc.core.ops.stack import STACK
from shapecalc.core.ops.upsample import UPSAMPLE
from shapecalc.core.ops.windows import Window, numbers_per_axis
from shapecalc.core.problem import usage_error
from shapecalc.render.code.calls import find_signature, format_call

NUMPY_TEMPLATES = {BROADCAST.name: "np.broadcast_arrays({all})[{place}]", LINEAR.name: "np.matmul({x}, {weight}.T)"}
OPERAND_TEMPLATES: Mapping[str, Mapping[str, str]] = {
    "numpy": NUMPY_TEMPLATES,
    "jax": {op: form.replace("np.", "jnp.") for op, form in NUMPY_TEMPLATES.items()},
    "torch": {BROADCAST.name: "torch.broadcast_tensors({all})[{place}]"},
    "tensorflow": {
        BROADCAST.name: "tf.broadcast_to({x}, tf.broadcast_dynamic_shape(tf.shape({x}), tf.shape({other})))",
        f"{MATMUL.name} of vectors": "tf.experimental.numpy.matmul({all})",
        LINEAR.name: "tf.linalg.matmul({x}, {weight}, transpose_b=True)",
    },
    "paddle": {
        BROADCAST.name: "paddle.broadcast_tensors([{all}])[{place}]",
        LINEAR.name: "paddle.matmul({x}, {weight}, transpose_y=True)",
    },
    "openvino": {
        BROADCAST.name: 'ops.broadcast({x}, ops.shape_of({other}), broadcast_spec="BIDIRECTIONAL")',
        MATMUL.name: "ops.matmul({all}, False, False)",
        LINEAR.name: "ops.matmul({x}, {weight}, False, True)",
        STACK.name: "ops.concat([{raised}], {joined})",
    },
    "tensorrt": {
        MATMUL.name: "add_matrix_multiply({first}, trt.MatrixOperation.NONE, {weight}, trt.MatrixOperation.NONE)",
        CONCAT.name: "add_concatenation([{all}])",
        EINSUM.name: 'add_einsum([{all}], "{pattern}")',
    },
}
"""The expression templates by framework and op, for ops whose signature is not sufficient.

`{x}` is the chain's tensor, `{all}` is the comma-separated list of all operands, and `{place}` is the index of `{x}` in
this list. A template with `{other}` is applied once for each operand except `{x}`, which becomes the result of the
previous application.
"""
SIGNATURE_OPS = {op.name: op for op in (MATMUL, LINEAR, CONCAT, STACK, EINSUM, PAD)}
"""The ops that are formatted from a signature where no template exists, by name."""
ONNX_OPERATORS = {op.name: op.operators["onnx"].name for op in (MATMUL, CONCAT, STACK, EINSUM)}
ONNX_OPERATORS[LINEAR.name] = ONNX_OPERATORS[MATMUL.name]
"""The ONNX operators, by op, of ops that are a single node with the operands as inputs."""
TORCH_FUNCTIONAL = "torch.nn.functional."
ENDS = ("begin", "end")
TORCH_DEFAULTS = {
    (argument.param, argument.default)
    for signature in signatures_of(CONV.name)
    for argument in signature.arguments
    if signature.path.startswith(TORCH_FUNCTIONAL) and argument.param != "stride"
}
"""PyTorch's default arguments, as pairs of name and value, which calls omit; a stride is never omitted."""


def operand_shapes(traces: tuple[Trace, ...]) -> dict[str, Any]:
    """Return the shapes of all operands except the input `x`, by variable name.

    >>> import shapecalc as sc
    >>> operand_shapes(sc.chain((2, 3), "matmul 3,4", "concat 1,4 --axis 0").traces)
    {'x1': (3, 4), 'x2': (1, 4)}
    """
    moves = [stage.move for trace in traces for stage in trace.stages]
    shapes = [shape for move in moves if isinstance(move, Combine) for shape in move.operands[1:]]
    return {f"x{number}": shape for number, shape in enumerate(shapes, 1)}


def operand_variables(trace: Trace, tensor: str, first_number: int) -> list[str]:
    """Return the variable names of a request's operands, in order.

    `tensor` is the variable of the chain's tensor. The other operands have the variables `x1`, `x2`, ..., numbered from
    `first_number`.
    """
    operands = trace.request.arguments.get("operands")
    if operands is None:
        count = sum([len(stage.move.operands) - 1 for stage in trace.stages if isinstance(stage.move, Combine)])
        return [tensor, *[f"x{first_number + number}" for number in range(count)]]
    operand_list = order_operands(trace.input, operands)
    return [f"x{first_number + operand.number - 1}" if operand.number else tensor for operand in operand_list]


def operand_expression(framework: str, trace: Trace, tensor: str, first_number: int) -> str:
    """Return a framework's expression for an op of several operands.

    `tensor` and `first_number` are those of `operand_variables`. Raises `ShapeError` (usage) if the framework does not
    support the op.
    """
    is_window = trace.stages[0].kind in (StageKind.WINDOW, StageKind.LENGTHEN)
    if is_window and framework == "torch" and trace.dialect != "tensorflow":
        return torch_window_call(trace, tensor, f"x{first_number}")
    forms = OPERAND_TEMPLATES.get(framework, {})
    of_vectors = any(len(shape) < 2 for shape in (trace.input, *shapes_in(trace.request.arguments.get("operands"))))
    template = (forms.get(f"{trace.op} of vectors") if of_vectors else None) or forms.get(trace.op)
    op = None if is_window and framework == "torch" else SIGNATURE_OPS.get(trace.op)
    if template is None and (op is None or find_signature(op, framework) is None):
        raise usage_error(f"{trace.op} is not written as {framework} code")
    variables = operand_variables(trace, tensor, first_number)
    if op is PAD and min(trace.request.arguments["padding"]) < 0:
        raise usage_error(f"{framework} takes no pads below 0", "write a slice", argument="padding")
    if template is None:
        assert op is not None
        pads = [tuple(step.facts.get(end, 0) for end in ENDS) for step in trace.stages[0].steps]
        texts = {"padding": str(pads), "weight": variables[-1], "axis": trace.request.arguments.get("axis", 0)}
        texts["pattern"] = f'"{trace.request.arguments.get("pattern")}"'
        return format_call(op, framework, tensor, operands=variables, **texts)
    joined_axis = next((stage.move.concat_axis for stage in trace.stages if isinstance(stage.move, Combine)), None)
    facts = {"axis": 0, "pattern": "", **trace.request.arguments, "first": variables[0], "weight": variables[-1]}
    facts |= {
        "joined": joined_axis,
        "raised": ", ".join([f"ops.unsqueeze({name}, {joined_axis})" for name in variables]),
    }
    facts |= {"all": ", ".join(variables), "place": variables.index(tensor)}
    others = [name for name in variables if name != tensor] if "{other}" in template else [""]
    for other in others:
        tensor = template.format(**{**facts, "x": tensor, "other": other})
    return tensor


def stage_windows(stage: Stage) -> list[Window]:
    """Return the windows of a stage, one for each spatial axis."""
    return [step.facts["window"] for step in stage.steps if "window" in step.facts]


def torch_window_call(trace: Trace, tensor: str, weight: str) -> str:
    """Return the PyTorch call for a convolution, a pool, a pad or an upsampling.

    Raises `ShapeError` (usage) if PyTorch does not support the arguments.
    """
    stage, arguments = trace.stages[0], trace.request.arguments
    if trace.op == PAD.name:
        pads = [step.facts.get(end, 0) for step in reversed(stage.steps[: len(stage.before)]) for end in ENDS]
        return f"{_torch_function(PAD)}({tensor}, {tuple(pads)})"
    if trace.op == UPSAMPLE.name:
        sizes, scale = arguments.get("size"), arguments.get("scale") or ""
        size_argument = (
            f"size={_format_sizes(sizes)}" if sizes else f"scale_factor={f'({scale})' if ',' in scale else scale}"
        )
        return f"{_torch_function(UPSAMPLE)}({tensor}, {size_argument})"
    windows = stage_windows(stage)
    count, kind = len(windows), {"kind": "average"} if _pool_kind(arguments) == "avg" else {}
    if trace.op == POOL.name and arguments["kernel"] == "global":
        return f"{_torch_function(POOL, count, 'output_size', kind)}({tensor}, 1)"
    if any(window.begin != window.end or (window.auto_padding and window.stride > 1) for window in windows):
        raise usage_error(
            "PyTorch pads both ends alike, and this does not", "pad first: pad INPUT PADS", argument="padding"
        )
    word = f'"{windows[0].auto_padding}"' if windows[0].auto_padding else None
    keywords: dict[str, Any] = {
        "stride": [window.stride for window in windows],
        "padding": word or [window.begin for window in windows],
    }
    keywords["dilation"] = [window.dilation for window in windows]
    if trace.op == POOL.name:
        kernel = _format_sizes(numbers_per_axis(arguments["kernel"], [count], "kernel"))
        texts = [tensor, kernel, *_format_keywords(keywords), *(["ceil_mode=True"] if arguments.get("ceil") else [])]
        texts += ["count_include_pad=False"] if _pool_kind(arguments) == "avg" and trace.dialect != "torch" else []
        return f"{_torch_function(POOL, count, 'kernel', kind)}({', '.join(texts)})"
    keywords["groups"] = arguments.get("groups", 1)
    keywords["output_padding"] = numbers_per_axis(arguments.get("output_padding"), [count], "output_padding", 0)
    function = _torch_function(CONV, count, "weight", {"transposed": True} if arguments.get("transposed") else {})
    return f"{function}({', '.join([tensor, weight, *_format_keywords(keywords)])})"


def _torch_function(op: Op, rank: int = 0, param: str = "", implied: Mapping[str, object] = EMPTY_DICT) -> str:
    """Return the name of PyTorch's function for an op, with the module.

    If `rank` is nonzero, the function has that number of spatial dims and the parameter `param`. `implied` contains the
    arguments of the op that the function's name determines.
    """
    return next(
        signature.path
        for signature in signatures_of(op.name)
        if signature.path.startswith(TORCH_FUNCTIONAL) and signature.options == implied
        if not rank or (str(rank) in signature.path and param in [argument.param for argument in signature.arguments])
    )


def _pool_kind(arguments: Mapping[str, Any]) -> str:
    """Return `avg` or `max`."""
    return "avg" if arguments.get("kind") == "average" else "max"


def _format_sizes(sizes: Sequence[object]) -> str:
    """Format sizes as a tuple, or as one number if they are equal."""
    return str(sizes[0]) if len(set(sizes)) == 1 else f"({', '.join(map(str, sizes))})"


def _format_keywords(arguments: Mapping[str, Any]) -> list[str]:
    """Format keyword arguments, and omit those that have PyTorch's default."""
    argument_texts = {
        name: value if isinstance(value, (str, int)) else _format_sizes(value) for name, value in arguments.items()
    }
    return [f"{name}={text}" for name, text in argument_texts.items() if (name, str(text)) not in TORCH_DEFAULTS]


def onnx_window_node(trace: Trace) -> tuple[str, dict[str, object]]:
    """Return the ONNX operator for a convolution or a pool, with its attributes."""
    arguments, windows = trace.request.arguments, stage_windows(trace.stages[0])
    if trace.op == POOL.name and arguments["kernel"] == "global":
        return ("GlobalAveragePool" if _pool_kind(arguments) == "avg" else "GlobalMaxPool"), {}
    attributes: dict[str, object] = {"strides": [window.stride for window in windows]}
    if windows[0].auto_padding:
        attributes["auto_pad"] = '"SAME_LOWER"' if windows[0].auto_padding == "same-lower" else '"SAME_UPPER"'
    else:
        attributes["pads"] = [getattr(window, end) for end in ENDS for window in windows]
    if max(window.dilation for window in windows) > 1:
        attributes["dilations"] = [window.dilation for window in windows]
    if trace.op == POOL.name:
        attributes |= {"kernel_shape": [*numbers_per_axis(arguments["kernel"], [len(windows)], "kernel")]}
        attributes |= {"ceil_mode": 1} if arguments.get("ceil") else {}
        attributes |= {"count_include_pad": 1} if _pool_kind(arguments) == "avg" and trace.dialect == "torch" else {}
        return ("AveragePool" if _pool_kind(arguments) == "avg" else "MaxPool"), attributes
    attributes |= {"group": arguments["groups"]} if arguments.get("groups", 1) > 1 else {}
    if arguments.get("output_padding"):
        attributes["output_padding"] = [
            *numbers_per_axis(arguments["output_padding"], [len(windows)], "output_padding", 0)
        ]
    return ("ConvTranspose" if arguments.get("transposed") else "Conv"), attributes
