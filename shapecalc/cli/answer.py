"""Compute the answers to requests, print them and choose the exit code.

The command of every op imports this module, so slow modules are imported only where they are needed.
"""

from __future__ import annotations

import sys
from itertools import chain, islice

from shapecalc.cli import output
from shapecalc.cli.output import ExitCode, OutputOptions, print_stderr, print_stdout
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dims import to_json
from shapecalc.core.ops import OPS
from shapecalc.core.problem import FILE, Problem, ShapeError, usage_error
from shapecalc.core.record import fields, replace
from shapecalc.core.requests import (
    MissingOpError,
    StageRequest,
    apply_defaults,
    default_dialect,
    make_request,
    parse_opset_option,
    select_operator,
)
from shapecalc.core.resolve import resolve
from shapecalc.core.results import format_results
from shapecalc.core.text import escape_unprintable, format_count, join_words, shape_text, split_outside_brackets
from shapecalc.reading.commands import argument_texts, command_pieces, parse_stage
from shapecalc.reading.options import strip_leading_space
from shapecalc.reasoning.answers import add_hint, batch_hint, describe_dialect_differences

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from shapecalc.cli.data import PathsByOption
    from shapecalc.core.answers import Chain, Trace
    from shapecalc.core.dims import Shape
    from shapecalc.engine.arrays import Source
    from shapecalc.render.code import GeneratedCode

PROBLEM_REPORT_LINES = 7
"""Number of terminal lines that are kept free for the error report below the explanation."""
MAX_LINE_ERRORS = 20
"""Number of failing lines of standard input whose errors are printed; further errors are only counted."""


def run_op_command(op: str, texts: dict[str, object], output_options: OutputOptions) -> int:
    """Run the command of an op: print the answer and return the exit code.

    `texts` contains the unparsed input and options of the op, by name. If the input or an operand is `-`, the command
    is run once per line of standard input; the line replaces the `-`, and the largest exit code is returned.
    """
    options = {name: value for name, value in texts.items() if name != "input"}
    try:
        if defaults := output.load_and_report_defaults([(op, {})], options, output_options):
            options = dict(apply_defaults(op, defaults, options))
    except ShapeError as error:
        return print_error(error, op, texts, output_options)
    if str(texts["input"]).strip() == "-":
        return run_for_each_line(
            lambda line, line_options: _run_request(op, line, options, line_options), op, texts, output_options
        )
    words = split_outside_brackets(str(options.get("operands") or ""))
    if "-" in words:
        index = words.index("-")

        def run_with_operand(line: str, line_options: OutputOptions) -> int:
            """Run the command with `line` as the operand that is given as `-`."""
            operands = join_words([*words[:index], line, *words[index + 1 :]])
            return _run_request(op, str(texts["input"]), {**options, "operands": operands}, line_options)

        return run_for_each_line(run_with_operand, op, texts, output_options)
    return _run_request(op, str(texts["input"]), options, output_options)


def _run_request(op: str, shape: str, options: Mapping[str, object], output_options: OutputOptions) -> int:
    """Parse and resolve one request, print its answer and return the exit code."""
    op_options = {**options}
    try:
        opset = pop_code_opset(op_options, [(op, {})], output_options)
        operand_sources = output.open_operand_files(op_options)
        parsed = output.read_input(strip_leading_space(shape), op_options, op)
        answer = resolve(make_request(op, parsed.shape, parsed.options))
        if answer.problem is not None:
            answer = add_hint(answer, answer.problem)
        code = print_answer(answer, output_options, parsed.source, opset, [op_options], operand_sources)
        if OPS.loaded[op].describe_interpretation is not None:
            report_interpretations(answer, output_options)
        report_other_answers(answer, output_options, [op_options])
        return code
    except ShapeError as error:
        return print_error(add_as_option_hint(error), op, {"input": shape, **options}, output_options)


def report_interpretations(answer: Trace | Chain, output_options: OutputOptions) -> None:
    """Print the interpretation of ambiguous arguments in each stage.

    An omitted stride, for example, has a different default in each framework.
    """
    is_silent = output_options.expect is not None or output_options.code is not None or answer.output is None
    for trace in () if is_silent else answer.traces:
        describe = OPS[trace.op].describe_interpretation
        if describe is not None:
            note = describe(trace.input, trace.request.arguments, DIALECTS[trace.dialect])
            print_notes((note,) if note else (), output_options)


FRAMEWORK_OPTIONS = ("dialect", "opset")
"""The options that choose a framework and its version, and thereby the rules."""
_reported_answers: list[object] = []
"""The answer for which `report_other_answers` has printed a line, if any."""


def reset_reported_answers() -> None:
    """Clear `_reported_answers`, so that the next command can print a line."""
    _reported_answers.clear()


def report_other_answers(
    answer: Trace | Chain, output_options: OutputOptions, options: Iterable[Mapping[str, object]]
) -> None:
    """Report on stderr if PyTorch or NumPy would give a different answer.

    `options` are the options of the request, or of the chain and each stage. Only one line is printed by each run of
    the program. Nothing is printed if the request sets a dialect, an opset or a switch, nor with `--json`, `--quiet`,
    `--expect`, `--as` or a film.
    """
    printing = output_options
    if _reported_answers or printing.json or printing.quiet or printing.expect is not None or printing.code is not None:
        return
    if printing.film or any(own.get(name) is not None for own in options for name in FRAMEWORK_OPTIONS):
        return
    if any(trace.request.switch is not None for trace in answer.traces):
        return
    line = describe_dialect_differences(answer)
    if line:
        _reported_answers.append(answer)
        print_stderr(f"shapecalc: {line}")


def run_for_each_line(
    run_line: Callable[[str, OutputOptions], int], op: str, texts: dict[str, object], output_options: OutputOptions
) -> int:
    """Call `run_line` for each line of stdin, and return the largest exit code.

    `op` and `texts` are the command and its unparsed arguments, for error messages. If there are several lines, each
    message begins with its line number. Therefore, an error of the first line is printed only after the second line or
    the end of the input is read. After `MAX_LINE_ERRORS` failed lines, errors are only counted. Raises `EarlyExit` if
    standard input cannot be read.
    """
    code: int = ExitCode.OK
    failure_count = 0
    try:
        if output_options.out is not None or output_options.picture is not None:
            name = "--out" if output_options.out is not None else "--picture"
            raise usage_error(
                f"{name} needs one input, but - can have many lines", "give the file or the shape in place of -"
            )
        lines = output.read_input_lines()
        first = next(lines)
        has_failed = run_line(first, replace(output_options, quiet=True)) != ExitCode.OK
        known_lines = [first, *islice(lines, has_failed)]
        for number, line in enumerate(chain(known_lines, lines), 1):
            is_only_line = number == 1 == len(known_lines)
            line_code = run_line(
                line,
                output_options
                if is_only_line
                else replace(
                    output_options, line_prefix=f"line {number}: ", hides_errors=failure_count >= MAX_LINE_ERRORS
                ),
            )
            code, failure_count = max(code, line_code), failure_count + (line_code != ExitCode.OK)
    except ShapeError as error:
        code = max(code, print_error(error, op, texts, output_options))
    hidden_count = failure_count - MAX_LINE_ERRORS
    if hidden_count > 0 and not (output_options.json or output_options.quiet):
        print_stderr(f"shapecalc: {format_count(hidden_count, 'more line', 'more lines')} failed; --json reports each")
    return code


def pop_code_opset(
    options: dict[str, object], stages: Sequence[StageRequest], output_options: OutputOptions
) -> int | None:
    """Remove the option `opset` from `options` if it applies to generated ONNX code.

    Return the opset of the generated code. Return None if no ONNX code is requested, or if the dialect of a stage has
    rules that depend on the opset: the option then selects these rules, and remains in `options`. Raises `ShapeError`
    (usage) for an opset that ONNX does not have.
    """
    if output_options.code != "onnx" or options.get("opset") is None:
        return None
    pairs = [(OPS[op], own.get("dialect") or options.get("dialect")) for op, own in stages if op in OPS]
    if any(select_operator(op, dialect)[0].newest_opset for op, dialect in pairs):
        return None
    return parse_opset_option({"opset": options.pop("opset")}, DIALECTS["onnx"])


def print_answer(
    answer: Trace | Chain,
    output_options: OutputOptions,
    source: Source | None = None,
    opset: int | None = None,
    request_options: Iterable[Mapping[str, object]] = (),
    operand_sources: Sequence[Source] = (),
    outputs: Sequence[Shape] = (),
    others: Sequence[Chain] = (),
    unchecked: Sequence[tuple[int, str]] = (),
    extra_json: Callable[[], dict[str, object]] = dict,
) -> int:
    """Print an answer, write the output file if requested, and return the exit code.

    `source` is the input file, and `operand_sources` are the files of the other operands. `opset` is the opset of the
    generated ONNX code. `request_options` are the options of the request, or of each stage of a chain. For code with
    several results, `outputs` are the shapes of all results, and `others` are the chains of the further results.
    `unchecked` contains the line and the name of each layer whose sizes were not checked. `extra_json` returns further
    JSON fields. Raises `ShapeError` (usage) for an option that does not apply, (file) if a file cannot be used, and
    (differs) if the output file fails its verification.
    """
    paths: PathsByOption = {}
    has_data_options = output_options.has_data_options
    if has_data_options:
        from shapecalc.cli.data import check_and_trace_elements

        paths = check_and_trace_elements(answer, output_options, source, operand_sources)
    mismatch = (
        None
        if output_options.expect is None
        else _describe_expect_mismatch(answer, output_options.expect, [*request_options], outputs)
    )
    emitted = generate_requested_code(answer, output_options, opset)
    code = answer_exit_code(answer, mismatch, strict=output_options.strict)
    if code == ExitCode.OK and output_options.strict and (unchecked or any(other.conditions for other in others)):
        code = ExitCode.FAILED
    if answer.output is not None and code == ExitCode.OK and source is not None and has_data_options:
        from shapecalc.cli.data import write_output_or_plan

        if write_output_or_plan(answer, source, output_options, operand_sources):
            return code
    picture = write_picture_or_film(answer, output_options) if output_options.has_picture_options else {}

    def build_json() -> dict[str, object]:
        """Return the answer as a JSON object, with its element paths, film and code."""
        hint = {"hint": lasting} if (lasting := batch_hint(answer)) else {}
        parts = _results_json(answer, outputs, others) if outputs and answer.output is not None else {}
        if unchecked:
            parts["unchecked"] = [{"line": line, "name": name} for line, name in unchecked]
        emitted_json: dict[str, object] = {"code": fields(emitted)} if emitted else {}
        return answer.as_json() | parts | hint | paths | picture | emitted_json | extra_json()

    if output.print_json_if_requested(output_options, build_json):
        _print_text(answer, output_options, source, emitted, paths, operand_sources, outputs)
        for other in others if answer.output is not None else ():
            _print_caveats(other, output_options, None)
        if mismatch and not output_options.hides_errors:
            print_stderr(f"shapecalc: {output_options.line_prefix}{mismatch}")
    return code


def _results_json(answer: Trace | Chain, outputs: Sequence[Shape], others: Sequence[Chain]) -> dict[str, object]:
    """Return the shapes and conditions of all results of code as JSON fields.

    `outputs` are the shapes of all results, and `others` the chains of the results after the first.
    """
    results = [answer, *others]
    conditions = dict.fromkeys([str(condition) for result in results for condition in result.conditions])
    assumes = dict.fromkeys([name for result in results for name in result.assumes])
    return {"outputs": to_json(tuple(outputs)), "conditions": [*conditions], "assumes": [*assumes]}


def _print_text(
    answer: Trace | Chain,
    output_options: OutputOptions,
    source: Source | None,
    code: GeneratedCode | None,
    paths: PathsByOption,
    operand_sources: Sequence[Source],
    outputs: Sequence[Shape],
) -> None:
    """Print an answer as text: the requested steps, then the output or the error.

    If `code` is not None, it is printed instead of the output shape. `paths` are the paths of the traced elements.
    """
    print_notes(answer.notes, output_options)
    if output_options.explain:
        _print_explanation(answer, output_options, source)
    if answer.output is None:
        if answer.problem and not output_options.hides_errors:
            trace = answer.traces[-1]
            output.print_problem(
                _add_line_prefix(answer.problem, output_options),
                command_pieces(trace.op, argument_texts(trace.request)),
            )
        return
    if paths or output_options.values:
        from shapecalc.cli.data import print_elements

        print_elements(answer, source, paths, values=output_options.values, operand_sources=operand_sources)
    print_stdout(code.text if code else "\n".join(map(shape_text, outputs)) or _format_output(answer))
    _print_caveats(answer, output_options, code)


def print_notes(notes: Iterable[str], output_options: OutputOptions) -> None:
    """Print notes on the interpretation of shapes to stderr.

    Nothing is printed if JSON or quiet output is requested.
    """
    for note in notes if not (output_options.json or output_options.quiet) else ():
        print_stderr(escape_unprintable(f"shapecalc: {output_options.line_prefix}{note}"))


def _format_output(answer: Trace | Chain) -> str:
    """Format the output shape; a split with `--all` has one shape per line."""
    splits = [trace for trace in answer.traces[-1:] if trace.request.arguments.get("all")]
    parts = [part for trace in splits for part in trace.extras.get("outputs", ())]
    return "\n".join(map(shape_text, parts or [answer.output or ()]))


def _describe_expect_mismatch(
    answer: Trace | Chain,
    expect_text: str,
    request_options: Iterable[Mapping[str, object]],
    outputs: Sequence[Shape] = (),
) -> str | None:
    """Describe how an answer differs from `expect_text`, the value of `--expect`.

    If there are `outputs`, all of them are compared. Returns an empty string if the answer is as expected, and None if
    the request is refused although a shape is expected; the caller then reports the refusal. Raises `ShapeError`
    (usage) if `expect_text` cannot be parsed.
    """
    from shapecalc.checking.answering import describe_mismatch, meets_expectation
    from shapecalc.reading.cases import parse_expectation_for_stages

    expected = parse_expectation_for_stages(expect_text, request_options)
    if answer.output is None and expected.output is not None:
        return None
    if answer.output is not None and outputs:
        for index, output in enumerate(outputs):
            if not meets_expectation(expected, replace(answer, output=output)):
                # the traces of the answer belong to the first part only
                part = replace(answer, output=output, traces=())
                return f"part {index}: {describe_mismatch(expected, part)}"
        return ""
    return "" if meets_expectation(expected, answer) else describe_mismatch(expected, answer)


def _print_explanation(answer: Trace | Chain, output_options: OutputOptions, source: Source | None) -> None:
    """Print the steps of an answer, and whether executing it would copy data.

    The explanation is shortened to one screen unless `--explain=all` is given.
    """
    from shapecalc.cli.data import data_movement_lines
    from shapecalc.render.canvas import glyphs_for_encoding
    from shapecalc.render.report import draw_report

    draws_all = output_options.explains_all
    plan = data_movement_lines(answer, source, every_stage=draws_all)
    strokes = glyphs_for_encoding(getattr(sys.stderr, "encoding", None))
    below = len(plan) + (PROBLEM_REPORT_LINES if answer.output is None else 1)
    more = "" if draws_all else "--explain=all"
    width = output.terminal_width()
    report = draw_report(
        answer, width=width or 80, glyphs=strokes, lines_below=below, more_command=more, wraps_steps=width is not None
    )
    output.print_renderable(report)
    for line in plan:
        print_stderr(line)


def _print_caveats(answer: Trace | Chain, output_options: OutputOptions, code: GeneratedCode | None) -> None:
    """Print the warnings of generated code, or the caveats of an answer.

    The caveats are the conditions, other possible answers, and the definitions of generated dim names. With
    `--explain`, nothing is printed, because the explanation contains them.
    """
    if code:
        for warning in code.warnings:
            print_stderr(f"shapecalc: {output_options.line_prefix}{warning}")
    elif not output_options.explain:
        for limit in answer.caveats:
            print_stderr(f"shapecalc: {output_options.line_prefix}{limit}")
        for alternative in answer.alternatives:
            print_stderr(f"shapecalc: {output_options.line_prefix}other answers are possible when {alternative.phrase}")
        for name, definition in format_results(answer.results).items() if answer.results else ():
            print_stderr(f"shapecalc: {output_options.line_prefix}{name} is {definition}")
        if answer.conditions and (lasting := batch_hint(answer)):
            print_stderr(f"shapecalc: {output_options.line_prefix}{lasting}")


def answer_exit_code(answer: Trace | Chain, mismatch: str | None, *, strict: bool) -> int:
    """Choose the exit code of an answer.

    `mismatch` describes how the answer differs from the value of `--expect`. It is empty if the answer is as expected,
    and None without `--expect` or for an unexpected refusal.
    """
    if answer.problem is not None:
        return ExitCode.OK if mismatch == "" else output.problem_exit_code(answer.problem)
    return ExitCode.FAILED if mismatch or (strict and answer.conditions) else ExitCode.OK


def generate_requested_code(
    answer: Trace | Chain, output_options: OutputOptions, opset: int | None
) -> GeneratedCode | None:
    """Generate the code that `--as` requests.

    Return None without `--as`, or if the request is refused.
    Raises `ShapeError` (usage) for an unknown target, or if the target cannot express the answer.
    """
    if output_options.code is None:
        return None
    from shapecalc.render.code import find_generator

    write = find_generator(output_options.code)
    if answer.output is None:
        return None
    return write(answer) if opset is None else write(answer, opset=opset)


def print_error(
    error: ShapeError,
    op: str,
    texts: dict[str, object],
    output_options: OutputOptions,
    extra_json: dict[str, object] = {},  # noqa: B006 - never modified
) -> int:
    """Print an error, as JSON if requested, and return its exit code.

    `extra_json` contains further fields of the JSON object.
    """
    prints_text = output.print_json_if_requested(
        output_options, lambda: error_json(error.problem, op, texts) | extra_json
    )
    if prints_text and not output_options.hides_errors:
        output.print_problem(
            _add_line_prefix(error.problem, output_options),
            command_pieces(op, {**texts, "expect": output_options.expect}),
        )
    return output.problem_exit_code(error.problem)


def add_as_option_hint(error: ShapeError) -> ShapeError:
    """Add a hint on `--as` to the error that a dialect lacks an op.

    The error is returned unchanged if it has another cause, or if no code of the op can be generated for the dialect.
    """
    if not isinstance(error, MissingOpError) or not _can_generate_code(error.op, error.dialect):
        return error
    advice = f"in place of --dialect, --as {error.dialect} writes it for {error.dialect}"
    return ShapeError(replace(error.problem, hint=f"{error.problem.hint}; {advice}"))


def _can_generate_code(op: str, dialect: str) -> bool:
    """Return whether code for an op can be generated in a dialect.

    Only the first example of the op is tried.
    """
    import shlex

    from shapecalc.render.code import TARGETS, generate_code

    stage = parse_stage(shlex.split(OPS[op].examples[0]), with_input=True)
    try:
        example = resolve(make_request(op, stage.input or "", stage.options))
        return dialect in TARGETS and bool(generate_code(example, dialect))
    except ShapeError:
        return False


def _add_line_prefix(problem: Problem, output_options: OutputOptions) -> Problem:
    """Prepend a prefix such as `line 2: ` to the message of a problem."""
    return (
        replace(problem, message=f"{output_options.line_prefix}{problem.message}")
        if output_options.line_prefix
        else problem
    )


def error_json(problem: Problem, op: str, texts: dict[str, object]) -> dict[str, object]:
    """Return the JSON object that reports an error of the command `op`.

    It has the keys of an answer's JSON object, with empty values, and the problem. `texts` are the unparsed arguments.
    """
    result: dict[str, object] = {"op": op, "input": None, "conditions": [], "assumes": [], "output": None}
    equiv: dict[str, object] = {
        "verdict": None,
        "conditions": [],
        "defined": [[], []],
        "counterexample": None,
        "tested": 0,
    }
    others: dict[str, dict[str, object]] = {
        "chain": result | {"stages": []},
        "code": result | {"stages": []},
        "equiv": equiv,
        "against": equiv | {"elsewhere": None},
        "find": {"chains": [], "fits": None, "complete": False, "bounds": None},
        "invert": {"chain": None, "input": None, "drops": False, "reason": None},
        "simplify": {"chain": None, "before": None, "after": None, "proved": False},
        "model": {"model": texts.get("model"), "nodes": [], "summary": {}, "fixed": None},
        "match": {"pattern": texts.get("pattern"), "ok": None, "names": {}, "arrays": []},
        "compare": {"op": op, "input": None, "request": {}, "agree": None, "rows": []},
    }
    if op not in others:
        result |= {"dialect": texts.get("dialect") or default_dialect(op), "version": None, "options": {}}
        result |= {"request": {}, "steps": []}
    return others.get(op, result) | {"problem": problem.as_json()}


def write_picture_or_film(answer: Trace | Chain, output_options: OutputOptions) -> dict[str, object]:
    """Write the requested picture or film, and return the JSON fields of a film.

    A film is an animation of the steps; a still picture has no JSON fields. The size of the film or the step of the
    picture is printed to stderr. A refused request is drawn up to the step that fails. Raises `ShapeError` (usage) for
    options that cannot be combined, and (file) if the file cannot be written.
    """
    name, about = output_options.film or output_options.picture, dict[str, object]()
    if name is None:
        raise usage_error("--step, --theme, --width and --pixels need a picture", "add --picture FILE")
    from shapecalc.render.files import DEFAULT_WIDTH, SLIDE_CELLS, SLIDE_PIXELS, parse_pixels

    pixels = None if output_options.pixels is None else parse_pixels(output_options.pixels)
    if output_options.film:
        from shapecalc.render.film import render_film

        film, data = render_film(answer, name, output_options.theme, pixels)
        about = {"file": name, "frames": len(film.frames), "seconds": round(film.seconds, 2), "notes": [*film.notes]}
        messages = [f"{len(film.frames)} frames, {film.seconds:.0f} seconds", *film.notes]
    else:
        from shapecalc.render.files import MIN_WIDTH, render_still

        columns = DEFAULT_WIDTH if pixels is None else max(MIN_WIDTH, pixels[0] * SLIDE_CELLS[0] // SLIDE_PIXELS[0])
        width = output_options.width or min(DEFAULT_WIDTH, columns)
        data = render_still(answer, name, output_options.step, theme=output_options.theme, width=width, pixels=pixels)
        step_text = "" if output_options.step is None else f" of step {output_options.step} of {len(answer.steps)}"
        messages = [f"a picture{step_text}"]
    write_file(name, data, force=output_options.force)
    for message in messages if not (output_options.quiet or output_options.json) else ():
        print_stderr(escape_unprintable(f"shapecalc: {name}: {message}"))
    return {"film": about} if about else {}


def write_file(path: str, data: bytes, *, force: bool) -> None:
    """Write a file atomically, or raise `ShapeError` (file) if that fails."""
    from pathlib import Path

    from shapecalc.engine.atomic_files import write_atomically

    try:
        write_atomically(Path(path), data, force=force)
    except FileExistsError as error:
        raise ShapeError(Problem(FILE, f"{error}; --force writes over it")) from None
    except OSError as error:
        raise ShapeError(Problem(FILE, str(error))) from None
