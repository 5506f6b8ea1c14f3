"""`shapecalc doctor` and `shapecalc code`: diagnose error messages, resolve code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os.path import isfile

from shapecalc.cli.answer import add_as_option_hint, answer_exit_code, print_answer, print_error, print_notes
from shapecalc.cli.options import GITHUB_OPTION, OUTPUT_OPTIONS, Argument, Command, select_output_options
from shapecalc.cli.output import (
    ExitCode,
    OutputOptions,
    print_json_if_requested,
    print_report,
    print_stderr,
    read_input,
)
from shapecalc.cli.text_input import read_text, read_text_file
from shapecalc.core.dialects.base import parse_element_type
from shapecalc.core.dims import Shape, dim_names
from shapecalc.core.problem import FILE, USAGE, Problem, ShapeError, usage_error
from shapecalc.core.record import replace
from shapecalc.core.requests import lookup_dialect, parse_printed_element_type
from shapecalc.core.text import (
    TypedShape,
    escape_unprintable,
    is_nonnegative_integer,
    parse_dims,
    parse_typed_shape,
    reject_unbracketed_names,
    split_outside_brackets,
    split_tensor_groups,
)
from shapecalc.core.values import parse_sizes
from shapecalc.reading.options import RULE_OPTIONS, Option, OptionKind
from shapecalc.reasoning.answers import answer_code, answer_further_results
from shapecalc.render.styles import BOLD_ERROR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.diagnosis.report import Diagnosis
    from shapecalc.engine.arrays import Source
    from shapecalc.reading.code.results import CodeChain, StatementRecord, UnknownCall
    from shapecalc.reading.code.values import UserValue


def run_doctor(
    file: str | None, model: str | None, source: str | None, output_options: OutputOptions, text: str | None = None
) -> int:
    """Print the diagnosis of the error messages in a file or a string.

    `file` is a file name or an error message; if it is `-` or None, `text` is read, or standard input if `text` is
    None. `source` is a source file from which the failing lines are read; other files that the messages name are not
    opened. `model` is a model file; the nodes of the model to which the messages refer are also printed. With
    `--explain`, the messages and the commands that reproduce them are printed, too. Return 1 if no message is
    recognized and no node is found.
    """
    from pathlib import Path

    from shapecalc.diagnosis.report import diagnose

    try:
        log = read_text(file or "-", text)
        report = diagnose(log, model) if source is None else _diagnose_with_source(log, model, source)
        lines, objects, has_node = report.format_lines(bool(output_options.explain)), report.as_json(), False
        if model is not None:
            from shapecalc.cli.model_report import find_message_nodes

            node_texts, nodes = find_message_nodes([message for message, _ in report.entries], model)
            lines += node_texts
            objects = [item | {"model": node} for item, node in zip(objects, nodes or [None], strict=True)]
            has_node = any(nodes)
    except ShapeError as error:
        return print_error(error, "doctor", {"file": file or "-"}, output_options)
    if print_json_if_requested(output_options, lambda: objects):
        print_report(lines, DIAGNOSIS_STYLES, indent=8)
        is_log = text is None and len((file or "-").split()) == 1
        if source is None and is_log and (path := report.find_source_path(Path.cwd())):
            from shlex import quote

            words = ["shapecalc", "doctor", *([file] if file else []), "--code", path]
            print_stderr(f"shapecalc: next: {' '.join(map(quote, words))} reads the failing line")
    return ExitCode.OK if report.has_shape_error or has_node else ExitCode.FAILED


DIAGNOSIS_STYLES = {r"(?<=: )[a-z]+(?:-[a-z]+)+$": BOLD_ERROR, r"^  (?:what|why|do|else)\b": "bold"}
"""The terminal styles of the rule id of a message and of the labels of an answer."""


def _diagnose_with_source(log: str, model: str | None, source: str) -> Diagnosis:
    """Diagnose a log, with the failing lines of code from the file `source`.

    Raises `ShapeError` (file) if the file cannot be read.
    """
    from shapecalc.diagnosis.report import diagnose
    from shapecalc.diagnosis.source import locate_in_source, replace_fixes_with_code  # deferred: it imports `ast`

    code = read_text_file(source)
    report = diagnose(log, model, lambda message: locate_in_source(message, log, code, source))
    entries = tuple((message, replace_fixes_with_code(message, advice)) for message, advice in report.entries)
    return replace(report, entries=entries)


DOCTOR_COMMAND = Command(
    run=run_doctor,
    takes_text=True,
    parameters=[
        Argument("file", "a file with a log, or the message itself; by default standard input", "[FILE|TEXT]", False),
        Option("model", "Also show the node of this model that the message names.", metavar="FILE.onnx"),
        Option("source", "Find the failing line in this file, and print the fix.", metavar="FILE", long="--code"),
        Option("explain", "Also print the message, and further facts about its numbers.", OptionKind.FLAG, short="-e"),
        *select_output_options("json", "quiet"),
    ],
    summary="Explain a runtime's error message, and suggest a fix.",
    examples="""\
  shapecalc doctor build.log
  python train.py 2>&1 | shapecalc doctor
  shapecalc doctor "RuntimeError: shape '[8, 3, 64]' is invalid for input of size 1600"
  shapecalc doctor run.log --model yolo.onnx
  trtexec --onnx=model.onnx 2>&1 | shapecalc doctor - --json""",
    details=""" The input is a message or a whole log. The answer has four parts: the mismatch, possible reasons,
what to do first, and what to check if that does not help. With --model, it also contains the node that the message
names. On a terminal, paste the message and press Ctrl-D. Exit 0: a message was recognized; 1: the message is unknown,
or not about a shape.""",
)


CODE_ARGUMENT = Argument(
    "line", "statements, a function or a class; a file, FILE.py::NAME, or - for standard input", "'LINE'"
)
INPUT_OPTION = Option(
    "input",
    "Names and shapes of the tensors: 'x=N,C w=C,D'; or one shape.",
    metavar="[NAME=]SHAPE",
)


def parse_named_sizes(text: str) -> dict[str, UserValue]:
    """Parse the value of `--where` into values by name or expression.

    The values are sizes, shapes and constants.

    >>> parse_named_sizes("self.heads=8,shape=2,-1,B=4"), parse_named_sizes("shape=float32[2,3]")
    ({'self.heads': 8, 'shape': (2, -1), 'B': 4}, {'shape': (2, 3)})
    >>> parse_named_sizes("mask is None=False,scale=0.5,act='gelu'")
    {'mask is None': False, 'scale': 0.5, 'act': 'gelu'}
    """
    from shapecalc.reading.code.source import (  # imports `ast`, which is slow
        normalize_expression,
        parse_constant,
        split_named_shape,
    )

    pieces = list[str]()
    for piece in split_outside_brackets(text, ","):
        if split_named_shape(piece)[0] or not pieces:
            pieces.append(piece)
        else:
            pieces[-1] += f",{piece}"
    sizes: dict[str, UserValue] = {}
    for piece in pieces:
        name, dims = split_named_shape(piece, is_last=True)
        is_name = name.replace(".", "").isidentifier()
        if not name or (is_name and is_nonnegative_integer(dims.strip())):
            sizes |= parse_sizes(piece)
        elif not _is_printed_shape(dims) and (constant := parse_constant(dims)) is not None:
            sizes[name if is_name else normalize_expression(name)] = constant[0]
        else:
            reject_unbracketed_names(dims, "where")
            sizes[name] = parse_dims(dims, "where")
    return sizes


def _is_printed_shape(text: str) -> bool:
    """Return whether a quoted text is a shape, not a string constant.

    For example, `'(np.int64(2), 3)'` is a shape.
    """
    from shapecalc.reading.command_detection import is_shape  # imported here because few commands have quoted shapes

    inner = text.strip()[1:-1]
    return text.strip()[:1] in ("'", '"') and not inner.strip().isidentifier() and is_shape(inner)


def _input_notes(inputs: Mapping[str, TypedShape], dialect: str | None, options: dict[str, object]) -> list[str]:
    """Return notes on how inputs are interpreted.

    The option `dtype` is set to the element type of the first input. Raises `ShapeError` (usage) if it is already set
    to another type.
    """
    notes = list[str]()
    for index, (name, tensor) in enumerate(inputs.items()):
        notes += tensor.notes
        if not tensor.dtype:
            continue
        rules = lookup_dialect(dialect or "torch")
        dtype, stated = parse_printed_element_type(tensor.dtype, rules), options.get("dtype")
        if index == 0 and stated is None:
            options["dtype"] = dtype
        elif index == 0 and parse_element_type(str(stated), rules) != dtype:
            raise usage_error(f"the input is {tensor.dtype}, and --dtype is {stated}", "leave one of them out")
        elif options.get("dtype") != dtype:
            notes.append(f"the element type {tensor.dtype} of {name} was not used")
    return notes


def _pop_sizes(inputs: dict[str, TypedShape]) -> dict[str, int | Shape]:
    """Remove the inputs that are sizes of named dims, and return them.

    For example, `W=30` in `x=N,3,H,W W=30` is the size of the dim `W`.
    """
    names = dim_names([dim for tensor in inputs.values() for dim in tensor.dims])
    numbers = {name: tensor.dims[0] for name, tensor in inputs.items() if name in names and len(tensor.dims) == 1}
    return {name: size for name, size in numbers.items() if isinstance(size, int) and inputs.pop(name)}


def _split_shapes(words: Sequence[str], input: str | None) -> tuple[list[str], str]:
    """Separate words that are shapes of tensors from file names.

    A word such as `x=2,3` is appended to the option `input`.

    >>> _split_shapes(["x=2,3", "net.py"], "y=4")
    (['net.py'], 'y=4 x=2,3')
    """
    shapes = [word for word in words if "=" in word and word.partition("=")[0].isidentifier() and not isfile(word)]  # noqa: PTH113
    return [word for word in words if word not in shapes], " ".join([*([input] if input else []), *shapes])


def run_code(
    line: str,
    input: str | None,
    dialect: str | None,
    where: str | None,
    output_options: OutputOptions,
    text: str | None = None,
    *,
    files: list[str] | None = None,
    lines: bool | None = None,
    annotate: bool = False,
    in_place: bool = False,
    check: bool = False,
    github: bool = False,
    **options: object,
) -> int:
    """Convert Python code to a chain, and print the answer to the chain.

    `line` is the code or the name of a file; `-` denotes `text`, or standard input if `text` is None. `input`
    contains the shapes of the input tensors, and `where` contains sizes. Words such as `x=2,3` among `files` belong to
    `input`. The assumptions about the code are printed to stderr, and with `lines` also the shapes of its lines. With
    `annotate`, the source with these shapes is printed instead of the answer, or written to the file with `in_place`.
    With `check`, the declared shapes in the code and in `files` are checked instead. `options` apply to every stage.
    """
    from shapecalc.cli import code_lines
    from shapecalc.reading.code.source import split_entry

    files, input = _split_shapes(files or (), input)
    words, (line, entry) = [line, *files], split_entry(line)
    file_text, path, records = line, line if isfile(line) else None, list["StatementRecord"]()  # noqa: PTH113
    calls, inputs = list["UnknownCall"](), dict[str, TypedShape]()
    mode = "--check" if check else "--annotate" if annotate else ""
    try:
        flags = {"in_place": in_place, "github": github, "has_files": bool(files)}
        code_lines.check_line_options(mode, path, output_options, lines, **flags)
        inputs, source = parse_inputs(input, dialect)
        sizes = _pop_sizes(inputs) | ({} if where is None else parse_named_sizes(where))
        if check:
            from shapecalc.cli.code_check import run_code_check

            return run_code_check(words, inputs, dialect, sizes, output_options, text, github=github)
        file_text = read_text(line.strip(), text) if path or line.strip() == "-" else line
        code = interpret_pasted_code(file_text, inputs, dialect, sizes, records, entry, path, calls)
        if not annotate:
            code_lines.print_lines(records, lines, output_options)
        print_notes([*_input_notes(inputs, dialect, options), *code.notes, *_unchecked_notes(code)], output_options)
        if annotate:
            answer = answer_code(code, options)
            code_lines.print_annotated(file_text, records, path if in_place else None, is_quiet=output_options.quiet)
            return answer_exit_code(answer, None, strict=output_options.strict)
        result = _print_code_answer(code, records, calls, options, sizes, output_options, source)
    except ShapeError as error:
        if _is_expected(error.problem, output_options):
            return ExitCode.OK
        code_lines.print_lines(records, lines, output_options)
        result = _print_code_error(error, path, calls, records, {"line": file_text, "input": input}, output_options)
    target = path and f"{path}{f'::{entry}' if entry else ''}"
    code_lines.print_command_for_unknown_calls(calls, target, inputs, where, output_options)
    return result


def _unchecked_notes(code: CodeChain) -> list[str]:
    """Return a note for each call whose sizes were not checked."""
    return [f"not checked: {name} (line {number})" for number, name in code.unchecked]


def _print_code_error(
    error: ShapeError,
    path: str | None,
    calls: Sequence[UnknownCall],
    records: Sequence[StatementRecord],
    texts: dict[str, object],
    output_options: OutputOptions,
) -> int:
    """Print the reason why code is refused, and return the exit code.

    The JSON object contains the unknown calls and the lines that were interpreted.
    """
    from shapecalc.cli.code_lines import lines_json

    error = add_as_option_hint(error)
    error = _name_file_in_hint(error, path) if path else error
    lines = {"lines": lines_json(records, 0)["lines"]} if output_options.json else {}
    return print_error(error, "code", texts, output_options, {**lines, "ask": [call.as_json() for call in calls]})


def _print_code_answer(
    code: CodeChain,
    records: Sequence[StatementRecord],
    calls: Sequence[UnknownCall],
    options: Mapping[str, object],
    sizes: Mapping[str, UserValue],
    output_options: OutputOptions,
    source: Source | None,
) -> int:
    """Print the answer to the chain of code, with the shapes of all its results."""
    from shapecalc.cli.code_lines import lines_json

    answer, others = answer_code(code, options), answer_further_results(code, options)
    _check_element_options(code, output_options)
    return print_answer(
        answer,
        output_options,
        source if code.is_main else None,
        request_options=[{"where": {name: size for name, size in sizes.items() if isinstance(size, int)}}],
        outputs=code.outputs,
        others=others,
        unchecked=code.unchecked,
        extra_json=lambda: lines_json(records, len(code.outputs) or 1) | {"ask": [call.as_json() for call in calls]},
    )


def _name_file_in_hint(error: ShapeError, path: str) -> ShapeError:
    """Replace `--input` in the hint of an error by a command for the file."""
    from shlex import quote

    hint = error.problem.hint.replace("--input ", f"shapecalc {escape_unprintable(quote(path))} ")
    return ShapeError(replace(error.problem, hint=hint))


def parse_inputs(text: str, dialect: str | None) -> tuple[dict[str, TypedShape], Source | None]:
    """Parse the value of `--input` into the types of tensors, by name.

    The second result is the file from which the first tensor is read, or None.
    """
    from shapecalc.reading.code.source import split_inputs

    texts, source = dict(split_tensor_groups(split_inputs(text))), None
    for name, dims in [*texts.items()][:1]:
        parsed = read_input(dims, {"dialect": dialect}, "reshape")
        texts[name], source = parsed.shape, parsed.source
    return {name: parse_typed_shape(dims) for name, dims in texts.items()}, source


def interpret_pasted_code(
    text: str,
    inputs: Mapping[str, TypedShape],
    dialect: str | None,
    sizes: Mapping[str, UserValue],
    records: list[StatementRecord],
    entry: str,
    path: str | None,
    calls: list[UnknownCall],
) -> CodeChain:
    """Interpret pasted code and return its chain.

    The interpreted statements are appended to `records`, and the unknown calls to `calls`.
    """
    from shapecalc.reading.code import interpret_code  # deferred: it imports `ast`, which is slow
    from shapecalc.reading.code.source import normalize_pasted_code

    code_text = normalize_pasted_code(text)
    if "add_shuffle" in code_text:
        raise usage_error("this builds TensorRT layers", "write shapecalc FILE 4,64,20,20, with its input")
    dims = {name: tensor.dims for name, tensor in inputs.items()}
    strides = {name: tensor.strides for name, tensor in inputs.items() if tensor.strides is not None}
    return interpret_code(
        code_text, dims, dialect, sizes, strides, records=records, entry=entry, path=path, unknown_calls=calls
    )


def _is_expected(problem: Problem, output_options: OutputOptions) -> bool:
    """Return whether `--expect` names the rule that refuses the code."""
    from shapecalc.checking.answering import meets_expectation
    from shapecalc.core.answers import Chain
    from shapecalc.reading.cases import parse_expectation_for_stages

    if output_options.expect is None or problem.rule in (USAGE, FILE):
        return False
    expected = parse_expectation_for_stages(output_options.expect, [])
    return expected.output is None and meets_expectation(expected, Chain((), (), None, problem))


def _check_element_options(code: CodeChain, output_options: OutputOptions) -> None:
    """Raise `ShapeError` (usage) if an option needs values that are unknown.

    These are the values of elements that the code computes. The positions of elements are still correct, so `--follow`
    only prints a note.
    """
    if output_options.code is not None:
        code.require_equal_elements("--as")
    follows = output_options.follow is not None or output_options.follow_out is not None
    if follows and code.untraced_change and not (output_options.quiet or output_options.json):
        print_stderr(f"shapecalc: the path is that of positions: {code.untraced_change} changes the elements")
    if output_options.has_data_options and (output_options.values or not follows):
        code.require_equal_elements("--values" if output_options.values else "--out")


CODE_COMMAND = Command(
    run=run_code,
    takes_text=True,
    parameters=[
        CODE_ARGUMENT,
        Argument("files", "with --check, further files", "[FILE...]", False, repeated=True),
        INPUT_OPTION,
        *[option for option in RULE_OPTIONS.values() if option.name != "opset"],
        Option("lines", "Print the shapes of each line to stderr; by default on a terminal.", OptionKind.SWITCH),
        Option("annotate", "Print the source with the shapes of each line as comments.", OptionKind.FLAG),
        Option("in_place", "With --annotate, overwrite the file with the result.", OptionKind.FLAG),
        Option("check", "Only check the shapes in comments and annotations; exit 1 if one is wrong.", OptionKind.FLAG),
        GITHUB_OPTION,
        *OUTPUT_OPTIONS.values(),
    ],
    summary="Compute the output shape of PyTorch, NumPy, TensorFlow or JAX code, without running it.",
    examples="""\
  shapecalc code 'x.view(B, T, h, C // h).transpose(1, 2)' --input x=B,T,C
  shapecalc code 'x @ w + b' --input 'x=B,T,768 w=768,3072 b=3072'
  shapecalc code 'torch.zeros(2, 3, 4).flatten(1)'
  shapecalc code 'x.chunk(3, -1)' --input x=B,T,768 --expect B,T,256
  shapecalc code net.py::Net.forward --input x=B,3,224,224 --lines
  shapecalc code --check model.py layers.py
  shapecalc code "rearrange(x, 'b (h w) c -> b c h w', h=14)" --input x=8,196,768 -e""",
    details=""" The code is one or more statements, a function, a class or a file. In a file, the last
function or class is used, or the one that FILE.py::NAME selects. The shapes of all lines are printed to stderr on
a terminal. The output is formatted as by chain; several results are printed one per line. Every name that is not
a tensor is a size; --where sets names to numbers, lists of numbers, True, None or 'text', and sets unknown
conditions: heads=8,mask is None=True. Tensors that the code creates need no --input. Shapes in comments and jaxtyping
annotations are checked; --check checks all functions whose inputs are declared in annotations or in a comment above:
# shapes: x=B,T,C. Without --dialect, the modules and methods in the code select the dialect.""",
)
