"""Run a request, print its answer and choose the exit code.

Every plain request imports this module, so it imports nothing slow.
"""

from __future__ import annotations

import sys
from itertools import chain, islice

from shapecalc.cli import output
from shapecalc.cli.output import Exit, Output, put, tell
from shapecalc.core.ask import LackingError, Stage, ask, default_dialect, operator_in, opset_in, with_defaults
from shapecalc.core.commands import command_pieces, texts_of, without_padding
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.fixing import answer as answer_request
from shapecalc.core.fixing import lasting_hint
from shapecalc.core.ops import OPS
from shapecalc.core.problem import FILE, Problem, ShapeError, misuse
from shapecalc.core.record import fields, replace
from shapecalc.core.results import shown
from shapecalc.core.text import shape_text, split, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from shapecalc.cli.data import Paths
    from shapecalc.core.answers import Chain, Trace
    from shapecalc.engine.arrays import Source
    from shapecalc.view.code import Code

REPORT_LINES = 7
"""Lines that the report of an error takes below the explanation."""


def answer_op(op: str, texts: dict[str, object], out: Output) -> int:
    """Answer a request, or one per input line; return the largest exit code.

    `texts` are the options of the op as they were typed, by name. A `-` as the input or as an
    operand is read from standard input, line by line.
    """
    options = {name: value for name, value in texts.items() if name != "input"}
    try:
        if defaults := output.told_defaults([(op, {})], options, out):
            options = dict(with_defaults(op, defaults, options))
    except ShapeError as error:
        return print_error(error, op, texts, out)
    if str(texts["input"]).strip() == "-":
        return answer_lines(lambda line, line_options: _answer_text(op, line, options, line_options), op, texts, out)
    words = split(str(options.get("operands") or ""))
    if "-" in words:
        index = words.index("-")

        def answer_operand(line: str, line_options: Output) -> int:
            operands = " ".join([*words[:index], line, *words[index + 1 :]])
            return _answer_text(op, str(texts["input"]), {**options, "operands": operands}, line_options)

        return answer_lines(answer_operand, op, texts, out)
    return _answer_text(op, str(texts["input"]), options, out)


def _answer_text(op: str, shape: str, options: Mapping[str, object], out: Output) -> int:
    """Answer one request, print the answer and return the exit code."""
    op_options = {**options}
    try:
        opset = take_model_opset(op_options, [(op, {})], out)
        operand_sources = output.read_operands(op_options)
        parsed = output.read_input(without_padding(shape), op_options, op)
        answer = answer_request(ask(op, parsed.shape, parsed.options))
        return print_answer(answer, out, parsed.source, opset, [op_options], operand_sources)
    except ShapeError as error:
        return print_error(advised(error), op, {"input": shape, **options}, out)


def answer_lines(answer: Callable[[str, Output], int], op: str, texts: dict[str, object], out: Output) -> int:
    """Answer each line of standard input; return the largest exit code.

    Messages are prefixed with their line number if there are several lines. The first line is therefore answered
    quietly once, and the second one is awaited only if that answer fails.
    Raises `EarlyExit` if standard input cannot be read.
    """
    code: int = Exit.YES
    try:
        if out.out is not None or out.picture is not None:
            name = "--out" if out.out is not None else "--picture"
            raise misuse(
                f"{name} needs one input, but - can have many lines", "give the file or the shape in place of -"
            )
        lines = output.input_lines()
        first = next(lines)
        has_failed = answer(first, replace(out, quiet=True)) != Exit.YES
        known_lines = [first, *islice(lines, has_failed)]
        for number, line in enumerate(chain(known_lines, lines), 1):
            is_only_line = number == 1 == len(known_lines)
            code = max(code, answer(line, out if is_only_line else replace(out, place=f"line {number}: ")))
    except ShapeError as error:
        code = max(code, print_error(error, op, texts, out))
    return code


def take_model_opset(options: dict[str, object], stages: Sequence[Stage], out: Output) -> int | None:
    """Pop the opset of the ONNX model to write.

    Return None, and keep the option, if no ONNX code is requested or if the dialect of a stage has opsets itself.
    Raises `ShapeError` (usage) for an opset that ONNX does not have.
    """
    if out.code != "onnx" or options.get("opset") is None:
        return None
    pairs = [(OPS[op], own.get("dialect") or options.get("dialect")) for op, own in stages if op in OPS]
    if any(operator_in(op, dialect)[0].newest_opset for op, dialect in pairs):
        return None
    return opset_in({"opset": options.pop("opset")}, DIALECTS["onnx"])


def print_answer(
    answer: Trace | Chain,
    out: Output,
    source: Source | None = None,
    opset: int | None = None,
    asked: Iterable[Mapping[str, object]] = (),
    others: Sequence[Source] = (),
) -> int:
    """Execute an answer on its data if requested, print it and return the exit code.

    `source` is the data of the input, and `operand_sources` that of the other operands. `opset` is that of the ONNX
    model to write. `request_options` are the options of the request, one mapping per stage of a chain.
    Raises `ShapeError` (usage, file) if the options cannot be satisfied.
    """
    paths: Paths = {}
    if out.about_data:
        from shapecalc.cli.data import checked_paths

        paths = checked_paths(answer, out, source, others)
    mismatch = None if out.expect is None else _unexpected(answer, out.expect, asked)
    emitted = code_of(answer, out, opset)
    code = exit_code_of(answer, mismatch, strict=out.strict)
    if answer.output is not None and code == Exit.YES and source is not None and out.about_data:
        from shapecalc.cli.data import carry

        if carry(answer, source, out, others):
            return code
    picture = write_picture(answer, out) if out.about_picture else {}

    def as_json() -> dict[str, object]:
        hint = {"hint": lasting} if (lasting := lasting_hint(answer)) else {}
        return answer.as_json() | hint | paths | picture | ({"code": fields(emitted)} if emitted else {})

    if output.asks_text(out, as_json):
        _print_text(answer, out, source, emitted, paths, others)
        if mismatch:
            tell(f"shapecalc: {out.place}{mismatch}")
    return code


def _print_text(
    answer: Trace | Chain,
    out: Output,
    source: Source | None,
    coded: Code | None,
    paths: Paths,
    others: Sequence[Source],
) -> None:
    """Print the explanation of an answer, then its output, code or problem."""
    if out.explain:
        _explain(answer, out, source)
    if answer.output is None:
        if answer.problem:
            trace = answer.traces[-1]
            output.tell_problem(_placed(answer.problem, out), command_pieces(trace.op, texts_of(trace.request)))
        return
    if out.about_data:
        from shapecalc.cli.data import tell_elements

        tell_elements(answer, source, paths, values=out.values, others=others)
    put(coded.text if coded else _shapes_text(answer))
    _tell_limits(answer, out, coded)


def _shapes_text(answer: Trace | Chain) -> str:
    """Return the output shape, or one line per part of a split with `--all`."""
    splits = [trace for trace in answer.traces[-1:] if trace.request.arguments.get("all")]
    parts = [part for trace in splits for part in trace.extras.get("outputs", ())]
    return "\n".join(map(shape_text, parts or [answer.output or ()]))


def _unexpected(answer: Trace | Chain, text: str, asked: Iterable[Mapping[str, object]]) -> str | None:
    """Return how an answer differs from its expectation, empty if it does not.

    Return None if the request is refused although a shape is expected: then the refusal itself is reported.
    Raises `ShapeError` (usage) if the text is not an expectation.
    """
    from shapecalc.core.cases import difference, expectation, met

    expected = expectation(text, asked)
    if answer.output is None and expected.output is not None:
        return None
    return "" if met(expected, answer) else difference(expected, answer)


def _explain(answer: Trace | Chain, out: Output, source: Source | None) -> None:
    """Print the steps of an answer, then whether data would be copied.

    The explanation fits one screen unless `--explain=all` is given.
    """
    from shapecalc.cli.data import plan_lines
    from shapecalc.view.canvas import strokes_for
    from shapecalc.view.story import story

    plan = plan_lines(answer, source, out)
    strokes = strokes_for(getattr(sys.stderr, "encoding", None))
    below = len(plan) + (REPORT_LINES if answer.output is None else 1)
    more = "" if out.explains_all else "--explain=all"
    output.show(story(answer, width=output.story_width(), strokes=strokes, below=below, more=more))
    for line in plan:
        tell(line)


def _tell_limits(answer: Trace | Chain, out: Output, coded: Code | None) -> None:
    """Print the limits of an answer.

    With code these are the warnings about it, without an explanation the conditions and alternatives.
    """
    if coded:
        for warning in coded.warnings:
            tell(f"shapecalc: {out.place}{warning}")
    elif not out.explain:
        for limit in answer.limits:
            tell(f"shapecalc: {out.place}{limit}")
        for alternative in answer.alternatives:
            tell(f"shapecalc: {out.place}other answers are possible when {alternative.words}")
        for name, definition in shown(answer.results).items() if answer.results else ():
            tell(f"shapecalc: {out.place}{name} is {definition}")
        if lasting := lasting_hint(answer):
            tell(f"shapecalc: {out.place}{lasting}")


def exit_code_of(answer: Trace | Chain, wrong: str | None, *, strict: bool) -> int:
    """Return the exit code of an answer.

    `mismatch` is empty if the answer is as expected, and None if there is no expectation to compare with.
    """
    if answer.output is None:
        return Exit.YES if wrong == "" else Exit.UNRESOLVED
    return Exit.NO if wrong or (strict and answer.conditions) else Exit.YES


def code_of(answer: Trace | Chain, out: Output, opset: int | None) -> Code | None:
    """Generate the code that `--as` requests.

    Return None without `--as`, or if the request is refused.
    Raises `ShapeError` (usage) for an unknown target, or if the target cannot express the answer.
    """
    if out.code is None:
        return None
    from shapecalc.view.code import writer

    write = writer(out.code)
    if answer.output is None:
        return None
    return write(answer) if opset is None else write(answer, opset=opset)


def print_error(error: ShapeError, op: str, texts: dict[str, object], out: Output) -> int:
    """Print an error, as JSON if requested, and return its exit code."""
    if output.asks_text(out, lambda: unread_json(error.problem, op, texts)):
        output.tell_problem(_placed(error.problem, out), command_pieces(op, {**texts, "expect": out.expect}))
    return output.problem_code(error.problem)


def advised(error: ShapeError) -> ShapeError:
    """Return the error, with a hint to use `--as` if that would work.

    It works if the dialect lacks the op, and the op can nevertheless be written as code for it.
    """
    if not isinstance(error, LackingError):
        return error
    from shapecalc.view.code import TARGETS

    if error.dialect not in TARGETS:
        return error
    advice = f"in place of --dialect, --as {error.dialect} writes it for {error.dialect}"
    return ShapeError(replace(error.problem, hint=f"{error.problem.hint}; {advice}"))


def _placed(problem: Problem, out: Output) -> Problem:
    """Return the problem with the number of its input line before the message."""
    return replace(problem, message=f"{out.place}{problem.message}") if out.place else problem


def unread_json(problem: Problem, op: str, texts: dict[str, object]) -> dict[str, object]:
    """Return the JSON object of a request that could not be parsed.

    It has the same keys as an answer.
    """
    result: dict[str, object] = {"op": op, "input": None, "conditions": [], "assumes": [], "output": None}
    others: dict[str, dict[str, object]] = {
        "chain": result | {"stages": []},
        "code": result | {"stages": []},
        "equiv": {"verdict": None, "conditions": [], "defined": [[], []], "counterexample": None, "tested": 0},
        "find": {"chains": [], "fits": None, "complete": False, "bounds": None},
        "simplify": {"chain": None, "before": None, "after": None, "proved": False},
        "model": {"model": texts.get("model"), "nodes": [], "summary": {}, "fixed": None},
        "match": {"pattern": texts.get("pattern"), "ok": None, "names": {}, "arrays": []},
        "compare": {"op": op, "input": None, "request": {}, "agree": None, "rows": []},
    }
    if op not in others:
        result |= {"dialect": texts.get("dialect") or default_dialect(op), "version": None, "options": {}}
        result |= {"request": {}, "steps": []}
    return others.get(op, result) | {"problem": problem.as_json()}


def write_picture(answer: Trace | Chain, out: Output) -> dict[str, object]:
    """Write the requested picture or film, report it and return its JSON.

    A refused request is drawn up to the step that fails. Raises `ShapeError`: usage for options that cannot be
    combined, file if the file cannot be written.
    """
    name, about = out.film or out.picture, dict[str, object]()
    if name is None:
        raise misuse("--step, --theme and --width need a picture", "add --picture FILE")
    if out.film:
        from shapecalc.view.film import film_file

        film, data = film_file(answer, name, out.theme)
        about = {"file": name, "frames": len(film.frames), "seconds": round(film.seconds, 2), "notes": [*film.notes]}
        messages = [f"{len(film.frames)} frames, {film.seconds:.0f} seconds", *film.notes]
    else:
        from shapecalc.view.files import WIDTH, still

        data = still(answer, name, out.step, theme=out.theme, width=out.width or WIDTH)
        messages = [f"a picture{'' if out.step is None else f' of step {out.step} of {len(answer.steps)}'}"]
    write_file(name, data, force=out.force)
    for message in messages if not (out.quiet or out.json) else ():
        tell(visible(f"shapecalc: {name}: {message}"))
    return {"film": about} if about else {}


def write_file(name: str, data: bytes, *, force: bool) -> None:
    """Write a file atomically; raise `ShapeError` (file) if that fails."""
    from pathlib import Path

    from shapecalc.engine.whole_files import write_whole

    try:
        write_whole(Path(name), data, force=force)
    except FileExistsError as error:
        raise ShapeError(Problem(FILE, f"{error}; --force writes over it")) from None
    except OSError as error:
        raise ShapeError(Problem(FILE, str(error))) from None
