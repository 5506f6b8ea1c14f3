"""What each framework writes for ops of several operands, as templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shapecalc.core.answers import Kind, Stage, Trace, shapes_in
from shapecalc.core.moves import Combine
from shapecalc.core.ops.operands import in_order
from shapecalc.core.ops.windows import Window, for_each
from shapecalc.core.problem import misuse

NUMPY = {
    "broadcast": "np.broadcast_arrays({all})[{place}]",
    "matmul": "np.matmul({all})",
    "linear": "np.matmul({x}, {weight}.T)",
    "concat": "np.concatenate([{all}], {axis})",
    "stack": "np.stack([{all}], {axis})",
    "einsum": 'np.einsum("{pattern}", {all})',
    "pad": "np.pad({x}, {pads})",
}


def _called_alike(module: str) -> dict[str, str]:
    """Return the expressions that a module shares with NumPy but for its name."""
    return {op: NUMPY[op].replace("np.", f"{module}.") for op in ("matmul", "stack", "einsum")}


FORMS: Mapping[str, Mapping[str, str]] = {
    "numpy": NUMPY,
    "jax": {op: form.replace("np.", "jnp.") for op, form in NUMPY.items()},
    "torch": {
        **_called_alike("torch"),
        "broadcast": "torch.broadcast_tensors({all})[{place}]",
        "linear": "torch.nn.functional.linear({x}, {weight})",
        "concat": "torch.cat([{all}], {axis})",
    },
    "tensorflow": {
        **_called_alike("tf"),
        "broadcast": "tf.broadcast_to({x}, tf.broadcast_dynamic_shape(tf.shape({x}), tf.shape({other})))",
        "matmul": "tf.linalg.matmul({all})",
        "matmul of vectors": "tf.experimental.numpy.matmul({all})",
        "linear": "tf.linalg.matmul({x}, {weight}, transpose_b=True)",
        "concat": "tf.concat([{all}], {axis})",
        "pad": "tf.pad({x}, {pads})",
    },
    "paddle": {
        **_called_alike("paddle"),
        "broadcast": "paddle.broadcast_tensors([{all}])[{place}]",
        "linear": "paddle.matmul({x}, {weight}, transpose_y=True)",
        "concat": "paddle.concat([{all}], {axis})",
    },
    "openvino": {
        "broadcast": 'ops.broadcast({x}, ops.shape_of({other}), broadcast_spec="BIDIRECTIONAL")',
        "matmul": "ops.matmul({all}, False, False)",
        "linear": "ops.matmul({x}, {weight}, False, True)",
        "concat": "ops.concat([{all}], {axis})",
        "stack": "ops.concat([{raised}], {joined})",
        "einsum": 'ops.einsum([{all}], "{pattern}")',
    },
    "tensorrt": {
        "matmul": "add_matrix_multiply({first}, trt.MatrixOperation.NONE, {weight}, trt.MatrixOperation.NONE)",
        "concat": "add_concatenation([{all}])",
        "einsum": 'add_einsum([{all}], "{pattern}")',
    },
}
"""The expressions of a framework by op: `{all}` are the operands in order, and `{place}` is that of the tensor `{x}`.

One with `{other}` is written for one operand after another.
"""
NODES = {"matmul": "MatMul", "linear": "MatMul", "concat": "Concat", "stack": "Concat", "einsum": "Einsum"}
"""ONNX's operators that read all operands."""


def operand_names(answer_traces: tuple[Trace, ...]) -> dict[str, Any]:
    """Return the names of all operands but the chain's tensor in a program, each with its shape.

    >>> import shapecalc as sc
    >>> operand_names(sc.chain((2, 3), "matmul 3,4", "concat 1,4 --axis 0").traces)
    {'x1': (3, 4), 'x2': (1, 4)}
    """
    moves = [stage.move for trace in answer_traces for stage in trace.stages]
    shapes = [shape for move in moves if isinstance(move, Combine) for shape in move.operands[1:]]
    return {f"x{number}": shape for number, shape in enumerate(shapes, 1)}


def named_operands(trace: Trace, tensor: str, first: int) -> list[str]:
    """Return the names of a request's operands in order; those beside the tensor count on from `first`."""
    operands = trace.request.arguments.get("operands")
    if operands is None:
        count = sum([len(stage.move.operands) - 1 for stage in trace.stages if isinstance(stage.move, Combine)])
        return [tensor, *[f"x{first + number}" for number in range(count)]]
    every = in_order(trace.input, operands)
    return [f"x{first + each.number - 1}" if each.number else tensor for each in every]


def expression(framework: str, trace: Trace, tensor: str, first: int) -> str:
    """Return what a framework writes for an op of several operands.

    Raises `ShapeError` (usage) if nothing is known to write.
    """
    if trace.stages[0].kind in (Kind.WINDOW, Kind.LENGTHEN) and framework == "torch" and trace.dialect != "tensorflow":
        return torch_windows(trace, tensor, f"x{first}")
    forms = FORMS.get(framework, {})
    of_vectors = any(len(shape) < 2 for shape in (trace.input, *shapes_in(trace.request.arguments.get("operands"))))
    form = (forms.get(f"{trace.op} of vectors") if of_vectors else None) or forms.get(trace.op)
    if form is None:
        raise misuse(f"{trace.op} is not written as {framework} code")
    named = named_operands(trace, tensor, first)
    if trace.op == "pad" and min(trace.request.arguments["padding"]) < 0:
        raise misuse(f"{framework} takes no pads below 0", "write a slice", argument="padding")
    joined = next((stage.move.joined for stage in trace.stages if isinstance(stage.move, Combine)), None)
    facts = {"axis": 0, "pattern": "", **trace.request.arguments, "first": named[0], "weight": named[-1]}
    facts |= {"joined": joined, "raised": ", ".join([f"ops.unsqueeze({name}, {joined})" for name in named])}
    facts |= {"pads": [tuple(step.facts.get(end, 0) for end in ENDS) for step in trace.stages[0].steps]}
    facts |= {"all": ", ".join(named), "place": named.index(tensor)}
    others = [name for name in named if name != tensor] if "{other}" in form else [""]
    for other in others:
        tensor = form.format(**{**facts, "x": tensor, "other": other})
    return tensor


# Windows, pads and scales: PyTorch's functions and ONNX's operators, from the steps of a stage.


def windows_of_stage(stage: Stage) -> list[Window]:
    """Return the windows that a stage moves along its spatial axes, in the order of these."""
    return [step.facts["window"] for step in stage.steps if "window" in step.facts]


def torch_windows(trace: Trace, tensor: str, weight: str) -> str:
    """Return the call of PyTorch that a convolution, a pooling, a pad or a scaling is.

    Raises `ShapeError` (usage) for what PyTorch does not have.
    """
    stage, given = trace.stages[0], trace.request.arguments
    if trace.op == "pad":
        pads = [step.facts.get(end, 0) for step in reversed(stage.steps[: len(stage.before)]) for end in ENDS]
        return f"{FUNCTIONAL}pad({tensor}, {tuple(pads)})"
    if trace.op == "upsample":
        sizes, scale = given.get("size"), given.get("scale") or ""
        asked = f"size={_one_or_all(sizes)}" if sizes else f"scale_factor={f'({scale})' if ',' in scale else scale}"
        return f"{FUNCTIONAL}interpolate({tensor}, {asked})"
    windows = windows_of_stage(stage)
    count = len(windows)
    if trace.op == "pool" and given["kernel"] == "global":
        return f"{FUNCTIONAL}adaptive_{_kind(given)}_pool{count}d({tensor}, 1)"
    if any(each.begin != each.end or (each.word and each.stride > 1) for each in windows):
        raise misuse("PyTorch pads both ends alike, and this does not", "pad first: pad INPUT PADS", argument="padding")
    word = f'"{windows[0].word}"' if windows[0].word else None
    named: dict[str, Any] = {
        "stride": [each.stride for each in windows],
        "padding": word or [each.begin for each in windows],
    }
    named["dilation"] = [each.dilation for each in windows]
    if trace.op == "pool":
        kernel = _one_or_all(for_each(given["kernel"], [count], "kernel"))
        texts = [tensor, kernel, *_named(named), *(["ceil_mode=True"] if given.get("ceil") else [])]
        texts += ["count_include_pad=False"] if _kind(given) == "avg" and trace.dialect != "torch" else []
        return f"{FUNCTIONAL}{_kind(given)}_pool{count}d({', '.join(texts)})"
    named["groups"] = given.get("groups", 1)
    named["output_padding"] = for_each(given.get("output_padding"), [count], "output_padding", 0)
    name = f"conv_transpose{count}d" if given.get("transposed") else f"conv{count}d"
    return f"{FUNCTIONAL}{name}({', '.join([tensor, weight, *_named(named)])})"


FUNCTIONAL = "torch.nn.functional."
ENDS = ("begin", "end")


def _kind(given: Mapping[str, Any]) -> str:
    return "avg" if given.get("kind") == "average" else "max"


def _one_or_all(sizes: Sequence[object]) -> str:
    return str(sizes[0]) if len(set(sizes)) == 1 else f"({', '.join(map(str, sizes))})"


def _named(arguments: Mapping[str, Any]) -> list[str]:
    """Return named arguments; of numbers that are alike the one, and none that is the default."""
    texts = {name: value if isinstance(value, (str, int)) else _one_or_all(value) for name, value in arguments.items()}
    return [f"{name}={text}" for name, text in texts.items() if (name, str(text)) not in DEFAULTS]


DEFAULTS = {("padding", "0"), ("dilation", "1"), ("groups", "1"), ("output_padding", "0")}


def onnx_windows(trace: Trace) -> tuple[str, dict[str, object]]:
    """Return the operator of ONNX that a convolution or a pooling is, with its attributes."""
    given, windows = trace.request.arguments, windows_of_stage(trace.stages[0])
    if trace.op == "pool" and given["kernel"] == "global":
        return ("GlobalAveragePool" if _kind(given) == "avg" else "GlobalMaxPool"), {}
    found: dict[str, object] = {"strides": [each.stride for each in windows]}
    if windows[0].word:
        found["auto_pad"] = '"SAME_LOWER"' if windows[0].word == "same-lower" else '"SAME_UPPER"'
    else:
        found["pads"] = [getattr(each, end) for end in ENDS for each in windows]
    if max(each.dilation for each in windows) > 1:
        found["dilations"] = [each.dilation for each in windows]
    if trace.op == "pool":
        found |= {"kernel_shape": [*for_each(given["kernel"], [len(windows)], "kernel")]}
        found |= {"ceil_mode": 1} if given.get("ceil") else {}
        found |= {"count_include_pad": 1} if _kind(given) == "avg" and trace.dialect == "torch" else {}
        return ("AveragePool" if _kind(given) == "avg" else "MaxPool"), found
    found |= {"group": given["groups"]} if given.get("groups", 1) > 1 else {}
    if given.get("output_padding"):
        found["output_padding"] = [*for_each(given["output_padding"], [len(windows)], "output_padding", 0)]
    return ("ConvTranspose" if given.get("transposed") else "Conv"), found
