"""Collect the shapes that each line of code produces."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile

from shapecalc.core.conditions import Condition, Conditions
from shapecalc.core.dims import Dim, Shape, to_json
from shapecalc.core.problem import ShapeError, usage_error
from shapecalc.core.record import Record, replace
from shapecalc.core.text import shape_text
from shapecalc.reading.code.parameter_counts import count_parameters
from shapecalc.reading.code.results import StatementRecord
from shapecalc.reading.code.source import dotted_name
from shapecalc.reading.code.values import (
    MAYBE_NONE,
    Binding,
    CodeDict,
    CodeList,
    ObjectValue,
    TensorChunks,
    TracedTensor,
    is_dim,
)

UNNAMED_RESULT = ""
"""The name that represents a value without a name: a returned value or the value of an expression statement."""
UNKNOWN_SHAPE = "?"
"""The text for the shape of an unknown value."""


class CodeLine(Record):
    """A line of code with the shapes and sizes that it binds or returns."""

    line: int
    end: int
    text: str
    depth: int
    shapes: Mapping[str, Shape | None]
    """The shape of each tensor, keyed by name, or None if it is unknown."""
    sizes: Mapping[str, Dim]
    conditions: Conditions = ()
    """The conditions that this line adds to those of earlier lines."""
    times: int = 1
    """The number of times that the line is executed with these shapes."""
    is_layer: bool = False
    """Whether the line represents a layer of a `Sequential` instead of a statement."""
    parameters: int | None = None
    """The number of parameters of the layer, or of the layers that a statement applies. None if it is unknown."""

    def as_json(self) -> dict[str, object]:
        """Return the line as a JSON object."""
        return {
            "line": self.line,
            "end": self.end,
            "text": self.text,
            "names": {name: None if shape is None else to_json(shape) for name, shape in self.shapes.items()},
            "sizes": {name: to_json(size) for name, size in self.sizes.items()},
            "depth": self.depth,
            "times": self.times,
            "conditions": [*map(str, self.conditions)],
        } | ({} if self.parameters is None else {"parameters": self.parameters})

    def format_values(self) -> str:
        """Format the shapes and sizes of the line.

        The formats are `q, k B,T,64` and `B=N  T=196`. Equal shapes are listed once.
        """
        names_by_shape: dict[str, list[str]] = {}
        for name, shape in self.shapes.items():
            names_by_shape.setdefault(UNKNOWN_SHAPE if shape is None else shape_text(shape), []).append(name)
        shapes = [f"{', '.join(names)} {shape}".strip() for shape, names in names_by_shape.items()]
        return "  ".join([*shapes, *[f"{name}={size}" for name, size in self.sizes.items()]])


def collect_code_lines(records: Iterable[StatementRecord]) -> list[CodeLine]:
    """Return the lines that bind or return a tensor or a size.

    Executions of a statement with equal shapes are merged into one line. The lines of a function follow its first call.
    """
    lines: dict[tuple[object, ...], CodeLine] = {}
    known_conditions = set[Condition]()
    for record in _order_calls_first(records):
        shapes, sizes = shapes_and_sizes(record)
        if not (shapes or sizes):
            continue
        added = [each for each in _iter_conditions(record.names.values()) if each not in known_conditions]
        known_conditions.update(added)
        key = (record.line, record.end_line, record.depth, record.text, *shapes.items(), *sizes.items())
        if key in lines:
            lines[key] = replace(lines[key], times=lines[key].times + 1)
        else:
            place = (record.line, record.end_line, record.text, record.depth)
            layer = record.layer
            parameters = None if layer is None else count_parameters(layer.name, layer.positional, layer.keywords)
            added_here = tuple(dict.fromkeys(added))
            lines[key] = CodeLine(*place, shapes, sizes, added_here, 1, layer is not None, parameters)
    return _add_parameter_counts([*lines.values()])


def _add_parameter_counts(lines: Sequence[CodeLine]) -> list[CodeLine]:
    """Add to each line the number of parameters of the layers that it applies.

    A count is added only if it is known for all layers of the line.
    """
    result = list[CodeLine]()
    for index, line in enumerate(lines):
        layers = [*takewhile(lambda other: other.is_layer, lines[index + 1 :])]
        counts = [layer.parameters for layer in layers]
        known = [count for count in counts if count is not None]
        is_total = layers and not line.is_layer and len(known) == len(counts)
        result.append(replace(line, parameters=sum(known)) if is_total else line)
    return result


def result_names(records: Sequence[StatementRecord], count: int) -> list[str | None]:
    """Return the names of the `count` results of code.

    They are the names that the last statement binds or returns. A result that has no name is represented by None.
    """
    last = next((record for record in reversed(records) if record.depth == 0), None)
    names: list[str | None] = [None] * count
    if last is None:
        return names
    if UNNAMED_RESULT not in last.names:
        bound = [*last.names]
        return [*bound] if len(bound) == count else names
    item_names = _returned_names(last.text)
    return [*item_names] if len(item_names) == count else names


def _returned_names(text: str) -> list[str | None]:
    """Return the names in a `return` or expression statement.

    An expression that is not a name is represented by None.
    """
    try:
        value = getattr(ast.parse(text).body[0], "value", None)
    except (SyntaxError, ValueError, IndexError):  # the text of a `Sequential` layer is not Python code
        return []
    parts = value.elts if isinstance(value, ast.Tuple | ast.List) else [value] if isinstance(value, ast.AST) else []
    return [dotted_name(part) or None for part in parts]


def _order_calls_first(records: Iterable[StatementRecord]) -> list[StatementRecord]:
    """Order statements so that a call precedes the statements that it executes.

    The interpreter records a statement when it is finished, after the statements of the functions that it calls.
    """
    blocks: list[list[StatementRecord]] = []
    for record in records:
        start = len(blocks)
        while start and blocks[start - 1][0].depth > record.depth:
            start -= 1
        called = [inner for block in blocks[start:] for inner in block]
        blocks[start:] = [[record, *called]]
    return [record for block in blocks for record in block]


def shapes_and_sizes(record: StatementRecord) -> tuple[dict[str, Shape | None], dict[str, Dim]]:
    """Split the values of a statement into shapes of tensors and sizes.

    Other values are omitted.
    """
    shapes: dict[str, Shape | None] = {}
    sizes: dict[str, Dim] = {}
    for name, value in record.names.items():
        if isinstance(value, ShapeError):
            shapes[name] = None
        elif isinstance(value, TracedTensor):
            shapes[name] = None if value.absence is not None else value.shape
        elif is_dim(value):
            sizes[name or "result"] = value
        else:
            item_names = _returned_names(record.text) if name == UNNAMED_RESULT else []
            labelled = [*_iter_labelled_tensors(name, value, item_names)]
            if any(isinstance(part, TracedTensor) for _, part in labelled):
                are_items = len(labelled) > 1 and all(re.fullmatch(r".*\[\d+\]", label) for label, _ in labelled)
                dims = {part.shape if isinstance(part, TracedTensor) else None for _, part in labelled}
                if are_items and len(dims) == 1 and all(label.count("[") == 1 for label, _ in labelled):
                    labelled = [(f"{name}[:]", labelled[0][1])]
                shapes |= {label: part.shape if isinstance(part, TracedTensor) else None for label, part in labelled}
    return shapes, sizes


def _iter_labelled_tensors(
    name: str, value: Binding, item_names: Sequence[str | None] = ()
) -> Iterator[tuple[str, TracedTensor | ShapeError]]:
    """Yield the tensors in a value with labels such as `q[0]`.

    The value is a tensor, a list or tuple of tensors, or a split tensor. `item_names` contains the names that the code
    gives to the items. The errors of unknown items are also yielded.
    """
    if isinstance(value, TensorChunks):
        items: dict[object, Binding] = {index: value.chunk(index) for index in range(value.count or 0)}
    elif isinstance(value, ObjectValue):
        for field, item in value.fields.items():
            yield from _iter_labelled_tensors(f"{name}.{field}".lstrip("."), item)
        return
    elif isinstance(value, CodeList | CodeDict):
        state = value.state["items"]
        items = {} if isinstance(state, ShapeError) else state if isinstance(state, dict) else dict(enumerate(state))
    elif isinstance(value, tuple):
        items = dict(enumerate(value))
    else:
        if isinstance(value, TracedTensor | ShapeError):
            yield name, value
        elif value is MAYBE_NONE:
            yield name, usage_error("this may be None")
        return
    names = item_names if len(item_names) == len(items) else [None] * len(items)
    for (key, item), text in zip(items.items(), names, strict=True):
        yield from _iter_labelled_tensors(text or f"{name}[{key!r}]", item)


def _iter_tensors(value: Binding) -> Iterator[TracedTensor]:
    """Yield the tensors in a value."""
    for _, part in _iter_labelled_tensors("", value):
        if isinstance(part, TracedTensor):
            yield part


def _iter_conditions(values: Iterable[Binding]) -> Iterator[Condition]:
    """Yield the conditions of the tensors in values."""
    for value in values:
        for tensor in _iter_tensors(value):
            yield from tensor.conditions


def format_lines(lines: Iterable[CodeLine], function: str, width: int) -> Iterator[str]:
    """Yield the rows of a table of code lines.

    The first row is the name of the function. Each other row contains the number, source and shapes of a line. The
    source text is truncated to make the row fit in `width` columns, unless the shapes alone are wider.
    """
    rows = [
        (str(line.line), "  " * line.depth + line.text, line.format_values(), _format_remarks(line)) for line in lines
    ]
    if not rows:
        return
    if function:
        yield function
    number_width = max(len(number) for number, *_ in rows)
    value_width = max(len(values) for _, _, values, _ in rows)
    text_width = max(min(max(len(text) for _, text, _, _ in rows), width - number_width - value_width - 5), 24)
    for number, text, values, remarks in rows:
        shown = text if len(text) <= text_width else f"{text[: text_width - 3]}..."
        yield f" {number:>{number_width}}  {shown:{text_width}}  {values}{remarks}"


def _format_remarks(line: CodeLine) -> str:
    """Format the execution count and the conditions of a line."""
    times = f"  x{line.times}" if line.times > 1 else ""
    times += f"  {line.parameters:,} parameters" if line.parameters else ""
    return times + (
        f"  when {' and '.join(condition.phrase for condition in line.conditions)}" if line.conditions else ""
    )
