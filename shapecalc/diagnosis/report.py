"""The diagnosis of a text: advice for each parsed message, as JSON or as lines.

The failing request of a message is resolved under the rules of the dialect, and so is every fix with a command. Only
fixes that resolve are reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice, zip_longest
from shlex import quote

from shapecalc.core.answers import Trace
from shapecalc.core.dialects.base import ParamType
from shapecalc.core.dims import factorization_text, missing_factors_text
from shapecalc.core.ops import OPS
from shapecalc.core.ops.broadcast import BROADCAST
from shapecalc.core.ops.concat import CONCAT
from shapecalc.core.ops.conv import CONV
from shapecalc.core.ops.einsum import EINSUM
from shapecalc.core.ops.expand import EXPAND
from shapecalc.core.ops.linear import LINEAR
from shapecalc.core.ops.matmul import MATMUL
from shapecalc.core.ops.pool import POOL
from shapecalc.core.ops.rearrange import REARRANGE
from shapecalc.core.ops.reshape import RESHAPE
from shapecalc.core.ops.shuffle import SHUFFLE
from shapecalc.core.ops.squeeze import SQUEEZE
from shapecalc.core.ops.stack import STACK
from shapecalc.core.ops.tile import TILE
from shapecalc.core.ops.transpose import TRANSPOSE
from shapecalc.core.ops.unflatten import UNFLATTEN
from shapecalc.core.ops.unsqueeze import UNSQUEEZE
from shapecalc.core.ops.view import VIEW
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import Record, replace
from shapecalc.core.requests import make_request
from shapecalc.core.rules import INDIVISIBLE, VOLUME_MISMATCH
from shapecalc.core.text import escape_unprintable, rank_text
from shapecalc.diagnosis.match import PrintedSizes, format_sizes, parse_sizes_at
from shapecalc.diagnosis.reading import (
    CAUSES,
    DECLARED_INPUT,
    ParsedMessage,
    as_dims,
    parse_messages,
    volume_of_sizes,
    volume_without_infer,
)
from shapecalc.diagnosis.suggestions import (
    INSERT_DIM_REMEDY,
    explain_factors,
    numeric_sizes,
    rank_and_perm,
    suggest_fixes,
    suggest_remedies,
    suggest_shape_changes,
    unequal_axes,
)
from shapecalc.reading.commands import command_line
from shapecalc.reasoning.answers import answer_request
from shapecalc.reasoning.fixing import Fix, apply_fix, find_differing_dims, find_fixes
from shapecalc.reasoning.operand_mismatch import explain_mismatch, explain_sizes, find_size_mismatch

MAX_RATIO = 4096
"""The largest ratio of element counts that is reported."""
OP_DESCRIPTIONS = {op.name: op.noun for op in OPS.values() if op.noun}
"""The descriptions of ops that take several operands or a window, by op."""
TARGET_ARGUMENTS = {
    op.name: next(param.name for param in op.params if param.type is ParamType.TARGET)
    for op in (RESHAPE, SHUFFLE, EXPAND, TILE)
}
"""The name of the target argument of each op."""
WEIGHT_OPS = (CONV.name, LINEAR.name)
"""The ops whose second operand is a weight."""
MODEL_FILE = "FILE.onnx"
FREE_BATCH_COMMAND = f"shapecalc model {MODEL_FILE} --fix -o fixed.onnx"
"""The command that replaces a fixed batch size in a model with a symbol."""
REEXPORT_REMEDY = "give the model the size that it was exported with, or export it again with this one"
MODEL_FILE_FRAMEWORKS = ("onnx", "onnxruntime", "openvino", "tensorrt")
"""The frameworks whose declared shapes may come from an ONNX file."""
MAX_FIXES = 2
FIT_NOTE = "would fit, and that is all that is known of it"
COUNT_RULES = (INDIVISIBLE, VOLUME_MISMATCH)
"""The rules that compare element counts."""
REMEDIES_BY_SUBJECT = {
    DECLARED_INPUT: "give it the declared shape, or export the model again with the other",
    "mask of other dims than its tensor": "give the mask the first dims of the tensor: reshape one of the two",
    "loss and its targets": "give predictions and targets the same dims; a flatten must keep the batch, x.flatten(1)",
    "optimization profile without the shape": "give it a shape between those of the profile, "
    "or build the engine with one whose min and max hold it: --minShapes, --maxShapes",
    "guard that takes a dim as a number": "export it with an example in which that dim is 2 or more, "
    "since 0 and 1 are taken as numbers; if it still is one, find the code that makes it one: TORCH_LOGS=+dynamic",
    "guard that torch.export cannot decide": "say it before that line with "
    "torch._check(CONDITION), or write the code so that no view needs it",
    "weights of another model": "load them into the model that they were saved from, or leave out those "
    "that differ, in PyTorch by hand: strict=False does not",
}
"""The remedies for messages that are not shape errors, by subject."""
UNCOUNTABLE_SUBJECTS = ("memory", "storage", "weights")
"""The first words of subjects without an indefinite article."""
MULTIPLE_CONDITION = re.compile(r"(?i)eq\(mod\((.{1,200}?), (\d+)\), 0\)")
"""A divisibility condition as printed by SymPy."""
METHOD_CALL = re.compile(r"\.(?!view|reshape|expand|repeat)\w+\([^()]*\)")
"""A method call that is not a reshape or an expand."""
EXPECTED_RANK = re.compile(r"(?i)(?:rank .*expected: |ndim=|to have )(\d)\b")
"""The expected rank in a message."""
DIM_MISMATCH = re.compile(r"(?i)index: (\d{1,3}) got: (-?\d{1,19}) expected: (-?\d{1,19})")
"""A dim that differs from the declared size, as printed by ONNX Runtime."""
HIDDEN_CAUSES = "a 0 or -1 that was replaced before it was printed, strides, or a switch"
LIST_START = re.compile(r"[\[({](?=\s?-?\d)")
MAX_LISTS = 8
TAIL_LENGTH = 20_000
"""The number of characters, at the end of an unknown text, that are searched for lists of sizes."""
WHOLE_TEXT = "the whole log or traceback, from its first line"
JSON_FIELDS = (
    *("framework", "dialect", "op", "node", "input", "elements", "target", "target_elements", "perm", "axes"),
    *("operands", "cause", "quote"),
)
"""The JSON fields of a message; all fields are null for a text without a known message."""


class Advice(Record):
    """An explanation of a message, with fixes and the missing information."""

    summary: str
    fixes: tuple[tuple[str, str | None], ...]
    """Pairs of a description and a command line; the command is None if shapes are unknown."""
    missing: str | None
    command: str | None


class Diagnosis(Record):
    """The messages of a text, with advice, or the lists of sizes in an unknown text."""

    entries: tuple[tuple[ParsedMessage, Advice], ...]
    lists: tuple[PrintedSizes, ...]

    @property
    def is_understood(self) -> bool:
        """Whether a shape error was parsed."""
        return any(read.about in (None, DECLARED_INPUT) for read, _ in self.entries)

    def as_json(self) -> list[dict[str, object]]:
        """Return the list that `--json` prints."""
        if not self.entries:
            empty: dict[str, object] = dict.fromkeys(JSON_FIELDS)
            return [empty | {"said": self._format_unknown_text(), "fixes": [], "ask": WHOLE_TEXT, "command": None}]
        return [_entry_as_json(read, advised) for read, advised in self.entries]

    def format_lines(self) -> list[str]:
        """Format the diagnosis as lines; escape unprintable characters."""
        blocks = [_entry_lines(*entry) for entry in self.entries] or [
            [f"{self._format_unknown_text()} (paste {WHOLE_TEXT})"]
        ]
        return [
            escape_unprintable(line) for number, block in enumerate(blocks) for line in ([""] if number else []) + block
        ]

    def _format_unknown_text(self) -> str:
        lists = f"; the lists that stand in it: {' '.join(f'[{format_sizes(each)}]' for each in self.lists)}"
        return f"not known to me{lists if self.lists else ''}"


def diagnose(text: str, model_path: str | None = None) -> Diagnosis:
    r"""Diagnose a log, a traceback or a message.

    `model_path` is the path of the model that failed, if known; commands then contain it.

    >>> print("\n".join(diagnose("shape '[8, 3, 64]' is invalid for input of size 1600").format_lines()[:4]))
    torch reshape: count-mismatch
      message  shape '[8, 3, 64]' is invalid for input of size 1600
      input    1600 elements, the shape is not in the message
      target   8,3,64
    """
    entries = tuple(
        (read, _insert_model_path(advise(read), quote(model_path) if model_path else MODEL_FILE))
        for read in parse_messages(text)
    )
    return Diagnosis(entries, () if entries else _find_lists(text[-TAIL_LENGTH:]))


def _insert_model_path(advice: Advice, model_path: str) -> Advice:
    """Replace `MODEL_FILE` in the fixes with the path of the model."""
    fixes = [
        (text.replace(MODEL_FILE, model_path), command and command.replace(MODEL_FILE, model_path))
        for text, command in advice.fixes
    ]
    return replace(advice, fixes=tuple(fixes))


def _find_lists(text: str) -> tuple[PrintedSizes, ...]:
    """Return the first distinct lists of numeric sizes in a text."""
    lists = (parse_sizes_at(text, start.start())[0] for start in LIST_START.finditer(text))
    numeric = (sizes for sizes in lists if sizes and numeric_sizes(sizes))
    return tuple(dict.fromkeys(islice(numeric, MAX_LISTS)))


def _entry_as_json(message: ParsedMessage, advice: Advice) -> dict[str, object]:
    fixes = [{"text": text, "command": command} for text, command in advice.fixes]
    parsed = {name: _to_lists(getattr(message, name)) for name in JSON_FIELDS}
    return parsed | {"said": advice.summary, "fixes": fixes, "ask": advice.missing, "command": advice.command}


def _to_lists(value: object) -> object:
    return [_to_lists(item) for item in value] if isinstance(value, tuple) else value


def _entry_lines(message: ParsedMessage, advice: Advice) -> list[str]:
    """Format one message and its advice as lines."""
    subject = " ".join(filter(None, (message.framework, message.op))) or "unknown"
    fix_command = next((command for _, command in advice.fixes if command), None)
    is_demonstration = fix_command is None and not (advice.command or "").endswith("=...")
    rows = [
        ("message", message.quote),
        ("node", message.node),
        *_shape_rows(message),
        *zip_longest(["why"], advice.summary.split("; "), fillvalue=""),
        *(("fits" if text.endswith(FIT_NOTE) else "fix", text) for text, _ in advice.fixes),
        ("missing", advice.missing),
        ("shows" if is_demonstration else "try", fix_command or advice.command),
    ]
    return [f"{subject}: {message.cause}", *(f"  {name:7}  {text}" for name, text in rows if text)]


def _shape_rows(message: ParsedMessage) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each parsed shape or element count."""
    note = "the shape is not in the message"
    yield from [("input", f"{message.elements} elements, {note}")] if message.elements is not None else ()
    rows = [("input", message.input), *(("with", operand) for operand in message.operands or ())]
    rows += [("target", message.target), ("perm", message.perm), ("axes", message.axes)]
    yield from ((name, format_sizes(value)) for name, value in rows if value is not None)
    if message.target_elements is not None:
        unit = "elements in its known dims" if message.cause == "indivisible" else "elements"
        yield "target", f"{message.target_elements} {unit}, {note}"


def advise(message: ParsedMessage) -> Advice:
    """Return the advice for a message."""
    if message.about is not None:
        return _advise_on_subject(message, message.about)
    trace = _resolve_request(message)
    if trace is not None and trace.output is not None and message.dialect is None and message.op != CONCAT.name:
        trace = None  # the default rules may differ from the rules of a framework without a dialect
    likely, general = (
        dict.fromkeys(texts)
        for texts in (suggest_remedies(message, _find_mismatch(message, trace)), _general_remedies(message))
    )
    all_fixes = likely | dict(_verify_fixes(message, trace)) | general
    command = _code_command(message) if trace is None else command_line(trace)
    is_division = message.cause == "indivisible" and message.op not in (RESHAPE.name, SHUFFLE.name)
    cause = "a size is no multiple of what it is to be divided into" if is_division else CAUSES[message.cause].summary
    summary = ": ".join(filter(None, (OP_DESCRIPTIONS.get(message.op or ""), cause)))
    texts = dict.fromkeys([summary, *_findings(message, trace)])
    return Advice("; ".join(texts), tuple(islice(all_fixes.items(), MAX_FIXES)), _describe_missing(message), command)


def _advise_on_subject(message: ParsedMessage, subject: str) -> Advice:
    """Return the advice for a message that is not a shape error."""
    article = "" if subject.startswith(UNCOUNTABLE_SUBJECTS) else "an " if subject[0] in "aeiou" else "a "
    has_subject = message.cause == "not-about-shape"
    summary = CAUSES[message.cause].summary + (f": it is about {article}{subject}" if has_subject else "")
    remedy, command = REMEDIES_BY_SUBJECT.get(subject, ""), None
    shape, declared = message.input or (), (message.operands or ((),))[0]
    if subject == DECLARED_INPUT and message.framework in MODEL_FILE_FRAMEWORKS:
        is_batch = 0 in unequal_axes(shape, declared) or "0" in [axis for axis, *_ in _find_dim_mismatches(message)]
        command = FREE_BATCH_COMMAND if is_batch else FREE_BATCH_COMMAND.partition(" --")[0]
        remedy += f", or free the batch in the file: {command}" if is_batch else f"; what it declares: {command}"
    expected = EXPECTED_RANK.search(message.quote)
    rank = message.pair[0] if message.pair else len(shape)
    is_short = expected and rank == int(expected[1]) - 1
    changes = [INSERT_DIM_REMEDY] if is_short else [text for text, _ in suggest_shape_changes(shape, declared)]
    texts = [*((text, None) for text in changes), *([(remedy, command)] if remedy else [])]
    return Advice("; ".join([summary, *_declaration_findings(message)]), tuple(texts), None, None)


def _resolve_request(message: ParsedMessage) -> Trace | None:
    """Resolve the failing request of a message; return None if it is incomplete.

    The request is resolved under the rules of the message's dialect, if it has one.
    """
    options, op = _request_options(message), message.op
    if options is None or op is None:
        return None
    if message.strides is not None:
        op, options = VIEW.name, {**options, "strides": format_sizes(message.strides)}
    shape: PrintedSizes | None = message.input if message.elements is None else (message.elements,)
    if shape is None and message.pair is not None and message.op in (BROADCAST.name, MATMUL.name):
        shape = message.pair[:1]
    if shape is None:
        return None
    for dialect in (message.dialect, None):
        switch = {"special_zero": True} if dialect in ("openvino", "onednn") and OPS[op].uses_switch else {}
        try:
            return answer_request(make_request(op, format_sizes(shape), {"dialect": dialect, **options, **switch}))
        except ShapeError:
            continue
    return None


def _request_options(message: ParsedMessage) -> dict[str, str] | None:
    """Return the arguments of the failing op as strings; None if one is unknown."""
    if message.op in OP_DESCRIPTIONS:
        return _operand_options(message)
    target = message.target
    if target is None and message.target_elements is not None:
        target = (message.target_elements, -1) if message.cause == "indivisible" else (message.target_elements,)
    if message.op == REARRANGE.name:
        pattern, lengths = re.search(r'pattern "([^"]+)"', message.quote), re.findall(r"'(\w+)': (\d+)", message.quote)
        return {"pattern": pattern[1], "lengths": ",".join(map("=".join, lengths))} if pattern else None
    arguments: dict[str, PrintedSizes | None] = {TARGET_ARGUMENTS.get(message.op or "", ""): target}
    if message.op in (TRANSPOSE.name, SQUEEZE.name, UNSQUEEZE.name):
        arguments = (
            {"perm": rank_and_perm(message)[1] or None} if message.op == TRANSPOSE.name else {"axes": message.axes}
        )
    elif message.op == UNFLATTEN.name:
        arguments = {"axis": message.axes if message.input else (0,), "sizes": target}
    if "" in arguments or None in arguments.values():
        return None
    return {name: format_sizes(value or ()) for name, value in arguments.items()}


def _operand_options(message: ParsedMessage) -> dict[str, str] | None:
    """Return the arguments of an op with several operands, as strings.

    If only the two mismatching sizes are known, the operands are vectors of these sizes.
    """
    operands = message.operands or (
        (message.pair[1:],) if message.pair and message.op in (BROADCAST.name, MATMUL.name) else None
    )
    if (
        operands is None
        or message.op not in OPS
        or message.op in (EINSUM.name, POOL.name)
        or message.cause == "window-too-large"
    ):
        return None
    arguments = {"weight" if message.op in WEIGHT_OPS else "operands": " ".join(map(format_sizes, operands))}
    if message.op in (CONCAT.name, STACK.name):
        arguments["axis"] = format_sizes(message.axes or (0,))
        differences = {
            abs(one - other): axis for axis, one, other in _numeric_differences(message.input or (), operands[0])
        }
        if message.axes is None and message.op == CONCAT.name and differences:  # choose the largest difference
            arguments["axis"] = str(differences[max(differences)])
    return arguments | ({} if message.groups is None else {"groups": str(message.groups)})


def _numeric_differences(shape: PrintedSizes, other: PrintedSizes) -> list[tuple[int, int, int]]:
    """Return each axis along which two shapes differ, with both sizes.

    Named and unknown sizes are ignored.
    """
    pairs = ((axis, shape[axis], other[axis]) for axis in unequal_axes(shape, other))
    return [(axis, one, two) for axis, one, two in pairs if isinstance(one, int) and isinstance(two, int)]


def _verify_fixes(message: ParsedMessage, trace: Trace | None) -> Iterator[tuple[str, str | None]]:
    """Yield fixes that resolve, each with its command; likely fixes first.

    An implausible fix is yielded only if no plausible fix resolves.
    """
    if trace is None or (message.input is None and (message.target is None or message.cause == "infer-with-empty")):
        return
    if message.op == CONCAT.name and trace.output is not None:
        yield f"lay them along axis {trace.request.arguments['axis']}, in which alone they differ", command_line(trace)
    zero_is_size = message.dialect is None and not message.traits.zero_copies
    likely = [] if trace.problem is None else [*suggest_fixes(message, trace.input)]
    commands, implausible = set[str](), list[tuple[str, str]]()
    for fix in (*likely, *find_fixes(trace)):
        copies_zero = str(fix.value).startswith("0,")
        if fix.name in ("strides", "weight") or fix.value == "[]" or (zero_is_size and copies_zero):
            continue
        try:
            fixed = answer_request(apply_fix(trace.request, fix))
        except ShapeError:
            continue
        command = command_line(fixed)
        if fixed.output is None or command in commands or (commands and message.cause == "hard-coded-batch"):
            continue
        if fix in likely or _is_plausible(trace, fix, fixed):
            commands.add(command)
            yield fix.description, command
        elif trace.op == EXPAND.name:
            implausible.append((f"{fix.value} {FIT_NOTE}", command))
    yield from [] if commands else implausible[:1]


def _is_plausible(trace: Trace, fix: Fix, fixed: Trace) -> bool:
    """Return whether a fix probably preserves the intent of the request."""
    old, new = (either.request.arguments.get(fix.name) for either in (trace, fixed))
    if trace.op == BROADCAST.name:  # an output larger than each operand is rarely intended
        return fixed.output in (fixed.input, *fixed.request.arguments["operands"])
    if trace.op == TRANSPOSE.name and isinstance(old, tuple):  # a fix with another rank is implausible
        return isinstance(new, tuple) and len(new) == len(old)
    is_count_problem = trace.problem is not None and trace.problem.rule in COUNT_RULES
    if trace.op in (EXPAND.name, REARRANGE.name) or not isinstance(old, tuple) or not isinstance(new, tuple):
        return trace.op not in (EXPAND.name, REARRANGE.name)
    pairs = enumerate(zip(old, new, strict=False))
    changed = [index for index, (before, after) in pairs if before != after and (index or not fix.every_batch)]
    sizes = {new[index] for index in changed}
    if not is_count_problem or fix.copies or not sizes:
        return True
    from_input = len(trace.input) > 1 >= len(changed) and sizes <= {-1, *trace.input}
    return (changed[0] > 0 or len(old) == 1) and (from_input or len(changed) > len(sizes))


def _find_mismatch(message: ParsedMessage, trace: Trace | None) -> tuple[int, int] | None:
    """Return the two mismatching sizes; None if they cannot be determined."""
    if message.pair is not None or message.input is None:
        return message.pair
    other = message.target or (message.operands or ((),))[0]
    differ = (
        _numeric_differences(message.input[::-1], other[::-1]) if message.op in (BROADCAST.name, EXPAND.name) else []
    )
    if len(differ) == 1 and differ[0][0] in (0, 2):
        return differ[0][1:]
    return None if trace is None else find_size_mismatch(trace.request)


def _general_remedies(message: ParsedMessage) -> list[str]:
    """Return the remedies that follow from the op and the cause."""
    shape, other = message.input or (), (message.operands or ((),))[0]
    differ = _numeric_differences(shape, other) if message.op == BROADCAST.name and len(shape) == len(other) > 1 else ()
    if len(differ) == 2 and differ[1][0] == differ[0][0] + 1 and 1 not in (*differ[0][1:], *differ[1][1:]):
        return ["bring them to one size before: resize, crop or pad one of them"]
    if message.op == BROADCAST.name and len(shape) > 1 and other == shape[:-1]:
        return ["if a mean, a max or the like made the second, let it keep that axis as 1: keepdims=True"]
    if message.op == LINEAR.name and message.pair is not None:
        return ["build the layer for {} features, or give it the {} that it is built for".format(*message.pair)]
    if message.cause not in ("count-mismatch", "indivisible"):
        grows = message.op == EXPAND.name and message.framework in MODEL_FILE_FRAMEWORKS
        remedy = "" if message.cause == "not-broadcastable" and not grows else CAUSES[message.cause].remedy
        return [remedy] if remedy else []
    if message.op not in (RESHAPE.name, SHUFFLE.name):
        return []
    if message.input is not None:
        return [REEXPORT_REMEDY] if message.traits.shape_source or message.framework == "paddle" else []
    place = "node" if message.traits.shape_source else "line"
    target = "the target" if message.target is None else format_sizes(message.target)
    return [f"print the input's shape before this {place}: if {target} is what you meant, the input is wrong there"]


def _describe_missing(message: ParsedMessage) -> str | None:
    """Describe the information that is missing in a message; None if it is complete."""
    has_operands = message.op in OP_DESCRIPTIONS
    if message.input is not None and (
        _request_options(message) is not None or (has_operands and (message.operands or message.pair))
    ):
        return None
    both = "the shapes of both tensors before that line; then shapecalc 'LINE' a=SHAPE b=SHAPE" if has_operands else ""
    missing = message.traits.shape_source or both or _describe_missing_shape(message)
    return f"{missing}; the node is {message.node}" if message.node else missing


def _describe_missing_shape(message: ParsedMessage) -> str:
    """Describe the missing input shape, and the missing line of code if unknown."""
    needs_strides = message.cause == "stride-incompatible"
    tensor = "x" if message.line is None else message.line.tensor
    shape = f"the shape of {message.line.receiver}" if message.line and tensor is None else f"{tensor}.shape"
    missing = f"{shape} and {tensor}.stride()" if needs_strides and tensor else shape
    if message.printed_shape is not None and needs_strides:
        return f"{tensor}.stride() before that line, if it is not contiguous"
    if message.line is not None:
        return f"{missing} before that line"
    command = "; then shapecalc code 'LINE' --input x=SHAPE shows why" if needs_strides else ""
    return f"the line of code, and {missing} before it{command}"


def _code_command(message: ParsedMessage) -> str | None:
    """Return the command that explains a failing view in a line of code.

    The placeholder `...` represents an unknown shape.
    """
    line = message.line
    if message.cause != "stride-incompatible" or line is None or not (line.tensor or "").isidentifier():
        return None
    shape = format_sizes(message.printed_shape) if message.printed_shape else "..."
    return f"shapecalc code {quote(line.text)} --input {line.tensor}={shape}"


def _findings(message: ParsedMessage, trace: Trace | None) -> Iterator[str]:
    """Yield explanations from the numbers of a message and from its resolved request."""
    yield from chain(
        _rank_findings(message),
        _operand_findings(message, trace),
        _count_findings(message),
        _difference_findings(message),
        _slice_findings(message),
    )
    yield from chain(_rule_findings(message, trace), _code_findings(message))


def _rank_findings(message: ParsedMessage) -> Iterator[str]:
    """Explain a mismatch between a rank and its axes, or between sizes of an expand."""
    if message.pair is not None and message.op == EXPAND.name:
        yield f"the tensor has {message.pair[0]} there, which is neither 1 nor the {message.pair[1]} that is asked for"
    elif message.cause == "bad-axis" and message.pair is not None:
        rank, axis = message.pair
        yield f"the tensor has {rank_text(rank)}, so its axes are 0 to {rank - 1}, and {axis} is asked for"
        calls = [
            call
            for call in METHOD_CALL.findall(message.nearby_text)
            if re.search(rf"\b{axis}\b", call.partition("(")[2])
        ]
        yield from [f"of the calls before it {calls[-1]} names {axis}"] if calls else ()
    elif message.op == TRANSPOSE.name:
        known_rank, perm = rank_and_perm(message)
        axis_count = message.pair[1] if message.pair else len(perm)
        if known_rank and axis_count and known_rank != axis_count:
            yield f"the tensor has {rank_text(known_rank)}, and the permutation names {axis_count}"
        if known_rank and axis_count == known_rank + 1:
            yield "one dim is missing: a grey image has no channels, a lone sample has no batch"


def _operand_findings(message: ParsedMessage, trace: Trace | None) -> Iterator[str]:
    """Explain the mismatch between two operand sizes."""
    pair = _find_mismatch(message, trace)
    explanation = explain_mismatch(trace.request) if trace is not None and trace.problem is not None else ""
    if message.op in OP_DESCRIPTIONS and pair is not None and message.cause != "ranks-differ":
        yield explanation or explain_sizes(*pair, message.op) or f"they are {pair[0]} and {pair[1]}"


def _declaration_findings(message: ParsedMessage) -> Iterator[str]:
    """Explain a mismatch with a declared shape, or the failed guard of an export."""
    if condition := MULTIPLE_CONDITION.search(message.quote):
        origin = re.search(r"(?:Caused by:|code:) ([^#]{1,100})", message.nearby_text)
        line = f", for {origin[1].strip()}" if origin else ""
        yield f"it asks whether {condition[1]} is a multiple of {condition[2]}, as a view or a reshape does{line}"
    elif mismatches := _find_dim_mismatches(message):
        yield from (f"dim {axis} is {actual}, and {declared} is declared" for axis, actual, declared in mismatches)
    elif message.pair is not None:
        rank = "a rank of " if EXPECTED_RANK.search(message.quote) else ""
        yield f"{rank}{message.pair[0]} is given where {rank}{message.pair[1]} was declared"
    elif message.input is not None and message.operands:
        shape, declared_shape = message.input, message.operands[0]
        differences = _numeric_differences(shape, declared_shape)
        if len(shape) == len(declared_shape) and len(differences) == 1:
            yield "only dim {} differs: {} and {}".format(*differences[0])
        elif volume_of_sizes(shape) == volume_of_sizes(declared_shape) is not None:
            yield f"both hold {volume_of_sizes(shape)} elements, so one of them was reshaped"


def _find_dim_mismatches(message: ParsedMessage) -> list[tuple[str, str, str]]:
    """Return the index, the actual and the declared size of each mismatching dim.

    The dims are parsed from a message of ONNX Runtime.
    """
    text = f"{message.quote} {message.nearby_text}".partition("invalid dimensions for input: ")[2].partition(
        "invalid dim"
    )[0]
    return [*dict.fromkeys(DIM_MISMATCH.findall(text))]


def _count_findings(message: ParsedMessage) -> Iterator[str]:
    """Compare the element counts of input and target: their factors and their ratio."""
    count = message.elements if message.input is None else volume_of_sizes(message.input)
    target_count = volume_without_infer(message.target) if message.target_elements is None else message.target_elements
    if (
        count is None
        or target_count is None
        or message.strides
        or message.op not in (RESHAPE.name, SHUFFLE.name, UNFLATTEN.name)
    ):
        return
    is_partial = message.cause == "indivisible" or -1 in (message.target or ())
    target = "known dims of the target" if is_partial else "target"
    yield f"elements of the input: {factorization_text(count)}; of the {target}: {factorization_text(target_count)}"
    if not count or not target_count or count == target_count:
        return
    factors = explain_factors(count, numeric_sizes(message.target)) if message.input is None or is_partial else ""
    missing = missing_factors_text(count, target_count)
    large, small = max(count, target_count), min(count, target_count)
    if factors or missing:
        yield factors or f"{count} has {missing}"
    elif large % small == 0 and large // small <= MAX_RATIO:
        times = f"{large // small} times as many elements as the"
        verb = "hold" if is_partial else "holds"
        ratio = f"the input has {times} {target}" if count > target_count else f"the {target} {verb} {times} input"
        yield f"{ratio}{': often RGB against grey' if large == 3 * small else ''}"


def _difference_findings(message: ParsedMessage) -> Iterator[str]:
    """Name the differing dims of input and target, if the remaining dims are equal."""
    if message.input is None or message.target is None:
        return
    if message.cause in ("count-mismatch", "not-broadcastable"):
        _, dims, target_dims = find_differing_dims(as_dims(message.input), as_dims(message.target))
        if dims and target_dims and len(dims) < len(message.input):
            yield f"only this differs: {format_sizes(dims)} in the input, {format_sizes(target_dims)} in the target"


def _slice_findings(message: ParsedMessage) -> Iterator[str]:
    """Name the axes along which a slice is longer than its input."""
    if message.cause == "out-of-range" and len(message.input or ()) == len(message.target or ()):
        triples = _numeric_differences(message.input or (), message.target or ())
        yield from (f"{size} are taken along axis {axis}, where the input has {dim}" for axis, dim, size in triples)
        yield "ONNX's Expand is such a slice in TensorRT: only a dim of 1 can grow"


def _rule_findings(message: ParsedMessage, trace: Trace | None) -> Iterator[str]:
    """Explain the refused request, or report that the request resolves."""
    has_literal_first = message.line is not None and message.line.arguments[0].isdigit()
    if trace is None or message.op == CONCAT.name:
        return
    if trace.problem is not None and (message.strides or message.op in (EXPAND.name, REARRANGE.name)):
        yield ": ".join(filter(None, (trace.problem.message, trace.problem.hint)))
    if trace.output is not None and trace.conditions:
        yield f"it holds when {' and '.join(condition.phrase for condition in trace.conditions)}"
    elif trace.output is not None:
        if message.op == BROADCAST.name:
            yield f"together they are {format_sizes(trace.output)}, and the tensor that is to hold them is not"
        elif message.op not in OP_DESCRIPTIONS:
            yield f"these rules give {format_sizes(trace.output)}, so the message hides something: {HIDDEN_CAUSES}"
    if message.framework == "numpy" and message.cause == "count-mismatch" and message.target and not has_literal_first:
        yield "NumPy does not print a -1 that stands first, so the code may begin with one"


def _code_findings(message: ParsedMessage) -> Iterator[str]:
    """Quote the failing call from the line of code."""
    line = message.line
    if line is not None and ";" not in line.text:
        count = (
            volume_without_infer(line.sizes) if message.cause == "count-mismatch" and message.target is None else None
        )
        suffix = "" if count is None else f", which takes {factorization_text(count)} elements"
        yield f"the line of code says {line.text}{suffix}"
