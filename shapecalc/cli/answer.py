"""How a question is answered, how its answer is printed, and which exit code it has.

A bare question imports this module, so it imports nothing that takes a while.
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
"""The lines that the report of a refusal takes under a story."""


def answer_op(op: str, texts: dict[str, object], out: Output) -> int:
    """Ask the question that an op's texts make, of every line if the input is `-`; return the largest exit code."""
    options = {name: value for name, value in texts.items() if name != "input"}
    try:
        if defaults := output.told_defaults([(op, {})], options, out):
            options = dict(with_defaults(op, defaults, options))
    except ShapeError as error:
        return print_error(error, op, texts, out)
    if str(texts["input"]).strip() == "-":
        return answer_lines(lambda line, placed: _answer_text(op, line, options, placed), op, texts, out)
    words = split(str(options.get("operands") or ""))
    if "-" in words:
        place = words.index("-")

        def with_line(line: str, placed: Output) -> int:
            others = " ".join([*words[:place], line, *words[place + 1 :]])
            return _answer_text(op, str(texts["input"]), {**options, "operands": others}, placed)

        return answer_lines(with_line, op, texts, out)
    return _answer_text(op, str(texts["input"]), options, out)


def _answer_text(op: str, shape: str, options: Mapping[str, object], out: Output) -> int:
    """Ask the question that an op's texts make, print the answer and return the exit code."""
    own = {**options}
    try:
        opset = take_model_opset(own, [(op, {})], out)
        others = output.read_operands(own)
        given = output.read_input(without_padding(shape), own, op)
        answered = answer_request(ask(op, given.shape, given.options))
        return print_answer(answered, out, given.source, opset, [own], others)
    except ShapeError as error:
        return print_error(advised(error), op, {"input": shape, **options}, out)


def answer_lines(answer: Callable[[str, Output], int], op: str, texts: dict[str, object], out: Output) -> int:
    """Answer every line of standard input as it comes, and return the largest exit code.

    Messages name their line where there are several; only an answer to the first does not wait for the second.
    Raises `RunEnded` if standard input cannot be read.
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
        refused = answer(first, replace(out, quiet=True)) != Exit.YES
        known = [first, *islice(lines, refused)]
        for number, line in enumerate(chain(known, lines), 1):
            alone = number == 1 == len(known)
            code = max(code, answer(line, out if alone else replace(out, place=f"line {number}: ")))
    except ShapeError as error:
        code = max(code, print_error(error, op, texts, out))
    return code


def take_model_opset(options: dict[str, object], stages: Sequence[Stage], out: Output) -> int | None:
    """Return the opset of the ONNX model to write and take it out of the options, if no stage's dialect has opsets.

    Raises `ShapeError` (usage) for an opset that ONNX does not have.
    """
    if out.code != "onnx" or options.get("opset") is None:
        return None
    asked = [(OPS[op], given.get("dialect") or options.get("dialect")) for op, given in stages if op in OPS]
    if any(operator_in(op, dialect)[0].newest_opset for op, dialect in asked):
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
    """Carry an answer out, print it as the options ask, and return its exit code.

    `opset` is that of an ONNX model, and `asked` are the options of the question, of every stage of a chain;
    `others` are the files of the other operands.
    Raises `ShapeError` (usage, file) for options that cannot be met.
    """
    paths: Paths = {}
    if out.about_data:
        from shapecalc.cli.data import checked_paths

        paths = checked_paths(answer, out, source, others)
    wrong = None if out.expect is None else _unexpected(answer, out.expect, asked)
    coded = code_of(answer, out, opset)
    code = exit_code_of(answer, wrong, strict=out.strict)
    if answer.output is not None and code == Exit.YES and source is not None and out.about_data:
        from shapecalc.cli.data import carry

        if carry(answer, source, out, others):
            return code
    drawn = write_picture(answer, out) if out.about_picture else {}

    def as_json() -> dict[str, object]:
        hint = {"hint": lasting} if (lasting := lasting_hint(answer)) else {}
        return answer.as_json() | hint | paths | drawn | ({"code": fields(coded)} if coded else {})

    if output.asks_text(out, as_json):
        _print_text(answer, out, source, coded, paths, others)
        if wrong:
            tell(f"shapecalc: {out.place}{wrong}")
    return code


def _print_text(
    answer: Trace | Chain,
    out: Output,
    source: Source | None,
    coded: Code | None,
    paths: Paths,
    others: Sequence[Source],
) -> None:
    """Print an answer, or the code that is asked for in its place, and tell its story."""
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
    """Return the output as it is printed, or every part of a split that is asked for all, a line each."""
    split = [trace for trace in answer.traces[-1:] if trace.request.arguments.get("all")]
    parts = [part for trace in split for part in trace.extras.get("outputs", ())]
    return "\n".join(map(shape_text, parts or [answer.output or ()]))


def _unexpected(answer: Trace | Chain, text: str, asked: Iterable[Mapping[str, object]]) -> str | None:
    """Return what is wrong with an answer; nothing if it is what a text expects, None if it is refused in its place.

    Raises `ShapeError` (usage) if the text is no expectation.
    """
    from shapecalc.core.cases import difference, expectation, met

    expected = expectation(text, asked)
    if answer.output is None and expected.output is not None:
        return None
    return "" if met(expected, answer) else difference(expected, answer)


def _explain(answer: Trace | Chain, out: Output, source: Source | None) -> None:
    """Tell the story of an answer, then whether the data would move; on one screen, unless everything is asked for."""
    from shapecalc.cli.data import plan_lines
    from shapecalc.view.canvas import strokes_for
    from shapecalc.view.story import story

    planned = plan_lines(answer, source, out)
    strokes = strokes_for(getattr(sys.stderr, "encoding", None))
    below = len(planned) + (REPORT_LINES if answer.output is None else 1)
    more = "" if out.explains_all else "--explain=all"
    output.show(story(answer, width=output.story_width(), strokes=strokes, below=below, more=more))
    for line in planned:
        tell(line)


def _tell_limits(answer: Trace | Chain, out: Output, coded: Code | None) -> None:
    """Tell what limits a printed answer: of code what it leaves out, otherwise its conditions."""
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
    """Return the exit code of an answer, by what is wrong with it: nothing if it is what was expected."""
    if answer.output is None:
        return Exit.YES if wrong == "" else Exit.UNRESOLVED
    return Exit.NO if wrong or (strict and answer.conditions) else Exit.YES


def code_of(answer: Trace | Chain, out: Output, opset: int | None) -> Code | None:
    """Return the code that is asked for in place of the answer; None if none is, or if there is no answer.

    Raises `ShapeError` (usage) if there is no such kind of code, or if it cannot say what the answer says.
    """
    if out.code is None:
        return None
    from shapecalc.view.code import writer

    write = writer(out.code)
    if answer.output is None:
        return None
    return write(answer) if opset is None else write(answer, opset=opset)


def print_error(error: ShapeError, op: str, texts: dict[str, object], out: Output) -> int:
    """Tell that a question cannot be read, as JSON if that is asked for, and return the exit code for it."""
    if output.asks_text(out, lambda: unread_json(error.problem, op, texts)):
        output.tell_problem(_placed(error.problem, out), command_pieces(op, {**texts, "expect": out.expect}))
    return output.problem_code(error.problem)


def advised(error: ShapeError) -> ShapeError:
    """Return an error with the advice to print code, if a dialect has no such op and `--as` writes it nevertheless."""
    if not isinstance(error, LackingError):
        return error
    from shapecalc.view.code import TARGETS

    if error.dialect not in TARGETS:
        return error
    advice = f"in place of --dialect, --as {error.dialect} writes it for {error.dialect}"
    return ShapeError(replace(error.problem, hint=f"{error.problem.hint}; {advice}"))


def _placed(problem: Problem, out: Output) -> Problem:
    """Return a problem whose message begins with its line of standard input, if there are several."""
    return replace(problem, message=f"{out.place}{problem.message}") if out.place else problem


def unread_json(problem: Problem, op: str, texts: dict[str, object]) -> dict[str, object]:
    """Return the JSON object of a question that could not be read, with the fields of those that could."""
    asked: dict[str, object] = {"op": op, "input": None, "conditions": [], "assumes": [], "output": None}
    others: dict[str, dict[str, object]] = {
        "chain": asked | {"stages": []},
        "code": asked | {"stages": []},
        "equiv": {"verdict": None, "conditions": [], "defined": [[], []], "counterexample": None, "tested": 0},
        "find": {"chains": [], "fits": None, "complete": False, "bounds": None},
        "simplify": {"chain": None, "before": None, "after": None, "proved": False},
        "model": {"model": texts.get("model"), "nodes": [], "summary": {}, "fixed": None},
        "match": {"pattern": texts.get("pattern"), "ok": None, "names": {}, "arrays": []},
        "compare": {"op": op, "input": None, "request": {}, "agree": None, "rows": []},
    }
    if op not in others:
        asked |= {"dialect": texts.get("dialect") or default_dialect(op), "version": None, "options": {}}
        asked |= {"request": {}, "steps": []}
    return others.get(op, asked) | {"problem": problem.as_json()}


def write_picture(answer: Trace | Chain, out: Output) -> dict[str, object]:
    """Write the picture or the film that is asked for, tell so, and return what JSON says of it.

    A refused request is drawn as far as it got. Raises `ShapeError`: usage for options that cannot be met, file if the
    file cannot be written.
    """
    name, about = out.film or out.picture, dict[str, object]()
    if name is None:
        raise misuse("--step, --theme and --width need a picture", "add --picture FILE")
    if out.film:
        from shapecalc.view.film import film_file

        made, data = film_file(answer, name, out.theme)
        about = {"file": name, "frames": len(made.frames), "seconds": round(made.seconds, 2), "notes": [*made.notes]}
        said = [f"{len(made.frames)} frames, {made.seconds:.0f} seconds", *made.notes]
    else:
        from shapecalc.view.files import WIDTH, still

        data = still(answer, name, out.step, theme=out.theme, width=out.width or WIDTH)
        said = [f"a picture{'' if out.step is None else f' of step {out.step} of {len(answer.steps)}'}"]
    write_file(name, data, force=out.force)
    for each in said if not (out.quiet or out.json) else ():
        tell(visible(f"shapecalc: {name}: {each}"))
    return {"film": about} if about else {}


def write_file(name: str, data: bytes, *, force: bool) -> None:
    """Write a whole file; raise `ShapeError` (file) if that cannot be done."""
    from pathlib import Path

    from shapecalc.engine.whole_files import write_whole

    try:
        write_whole(Path(name), data, force=force)
    except FileExistsError as error:
        raise ShapeError(Problem(FILE, f"{error}; --force writes over it")) from None
    except OSError as error:
        raise ShapeError(Problem(FILE, str(error))) from None
