"""Names and titles of stages, and hints that do not reveal the size of a dim."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from shapecalc.core import rules
from shapecalc.core.answers import Answer, Request, Stage, StageKind, Step, Trace, collect_shapes
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dims import Dim
from shapecalc.core.ops import OPS
from shapecalc.core.ops.op import operator_of
from shapecalc.core.record import Record
from shapecalc.core.text import shape_text

REQUESTED_SIZE_HINT = "the request gives a {} there"
"""The third hint on a dim whose size is part of the request."""
CARET = "^"


FRAMEWORK_NAMES = {
    "onnx": "ONNX",
    "onnxruntime": "ONNX Runtime",
    "torch": "PyTorch",
    "numpy": "NumPy",
    "tensorflow": "TensorFlow",
    "tensorrt": "TensorRT",
    "jax": "JAX",
    "openvino": "OpenVINO",
    "onednn": "oneDNN",
    "paddle": "PaddlePaddle",
    "mxnet": "MXNet",
    "tflite": "TensorFlow Lite",
    "coreml": "Core ML",
    "caffe": "Caffe",
}
"""The name of each framework in sentences, keyed by dialect."""


class DimQuestion(Record):
    """A question about a dim, with three hints that do not reveal its size."""

    question: str
    """The question, in one sentence."""
    rule: str
    """The first hint: the rule that determines the dim."""
    location: str
    """The second hint: a multi-line table of indices and dims, with carets."""
    arithmetic: str
    """The third hint: the arithmetic, with a placeholder for its result."""

    @property
    def levels(self) -> tuple[str, str, str]:
        """The three hints, from general to specific."""
        return self.rule, self.location, self.arithmetic


def stage_name(stage: Stage) -> str:
    """Return the operator name of a stage, such as `transpose`.

    The label of a stage can be the name of an argument instead, such as `to`.

    >>> import shapecalc as sc
    >>> [stage_name(stage) for stage in sc.shuffle((2, 3), first=(1, 0), to=(6,)).stages]
    ['transpose', 'reshape']
    """
    if stage.kind is StageKind.PERMUTE and stage.label in (stage.argument, "move"):
        return "transpose"
    return "reshape" if stage.kind is StageKind.RESHAPE and stage.label == stage.argument else stage.label


def display_name(name: str) -> str:
    """Return the name of a dim for output; an unnamed dim has the name `?`."""
    return "?" if name.startswith("?") else name


def sizes_text(sizes: Mapping[str, int]) -> str:
    """Format named sizes, as in `N=8, C=3`."""
    return ", ".join(f"{display_name(name)}={size}" for name, size in sizes.items())


def conditions_text(answer: Answer, prefix: str) -> str:
    """Format the conditions of an answer, preceded by a prefix.

    If there are no conditions, the text is empty.
    """
    return f"{prefix}{' and '.join(condition.phrase for condition in answer.conditions)}" if answer.conditions else ""


def verdict_text(answer: Answer) -> str:
    """Format the output shape of an answer and its conditions, or the refusal."""
    if answer.problem:
        return f"refused: {answer.problem.rule}"
    return f"{shape_text(answer.output or ())}{conditions_text(answer, ' when ')}"


def rules_phrase(traces: Sequence[Trace]) -> str:
    """Return a phrase with the framework whose rules all requests follow.

    The phrase is empty if there is no such framework.

    >>> import shapecalc as sc
    >>> rules_phrase([sc.reshape((2, 3), (6,))]), rules_phrase([])
    (' by ONNX rules', '')
    """
    dialects = {trace.dialect for trace in traces}
    return f" by {FRAMEWORK_NAMES.get(*dialects, *dialects)} rules" if len(dialects) == 1 else ""


def stage_title(request: Request, stage: Stage) -> str:
    """Return the name of a stage with its arguments.

    Positional arguments have no names in the title.
    """
    arguments = request.arguments
    if stage.label != request.op:
        value = arguments.get(stage.argument, "")
        requested = stage.requested or ("" if isinstance(value, str) else value)  # a title does not contain patterns
        return f"{stage_name(stage)} {_argument_text(requested)}".rstrip()
    texts, op = [stage.label], OPS[request.op]
    operator = operator_of(op, DIALECTS[request.dialect])
    for param in (*op.params, *(operator.params if operator else ())):
        value = arguments.get(param.name)
        if isinstance(value, bool):
            texts.append(param.name if value else f"no {param.name}")
        elif value is not None:
            text = _argument_text(value)
            texts.append(text if param.positional or op.params == (param,) else f"{param.name} {text}")
    return " ".join(texts)


def _argument_text(value: object) -> str:
    if collect_shapes(value) not in ((), (value,)):
        return " ".join([part if isinstance(part, str) else shape_text(part) for part in value])  # type: ignore[attr-defined]
    return shape_text(value) if isinstance(value, tuple) else str(value)


def make_dim_question(stage: Stage, step: Step, out_dim: int | None = None, *, name: str = "input") -> DimQuestion:
    """Return the question about an output dim, with its hints.

    If `out_dim` is None, the question is about the dim that the step determines. `name` is the name of the stage's
    input.

    >>> import shapecalc as sc
    >>> (stage,) = sc.reshape((2, 2, 3, 2), (-1, 0, 0)).stages
    >>> hint = make_dim_question(stage, stage.steps[0])
    >>> hint.question, hint.arithmetic
    ('what does the 0 at index 1 copy?', '0 copies dim 1, counted from the left, which is ?')
    >>> print(hint.location)
    the 0 is at index 1:
    index   0   1   2   3
    input   2   2   3   2
                ^ count from the left
    """
    out_dim = step.out if out_dim is None else out_dim
    rows = {name: [str(dim) for dim in stage.before]}
    requested = {"asked": [str(dim) for dim in stage.requested]}
    marked: Collection[int | None] = step.sources
    question, note = f"how large is dim {out_dim} after {stage_name(stage)}?", ""
    match step.rule:
        case rules.COPIED_ZERO:
            question, heading = f"what does the 0 at index {out_dim} copy?", f"the 0 is at index {out_dim}:"
            note = "count from the left"
        case rules.INFERRED | rules.INFERRED_EMPTY:
            question = f"what must the -1 at index {out_dim} be?"
            heading = f"all elements of the {name}, divided by every dim that is known:"
            rows, marked = rows | requested, ()
        case _ if stage.kind is StageKind.PERMUTE and stage.requested and step.out is not None:
            perm = ",".join(requested["asked"])
            question = f"how large is dim {out_dim} after {stage_name(stage)} {perm}?"
            heading, note = f"index {out_dim} of {perm} says which dim to take:", "this one"
        case rules.GIVEN_DIM:
            question, heading = f"what is asked for at index {out_dim}?", f"index {out_dim} of what is asked for:"
            rows, marked, note = requested, (out_dim,), "it stands for itself"
        case rule:
            question = f"how large is dim {out_dim}, which merges axes?" if rule == rules.MERGED else question
            heading = f"dim {out_dim} is made of:" if step.sources else f"no dim of the {name} becomes dim {out_dim}:"
    where = "\n".join([heading, *_index_table(rows, marked, note)])
    sentence = step.rule.sentence
    if stage.kind is StageKind.PERMUTE and step.sources and step.out is not None:
        sentence = f"place {out_dim} fetches dim {step.sources[0]}"
    return DimQuestion(question, f"{sentence}  [{step.rule}]", where, arithmetic_with_placeholder(step))


def should_ask_for_dim(stage: Stage, step: Step, out_dim: int, dim: Dim) -> bool:
    """Return whether to ask the user to predict an output dim.

    Dims that are inferred, or copied by a 0, are always predicted. Another dim is predicted unless the stage leaves it
    unchanged, or the request contains its size.

    >>> import shapecalc as sc
    >>> (stage,) = sc.reshape((2, 3, 4), (0, 4, -1)).stages
    >>> [should_ask_for_dim(stage, step, step.out, step.value) for step in stage.steps[:3]]
    [True, False, True]
    """
    if step.rule in (rules.COPIED_ZERO, rules.INFERRED, rules.INFERRED_EMPTY):
        return True
    stays = step.sources == (out_dim,) and str(stage.before[out_dim]) == str(dim)
    return not stays and not is_size_requested(stage, out_dim, dim)


def is_size_requested(stage: Stage, out_dim: int, dim: Dim) -> bool:
    """Return whether the size of an output dim is part of the request."""
    sized = stage.kind in (StageKind.RESHAPE, StageKind.VIEW, StageKind.EXPAND)
    return sized and out_dim < len(stage.requested) and str(stage.requested[out_dim]) == str(dim)


def _index_table(rows: dict[str, list[str]], marked: Collection[int | None], note: str) -> list[str]:
    """Return the lines of a table, with carets below the marked indices.

    The first row contains the indices; the items of `rows` follow, each after its label. `note` is printed after the
    carets.
    """
    count = max(map(len, rows.values()))
    widths = [
        max(len(str(index)), *(len(row[index]) for row in rows.values() if index < len(row))) for index in range(count)
    ]
    head = max(map(len, ("index", *rows)))
    lines = [_index_row("index", [str(index) for index in range(count)], widths, head)]
    lines += [_index_row(name, row, widths, head) for name, row in rows.items()]
    if marked:
        carets = [CARET if index in marked else " " for index in range(count)]
        lines.append(f"{_index_row('', carets, widths, head).rstrip()} {note}".rstrip())
    return lines


def _index_row(name: str, cells: Sequence[str], widths: Sequence[int], label_width: int) -> str:
    dims = (cell.rjust(min(12, width)) for cell, width in zip(cells, widths, strict=False))
    return name.ljust(label_width) + "".join(f"   {dim}" for dim in dims)


def arithmetic_with_placeholder(step: Step, placeholder: str = "?") -> str:
    """Return the arithmetic of a step with a placeholder instead of its result.

    If the text contains the result several times, the last one is replaced.

    >>> import shapecalc as sc
    >>> arithmetic_with_placeholder(sc.reshape((2, 3, 4), (2, -1)).steps[1])
    '-1 is 24 elements (2*3*4) / 2 known = ?'
    """
    if step.rule == rules.GIVEN_DIM:
        return REQUESTED_SIZE_HINT.format("number" if isinstance(step.value, int) else "name")
    sentence = step.why
    matches = [*re.finditer(rf"(?<![\w*/.-]){re.escape(str(step.value))}(?![\w*/])", sentence)]
    if not matches:
        return sentence
    start, end = matches[-1].span()
    return f"{sentence[:start]}{placeholder}{sentence[end:]}"
